//! What holds of the writes after a binding: every one happens at least once while its pod and policy live, none before
//! its binding is known, none twice at once, and no key is written or removed that the policy does not name.

use crate::world::{Open, World};
use bayplan::framework::{ApiCall, Intent, ObjectPart, PatchBody};
use bayplan::model::{AFTER_BIND, Kind, MetadataChange, Object, ObjectKey, PodInfo};
use std::sync::Arc;

/// What `notes` writes with `patch`, and what it writes with `annotate`.
const NOTED: &str = "example.com/noted";
const SEEN: &str = "example.com/seen";

impl World {
    /// A call that is sent while others are open.
    pub(crate) fn written_as_said(&self, call: &ApiCall, open: &[Open]) -> Result<(), String> {
        let ApiCall::Patch { of, part, body, .. } = call else { return Ok(()) };
        let same = |other: &&Open| {
            matches!(&other.call, ApiCall::Patch { body: of, .. } if of == body) && other.call.object() == of
        };
        match body {
            PatchBody::Apply(intent) => {
                if let Some(other) = open.iter().find(same) {
                    return Err(format!("13: {call:?} is sent while {other:?} is open"));
                }
                self.applied_as_said(of, *part, intent)
            }
            PatchBody::Metadata(change) if of.kind == Kind::Pod => self.notes_are_as_said(of, change),
            PatchBody::MarkGone { mark, .. } => self.mark_goes_last(of, mark),
            PatchBody::Metadata(_) => Err(format!("13: no policy writes keys of {of:?}")),
            _ => Ok(()),
        }
    }

    /// The pod of a write, unless it is gone.
    fn bound(&self, of: &ObjectKey) -> Result<Option<Arc<PodInfo>>, String> {
        let pod = self.api.pods().find(|pod| pod.uid == of.uid).cloned();
        match &pod {
            Some(pod) if pod.node_name.is_none() => {
                Err(format!("13: {} is written before its binding", pod.name))
            }
            _ => Ok(pod),
        }
    }

    fn applied_as_said(&self, of: &ObjectKey, part: ObjectPart, intent: &Intent) -> Result<(), String> {
        let names: Vec<String> = intent.fields.iter().flat_map(|(name, value)| leaves(name, value)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let wanted: (&str, ObjectPart, &[&str]) = match of.kind {
            Kind::Pod => ("bayplan/notes", ObjectPart::Object, &["metadata.annotations.example.com/noted"]),
            _ => ("bayplan/desk-notes", ObjectPart::Status, &["status.last", "status.node"]),
        };
        if (intent.manager.as_str(), part, names.as_slice()) != wanted {
            return Err(format!("13: {of:?} gets {intent:?}"));
        }
        match of.kind {
            Kind::Pod => self.bound(of).map(|_| ()),
            _ => {
                let last = intent.fields.get("status").and_then(|status| status["last"].as_str());
                let pod = self.api.pods().find(|pod| Some(pod.name.as_str()) == last);
                // The desk has the name alone: the pod that was bound may be gone, and another may have its name.
                let was_bound = self.api.binds().iter().any(|bind| Some(bind.pod.name.as_str()) == last);
                match pod {
                    Some(pod) if !was_bound => self.bound(&Object::Pod(pod.clone()).key()).map(|_| ()),
                    _ => Ok(()),
                }
            }
        }
    }

    /// `notes` sets and removes the keys that it names.
    fn notes_are_as_said(&self, of: &ObjectKey, change: &MetadataChange) -> Result<(), String> {
        let Some(pod) = self.bound(of)? else { return Ok(()) };
        let keys = change.annotations.iter().map(|(key, value)| (key.as_str(), value.as_deref()));
        let keys: Vec<(&str, Option<&str>)> = keys.collect();
        if !change.labels.is_empty() || keys != [("example.com/gone", None), (SEEN, Some("yes"))] {
            return Err(format!("13: {} gets {change:?}", pod.name));
        }
        Ok(())
    }

    /// A mark goes when its policy has written everything.
    fn mark_goes_last(&self, of: &ObjectKey, mark: &str) -> Result<(), String> {
        let Some(pod) = self.bound(of)? else { return Ok(()) };
        let (noted, seen) = (pod.annotations.get(NOTED), pod.annotations.get(SEEN));
        match mark.strip_prefix(AFTER_BIND) {
            Some("notes") if noted != pod.node_name.as_deref() || seen != Some("yes") => {
                Err(format!("13: the mark of {} goes before its notes, {noted:?} and {seen:?}", pod.name))
            }
            Some("notes" | "desk-notes") => Ok(()),
            _ => Err(format!("13: {} loses {mark}", pod.name)),
        }
    }

    /// At rest nothing is left to be written.
    pub(crate) fn everything_is_written(&self) -> Result<(), String> {
        if let Some(left) = self.scheduler.marks_left().next() {
            return Err(format!("13: at rest {left:?} is not written"));
        }
        for pod in self.api.pods().filter(|pod| pod.node_name.is_some()) {
            if self.scheduler.profiles().get(&pod.scheduler_name).is_none() {
                continue;
            }
            let set = self.rules.set_for(self.rules.revision, &pod.scheduler_name)?;
            if let Some(mark) =
                pod.after_bind_marks().find(|(mark, _)| set.iter().any(|of| of.name() == *mark))
            {
                return Err(format!("13: at rest {} has the mark of {}", pod.name, mark.0));
            }
            let seen = pod.annotations.get(SEEN).is_some();
            if seen && pod.annotations.get(NOTED).is_none() {
                return Err(format!("13: {} is seen and not noted", pod.name));
            }
        }
        Ok(())
    }
}

/// The paths of the values below a field.
fn leaves(path: &str, value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().flat_map(|(name, value)| leaves(&format!("{path}.{name}"), value)).collect()
        }
        _ => vec![path.to_owned()],
    }
}
