//! `bayplan schema`: the JSON schema of policy documents, for editors and other tools.

use super::{ExitStatus, Output};

/// Prints the JSON schema of `kind: SchedulingPolicy`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  bayplan schema  > schedulingpolicy.schema.json")]
pub(super) struct Args {}

/// Runs the command.
pub(super) fn run(_: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    out.json(&crate::reference::document_schema())?;
    Ok(ExitStatus::Success)
}
