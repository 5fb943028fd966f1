//! Pods that a PreEnqueue plugin keeps out of the queue: the plugin, its reason, when time alone
//! opens the gate, and what would help.

use super::changes::Question;
use super::suggestions::{Step, Suggestion, Suggestions};
use bayplan_framework::{Cycle, Edit, Framework, Handle, Status};
use bayplan_model::{PodInfo, Time};
use std::sync::Arc;

/// Maximum number of re-evaluations to find the instant at which the gate opens.
const INSTANTS: usize = 20_000;

/// Why a pod is kept out of the queue.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// The plugin.
    pub plugin: String,
    /// Its reason.
    pub reason: String,
    /// When the gate opens if nothing but the time changes.
    pub opens: Option<Time>,
    /// Changes after which the pod enters the queue.
    pub helps: Suggestions,
}

/// Runs the PreEnqueue plugins. `None`: they let the pod into the queue.
pub fn gate(question: &Question) -> Option<Gate> {
    let (gate, status) = holds(question)?;
    Some(Gate { helps: helps(question, &status), ..gate })
}

/// Runs the PreEnqueue plugins and looks for no changes that help. `None`: they let the pod into the queue.
pub fn held(question: &Question) -> Option<Gate> {
    Some(holds(question)?.0)
}

fn holds(question: &Question) -> Option<(Gate, Status)> {
    let Question { framework, pod, now, .. } = question;
    let status = refused(question, framework, pod, *now)?;
    let plugin = framework.plugin_name(status.plugin).to_owned();
    let (reason, opens) = (status.message(), opens(question, &status));
    Some((Gate { plugin, reason, opens, helps: Suggestions::default() }, status))
}

/// The refusal at an instant.
fn refused(question: &Question, framework: &Arc<Framework>, pod: &Arc<PodInfo>, now: Time) -> Option<Status> {
    let cycle = Cycle::new(pod.clone(), framework.clone(), now);
    framework.run_pre_enqueue(cycle.handle(question.snapshot)).err()
}

/// The first instant at which the gate is open.
fn opens(question: &Question, status: &Status) -> Option<Time> {
    let plugin = question.framework.plugin(status.plugin)?;
    let mut now = question.now;
    for _ in 0..INSTANTS {
        let cycle = Cycle::new(question.pod.clone(), question.framework.clone(), now);
        let handle = cycle.handle(question.snapshot).for_plugin(status.plugin);
        let handle = Handle { gated: true, ..handle };
        now = plugin.next_change(&handle, &mut 0).filter(|next| *next > now)?;
        if refused(question, question.framework, question.pod, now).is_none() {
            return Some(now);
        }
    }
    None
}

/// The edits that the plugin proposes, each tried alone.
fn helps(question: &Question, status: &Status) -> Suggestions {
    let mut found = Suggestions::default();
    let Some(plugin) = question.framework.plugin(status.plugin) else { return found };
    let cycle = Cycle::new(question.pod.clone(), question.framework.clone(), question.now);
    let handle = cycle.handle(question.snapshot).for_plugin(status.plugin);
    for edit in plugin.remedies(&handle, None) {
        found.tried += 1;
        let edited = match edit.is_wait() {
            true => Some(PodInfo::clone(question.pod)),
            false => Edit::edited_pod(question.pod, std::slice::from_ref(&edit)),
        };
        let Some(pod) = edited else { continue };
        let mut world = question.snapshot.fork();
        edit.apply_everywhere(&mut world);
        let question = &Question { snapshot: &world, ..*question };
        let framework = match edit.exempted() {
            Some(of) => (question.excepting)(std::slice::from_ref(of)),
            None => Some(question.framework.clone()),
        };
        let opens = framework
            .is_some_and(|framework| refused(question, &framework, &Arc::new(pod), question.now).is_none());
        // One value of a label or annotation is enough.
        let known = found.helps.iter().any(|help| help.edits.iter().any(|known| known.overlaps(&edit)));
        if opens && !known {
            let step = Step { owner: edit.owner(), what: edit.describe(question.pod, "") };
            found.helps.push(Suggestion {
                owner: step.owner,
                what: step.what.clone(),
                nodes: Vec::new(),
                at_least: false,
                caution: None,
                waits_for: Vec::new(),
                steps: vec![step],
                edits: vec![edit],
            });
        }
    }
    found
}
