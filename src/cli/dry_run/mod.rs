//! `bayplan dry-run`: schedules the pending pods of a cluster, live or from files, and says why each
//! is where it is. Nothing is written. `crate::dry_run` schedules; here are arguments and reports.

pub(super) mod json;
pub(super) mod text;
pub(super) mod why;
mod would;

use super::explain::gate::{HeldBecause, held_because};
use super::explain::pod::plain;
use super::progress::Progress;
use super::{ExitStatus, Output, durations, page, setup};
use crate::dry_run::dump;
use crate::dry_run::{Options, Order, PodReport, Report, Standing, Watcher, run_watched};
use crate::engine::TieBreak;
use crate::framework::EventRecord;
use crate::model::{PodKey, Snapshot, Time};
use crate::scheduler::{Decision, DecisionRecord, Profiles, RecordLevel, Scheduler};
use std::sync::Arc;
use std::time::Duration;

/// Schedules the pending pods of a cluster, live or from files, without binding them.
#[derive(clap::Args, Debug)]
#[command(after_help = format!("Examples:
  bayplan dry-run --cluster cluster.yaml --policies gpu.bay
  bayplan dry-run --cluster cluster.yaml --pods job.yaml --fail-on unschedulable
  bayplan dry-run --cluster cluster.yaml --all-nodes -o json
  bayplan dry-run --cluster cluster.yaml --policies gpu.bay -o html > plan.html       a page to look at
  bayplan dry-run --context prod --policies gpu.bay        a live cluster, as if this policy had been applied

This saves a cluster as a file, which `--cluster` takes:
  {}", dump::to_file()))]
pub(super) struct Args {
    #[command(flatten)]
    from: setup::From,
    #[command(flatten)]
    decides_as: setup::DecidesAs,
    #[command(flatten)]
    how: How,
    /// In JSON and YAML, print every node with its refusal or scores.
    #[arg(long)]
    all_nodes: bool,
    /// Print all pods; otherwise long lists are cut and the rest is counted.
    #[arg(long)]
    all: bool,
    /// How to print: `text`, `json` or `yaml`; `html` (a page to look at), `svg` (a picture of the nodes) or `bay-plan`
    /// (what the page is made of, as JSON).
    #[arg(
        long,
        short,
        value_parser = ["text", "json", "yaml", "html", "svg", "bay-plan"],
        default_value = "text",
        hide_possible_values = true
    )]
    output: String,
    /// Leave names, labels, reasons and policies out of the page, so that it can be sent on.
    #[arg(long)]
    anonymize: bool,
    /// Exit with status 1 if a pod waits: `unschedulable`.
    #[arg(long, value_parser = ["unschedulable"], hide_possible_values = true, value_name = "WHAT")]
    fail_on: Option<String>,
}

/// How pods are tried. `explain` has the same flags, to come to the same decisions.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct How {
    /// The order of the pending pods: `queue` (the profile's QueueSort) or `given` (the files').
    #[arg(long, value_parser = ["queue", "given"], default_value = "queue", hide_possible_values = true)]
    pub order: String,
    /// How to choose among equal nodes: `random` (by the seed) or `name` (the first).
    #[arg(long, value_parser = ["random", "name"], default_value = "random", hide_possible_values = true)]
    pub tie_break: String,
    /// The seed of the choice among equal nodes.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Stop with an error after this time, such as `30s` or `5m`. Without it there is no limit.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration)]
    pub timeout: Option<Duration>,
}

/// What a dry run does, once for each attempt.
pub(super) const PLACING: &str = "placing the pending pods";

/// Counts the attempts of a dry run.
struct Attempts<'p>(&'p Progress);

impl Watcher for Attempts<'_> {
    fn wants(&self, _: Option<&PodKey>) -> bool {
        self.0.step();
        false
    }

    fn decided(&mut self, _: Snapshot, _: &DecisionRecord) {}

    fn handled(&mut self, _: &Scheduler, _: Time) {}
}

/// Places the pending pods, and shows how far it is.
pub(super) fn schedule(setup: &setup::Setup, options: &Options, progress: &Progress) -> Report {
    schedule_by(setup, setup.profiles.clone(), options, progress)
}

/// As [`schedule`], by other profiles.
pub(super) fn schedule_by(
    setup: &setup::Setup,
    profiles: Arc<Profiles>,
    options: &Options,
    progress: &Progress,
) -> Report {
    progress.stage(PLACING, setup.world.pending.len());
    run_watched(&setup.world, profiles, options, Some(&mut Attempts(progress)))
}

impl How {
    /// As without flags.
    #[cfg(feature = "cluster")]
    pub(super) fn usual() -> Self {
        Self { order: "queue".to_owned(), tie_break: "random".to_owned(), seed: 0, timeout: None }
    }

    /// The options of the run.
    pub(super) fn options(&self, setup: &setup::Setup) -> Options {
        Options {
            order: if self.order == "given" { Order::Given } else { Order::Queue },
            tie_break: if self.tie_break == "name" { TieBreak::Name } else { TieBreak::Seeded },
            seed: self.seed,
            start: setup.start(),
            ..Options::default()
        }
    }

    /// The flags that were set, for the next command.
    pub(super) fn flags(&self) -> String {
        let mut text = String::new();
        if self.order != "queue" {
            text.push_str(" --order given");
        }
        if self.tie_break != "random" {
            text.push_str(" --tie-break name");
        }
        if self.seed != 0 {
            text.push_str(&format!(" --seed {}", self.seed));
        }
        text
    }
}

impl Args {
    /// These, with the version among what the cluster and its rules come from.
    pub(super) fn with_version(mut self) -> Self {
        self.from.decides_as = self.decides_as;
        self
    }
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    page::check(&args.output, args.anonymize, out)?;
    let progress = Progress::start(out, args.how.timeout);
    let Some(setup) = setup::read(&args.from, out)? else { return Ok(ExitStatus::Failure) };
    let records = match args.output.as_str() {
        _ if args.all_nodes => RecordLevel::Nodes,
        "json" | "yaml" => RecordLevel::Names,
        "html" | "svg" | "bay-plan" => RecordLevel::Ranked,
        _ => RecordLevel::Best,
    };
    let options = Options { records, ..args.how.options(&setup) };
    let report = schedule(&setup, &options, &progress);
    let held = |pod: &PodReport| held(&setup, &report, &args.how, pod);
    let json = || json::report(&report, args.all_nodes, &held);
    let flags = format!("{}{}", args.from.flags(), args.how.flags());
    if let Some(form) = page::Form::of(&args.output) {
        let text = text::report(&setup, &report, &args.how, args.all, &flags, &plain());
        let asked = page::Asked::of("dry-run", flags, &args.how, text);
        page::write_report(&asked, (&setup, &options, &report), (form, args.anonymize), progress, out)?;
        return status(args, &setup, &report);
    }
    drop(progress);
    match args.output.as_str() {
        "json" => out.json(&json())?,
        "yaml" => write!(out.stdout(), "{}", super::output::yaml(&json())?)?,
        _ => {
            let drawn = text::report(&setup, &report, &args.how, args.all, &flags, out);
            write!(out.stdout(), "{drawn}")?;
        }
    }
    status(args, &setup, &report)
}

/// What `--fail-on` makes of the result.
fn status(args: &Args, setup: &setup::Setup, report: &Report) -> anyhow::Result<ExitStatus> {
    if args.fail_on.is_none() {
        return Ok(ExitStatus::Success);
    }
    if setup.not_understood > 0 {
        let count = setup.not_understood;
        let objects = if count == 1 { "1 object is".to_owned() } else { format!("{count} objects are") };
        anyhow::bail!(
            "`--fail-on` needs every pod, but {objects} of an unknown kind that may create pods (see the warning)"
        );
    }
    let waits = report.pods.iter().any(|pod| waits(&standing(pod)));
    Ok(if waits { ExitStatus::Findings } else { ExitStatus::Success })
}

/// Why a gate holds a pod at the end.
fn held(setup: &setup::Setup, report: &Report, how: &How, pod: &PodReport) -> Option<HeldBecause> {
    let framework = setup.profiles.get(&pod.pod.scheduler_name)?;
    let now = how.options(setup).start + report.elapsed;
    held_because(framework, report.scheduler.snapshot(), &pod.pod, now)
}

/// Whether a pod of ours has no node.
fn waits(standing: &Standing) -> bool {
    !matches!(standing, Standing::Bound(_) | Standing::NotOurs | Standing::Terminating)
}

/// The state of a pod. A pod that is rejected at Permit is retried for ever, as in a cluster:
/// wherever the clock stopped, it waits, and the reason is that of its last rejection.
pub(super) fn standing(pod: &PodReport) -> Standing {
    let refused = pod.events.iter().rev().find(|event| event.reason == "FailedScheduling");
    match (&pod.standing, refused_late(pod), refused) {
        (Standing::AtPermit { .. } | Standing::Waiting { .. }, Some(event), _)
        | (Standing::AtPermit { .. }, None, Some(event)) => Standing::Waiting { message: event.note.clone() },
        (standing, ..) => standing.clone(),
    }
}

/// The event of the last attempt that gave the pod a node, if the pod waited at Permit and was
/// rejected. Each attempt ends with one event.
fn refused_late(pod: &PodReport) -> Option<&EventRecord> {
    pod.waited.as_ref()?;
    let ends = pod.events.iter().filter(|event| ["FailedScheduling", "Scheduled"].contains(&&*event.reason));
    let placed = pod.decisions.iter().zip(ends);
    let placed = placed.filter(|(record, _)| matches!(record.decision, Decision::Placed { .. }));
    placed.map(|(_, end)| end).last().filter(|end| end.reason == "FailedScheduling")
}

/// The pods of a report in the order of their first attempts; pods without attempts come last.
pub(super) fn in_order(report: &Report) -> Vec<usize> {
    let mut order = report.tried.clone();
    let mut tried = vec![false; report.pods.len()];
    for at in &order {
        if let Some(tried) = tried.get_mut(*at) {
            *tried = true;
        }
    }
    order.extend(tried.iter().enumerate().filter(|(_, tried)| !**tried).map(|(at, _)| at));
    order
}
