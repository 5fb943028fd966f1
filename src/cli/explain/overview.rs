//! `bayplan explain` without a pod: everything that waits, by cause, with what would help each
//! group.

use super::gate::{HeldBecause, held_because, outlook};
use super::memory;
use super::page;
use super::pod::{plain, state_word};
use super::representatives::{CauseText, Representatives};
use super::{Args, ExitStatus, Output, Setup, Style};
use crate::cli::dry_run::{schedule, standing};
use crate::cli::output::{Column, Table, count};
use crate::cli::progress::Progress;
use crate::diag::suggest::nearest;
use crate::dry_run::{Options, PodReport, Report, Standing, World};
use crate::explain::overview::trial::{GroupHelp, Trial};
use crate::explain::overview::{Cause, Template, by_cause, template_key};
use crate::explain::{explain, unplaced};
use crate::framework::{Cycle, Exempted};
use crate::model::{PodInfo, Snapshot, Symbol, Time};
use crate::scheduler::RecordLevel;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// How many causes are shown before the rest is folded.
const LINES: usize = 7;

/// How many templates of one cause are shown.
const TEMPLATES: usize = 20;

/// Runs the command without a pod.
pub(super) fn run(
    args: &Args,
    setup: &Setup,
    progress: Progress,
    out: &mut Output,
) -> anyhow::Result<ExitStatus> {
    // A page shows scores, too.
    let records = match page::Form::of(&args.output) {
        Some(_) => RecordLevel::Ranked,
        None => RecordLevel::Outcome,
    };
    let made = Options { records, ..args.how.options(setup) };
    let report = schedule(setup, &made, &progress);
    let options = Options { records: RecordLevel::Outcome, ..made.clone() };
    let found = Waiting::of(args.namespace.as_deref(), setup, (&options, &report), &progress);
    let chosen = match args.cause {
        None => None,
        Some(number) => match number.checked_sub(1).and_then(|at| found.causes.get(at)) {
            Some(cause) => Some((number, cause)),
            None => anyhow::bail!("cause {number} does not exist; the list has {}", found.causes.len()),
        },
    };
    if let Some(form) = page::Form::of(&args.output) {
        let shown = found.shown(args.all);
        let helps = found.helps(setup, &options, &progress, &found.causes[..shown]);
        let text = found.text(args, &helps, shown, &plain());
        let all = page::Asked::of("explain", args.flags(), &args.how, text);
        let asked = page::Asked { namespace: args.namespace.as_deref(), ..all };
        page::write_report(&asked, (setup, &made, &report), (form, args.anonymize), progress, out)?;
        return Ok(ExitStatus::Success);
    }
    if args.is_json() {
        let helps = found.helps(setup, &options, &progress, &found.causes);
        drop(progress);
        let mut json = found.json(&helps, setup.version());
        memory::add_to(&mut json, setup);
        out.json(&json)?;
        return Ok(ExitStatus::Success);
    }
    let text = match chosen {
        Some((number, cause)) => {
            let one = if out.quiet { &[] } else { std::slice::from_ref(cause) };
            let helps = found.helps(setup, &options, &progress, one);
            found.one_cause(args, (number, cause), helps.first().and_then(Option::as_ref), out)
        }
        None => {
            let shown = found.shown(args.all);
            let first = if out.quiet { &[] } else { &found.causes[..shown] };
            let helps = found.helps(setup, &options, &progress, first);
            found.text(args, &helps, shown, out)
        }
    };
    drop(progress);
    let memory = memory::text(setup, args.all, out);
    write!(out.stdout(), "{text}{memory}")?;
    Ok(ExitStatus::Success)
}

/// Pods that one gate holds.
struct Held {
    pods: usize,
    /// Why, and when the gate opens for the first of them.
    because: Option<HeldBecause>,
    /// What the first of them comes to in the queue.
    then: String,
}

/// Everything that waits.
pub(crate) struct Waiting {
    pub(crate) causes: Vec<Cause>,
    /// Pods that are kept out of the queue, by what keeps them out and why.
    gated: BTreeMap<(String, String), Held>,
    /// Pods of other schedulers, by the scheduler, with the nearest profile.
    foreign: BTreeMap<String, (usize, Option<String>)>,
    /// All pods with their state, for JSON.
    states: Vec<(String, &'static str)>,
    pub(crate) now: Time,
    /// The cluster in which all pods but those that wait have their nodes.
    after: World,
}

impl Waiting {
    /// What waits at the end of a dry run with these options; with a namespace only the pods of it.
    pub(crate) fn of(
        namespace: Option<&str>,
        setup: &Setup,
        (options, report): (&Options, &Report),
        progress: &Progress,
    ) -> Self {
        let now = Time(options.start.0 + report.elapsed.0);
        let in_vain = report.pods.iter().filter(|pod| standing(pod) != pod.standing);
        let settled = in_vain.fold(report.scheduler.fork(), |world, pod| unplaced(&world, &pod.pod));
        let mut found = Self {
            causes: Vec::new(),
            gated: BTreeMap::new(),
            foreign: BTreeMap::new(),
            states: Vec::new(),
            now,
            after: report.world(&setup.world),
        };
        let names = || setup.profiles.frameworks.iter().map(|framework| framework.scheduler_name.as_str());
        let mut groups: BTreeMap<(String, String), Vec<&PodReport>> = BTreeMap::new();
        let of_namespace = |pod: &&PodReport| namespace.is_none_or(|name| *pod.pod.namespace == *name);
        for pod in report.pods.iter().filter(of_namespace) {
            let standing = standing(pod);
            match &standing {
                Standing::Bound(_) | Standing::Terminating => continue,
                Standing::Gated { by } => {
                    found.hold(setup, &settled, &pod.pod, by);
                }
                Standing::NotOurs => {
                    let scheduler = pod.pod.scheduler_name.to_string();
                    let near = nearest(&scheduler, names()).map(str::to_owned);
                    found.foreign.entry(scheduler).or_insert((0, near)).0 += 1;
                }
                Standing::Waiting { .. } | Standing::Failing { .. } | Standing::AtPermit { .. } => {
                    let template = template_key(&pod.pod);
                    groups.entry((template, late_cause(&standing))).or_default().push(pod);
                }
            }
            found.states.push((pod.pod.full_name(), state_word(&standing)));
        }
        let mut representatives = Representatives::default();
        let groups: Vec<(Vec<Arc<PodInfo>>, CauseText)> = groups
            .into_iter()
            .map(|((_, late), reports)| {
                let cause =
                    if late.is_empty() { representatives.of(&reports) } else { CauseText::Known(late) };
                let mut pods: Vec<Arc<PodInfo>> = reports.iter().map(|report| report.pod.clone()).collect();
                pods.sort_by_key(|pod| pod.created.map_or(i64::MAX, |time| time.0));
                (pods, cause)
            })
            .collect();
        let (causes, examples) = representatives.explained(setup, options, (&settled, now), progress);
        let templates = groups.into_iter().map(|(pods, cause)| {
            let cause = match cause {
                CauseText::Known(text) => text,
                CauseText::Of(kind) => causes.get(kind).cloned().unwrap_or_default(),
            };
            Template { pods, cause }
        });
        found.causes = by_cause(templates.collect(), examples);
        found
    }

    /// Adds a pod that a gate holds.
    fn hold(&mut self, setup: &Setup, settled: &Snapshot, pod: &Arc<PodInfo>, by: &Symbol) {
        let framework = setup.profiles.get(&pod.scheduler_name);
        let reason = framework.and_then(|framework| {
            let cycle = Cycle::new(pod.clone(), framework.clone(), self.now);
            framework.run_pre_enqueue(cycle.handle(settled)).err().map(|status| status.message())
        });
        let key = (gate_name(pod, by), reason.unwrap_or_default());
        let now = self.now;
        let held = self.gated.entry(key).or_insert_with(|| {
            let because = framework.and_then(|framework| held_because(framework, settled, pod, now));
            let at = because.as_ref().and_then(|because| because.at).unwrap_or(now);
            let then = framework.map(|framework| outlook(&explain(framework, settled, pod, at)));
            Held { pods: 0, because, then: then.unwrap_or_default() }
        });
        held.pods += 1;
    }

    /// How many causes are shown.
    fn shown(&self, all: bool) -> usize {
        if all || self.causes.len() <= LINES { self.causes.len() } else { LINES - 1 }
    }

    /// What would help these causes.
    pub(crate) fn helps(
        &self,
        setup: &Setup,
        options: &Options,
        progress: &Progress,
        causes: &[Cause],
    ) -> Vec<Option<GroupHelp>> {
        let excepting = |pod: &PodInfo, of: &[Exempted]| setup.excepting(pod, of, self.now);
        let trial = Trial {
            world: &self.after,
            left: Trial::attempts(&self.after, setup.world.pending.len()).into(),
            profiles: &setup.profiles,
            options,
            excepting: &excepting,
        };
        progress.stage("trying what would help each cause", causes.len());
        let help = |cause| {
            progress.step();
            trial.help(cause, self.now)
        };
        causes.iter().map(help).collect()
    }

    fn pods(&self) -> usize {
        self.causes.iter().map(|cause| cause.pods().count()).sum()
    }

    pub(super) fn text(
        &self,
        args: &Args,
        helps: &[Option<GroupHelp>],
        shown: usize,
        out: &Output,
    ) -> String {
        let mut text = self.verdict(shown, out);
        if out.quiet {
            return text;
        }
        if !self.causes.is_empty() {
            let _ = write!(text, "\n{}", self.table(helps, shown, out));
        }
        text.push_str(&self.held(out));
        text.push_str(&self.not_ours(out));
        let command = format!("{} explain{}", out.program, args.flags());
        let namespace = namespace(args);
        if !self.causes.is_empty() {
            let next = [
                (format!("{command}{namespace} --cause 1"), "its pods"),
                (
                    format!("{} explain POD{}", out.program, args.flags()),
                    "one of them, and what would help it",
                ),
            ];
            text.push_str(&args.next(&next, out));
        }
        text
    }

    /// `41 pods wait; 3 causes account for 37 of them.`
    pub(crate) fn verdict(&self, shown: usize, out: &Output) -> String {
        let wait = |pods: usize| match pods {
            1 => format!("1 pod {}", out.paint(Style::Warn, "waits")),
            many => format!("{} pods {}", count(many), out.paint(Style::Warn, "wait")),
        };
        let pods = self.pods();
        let covered: usize = self.causes.iter().take(shown).map(|cause| cause.pods().count()).sum();
        match (pods, self.causes.len()) {
            (0, _) => "No pod waits for a node.\n".to_owned(),
            (_, 1) => format!("{}, for one cause.\n", wait(pods)),
            (_, causes) if covered == pods => format!("{}, for {causes} causes.\n", wait(pods)),
            _ => format!("{}; {shown} causes account for {} of them.\n", wait(pods), count(covered)),
        }
    }

    fn table(&self, helps: &[Option<GroupHelp>], shown: usize, out: &Output) -> String {
        let mut table = Table::new(&[
            Column::numbers("PODS"),
            Column::words("OLDEST"),
            Column::words("CAUSE"),
            Column::words("WHAT WOULD HELP THEM ALL"),
        ]);
        table.indent = 2;
        for (at, cause) in self.causes.iter().enumerate().take(shown) {
            let pods = cause.pods().count();
            let help = in_words(helps.get(at).and_then(Option::as_ref), pods);
            table.row([
                (Style::Plain, count(pods)),
                (Style::Plain, self.age(cause)),
                (Style::Name, cause.text.clone()),
                (Style::Plain, help),
            ]);
        }
        let rest = self.causes.get(shown..).unwrap_or_default();
        if !rest.is_empty() {
            let pods: usize = rest.iter().map(|cause| cause.pods().count()).sum();
            let others = format!("{} other causes (--all)", rest.len());
            table.row([(Style::Plain, count(pods)), (Style::Plain, String::new()), (Style::Dim, others)]);
        }
        if self.causes.len() > 1 {
            table.row([(Style::Strong, count(self.pods()))]);
        }
        table.draw(out)
    }

    /// How long the oldest pod of a cause has waited.
    pub(crate) fn age(&self, cause: &Cause) -> String {
        let age = |created: Time| super::text::age(self.now.0.saturating_sub(created.0));
        cause.oldest().map_or_else(|| "-".to_owned(), age)
    }

    /// The pods that gates hold.
    fn held(&self, out: &Output) -> String {
        if self.gated.is_empty() {
            return String::new();
        }
        let columns = [
            Column::numbers("PODS"),
            Column::words("KEPT OUT OF THE QUEUE BY"),
            Column::words("OPENS"),
            Column::words("IN THE QUEUE"),
        ];
        let mut table = Table::new(&columns);
        table.indent = 2;
        for ((by, reason), held) in &self.gated {
            let opens = held.because.as_ref().and_then(|because| because.opens.clone());
            // The names of scheduling gates say it.
            let reason = held.because.as_ref().map_or(reason, |because| &because.reason);
            let said = reason.strip_prefix("scheduling gate ").is_some_and(|gates| gates == by);
            let by = if said { reason.clone() } else { format!("{by}: {reason}") };
            table.row([
                (Style::Plain, count(held.pods)),
                (Style::Name, by),
                (Style::Plain, opens.unwrap_or_else(|| "-".to_owned())),
                (
                    Style::Plain,
                    if held.pods == 1 { held.then.clone() } else { format!("the first: {}", held.then) },
                ),
            ]);
        }
        format!("\n{}", table.draw(out))
    }

    /// Pods that no change of ours would place.
    fn not_ours(&self, out: &Output) -> String {
        let pods = |count: usize| if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") };
        let foreign = self.foreign.iter().map(|(scheduler, (number, near))| {
            let names = if *number == 1 { "names" } else { "name" };
            let hint = near.as_ref().map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            format!("{} {names} a scheduler that no profile serves, `{scheduler}`{hint}", pods(*number))
        });
        let all: Vec<String> = foreign.collect();
        if all.is_empty() {
            return String::new();
        }
        let line = format!("Not ours to place: {}.", all.join("; "));
        format!("\n{}\n", out.part(&line))
    }

    /// `--cause N`: the pods, those of one template in one row.
    fn one_cause(
        &self,
        args: &Args,
        (number, cause): (usize, &Cause),
        help: Option<&GroupHelp>,
        out: &Output,
    ) -> String {
        let pods = cause.pods().count();
        let wait = if pods == 1 { "pod waits" } else { "pods wait" };
        let line = format!("{} {wait} for cause {number}: {}", count(pods), cause.text);
        let mut text = format!("{}\n", out.part(&line));
        if out.quiet {
            return text;
        }
        let mut table = Table::new(&[Column::numbers("PODS"), Column::words("OLDEST"), Column::words("POD")]);
        table.indent = 2;
        let mut templates: Vec<&Template> = cause.templates.iter().collect();
        let oldest = |template: &Template| template.pods.iter().filter_map(|pod| pod.created).min();
        templates.sort_by_key(|template| oldest(template).map_or(i64::MAX, |time| time.0));
        let shown = if args.all { templates.len() } else { templates.len().min(TEMPLATES) };
        for template in &templates[..shown] {
            let age = oldest(template)
                .map_or_else(|| "-".to_owned(), |time| super::text::age(self.now.0.saturating_sub(time.0)));
            table.row([
                (Style::Plain, count(template.pods.len())),
                (Style::Plain, age),
                (Style::Plain, template.name()),
            ]);
        }
        let rest: usize = templates[shown..].iter().map(|template| template.pods.len()).sum();
        if rest > 0 {
            let others = format!("{} other templates (--all)", templates.len() - shown);
            table.row([(Style::Plain, count(rest)), (Style::Plain, String::new()), (Style::Dim, others)]);
        }
        if templates.len() > 1 {
            table.row([(Style::Strong, count(pods))]);
        }
        let _ = write!(text, "\n{}", table.draw(out));
        if help.is_some() {
            let line = format!("What would help them all: {}.", in_words(help, pods));
            let _ = write!(text, "\n{}\n", out.part(&line));
        }
        if let Some(pod) = templates.first().and_then(|template| template.pods.first()) {
            let command = format!("{} explain {}{}", out.program, pod.full_name(), args.flags());
            text.push_str(&args.next(&[(command, "")], out));
        }
        text
    }

    /// The pods that gates hold, for programs.
    pub(crate) fn gated_json(&self) -> Value {
        let gated = self.gated.iter().map(|((by, reason), held)| {
            let opens = held.because.as_ref().and_then(|because| because.at);
            let opens = opens.and_then(|at| jiff::Timestamp::from_microsecond(at.0).ok());
            json!({
                "by": by, "pods": held.pods, "reason": reason, "opens": opens.map(|at| at.to_string()),
                "then": held.then,
            })
        });
        gated.collect()
    }

    /// Pods of other schedulers, for programs.
    pub(crate) fn foreign_json(&self) -> Value {
        let foreign = self.foreign.iter();
        foreign
            .map(|(scheduler, (pods, near))| json!({"schedulerName": scheduler, "pods": pods, "nearest": near}))
            .collect()
    }

    fn json(&self, helps: &[Option<GroupHelp>], version: &str) -> Value {
        let causes: Vec<Value> = self
            .causes
            .iter()
            .zip(helps)
            .map(|(cause, help)| {
                let templates: Vec<Value> = cause
                    .templates
                    .iter()
                    .map(|template| {
                        let pods: Vec<String> = template.pods.iter().map(|pod| pod.full_name()).collect();
                        json!({"name": template.name(), "pods": pods})
                    })
                    .collect();
                json!({
                    "cause": cause.text, "pods": cause.pods().count(), "templates": templates,
                    "oldest": cause.oldest().and_then(|time| jiff::Timestamp::from_microsecond(time.0).ok())
                        .map(|time| time.to_string()),
                    "wouldHelp": help.as_ref().map(|help| json!({"what": help.what, "places": help.places})),
                })
            })
            .collect();
        let states: Vec<Value> =
            self.states.iter().map(|(pod, state)| json!({"pod": pod, "state": state})).collect();
        json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Waiting", "kubernetes": version,
            "waiting": self.pods(), "causes": causes, "gated": self.gated_json(), "foreign": self.foreign_json(), "pods": states,
        })
    }
}

/// What would help so many pods, and how many of them it places.
pub(crate) fn in_words(help: Option<&GroupHelp>, pods: usize) -> String {
    match help {
        None => "-".to_owned(),
        Some(help) if help.places >= pods => help.what.clone(),
        Some(help) => format!("{}: places {} of {}", help.what, count(help.places), count(pods)),
    }
}

fn namespace(args: &Args) -> String {
    let quoted = |name: &String| format!(" -n {}", super::quoted(name));
    args.namespace.as_ref().map(quoted).unwrap_or_default()
}

/// What keeps a pod out of the queue: its scheduling gates, or the policy.
fn gate_name(pod: &PodInfo, by: &Symbol) -> String {
    let gates: Vec<&str> = pod.scheduling_gates.iter().map(|gate| gate.as_str()).collect();
    if gates.is_empty() { by.to_string() } else { gates.join(", ") }
}

/// The cause of a pod that is not refused by nodes; empty for others.
fn late_cause(standing: &Standing) -> String {
    match standing {
        Standing::Failing { message } => format!("error: {message}"),
        Standing::AtPermit { plugins, .. } => {
            let plugins: Vec<&str> = plugins.iter().map(|plugin| plugin.as_str()).collect();
            format!("has a node and waits there for {}", plugins.join(", "))
        }
        _ => String::new(),
    }
}
