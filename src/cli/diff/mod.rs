//! `bayplan diff --kubernetes OLD..NEW`: which pods kube-scheduler of another version would treat otherwise, and by which
//! changes of upstream. `compare` decides, here are the arguments.
//!
//! - `compare.rs`: both versions on the pods of a cluster
//! - `concerned.rs`: which changes can matter for a pod
//! - `decided.rs`: the results of pods under a set of changes
//! - `causes.rs`: the smallest sets that make a difference
//! - `report.rs`: text, Markdown and JSON

mod causes;
mod compare;
mod concerned;
mod decided;
mod report;

use super::progress::Progress;
use super::{ExitStatus, Output, durations, setup};
use crate::model::KubernetesVersion;
use compare::Comparison;
use std::str::FromStr;
use std::time::Duration;

/// Two versions, as `1.36..1.37`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Versions {
    old: KubernetesVersion,
    new: KubernetesVersion,
}

impl FromStr for Versions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((old, new)) = text.split_once("..") else {
            return Err(format!("`{text}` is not two versions: write `1.36..1.37`"));
        };
        let (old, new) = (KubernetesVersion::parse(old)?, KubernetesVersion::parse(new)?);
        if old == new {
            return Err(format!("both versions are {old}: write `1.36..1.37`"));
        }
        Ok(Self { old, new })
    }
}

/// Shows what an upgrade of kube-scheduler would change for the pods of a cluster, live or from files: for pending ones, and
/// for each running one if it were new and alone.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan diff --kubernetes 1.36..1.37 --cluster cluster.yaml
  bayplan diff --kubernetes 1.36..1.37 --exit-code -o markdown     a live cluster, as a comment on a change")]
pub(super) struct Args {
    /// The versions of kube-scheduler, the present one first: `1.36..1.37`.
    #[arg(long, value_name = "OLD..NEW", required = true)]
    kubernetes: Option<Versions>,
    #[command(flatten)]
    from: setup::From,
    /// Exit with status 1 if a pod is decided otherwise.
    #[arg(long)]
    exit_code: bool,
    /// Print all pods; otherwise a long list is cut and the rest is counted.
    #[arg(long)]
    all: bool,
    /// Stop with an error after this time, such as `30s` or `5m`. Without it there is no limit.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration)]
    timeout: Option<Duration>,
    /// How to print: `text`, `json` or `markdown`.
    #[arg(long, short, value_parser = ["text", "json", "markdown"], default_value = "text", hide_possible_values = true)]
    output: String,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let Some(Versions { old, new }) = args.kubernetes else { return Ok(ExitStatus::Failure) };
    let progress = Progress::start(out, args.timeout);
    let from = setup::From { decides_as: setup::DecidesAs::of(old), ..args.from.clone() };
    let Some(setup) = setup::read(&from, out)? else { return Ok(ExitStatus::Failure) };
    let comparison = Comparison::of(&setup, old, new, &progress)?;
    drop(progress);
    match args.output.as_str() {
        "json" => out.json(&report::json(&comparison))?,
        "markdown" => report::markdown(&comparison, args.all, out)?,
        _ => report::text(&comparison, args.all, out)?,
    }
    let moved = args.exit_code && comparison.pods.iter().any(|pod| pod.is_decision());
    Ok(if moved { ExitStatus::Findings } else { ExitStatus::Success })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_versions_are_read() {
        let both = Versions { old: KubernetesVersion::V1_36, new: KubernetesVersion::V1_37 };
        assert_eq!("1.36..1.37".parse(), Ok(both));
        assert_eq!("v1.37.2..1.36".parse(), Ok(Versions { old: both.new, new: both.old }));
        for text in ["1.37", "1.36..", "1.36..1.36.3", "1.36..1.99"] {
            assert!(text.parse::<Versions>().unwrap_err().contains("1.37"), "{text}");
        }
    }
}
