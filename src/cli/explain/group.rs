//! What blocks the group that a pod waits with at permit: the pod whose claims or extended resources find no devices once
//! the others have theirs. What would help it was tried at its turn, and whether it helps that it chooses first, in a whole
//! dry run.

use super::state;
use super::text;
use crate::cli::dry_run::standing;
use crate::cli::output::{Output, Style, count};
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::dry_run::{Options, PodReport, Report, Standing, World};
use crate::explain::changes::{Question, TRIALS, that_help};
use crate::explain::{Explanation, Suggestions, explain};
use crate::framework::Exempted;
use crate::model::{PodInfo, PodKey};
use crate::scheduler::RecordLevel;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// The pod that blocks its group.
pub(super) struct Blocked {
    explanation: Explanation,
    helps: Suggestions,
    /// How many pods of the group fit together when this one chooses first; `None`: not all of them.
    together: Option<usize>,
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
        let together = fits_first(setup, pod, group, &options, progress);
        Some(Self { explanation, helps, together })
    }

    pub(super) fn text(&self, all: bool, out: &Output) -> String {
        let pod = out.part(&self.explanation.pod);
        let mut text = format!("\n  No node is left for {pod} once the others have theirs.\n");
        let _ = write!(text, "\n{}", text::rules(&self.explanation, all, out));
        if !self.helps.helps.is_empty() {
            text.push_str(&text::helps_for(&self.explanation.pod, &self.helps, all, out));
        }
        if let Some(pods) = self.together {
            let head = out.paint(Style::Dim, "TRIED IN A DRY RUN");
            let of = count(pods);
            let _ = write!(
                text,
                "\n{head}   with a priority above the others {pod} chooses first: all {of} pods of the group are placed\n"
            );
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
            "placedIfFirst": self.together.is_some(),
        })
    }
}

/// How many pods the group has, if all of them are placed when this one comes before all others, and none is evicted.
fn fits_first(
    setup: &Setup,
    pod: &PodInfo,
    group: &[PodKey],
    options: &Options,
    progress: &Progress,
) -> Option<usize> {
    let highest = setup.world.pending.iter().map(|other| other.priority).max()?;
    let first = |other: &Arc<PodInfo>| match other.key == pod.key {
        true => Arc::new(PodInfo { priority: highest.saturating_add(1), ..PodInfo::clone(other) }),
        false => other.clone(),
    };
    let pending = setup.world.pending.iter().map(first).collect();
    let world = World { pending, ..setup.world.clone() };
    let options = Options { records: RecordLevel::Outcome, recorded_pod: None, ..options.clone() };
    progress.stage("trying another order of the group", 0);
    let report = crate::dry_run::run(&world, setup.profiles.clone(), &options);
    let of_group: Vec<&PodReport> =
        report.pods.iter().filter(|report| group.contains(&report.pod.key)).collect();
    let placed = of_group.iter().all(|report| matches!(standing(report), Standing::Bound(_)));
    let evicts = report.pods.iter().flat_map(|report| &report.decisions).any(|of| of.preemption.is_some());
    (placed && !evicts).then_some(of_group.len())
}
