//! The flags of `bayplan run`: those of kube-scheduler, and those of policies. `run` gives them
//! their meaning; `run_flags` parses single values.

use super::setup::{DecidesAs, Declared};
use super::webhook::AdmissionArgs;
use super::{durations, run_flags};
use crate::cluster::policies::account::PolicyAccount;
use crate::cluster::process::logs;
use crate::config::NodeSelection;
use crate::framework::features;
use crate::lang::typed::acts::OWN_KINDS;
use crate::model::Symbol;
use crate::plugins::policy::ExemptPods;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Flags of kube-scheduler, and those of policies.
#[derive(clap::Args, Debug)]
// As with Go's flags, the last of several values counts.
#[command(
    args_override_self = true,
    after_help = "Examples:
  bayplan run --kubeconfig ~/.kube/config --policies policies/       beside kube-scheduler
  bayplan run --config scheduler.yaml --policy-namespaces platform   policies from ConfigMaps"
)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) given: run_flags::Given,
    /// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1).
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Write the effective configuration to this file and exit.
    #[arg(long, value_name = "FILE")]
    pub(super) write_config_to: Option<PathBuf>,
    /// Print the rights that the account lacks and without which no pod is scheduled, each with a line that
    /// grants it, and exit; with status 1 if one is missing.
    #[arg(long)]
    pub(super) check_rights: bool,
    /// Retry an unschedulable pod after this time even without an event that may help it.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration, default_value = "5m")]
    pub(super) pod_max_in_unschedulable_pods_duration: Duration,
    #[command(flatten)]
    pub(super) decides_as: DecidesAs,
    /// The version of Kubernetes whose feature gates have their stages, defaults and locks: `1.36` or `1.37`. Decisions that
    /// no gate is about stay those of `--kubernetes` [default: that version].
    #[arg(long, value_name = "[kube=]VERSION")]
    pub(super) emulated_version: Vec<String>,
    /// The version with which objects and leases must stay compatible, below `--emulated-version`. It changes nothing here.
    #[arg(long, value_name = "[kube=]VERSION")]
    pub(super) min_compatibility_version: Vec<String>,
    /// Serve the metrics that `--kubernetes` hides: the minor version before it, `1.36` for 1.37 [default: none].
    #[arg(long, value_name = "VERSION")]
    pub(super) show_hidden_metrics_for_version: Option<String>,
    /// Place pods on these nodes only: a label selector, as `pool=gpu,!spot`. It joins `addedAffinity` of NodeAffinity in
    /// each profile, by which a configuration keeps one profile to nodes.
    #[arg(long, value_name = "SELECTOR")]
    pub(super) nodes: Option<NodeSelection>,
    /// Kubernetes feature gates, as `Name=true,Other=false`; `--help` lists those that change something.
    #[arg(long, value_name = "GATES", value_delimiter = ',', long_help = features::help())]
    pub(super) feature_gates: Vec<String>,

    /// Write the status of these kinds: `PodGroup`, and `ElasticQuota` with sums of the ledger
    /// `capacity-scheduling.used`, or of another one as `ElasticQuota=POLICY.LEDGER` [default: none].
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub(super) write_status: Vec<String>,

    #[command(flatten, next_help_heading = "Policies")]
    pub(super) policies: PolicyArgs,
    /// The service account with whose rights policies write; the scheduler impersonates it [default: bayplan-policies in
    /// the scheduler's namespace].
    #[arg(long, value_name = "NAMESPACE/NAME", help_heading = "Policies")]
    pub(super) policy_service_account: Option<PolicyAccount>,
    /// Kinds that policies may write although the scheduler writes them itself: `PersistentVolume`,
    /// `PersistentVolumeClaim`, `ResourceClaim` [default: none].
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        value_parser = OWN_KINDS,
        hide_possible_values = true,
        help_heading = "Policies"
    )]
    pub(super) policy_writes: Vec<String>,
    #[command(flatten, next_help_heading = "Admission of policies")]
    pub(super) admission: AdmissionArgs,
    #[command(flatten, next_help_heading = "API server")]
    pub(super) api_server: ApiServerArgs,
    #[command(flatten, next_help_heading = "Leader election")]
    pub(super) election: ElectionArgs,
    #[command(flatten, next_help_heading = "Secure port")]
    pub(super) port: SecurePortArgs,
    #[command(flatten, next_help_heading = "Logging")]
    pub(super) logging: LoggingArgs,
    #[command(flatten)]
    pub(super) without_effect: ArgsWithoutEffect,
}

/// Where policies come from.
#[derive(clap::Args, Debug)]
pub(super) struct PolicyArgs {
    /// A folder of policies (`*.bay`), or one file; reloaded when a file changes.
    #[arg(long = "policies", value_name = "DIR")]
    pub(super) files: Option<PathBuf>,
    /// Namespaces of the ConfigMaps with policies, which have the label `bayplan.dev/policy`
    /// [default: bayplan-policies; none with `--policies`]. An empty name stands for none.
    #[arg(long = "policy-namespaces", value_name = "NAMESPACE", value_delimiter = ',')]
    pub(super) namespaces: Vec<String>,
    /// How to treat the pods that an invalid policy selects with `applies when`, if no earlier text
    /// of it is known: `wait` or `ignore`. `NAMESPACE=ignore` is for the policies of one namespace.
    #[arg(
        long = "policy-on-invalid",
        value_name = "[NAMESPACE=]WORD",
        value_delimiter = ',',
        default_value = "wait"
    )]
    pub(super) on_invalid: Vec<String>,
    /// Namespaces whose pods policies leave alone, beside `kube-system` and the scheduler's own: those of agents and
    /// operators that the cluster needs. Let only their owners create pods there.
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    pub(super) exempt_namespaces: Vec<String>,
    #[command(flatten)]
    pub(super) declared: Declared,
}

impl PolicyArgs {
    /// The pods that policies leave alone; `own` is the namespace that the program runs in.
    pub(super) fn exempt(&self, own: Option<String>) -> ExemptPods {
        let mut exempt = ExemptPods::default();
        exempt.namespaces.extend(own.iter().chain(&self.exempt_namespaces).map(|name| Symbol::new(name)));
        exempt
    }
}

/// How to reach the API server.
#[derive(clap::Args, Debug)]
pub(super) struct ApiServerArgs {
    /// Kubeconfig [default: the service account of the scheduler's pod].
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// URL of the API server, instead of the one in the kubeconfig.
    #[arg(long, value_name = "URL")]
    pub(super) master: Option<String>,
    /// Maximum calls about pods per second, and as many events; -1: no limit but that of the API server's
    /// priority and fairness [default: -1].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) kube_api_qps: Option<f64>,
    /// Maximum burst of these calls, with `--kube-api-qps` [default: 100].
    #[arg(long, value_name = "N")]
    pub(super) kube_api_burst: Option<i64>,
    /// Be not ready, and schedule nothing, while a watch has brought nothing for this long.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration, default_value = "3m")]
    pub(super) watch_max_age: Duration,
    /// End the process when the API server has refused the credentials for this long.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration, default_value = "1m")]
    pub(super) max_unauthorized: Duration,
}

/// The lease and its times.
#[derive(clap::Args, Debug)]
pub(super) struct ElectionArgs {
    /// Schedule only while holding the lease [default: true].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) leader_elect: Option<bool>,
    /// After this long without renewal another instance may take the lease [default: 15s].
    #[arg(long, value_name = "DURATION", value_parser = durations::duration)]
    pub(super) leader_elect_lease_duration: Option<Duration>,
    /// After this long without renewal the leader stops [default: 10s].
    #[arg(long, value_name = "DURATION", value_parser = durations::duration)]
    pub(super) leader_elect_renew_deadline: Option<Duration>,
    /// Time between two attempts to take or renew the lease [default: 2s].
    #[arg(long, value_name = "DURATION", value_parser = durations::duration)]
    pub(super) leader_elect_retry_period: Option<Duration>,
    /// Kind of the lock object; only `leases`.
    #[arg(long, value_name = "KIND", value_parser = ["leases"])]
    pub(super) leader_elect_resource_lock: Option<String>,
    /// Name of the lease [default: kube-scheduler if a profile has the name default-scheduler, else
    /// the name of the first profile].
    #[arg(long, value_name = "NAME")]
    pub(super) leader_elect_resource_name: Option<String>,
    /// Namespace of the lease [default: kube-system for the lease kube-scheduler, else the
    /// namespace of the scheduler's pod].
    #[arg(long, value_name = "NAMESPACE")]
    pub(super) leader_elect_resource_namespace: Option<String>,
}

/// The port for health, metrics and configuration.
#[derive(clap::Args, Debug)]
pub(super) struct SecurePortArgs {
    /// HTTPS port for health checks, metrics and configuration; 0: no port.
    #[arg(long, value_name = "PORT", default_value_t = 10259)]
    pub(super) secure_port: u16,
    /// IP address of the secure port.
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub(super) bind_address: IpAddr,
    /// Folder for a self-signed certificate [default: in memory only].
    #[arg(long, value_name = "DIR")]
    pub(super) cert_dir: Option<PathBuf>,
    /// PEM file with the certificate and its chain; reloaded when it changes [default: a
    /// self-signed one].
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub(super) tls_cert_file: Option<PathBuf>,
    /// PEM file with the key of the certificate.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub(super) tls_private_key_file: Option<PathBuf>,
    /// Minimum TLS version: VersionTLS12 or VersionTLS13 [default: VersionTLS12].
    #[arg(long, value_name = "VERSION", value_parser = run_flags::tls_version)]
    pub(super) tls_min_version: Option<bool>,
    /// Cipher suites of TLS 1.2, by their names in Go [default: all].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = run_flags::cipher_suite)]
    pub(super) tls_cipher_suites: Vec<String>,
    /// CA file for client certificates; the common name of a certificate is the user.
    #[arg(long, value_name = "FILE")]
    pub(super) client_ca_file: Option<PathBuf>,
    /// Allow other processes to listen on the same port.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value = "false",
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub(super) permit_port_sharing: bool,
    /// Kubeconfig of the API server for TokenReviews [default: the scheduler's API server].
    #[arg(long, value_name = "FILE")]
    pub(super) authentication_kubeconfig: Option<PathBuf>,
    /// How long to cache the user of a token.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration, default_value = "10s")]
    pub(super) authentication_token_webhook_cache_ttl: Duration,
    /// Kubeconfig of the API server for SubjectAccessReviews [default: the scheduler's API server].
    #[arg(long, value_name = "FILE")]
    pub(super) authorization_kubeconfig: Option<PathBuf>,
    /// How long to cache "authorized" responses.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration, default_value = "10s")]
    pub(super) authorization_webhook_cache_authorized_ttl: Duration,
    /// How long to cache "unauthorized" responses.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration, default_value = "10s")]
    pub(super) authorization_webhook_cache_unauthorized_ttl: Duration,
    /// Paths that need no authorization.
    #[arg(long, value_name = "PATHS", value_delimiter = ',', default_value = "/healthz,/readyz,/livez")]
    pub(super) authorization_always_allow_paths: Vec<String>,
}

/// What is logged, and how.
#[derive(clap::Args, Debug)]
pub(super) struct LoggingArgs {
    /// Log level: 2 adds every decision, 5 the reasons, 8 the API requests.
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    pub(super) v: u8,
    /// Log levels of single source files, as `policy_source=5,watch=8`; `*` matches any characters.
    #[arg(long, value_name = "PATTERN=LEVEL", value_delimiter = ',', value_parser = logs::module)]
    pub(super) vmodule: Vec<logs::Module>,
    /// Format of log lines.
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    pub(super) logging_format: String,
}

/// Flags of kube-scheduler that are accepted because they match the fixed behavior.
#[derive(clap::Args, Debug)]
pub(super) struct ArgsWithoutEffect {
    /// Requests and answers are JSON.
    #[arg(long, value_parser = ["application/json"], hide = true)]
    kube_api_content_type: Option<String>,
    /// An address is always shared with connections that are closing.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    permit_address_sharing: Option<bool>,
    /// The secure port speaks HTTP/1.1.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    disable_http2_serving: Option<bool>,
    /// No configuration is looked up in the cluster.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    authentication_skip_lookup: Option<bool>,
    /// No configuration is looked up in the cluster.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    authentication_tolerate_lookup_failure: Option<bool>,
    /// Log lines are not buffered.
    #[arg(long, value_parser = durations::duration, hide = true)]
    log_flush_frequency: Option<Duration>,
    /// Profiling is not supported, so only `false` is accepted.
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = run_flags::only_false,
        hide = true
    )]
    profiling: Option<bool>,
    /// Profiling is not supported, so only `false` is accepted.
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = run_flags::only_false,
        hide = true
    )]
    contention_profiling: Option<bool>,
}
