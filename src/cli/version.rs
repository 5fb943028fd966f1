//! `bayplan version`: the versions of the program and the language, and the kube-scheduler whose decisions it makes.

use super::{ExitStatus, Output};
use crate::model::KubernetesVersion;

/// Prints versions.
#[derive(clap::Args, Debug, Default)]
#[command(after_help = "Example:\n  bayplan version -o json")]
pub(super) struct Args {
    /// How to print: `text` or `json`.
    #[arg(short, long, value_parser = ["text", "json"], default_value = "text")]
    output: String,
}

/// The version of the policy language.
pub(super) const LANGUAGE: u32 = 1;

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let version = env!("CARGO_PKG_VERSION");
    let decides_as = KubernetesVersion::default();
    let others = KubernetesVersion::ALL.into_iter().filter(|other| *other != decides_as);
    let others: String = others.map(|other| format!(", with `--kubernetes {other}` as {other}")).collect();
    if args.output == "json" {
        let json = serde_json::json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Version",
            "version": version, "language": LANGUAGE, "kubeScheduler": decides_as.word(),
            "kubeSchedulers": KubernetesVersion::ALL.map(KubernetesVersion::word),
        });
        out.json(&json)?;
    } else {
        writeln!(
            out.stdout(),
            "bayplan {version}, policy language {LANGUAGE}, decides as kube-scheduler {decides_as}{others}"
        )?;
    }
    Ok(ExitStatus::Success)
}
