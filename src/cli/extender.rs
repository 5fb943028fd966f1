//! `bayplan extender`: the policies as an extender of an unmodified kube-scheduler. Turns flags into the options of
//! `cluster::run`, which watches the cluster, loads policies and answers questions, and never schedules.

use super::run::{Configured, check_rights, own_namespace, profiles, run_process};
use super::run_args::{ApiServerArgs, LoggingArgs, PolicyArgs};
use super::{ExitStatus, Output, answering};
use crate::cluster::extender::server;
use crate::cluster::port::listen::Listen;
use crate::cluster::port::{connections, questions, serve, tls};
use crate::cluster::process::run as cluster_run;
use crate::config::SchedulerConfig;
use crate::diag::SourceMap;
use crate::framework::features::FeatureGates;
use crate::framework::{At, Named, Profile};
use crate::model::KubernetesVersion;
use crate::plugins::IN_TREE;
use anyhow::bail;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// What every framework needs; kube-scheduler does the work of these.
const KEPT: [&str; 2] = ["PrioritySort", "DefaultBinder"];

/// Where policies come from, and how kube-scheduler reaches them.
#[derive(clap::Args, Debug)]
#[command(
    args_override_self = true,
    after_help = "Examples:
  bayplan extender --policies policies/                    beside kube-scheduler on the same host
  bayplan extender --check-rights                          what its account lacks
  bayplan extender --listen 0.0.0.0:8890 --tls-cert-file tls.crt --tls-private-key-file tls.key  as a service"
)]
pub(super) struct Args {
    /// Where kube-scheduler's questions come: ADDRESS:PORT, without TLS only of this host, or unix:PATH, a socket that no
    /// other user may open.
    #[arg(long, value_name = "PLACE", default_value = "127.0.0.1:8890")]
    listen: Listen,
    /// PEM file with the certificate and its chain; reloaded when it changes [default: no TLS].
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// PEM file with the key of the certificate.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// CA file for client certificates; every question must show one.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    client_ca_file: Option<PathBuf>,
    /// HTTPS port for health checks and metrics, at the address of `--listen`, with a socket of this host; 0: no port.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    secure_port: u16,
    /// Bind pods too, for the verb `bind`: policies are evaluated once more before. Needs `--client-ca-file`, or a socket.
    #[arg(long)]
    bind: bool,
    /// Print the rights that the account lacks and without which kube-scheduler's questions are not answered, each with a
    /// line that grants it, and exit; with status 1 if one is missing.
    #[arg(long)]
    check_rights: bool,

    #[command(flatten, next_help_heading = "Policies")]
    policies: PolicyArgs,
    #[command(flatten, next_help_heading = "API server")]
    api_server: ApiServerArgs,
    #[command(flatten, next_help_heading = "Logging")]
    logging: LoggingArgs,
}

/// A configuration with one profile in which only policies run.
fn policies_alone() -> Configured {
    let others = IN_TREE.iter().filter(|plugin| !KEPT.contains(&plugin.name));
    let named = |name: &str| Named { name: name.to_owned(), weight: 0, at: At::default() };
    let mut profile = Profile::new("bayplan-extender");
    profile.multi_point.disabled = others.map(|plugin| named(plugin.name)).collect();
    let config = SchedulerConfig { profiles: vec![profile], ..SchedulerConfig::default() };
    let mut sources = SourceMap::new();
    let source = sources.add("the profile of the extender", "");
    Configured { config, sources, source, gates: FeatureGates::default() }
}

/// The options that flags mean; reads no file.
pub(super) fn options(args: &Args) -> anyhow::Result<cluster_run::Options> {
    if args.tls_cert_file.is_none() && args.listen.is_remote() {
        bail!(
            "{} can be reached from other hosts, so `--tls-cert-file` and `--tls-private-key-file` are needed",
            args.listen
        );
    }
    if args.bind && args.client_ca_file.is_none() && args.listen.is_shared() {
        bail!(
            "with `--bind` everybody who reaches {} could bind pods, also from pods in the network of this host: give \
             `--client-ca-file`, or listen on a socket, as `--listen unix:/run/bayplan/extender.sock`",
            args.listen
        );
    }
    let configured = policies_alone();
    let size = args.policies.declared.size();
    let exempt = args.policies.exempt(own_namespace());
    let made = move |policies: &[_]| profiles(policies, &configured, size, &exempt);
    let version = KubernetesVersion::default();
    Ok(cluster_run::Options {
        serve: secure_port(args),
        answering: Some(server::Settings {
            port: questions::Settings {
                at: args.listen.clone(),
                certificate: args.tls_cert_file.clone().zip(args.tls_private_key_file.clone()),
                client_authority: args.client_ca_file.clone(),
            },
            binds: args.bind,
        }),
        ..answering::options("extender", &args.api_server, &args.policies, version, Box::new(made))?
    })
}

/// The settings of the port for health checks and metrics, if there is one.
fn secure_port(args: &Args) -> Option<serve::Settings> {
    (args.secure_port != 0).then(|| serve::Settings {
        bind: match &args.listen {
            Listen::Address(address) => address.ip(),
            Listen::Socket(_) => Ipv4Addr::LOCALHOST.into(),
        },
        port: args.secure_port,
        always_allow: ["/healthz", "/readyz", "/livez"].map(String::from).into(),
        limits: connections::Limits::default(),
        tls: tls::Settings {
            certificate: args.tls_cert_file.clone().zip(args.tls_private_key_file.clone()),
            client_authority: args.client_ca_file.clone(),
            ..tls::Settings::default()
        },
        share_port: false,
    })
}

/// Answers questions until it receives SIGTERM or SIGINT.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let options = options(args)?;
    if args.check_rights {
        return check_rights(&options, "no question of kube-scheduler is answered", out);
    }
    run_process(options, &args.logging, "the extender")
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

    fn given(flags: &[&str]) -> anyhow::Result<cluster_run::Options> {
        options(&Line::try_parse_from(std::iter::once(&"extender").chain(flags)).unwrap().args)
    }

    #[test]
    fn only_this_host_is_answered_without_tls_and_only_certificates_may_bind_from_others() {
        assert!(!given(&[]).unwrap().answering.unwrap().port.at.is_remote());
        // Every process of the host reaches its loopback address.
        let open = given(&["--bind"]).err().unwrap().to_string();
        assert!(open.contains("`--client-ca-file`") && open.contains("--listen unix:"), "{open}");
        let socket = ["--bind", "--listen=unix:/run/bayplan/extender.sock"];
        assert!(given(&socket).unwrap().answering.unwrap().binds);
        let local = ["--bind", "--tls-cert-file=c", "--tls-private-key-file=k"];
        assert!(given(&local).is_err());
        assert!(given(&[&local[..], &["--client-ca-file=ca"]].concat()).is_ok());
        assert!(given(&[]).unwrap().serve.is_none());
        assert_eq!(given(&["--secure-port=10261"]).unwrap().serve.unwrap().port, 10_261);
        let open = given(&["--listen=0.0.0.0:1"]).err().unwrap().to_string();
        assert!(open.contains("`--tls-cert-file`"), "{open}");
        let tls = ["--listen=0.0.0.0:1", "--tls-cert-file=c", "--tls-private-key-file=k"];
        assert!(given(&tls).is_ok());
        let binds = [&tls[..], &["--bind"]].concat();
        let open = given(&binds).err().unwrap().to_string();
        assert!(open.contains("`--client-ca-file`"), "{open}");
        assert!(given(&[&binds[..], &["--client-ca-file=ca"]].concat()).is_ok());
    }

    #[test]
    fn only_policies_run() {
        let configured = policies_alone();
        let registry = crate::plugins::registry();
        let made = configured.config.frameworks(&registry, configured.source);
        let framework = made.unwrap_or_else(|all| panic!("{all:?}")).frameworks[0].clone();
        let names: Vec<&str> = framework.plugins().iter().map(|plugin| plugin.name()).collect();
        assert_eq!(names, ["PrioritySort", "DefaultBinder"]);
    }
}
