//! `bayplan doctor`: checks an installation in a live cluster. `cluster::doctor` reads the cluster and has the checks; this
//! folder knows what the flags of an installation mean (`installation`), and prints.

mod installation;
mod json;
mod text;

use super::live::{self, Connection};
use super::setup::note;
use super::{ExitStatus, Output};
use crate::cluster::doctor::finding::Severity;
use crate::cluster::doctor::gather::{Questions, Session};
use crate::cluster::doctor::{bundle, checks};
use anyhow::Context;
use std::path::PathBuf;

/// Checks an installation in a live cluster: versions, leases, rights, replicas, policies, other schedulers, clocks. It writes
/// nothing. Each finding is a sentence, a reason, and what to type.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan doctor                                     all installations of the current context
  bayplan doctor --namespace bayplan -o json
  bayplan doctor --as bayplan/bayplan                the rights of this account
  bayplan doctor --port https://127.0.0.1:10259      with the port that `kubectl port-forward` opens
  bayplan doctor --bundle report.json                for a report, without names of the cluster
  bayplan doctor --before-removal                    what would wait, stay or take over")]
pub(super) struct Args {
    /// Kubeconfig [default: the files of `KUBECONFIG`, else `~/.kube/config`, else the service account of the pod].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current context].
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Look for installations in this namespace only.
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Namespaces of the ConfigMaps with policies, beside those of installations that are found [default: bayplan-policies].
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    policy_namespaces: Vec<String>,
    /// The account whose rights are reviewed: NAMESPACE/NAME of a service account, or a user [default: the service account
    /// of each installation].
    #[arg(long = "as", value_name = "ACCOUNT")]
    account: Option<String>,
    /// The secure port of a replica, as https://127.0.0.1:10259 [default: that of each pod, through the API server].
    #[arg(long, value_name = "URL")]
    port: Option<String>,
    /// Also look for what a removal would leave without a scheduler.
    #[arg(long)]
    before_removal: bool,
    /// Write what was found into this file, for a report: without names of the cluster, and without addresses.
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// How to print: `text` or `json`.
    #[arg(long, short, value_parser = ["text", "json"], default_value = "text", hide_possible_values = true)]
    output: String,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let connection =
        Connection { kubeconfig: args.kubeconfig.clone(), context: args.context.clone(), impersonate: None };
    let session = Session::open(&live::target(&connection))?;
    let labelled = session.labelled(args.namespace.as_deref());
    let mut installations = Vec::new();
    for workload in &labelled.workloads {
        match installation::of(workload) {
            Ok(found) => installations.push(found),
            Err(why) => note(
                out,
                &format!(
                    "what {}/{} runs with cannot be understood, and is not checked: {why:#}",
                    workload.namespace, workload.name
                ),
            ),
        }
    }
    let questions = Questions {
        policy_namespaces: match args.policy_namespaces.is_empty() && !installations.is_empty() {
            true => Vec::new(),
            false => live::namespaces(&args.policy_namespaces),
        },
        account: args.account.as_deref().map(installation::user),
        port: args.port.clone(),
        before_removal: args.before_removal,
    };
    let facts = session.facts(labelled, installations, &questions);
    let outcomes = checks::run(&facts);
    match args.output.as_str() {
        "json" => out.json(&json::document(&facts, &outcomes))?,
        _ => text::print(&facts, &outcomes, out)?,
    }
    if let Some(path) = &args.bundle {
        let text = format!("{:#}\n", bundle::document(&facts, &outcomes));
        std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let worst = outcomes.iter().filter_map(checks::Outcome::severity).max();
    Ok(if worst == Some(Severity::Error) { ExitStatus::Findings } else { ExitStatus::Success })
}
