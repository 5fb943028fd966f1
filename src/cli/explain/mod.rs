//! `bayplan explain [POD]`: why a pod waits, or why it is where it is; without a pod, everything
//! that waits.
//!
//! The pending pods of the cluster are placed as `dry-run` places them with the same flags, and a
//! pod is explained on the cluster as it was at the pod's turn in the queue. `crate::explain`
//! evaluates and searches; this folder has the arguments and the texts.

mod diff;
mod evictions;
mod finished;
mod memory;
pub(super) mod fix;
pub(super) mod gate;
mod group;
pub(super) mod node;
pub(super) mod overview;
pub(super) mod placed;
pub(super) mod pod;
mod preemption;
pub(super) mod refusals;
mod representatives;
mod state;
pub(super) mod text;
pub(super) mod tree;

use super::dry_run::How;
use super::output::{Output, Style};
use super::progress::Progress;
use super::setup::{self, Setup, quoted};
use super::{ExitStatus, dry_run, page};
use std::path::Path;

/// Explains why a pod waits, and what would help; or why it is where it is. Without a pod: all pods
/// that wait, by cause.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan explain --cluster cluster.yaml --policies gpu.bay                all that waits, by cause
  bayplan explain --cluster cluster.yaml --cause 2                         the pods of the second cause
  bayplan explain train-c --cluster cluster.yaml --policies gpu.bay
  bayplan explain shop/train-7 --cluster cluster.yaml --node gpu-b-03      one node, the rule with its values
  bayplan explain train-c --cluster cluster.yaml --fix 1                   the patch for the first suggestion
  bayplan explain train-c --cluster cluster.yaml --fix 2 --until 2027-01-31 --because 'OPS-12: moves in January'
  bayplan explain train-c --cluster cluster.yaml --all                     nothing folded, event and funnel
  bayplan explain train-c --cluster cluster.yaml -o html > plan.html       a page to look at
  bayplan explain train-7 -n shop --context prod                           of a live cluster, which is only read
  bayplan explain train-7 -n shop --policies gpu.bay                       as if this policy had been applied")]
pub(super) struct Args {
    /// The pod: `NAME` or `NAMESPACE/NAME`. Without it: all pods that wait.
    pod: Option<String>,
    /// The pod's namespace; without a pod: only pods of this namespace.
    #[arg(long, short)]
    namespace: Option<String>,
    #[command(flatten)]
    from: setup::From,
    #[command(flatten)]
    decides_as: setup::DecidesAs,
    #[command(flatten)]
    how: How,
    /// One node, with the values that every part of a rule has there.
    #[arg(long, value_name = "NAME", requires = "pod", conflicts_with = "fix")]
    node: Option<String>,
    /// The patch that makes suggestion N: of the pod, a node, or an exception in a policy.
    #[arg(long, value_name = "N", requires = "pod")]
    fix: Option<usize>,
    /// The last day of the exception that `--fix` writes, such as `2027-01-31`; by default 30 days from now.
    #[arg(long, value_name = "DATE", requires = "fix")]
    until: Option<String>,
    /// Why there is the exception that `--fix` writes.
    #[arg(long, value_name = "TEXT", requires = "fix")]
    because: Option<String>,
    /// The pods of cause N of the list.
    #[arg(long, value_name = "N", conflicts_with = "pod")]
    cause: Option<usize>,
    /// Everything: no table is folded; with `--node` also the rules that let the pod pass.
    #[arg(long)]
    all: bool,
    /// How to print: `text` or `json`; `html` (a page to look at), `svg` (a picture of the nodes) or `bay-plan` (what the
    /// page is made of, as JSON).
    #[arg(long, short, value_parser = ["text", "json", "html", "svg", "bay-plan"], default_value = "text", hide_possible_values = true)]
    output: String,
    /// Leave names, labels, reasons and policies out of the page, so that it can be sent on.
    #[arg(long)]
    anonymize: bool,
}

impl Args {
    fn is_json(&self) -> bool {
        self.output == "json"
    }

    /// The flags that choose the input, for the next command.
    fn flags(&self) -> String {
        format!("{}{}", self.from.flags(), self.how.flags())
    }

    /// The last lines: commands with what each prints. The first one is the most useful.
    fn next(&self, commands: &[(String, &str)], out: &Output) -> String {
        let head = if self.from.reads_stdin() { "Next, with the same stdin:" } else { "Next:" };
        let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for (at, (command, prints)) in commands.iter().enumerate() {
            let lead = if at == 0 {
                format!("\n{} ", out.paint(Style::Dim, head))
            } else {
                " ".repeat(head.len() + 1)
            };
            let gap = if prints.is_empty() { 0 } else { width - command.chars().count() + 3 };
            let (command, prints) = (out.paint(Style::Strong, command), out.paint(Style::Dim, prints));
            text.push_str(&format!("{lead}{command}{}{prints}\n", " ".repeat(gap)));
        }
        text
    }
}

impl Args {
    /// These, with the version among what the cluster and its rules come from.
    pub(super) fn with_version(mut self) -> Self {
        self.from.decides_as = self.decides_as;
        self
    }
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    page::check(&args.output, args.anonymize, out)?;
    let narrow =
        [("--node", args.node.is_some()), ("--fix", args.fix.is_some()), ("--cause", args.cause.is_some())];
    if let (Some(_), Some((flag, _))) =
        (page::Form::of(&args.output), narrow.iter().find(|(_, given)| *given))
    {
        anyhow::bail!("`-o {}` shows every node, patch and cause; leave out `{flag}`", args.output);
    }
    let progress = Progress::start(out, args.how.timeout);
    let Some(setup) = setup::read(&args.from, out)? else { return Ok(ExitStatus::Failure) };
    match &args.pod {
        Some(name) => {
            pod::run(args, name, &setup, progress, out).map_err(|error| match Path::new(name).exists() {
                true => error
                    .context(format!("`{name}` is a file: a flag takes one value, and is repeated for more")),
                false => error,
            })
        }
        None => overview::run(args, &setup, progress, out),
    }
}
