//! `bayplan policies suspend`, `resume` and `rollback`: write and remove overrides.

use super::{Cluster, Found};
use crate::cli::Output;
use crate::cli::durations;
use crate::cluster::policies::overrides::{ALL, Entry, Kind};
use crate::cluster::policies::verdict::hash;
use anyhow::{Context, bail};
use std::time::Duration;

/// Which policy, or all of them.
#[derive(clap::Args, Debug)]
#[group(required = true, multiple = false)]
struct Which {
    /// The policy.
    policy: Option<String>,
    /// All policies of the namespace.
    #[arg(long)]
    all: bool,
}

/// Why, and for how long.
#[derive(clap::Args, Debug)]
struct Reason {
    /// Why; the status of the policy repeats it.
    #[arg(long, value_name = "TEXT", value_parser = not_empty)]
    because: String,
    /// For how long, as 90s, 30m or 2h [default: until it is resumed].
    #[arg(long = "for", value_name = "DURATION", value_parser = durations::duration)]
    lasts: Option<Duration>,
}

fn not_empty(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("say why".into()) } else { Ok(text.to_owned()) }
}

/// Switches a policy off.
#[derive(clap::Args, Debug)]
pub(super) struct Suspend {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    reason: Reason,
}

/// Ends an override.
#[derive(clap::Args, Debug)]
pub(super) struct Resume {
    #[command(flatten)]
    which: Which,
}

/// Puts an older text into service.
#[derive(clap::Args, Debug)]
pub(super) struct Rollback {
    /// The policy.
    policy: String,
    /// The revision, or its beginning [default: the one before the newest].
    #[arg(long, value_name = "REVISION")]
    to: Option<String>,
    #[command(flatten)]
    reason: Reason,
}

impl Reason {
    fn entry(&self, cluster: &Cluster, kind: Kind) -> anyhow::Result<Entry> {
        let user = cluster.session.user();
        Entry::begin(kind, &self.because, user, self.lasts).context("`--for` is too long")
    }
}

/// `suspend`
pub(super) fn suspend(cluster: &Cluster, args: &Suspend, out: &mut Output) -> anyhow::Result<()> {
    let entry = args.reason.entry(cluster, Kind::Suspend)?;
    let Some(policy) = &args.which.policy else {
        for namespace in &cluster.namespaces {
            cluster.session.write(namespace, ALL, Some(&entry))?;
        }
        let until = entry.until.map_or_else(String::new, |until| format!(" until {until}"));
        writeln!(out.stdout(), "all policies of {} are suspended{until}", cluster.namespaces.join(", "))?;
        return next(out, "resume --all");
    };
    let Found { namespace, object } = cluster.find(policy)?;
    // It ends with the text for which it was written.
    let entry = Entry { text: Some(hash(&object.present)), ..entry };
    cluster.session.write(namespace, policy, Some(&entry))?;
    done(out, &entry, policy)
}

/// `resume`
pub(super) fn resume(cluster: &Cluster, args: &Resume, out: &mut Output) -> anyhow::Result<()> {
    let Some(policy) = &args.which.policy else {
        for namespace in &cluster.namespaces {
            cluster.session.write(namespace, ALL, None)?;
        }
        let namespaces = cluster.namespaces.join(", ");
        writeln!(out.stdout(), "the suspension of all policies of {namespaces} has ended")?;
        return Ok(());
    };
    // The policy may be gone, and its override not.
    let overrides = &cluster.session.found.overrides;
    let with_entry: Vec<&String> = overrides
        .iter()
        .filter(|(_, all)| all.get(policy).is_some())
        .map(|(namespace, _)| namespace)
        .collect();
    if with_entry.is_empty() {
        let all = overrides.values().any(|all| all.get(ALL).is_some());
        let help = if all { "; all policies are suspended: use `--all`" } else { "" };
        cluster.find(policy)?;
        bail!("`{policy}` has no override{help}");
    }
    for namespace in with_entry {
        cluster.session.write(namespace, policy, None)?;
    }
    let policy = out.part(policy);
    writeln!(out.stdout(), "policy `{policy}` is in service as its object says")?;
    Ok(())
}

/// `rollback`
pub(super) fn rollback(cluster: &Cluster, args: &Rollback, out: &mut Output) -> anyhow::Result<()> {
    let Found { namespace, object } = cluster.find(&args.policy)?;
    let key = (namespace.to_owned(), args.policy.clone());
    let history = cluster.session.found.history.get(&key).map(Vec::as_slice).unwrap_or_default();
    let revision = match &args.to {
        Some(wanted) => {
            let mut with = history.iter().filter(|it| it.revision.starts_with(wanted.as_str()));
            match (with.next(), with.next()) {
                (Some(one), None) => one,
                (Some(_), Some(_)) => bail!("several revisions of `{}` begin with `{wanted}`", args.policy),
                (None, _) => bail!(
                    "`{}` has no revision `{wanted}`; `{} policies show {}` lists them",
                    args.policy,
                    out.program,
                    args.policy
                ),
            }
        }
        None => match history.get(1) {
            Some(before) => before,
            None => bail!("`{}` has no earlier revision in its history", args.policy),
        },
    };
    let entry = Entry {
        text: Some(hash(&object.present)),
        revision: Some(revision.revision.clone()),
        ..args.reason.entry(cluster, Kind::Rollback)?
    };
    cluster.session.write(namespace, &args.policy, Some(&entry))?;
    done(out, &entry, &args.policy)
}

fn done(out: &mut Output, entry: &Entry, policy: &str) -> anyhow::Result<()> {
    let words = out.part(&entry.words(policy));
    writeln!(out.stdout(), "{words}")?;
    next(out, &format!("resume {policy}"))
}

fn next(out: &mut Output, command: &str) -> anyhow::Result<()> {
    let line = out.part(&format!("{} policies {command}", out.program));
    writeln!(out.stdout(), "\nNext: {line}   ends it")?;
    Ok(())
}
