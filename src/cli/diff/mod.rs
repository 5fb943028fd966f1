//! `bayplan diff`: what a change would do.
//!
//! `diff OLD NEW` compares policies: `policies`. `diff --kubernetes OLD..NEW` compares versions of kube-scheduler: which pods
//! would be treated otherwise, and by which changes of upstream. Here are the arguments.
//!
//! - `policies`: what a change of policies means and does
//! - `compare.rs`: both versions on the pods of a cluster
//! - `concerned.rs`: which changes can matter for a pod
//! - `decided.rs`: the results of pods under a set of changes
//! - `causes.rs`: the smallest sets that make a difference
//! - `report.rs`: text, Markdown and JSON of these

mod causes;
mod compare;
mod concerned;
mod decided;
mod policies;
mod report;

use super::page;
use super::progress::Progress;
use super::{ExitStatus, Output, durations, setup};
use crate::model::KubernetesVersion;
use compare::Comparison;
use std::path::PathBuf;
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

/// Shows what a change of policies means and does, or what an upgrade of kube-scheduler would do: to pending pods, and to each
/// running one if it were new and alone.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "bayplan diff OLD NEW [OPTIONS]\n       bayplan diff --kubernetes OLD..NEW [OPTIONS]",
    after_help = "Examples:
  bayplan diff main/policies policies                              which rules mean something else, with a witness
  bayplan diff main/policies policies --cluster prod.json          and what that does to the pods of a cluster
  bayplan diff old.bay new.bay --cluster prod.json -o markdown     as a comment on a change
  bayplan diff old.bay new.bay --write-tests gpu.test.yaml         the witnesses as cases of `bayplan test`
  bayplan diff live policies --live                                what is in service, and what would be
  bayplan diff --kubernetes 1.36..1.37 --cluster cluster.yaml      what another version of kube-scheduler decides
  bayplan diff --kubernetes 1.36..1.37 --exit-code                 of a live cluster"
)]
pub(super) struct Args {
    /// Policies before and after a change: a policy file, a file with ConfigMaps, or a folder of both; of the live cluster
    /// `live`, what is in service, `live:POLICY`, or `live:POLICY@REVISION` of its history.
    #[arg(value_names = ["OLD", "NEW"], num_args = 2, required_unless_present = "kubernetes")]
    paths: Vec<PathBuf>,
    /// The versions of kube-scheduler, the present one first: `1.36..1.37`.
    #[arg(long, value_name = "OLD..NEW", conflicts_with_all = ["paths", "live", "write_tests"])]
    kubernetes: Option<Versions>,
    /// Decide the pods of the live cluster by both, where policies are compared and no files are given.
    #[cfg(feature = "cluster")]
    #[arg(long, conflicts_with = "cluster", help_heading = "Live cluster")]
    live: bool,
    /// Write a case of `bayplan test` for each difference between policies that was shown. The file must not be there.
    #[arg(long, value_name = "FILE")]
    write_tests: Option<PathBuf>,
    #[command(flatten)]
    from: setup::From,
    /// Exit with status 1 if a pod is decided otherwise, or, without a cluster, if a rule means something else.
    #[arg(long)]
    exit_code: bool,
    /// Print all pods; otherwise a long list is cut and the rest is counted.
    #[arg(long)]
    all: bool,
    /// Stop with an error after this time, such as `30s` or `5m`. Without it there is no limit.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration)]
    timeout: Option<Duration>,
    /// How to print: `text`, `json` or `markdown`; of policies with a cluster also `html` (a page that shows what moves) or
    /// `bay-plan` (what the page is made of, as JSON).
    #[arg(
        long,
        short,
        value_parser = ["text", "json", "markdown", "html", "bay-plan"],
        default_value = "text",
        hide_possible_values = true
    )]
    output: String,
}

impl Args {
    /// Whether the pods of a live cluster are decided.
    fn is_live(&self) -> bool {
        #[cfg(feature = "cluster")]
        return self.live || self.from.connection.is_given();
        #[cfg(not(feature = "cluster"))]
        return false;
    }
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let Some(Versions { old, new }) = args.kubernetes else { return policies::run(args, out) };
    if page::Form::of(&args.output).is_some() {
        anyhow::bail!("`-o {}` shows what a change of policies moves: give OLD and NEW", args.output);
    }
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
