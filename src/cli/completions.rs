//! `bayplan completions SHELL`: a completion script, made from the same table as the help.

use super::{Cli, ExitStatus, Output};
use clap::CommandFactory;

/// Prints a completion script.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  source <(bayplan completions bash)")]
pub(super) struct Args {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bayplan", &mut script);
    out.trusted(&script)?;
    Ok(ExitStatus::Success)
}
