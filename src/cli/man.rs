//! `bayplan man FOLDER`: man pages, made from the same table as the help. Archives have them beside the completions.

use super::{Cli, ExitStatus};
use anyhow::Context;
use clap::CommandFactory;
use std::path::PathBuf;

/// Writes man pages: one for the program and one for each command.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  bayplan man ~/.local/share/man/man1 && man bayplan-explain")]
pub(super) struct Args {
    /// The folder, which is made if it does not exist.
    folder: PathBuf,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let folder = args.folder.display();
    std::fs::create_dir_all(&args.folder).with_context(|| format!("cannot make the folder `{folder}`"))?;
    clap_mangen::generate_to(Cli::command(), &args.folder)
        .with_context(|| format!("cannot write man pages into `{folder}`"))?;
    Ok(ExitStatus::Success)
}
