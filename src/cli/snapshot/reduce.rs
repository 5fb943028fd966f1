//! `--reduce`: the fewest objects with the verdict on a pod.

use super::collect::Content;
use crate::cli::Output;
use crate::cli::output::count;
use crate::cli::progress::Progress;
use crate::cli::setup::{self, Setup};
use crate::dry_run::Options;
use crate::dry_run::items::Item;
use crate::engine::TieBreak;
use crate::explain::reduce::{Outcome, Reduction, Stage, Verdict};
use crate::lang::types::ObjectKind;
use crate::model::Time;
use std::sync::Arc;

/// The pod that a snapshot is reduced to, and the verdict on it.
pub(in crate::cli) struct Subject {
    /// `namespace/name`.
    pub pod: String,
    /// The verdict.
    pub verdict: Verdict,
}

/// How decisions on a snapshot are made: as of its instant, and the same each time.
pub(in crate::cli) fn options(content: &Content) -> Options {
    let start = Time::parse(&content.saved.taken).unwrap_or_default();
    Options { start, tie_break: TieBreak::Name, ..Options::default() }
}

/// Asks a question about the decisions on a snapshot, with progress.
pub(in crate::cli) fn deciding<T>(
    content: &Content,
    setup: &Setup,
    progress: &Progress,
    ask: impl FnOnce(&Reduction<'_>) -> T,
) -> T {
    let kinds: Vec<Arc<ObjectKind>> = setup.policies.kinds();
    let (options, steps) = (options(content), progress.steps());
    let stage = std::cell::Cell::new(None);
    let step = |of: Stage| {
        if stage.replace(Some(of)) != Some(of) {
            steps.stage(words(of), 0);
        }
        steps.step();
    };
    ask(&Reduction { profiles: &setup.profiles, options: &options, kinds: &kinds, step: &step })
}

fn words(stage: Stage) -> &'static str {
    match stage {
        Stage::Nodes => "deciding with fewer nodes",
        Stage::Pods => "deciding with fewer pods",
        Stage::Others => "deciding with fewer other objects",
        Stage::Labels => "deciding with fewer labels",
    }
}

/// Leaves out what the verdict on a pod does not need, and says what is left.
pub(in crate::cli) fn reduced(
    content: &mut Content,
    pod: &str,
    setup: &Setup,
    progress: &Progress,
    out: &mut Output,
) -> anyhow::Result<Subject> {
    let pod = full_name(content, pod, setup)?;
    let before = content.objects.len();
    let objects = std::mem::take(&mut content.objects);
    let reduced = deciding(content, setup, progress, |how| how.reduced(objects, &pod))?;
    content.objects = reduced.objects;
    content.saved.reduced_to.clone_from(&pod);
    if !out.quiet {
        let (left, verdict) = (count(content.objects.len()), said(&reduced.verdict));
        let line = format!("{left} of {} objects give the verdict: {pod} {verdict}", count(before));
        let line = crate::diag::escape::line(&line).into_owned();
        writeln!(out.stderr(), "{line}")?;
    }
    Ok(Subject { pod, verdict: reduced.verdict })
}

/// A verdict in a few words.
fn said(verdict: &Verdict) -> String {
    match &verdict.outcome {
        Outcome::Placed { node, .. } => format!("is placed on {node}"),
        Outcome::Waits => {
            let mut rules: Vec<&str> = verdict.reasons.iter().map(|(rule, _)| rule.as_str()).collect();
            rules.dedup();
            let by =
                if rules.is_empty() { String::new() } else { format!(", because of {}", rules.join(", ")) };
            format!("waits{by}")
        }
        Outcome::Gated(by) => format!("is kept out of the queue by {by}"),
        Outcome::AtPermit(plugins) => format!("waits at permit for {}", plugins.join(", ")),
        Outcome::Fails(error) => format!("fails: {error}"),
    }
}

/// The pod that a name means.
fn full_name(content: &Content, asked: &str, setup: &Setup) -> anyhow::Result<String> {
    let is_pod =
        |object: &&serde_json::Value| object.get("kind").and_then(|kind| kind.as_str()) == Some("Pod");
    let items = content.objects.iter().filter(is_pod).map(|object| Item::of(object.clone(), &[]));
    let pods: Vec<_> = items.filter_map(|item| item.pod().cloned()).collect();
    let at = setup::named(pods.iter(), asked, None, &setup.namespace)?;
    pods.get(at).map(|pod| pod.full_name()).ok_or_else(|| anyhow::anyhow!("no pod is called `{asked}`"))
}
