//! `bayplan diff OLD NEW`: what a change of policies means, rule by rule, and what it does to the pods of a cluster.
//! `crate::compare` proves, the dry run decides, here both are put together.

mod effect;
mod json;
mod markdown;
mod side;
mod tests_file;
mod text;

use super::Args;
use crate::cli::at_once::at_once;
use crate::cli::dry_run::{How, schedule};
use crate::cli::input::Policies;
use crate::cli::page;
use crate::cli::plan;
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::cli::{ExitStatus, Output};
use crate::compare::{Cluster, RuleDiff, Verdict, compare, rules};
use crate::diag::{Source, SourceMap, Span};
use crate::dry_run::Options;
use crate::lang::policy_set::{PolicySet, place};
use crate::lang::typed::{Mode, Policy};
use crate::model::PodInfo;
use crate::scheduler::RecordLevel;
use anyhow::bail;
use effect::Effect;
use side::Side;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What a change means and does.
struct Change {
    /// Where the policies are, before and after.
    paths: [String; 2],
    old: Policies,
    new: Policies,
    /// The rules of all policies, in the order of their names.
    rules: Vec<RuleDiff>,
    /// What wakes the pods that each of these refuses.
    wakes: Vec<Option<Wakes>>,
    /// What it does to a cluster.
    effect: Option<Effect>,
    /// The flags that name the cluster, for the next command.
    flags: String,
}

/// The events that wake the pods which a rule refuses, where others do after the change.
struct Wakes {
    before: Vec<String>,
    after: Vec<String>,
}

impl Wakes {
    fn of(rule: &RuleDiff, [old, new]: [&Policies; 2]) -> Option<Self> {
        let decides = |mode: Option<Mode>| mode == Some(Mode::Enforce);
        if !decides(rule.modes.0) || !decides(rule.modes.1) {
            return None;
        }
        let of = |policies: &Policies, before: bool| {
            let compiled = policies.set.get(&rule.policy)?;
            plan::wakes_on(compiled, rules(&compiled.policy, rule, before))
        };
        let (before, after) = (of(old, true)?, of(new, false)?);
        let sorted = |words: &[String]| words.iter().cloned().collect::<BTreeSet<_>>();
        (sorted(&before) != sorted(&after)).then_some(Self { before, after })
    }
}

/// How a rule reads beside what it means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Its text is as it was.
    Untouched,
    /// It means the same, and its text is another one.
    Rewritten,
    /// It means, or may mean, something else.
    Changed,
}

impl Change {
    /// How a rule reads.
    fn reading(&self, rule: &RuleDiff) -> Reading {
        if !matches!(rule.verdict, Verdict::Same) {
            return Reading::Changed;
        }
        let texts = [text_of(&self.old.sources, rule.old), text_of(&self.new.sources, rule.new)];
        let [before, after] = texts;
        let is_untouched = before == after && rule.renamed_from.is_none() && self.wakes(rule).is_none();
        if is_untouched { Reading::Untouched } else { Reading::Rewritten }
    }

    /// What wakes the pods that a rule refuses, where that changes.
    fn wakes(&self, rule: &RuleDiff) -> Option<&Wakes> {
        let at = self.rules.iter().position(|of| std::ptr::eq(of, rule))?;
        self.wakes.get(at)?.as_ref()
    }

    /// The rules that read or mean something else.
    fn shown(&self) -> impl Iterator<Item = &RuleDiff> {
        self.rules.iter().filter(|rule| self.reading(rule) != Reading::Untouched)
    }

    fn count(&self, of: Reading) -> usize {
        self.rules.iter().filter(|rule| self.reading(rule) == of).count()
    }

    /// Where a rule is written: now, or before if it is gone.
    fn place(&self, rule: &RuleDiff) -> String {
        match (rule.new, rule.old) {
            (Some(span), _) => place(&self.new.sources, span),
            (None, Some(span)) => place(&self.old.sources, span),
            (None, None) => String::new(),
        }
    }

    /// What the proof of a rule took as one value, as it is written.
    fn written(&self, spans: &[(usize, Span)]) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for (side, span) in spans {
            let sources = if *side == 0 { &self.old.sources } else { &self.new.sources };
            let text = text_of(sources, Some(*span)).unwrap_or_default();
            if !text.is_empty() && !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }
}

/// The text of a rule, without how it is broken into lines.
fn text_of(sources: &SourceMap, span: Option<Span>) -> Option<String> {
    let span = span?;
    let source: &Source = sources.get(span.source)?;
    let text = source.text().get(span.start as usize..span.end as usize)?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let [old, new] = args.paths.as_slice() else {
        bail!("give policies before and after: `bayplan diff OLD NEW`")
    };
    if !args.from.policies.is_empty() {
        bail!(
            "`--policies` has no meaning here: the policies are those of {} and {}",
            old.display(),
            new.display()
        );
    }
    if args.write_tests.as_ref().is_some_and(|file| file.exists()) {
        bail!("the file of `--write-tests` is there already: name another one");
    }
    page::check(&args.output, false, out)?;
    let form = page::Form::of(&args.output);
    let progress = Progress::start(out, args.timeout);
    let with_cluster = !args.from.cluster.is_empty() || args.is_live();
    if form.is_some() && !with_cluster {
        bail!(
            "`-o {}` shows the pods of a cluster: give one with `--cluster FILE`, or `--live`",
            args.output
        );
    }
    let mut after = None;
    let change = match with_cluster {
        true => with_effect(args, (old, new), &progress, out)?.map(|(change, setup)| {
            after = Some(setup);
            change
        }),
        false => {
            let sides = [&Side::of(old)?, &Side::of(new)?];
            let Some((before, after)) = Side::read_both(sides, args, out)? else {
                return Ok(ExitStatus::Failure);
            };
            let rules = meanings(&before, &after, None)?;
            Some(change(args, (before, after), rules, None))
        }
    };
    let Some(change) = change else { return Ok(ExitStatus::Failure) };
    if let (Some(form), Some(setup)) = (form, &after) {
        write_page(&change, setup, form, progress, out)?;
    } else {
        drop(progress);
        match args.output.as_str() {
            "json" => out.json(&json::report(&change))?,
            "markdown" => markdown::write(&change, args.all, out)?,
            _ => text::write(&change, args.all, out)?,
        }
    }
    if let Some(file) = &args.write_tests {
        let written = tests_file::write(&change, &args.from, file, out)?;
        if !out.quiet {
            let left_out = match written.left_out {
                0 => String::new(),
                count => format!(
                    "; of {count} witnesses no test can be made: they are pods of the cluster, or another plugin decides"
                ),
            };
            let to = if written.cases == 0 { String::new() } else { format!(" in {}", file.display()) };
            writeln!(out.stderr(), "{}{to}{left_out}", text::counted(written.cases, "case"))?;
        }
    }
    let differs = match &change.effect {
        Some(effect) => effect.differs(),
        None => change.count(Reading::Changed) > 0,
    };
    Ok(if args.exit_code && differs { ExitStatus::Findings } else { ExitStatus::Success })
}

fn change(
    args: &Args,
    (old, new): (Policies, Policies),
    rules: Vec<RuleDiff>,
    effect: Option<Effect>,
) -> Change {
    let path = |at: usize| args.paths.get(at).map(|path| path.display().to_string()).unwrap_or_default();
    let wakes = rules.iter().map(|rule| Wakes::of(rule, [&old, &new])).collect();
    Change { paths: [path(0), path(1)], old, new, rules, wakes, effect, flags: args.from.flags() }
}

/// Reads the cluster once, compares, and decides its pods by both sides.
fn with_effect(
    args: &Args,
    (old, new): (&PathBuf, &PathBuf),
    progress: &Progress,
    out: &mut Output,
) -> anyhow::Result<Option<(Change, Setup)>> {
    let (old, new) = (Side::of(old)?, Side::of(new)?);
    let Some(before) = old.with_cluster(args, out)? else { return Ok(None) };
    let after = match new.read(args, out)? {
        None => return Ok(None),
        // What the policies look up must be among the objects.
        Some(policies) if policies.kinds().is_empty() => before.under(policies, out)?,
        Some(_) => new.with_cluster(args, out)?,
    };
    let Some(after) = after else { return Ok(None) };
    let snapshot = effect::snapshot(&before);
    let pods: Vec<Arc<PodInfo>> = snapshot.pods().map(|entry| entry.pod.clone()).collect();
    let cluster = Cluster { snapshot: &snapshot, pods: &pods, now: before.start() };
    let rules = meanings(&before.policies, &after.policies, Some(cluster))?;
    let effect = Effect::of((&before, &after), &rules, snapshot, progress);
    // The page needs the cluster under the new policies, and the report their texts.
    let policies = Policies {
        sources: after.policies.sources.clone(),
        set: PolicySet::new(after.policies.set.iter().cloned()),
        ..Policies::default()
    };
    Ok(Some((change(args, (before.policies, policies), rules, Some(effect)), after)))
}

/// Writes the page of the cluster under the new policies, in which pods move from where the old ones put them.
fn write_page(
    change: &Change,
    setup: &Setup,
    form: page::Form,
    progress: Progress,
    out: &mut Output,
) -> anyhow::Result<()> {
    let how = How { order: "queue".to_owned(), tie_break: "name".to_owned(), seed: 0, timeout: None };
    let options = Options { records: RecordLevel::Ranked, ..how.options(setup) };
    let report = schedule(setup, &options, &progress);
    let before = change.effect.as_ref().map(|effect| effect.places_before(setup)).unwrap_or_default();
    // `explain` would also read the policies that the cluster has: no flags decide as NEW alone.
    let all = page::Asked::of("diff", String::new(), &how, text::of(change)?);
    let effect = change.effect.as_ref().map(|effect| format!("{}.", text::verdict(effect)));
    let asked = page::Asked { before: Some(&before), effect, ..all };
    page::write_report(&asked, (setup, &options, &report), (form, false), progress, out)
}

/// Compares the policies of two sides by name.
fn meanings(old: &Policies, new: &Policies, cluster: Option<Cluster<'_>>) -> std::io::Result<Vec<RuleDiff>> {
    let names: BTreeSet<&str> = old.set.iter().chain(new.set.iter()).map(|policy| policy.name()).collect();
    fn of<'p>(set: &'p Policies, name: &str) -> Option<&'p Policy> {
        set.set.get(name).map(|compiled| &*compiled.policy)
    }
    let names: Vec<&str> = names.into_iter().collect();
    let rules = at_once(&names, usize::MAX, |name| compare(of(old, name), of(new, name), cluster))?;
    Ok(rules.into_iter().flatten().collect())
}
