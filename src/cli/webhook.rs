//! `bayplan webhook`: judges changes of policies for the API server, and schedules nothing. `run` does the same beside its
//! work with `--admission-listen`.

use super::run::{Configured, in_profiles, own_namespace, profiles, read_configuration, run_process};
use super::run_args::{ApiServerArgs, LoggingArgs, PolicyArgs};
use super::setup::DecidesAs;
use super::{ExitStatus, Output, answering};
use crate::cluster::admission::server::{MostWaiting, Settings};
use crate::cluster::port::listen::Listen;
use crate::cluster::port::questions;
use crate::cluster::process::run as cluster_run;
use crate::framework::features::GatesOf;
use crate::plugins::policy::ExemptPods;
use anyhow::bail;
use std::path::PathBuf;

/// Where the API server asks about changes of policies.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct AdmissionArgs {
    /// Judge changes of ConfigMaps with policies for the API server at this ADDRESS:PORT, by TLS with the certificate of
    /// `--admission-cert-file` [default: none].
    #[arg(long, value_name = "ADDRESS:PORT", requires_all = ["admission_cert_file", "admission_key_file"])]
    admission_listen: Option<Listen>,
    /// PEM file with the certificate and its chain for that; read again when it changes.
    #[arg(long, value_name = "FILE")]
    admission_cert_file: Option<PathBuf>,
    /// PEM file with its key.
    #[arg(long, value_name = "FILE")]
    admission_key_file: Option<PathBuf>,
    /// CA file for client certificates: every question must show one.
    #[arg(long, value_name = "FILE")]
    admission_client_ca_file: Option<PathBuf>,
    /// Refuse a change that leaves more pods waiting, now or when they restart: so many percent of those that it applies
    /// to, and at least so many pods, as `10%,20`. The annotation `bayplan.dev/accept-impact` with their number lets it
    /// through.
    #[arg(long, value_name = "PERCENT,PODS", default_value = "10%,20", value_parser = most_waiting)]
    max_newly_waiting: MostWaiting,
}

/// `10%,20`
fn most_waiting(text: &str) -> Result<MostWaiting, String> {
    let read = || {
        let (percent, pods) = text.split_once(',')?;
        let percent: u8 = percent.strip_suffix('%')?.parse().ok()?;
        (percent <= 100).then_some(MostWaiting { percent, at_least: pods.parse().ok()? })
    };
    read().ok_or_else(|| "write a share and a number of pods, as `10%,20`".to_owned())
}

impl AdmissionArgs {
    /// The settings, if there is a place for questions.
    pub(super) fn settings(&self, exempt: &ExemptPods) -> Option<Settings> {
        Some(Settings {
            port: questions::Settings {
                at: self.admission_listen.clone()?,
                certificate: self.admission_cert_file.clone().zip(self.admission_key_file.clone()),
                client_authority: self.admission_client_ca_file.clone(),
            },
            most_waiting: self.max_newly_waiting,
            exempt: exempt.clone(),
        })
    }
}

/// Judges changes of policies for the API server, and schedules nothing.
#[derive(clap::Args, Debug)]
#[command(
    args_override_self = true,
    after_help = "Examples:
  bayplan webhook --admission-listen 0.0.0.0:8443 --admission-cert-file tls.crt --admission-key-file tls.key

It answers `POST /policies`. A ValidatingWebhookConfiguration sends it ConfigMaps with the label `bayplan.dev/policy`:
`bayplan help changes` shows one."
)]
pub(super) struct Args {
    #[command(flatten)]
    admission: AdmissionArgs,
    /// The KubeSchedulerConfiguration of the scheduler whose pods are counted.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    decides_as: DecidesAs,
    #[command(flatten, next_help_heading = "Policies")]
    policies: PolicyArgs,
    #[command(flatten, next_help_heading = "API server")]
    api_server: ApiServerArgs,
    #[command(flatten, next_help_heading = "Logging")]
    logging: LoggingArgs,
}

/// The options that flags mean.
fn options(args: &Args) -> anyhow::Result<cluster_run::Options> {
    let exempt = args.policies.exempt(own_namespace());
    let Some(admission) = args.admission.settings(&exempt) else {
        bail!(
            "say where the API server asks, as `--admission-listen 0.0.0.0:8443`, with `--admission-cert-file` and `--admission-key-file`"
        );
    };
    let version = args.decides_as.of_the_flag();
    let configured: Configured = read_configuration(args.config.as_deref(), GatesOf::version(version), &[])?;
    let size = args.policies.declared.size();
    let (needs, plugins) = in_profiles(&configured, size, &exempt)?;
    let rows = configured.gates.features().rows();
    let made = move |policies: &[_]| profiles(policies, &configured, size, &exempt);
    Ok(cluster_run::Options {
        version: rows,
        needs,
        plugins,
        admission: Some(admission),
        judges_alone: true,
        ..answering::options("webhook", &args.api_server, &args.policies, version, Box::new(made))?
    })
}

/// Judges changes until it receives SIGTERM or SIGINT.
pub(super) fn run(args: &Args, _: &mut Output) -> anyhow::Result<ExitStatus> {
    run_process(options(args)?, &args.logging, "the webhook")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_a_share_and_a_number() {
        assert_eq!(most_waiting("10%,20"), Ok(MostWaiting::default()));
        assert_eq!(most_waiting("0%,0"), Ok(MostWaiting { percent: 0, at_least: 0 }));
        for text in ["10", "10%", "101%,1", "10,20", "x%,1", "10%,-1"] {
            assert!(most_waiting(text).unwrap_err().contains("10%,20"), "{text}");
        }
    }
}
