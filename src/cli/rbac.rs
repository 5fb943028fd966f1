//! `bayplan rbac`: the roles with the rights that a configuration, its policies and the flags of `run` or `extender` need,
//! and no more. `cluster::rights` knows which those are; no cluster is read.

use super::output::{Output, yaml};
use super::policy_rights::{self, PolicyRight};
use super::run_args::ElectionArgs;
use super::{ExitStatus, input, live, run, setup};
use crate::cluster::policies::account::PolicyAccount;
use crate::cluster::rights::needed::Wanted;
use crate::cluster::rights::right::Right;
use crate::cluster::rights::roles::{Grantee, roles, snapshot_reader};
use crate::framework::Profile;
use crate::framework::features::GatesOf;
use crate::lang::analysis::cost::Size;
use crate::lang::typed::{Point, Policy};
use crate::plugins::policy::ExemptPods;
use anyhow::{anyhow, bail};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The scheduler name that the manifests give Bayplan beside kube-scheduler.
const NAME: &str = "bayplan";
const DEFAULT: &str = "default-scheduler";

/// How Bayplan runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Way {
    /// A scheduler of its own name.
    Beside,
    /// In place of kube-scheduler.
    Instead,
    /// An extender of an unmodified kube-scheduler.
    Extender,
}

/// Prints the roles that a scheduler or an extender with these flags needs, with their bindings.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan rbac | kubectl apply -f -                         beside kube-scheduler
  bayplan rbac --way instead --policies policies/           what these policies look up and write, too
  bayplan rbac --way extender --bind
  bayplan rbac --snapshot-reader ann@acme.com               who may save the scheduler's queue and memory, too
  bayplan rbac --config scheduler.yaml --write-status PodGroup -o json")]
pub(super) struct Args {
    /// `beside` kube-scheduler under a name of its own, `instead` of it, or as its `extender` [default: as the profiles of
    /// `--config` say, else beside].
    #[arg(long, value_enum, hide_possible_values = true)]
    way: Option<Way>,
    /// KubeSchedulerConfiguration [default: the default plugins, under the name `bayplan` and with `--way instead` also
    /// `default-scheduler`].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    decides_as: setup::DecidesAs,
    /// Kubernetes feature gates, as for `run`.
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    feature_gates: Vec<String>,
    /// A policy file, a file with ConfigMaps, or a folder of both: what these look up and write is added. As for `run`,
    /// policies are then read from no ConfigMaps, unless `--policy-namespaces` names some.
    #[arg(long, value_name = "PATH", help_heading = "Policies")]
    policies: Vec<PathBuf>,
    /// Namespaces of the ConfigMaps with policies [default: bayplan-policies; none with `--policies`]. An empty name means
    /// none.
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',', help_heading = "Policies")]
    policy_namespaces: Vec<String>,
    /// The service account in whose name policies write [default: bayplan-policies in the scheduler's namespace].
    #[arg(long, value_name = "NAMESPACE/NAME", help_heading = "Policies")]
    policy_service_account: Option<PolicyAccount>,
    #[command(flatten, next_help_heading = "Policies")]
    kinds: setup::PolicyKinds,
    /// Statuses that `run --write-status` writes: `PodGroup`, `ElasticQuota`.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    write_status: Vec<String>,
    /// As `extender --bind`: bind pods, too.
    #[arg(long)]
    bind: bool,
    /// The secure port, whose users are reviewed; 0: no port [default: 10259, and 0 for the extender].
    #[arg(long, value_name = "PORT")]
    secure_port: Option<u16>,
    #[command(flatten, next_help_heading = "Leader election")]
    election: ElectionArgs,
    /// The name of the roles.
    #[arg(long, value_name = "NAME", default_value = NAME, help_heading = "Account")]
    name: String,
    /// The namespace of the scheduler.
    #[arg(long, value_name = "NAMESPACE", default_value = NAME, help_heading = "Account")]
    namespace: String,
    /// The service account, in that namespace, to which the roles are bound.
    #[arg(long, value_name = "NAME", default_value = NAME, help_heading = "Account")]
    service_account: String,
    /// The user to whom the roles are bound instead, as `system:kube-scheduler`.
    #[arg(long, value_name = "NAME", help_heading = "Account", conflicts_with = "service_account")]
    user: Option<String>,
    /// A user who may read what the scheduler remembers, which `snapshot --scheduler` saves: a name, or
    /// `system:serviceaccount:NAMESPACE:NAME`. No other role has this right. The flag may be repeated.
    #[arg(long, value_name = "USER", help_heading = "Account")]
    snapshot_reader: Vec<String>,
    /// How to print: `yaml` or `json`.
    #[arg(long, short, value_parser = ["yaml", "json"], default_value = "yaml", hide_possible_values = true)]
    output: String,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let read = input::policies(&args.policies, &args.kinds.schemas, Size::default())?;
    if setup::complain(&read, out)? {
        return Ok(ExitStatus::Failure);
    }
    let policies: Vec<&Policy> = read.set.iter().map(|compiled| &*compiled.policy).collect();
    let rights = |of: fn(&Policy) -> Vec<PolicyRight>| -> anyhow::Result<Vec<Right>> {
        policies.iter().flat_map(|policy| of(policy)).map(|right| known(&right)).collect()
    };
    let (looked_up, to_write) = (rights(policy_rights::to_read)?, rights(policy_rights::to_write)?);
    let preempts = |policy: &&Policy| policy.rules_at(Point::PostFilter).next().is_some();
    let preempts = policies.iter().any(preempts);
    let wanted = Wanted { looked_up, preempts, ..wanted(args)? };
    let user = args
        .user
        .clone()
        .unwrap_or_else(|| format!("system:serviceaccount:{}:{}", args.namespace, args.service_account));
    // An extender writes nothing of policies.
    let to_write = if wanted.extends { Vec::new() } else { to_write };
    let mut objects = roles(&wanted, &Grantee { name: args.name.clone(), user }, &to_write);
    let readers = args.snapshot_reader.iter().flat_map(|user| snapshot_reader(&args.name, user));
    readers.for_each(|object| join(&mut objects, object));
    print(&objects, &args.output, out)?;
    Ok(ExitStatus::Success)
}

/// Adds an object; of two of the same name the subjects are those of both.
fn join(objects: &mut Vec<Value>, object: Value) {
    let same = |of: &&mut Value| of["kind"] == object["kind"] && of["metadata"] == object["metadata"];
    match objects.iter_mut().find(same) {
        Some(known) => {
            let further = object["subjects"].as_array().cloned().unwrap_or_default();
            if let Some(subjects) = known.get_mut("subjects").and_then(Value::as_array_mut) {
                subjects.extend(further);
            }
        }
        None => objects.push(object),
    }
}

fn print(objects: &[Value], output: &str, out: &mut Output) -> anyhow::Result<()> {
    if output == "json" {
        out.json(&json!({"apiVersion": "v1", "kind": "List", "items": objects}))?;
        return Ok(());
    }
    let documents: Vec<String> = objects.iter().map(yaml).collect::<anyhow::Result<_>>()?;
    out.file(&documents.join("---\n"))?;
    Ok(())
}

/// A right of policies as one that a role grants.
fn known(right: &PolicyRight) -> anyhow::Result<Right> {
    if let Some(kind) = right.unknown() {
        bail!(
            "a policy reads or writes objects of the kind {kind}, and nothing says how their resource is called: give the \
             CustomResourceDefinition with `--schema FILE`"
        );
    }
    Ok(Right::new(right.verbs, &right.group, &right.resource))
}

/// What the flags want, without that of policies in files.
fn wanted(args: &Args) -> anyhow::Result<Wanted> {
    let named = &args.policy_namespaces;
    let namespaces =
        if named.is_empty() && !args.policies.is_empty() { Vec::new() } else { live::namespaces(named) };
    let way = args.way.unwrap_or(Way::Beside);
    let port = args.secure_port.unwrap_or(if way == Way::Extender { 0 } else { 10_259 });
    let reviewed = |wanted| Wanted { reviews_tokens: port != 0, reviews_access: port != 0, ..wanted };
    if way == Way::Extender {
        if args.config.is_some() || !args.write_status.is_empty() {
            bail!(
                "an extender has no configuration and writes no statuses: leave out `--config` and `--write-status`"
            );
        }
        return Ok(reviewed(Wanted::of_extender(args.bind, namespaces)));
    }
    if args.bind {
        bail!("`--bind` is for extenders: add `--way extender`, or leave it out, since `run` always binds");
    }
    let configured = configured(args)?;
    let election = &configured.config.leader_election;
    let elects = args.election.leader_elect.unwrap_or(election.leader_elect);
    let own = Some(args.namespace.clone());
    let lease = if elects { Some(run::lease(&args.election, &configured.config, own)?) } else { None };
    let made = run::profiles(&[], &configured, Size::default(), &ExemptPods::default())
        .map_err(|said| anyhow!(super::output::Lines(format!("the configuration cannot be used\n{said}"))))?;
    Ok(reviewed(Wanted {
        extends: false,
        needs: made.needs(),
        plugins: run::plugins_of(&made),
        lease: lease.map(|lease| (lease.namespace, lease.name)),
        namespace: args.namespace.clone(),
        account: args
            .policy_service_account
            .clone()
            .unwrap_or_else(|| PolicyAccount::beside(&args.namespace)),
        statuses: run::written_statuses(&args.write_status)?,
        ..Wanted::of_extender(false, namespaces)
    }))
}

/// The configuration of the file, or that of the manifests for the way.
fn configured(args: &Args) -> anyhow::Result<run::Configured> {
    let mut configured = run::read_configuration(
        args.config.as_deref(),
        GatesOf::version(args.decides_as.of_the_flag()),
        &args.feature_gates,
    )?;
    let profiles = &mut configured.config.profiles;
    if args.config.is_none() {
        let names: &[&str] = if args.way == Some(Way::Instead) { &[DEFAULT, NAME] } else { &[NAME] };
        *profiles = names.iter().map(|name| Profile::new(name)).collect();
        return Ok(configured);
    }
    let serves_default = profiles.iter().any(|profile| &*profile.scheduler_name == DEFAULT);
    match (args.way, serves_default) {
        (Some(Way::Beside), true) => bail!(
            "a profile of the configuration has the name `{DEFAULT}`, so it is for `--way instead`; beside kube-scheduler, \
             give the profile a name of its own"
        ),
        (Some(Way::Instead), false) => bail!(
            "no profile of the configuration has the name `{DEFAULT}`: add one to take the place of kube-scheduler, or \
             use `--way beside`"
        ),
        _ => Ok(configured),
    }
}
