//! `bayplan snapshot`: a cluster with its configuration and policies in one file, which every command takes as `--cluster`.
//!
//! - `collect.rs`: what the file has, from a live cluster or from files
//! - `reduce.rs`: the fewest objects with the verdict on a pod
//! - `anonymize.rs`: without the names of the cluster
//! - `scheduler.rs`: what a running scheduler remembers
//! - `file.rs`: how it is written

mod anonymize;
pub(super) mod collect;
mod file;
mod reduce;
#[cfg(feature = "cluster")]
mod scheduler;

pub(super) use anonymize::anonymized;
pub(super) use reduce::{Subject, reduced};

use super::progress::Progress;
use super::{ExitStatus, Output, durations, setup};
use std::path::PathBuf;
use std::time::Duration;

/// Saves what decisions read of a cluster in one file: objects, configuration and policies.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan snapshot -o prod.json                              the cluster of the current context
  bayplan snapshot --context prod -o prod.json               another one
  bayplan snapshot --policies policies/ -o prod.json         with what these policies read, too
  bayplan snapshot --cluster cluster.yaml -o small.json      of files: without what nothing reads
  bayplan snapshot --scheduler https://127.0.0.1:10259 -o prod.json   with the memory of a running scheduler
  bayplan snapshot --reduce shop/train-7 -o train.json       the fewest objects with the verdict on this pod
  bayplan snapshot --reduce shop/train-7 --anonymize -o train.json       what a bug report needs, without names")]
pub(super) struct Args {
    #[command(flatten)]
    from: setup::From,
    #[command(flatten)]
    decides_as: setup::DecidesAs,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    scheduler: scheduler::SchedulerArgs,
    /// Leave out every object and label without which this pod has the same verdict for the same reasons: `NAME` or
    /// `NAMESPACE/NAME`. Each is tried by deciding again.
    #[arg(long, value_name = "POD")]
    reduce: Option<String>,
    /// Replace names and values; equal ones stay equal. What policies and the configuration name stays, and is listed.
    #[arg(long)]
    anonymize: bool,
    /// The file; without it, stdout. It is written beside its place and moved there once it is whole.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Stop with an error after this time, such as `30s` or `5m`. Without it there is no limit.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration)]
    timeout: Option<Duration>,
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
    let to = file::Target::of(args.output.as_deref(), out)?;
    let progress = Progress::start(out, args.timeout);
    #[cfg(feature = "cluster")]
    args.scheduler.check(&args.from.connection)?;
    let setup = match setup::load(&args.from, &setup::Origin::FilesOrRules, out)? {
        Ok(setup) => setup,
        Err(policies) => {
            setup::complain(&policies, out)?;
            return Ok(ExitStatus::Failure);
        }
    };
    setup::complain(&setup.policies, out)?;
    let mut content = collect::content(&args.from, &setup, &progress, out)?;
    for missing in &content.missing {
        setup::note(out, missing);
    }
    #[cfg(feature = "cluster")]
    if args.from.cluster.is_empty() {
        args.scheduler.add(&args.from.connection, &mut content, &progress, out)?;
    }
    if args.reduce.is_some() || args.anonymize {
        without_memory(&mut content, out)?;
    }
    let subject = match &args.reduce {
        Some(pod) => Some(reduced(&mut content, pod, &setup, &progress, out)?),
        None => None,
    };
    if args.anonymize {
        anonymized(&mut content, subject, &setup, &progress, out)?;
    }
    progress.stage("writing the file", 0);
    let written = to.write(&content, &progress, out)?;
    drop(progress);
    file::said(&written, &content, out)?;
    Ok(ExitStatus::Success)
}

/// Leaves the memory of a scheduler out, whose names are those of the cluster and whose objects are all.
fn without_memory(content: &mut collect::Content, out: &mut Output) -> anyhow::Result<()> {
    if content.saved.memory.is_none() {
        return Ok(());
    }
    content.saved.forget_memory(&mut content.objects);
    if let Some((source, _)) = content.saved.source.split_once(", and the memory of ") {
        content.saved.source = source.to_owned();
    }
    if !out.quiet {
        let line = "the scheduler's memory is left out: its assumptions and nominations are in the objects";
        writeln!(out.stderr(), "{line}")?;
    }
    Ok(())
}
