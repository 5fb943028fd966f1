//! What `dry-run`, `explain`, `test` and `eval` share: a cluster from files or a live one, its
//! policies, and the profiles made of them. `live` reads a live cluster.
//!
//! - `read.rs`: reads everything
//! - `profiles.rs`: policies as plugins of the profiles
//! - `named.rs`: the pod that a name means
//! - `saved.rs`: what a snapshot has beside objects
//! - `what_if.rs`: the same cluster with other policies and pods

mod named;
mod profiles;
mod read;
mod saved;
#[cfg(feature = "cluster")]
mod what_if;

#[cfg(feature = "cluster")]
pub(super) use named::full_name;
pub(super) use named::{made_by, named, nearly_made_by};
#[cfg(feature = "cluster")]
pub(super) use profiles::with_arguments;
#[cfg(feature = "cluster")]
pub(super) use read::RunsAs;
#[cfg(feature = "cluster")]
pub(super) use read::read_from;
pub(super) use read::{Cluster, Origin, load, read};
pub(super) use saved::taken;
#[cfg(feature = "cluster")]
pub(super) use what_if::{Changed, Text, with_texts};

use super::Output;
use super::input::Policies;
#[cfg(feature = "cluster")]
use super::live;
use crate::config::{NodeSelection, SchedulerConfig};
use crate::diag::{Diagnostic, Severity, SourceId, Tally, draw};
use crate::dry_run::saved::Saved;
use crate::dry_run::{Makers, Others, World};
use crate::lang::analysis::cost::Size;
use crate::model::{KubernetesVersion, Time};
use crate::scheduler::Profiles;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the cluster and its rules come from.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct From {
    /// A cluster file: YAML or JSON, streams, lists, `kubectl get -o json`; `-` is stdin. The flag may be repeated.
    #[arg(long, value_name = "FILE", required = !cfg!(feature = "cluster"))]
    pub cluster: Vec<PathBuf>,
    /// The live cluster, if no files are given.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub connection: live::Connection,
    /// A file of more pods to place: Pods, and Jobs, CronJobs, Deployments, ReplicaSets, StatefulSets,
    /// DaemonSets and PodTemplates, one pod for each replica. The flag may be repeated.
    #[arg(long, value_name = "FILE")]
    pub pods: Vec<PathBuf>,
    /// A KubeSchedulerConfiguration.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The nodes on which the scheduler places pods, as for `run`: a label selector, as `pool=gpu,!spot`.
    #[arg(long, value_name = "SELECTOR")]
    pub nodes: Option<NodeSelection>,
    /// A policy file, a file with ConfigMaps, or a folder of both; the flag may be repeated. With a live cluster, a policy
    /// replaces the cluster's policy of the same name, as if it had been applied.
    #[arg(long, value_name = "PATH")]
    pub policies: Vec<PathBuf>,
    /// Namespaces of a live cluster whose ConfigMaps with the label `bayplan.dev/policy` are read
    /// [default: bayplan-policies].
    #[cfg(feature = "cluster")]
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_delimiter = ',',
        conflicts_with = "cluster",
        help_heading = "Live cluster"
    )]
    pub policy_namespaces: Vec<String>,
    #[command(flatten)]
    pub kinds: PolicyKinds,
    #[command(flatten)]
    pub declared: Declared,
    /// The version of kube-scheduler, a flag of the commands that decide as one.
    #[arg(skip)]
    pub decides_as: DecidesAs,
    /// Leave out the policies that files of the cluster hold, and those of a live cluster.
    #[arg(skip)]
    pub only_these_policies: bool,
}

/// Kinds of objects that policies look up.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct PolicyKinds {
    /// A file, or a folder of files, of CustomResourceDefinitions: the types of the fields of kinds that policies look up
    /// and that are not kinds of Kubernetes. The flag may be repeated. CustomResourceDefinitions in cluster files count
    /// too.
    #[arg(long = "schema", value_name = "PATH")]
    pub schemas: Vec<PathBuf>,
}

/// The version of kube-scheduler whose decisions are made.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(super) struct DecidesAs {
    /// The version of Kubernetes as whose kube-scheduler decisions are made: `1.36` or `1.37` [default: 1.37, or
    /// `kubernetes` of the project file].
    #[arg(long, value_name = "VERSION", value_parser = KubernetesVersion::parse)]
    kubernetes: Option<KubernetesVersion>,
}

impl DecidesAs {
    /// As this version.
    pub(super) fn of(version: KubernetesVersion) -> Self {
        Self { kubernetes: Some(version) }
    }

    /// The version of the flag, else the one that is `known` of a snapshot or a running scheduler, else that of the project
    /// file, else the newest.
    pub(super) fn version(self, known: Option<KubernetesVersion>) -> anyhow::Result<KubernetesVersion> {
        match self.kubernetes.or(known) {
            Some(version) => Ok(version),
            None => Ok(super::project::read()?.kubernetes.unwrap_or_default()),
        }
    }

    /// The version of the flag alone, for a process whose folder tells nothing.
    #[cfg(feature = "cluster")]
    pub(super) fn of_the_flag(self) -> KubernetesVersion {
        self.kubernetes.unwrap_or_default()
    }
}

/// The cluster size that policies are compiled for.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(super) struct Declared {
    /// The largest cluster in which rules must be cheap enough; by default 5,000 nodes and 100,000 pods,
    /// whose objects have the sizes of `bayplan help fields`, such as 32 labels.
    #[arg(long, value_name = "nodes=N,pods=N,labels=N,…")]
    size: Option<Size>,
}

impl Declared {
    /// The size.
    pub(super) fn size(self) -> Size {
        self.size.unwrap_or_default()
    }
}

impl From {
    /// The size that policies are compiled for.
    pub(super) fn size(&self) -> Size {
        self.declared.size()
    }

    /// Whether a part of the input comes from stdin, so that the next command needs the same input again.
    pub(super) fn reads_stdin(&self) -> bool {
        let paths = self.cluster.iter().chain(&self.pods).chain(&self.policies).chain(&self.config);
        paths.into_iter().any(|path| super::input::is_stream(path))
    }

    /// The flags as they were typed, for the next command.
    pub(super) fn flags(&self) -> String {
        let mut text = String::new();
        #[cfg(feature = "cluster")]
        {
            text.push_str(&self.connection.flags());
            if !self.policy_namespaces.is_empty() {
                let _ = write!(text, " --policy-namespaces {}", quoted(&self.policy_namespaces.join(",")));
            }
        }
        let lists = [("--cluster", &self.cluster), ("--pods", &self.pods), ("--policies", &self.policies)];
        for (flag, paths) in lists {
            for path in paths {
                let _ = write!(text, " {flag} {}", quoted(&path.display().to_string()));
            }
        }
        for path in &self.kinds.schemas {
            let _ = write!(text, " --schema {}", quoted(&path.display().to_string()));
        }
        if let Some(config) = &self.config {
            let _ = write!(text, " --config {}", quoted(&config.display().to_string()));
        }
        if let Some(nodes) = &self.nodes {
            let _ = write!(text, " --nodes {}", quoted(&nodes.to_string()));
        }
        if let Some(size) = self.declared.size {
            let _ = write!(text, " --size {size}");
        }
        if let Some(version) = self.decides_as.kubernetes {
            let _ = write!(text, " --kubernetes {version}");
        }
        text
    }
}

/// A word quoted for a shell.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A cluster with its policies and profiles.
pub(super) struct Setup {
    /// Policies with their texts; the files of the cluster are among the sources.
    pub policies: Policies,
    /// The objects.
    pub world: World,
    /// The namespace in which a pod is looked up first by its name alone.
    pub namespace: String,
    /// The profiles with the policies in them.
    pub profiles: Arc<Profiles>,
    /// What made the ReplicaSets and Jobs of the files.
    pub makers: Makers,
    /// Objects as the files have them.
    pub others: Others,
    /// What the snapshots among the files have beside objects.
    pub saved: Vec<Saved>,
    /// The version of Kubernetes as whose kube-scheduler decisions are made.
    pub version: KubernetesVersion,
    /// When the objects were read, if they are of a snapshot.
    pub taken: Option<Time>,
    /// Warnings about the profiles.
    pub warnings: Vec<String>,
    /// The number of objects of `--pods` that were skipped and may create pods.
    pub not_understood: usize,
    pub(super) config: SchedulerConfig,
    pub(super) config_source: SourceId,
}

impl Setup {
    /// The instant at which decisions begin: that of the snapshot, else now.
    pub(super) fn start(&self) -> Time {
        self.taken.unwrap_or_else(|| Time(jiff::Timestamp::now().as_microsecond()))
    }
}

impl Setup {
    /// The version of Kubernetes as whose kube-scheduler decisions are made, for documents.
    pub(super) fn version(&self) -> &'static str {
        self.version.word()
    }
}

/// Prints diagnostics on stderr. Returns whether one of them is an error.
pub(super) fn complain(policies: &Policies, out: &mut Output) -> anyhow::Result<bool> {
    let failed = policies.has_errors();
    let worth: Vec<Diagnostic> =
        policies.diagnostics.iter().filter(|said| said.severity > Severity::Note).cloned().collect();
    if worth.is_empty() || (out.quiet && !failed) {
        return Ok(failed);
    }
    let drawn = draw::human(&policies.sources, &worth, out.stderr_look(Some(20)));
    out.draw_on_stderr(&drawn)?;
    if failed {
        writeln!(out.stderr(), "\n{}: nothing was decided", Tally::of(&worth).sentence())?;
    }
    Ok(failed)
}

/// One line of warning on stderr.
pub(super) fn note(out: &mut Output, text: &str) {
    if !out.quiet {
        let _ = writeln!(out.stderr(), "warning: {text}");
    }
}
