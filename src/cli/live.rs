//! A live cluster as the input of a command: the flags for the connection, the objects, and the
//! policies of ConfigMaps that a scheduler would have in service. Called by `setup` and `eval`. The
//! cluster is read once and never written.

use super::Output;
use super::input::Policies;
use super::setup::{Cluster, From, note, quoted};
use crate::cluster::client::{ConnectError, Target};
use crate::cluster::list::{self, ListError, Options};
use crate::cluster::policy_list::{PolicyObject, State};
use crate::cluster::policy_store::Texts;
use crate::diag::{Origin, Severity};
use crate::lang::policy_set::CompiledPolicy;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) use crate::cluster::list::Policies as Wanted;

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
pub(super) fn wanted(from: &From) -> Wanted {
    let namespaces = from.policy_namespaces.clone();
    if from.policies.is_empty() { Wanted::In(namespaces) } else { Wanted::IfAllowed(namespaces) }
}

/// Reads the cluster, and adds its policies to `policies`.
pub(super) fn read(
    connection: &Connection,
    wanted: Wanted,
    policies: &mut Policies,
    out: &mut Output,
) -> anyhow::Result<Cluster> {
    let everywhere =
        matches!(&wanted, Wanted::In(namespaces) | Wanted::IfAllowed(namespaces) if namespaces.is_empty());
    let options = Options {
        target: Target {
            kubeconfig: connection.kubeconfig.clone(),
            as_kubectl: true,
            context: connection.context.clone(),
            impersonate: connection.impersonate.clone(),
            user_agent: "command",
            ..Target::default()
        },
        policies: wanted,
    };
    let listed = match list::read(&options) {
        Err(ListError::Connect(ConnectError::NotInCluster(_))) => anyhow::bail!(
            "no cluster: give its files with `--cluster FILE`, or a kubeconfig with `--kubeconfig FILE` \
             (neither KUBECONFIG nor ~/.kube/config exists)"
        ),
        other => other?,
    };
    for missing in &listed.missing {
        note(out, missing);
    }
    if everywhere {
        say_whose(&listed.policies, out);
    }
    for object in &listed.policies {
        take(object, policies, out);
    }
    Ok(Cluster { world: listed.objects.into_iter().collect(), namespace: listed.namespace })
}

/// Warns that policies of several namespaces are combined. A scheduler reads configured namespaces
/// only.
fn say_whose(objects: &[PolicyObject], out: &mut Output) {
    let namespaces: BTreeSet<&str> =
        objects.iter().filter_map(|object| Some(object.name.split_once('/')?.0)).collect();
    if namespaces.len() > 1 {
        let names: Vec<&str> = namespaces.into_iter().collect();
        note(
            out,
            &format!(
                "policies of {} namespaces are combined: {}; give the ones that your scheduler reads with \
                 `--policy-namespaces`",
                names.len(),
                names.join(", ")
            ),
        );
    }
}

/// Adds the policies of an object that are in service, with warnings about its problems.
fn take(object: &PolicyObject, policies: &mut Policies, out: &mut Output) {
    match &object.state {
        State::Serving => {}
        State::Waiting { why } => note(out, &format!("`{}` waits: {why}", object.name)),
        State::Refused { present, problems, holds } => {
            let instead = match (holds.is_empty(), object.texts.is_empty()) {
                (false, _) => "no earlier text is known, so the pods it selects wait",
                (true, true) => "no earlier text is known, so it has no effect",
                (true, false) => "its last good text is in service",
            };
            let what = match problems.first() {
                Some(problem) if present.is_empty() => problem.to_string(),
                _ => format!("`{}` does not compile", object.name),
            };
            note(out, &format!("{what}; {instead}"));
            // The user of the command did not make these mistakes, so they are warnings and stop
            // nothing.
            let (_, said) = compiled(&object.name, present, policies);
            policies.diagnostics.extend(said.into_iter().filter(|it| it.is_error()).map(|mut it| {
                it.severity = Severity::Warning;
                it
            }));
        }
    }
    let (found, _) = compiled(&object.name, &object.texts, policies);
    let serves = |policy: &Arc<CompiledPolicy>| object.serving.iter().any(|name| name == policy.name());
    policies.in_service.extend(found.into_iter().filter(serves));
}

/// Compiles the texts of an object; returns policies and diagnostics.
fn compiled(
    object: &str,
    texts: &Texts,
    policies: &mut Policies,
) -> (Vec<Arc<CompiledPolicy>>, Vec<crate::diag::Diagnostic>) {
    let (mut all, mut said) = (Vec::new(), Vec::new());
    for (key, text) in texts {
        let origin = Origin { object: object.to_owned(), key: key.clone() };
        let id = policies.sources.add_object(origin, text.as_str());
        let Some(source) = policies.sources.get(id) else { continue };
        let (found, diagnostics) = crate::lang::compile(source);
        said.extend(diagnostics);
        all.extend(found.into_iter().map(|policy| Arc::new(CompiledPolicy::new(policy, &policies.sources))));
    }
    (all, said)
}
