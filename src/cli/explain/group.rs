//! What blocks the group that a pod waits with at permit: the pod whose claims or extended resources find no devices once
//! the others have theirs. What would help it was tried at its turn. Another order is not tried: when the others have waited in
//! vain, this pod comes first anyway.

use super::state;
use super::text;
use crate::cli::dry_run::standing;
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::dry_run::{Options, PodReport, Report, Standing};
use crate::explain::changes::{Question, TRIALS, that_help};
use crate::explain::{Explanation, Suggestions, explain};
use crate::framework::Exempted;
use crate::model::PodKey;
use serde_json::{Value, json};
use std::fmt::Write;

/// The pod that blocks its group.
pub(super) struct Blocked {
    explanation: Explanation,
    helps: Suggestions,
}

/// Whether the pod has claims or extended resources, and was refused on all nodes while the others had theirs.
fn is_blocked(report: &PodReport) -> bool {
    let waits = matches!(standing(report), Standing::Waiting { .. });
    waits && report.waited.is_none() && report.pod.devices().is_some()
}

impl Blocked {
    /// The first pod of the group with claims that was refused on all nodes. `group`: all pods of it.
    pub(super) fn of(
        setup: &Setup,
        group: &[PodKey],
        all: &Report,
        options: &Options,
        progress: &Progress,
    ) -> Option<Self> {
        let of_group = |report: &&PodReport| group.contains(&report.pod.key);
        let pod = &all.pods.iter().filter(of_group).find(|report| is_blocked(report))?.pod;
        let framework = setup.profiles.get(&pod.scheduler_name)?;
        let options = Options { recorded_pod: Some(pod.key.clone()), ..options.clone() };
        let (_, at_turn) = state::at_turn(setup, pod, &options, progress);
        let (snapshot, now) = (&at_turn.snapshot, at_turn.now);
        let explanation = explain(framework, snapshot, pod, now);
        if !explanation.fits.is_empty() {
            return None;
        }
        let excepting = |of: &[Exempted]| setup.excepting(pod, of, now);
        let question = Question { framework, snapshot, pod, now, trials: TRIALS, excepting: &excepting };
        let helps = that_help(&explanation, &question);
        Some(Self { explanation, helps })
    }

    pub(super) fn text(&self, all: bool, out: &Output) -> String {
        let pod = out.part(&self.explanation.pod);
        let mut text = format!("\n  No node is left for {pod} once the others have theirs.\n");
        let _ = write!(text, "\n{}", text::rules(&self.explanation, all, out));
        if !self.helps.helps.is_empty() {
            text.push_str(&text::helps_for(&self.explanation.pod, &self.helps, all, out));
        }
        text
    }

    /// The command that explains the pod itself.
    pub(super) fn pod(&self) -> &str {
        &self.explanation.pod
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "pod": self.explanation.pod, "rules": self.explanation.rules, "wouldHelp": self.helps.helps,
        })
    }
}
