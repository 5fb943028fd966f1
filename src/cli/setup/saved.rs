//! What a snapshot has beside objects: its policies come into service as those of a live cluster do, and its configuration,
//! version and instant count where no flag says otherwise.

use super::note;
use crate::cli::Output;
use crate::cli::input::Policies;
use crate::diag::{Diagnostic, Origin, SourceId};
use crate::dry_run::saved::{Saved, SavedText};
use crate::lang::policy_set::CompiledPolicy;
use crate::model::Time;
use std::sync::Arc;

/// Takes the policies of snapshots, with warnings about what they lack; returns the configuration and where it is from.
pub(crate) fn take(saved: &[Saved], policies: &mut Policies, out: &mut Output) -> Option<(String, String)> {
    for missing in saved.iter().flat_map(|of| &of.missing) {
        note(out, &format!("the snapshot lacks something: {missing}"));
    }
    let texts = saved.iter().flat_map(|of| &of.policies);
    let texts: Vec<(&SavedText, SourceId)> = texts.map(|text| (text, add(text, policies))).collect();
    // Exceptions count for the policies of all texts.
    policies.elsewhere.extend(texts.iter().map(|(_, id)| *id));
    policies.find_exceptions();
    for (text, id) in texts.iter().filter(|(text, _)| !text.serves.is_empty()) {
        let Some(source) = policies.sources.get(*id) else { continue };
        let (found, said) = policies.compiled(source);
        let served = |name: &str| text.serves.iter().any(|of| of == name);
        let all = found.into_iter().filter(|policy| served(&policy.name));
        let all: Vec<_> =
            all.map(|policy| Arc::new(CompiledPolicy::new(policy, &policies.sources))).collect();
        for lost in text.serves.iter().filter(|name| !all.iter().any(|of| of.name() == name.as_str())) {
            note(out, &format!("the snapshot has the policy `{lost}`, which this version does not compile"));
        }
        policies.in_service.extend(all);
        policies.diagnostics.extend(said.into_iter().filter(Diagnostic::is_error));
    }
    let configuration = saved.iter().find_map(|of| of.configuration.clone())?;
    Some((configuration.text, configuration.from))
}

fn add(text: &SavedText, policies: &mut Policies) -> SourceId {
    let origin = Origin { object: text.object.clone(), key: text.key.clone() };
    policies.sources.add_object(origin, text.text.as_str())
}

/// When the objects of a snapshot were read, or its memory was, which comes after.
pub(crate) fn taken(saved: &[Saved]) -> Option<Time> {
    let remembered = saved.iter().find_map(|of| of.memory.as_ref()).map(|memory| memory.taken.0);
    remembered.or_else(|| saved.iter().find_map(|of| Time::parse(&of.taken)))
}
