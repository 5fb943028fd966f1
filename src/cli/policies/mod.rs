//! `bayplan policies`: which policies a cluster has and which are in service; switches one off and
//! on again, or back to an older text, without touching its object. `list` and `show` print,
//! `change` writes overrides.

mod change;
mod list;
mod show;

use super::live::{self, Connection};
use super::setup::note;
use super::{ExitStatus, Output};
use crate::cluster::policies::compiled;
use crate::cluster::policies::config_maps;
use crate::cluster::policies::listing::PolicyObject;
use crate::cluster::policies::overrides::Entry;
use crate::cluster::policies::session::PolicySession;
use crate::diag::suggest::nearest;
use crate::lang::analysis::cost::Size;
use anyhow::bail;
use std::path::PathBuf;

/// Lists the policies of a cluster; `show` prints one, `suspend`, `resume` and `rollback` switch it.
#[derive(clap::Args, Debug)]
#[command(
    subcommand_negates_reqs = true,
    after_help = "Examples:
  bayplan policies                                              what is in service
  bayplan policies show gpu-rules                               text, state and history
  bayplan policies suspend gpu-rules --because OPS-7 --for 2h   off, and on again in two hours
  bayplan policies suspend --all --because OPS-7                when no single policy is to blame
  bayplan policies resume gpu-rules                             on again now
  bayplan policies rollback gpu-rules --because OPS-7           back to the text before"
)]
pub(super) struct Args {
    #[command(flatten)]
    at: Where,
    /// How to print the list: `text` or `json`.
    #[arg(long, short, value_parser = ["text", "json"], default_value = "text", hide_possible_values = true)]
    output: String,
    #[command(subcommand)]
    action: Option<Action>,
}

/// The cluster and the namespaces of its policies.
#[derive(clap::Args, Debug)]
struct Where {
    /// Kubeconfig [default: the files of `KUBECONFIG`, else `~/.kube/config`, else the service
    /// account of the pod].
    #[arg(long, value_name = "FILE", global = true)]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current context].
    #[arg(long, value_name = "NAME", global = true)]
    context: Option<String>,
    /// User to impersonate.
    #[arg(long = "as", value_name = "USER", global = true)]
    impersonate: Option<String>,
    /// Namespaces of the ConfigMaps with policies [default: bayplan-policies].
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',', global = true)]
    policy_namespaces: Vec<String>,
}

/// What to do.
#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Prints one policy: its state, its history and its text.
    #[command(
        after_help = "Examples:\n  bayplan policies show gpu-rules\n  bayplan policies show gpu-rules -o json"
    )]
    Show {
        /// The policy.
        policy: String,
        /// How to print: `text` or `json`.
        #[arg(long, short, value_parser = ["text", "json"], default_value = "text", hide_possible_values = true)]
        output: String,
    },
    /// Switches a policy off until it is resumed, its time is over, or its text changes.
    #[command(after_help = "Example:\n  bayplan policies suspend gpu-rules --because OPS-7 --for 2h")]
    Suspend(change::Suspend),
    /// Ends the suspension or the rollback of a policy.
    #[command(after_help = "Example:\n  bayplan policies resume gpu-rules")]
    Resume(change::Resume),
    /// Puts an older text of a policy into service until it is resumed or its text changes.
    #[command(after_help = "Example:\n  bayplan policies rollback gpu-rules --because OPS-7")]
    Rollback(change::Rollback),
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let connection = Connection {
        kubeconfig: args.at.kubeconfig.clone(),
        context: args.at.context.clone(),
        impersonate: args.at.impersonate.clone(),
    };
    let namespaces = live::namespaces(&args.at.policy_namespaces);
    let session = PolicySession::open(&live::target(&connection), namespaces.clone(), Size::default())?;
    for missing in &session.found.missing {
        note(out, missing);
    }
    let cluster = Cluster { session, namespaces };
    match &args.action {
        None if args.output == "json" => list::run_json(&cluster, out)?,
        None => list::run(&cluster, out)?,
        Some(Action::Show { policy, output }) if output == "json" || args.output == "json" => {
            show::run_json(&cluster, policy, out)?;
        }
        Some(Action::Show { policy, .. }) => show::run(&cluster, policy, out)?,
        Some(_) if args.output == "json" => bail!("`-o json` is for the list of policies and for `show`"),
        Some(Action::Suspend(args)) => change::suspend(&cluster, args, out)?,
        Some(Action::Resume(args)) => change::resume(&cluster, args, out)?,
        Some(Action::Rollback(args)) => change::rollback(&cluster, args, out)?,
    }
    Ok(ExitStatus::Success)
}

/// The policies of a cluster.
struct Cluster {
    session: PolicySession,
    namespaces: Vec<String>,
}

/// A policy and the object that has it.
struct Found<'a> {
    namespace: &'a str,
    object: &'a PolicyObject,
}

impl Cluster {
    /// The names of the policies of an object, in service or not.
    fn names(object: &PolicyObject) -> Vec<String> {
        let mut names: Vec<String> = object.serving.iter().map(|it| it.name.clone()).collect();
        names.extend(compiled::names(&object.present));
        names.sort();
        names.dedup();
        names
    }

    /// The object that has a policy: the one that serves it, else the oldest.
    fn find(&self, policy: &str) -> anyhow::Result<Found<'_>> {
        let objects = &self.session.found.objects;
        let serves = objects.iter().find(|object| object.serving.iter().any(|it| it.name == policy));
        let has = || objects.iter().find(|object| Self::names(object).iter().any(|name| name == policy));
        let Some(object) = serves.or_else(has) else {
            let known: Vec<String> = objects.iter().flat_map(Self::names).collect();
            let near = nearest(policy, known.iter().map(String::as_str));
            let files = "; a policy that the scheduler reads from a file (`--policies`) has no object: change the file";
            let near = near.map_or_else(|| files.to_owned(), |near| format!("; did you mean `{near}`?"));
            bail!("no policy in {} is called `{policy}`{near}", self.namespaces.join(", "));
        };
        Ok(Found { namespace: config_maps::namespace_of(&object.name), object })
    }

    /// The override of a policy that holds now.
    fn holds(&self, object: &PolicyObject, policy: &str) -> Option<&Entry> {
        let namespace = config_maps::namespace_of(&object.name);
        let text = crate::cluster::policies::verdict::hash(&object.present);
        self.session.found.overrides.get(namespace)?.now(policy, &text)
    }
}
