//! `bayplan version`: the versions of the program and the language, and the kube-scheduler whose decisions it makes.

use super::{ExitStatus, Output};

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

/// The version of kube-scheduler whose decisions this scheduler makes.
pub(super) const KUBE_SCHEDULER: &str = "1.36";

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let version = env!("CARGO_PKG_VERSION");
    if args.output == "json" {
        let json = serde_json::json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Version",
            "version": version, "language": LANGUAGE, "kubeScheduler": KUBE_SCHEDULER,
        });
        out.json(&json)?;
    } else {
        writeln!(
            out.stdout(),
            "bayplan {version}, policy language {LANGUAGE}, decides as kube-scheduler {KUBE_SCHEDULER}"
        )?;
    }
    Ok(ExitStatus::Success)
}
