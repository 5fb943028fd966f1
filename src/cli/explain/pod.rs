//! `bayplan explain POD`: one pod, in the order verdict, tables, what would help, next command.

use super::evictions::{self, Evictions};
use super::fix::{Asked, Fix};
use super::gate::{self, Gated};
use super::group::Blocked;
use super::node::Subject;
use super::refusals::Refusals;
use super::state::{self, State};
use super::*;
use crate::cli::dry_run::{standing, why};
use crate::cli::output::count;
use crate::cli::page;
use crate::diag::{escape, suggest::nearest};
use crate::dry_run::{Options, PodReport, Standing};
use crate::explain::changes::{Question, TRIALS, that_help};
use crate::explain::{Explanation, NodeExplanation, Suggestions, explain, unplaced};
use crate::framework::{Exempted, Framework};
use crate::model::{Object, PodInfo, PodKey, Symbol};
use crate::plugins::policy::{ExemptPods, of_profile, why_exempt};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many of the nearest nodes are named.
const NEAREST: usize = 3;

/// How many of the pods that were placed before are named.
const PLACED_BEFORE: usize = 3;

/// Explains one pod.
pub(super) fn run(
    args: &Args,
    name: &str,
    setup: &Setup,
    progress: Progress,
    out: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let (pod, pending) = match find(args, name, setup) {
        Ok(found) => found,
        Err(unknown) => {
            if let Some(pod) = finished::find(args, name, setup)? {
                drop(progress);
                return finished::run(args, &pod, setup, out);
            }
            find_made_by(args, name, setup).ok_or_else(|| or_nearly(args, name, setup, unknown))?
        }
    };
    let Some(framework) = setup.profiles.get(&pod.scheduler_name) else {
        drop(progress);
        return not_ours(args, &pod, setup, out);
    };
    let options = Options { recorded_pod: Some(pod.key.clone()), ..args.how.options(setup) };
    let (report, state) = match pending {
        Some(_) => state::at_turn(setup, &pod, &options, &progress),
        None => state::running(setup, &options),
    };
    // With the claims that were made for it.
    let pod = pending.and_then(|at| report.pods.get(at)).map_or(pod, |report| report.pod.clone());
    progress.stage("evaluating every rule on every node, and trying what would help", 0);
    let explanation = explain(framework, &state.snapshot, &pod, state.now);
    let snapshot = unplaced(&state.snapshot, &pod);
    let now = state.now;
    let policies = of_profile(framework);
    let subject = Subject {
        setup,
        policies: &policies,
        framework,
        explanation: &explanation,
        snapshot: &snapshot,
        pod: &pod,
        now,
    };
    let all = report;
    let report = pending.and_then(|at| all.pods.get(at));
    let refusals = Refusals::of(&subject, report, &all);
    let gated = report.and_then(|report| match standing(report) {
        Standing::Gated { by } => Some(gate::gated(&subject, framework, &by)),
        _ => None,
    });
    let helps = match &gated {
        Some(gated) => gated.helps.clone(),
        None => helps(&subject, framework, &pod, report),
    };
    let waits = report.is_some_and(state::waits) && gated.is_none();
    let evictions = match (&state.preempting, report) {
        _ if waits => Evictions::of(&subject, framework),
        // Which rules named the pods that made room.
        (Some(world), Some(report)) if gated.is_none() => {
            let before = unplaced(world, &pod);
            let victims = why::victims(report);
            Evictions::of(&Subject { snapshot: &before, ..subject }, framework)
                .map(|of| of.of_victims(&victims))
        }
        _ => None,
    };
    let group: Vec<PodKey> = refusals.group.iter().chain([&pod.key]).cloned().collect();
    let blocked = match group.len() {
        1 => None,
        _ => Blocked::of(setup, &group, &all, &options, &progress),
    };
    let state = &state;
    drop(progress);
    let view = PodView {
        args,
        name,
        pod: &pod,
        report,
        state,
        subject: &subject,
        framework,
        gated,
        refusals,
        blocked,
        evictions,
        helps,
    };
    if let Some(number) = args.fix {
        let fix = view.fix(number)?;
        if args.is_json() {
            out.json(&fix.to_json())?;
        } else {
            out.for_programs(&fix.to_text())?;
        }
    } else if let Some(form) = page::Form::of(&args.output) {
        let text = view.text(&plain())?;
        let pod = page::Pod {
            subject: &subject,
            helps: &view.helps,
            gated: view.gated.is_some(),
            verdict: view.verdict(&plain()),
        };
        let all = page::Asked::of("explain", args.flags(), &args.how, text);
        let asked = page::Asked { pod: Some(pod), ..all };
        page::write(&asked, setup, (form, args.anonymize), out)?;
    } else if args.is_json() {
        let mut json = view.json()?;
        memory::add_to(&mut json, setup);
        out.json(&json)?;
    } else {
        let text = view.text(out)?;
        let memory = memory::text(setup, args.all, out);
        write!(out.stdout(), "{text}{memory}")?;
    }
    Ok(ExitStatus::Success)
}

/// The pods of the cluster: pending pods come first, in the order of the files.
fn pods(setup: &Setup) -> impl Iterator<Item = &Arc<PodInfo>> {
    let running = setup.world.objects.iter().filter_map(|object| match object {
        Object::Pod(pod) => Some(pod),
        _ => None,
    });
    setup.world.pending.iter().chain(running)
}

/// The pod at a place, and the place if it is among the pending pods.
fn at(setup: &Setup, at: usize) -> Option<(Arc<PodInfo>, Option<usize>)> {
    let pod = pods(setup).nth(at)?.clone();
    Some((pod, (at < setup.world.pending.len()).then_some(at)))
}

/// The pod that was named, with its place among the pending pods.
fn find(args: &Args, name: &str, setup: &Setup) -> anyhow::Result<(Arc<PodInfo>, Option<usize>)> {
    let found = setup::named(pods(setup), name, args.namespace.as_deref(), &setup.namespace)?;
    at(setup, found).ok_or_else(|| anyhow::anyhow!("no pod is called `{name}`"))
}

/// The first pod that an object of this name made.
fn find_made_by(args: &Args, name: &str, setup: &Setup) -> Option<(Arc<PodInfo>, Option<usize>)> {
    let found = setup::made_by(setup, pods(setup), name, args.namespace.as_deref());
    at(setup, *found.first()?)
}

/// The error about a name, with what makes pods and is called nearly like it.
fn or_nearly(args: &Args, name: &str, setup: &Setup, unknown: anyhow::Error) -> anyhow::Error {
    let near = setup::nearly_made_by(setup, pods(setup), name, args.namespace.as_deref());
    match near.filter(|_| !unknown.to_string().contains("did you mean")) {
        Some(near) => anyhow::anyhow!("{unknown}; did you mean `{}`?", escape::line(&near)),
        None => unknown,
    }
}

/// A pod that no profile serves.
fn not_ours(args: &Args, pod: &PodInfo, setup: &Setup, out: &mut Output) -> anyhow::Result<ExitStatus> {
    let names: Vec<&str> =
        setup.profiles.frameworks.iter().map(|framework| framework.scheduler_name.as_str()).collect();
    let near = nearest(&pod.scheduler_name, names.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    if let Some(form) = page::Form::of(&args.output) {
        let text = format!(
            "{} is left to another scheduler: no profile is called `{}`{hint}\n",
            pod.full_name(),
            pod.scheduler_name
        );
        let asked = page::Asked::of("explain", args.flags(), &args.how, text);
        page::write(&asked, setup, (form, args.anonymize), out)?;
    } else if args.is_json() {
        let json = json!({
            "apiVersion": "bayplan.dev/v1", "kind": "Explanation", "kubernetes": setup.version(),
            "pod": pod.full_name(), "state": "notOurs", "profile": "", "schedulerName": pod.scheduler_name.as_str(), "profiles": names,
        });
        out.json(&json)?;
    } else {
        let (name, scheduler) = (pod.full_name(), &pod.scheduler_name);
        let line = format!("{name} is left to another scheduler: no profile is called `{scheduler}`{hint}");
        let line = out.part(&line);
        writeln!(out.stdout(), "{line}")?;
        let profiles = names.join(", ");
        writeln!(out.stdout(), "Profiles: {profiles}   (those of another scheduler: --config FILE)")?;
    }
    Ok(ExitStatus::Success)
}

/// The changes that would help a pod that waits because no node fits, or because it is refused on the node that is chosen.
fn helps(
    subject: &Subject,
    framework: &Arc<Framework>,
    pod: &Arc<PodInfo>,
    report: Option<&PodReport>,
) -> Suggestions {
    if !report.is_some_and(state::waits) {
        return Suggestions::default();
    }
    let (snapshot, now) = (subject.snapshot, subject.now);
    let excepting = |of: &[Exempted]| subject.setup.excepting(pod, of, now);
    let question = Question { framework, snapshot, pod, now, trials: TRIALS, excepting: &excepting };
    that_help(subject.explanation, &question)
}

/// One pod with everything that is printed about it.
struct PodView<'a> {
    args: &'a Args,
    /// The pod as it was typed.
    name: &'a str,
    pod: &'a PodInfo,
    /// The result of the dry run; `None` for a running pod.
    report: Option<&'a PodReport>,
    state: &'a State,
    subject: &'a Subject<'a>,
    framework: &'a Arc<Framework>,
    /// Why it is kept out of the queue, if it is.
    gated: Option<Gated>,
    /// The statements that refuse it other than filters, or make it wait.
    refusals: Refusals,
    /// The pod that blocks the group with which it waits.
    blocked: Option<Blocked>,
    /// What policies say about evictions for it, while it waits; else about the pods that were evicted for it.
    evictions: Option<Evictions>,
    helps: Suggestions,
}

impl PodView<'_> {
    fn explanation(&self) -> &Explanation {
        self.subject.explanation
    }

    fn text(&self, out: &Output) -> anyhow::Result<String> {
        let args = self.args;
        if let Some(node) = &args.node {
            let evictions = self.evictions_on(node);
            return match node::text(self.subject, node, &evictions, args.all, out) {
                Some(text) if out.quiet => Ok(first_line(&text)),
                Some(text) => Ok(text),
                None => Err(self.no_such_node(node)),
            };
        }
        let mut text = out.part(&self.verdict(out));
        text.push('\n');
        if out.quiet {
            return Ok(text);
        }
        text.push_str(&self.siblings(out));
        if let Some(evictions) = self.report.and_then(why::evictions) {
            text.push_str(&format!("  it {}\n", out.part(&evictions)));
            let placed = |report| matches!(standing(report), Standing::Bound(_));
            let named = self.evictions.as_ref().filter(|_| self.report.is_some_and(placed));
            for line in named.iter().flat_map(|evictions| evictions.lines()) {
                text.push_str(&format!("  {}\n", out.part(&line)));
            }
        }
        let placed = self.report.is_some_and(|report| matches!(standing(report), Standing::Bound(_)));
        let sources = &self.subject.setup.policies.sources;
        match (&self.gated, self.report.and_then(|report| report.decisions.last())) {
            (Some(gated), _) => text.push_str(&gated.text(sources, args.all, out)),
            (None, Some(record)) if placed => {
                text.push_str(&placed::body(record, self.explanation(), args.all, out));
            }
            _ => {
                text.push_str(&self.turn(out));
                text.push_str(&self.refusals.text(sources, out));
                text.push_str(&text::body(self.explanation(), !self.refusals.is_empty(), args.all, out));
                text.push_str(&self.preemption(out));
                text.extend(self.blocked.iter().map(|blocked| blocked.text(args.all, out)));
            }
        }
        text.push_str(&text::would_refuse(self.explanation(), out));
        text.push_str(&text::exceptions(self.explanation(), out));
        text.push_str(&self.left_alone(out));
        text.push_str(&self.what_helps(out));
        text.push_str(&self.next(out));
        Ok(text)
    }

    fn no_such_node(&self, node: &str) -> anyhow::Error {
        let names = self.explanation().per_node.iter().map(|node| node.name.as_str());
        if self.explanation().per_node.is_empty() && self.explanation().nodes > 0 {
            return anyhow::anyhow!("this pod is refused before nodes are evaluated");
        }
        let near = nearest(node, names);
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let message = format!("no node of the cluster is called `{node}`{hint}");
        anyhow::anyhow!("{}", escape::line(&message))
    }

    /// The first line: what became of the pod, and what nothing checks of it.
    fn verdict(&self, out: &Output) -> String {
        let gated = self.gated.as_ref().map(|gated| &*gated.reason);
        verdict(self.explanation(), self.report, (gated, &self.args.how), out)
    }

    /// The whole text of the event of a pod that waits.
    fn event(&self) -> Option<String> {
        match self.report.map(standing)? {
            Standing::Waiting { message } if !message.is_empty() => Some(message),
            _ => None,
        }
    }

    /// How many pods wait that the same object made, where that object was named.
    fn siblings(&self, out: &Output) -> String {
        let Subject { setup, .. } = *self.subject;
        let own = self.name.rsplit('/').next().unwrap_or(self.name);
        if own == self.pod.name.as_str() {
            return String::new();
        }
        let pods = setup.world.pending.iter();
        let all = setup::made_by(setup, pods, self.name, self.args.namespace.as_deref()).len();
        if all < 2 {
            return String::new();
        }
        let line = format!("The first of {} pending pods of {}.", count(all), self.name);
        format!("{}\n", out.paint(Style::Dim, &out.part(&line)))
    }

    /// Why evictions make no room.
    fn preemption(&self, out: &Output) -> String {
        let Some(Standing::Waiting { message }) = self.report.map(standing) else { return String::new() };
        let named = self.evictions.as_ref().is_some_and(|evictions| evictions.names_victims);
        let Some(line) = preemption::line(&message, self.pod.priority, named) else { return String::new() };
        let more = self.evictions.iter().flat_map(Evictions::lines);
        let mut more: String = more.map(|line| format!("  {}\n", out.part(&line))).collect();
        let sources = &self.subject.setup.policies.sources;
        more.extend(self.evictions.iter().map(|evictions| evictions.text(sources, out)));
        format!("\n{}\n{more}", out.part(&line))
    }

    /// What rules about evictions say of a node while the pod waits.
    fn evictions_on(&self, node: &str) -> Vec<evictions::EvictionAccount> {
        let Subject { snapshot, .. } = *self.subject;
        let node = snapshot.node_by_name(&Symbol::new(node)).and_then(|id| snapshot.node(id));
        match (node, self.evictions.is_some() && self.gated.is_none()) {
            (Some(node), true) if self.report.is_some_and(state::waits) => {
                evictions::on_node(self.subject, self.framework, node)
            }
            _ => Vec::new(),
        }
    }

    /// Which pending pods were placed before this one.
    fn turn(&self, out: &Output) -> String {
        let placed = &self.state.placed_before;
        let named = |shown: &[String]| shown.join(", ");
        let names = match placed.len() {
            0 => return String::new(),
            few if few <= PLACED_BEFORE => named(placed),
            many => {
                let others = many - (PLACED_BEFORE - 1);
                format!("{} and {} others", named(&placed[..PLACED_BEFORE - 1]), count(others))
            }
        };
        let pods = match placed.len() {
            1 => "1 pending pod was".to_owned(),
            many => format!("{} pending pods were", count(many)),
        };
        let line = format!("At its turn in the queue, after {pods} placed: {names}.");
        format!("{}\n", out.paint(Style::Dim, &line))
    }

    /// The policies whose `applies when` excludes the pod.
    fn left_alone_by(&self) -> Option<(String, Vec<&str>)> {
        let why = why_exempt(self.pod, &ExemptPods::default(), self.subject.snapshot)?.to_string();
        let policies = self.subject.policies.iter().filter(|policy| !policy.policy.to_all_pods);
        let names: Vec<&str> = policies.map(|policy| policy.name()).collect();
        (!names.is_empty()).then_some((why, names))
    }

    fn left_alone(&self, out: &Output) -> String {
        match self.left_alone_by() {
            Some((why, policies)) => {
                let head = out.paint(Style::Dim, "left alone:");
                format!("\n  {head} {}   by {}\n", out.part(&why), policies.join(", "))
            }
            None => String::new(),
        }
    }

    fn what_helps(&self, out: &Output) -> String {
        if self.gated.is_some() && self.helps.tried == 0 {
            return String::new();
        }
        if self.gated.is_some() {
            return text::helps(&self.helps, self.args.all, out);
        }
        let explanation = self.explanation();
        let waits = self.report.is_some_and(state::waits);
        // Of a pod that waits for others nothing was tried.
        let others = !explanation.fits.is_empty() && self.helps.tried == 0;
        if !waits || others || explanation.nodes == 0 {
            return String::new();
        }
        if !explanation.missing.is_empty() {
            let line = format!("What would help: create {}.", explanation.missing.join(", "));
            return format!("\n{}\n", out.part(&line));
        }
        text::helps(&self.helps, self.args.all, out)
    }

    /// The patch for a suggestion.
    fn fix(&self, number: usize) -> anyhow::Result<Fix> {
        let helps = &self.helps.helps;
        let Some(chosen) = number.checked_sub(1).and_then(|at| helps.get(at)) else {
            match helps.len() {
                0 => anyhow::bail!("nothing is suggested for {}", escape::line(&self.pod.full_name())),
                1 => anyhow::bail!("there is one suggestion: --fix 1"),
                many => anyhow::bail!("suggestion {number} does not exist; there are {many}"),
            }
        };
        let Subject { setup, now, .. } = *self.subject;
        let gated = self.gated.is_some();
        let (until, because) = (self.args.until.as_deref(), self.args.because.as_deref());
        Fix::of(&Asked { setup, pod: self.pod, until, because, now, number, chosen, gated })
    }

    /// The next commands: the patch for the first suggestion, and one node with the values of a
    /// rule.
    fn next(&self, out: &Output) -> String {
        let pod = if self.name.contains('/') || self.args.namespace.is_none() {
            quoted(self.name)
        } else {
            quoted(&self.pod.full_name())
        };
        let command = format!("{} explain {pod}{}", out.program, self.args.flags());
        let mut commands = Vec::new();
        if let Some(blocked) = &self.blocked {
            let pod = quoted(blocked.pod());
            let command = format!("{} explain {pod}{}", out.program, self.args.flags());
            commands.push((command, "the pod that the others wait for"));
        }
        let patched = self.helps.helps.iter().position(|help| fix::has_patch(&help.edits));
        if let Some(at) = patched {
            commands.push((format!("{command} --fix {}", at + 1), "the patch"));
        }
        if self.gated.is_none()
            && let Some(node) = self.telling_node()
        {
            commands.push((format!("{command} --node {}", quoted(&node.name)), "one node, with values"));
        }
        if let (Some(gated), true) = (&self.gated, commands.is_empty()) {
            commands.extend(gated.next(self.pod, out));
        }
        if let [(_, prints)] = &mut commands[..] {
            *prints = "";
        }
        self.args.next(&commands, out)
    }

    /// The nearest node. Where a rule of a policy alone keeps nodes away, one of those: its values
    /// have most to show.
    fn telling_node(&self) -> Option<&NodeExplanation> {
        let explanation = self.explanation();
        let Some(rule) = explanation.rules.iter().find(|rule| rule.alone > 0 && !rule.place.is_empty())
        else {
            return explanation.nearest(1).first().copied();
        };
        let refused = |node: &&NodeExplanation| node.refusals.iter().any(|refusal| refusal.rule == rule.rule);
        explanation.per_node.iter().filter(refused).min_by_key(|node| node.distance())
    }

    fn json(&self) -> anyhow::Result<Value> {
        let version = self.subject.setup.version();
        let mut json = json!({"apiVersion": "bayplan.dev/v1", "kind": "Explanation", "kubernetes": version});
        let told = serde_json::to_value(self.explanation())?;
        if let (Some(json), Value::Object(told)) = (json.as_object_mut(), told) {
            json.extend(told);
            let state = self.report.map_or("running", |report| state_word(&standing(report)));
            json.insert("state".to_owned(), json!(state));
            if let Some(message) = self.event() {
                json.insert("message".to_owned(), json!(message));
            }
            json.insert("verdict".to_owned(), json!(self.verdict(&plain())));
            json.insert("placedBefore".to_owned(), json!(self.state.placed_before));
            if let Some(report) = self.report {
                json.insert("decision".to_owned(), dry_run::json::of_pod(report, true, &|_| None));
            }
            if let Some((told, members)) = self.refusals.json(&self.subject.setup.policies.sources) {
                json.insert("refusedBy".to_owned(), told);
                json.insert("group".to_owned(), members);
            }
            if let Some(blocked) = &self.blocked {
                json.insert("blockedBy".to_owned(), blocked.json());
            }
            if let Some(gated) = &self.gated {
                json.insert("gate".to_owned(), gated.json(&self.subject.setup.policies.sources));
            }
            if let Some(evictions) = &self.evictions {
                json.insert("evictions".to_owned(), evictions.json(&self.subject.setup.policies.sources));
            }
            if let Some((why, policies)) = self.left_alone_by() {
                json.insert("leftAlone".to_owned(), json!({"because": why, "by": policies}));
            }
            json.insert("wouldHelp".to_owned(), serde_json::to_value(&self.helps.helps)?);
            json.insert("searchCutShort".to_owned(), json!(self.helps.cut_short));
            json.insert("nearest".to_owned(), serde_json::to_value(self.explanation().nearest(NEAREST))?);
            if let Some(node) = &self.args.node {
                let evictions = self.evictions_on(node);
                let told = node::json(self.subject, node, &evictions);
                let told = told.ok_or_else(|| self.no_such_node(node))?;
                json.insert("onNode".to_owned(), told);
            }
        }
        Ok(json)
    }
}

/// The first line: what became of a pod. `report`: of a pod that was pending. `gated`: why it
/// is kept out of the queue.
pub(crate) fn verdict(
    explanation: &Explanation,
    report: Option<&PodReport>,
    (gated, how): (Option<&str>, &How),
    out: &Output,
) -> String {
    let pod = out.part(&explanation.pod);
    let Some(report) = report else { return text::verdict(explanation, out) };
    match &standing(report) {
        Standing::Bound(node) => {
            let last = report.decisions.last();
            let why = last.map(|record| why::why(record, how)).unwrap_or_default();
            format!("{pod} is {} on {node}, {why}.", out.paint(Style::Good, "placed"))
        }
        Standing::Gated { by } => {
            let kept = out.paint(Style::Warn, "kept out of the queue");
            let why = gated.unwrap_or_default();
            format!("{pod} is {kept} by {by}: {why}")
        }
        Standing::AtPermit { node, plugins } => {
            let plugins: Vec<&str> = plugins.iter().map(|plugin| plugin.as_str()).collect();
            let waits = out.paint(Style::Warn, "waits");
            format!("{pod} has {node} and {waits} there for {}.", plugins.join(", "))
        }
        Standing::Failing { message } => {
            format!("{pod} cannot be tried: {} {message}", out.paint(Style::Bad, "error:"))
        }
        Standing::Waiting { message } if !explanation.fits.is_empty() => {
            let waits = out.paint(Style::Warn, "waits");
            let (fits, all) = (count(explanation.fits.len()), count(explanation.nodes));
            if let Some(late) = &explanation.refused_late {
                let (plugin, node) = (out.paint(Style::Name, &late.plugin), out.part(&late.node));
                let reason = out.part(&late.reason);
                return format!(
                    "{pod} {waits}: {fits} of {all} nodes let it pass; {plugin} refuses it once {node} is \
                     chosen: {reason}"
                );
            }
            let had = report.waited.as_ref().map_or_else(String::new, |waited| {
                let plugins: Vec<&str> = waited.plugins.iter().map(|(plugin, _)| plugin.as_str()).collect();
                format!("; it had {} and waited there for {}", waited.node, plugins.join(", "))
            });
            format!(
                "{pod} {waits}: {fits} of {all} nodes let it pass{had}: {}",
                out.part(&why::reasons(message))
            )
        }
        _ => text::verdict(explanation, out),
    }
}

/// The state of a pending pod in JSON.
pub(crate) fn state_word(standing: &Standing) -> &'static str {
    match standing {
        Standing::Bound(_) => "placed",
        Standing::Waiting { .. } => "waits",
        Standing::Failing { .. } => "failed",
        Standing::Gated { .. } => "gated",
        Standing::AtPermit { .. } => "atPermit",
        Standing::NotOurs => "notOurs",
        Standing::Terminating => "terminating",
    }
}

/// Texts inside JSON have no colours.
pub(crate) fn plain() -> Output {
    Output::to_sinks(Box::new(std::io::sink()), Box::new(std::io::sink()))
}

fn first_line(text: &str) -> String {
    format!("{}\n", text.lines().next().unwrap_or_default())
}
