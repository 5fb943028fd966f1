//! `bayplan explain POD`: why a pod waits, or why it is where it is. The pending pods of the cluster are placed first, as
//! `dry-run` does with the same flags, so that both speak of the same cluster; then every rule is asked about every
//! node. How it is counted and what is tried is `crate::explain`'s; here are arguments and the texts.

pub mod node;
pub mod placed;
pub mod text;
pub mod tree;

use super::dry_run::{How, standing, why};
use super::output::{Output, Style, count};
use super::setup::{self, Setup, quoted};
use super::{ExitStatus, dry_run};
use crate::dry_run::{Options, PodReport, Report, Standing, run as schedule};
use crate::explain::changes::{Found as Helping, Question, Rules, that_help};
use crate::explain::{Explanation, explain, unplaced};
use crate::framework::{Cycle, Framework};
use crate::model::{Object, PodInfo, Time};
use crate::plugins::policy::{ExemptPods, why_exempt};
use crate::scheduler::RecordLevel;
use node::Asked;
use serde_json::{Value, json};
use std::sync::Arc;

/// Explains why a pod waits, and what would help; or why it is where it is.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bayplan explain train-c --cluster cluster.yaml --policies gpu.bay
  bayplan explain shop/train-7 --cluster cluster.yaml --node gpu-b-03      one node, the rule with its values
  bayplan explain train-c --cluster cluster.yaml --all                     nothing folded, event and funnel
  bayplan explain train-7 -n shop --context prod                           of a live cluster, which is only read
  bayplan explain train-7 -n shop --policies gpu.bay                       as if this policy had been applied")]
pub struct Args {
    /// The pod: `NAME` or `NAMESPACE/NAME`.
    pod: String,
    /// The pod's namespace.
    #[arg(long, short)]
    namespace: Option<String>,
    #[command(flatten)]
    from: setup::From,
    #[command(flatten)]
    how: How,
    /// One node, with the values that every part of a rule has there.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Everything: no table is folded; with `--node` also the rules that let the pod pass.
    #[arg(long)]
    all: bool,
    /// How to print: `text` or `json`.
    #[arg(long, short, value_parser = ["text", "json"], default_value = "text", hide_possible_values = true)]
    output: String,
}

/// A pod that was found.
struct Found<'a> {
    pod: Arc<PodInfo>,
    /// What the dry run made of it; `None` when it was running already.
    report: Option<&'a PodReport>,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let Some(setup) = setup::read(&args.from, out)? else { return Ok(ExitStatus::Failure) };
    let options = recording(args, &setup, args.how.options());
    let report = schedule(&setup.world, setup.profiles.clone(), &options);
    let found = find(args, &setup, &report)?;
    let now = Time(options.start.0 + report.elapsed.0);
    let Some(framework) = setup.profiles.get(&found.pod.scheduler_name) else {
        return not_ours(args, &found.pod, &setup, out);
    };
    // Pods that the clock met while they waited in vain hold their nodes from nobody.
    let in_vain = report.pods.iter().filter(|pod| standing(pod) != pod.standing);
    let settled = in_vain.fold(report.scheduler.fork(), |world, pod| unplaced(&world, &pod.pod));
    let explanation = explain(framework, &settled, &found.pod, now);
    let snapshot = unplaced(&settled, &found.pod);
    let asked = Asked {
        setup: &setup,
        framework,
        explanation: &explanation,
        snapshot: &snapshot,
        pod: &found.pod,
        now,
    };
    let said = Said { args, found: &found, asked: &asked, helps: helps(&asked, framework, &found) };
    if args.output == "json" {
        let json = said.json()?;
        out.json(&json)?;
        return Ok(ExitStatus::Success);
    }
    let text = said.text(out)?;
    write!(out.stdout(), "{text}")?;
    Ok(ExitStatus::Success)
}

/// Every node is recorded of the decisions on the explained pod alone: the others may be thousands.
fn recording(args: &Args, setup: &Setup, options: Options) -> Options {
    let name = args.pod.rsplit('/').next().unwrap_or_default();
    let mut named = setup.world.pending.iter().filter(|pod| pod.name.as_str() == name);
    match (named.next(), named.next()) {
        (Some(one), None) => Options { recorded_pod: Some(one.key.clone()), ..options },
        (None, _) => Options { records: RecordLevel::Outcome, ..options },
        _ => options,
    }
}

fn not_ours(args: &Args, pod: &PodInfo, setup: &Setup, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let names: Vec<&str> =
        setup.profiles.frameworks.iter().map(|framework| framework.scheduler_name.as_str()).collect();
    let near = crate::diag::suggest::nearest(&pod.scheduler_name, names.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    if args.output == "json" {
        let json = json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Explanation", "pod": pod.full_name(),
            "state": "notOurs", "profile": "", "schedulerName": pod.scheduler_name.as_str(), "profiles": names,
        });
        out.json(&json)?;
    } else {
        let profiles = names.join(", ");
        let name = pod.full_name();
        let line =
            format!("{name} is not ours to place: no profile is called `{}`{hint}", pod.scheduler_name);
        writeln!(out.stdout(), "{line}")?;
        writeln!(out.stdout(), "Profiles: {profiles}   (those of another scheduler: --config FILE)")?;
    }
    Ok(ExitStatus::Success)
}

/// The pod that was named.
fn find<'a>(args: &Args, setup: &Setup, report: &'a Report) -> anyhow::Result<Found<'a>> {
    let pending = report.pods.iter().map(|pod| Found { pod: pod.pod.clone(), report: Some(pod) });
    let running = setup.world.objects.iter().filter_map(|object| match object {
        Object::Pod(pod) => Some(Found { pod: pod.clone(), report: None }),
        _ => None,
    });
    let all: Vec<Found> = pending.chain(running).collect();
    let pods = all.iter().map(|found| &found.pod);
    let at = setup::named(pods, &args.pod, args.namespace.as_deref(), &setup.namespace)?;
    all.into_iter().nth(at).ok_or_else(|| anyhow::anyhow!("no pod is called `{}`", args.pod))
}

fn helps(asked: &Asked, framework: &Arc<Framework>, found: &Found) -> Helping {
    let waits = found.report.is_some_and(|report| matches!(standing(report), Standing::Waiting { .. }));
    if !waits || !asked.explanation.fits.is_empty() {
        return Helping::default();
    }
    let name = &found.pod.scheduler_name;
    let without = |rules: Rules| asked.setup.without(name, rules);
    that_help(
        asked.explanation,
        &Question {
            framework,
            snapshot: asked.snapshot,
            pod: &found.pod,
            policies: &asked.setup.policies.set,
            now: asked.now,
            without: &without,
        },
    )
}

/// How many of the nearest nodes are named.
const NEAREST: usize = 3;

/// What is said about one pod.
struct Said<'a> {
    args: &'a Args,
    found: &'a Found<'a>,
    asked: &'a Asked<'a>,
    helps: Helping,
}

impl Said<'_> {
    fn explanation(&self) -> &Explanation {
        self.asked.explanation
    }

    fn text(&self, out: &Output) -> anyhow::Result<String> {
        let args = self.args;
        if let Some(node) = &args.node {
            return match node::text(self.asked, node, args.all, out) {
                Some(text) if out.quiet => Ok(first_line(&text)),
                Some(text) => Ok(text),
                None => Err(self.no_such_node(node)),
            };
        }
        let mut text = self.verdict(out);
        text.push('\n');
        if out.quiet {
            return Ok(text);
        }
        let placed = self.found.report.is_some_and(|report| matches!(standing(report), Standing::Bound(_)));
        match self.found.report.and_then(|report| report.decisions.last()) {
            Some(record) if placed => text.push_str(&placed::body(record, args.all, out)),
            _ => text.push_str(&text::body(self.explanation(), args.all, out)),
        }
        text.push_str(&self.exempt(out));
        text.push_str(&self.what_helps(out));
        text.push_str(&self.next(out));
        Ok(text)
    }

    fn no_such_node(&self, node: &str) -> anyhow::Error {
        let names = self.explanation().per_node.iter().map(|node| node.name.as_str());
        if self.explanation().per_node.is_empty() && self.explanation().nodes > 0 {
            return anyhow::anyhow!("no node is asked about this pod: it is refused before");
        }
        let near = crate::diag::suggest::nearest(node, names);
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        anyhow::anyhow!("no node of the cluster is called `{node}`{hint}")
    }

    /// The first line: what became of the pod, and what nothing checks of it.
    fn verdict(&self, out: &Output) -> String {
        let standing = self.standing(out);
        match &self.explanation().not_checked[..] {
            [] => standing,
            names => {
                let end = if standing.ends_with('.') { "" } else { "." };
                let names = out.paint(Style::Warn, &names.join(", "));
                format!("{standing}{end} Not checked: {names}.")
            }
        }
    }

    /// What became of the pod.
    fn standing(&self, out: &Output) -> String {
        let pod = out.part(&self.found.pod.full_name());
        let Some(report) = self.found.report else { return text::verdict(self.explanation(), out) };
        match &standing(report) {
            Standing::Bound(node) => {
                let why = report
                    .decisions
                    .last()
                    .map(|record| why::why(record, &self.args.how))
                    .unwrap_or_default();
                format!(
                    "{pod} is {} on {}.",
                    out.paint(Style::Good, "placed"),
                    out.part(&format!("{node}, {why}"))
                )
            }
            Standing::Gated { by } => {
                format!(
                    "{pod} is {} by {by}: {}",
                    out.paint(Style::Warn, "kept out of the queue"),
                    out.part(&self.gate())
                )
            }
            Standing::AtPermit { node, plugins } => {
                let plugins: Vec<&str> = plugins.iter().map(|plugin| plugin.as_str()).collect();
                let waits = out.paint(Style::Warn, "waits");
                format!("{pod} has {} and {waits} there for {}.", out.part(node), plugins.join(", "))
            }
            Standing::Failing { message } => {
                let message = out.part(message);
                format!("{pod} cannot be tried: {} {message}", out.paint(Style::Bad, "error:"))
            }
            Standing::Waiting { message } if !self.explanation().fits.is_empty() => {
                let waits = out.paint(Style::Warn, "waits");
                let (fits, all) = (count(self.explanation().fits.len()), count(self.explanation().nodes));
                let had = report.waited.as_ref().map_or_else(String::new, |waited| {
                    format!("; it had {} and waited there for {}", out.part(&waited.node), {
                        let plugins: Vec<&str> =
                            waited.plugins.iter().map(|(plugin, _)| plugin.as_str()).collect();
                        plugins.join(", ")
                    })
                });
                format!(
                    "{pod} {waits}: {fits} of {all} nodes let it pass{had}: {}",
                    out.part(&why::reasons(message))
                )
            }
            _ => text::verdict(self.explanation(), out),
        }
    }

    /// Why a PreEnqueue plugin keeps the pod out.
    fn gate(&self) -> String {
        let gates: Vec<&str> = self.found.pod.scheduling_gates.iter().map(|gate| gate.as_str()).collect();
        if !gates.is_empty() {
            return format!("scheduling gates {}", gates.join(", "));
        }
        let Some(framework) = self.asked.setup.profiles.get(&self.found.pod.scheduler_name) else {
            return String::new();
        };
        let cycle = Cycle::new(self.found.pod.clone(), framework.clone(), self.asked.now);
        let refused = framework.run_pre_enqueue(cycle.handle(self.asked.snapshot));
        refused.err().map(|status| status.message()).unwrap_or_default()
    }

    /// Which policies say nothing of the pod because of what it is.
    fn left_alone_by(&self) -> Option<(String, Vec<&str>)> {
        let why = why_exempt(&self.found.pod, &ExemptPods::default())?;
        let policies = self.asked.setup.policies.set.iter().filter(|policy| !policy.policy.to_all_pods);
        let names: Vec<&str> = policies.map(|policy| policy.name()).collect();
        (!names.is_empty()).then_some((why, names))
    }

    fn exempt(&self, out: &Output) -> String {
        match self.left_alone_by() {
            Some((why, policies)) => {
                let head = out.paint(Style::Dim, "left alone:");
                format!("\n  {head} {}   by {}\n", out.part(&why), policies.join(", "))
            }
            None => String::new(),
        }
    }

    fn what_helps(&self, out: &Output) -> String {
        let waits =
            self.found.report.is_some_and(|report| matches!(standing(report), Standing::Waiting { .. }));
        let explanation = self.explanation();
        if !waits || !explanation.fits.is_empty() || explanation.nodes == 0 {
            return String::new();
        }
        text::helps(&self.helps, self.args.all, out)
    }

    /// The next command: one node, where a rule alone keeps the pod away.
    fn next(&self, out: &Output) -> String {
        let explanation = self.explanation();
        // A rule of a policy that keeps nodes away alone has most to show.
        let written = explanation.rules.iter().find(|rule| rule.alone > 0 && !rule.place.is_empty());
        let Some(rule) = written.or(explanation.rules.first()) else { return String::new() };
        let refused = |node: &&crate::explain::NodeExplanation| {
            node.refusals.iter().any(|refusal| refusal.rule == rule.rule)
        };
        let fewest = explanation.per_node.iter().filter(refused).min_by_key(|node| node.refusals.len());
        let Some(node) = fewest else { return String::new() };
        let pod = if self.args.pod.contains('/') || self.args.namespace.is_none() {
            quoted(&self.args.pod)
        } else {
            quoted(&self.found.pod.full_name())
        };
        let flags = format!("{}{}", self.args.from.flags(), self.args.how.flags());
        let command = format!("{} explain {pod}{flags} --node {}", out.program, node.name);
        format!("\n{} {}\n", out.paint(Style::Dim, "Next:"), out.paint(Style::Strong, &command))
    }

    fn json(&self) -> anyhow::Result<Value> {
        let mut json = json!({"apiVersion": "bayplan.dev/v1", "kind": "Explanation"});
        let told = serde_json::to_value(self.explanation())?;
        if let (Some(json), Value::Object(told)) = (json.as_object_mut(), told) {
            json.extend(told);
            let state = match self.found.report.map(standing) {
                None => "running",
                Some(Standing::Bound(_)) => "placed",
                Some(Standing::Waiting { .. }) => "waits",
                Some(Standing::Failing { .. }) => "failed",
                Some(Standing::Gated { .. }) => "gated",
                Some(Standing::AtPermit { .. }) => "atPermit",
                Some(Standing::NotOurs) => "notOurs",
                Some(Standing::Terminating) => "terminating",
            };
            json.insert("state".to_owned(), json!(state));
            json.insert("verdict".to_owned(), json!(self.verdict(&plain())));
            if let Some(report) = self.found.report {
                json.insert("decision".to_owned(), dry_run::json::of_pod(report, true));
            }
            if let Some((why, policies)) = self.left_alone_by() {
                json.insert("leftAlone".to_owned(), json!({"because": why, "by": policies}));
            }
            json.insert("wouldHelp".to_owned(), serde_json::to_value(&self.helps.helps)?);
            json.insert("searchCutShort".to_owned(), json!(self.helps.cut_short));
            json.insert("nearest".to_owned(), serde_json::to_value(self.explanation().nearest(NEAREST))?);
            if let Some(node) = &self.args.node {
                let told = node::json(self.asked, node).ok_or_else(|| self.no_such_node(node))?;
                json.insert("onNode".to_owned(), told);
            }
        }
        Ok(json)
    }
}

/// Texts inside JSON have no colours.
fn plain() -> Output {
    Output::to_sinks(Box::new(std::io::sink()), Box::new(std::io::sink()))
}

fn first_line(text: &str) -> String {
    format!("{}\n", text.lines().next().unwrap_or_default())
}
