//! A live cluster as the input of a command: the flags for the connection, the objects, and the
//! policies of ConfigMaps that a scheduler would have in service. Called by `setup` and `eval`. The
//! cluster is read once and never written.

use super::Output;
use super::input::Policies;
use super::setup::{Cluster, From, RunsAs, note, quoted};
use crate::cluster::api::client::{ConnectError, Target};
use crate::cluster::inputs::list::{self, ListError, Listed, Options};
use crate::cluster::inputs::node_metrics;
use crate::cluster::policies::choice::Origin;
use crate::cluster::policies::config_maps::POLICY_NAMESPACE;
use crate::cluster::policies::listing::{PolicyObject, State};
use crate::cluster::policies::verdict::Texts;
use crate::cluster::process::published::Running;
use crate::cluster::viewer::follower::Follower;
use crate::diag::{self, Severity, Source};
use crate::dry_run::Others;
use crate::lang::analysis::cost::Size;
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::schemas::Schemas;
use crate::lang::types::ObjectKind;
use crate::model::{KindName, KubernetesVersion, Object, PodInfo, Reading, Symbol};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) use crate::cluster::inputs::list::WantedPolicies;

/// The connection to a live cluster, found as kubectl finds it.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Connection {
    /// Kubeconfig of a live cluster [default without `--cluster`: the files of `KUBECONFIG`, else
    /// `~/.kube/config`, else the service account of the pod].
    #[arg(long, value_name = "FILE", conflicts_with = "cluster", help_heading = "Live cluster")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current context].
    #[arg(long, value_name = "NAME", conflicts_with = "cluster", help_heading = "Live cluster")]
    pub context: Option<String>,
    /// User to impersonate.
    #[arg(long = "as", value_name = "USER", conflicts_with = "cluster", help_heading = "Live cluster")]
    pub impersonate: Option<String>,
}

impl Connection {
    /// Whether a flag chooses a live cluster.
    pub(super) fn is_given(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some() || self.impersonate.is_some()
    }

    /// The flags as given, for the suggested next command.
    pub(super) fn flags(&self) -> String {
        let mut text = String::new();
        let kubeconfig = self.kubeconfig.as_ref().map(|path| path.display().to_string());
        let flags =
            [("--kubeconfig", &kubeconfig), ("--context", &self.context), ("--as", &self.impersonate)];
        for (flag, value) in flags {
            if let Some(value) = value {
                let _ = write!(text, " {flag} {}", quoted(value));
            }
        }
        text
    }
}

/// Which policies of the cluster to read. With `--policies`, a missing right to read them is only a
/// warning.
pub(super) fn wanted(from: &From) -> WantedPolicies {
    let namespaces = namespaces(&from.policy_namespaces);
    if from.only_these_policies {
        WantedPolicies::No
    } else if from.policies.is_empty() {
        WantedPolicies::In(namespaces)
    } else {
        WantedPolicies::IfAllowed(namespaces)
    }
}

/// The namespaces whose policies are read: the named ones, else [`POLICY_NAMESPACE`]. An empty name
/// stands for none.
pub(super) fn namespaces(named: &[String]) -> Vec<String> {
    if named.is_empty() {
        return vec![POLICY_NAMESPACE.to_owned()];
    }
    named.iter().filter(|name| !name.is_empty()).cloned().collect()
}

/// Where the cluster of a connection is.
pub(super) fn target(connection: &Connection) -> Target {
    Target {
        kubeconfig: connection.kubeconfig.clone(),
        as_kubectl: true,
        context: connection.context.clone(),
        impersonate: connection.impersonate.clone(),
        user_agent: "command",
        ..Target::default()
    }
}

/// What a command asks about the scheduler of the cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    Nothing,
    /// As which version it decides.
    Version,
    /// Its configuration, too.
    Configuration,
}

/// What is read of a live cluster beside its policies.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    /// The objects.
    pub objects: bool,
    /// What the command asks about its scheduler.
    pub asks: Asks,
}

/// How a live cluster is read.
#[derive(Clone, Copy)]
pub(super) enum Reader<'a> {
    /// Now, once.
    Once(&'a Connection),
    /// As watches show it, for the options with which it is followed.
    Followed(&'a Follower),
}

impl Reader<'_> {
    /// The cluster, without what policies look up.
    fn listed(self, of: Wanted) -> anyhow::Result<Listed> {
        match self {
            Self::Once(connection) => match list::read(&options(connection, of)) {
                Err(ListError::Connect(ConnectError::NotInCluster(_))) => Err(not_found()),
                other => Ok(other?),
            },
            // Policies of files are read again and again, and may name further kinds by now.
            Self::Followed(follower) => {
                let mut listed = follower.listed();
                let unknown = missing_of(&listed.policies.schemas, of.kinds);
                listed.policies.schemas.merge(&follower.described(&unknown));
                Ok(listed)
            }
        }
    }

    /// The objects of kinds that policies look up.
    pub(super) fn look_up(self, kinds: &[Arc<ObjectKind>], out: &mut Output) -> anyhow::Result<Vec<Object>> {
        let (objects, missing) = match self {
            Self::Once(connection) => list::look_up(&target(connection), kinds)?,
            Self::Followed(follower) => follower.look_up(kinds),
        };
        for missing in &missing {
            note(out, missing);
        }
        Ok(objects)
    }

    /// What nodes use now.
    pub(super) fn metrics(self, out: &mut Output) -> anyhow::Result<Vec<Reading>> {
        let (readings, said) = match self {
            Self::Once(connection) => node_metrics::read(&target(connection))?,
            Self::Followed(follower) => follower.metrics(),
        };
        if let Some(said) = said {
            note(out, &said);
        }
        Ok(readings)
    }
}

/// The kinds of these names that are not known.
pub(super) fn missing_of(known: &Schemas, mut kinds: BTreeSet<KindName>) -> BTreeSet<KindName> {
    kinds.retain(|name| known.get(name).is_none());
    kinds
}

/// What is read of a cluster beside its objects.
pub(super) struct Wanted {
    /// Which policies.
    pub policies: WantedPolicies,
    /// For which size of the cluster they are compiled.
    pub size: Size,
    /// Kinds that other policies look up.
    pub kinds: BTreeSet<KindName>,
    /// Whether the configuration of its scheduler is read.
    pub configuration: bool,
    /// Whether its objects are.
    pub objects: bool,
}

/// The options that read the cluster of a connection.
pub(super) fn options(connection: &Connection, of: Wanted) -> Options {
    let Wanted { policies, size, kinds, configuration, objects } = of;
    Options { target: target(connection), policies, size, kinds, objects, configuration }
}

/// The error of a command that finds no cluster.
pub(super) fn not_found() -> anyhow::Error {
    anyhow::anyhow!(
        "no cluster: give its files with `--cluster FILE`, or a kubeconfig with `--kubeconfig FILE` \
         (neither KUBECONFIG nor ~/.kube/config exists)"
    )
}

/// Reads parts of the cluster, and adds its policies to `policies`.
pub(super) fn read(
    reader: Reader,
    wanted: WantedPolicies,
    parts: Parts,
    policies: &mut Policies,
    out: &mut Output,
) -> anyhow::Result<Cluster> {
    let asks = parts.asks;
    let own = policies.texts.iter().filter_map(|id| policies.sources.get(*id)).map(Source::text);
    let kinds = crate::cluster::inputs::kinds::named_in(own);
    let namespaces = match &wanted {
        WantedPolicies::In(namespaces) | WantedPolicies::IfAllowed(namespaces) => namespaces.join(", "),
        WantedPolicies::No => String::new(),
    };
    let of = Wanted {
        policies: wanted,
        size: policies.size,
        kinds,
        configuration: asks != Asks::Nothing,
        objects: parts.objects,
    };
    let listed = reader.listed(of)?;
    for missing in &listed.missing {
        note(out, missing);
    }
    policies.schemas.merge(&listed.policies.schemas);
    for object in listed.policies.objects.iter().filter(|of| !matches!(of.state, State::Refused { .. })) {
        for (key, text) in object.present.iter().filter(|(_, text)| text.contains("except")) {
            let origin = diag::Origin { object: object.name.clone(), key: key.clone() };
            policies.elsewhere.push(policies.sources.add_object(origin, text.as_str()));
        }
    }
    policies.find_exceptions();
    for object in &listed.policies.objects {
        take(object, policies, out);
    }
    let runs = runs_as(&listed);
    let strange = listed.objects.iter().any(|object| match object {
        Object::Pod(pod) => pod.node_name.is_none() && &*pod.scheduler_name != "default-scheduler",
        _ => false,
    });
    let configuration = match asks {
        Asks::Configuration => configuration(listed.running, &namespaces, strange, out),
        Asks::Version | Asks::Nothing => None,
    };
    let world = listed.objects.into_iter().collect();
    let others = Others::default();
    let saved = Vec::new();
    Ok(Cluster { world, namespace: listed.namespace, others, file: None, configuration, saved, runs })
}

/// As which version the scheduler of the cluster decides, and who says so: one of ours in what it publishes, else
/// kube-scheduler by the image of its pod. `None`: it cannot be seen, as where the control plane is hidden.
fn runs_as(listed: &Listed) -> Option<RunsAs> {
    let ours = listed.running.as_ref().ok().and_then(Option::as_ref).filter(|running| !running.stale);
    if let Some((version, running)) = ours.and_then(|running| Some((running.version?, running))) {
        return Some((version, running.from.clone()));
    }
    listed.objects.iter().find_map(|object| {
        let Object::Pod(pod) = object else { return None };
        let is_scheduler = pod.namespace.as_str() == "kube-system"
            && pod
                .labels
                .get(&Symbol::new("component"))
                .is_some_and(|name| name.as_str() == "kube-scheduler");
        let mut images = pod.containers.iter().filter(|_| is_scheduler).map(|of| of.image.as_str());
        let version = images.find_map(|image| {
            let (name, tag) = image.rsplit_once(':')?;
            name.ends_with("kube-scheduler").then(|| KubernetesVersion::parse(tag).ok())?
        })?;
        Some((version, format!("of the pod {}", pod.full_name())))
    })
}

/// The configuration that runs, and where it is from, which is reported. That there is none matters if `strange`: pods wait
/// for a scheduler that the default configuration does not have.
fn configuration(
    running: Result<Option<Running>, String>,
    namespaces: &str,
    strange: bool,
    out: &mut Output,
) -> Option<(String, String)> {
    let otherwise = "the default configuration counts; name the scheduler's with `--config FILE`";
    match running {
        Ok(Some(Running { from, text, stale, .. })) => {
            if stale {
                let doubt = "no scheduler has confirmed it since: does it run?";
                note(out, &format!("the configuration is that {from}; {doubt}"));
            } else if !out.quiet {
                let _ = writeln!(out.stderr(), "the configuration is that {from}");
            }
            Some((text, from))
        }
        Ok(None) if !strange => None,
        Ok(None) => {
            let place =
                if namespaces.is_empty() { String::new() } else { format!(" in the namespace {namespaces}") };
            note(out, &format!("no scheduler has published its configuration{place}: {otherwise}"));
            None
        }
        Err(why) => {
            note(out, &format!("the scheduler's configuration cannot be read: {why}; {otherwise}"));
            None
        }
    }
}

/// A pod by its name, whatever has become of it.
pub(super) fn pod(connection: &Connection, namespace: &str, name: &str) -> anyhow::Result<Option<PodInfo>> {
    Ok(list::pod(&target(connection), namespace, name)?)
}

/// Adds the policies of an object that are in service, with warnings about its problems.
fn take(object: &PolicyObject, policies: &mut Policies, out: &mut Output) {
    match &object.state {
        State::Serving => {}
        State::Waiting { why } => note(out, &format!("`{}` waits: {why}", object.name)),
        State::Overridden { why } => note(out, why),
        State::Refused { problems, holds } => {
            let instead = match (holds.is_empty(), object.serving.is_empty()) {
                (false, _) => "no earlier text is known, so the pods it selects wait",
                (true, true) => "no earlier text is known, so it has no effect",
                (true, false) => "its last good text is in service",
            };
            let what = match problems.first() {
                Some(problem) if object.present.is_empty() || problem.line == 0 => problem.to_string(),
                _ => format!("`{}` does not compile", object.name),
            };
            note(out, &format!("{what}; {instead}"));
            // The user of the command did not make these mistakes, so they are warnings and stop
            // nothing.
            let (_, said) = compiled(&object.name, &object.present, policies);
            policies.diagnostics.extend(said.into_iter().filter(|it| it.is_error()).map(|mut it| {
                it.severity = Severity::Warning;
                it
            }));
        }
    }
    let mut done: Vec<(&Texts, Vec<Arc<CompiledPolicy>>)> = Vec::new();
    for serving in object.serving.iter().filter(|it| it.origin != Origin::Suspended) {
        let known = done.iter().position(|(texts, _)| **texts == *serving.texts);
        let at = known.unwrap_or_else(|| {
            done.push((&serving.texts, compiled(&object.name, &serving.texts, policies).0));
            done.len() - 1
        });
        let found = done.get(at).and_then(|(_, all)| all.iter().find(|it| it.name() == serving.name));
        policies.in_service.extend(found.cloned());
    }
}

/// Compiles the texts of an object; returns policies and diagnostics.
fn compiled(
    object: &str,
    texts: &Texts,
    policies: &mut Policies,
) -> (Vec<Arc<CompiledPolicy>>, Vec<crate::diag::Diagnostic>) {
    let (mut all, mut said) = (Vec::new(), Vec::new());
    for (key, text) in texts {
        let origin = diag::Origin { object: object.to_owned(), key: key.clone() };
        let id = policies.sources.add_object(origin, text.as_str());
        let Some(source) = policies.sources.get(id) else { continue };
        let (found, diagnostics) = policies.compiled(source);
        said.extend(diagnostics);
        all.extend(found.into_iter().map(|policy| Arc::new(CompiledPolicy::new(policy, &policies.sources))));
    }
    (all, said)
}
