//! [`SchedulerConfig`]: a `KubeSchedulerConfiguration` of `kubescheduler.config.k8s.io/v1`, read
//! strictly, with upstream's defaults, and how it becomes frameworks. The callers (`dry_run`, `cli`,
//! `cluster`) read the files; `yaml` reads the text.
//!
//! - `read.rs`: the fields, strictly
//! - `extenders.rs`: the field `extenders`
//! - `validate.rs`: conditions between fields
//! - `nodes.rs`: the nodes that a flag keeps all profiles to
//! - `complete.rs`: a configuration with what it leaves to defaults
//! - `write.rs`: a configuration as YAML
//!
//! Source: `staging/src/k8s.io/kube-scheduler/config/v1/types.go`, `pkg/scheduler/apis/config/v1/defaults.go`.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod complete;
mod extenders;
mod nodes;
mod read;
mod validate;
mod write;

use bayplan_diag::suggest::nearest;
use bayplan_diag::{Diagnostic, SourceId, Span, codes};
use bayplan_framework::{ArgsError, At, Framework, Instances, Profile, Registry};
use bayplan_model::{Duration, VersionRows};
use std::sync::Arc;

pub use complete::completed;
pub use extenders::{ExtenderConfig, ExtenderTls, ManagedResource};
pub use nodes::NodeSelection;
pub use read::read;
pub use write::{as_flags, shown, value, yaml};

/// The profile of pods without `schedulerName`.
pub(crate) const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";

/// The extension point of groups of pods, which 1.37 has.
const GROUPS: &str = "podGroupPostFilter";

/// Extension points that are not built; their lists may be empty.
const UNBUILT_POINTS: [&str; 3] = ["placementGenerate", "placementScore", GROUPS];

/// How several instances elect a leader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaderElection {
    /// Whether instances elect a leader.
    pub leader_elect: bool,
    /// How long a lease is valid without renewal.
    pub lease_duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// How long to wait between tries.
    pub retry_period: Duration,
    /// The name of the lease; if empty, it is derived from the names of the profiles.
    pub resource_name: String,
    /// Its namespace; if empty, it is derived from the names of the profiles.
    pub resource_namespace: String,
}

/// The connection to the API server.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientConnection {
    /// A kubeconfig file; if empty, the in-cluster configuration.
    pub kubeconfig: String,
    /// Calls about pods per second, and as many events; negative: no limit of ours. The API server limits
    /// its clients by priority and fairness.
    pub qps: f64,
    /// Calls that may be sent in a burst, if `qps` limits them.
    pub burst: i64,
    /// Accepted for kube-scheduler's files; answers are JSON.
    pub accept_content_types: String,
    /// Accepted for kube-scheduler's files; requests are JSON.
    pub content_type: String,
}

/// A scheduler's configuration.
#[derive(Clone, Debug)]
pub struct SchedulerConfig {
    /// Accepted for kube-scheduler's files; decisions use one thread.
    pub parallelism: i64,
    /// Leader election.
    pub leader_election: LeaderElection,
    /// The API server.
    pub client_connection: ClientConnection,
    /// Accepted for kube-scheduler's files; profiling is not built.
    pub enable_profiling: bool,
    /// Accepted for kube-scheduler's files; profiling is not built.
    pub enable_contention_profiling: bool,
    /// Percentage of nodes to score, for profiles that do not set it; `None` means all nodes.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// The initial back-off of an unschedulable pod.
    pub pod_initial_backoff: Duration,
    /// The longest back-off.
    pub pod_max_backoff: Duration,
    /// Whether watches start only when this instance leads.
    pub delay_cache_until_active: bool,
    /// The profiles, at least one.
    pub profiles: Vec<Profile>,
    /// The extenders, in the order of the file.
    pub extenders: Vec<ExtenderConfig>,
    /// As which version it is written.
    pub version: VersionRows,
    /// Whether [`SchedulerConfig::keep_to`] added nodes to every profile.
    pub kept_to_nodes: bool,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            parallelism: 16,
            leader_election: LeaderElection {
                leader_elect: true,
                lease_duration: Duration::from_seconds(15),
                renew_deadline: Duration::from_seconds(10),
                retry_period: Duration::from_seconds(2),
                resource_name: String::new(),
                resource_namespace: String::new(),
            },
            client_connection: ClientConnection {
                kubeconfig: String::new(),
                qps: -1.0,
                burst: 100,
                accept_content_types: String::new(),
                content_type: String::from("application/json"),
            },
            enable_profiling: false,
            enable_contention_profiling: false,
            percentage_of_nodes_to_score: None,
            pod_initial_backoff: Duration::from_seconds(1),
            pod_max_backoff: Duration::from_seconds(10),
            delay_cache_until_active: false,
            profiles: vec![Profile::new(DEFAULT_SCHEDULER_NAME)],
            extenders: Vec::new(),
            version: VersionRows::default(),
            kept_to_nodes: false,
        }
    }
}

/// The frameworks of a configuration.
pub struct Frameworks {
    /// One for each profile, in the order of the configuration.
    pub frameworks: Vec<Arc<Framework>>,
}

impl SchedulerConfig {
    /// The framework of each profile, with the plugins of `registry` (in-tree plugins and loaded
    /// policies). `source` is the text of the configuration, for places. `Err` has every mistake.
    pub fn frameworks(&self, registry: &Registry, source: SourceId) -> Result<Frameworks, Vec<Diagnostic>> {
        let mut instances = Instances::default();
        let mut complaints = Vec::new();
        let mut frameworks: Vec<Arc<Framework>> = Vec::new();
        for profile in &self.profiles {
            let mut profile = profile.clone();
            let own = profile.percentage_of_nodes_to_score;
            profile.percentage_of_nodes_to_score = own.or(self.percentage_of_nodes_to_score);
            extenders::ignore_managed(&mut profile, &self.extenders);
            match profile.build(registry, &mut instances) {
                Ok(framework) => frameworks.push(Arc::new(framework)),
                Err(errors) => complaints.extend(errors.into_iter().map(|error| {
                    let text = error.message;
                    let mut diagnostic = Diagnostic::new(&codes::BAD_CONFIG, span(source, error.at), text);
                    let near = || {
                        let known = registry.entries().map(|entry| &**entry.name());
                        nearest(error.unknown.as_deref()?, known)
                            .map(|near| format!("did you mean `{near}`?"))
                    };
                    diagnostic.help = error.help.or_else(near);
                    diagnostic
                })),
            }
        }
        if complaints.is_empty() {
            complaints.extend(self.different_queue_sort(&frameworks, source));
            complaints.extend(self.not_kept_to_nodes(&frameworks, source));
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        Ok(Frameworks { frameworks })
    }

    /// A profile without the plugin that keeps it to nodes would use all nodes.
    fn not_kept_to_nodes(&self, frameworks: &[Arc<Framework>], source: SourceId) -> Option<Diagnostic> {
        let name = &self.unkept(frameworks)?.scheduler_name;
        let profile = self.profiles.iter().find(|profile| profile.scheduler_name == *name)?;
        let text = format!(
            "`--nodes` needs the plugin `{}`, which `{name}` disables at the point `filter`",
            nodes::PLUGIN
        );
        let said = Diagnostic::new(&codes::BAD_CONFIG, span(source, profile.at), text);
        Some(said.with_help(format!("enable `{}`, or leave `--nodes` out", nodes::PLUGIN)))
    }

    /// All profiles share one queue, so they need the same QueueSort plugin with the same arguments.
    fn different_queue_sort(&self, frameworks: &[Arc<Framework>], source: SourceId) -> Option<Diagnostic> {
        let sorter = |framework: &Arc<Framework>| {
            let id = framework.points().queue_sort.first()?;
            framework.plugins().get(id.index()).cloned()
        };
        let first = sorter(frameworks.first()?)?;
        let (framework, profile) = frameworks
            .iter()
            .zip(&self.profiles)
            .find(|(framework, _)| sorter(framework).is_none_or(|other| !Arc::ptr_eq(&first, &other)))?;
        let name = sorter(framework).map(|other| other.name().to_owned()).unwrap_or_default();
        let text = if name == first.name() {
            format!("arguments of `{name}` must be the same for all profiles")
        } else {
            format!("queue sort plugin must be the same for all profiles: `{}` and `{name}`", first.name())
        };
        Some(Diagnostic::new(&codes::BAD_CONFIG, span(source, profile.at), text))
    }
}

fn span(source: SourceId, at: At) -> Span {
    Span::new(source, at.start, at.end)
}

fn diagnostic(source: SourceId, error: ArgsError) -> Diagnostic {
    let text = error.to_string();
    let mut diagnostic = Diagnostic::new(&codes::BAD_CONFIG, span(source, error.at), text);
    diagnostic.help = error.help;
    diagnostic
}
