//! `-o html`, `-o svg` and `-o bay-plan` of `dry-run` and `explain`: the bay plan of a cluster, with what these commands say
//! about it. `crate::page` has the document, the page and the picture.
//!
//! - `assemble.rs`: the document
//! - `explained.rs`: one pod in it

mod assemble;
mod explained;

use super::dry_run::{How, schedule};
use super::explain::node::Subject;
use super::output::Output;
use super::progress::Progress;
use super::setup::Setup;
use crate::dry_run::{Options, Report};
use crate::explain::Suggestions;
use crate::page::{BayPlan, anonymized, html, svg};
use crate::plugins::IN_TREE;
use crate::scheduler::RecordLevel;
pub(super) use assemble::Before;
#[cfg(feature = "cluster")]
pub(super) use assemble::places;

/// A form of the bay plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// A page that opens from a file.
    Html,
    /// A picture.
    Svg,
    /// The document as JSON.
    Json,
}

impl Form {
    /// The form that a value of `--output` means; `None` for other outputs.
    pub(super) fn of(output: &str) -> Option<Self> {
        match output {
            "html" => Some(Self::Html),
            "svg" => Some(Self::Svg),
            "bay-plan" => Some(Self::Json),
            _ => None,
        }
    }
}

/// What is shown.
pub(super) struct Asked<'a> {
    pub command: &'static str,
    /// The flags with which `explain` decides the same; empty where there are none, and the page then has no commands.
    pub flags: String,
    pub how: &'a How,
    /// Only pods of this namespace count as waiting.
    pub namespace: Option<&'a str>,
    /// The pod that was named.
    pub pod: Option<Pod<'a>>,
    /// What the command prints as text.
    pub text: String,
    /// Where pods are without a change that is tried; `None`: where they are in the cluster.
    pub before: Option<&'a Before>,
    /// What a change does, in a sentence: it comes first, and the page opens on what moves.
    pub effect: Option<String>,
}

impl<'a> Asked<'a> {
    /// Of a command about all pods of the cluster as it is.
    pub(super) fn of(command: &'static str, flags: String, how: &'a How, text: String) -> Self {
        Self { command, flags, how, namespace: None, pod: None, text, before: None, effect: None }
    }

    /// Whether a change is tried in a page that follows a cluster. It is answered as fast as it is decided: what would help
    /// is a search.
    pub(super) fn is_tried(&self) -> bool {
        self.before.is_some() && self.effect.is_none()
    }
}

/// The pod that was named.
pub(super) struct Pod<'a> {
    pub subject: &'a Subject<'a>,
    pub helps: &'a Suggestions,
    pub gated: bool,
    /// The first line of the text.
    pub verdict: String,
}

/// Refuses what makes no sense, before any work.
pub(super) fn check(output: &str, anonymize: bool, out: &Output) -> anyhow::Result<()> {
    let form = Form::of(output);
    if anonymize && form.is_none() {
        anyhow::bail!("`--anonymize` is for `-o html`, `-o svg` and `-o bay-plan`");
    }
    // A terminal has columns.
    if form.is_some_and(|form| form != Form::Json) && out.width.is_some() {
        anyhow::bail!("`-o {output}` is for a browser; add `> plan.{output}` to write a file");
    }
    Ok(())
}

/// Places the pending pods and writes the bay plan.
pub(super) fn write(
    asked: &Asked,
    setup: &Setup,
    (form, anonymize): (Form, bool),
    out: &mut Output,
) -> anyhow::Result<()> {
    let progress = Progress::start(out, asked.how.timeout);
    let options = Options { records: RecordLevel::Ranked, ..asked.how.options(setup) };
    let report = schedule(setup, &options, &progress);
    write_report(asked, (setup, &options, &report), (form, anonymize), progress, out)
}

/// The bay plan at the end of a dry run.
pub(super) fn plan(
    asked: &Asked,
    setup: &Setup,
    (options, report): (&Options, &Report),
    progress: &Progress,
) -> BayPlan {
    assemble::plan(asked, setup, (options, report), progress)
}

/// Writes the bay plan at the end of a dry run.
pub(super) fn write_report(
    asked: &Asked,
    (setup, options, report): (&Setup, &Options, &Report),
    (form, anonymize): (Form, bool),
    progress: Progress,
    out: &mut Output,
) -> anyhow::Result<()> {
    let mut made = plan(asked, setup, (options, report), &progress);
    let mut text = asked.text.as_str();
    if anonymize {
        let plugins: Vec<&str> = IN_TREE.iter().map(|plugin| plugin.name).collect();
        made = anonymized(&made, &plugins);
        text = "";
    }
    drop(progress);
    match form {
        Form::Html => out.trusted(html(&made, text)?.as_bytes())?,
        Form::Svg => out.trusted(svg(&made).as_bytes())?,
        Form::Json => out.json(&serde_json::to_value(&made)?)?,
    }
    Ok(())
}
