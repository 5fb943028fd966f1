//! `bayplan run`: the scheduler. Turns kube-scheduler's flags and configuration into the options of
//! `cluster::run`, and its end into an exit status.

use super::output::{Lines, Output};
use super::{ExitStatus, live, run_flags, setup};
use crate::cluster::api::client::Target;
use crate::cluster::extender::ask;
use crate::cluster::policies::account::PolicyAccount;
use crate::cluster::policies::compiled::Policy;
use crate::cluster::policies::source;
use crate::cluster::port::pages::Started;
use crate::cluster::port::zpages::ZPages;
use crate::cluster::port::{access, connections, serve, tls};
use crate::cluster::process::run::{self as cluster_run, RunError};
use crate::cluster::process::{leader, logs};
use crate::cluster::rights::review::Missing;
use crate::cluster::writes::statuses;
use crate::config::{self, SchedulerConfig};
use crate::diag::{Diagnostic, Look, SourceId, SourceMap, draw, suggest};
use crate::framework::features::{self, FeatureGates, Features, Gate, GateError, GatesOf};
use crate::framework::{Extenders, Framework};
use crate::lang::analysis::cost::Size;
use crate::plugins::policy::ExemptPods;
use crate::scheduler::Profiles;
use anyhow::{Context, anyhow, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(super) use super::run_args::Args;
use super::run_args::{ElectionArgs, LoggingArgs, SecurePortArgs};

/// The feature gates of the flag.
fn feature_gates(of: GatesOf, parts: &[String]) -> anyhow::Result<FeatureGates> {
    FeatureGates::parse(of, parts.iter().map(String::as_str)).map_err(|error| {
        let meant = match &error {
            GateError::Unknown(name, elsewhere) if elsewhere.is_empty() => {
                suggest::nearest(name, features::gate_names())
            }
            _ => None,
        };
        match meant {
            Some(meant) => anyhow!("{error}; did you mean `{meant}`?"),
            None => anyhow!(Lines(error.to_string())),
        }
    })
}

/// Whose gates count, by the flags.
pub(super) fn gates_of(args: &Args) -> anyhow::Result<GatesOf> {
    let binary = args.decides_as.of_the_flag();
    run_flags::gates_of(binary, &args.emulated_version, &args.min_compatibility_version)
}

/// How to treat the pods of invalid policies.
pub(super) fn on_invalid(words: &[String]) -> anyhow::Result<source::OnInvalid> {
    let mut all = source::OnInvalid::default();
    for text in words {
        let (namespace, word) =
            text.split_once('=').map_or((None, text.as_str()), |(of, word)| (Some(of), word));
        let ignore = match word {
            "wait" => false,
            "ignore" => true,
            _ => bail!("`--policy-on-invalid` has `{text}`; write `wait`, `ignore` or `NAMESPACE=ignore`"),
        };
        match namespace {
            Some(namespace) => drop(all.exceptions.insert(namespace.to_owned(), ignore)),
            None => all.ignore = ignore,
        }
    }
    Ok(all)
}

/// The statuses that the flag names.
pub(super) fn written_statuses(words: &[String]) -> anyhow::Result<statuses::Settings> {
    statuses::Settings::parse(words).map_err(|why| {
        anyhow!("`--write-status`: {why}; write `PodGroup`, `ElasticQuota` or `ElasticQuota=POLICY.LEDGER`")
    })
}

/// The configuration and its text, for places in messages.
pub(super) struct Configured {
    pub(super) config: SchedulerConfig,
    pub(super) sources: SourceMap,
    pub(super) source: SourceId,
    pub(super) gates: FeatureGates,
}

/// Diagnostics as text.
fn drawn(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let look = Look { limit: Some(20), ..Look::default() };
    draw::human(sources, diagnostics, look).as_str().trim_end().to_owned()
}

/// The configuration, its profiles kept to the nodes of the flag.
fn kept_to(args: &Args, mut config: SchedulerConfig) -> SchedulerConfig {
    args.nodes.iter().for_each(|nodes| config.keep_to(nodes));
    config
}

fn configuration(args: &Args) -> anyhow::Result<Configured> {
    let mut made = read_configuration(args.config.as_deref(), gates_of(args)?, &args.feature_gates)?;
    made.config = kept_to(args, made.config);
    Ok(made)
}

/// The configuration of a file, or the default one, under these feature gates.
pub(super) fn read_configuration(
    path: Option<&Path>,
    of: GatesOf,
    gates: &[String],
) -> anyhow::Result<Configured> {
    let Some(path) = path else { return configured(None, of, gates) };
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{name}`"))?;
    configured(Some((&name, bytes)), of, gates)
}

/// The configuration of a file that was read, with its name, or the default one, under these feature gates.
pub(super) fn configured(
    file: Option<(&str, Vec<u8>)>,
    of: GatesOf,
    gates: &[String],
) -> anyhow::Result<Configured> {
    let gates = feature_gates(of, gates)?;
    let mut sources = SourceMap::new();
    let Some((name, bytes)) = file else {
        let source = sources.add("the default configuration", "");
        return Ok(Configured { config: SchedulerConfig::default(), sources, source, gates });
    };
    let (source, unreadable) = sources.add_bytes(name, bytes);
    let mut said: Vec<Diagnostic> = unreadable.into_iter().collect();
    let Some(text) = sources.get(source) else { bail!("cannot read `{name}`") };
    let (config, found) = config::read(text);
    said.extend(found);
    if said.iter().any(Diagnostic::is_error) {
        bail!(Lines(format!("the configuration cannot be used\n{}", drawn(&sources, &said))));
    }
    Ok(Configured { config, sources, source, gates })
}

/// The configuration with the values of flags, which take precedence. `own`: the namespace of the scheduler.
fn in_force(
    args: &Args,
    configured: &Configured,
    own: Option<String>,
) -> anyhow::Result<(SchedulerConfig, Option<leader::Settings>)> {
    let mut config = configured.config.clone();
    let elects = args.election.leader_elect.unwrap_or(config.leader_election.leader_elect);
    let election = if elects { Some(lease(&args.election, &configured.config, own)?) } else { None };
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
    if let Some(path) = &args.api_server.kubeconfig {
        client.kubeconfig = path.display().to_string();
    }
    if let Some(qps) = args.api_server.kube_api_qps {
        // As upstream, 0 is a flag that is not set.
        client.qps = if qps == 0.0 { -1.0 } else { qps };
    }
    client.burst = args.api_server.kube_api_burst.unwrap_or(client.burst);
    Ok((config, election))
}

/// A configuration with what it leaves to defaults. Policies are not part of it.
fn completed(config: &SchedulerConfig, configured: &Configured) -> SchedulerConfig {
    config::completed(config, &crate::plugins::registry_with(configured.gates.features()))
}

/// The profiles of the configuration with these policies as plugins.
pub(super) fn profiles(
    of: &[Policy],
    configured: &Configured,
    size: Size,
    exempt: &ExemptPods,
) -> Result<Profiles, String> {
    let mut registry = crate::plugins::registry_with(configured.gates.features());
    for policy in of.iter().cloned() {
        let (name, exempt) = (policy.compiled.name().to_owned(), exempt.clone());
        let sorts = policy.compiled.policy.orders_queue() && !policy.suspended;
        registry
            .add_policy(&name, sorts, move |args| setup::with_arguments(&policy, size, &exempt, args))
            .map_err(|error| error.to_string())?;
    }
    match configured.config.frameworks(&registry, configured.source) {
        Ok(made) => Ok(Profiles { frameworks: made.frameworks, revision: 0 }),
        Err(said) => Err(drawn(&configured.sources, &said)),
    }
}

/// The names of the plugins of all profiles, each once.
pub(super) fn plugins_of(profiles: &Profiles) -> Vec<String> {
    let plugins = profiles.frameworks.iter().flat_map(|framework| framework.plugins());
    let mut names: Vec<String> = plugins.map(|plugin| plugin.name().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// Refuses a policy that writes kinds of the scheduler's own which the operator does not name.
fn allowed(policy: &Policy, may_write: &[String]) -> Result<(), String> {
    let acts = policy.compiled.policy.acts().flat_map(|acts| &acts.acts);
    let mut own = acts.filter_map(|act| act.does.writes_own_kind()).filter(|_| !policy.suspended);
    match own.find(|kind| !may_write.iter().any(|allowed| allowed == kind)) {
        None => Ok(()),
        Some(kind) => Err(format!(
            "policy `{}` writes {kind}, which the scheduler writes itself: start it with `--policy-writes {kind}` to allow it",
            policy.compiled.name()
        )),
    }
}

/// The framework with extenders.
fn asking(framework: Arc<Framework>, extenders: &Arc<Extenders>) -> Arc<Framework> {
    Arc::try_unwrap(framework)
        .map_or_else(|shared| shared, |framework| Arc::new(framework.with_extenders(Arc::clone(extenders))))
}

/// The namespace of the scheduler's pod, which Kubernetes mounts into every pod.
pub(super) fn own_namespace() -> Option<String> {
    let text = std::fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace").ok()?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The lease: `kube-system/kube-scheduler` if and only if a profile has the name
/// `default-scheduler`, so that schedulers with the same name share one lease. `own`: the namespace of the scheduler.
pub(super) fn lease(
    args: &ElectionArgs,
    config: &SchedulerConfig,
    own: Option<String>,
) -> anyhow::Result<leader::Settings> {
    let of = &config.leader_election;
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let profiles = &config.profiles;
    let serves_default = profiles.iter().any(|profile| profile.scheduler_name == "default-scheduler");
    let first = profiles.first().map_or(String::new(), |profile| profile.scheduler_name.to_string());
    let asked = args.leader_elect_resource_name.clone().or_else(|| given(&of.resource_name));
    let name = asked.unwrap_or_else(|| if serves_default { "kube-scheduler".into() } else { first.clone() });
    let asked = args.leader_elect_resource_namespace.clone().or_else(|| given(&of.resource_namespace));
    let namespace = match asked {
        Some(namespace) => namespace,
        None if serves_default => "kube-system".into(),
        None => own.unwrap_or_else(|| "kube-system".into()),
    };
    let kubes = namespace == "kube-system" && name == "kube-scheduler";
    if kubes && !serves_default {
        bail!(
            "the lease kube-system/kube-scheduler is for the scheduler name `default-scheduler`, which no profile \
             has; write `leaderElection: {{resourceName: {first}}}`"
        );
    }
    if !kubes && serves_default {
        bail!(
            "the lease is {namespace}/{name}, but a profile has the name `default-scheduler`, so the lease must be \
             kube-system/kube-scheduler, or two schedulers could serve the same pods; write `leaderElection: \
             {{resourceName: kube-scheduler, resourceNamespace: kube-system}}`"
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
    options_of(args, configuration(args)?, own_namespace())
}

/// The options of a scheduler with this configuration, whose pod is in the namespace `own`.
pub(super) fn options_of(
    args: &Args,
    configured: Configured,
    own: Option<String>,
) -> anyhow::Result<cluster_run::Options> {
    let (config, election) = in_force(args, &configured, own.clone())?;
    let target = |kubeconfig: &Option<PathBuf>| Target {
        kubeconfig: kubeconfig.clone(),
        user_agent: "scheduler",
        ..Target::default()
    };
    let connection = &config.client_connection;
    let kubeconfig = Some(&connection.kubeconfig).filter(|path| !path.is_empty()).map(PathBuf::from);
    let port = &args.port;
    let token_ttl = port.authentication_token_webhook_cache_ttl;
    let review_ttl = access::CacheTtl {
        allowed: token_ttl.min(port.authorization_webhook_cache_authorized_ttl),
        refused: token_ttl.min(port.authorization_webhook_cache_unauthorized_ttl),
    };
    // With files and no namespaces, the policies are those of the files.
    let named = &args.policies.namespaces;
    let namespaces =
        if named.is_empty() && args.policies.files.is_some() { Vec::new() } else { live::namespaces(named) };
    let size = args.policies.declared.size();
    let exempt = args.policies.exempt(own.clone());
    let (needs, plugins) = in_profiles(&configured, size, &exempt)?;
    let extenders = config.shared_extenders();
    let may_write = args.policy_writes.clone();
    let of_lease = match &election {
        Some(election) => Some(election.namespace.clone()),
        None => Some(config.leader_election.resource_namespace.clone()).filter(|name| !name.is_empty()),
    };
    let namespace = own.or(of_lease).unwrap_or_else(|| "kube-system".into());
    Ok(cluster_run::Options {
        target: Target { master: args.api_server.master.clone(), ..target(&kubeconfig) },
        qps: connection.qps,
        burst: connection.burst,
        review_ttl,
        policies: source::Settings {
            namespaces,
            files: args.policies.files.clone(),
            on_invalid: on_invalid(&args.policies.on_invalid)?,
            size,
            identity: election.as_ref().map_or_else(leader::identity, |it| it.identity.clone()),
        },
        statuses: written_statuses(&args.write_status)?,
        version: configured.gates.features().rows(),
        hidden_metrics: run_flags::shows_hidden_metrics(
            args.decides_as.of_the_flag(),
            args.show_hidden_metrics_for_version.as_deref(),
        )?,
        policy_account: args
            .policy_service_account
            .clone()
            .unwrap_or_else(|| PolicyAccount::beside(&namespace)),
        namespace,
        delay_cache_until_active: config.delay_cache_until_active,
        watch_max_age: args.api_server.watch_max_age,
        max_unauthorized: args.api_server.max_unauthorized,
        answering: None,
        shown: Started {
            configuration: config::shown(&completed(&config, &configured)),
            zpages: zpages(args, &config, configured.gates.features()),
        },
        needs,
        plugins,
        extenders: config.extenders_in_order().iter().map(ask::Settings::of).collect(),
        gates: configured.gates.all().map(|(name, stage, on)| (name, stage.word(), on)).collect(),
        admission: args.admission.settings(&exempt),
        judges_alone: false,
        scheduler: crate::scheduler::Options {
            initial_backoff: config.pod_initial_backoff,
            max_backoff: config.pod_max_backoff,
            longest_wait: Some(crate::model::Duration(
                i64::try_from(args.pod_max_in_unschedulable_pods_duration.as_micros()).unwrap_or(i64::MAX),
            )),
            ..crate::scheduler::Options::default()
        },
        election,
        serve: secure_port(port),
        authentication: port.authentication_kubeconfig.as_ref().map(|path| target(&Some(path.clone()))),
        authorization: port.authorization_kubeconfig.as_ref().map(|path| target(&Some(path.clone()))),
        profiles: Box::new(move |policies| {
            policies.iter().try_for_each(|policy| allowed(policy, &may_write))?;
            let mut made = profiles(policies, &configured, size, &exempt)?;
            made.frameworks = made.frameworks.into_iter().map(|it| asking(it, &extenders)).collect();
            Ok(made)
        }),
    })
}

/// What the profiles of a configuration need, and the names of their plugins. Without policies they show mistakes of the
/// configuration, which end the program now.
pub(super) fn in_profiles(
    configured: &Configured,
    size: Size,
    exempt: &ExemptPods,
) -> anyhow::Result<(Vec<crate::framework::Need>, Vec<String>)> {
    match profiles(&[], configured, size, exempt) {
        Ok(made) => Ok((made.needs(), plugins_of(&made))),
        Err(said) => bail!(Lines(format!("the configuration cannot be used\n{said}"))),
    }
}

/// What `/flagz` and `/statusz` show. A flag that is not given has the value of the configuration, if there is one.
fn zpages(args: &Args, config: &SchedulerConfig, features: Features) -> ZPages {
    let mut flags = args.given.all::<Args>();
    for (name, value) in config::as_flags(config) {
        flags.insert(name.to_owned(), value);
    }
    ZPages {
        flags: features.on(Gate::ComponentFlagz).then_some(flags),
        statusz: features.on(Gate::ComponentStatusz),
        emulates: args.decides_as.of_the_flag().word(),
        started: jiff::Timestamp::now(),
    }
}

/// The settings of the secure port, if there is one.
fn secure_port(args: &SecurePortArgs) -> Option<serve::Settings> {
    (args.secure_port != 0).then(|| serve::Settings {
        bind: args.bind_address,
        port: args.secure_port,
        always_allow: args.authorization_always_allow_paths.clone(),
        limits: connections::Limits::default(),
        tls: tls::Settings {
            certificate: args.tls_cert_file.clone().zip(args.tls_private_key_file.clone()),
            directory: args.cert_dir.clone(),
            client_authority: args.client_ca_file.clone(),
            newest_only: args.tls_min_version == Some(true),
            suites: args.tls_cipher_suites.clone(),
        },
        share_port: args.permit_port_sharing,
    })
}

/// Prints the most important rights that the account lacks.
/// `stops`: what does not happen without them.
pub(super) fn check_rights(
    options: &cluster_run::Options,
    stops: &str,
    out: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let missing = cluster_run::missing_rights(options)?;
    if missing.is_empty() {
        writeln!(out.stdout(), "the account has every right without which {stops}")?;
        return Ok(ExitStatus::Success);
    }
    writeln!(out.stdout(), "{stops} until these rights are granted:")?;
    for Missing { right, rule, grant } in &missing {
        writeln!(out.stdout(), "\n{right}\n  rule  {rule}\n  {grant}")?;
    }
    Ok(ExitStatus::Findings)
}

/// Runs the scheduler until it receives SIGTERM or SIGINT.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let options = options(args)?;
    if let Some(path) = &args.write_config_to {
        let configured = configuration(args)?;
        let (config, _) = in_force(args, &configured, own_namespace())?;
        let text = config::yaml(&completed(&config, &configured)).map_err(anyhow::Error::msg)?;
        std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        return Ok(ExitStatus::Success);
    }
    if args.check_rights {
        return check_rights(&options, "no pod is scheduled", out);
    }
    run_process(options, &args.logging, "the scheduler")
}

/// Runs until SIGTERM or SIGINT. `what` runs, for the log: an error while it runs is not a mistake of its flags.
pub(super) fn run_process(
    options: cluster_run::Options,
    logging: &LoggingArgs,
    what: &str,
) -> anyhow::Result<ExitStatus> {
    let format = if logging.logging_format == "json" { logs::Format::Json } else { logs::Format::Text };
    logs::start(logging.v, logging.vmodule.clone(), format);
    match cluster_run::run(options) {
        Ok(()) => Ok(ExitStatus::Success),
        Err(error @ RunError::LeaseLost(_)) => {
            tracing::error!(%error, "Leaderelection lost");
            Ok(ExitStatus::Findings)
        }
        Err(error) if error.is_of_running() => {
            tracing::error!(%error, "{what} ends");
            Ok(ExitStatus::Findings)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser, Debug)]
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
    fn hidden_metrics_are_shown_for_the_version_before() {
        let shown = |flags: &[&str]| options(&parse(flags)).unwrap().hidden_metrics;
        let flag = "--show-hidden-metrics-for-version";
        assert!(!shown(&[]) && shown(&[&format!("{flag}=1.30"), &format!("{flag}=1.36")]));
        assert!(shown(&["--emulated-version=1.36", &format!("{flag}=1.36")]));
        let text = error(&["--kubernetes=1.36", &format!("{flag}=1.36")]);
        assert!(
            text.ends_with("have the value '1.35'; only the previous minor version is allowed"),
            "{text}"
        );
    }

    #[test]
    fn feature_gates_are_refused_by_name() {
        let text = error(&["--feature-gates=NodeDeclaredFeature=true"]);
        assert_eq!(
            text,
            "unrecognized feature gate: NodeDeclaredFeature; did you mean `NodeDeclaredFeatures`?"
        );
        let text = error(&["--kubernetes=1.36", "--feature-gates=SchedulerQueueingHints=false"]);
        assert_eq!(
            text,
            "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true"
        );
        let flags = [
            "--feature-gates=kube:TaintTolerationComparisonOperators=true",
            "--feature-gates=MemoryQoS=true",
        ];
        let gates = feature_gates(GatesOf::default(), &parse(&flags).feature_gates).unwrap();
        assert_eq!(gates.flag(), "MemoryQoS=true,TaintTolerationComparisonOperators=true");
        let shown = options(&parse(&flags)).unwrap().gates;
        assert!(shown.iter().any(|row| row.0 == "TaintTolerationComparisonOperators" && row.2));
    }

    #[test]
    fn flags_of_kube_scheduler_keep_their_meaning() {
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
        assert!(serve.tls.newest_only && serve.share_port && serve.tls.client_authority.is_some());
        assert_eq!(serve.tls.suites.len(), 2);
        assert_eq!(options.review_ttl.allowed, Duration::from_secs(10));
        assert_eq!(options.review_ttl.refused, Duration::from_secs(3));
        assert_eq!(options.scheduler.longest_wait, Some(crate::model::Duration::from_seconds(60)));
        assert_eq!(options.shown.configuration["clientConnection"]["qps"], 7.0);
        for flags in ["--profiling", "--profiling=true", "--tls-min-version=VersionTLS10", "--vmodule=watch"]
        {
            assert!(Line::try_parse_from(["run", flags]).is_err(), "{flags}");
        }
    }

    #[test]
    fn nodes_of_the_flag_are_shown_as_those_of_every_profile() {
        let shown = options(&parse(&["--nodes=pool=gpu,zone in (a,b)"])).unwrap().shown.configuration;
        let configs = shown["profiles"][0]["pluginConfig"].as_array().unwrap();
        let of = configs.iter().find(|of| of["name"] == "NodeAffinity").unwrap();
        let required = &of["args"]["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        let expressions = &required["nodeSelectorTerms"][0]["matchExpressions"];
        assert_eq!(expressions[1]["values"], serde_json::json!(["a", "b"]), "{of}");
        let text = Line::try_parse_from(["run", "--nodes=pool in gpu"]).unwrap_err().to_string();
        assert!(text.contains("'pool in gpu'") && text.contains("write `pool in (gpu)`"), "{text}");
    }

    #[test]
    fn pods_of_invalid_policies_wait_by_namespace() {
        let of = |words: &str| on_invalid(&words.split(',').map(str::to_owned).collect::<Vec<_>>());
        let usual = of("wait").unwrap();
        assert!(usual.waits("shop"));
        let mixed = of("ignore,shop=wait").unwrap();
        assert!(mixed.waits("shop") && !mixed.waits("bank"));
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
