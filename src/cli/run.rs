//! `bayplan run`: the scheduler. Takes kube-scheduler's flags, turns them and the configuration into what
//! `cluster::run` needs, and its end into an exit status. Decides nothing.

use super::{ExitStatus, run_flags, setup};
use crate::cluster::client::Target;
use crate::cluster::policies::Policy;
use crate::cluster::run::{self as cluster_run, RunError};
use crate::cluster::{access, leader, logs, policy_source, serve};
use crate::config::{self, SchedulerConfig};
use crate::diag::{Diagnostic, Look, SourceId, SourceMap, draw};
use crate::framework::Features;
use crate::plugins::policy::LeftAlone;
use crate::scheduler::Profiles;
use anyhow::{Context, bail};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Flags of kube-scheduler, and those of policies.
#[derive(clap::Args, Debug)]
// As Go's flags: of several the last counts.
#[command(
    args_override_self = true,
    after_help = "Examples:
  bayplan run --kubeconfig ~/.kube/config --policies policies/           beside the present scheduler
  bayplan run --config scheduler.yaml --policy-namespaces platform       policies of ConfigMaps"
)]
pub(super) struct Args {
    /// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Writes the configuration as it is in force to this file and ends.
    #[arg(long, value_name = "FILE")]
    write_config_to: Option<PathBuf>,
    /// A folder of policies (`*.bay`), or one file; read again when it changes.
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Namespaces whose ConfigMaps with the label `bayplan.dev/policy` are read. Without it the namespace that the
    /// scheduler runs in, or none outside of a cluster.
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    policy_namespaces: Vec<String>,
    /// What becomes of the pods that a policy names in `applies when` which does not compile and has no older text:
    /// `wait` or `ignore`; for one namespace of policies `NAMESPACE=ignore`.
    #[arg(long, value_name = "[NAMESPACE=]WORD", value_delimiter = ',', default_value = "wait")]
    policy_on_invalid: Vec<String>,

    /// Kubeconfig; without one, the service account of the pod.
    #[arg(long, value_name = "FILE", help_heading = "API server")]
    kubeconfig: Option<PathBuf>,
    /// The API server's URL, instead of the kubeconfig's.
    #[arg(long, value_name = "URL", help_heading = "API server")]
    master: Option<String>,
    /// Calls a second; negative: no limit.
    #[arg(long, value_name = "N", help_heading = "API server", allow_negative_numbers = true)]
    kube_api_qps: Option<f64>,
    /// Calls at once.
    #[arg(long, value_name = "N", help_heading = "API server")]
    kube_api_burst: Option<i64>,

    /// Only `application/json`.
    #[arg(long, value_name = "TYPE", value_parser = ["application/json"], hide = true, help_heading = "API server")]
    kube_api_content_type: Option<String>,
    /// A refused pod is tried again after this time even if nothing happened.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    pod_max_in_unschedulable_pods_duration: Duration,

    /// Whether to lead only while holding a Lease.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Leader election")]
    leader_elect: Option<bool>,
    /// After this long without renewal another may lead [15s].
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Leader election")]
    leader_elect_lease_duration: Option<Duration>,
    /// After this long without renewal the leader stops [10s].
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Leader election")]
    leader_elect_renew_deadline: Option<Duration>,
    /// Between two tries [2s].
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Leader election")]
    leader_elect_retry_period: Option<Duration>,
    /// Only `leases`.
    #[arg(long, value_name = "KIND", value_parser = ["leases"], help_heading = "Leader election")]
    leader_elect_resource_lock: Option<String>,
    /// The lease [kube-scheduler when a profile is called default-scheduler, else the first profile's name].
    #[arg(long, value_name = "NAME", help_heading = "Leader election")]
    leader_elect_resource_name: Option<String>,
    /// Its namespace [kube-system for kube-scheduler's, else the one that the scheduler runs in].
    #[arg(long, value_name = "NAMESPACE", help_heading = "Leader election")]
    leader_elect_resource_namespace: Option<String>,

    /// Port for health, metrics and configuration over HTTPS; 0: none.
    #[arg(long, value_name = "PORT", default_value_t = 10259, help_heading = "Secure port")]
    secure_port: u16,
    /// Its address.
    #[arg(long, value_name = "IP", default_value = "0.0.0.0", help_heading = "Secure port")]
    bind_address: IpAddr,
    /// Where a certificate made at start is kept.
    #[arg(long, value_name = "DIR", help_heading = "Secure port")]
    cert_dir: Option<PathBuf>,
    /// Certificate, with its chain, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file", help_heading = "Secure port")]
    tls_cert_file: Option<PathBuf>,
    /// Its key as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file", help_heading = "Secure port")]
    tls_private_key_file: Option<PathBuf>,
    /// TLS versions below are refused: VersionTLS12, VersionTLS13.
    #[arg(long, value_name = "VERSION", value_parser = run_flags::tls_version, help_heading = "Secure port")]
    tls_min_version: Option<bool>,
    /// The cipher suites of TLS 1.2 that are offered, by their names in Go; without it all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = run_flags::cipher_suite, help_heading = "Secure port")]
    tls_cipher_suites: Vec<String>,
    /// Who shows a certificate signed by an authority of this file is the user of its common name.
    #[arg(long, value_name = "FILE", help_heading = "Secure port")]
    client_ca_file: Option<PathBuf>,
    /// Whether others may listen on the same port.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = clap::ArgAction::Set, help_heading = "Secure port")]
    permit_port_sharing: bool,
    /// Accepted: an address is always shared with connections that are being closed.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    permit_address_sharing: Option<bool>,
    /// Accepted: the secure port speaks HTTP/1.1.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    disable_http2_serving: Option<bool>,
    /// Kubeconfig of the API server that knows who a token belongs to.
    #[arg(long, value_name = "FILE", help_heading = "Secure port")]
    authentication_kubeconfig: Option<PathBuf>,
    /// How long the owner of a token is remembered.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s", help_heading = "Secure port")]
    authentication_token_webhook_cache_ttl: Duration,
    /// Accepted: no configuration is looked up in the cluster.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    authentication_skip_lookup: Option<bool>,
    /// Accepted: no configuration is looked up in the cluster.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    authentication_tolerate_lookup_failure: Option<bool>,
    /// Kubeconfig of the API server that knows what its owner may do.
    #[arg(long, value_name = "FILE", help_heading = "Secure port")]
    authorization_kubeconfig: Option<PathBuf>,
    /// How long it is remembered that somebody may.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s", help_heading = "Secure port")]
    authorization_webhook_cache_authorized_ttl: Duration,
    /// How long it is remembered that somebody may not.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s", help_heading = "Secure port")]
    authorization_webhook_cache_unauthorized_ttl: Duration,
    /// Paths that need no authorization.
    #[arg(
        long,
        value_name = "PATHS",
        value_delimiter = ',',
        default_value = "/healthz,/readyz,/livez",
        help_heading = "Secure port"
    )]
    authorization_always_allow_paths: Vec<String>,

    /// Kubernetes' feature gates, as `Name=true,Other=false`.
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    feature_gates: Vec<String>,
    /// How much is logged: 2 every decision, 5 reasons, 8 requests.
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    v: u8,
    /// Levels for single source files, as `policy_source=5,watch=8`; `*` stands for any letters.
    #[arg(long, value_name = "PATTERN=LEVEL", value_delimiter = ',', value_parser = logs::module)]
    vmodule: Vec<logs::Module>,
    /// Accepted: log lines are not buffered.
    #[arg(long, value_parser = duration, hide = true)]
    log_flush_frequency: Option<Duration>,
    /// Only `false`: there is no profiling interface.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = never, hide = true)]
    profiling: Option<bool>,
    /// Only `false`: there is no profiling interface.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = never, hide = true)]
    contention_profiling: Option<bool>,
    /// How it is logged.
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    logging_format: String,
}

/// Feature gates of Kubernetes 1.36 that concern a scheduler, with the one value we have: what is on is how this
/// scheduler works, what is off is not there. Those that may be turned are the fields of [`Features`].
const GATES: &[(&str, bool)] = &[
    ("SchedulerQueueingHints", true),
    ("NominatedNodeNameForExpectation", true),
    ("OpportunisticBatching", false),
    ("SchedulerAsyncPreemption", false),
    ("SchedulerAsyncAPICalls", true),
    ("DynamicResourceAllocation", false),
    ("GenericWorkload", false),
    ("GangScheduling", false),
    ("CoordinatedLeaderElection", false),
];

fn features(gates: &[String]) -> anyhow::Result<Features> {
    let mut features = Features::default();
    for gate in gates.iter().filter(|gate| !gate.is_empty()) {
        let Some((name, value)) = gate.split_once('=') else {
            bail!("`--feature-gates` has `{gate}`, which is not of the form `Name=true`");
        };
        let value: bool =
            value.parse().ok().with_context(|| format!("feature gate `{name}` is neither true nor false"))?;
        if name == "TaintTolerationComparisonOperators" {
            features.taint_toleration_comparison_operators = value;
            continue;
        }
        match GATES.iter().find(|(known, _)| *known == name) {
            Some((_, ours)) if *ours == value => {}
            Some((_, ours)) => bail!("feature gate `{name}` is always {ours} here; leave it out"),
            None => bail!("unrecognized feature gate: {name}"),
        }
    }
    Ok(features)
}

/// What becomes of pods whose policy does not compile.
fn on_invalid(words: &[String]) -> anyhow::Result<policy_source::OnInvalid> {
    let mut all = policy_source::OnInvalid::default();
    for text in words {
        let (namespace, word) =
            text.split_once('=').map_or((None, text.as_str()), |(of, word)| (Some(of), word));
        let ignore = match word {
            "wait" => false,
            "ignore" => true,
            _ => bail!("`--policy-on-invalid` has `{text}`; write `wait`, `ignore` or `NAMESPACE=ignore`"),
        };
        match namespace {
            Some(namespace) => drop(all.but.insert(namespace.to_owned(), ignore)),
            None => all.ignore = ignore,
        }
    }
    Ok(all)
}

/// `false`, for what can only be off.
fn never(text: &str) -> Result<bool, String> {
    if text == "false" { Ok(false) } else { Err("there is no profiling interface; write `=false`".into()) }
}

/// A duration as Go writes it: `15s`, `1m30s`, `1.5h`, `200ms`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration such as `15s` or `1m30s`");
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let amount: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let seconds = match &rest[..unit] {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        rest = &rest[unit..];
        total += Duration::try_from_secs_f64(amount * seconds).map_err(|_| wrong())?;
    }
    if total.is_zero() { Err("must be greater than zero".into()) } else { Ok(total) }
}

/// The configuration with its text, for places.
struct Configured {
    config: SchedulerConfig,
    sources: SourceMap,
    source: SourceId,
    features: Features,
}

/// Diagnostics as they are drawn.
fn drawn(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let look = Look { limit: Some(20), ..Look::default() };
    draw::human(sources, diagnostics, look).as_str().trim_end().to_owned()
}

fn configuration(args: &Args) -> anyhow::Result<Configured> {
    let features = features(&args.feature_gates)?;
    let mut sources = SourceMap::new();
    let Some(path) = &args.config else {
        let source = sources.add("the default configuration", "");
        return Ok(Configured { config: SchedulerConfig::default(), sources, source, features });
    };
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{name}`"))?;
    let (source, unreadable) = sources.add_bytes(name.as_str(), bytes);
    let mut said: Vec<Diagnostic> = unreadable.into_iter().collect();
    let Some(text) = sources.get(source) else { bail!("cannot read `{name}`") };
    let (config, found) = config::read(text);
    said.extend(found);
    if said.iter().any(Diagnostic::is_error) {
        bail!("the configuration cannot be used\n{}", drawn(&sources, &said));
    }
    Ok(Configured { config, sources, source, features })
}

/// The configuration with what flags say instead.
fn in_force(
    args: &Args,
    configured: &Configured,
) -> anyhow::Result<(SchedulerConfig, Option<leader::Settings>)> {
    let mut config = configured.config.clone();
    let elects = args.leader_elect.unwrap_or(config.leader_election.leader_elect);
    let election = if elects { Some(lease(args, configured)?) } else { None };
    let lease = &mut config.leader_election;
    lease.leader_elect = elects;
    if let Some(election) = &election {
        let span = |of: Duration| crate::model::Duration(i64::try_from(of.as_micros()).unwrap_or(i64::MAX));
        lease.lease_duration = span(election.lease);
        lease.renew_deadline = span(election.renew);
        lease.retry_period = span(election.retry);
        (lease.resource_name, lease.resource_namespace) = (election.name.clone(), election.namespace.clone());
    }
    let client = &mut config.client_connection;
    if let Some(path) = &args.kubeconfig {
        client.kubeconfig = path.display().to_string();
    }
    client.qps = args.kube_api_qps.unwrap_or(client.qps);
    client.burst = args.kube_api_burst.unwrap_or(client.burst);
    Ok((config, election))
}

/// The profiles of the configuration with these policies as plugins.
fn profiles(of: &[Policy], configured: &Configured, left_alone: &LeftAlone) -> Result<Profiles, String> {
    let mut registry = crate::plugins::registry_with(configured.features);
    for policy in of.iter().cloned() {
        let (name, left_alone) = (policy.compiled.name().to_owned(), left_alone.clone());
        let sorts = policy.compiled.policy.queue.is_some();
        registry
            .add_policy(&name, sorts, move |args| {
                setup::with_arguments(&policy.compiled, &policy.sources, &left_alone, args)
            })
            .map_err(|error| error.to_string())?;
    }
    match configured.config.frameworks(&registry, configured.source) {
        Ok(made) => Ok(Profiles { frameworks: made.frameworks, revision: 0 }),
        Err(said) => Err(drawn(&configured.sources, &said)),
    }
}

/// Logs once which plugins of each profile are not built, and what that means for pods.
fn log_unchecked(profiles: &Profiles) {
    for framework in &profiles.frameworks {
        let plugins: Vec<&str> = framework.unchecked_plugins().collect();
        if !plugins.is_empty() {
            let (profile, plugins) = (framework.scheduler_name.as_str(), plugins.join(","));
            tracing::info!(
                profile,
                plugins,
                "plugins not built: a pod waits where one of them could refuse it, and its event says what is not checked"
            );
        }
    }
}

/// The namespace that the scheduler runs in, as Kubernetes tells every pod.
fn own_namespace() -> Option<String> {
    let text = std::fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace").ok()?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The lease: `kube-system/kube-scheduler` if and only if a profile is called `default-scheduler`; one scheduler name,
/// one lease.
fn lease(args: &Args, configured: &Configured) -> anyhow::Result<leader::Settings> {
    let of = &configured.config.leader_election;
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let profiles = &configured.config.profiles;
    let serves_default = profiles.iter().any(|profile| profile.scheduler_name == "default-scheduler");
    let first = profiles.first().map_or(String::new(), |profile| profile.scheduler_name.to_string());
    let asked = args.leader_elect_resource_name.clone().or_else(|| given(&of.resource_name));
    let name = asked.unwrap_or_else(|| if serves_default { "kube-scheduler".into() } else { first.clone() });
    let asked = args.leader_elect_resource_namespace.clone().or_else(|| given(&of.resource_namespace));
    let namespace = match asked {
        Some(namespace) => namespace,
        None if serves_default => "kube-system".into(),
        None => own_namespace().unwrap_or_else(|| "kube-system".into()),
    };
    let kubes = namespace == "kube-system" && name == "kube-scheduler";
    if kubes && !serves_default {
        bail!(
            "the lease kube-system/kube-scheduler is that of the scheduler named `default-scheduler`, which no profile \
             is; write `leaderElection: {{resourceName: {first}}}`"
        );
    }
    if !kubes && serves_default {
        bail!(
            "a profile is called `default-scheduler`, so the lease must be kube-system/kube-scheduler, or two \
             schedulers would serve the same pods; it is {namespace}/{name}: write `leaderElection: {{resourceName: \
             kube-scheduler, resourceNamespace: kube-system}}`"
        );
    }
    let span = |span: crate::model::Duration| Duration::from_micros(span.0.max(0).unsigned_abs());
    let settings = leader::Settings {
        namespace,
        name,
        identity: leader::identity(),
        lease: args.leader_elect_lease_duration.unwrap_or_else(|| span(of.lease_duration)),
        renew: args.leader_elect_renew_deadline.unwrap_or_else(|| span(of.renew_deadline)),
        retry: args.leader_elect_retry_period.unwrap_or_else(|| span(of.retry_period)),
    };
    if settings.lease <= settings.renew {
        bail!("the lease duration must be greater than the renew deadline");
    }
    if settings.renew <= settings.retry.mul_f64(1.2) {
        bail!("the renew deadline must be greater than 1.2 times the retry period");
    }
    Ok(settings)
}

fn options(args: &Args) -> anyhow::Result<cluster_run::Options> {
    let configured = configuration(args)?;
    let (config, election) = in_force(args, &configured)?;
    let target = |kubeconfig: &Option<PathBuf>| Target {
        kubeconfig: kubeconfig.clone(),
        user_agent: "scheduler",
        ..Target::default()
    };
    let connection = &config.client_connection;
    let kubeconfig = Some(&connection.kubeconfig).filter(|path| !path.is_empty()).map(PathBuf::from);
    if config.delay_cache_until_active {
        bail!("`delayCacheUntilActive` is not supported: a standby that has listed nothing is not ready");
    }
    let serve = (args.secure_port != 0).then(|| serve::Settings {
        bind: args.bind_address,
        port: args.secure_port,
        certificate: args.tls_cert_file.clone().zip(args.tls_private_key_file.clone()),
        directory: args.cert_dir.clone(),
        always_allow: args.authorization_always_allow_paths.clone(),
        client_authority: args.client_ca_file.clone(),
        tls: serve::Tls {
            newest_only: args.tls_min_version == Some(true),
            suites: args.tls_cipher_suites.clone(),
        },
        share_port: args.permit_port_sharing,
    });
    let of_token = args.authentication_token_webhook_cache_ttl;
    let kept = access::Kept {
        allowed: of_token.min(args.authorization_webhook_cache_authorized_ttl),
        refused: of_token.min(args.authorization_webhook_cache_unauthorized_ttl),
    };
    let mut namespaces = args.policy_namespaces.clone();
    if namespaces.is_empty() {
        namespaces.extend(own_namespace());
    }
    let mut left_alone = LeftAlone::default();
    left_alone.namespaces.extend(own_namespace().map(crate::model::Symbol::from));
    // The profiles as they are without policies: mistakes of the configuration end the program now.
    if let Err(said) = profiles(&[], &configured, &left_alone) {
        bail!("the configuration cannot be used\n{said}");
    }
    let logged = std::sync::Once::new();
    Ok(cluster_run::Options {
        target: Target { master: args.master.clone(), ..target(&kubeconfig) },
        qps: connection.qps,
        burst: connection.burst,
        kept,
        policies: policy_source::Settings {
            namespaces,
            files: args.policies.clone(),
            on_invalid: on_invalid(&args.policy_on_invalid)?,
            identity: election.as_ref().map_or_else(leader::identity, |it| it.identity.clone()),
        },
        configz: config::value(&config),
        scheduler: crate::scheduler::Options {
            initial_backoff: config.pod_initial_backoff,
            max_backoff: config.pod_max_backoff,
            longest_wait: Some(crate::model::Duration(
                i64::try_from(args.pod_max_in_unschedulable_pods_duration.as_micros()).unwrap_or(i64::MAX),
            )),
            ..crate::scheduler::Options::default()
        },
        election,
        serve,
        authentication: args.authentication_kubeconfig.as_ref().map(|path| target(&Some(path.clone()))),
        authorization: args.authorization_kubeconfig.as_ref().map(|path| target(&Some(path.clone()))),
        profiles: Box::new(move |policies| {
            let made = profiles(policies, &configured, &left_alone)?;
            logged.call_once(|| log_unchecked(&made));
            Ok(made)
        }),
    })
}

/// Runs the scheduler until it is told to stop.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let format = if args.logging_format == "json" { logs::Format::Json } else { logs::Format::Text };
    let options = options(args)?;
    if let Some(path) = &args.write_config_to {
        let (config, _) = in_force(args, &configuration(args)?)?;
        let text = config::yaml(&config).map_err(anyhow::Error::msg)?;
        std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        return Ok(ExitStatus::Success);
    }
    logs::start(args.v, args.vmodule.clone(), format);
    match cluster_run::run(options) {
        Ok(()) => Ok(ExitStatus::Success),
        Err(error @ RunError::LeaseLost(_)) => {
            tracing::error!(%error, "Leaderelection lost");
            Ok(ExitStatus::Findings)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(flags: &[&str]) -> Args {
        Line::try_parse_from(std::iter::once(&"run").chain(flags)).unwrap().args
    }

    fn error(flags: &[&str]) -> String {
        options(&parse(flags)).err().unwrap().to_string()
    }

    #[test]
    fn durations_are_gos() {
        assert_eq!(duration("15s"), Ok(Duration::from_secs(15)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5_400)));
        assert!(duration("15").is_err() && duration("s").is_err() && duration("0s").is_err());
    }

    #[test]
    fn feature_gates_are_refused_by_name() {
        assert_eq!(error(&["--feature-gates=Nonsense=true"]), "unrecognized feature gate: Nonsense");
        let text = error(&["--feature-gates=SchedulerQueueingHints=false"]);
        assert_eq!(text, "feature gate `SchedulerQueueingHints` is always true here; leave it out");
        assert_eq!(features(&["SchedulerQueueingHints=true".into()]).unwrap(), Features::default());
        let turned = features(&["TaintTolerationComparisonOperators=true".into()]).unwrap();
        assert!(turned.taint_toleration_comparison_operators);
    }

    #[test]
    fn flags_of_kube_scheduler_mean_what_they_do_there() {
        let options = options(&parse(&[
            "--tls-min-version=VersionTLS13",
            "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
            "--client-ca-file=ca.crt",
            "--permit-port-sharing",
            "--authorization-webhook-cache-unauthorized-ttl=3s",
            "--pod-max-in-unschedulable-pods-duration=1m",
            "--profiling=false",
            "--contention-profiling=false",
            "--log-flush-frequency=1s",
            "--kube-api-content-type=application/json",
            "--authentication-skip-lookup",
            "--authentication-tolerate-lookup-failure=true",
            "--disable-http2-serving",
            "--vmodule=watch=5,policy*=8",
            "--kube-api-qps=7",
        ]))
        .unwrap();
        let serve = options.serve.unwrap();
        assert!(serve.tls.newest_only && serve.share_port && serve.client_authority.is_some());
        assert_eq!(serve.tls.suites.len(), 2);
        assert_eq!(options.kept.allowed, Duration::from_secs(10));
        assert_eq!(options.kept.refused, Duration::from_secs(3));
        assert_eq!(options.scheduler.longest_wait, Some(crate::model::Duration::from_seconds(60)));
        assert_eq!(options.configz["clientConnection"]["qps"], 7.0);
        for flags in ["--profiling", "--profiling=true", "--tls-min-version=VersionTLS10", "--vmodule=watch"]
        {
            assert!(Line::try_parse_from(["run", flags]).is_err(), "{flags}");
        }
    }

    #[test]
    fn what_becomes_of_broken_policies_is_said_by_namespace() {
        let of = |words: &str| on_invalid(&words.split(',').map(str::to_owned).collect::<Vec<_>>());
        let usual = of("wait").unwrap();
        assert!(usual.waits("shop/gpu", false) && !usual.waits("policies/gpu.bay", true));
        let mixed = of("ignore,shop=wait").unwrap();
        assert!(mixed.waits("shop/gpu", false) && !mixed.waits("bank/gpu", false));
        assert!(of("shop=perhaps").is_err());
    }

    #[test]
    fn the_lease_follows_the_profiles() {
        let settings = options(&parse(&[])).unwrap().election.unwrap();
        assert_eq!((settings.namespace.as_str(), settings.name.as_str()), ("kube-system", "kube-scheduler"));
        let text = error(&["--leader-elect-resource-name=mine"]);
        assert!(text.contains("must be kube-system/kube-scheduler"), "{text}");
        assert!(options(&parse(&["--leader-elect=false"])).unwrap().election.is_none());
        let text = error(&["--leader-elect-lease-duration=5s"]);
        assert!(text.contains("greater than the renew deadline"), "{text}");
    }
}
