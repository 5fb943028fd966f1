//! `bayplan init`: a repository of policies with a first policy, its test, the project file, a workflow and hooks that check each
//! change, and a kustomization that makes the ConfigMaps. `files` has their texts, `nodes` the nodes of the test. What
//! exists is never overwritten.

mod files;
mod nodes;

use super::setup::quoted;
use super::{ExitStatus, Output};
use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Makes a repository of policies: a first policy with its test, the project file, a CI workflow, and a kustomization.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan init policies-of-shop
  bayplan init --from-cluster                    in this folder, with nodes of the current context
  bayplan init --from-cluster=cluster.yaml shop  with nodes of a file")]
pub(super) struct Args {
    /// The folder, which is made if there is none [default: the present one].
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Test on nodes of this cluster file, or of the live cluster if no file is given [default: three nodes of an example].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    from_cluster: Option<Option<PathBuf>>,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    live: nodes::Live,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let folder = args.folder.as_deref().unwrap_or(Path::new("."));
    let shown = |path: &str| folder.join(path).display().to_string().trim_start_matches("./").to_owned();
    // Before a cluster is read.
    let exist: Vec<String> =
        files::PATHS.iter().filter(|path| folder.join(path).exists()).map(|path| shown(path)).collect();
    if !exist.is_empty() {
        bail!(
            "{} exist already, and nothing was written: choose another folder, as `bayplan init DIR`, or move them away",
            exist.join(", ")
        );
    }
    let nodes = match &args.from_cluster {
        None => nodes::of_example(),
        Some(Some(file)) => nodes::of_file(file, out)?,
        #[cfg(feature = "cluster")]
        Some(None) => nodes::of_live(&args.live, out)?,
        #[cfg(not(feature = "cluster"))]
        Some(None) => {
            bail!("this build reads no live cluster: give a file, as `--from-cluster=cluster.yaml`")
        }
    };
    for (path, text) in files::all(&nodes)? {
        write(&folder.join(path), &text)?;
        let path = out.part(&shown(path));
        writeln!(out.stdout(), "wrote {path}")?;
    }
    let there = match &args.folder {
        Some(folder) => format!("cd {} && ", quoted(&folder.display().to_string())),
        None => String::new(),
    };
    let program = out.program;
    writeln!(
        out.stdout(),
        "\nNext: {there}{program} lint policies/ && {program} test policies/\n      put the owner of your copy of Bayplan in \
         the place of OWNER in the workflow and the hooks"
    )?;
    Ok(ExitStatus::Success)
}

/// Writes a file that does not exist.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let cannot = || format!("cannot write `{}`", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(cannot)?;
    }
    let mut file = std::fs::File::options().write(true).create_new(true).open(path).with_context(cannot)?;
    file.write_all(text.as_bytes()).with_context(cannot)
}
