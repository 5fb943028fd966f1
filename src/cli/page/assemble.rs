//! The document of a dry run: nodes and pods at its end, decisions, and what waits by cause.

use super::{Asked, explained};
use crate::cli::dry_run::{in_order, json, standing, text, why};
use crate::cli::explain::overview::{Waiting, in_words};
use crate::cli::explain::pod::{plain, state_word, verdict};
use crate::cli::progress::Progress;
use crate::cli::setup::Setup;
use crate::diag::Span;
use crate::dry_run::{Options, PodReport, Report, Standing};
use crate::explain::Suggestions;
use crate::explain::changes::{Question, TRIALS, that_help};
use crate::explain::overview::{Cause, Example};
use crate::framework::Exempted;
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::typed::Mode;
use crate::model::{Object, PodKey, Symbol, Time};
use crate::page::{
    BayPlan, CauseOfWait, Explained, PodState, PolicyText, RuleText, Strings, cluster, decisions,
};
use crate::plugins::policy::of_profile;
use crate::scheduler::RecordLevel;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Nodes of pods, by the names of the pods.
pub(crate) type Before = FxHashMap<String, Symbol>;

/// Where a document shows pods.
#[cfg(feature = "cluster")]
pub(crate) fn places(plan: &BayPlan) -> Before {
    let columns = plan.pods.name.iter().zip(&plan.pods.namespace).zip(&plan.pods.node);
    let placed = columns.filter_map(|((name, namespace), node)| {
        let namespace = plan.strings.get(usize::try_from(*namespace).ok()?)?;
        let node = plan.nodes.name.get(usize::try_from(*node).ok()?)?;
        Some((format!("{namespace}/{name}"), Symbol::new(node)))
    });
    placed.collect()
}

/// For how many causes an example is explained.
const EXPLAINED: usize = 20;

/// The document of a dry run with these options.
pub(super) fn plan(
    asked: &Asked,
    setup: &Setup,
    (options, report): (&Options, &Report),
    progress: &Progress,
) -> BayPlan {
    let outcomes = Options { records: RecordLevel::Outcome, recorded_pod: None, ..options.clone() };
    let waiting = Waiting::of(asked.namespace, setup, (&outcomes, report), progress);
    let shown = waiting.causes.len().min(EXPLAINED);
    let searched = if asked.is_tried() { 0 } else { shown };
    let helps = waiting.helps(setup, &outcomes, progress, waiting.causes.get(..searched).unwrap_or_default());
    let (pods, rows) = pods((setup, report), &waiting, asked.before);
    let mut strings = Strings::default();
    let mut plan = BayPlan {
        api_version: "bayplan.dev/v1".to_owned(),
        kind: "BayPlan".to_owned(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        command: asked.command.to_owned(),
        flags: asked.flags.clone(),
        at: jiff::Timestamp::from_microsecond(options.start.0).map(|at| at.to_string()).unwrap_or_default(),
        answer: asked
            .effect
            .iter()
            .cloned()
            .chain([text::summary(setup, report), waiting.verdict(shown, &plain()).trim_end().to_owned()])
            .collect(),
        totals: json::totals(report),
        gated: waiting.gated_json(),
        foreign: waiting.foreign_json(),
        policies: setup.policies.set.iter().map(|policy| policy_text(setup, policy)).collect(),
        ..BayPlan::default()
    };
    let snapshot = report.scheduler.snapshot();
    cluster(&mut plan, &mut strings, snapshot, &pods, waiting.now);
    let decided = in_order(report).into_iter().filter_map(|at| report.pods.get(at)).filter_map(|pod| {
        let record = pod.decisions.last()?;
        let row = rows.get(&pod.pod.key)?;
        matches!(standing(pod), Standing::Bound(_)).then(|| {
            let victims = why::victims(pod);
            let victims =
                victims.iter().filter_map(|name| pods.iter().position(|of| of.pod.full_name() == *name));
            (*row, record, why::why(record, asked.how), victims.collect())
        })
    });
    plan.decisions = decisions(decided, &mut strings, snapshot);
    progress.stage("explaining a pod of each cause", shown);
    for (at, cause) in waiting.causes.iter().enumerate() {
        let help = helps.get(at).and_then(Option::as_ref);
        let count = cause.pods().count();
        let mut of = CauseOfWait {
            cause: cause.text.clone(),
            pods: count,
            oldest: waiting.age(cause),
            would_help: in_words(help, count),
            example: None,
        };
        if at < EXPLAINED
            && let Some(explained) = example(cause, (setup, report, asked), &rows, waiting.now)
        {
            of.example = Some(plan.explained.len());
            plan.explained.push(explained);
        }
        progress.step();
        plan.causes.push(of);
    }
    focus(&mut plan, asked, (setup, report), &rows);
    plan.strings = strings.into_texts();
    plan
}

/// The view that the page opens on, and the pod that was named.
fn focus(
    plan: &mut BayPlan,
    asked: &Asked,
    (setup, report): (&Setup, &Report),
    rows: &FxHashMap<PodKey, usize>,
) {
    let waits = !plan.causes.is_empty();
    plan.opens = match () {
        () if asked.effect.is_some() => "change",
        () if waits => "quay",
        () => "bays",
    }
    .to_owned();
    let Some(pod) = &asked.pod else { return };
    let Some(row) = rows.get(&pod.subject.pod.key) else { return };
    plan.focus = Some(*row);
    let placed = plan.decisions.iter().any(|of| of.pod == *row);
    plan.opens = if placed { "why" } else { "quay" }.to_owned();
    let made = explained::of(pod.subject, report, (*row, &pod.verdict), (pod.helps, pod.gated));
    // It says more than the example of a cause.
    let same = plan.explained.iter().position(|of| of.pod == *row);
    match same.and_then(|at| plan.explained.get_mut(at)) {
        Some(known) => *known = made,
        None => plan.explained.push(made),
    }
    let _ = setup;
}

/// All pods: those that were pending in the order in which they were tried, then the others. With their rows.
fn pods(
    (setup, report): (&Setup, &Report),
    waiting: &Waiting,
    before: Option<&Before>,
) -> (Vec<PodState>, FxHashMap<PodKey, usize>) {
    let causes: FxHashMap<&PodKey, usize> = waiting
        .causes
        .iter()
        .enumerate()
        .flat_map(|(at, cause)| cause.pods().map(move |pod| (&pod.key, at)))
        .collect();
    let snapshot = report.scheduler.snapshot();
    let on = |key: &PodKey| {
        let placed = snapshot.pod(key).and_then(|entry| entry.placed);
        placed.and_then(|(node, _)| snapshot.node(node)).map(|node| node.name().clone())
    };
    let mut pods = Vec::new();
    for pod in in_order(report).into_iter().filter_map(|at| report.pods.get(at)) {
        let standing = standing(pod);
        let node = match &standing {
            Standing::Bound(node) => Some(node.clone()),
            _ => None,
        };
        pods.push(PodState {
            pod: pod.pod.clone(),
            state: state_word(&standing),
            before: before.and_then(|before| before.get(&pod.pod.full_name()).cloned()),
            node,
            message: message(pod, &standing),
            cause: causes.get(&pod.pod.key).copied(),
        });
    }
    for object in &setup.world.objects {
        let Object::Pod(pod) = object else { continue };
        let node = on(&pod.key);
        pods.push(PodState {
            pod: pod.clone(),
            state: match (&node, pod.is_terminating()) {
                (Some(_), _) => "running",
                (None, true) => "terminating",
                (None, false) => "evicted",
            },
            before: match before {
                Some(before) => before.get(&pod.full_name()).cloned(),
                None => pod.node_name.clone(),
            },
            node,
            message: String::new(),
            cause: None,
        });
    }
    let rows = pods.iter().enumerate().map(|(row, of)| (of.pod.key.clone(), row)).collect();
    (pods, rows)
}

/// Why a pod has no node, as `dry-run` has it.
fn message(pod: &PodReport, standing: &Standing) -> String {
    if matches!(standing, Standing::Bound(_)) {
        return String::new();
    }
    let told = json::of_pod(pod, false, &|_| None);
    told.get("message").and_then(|message| message.as_str()).unwrap_or_default().to_owned()
}

/// The pod that was explained for a cause, with what would help it.
fn example(
    cause: &Cause,
    (setup, report, asked): (&Setup, &Report, &Asked),
    rows: &FxHashMap<PodKey, usize>,
    now: Time,
) -> Option<Explained> {
    let Example { pod, explanation, snapshot } = cause.example.as_ref()?;
    let row = *rows.get(&pod.key)?;
    let framework = setup.profiles.get(&pod.scheduler_name)?;
    let policies = of_profile(framework);
    let snapshot = crate::explain::unplaced(snapshot, pod);
    let subject = crate::cli::explain::node::Subject {
        setup,
        policies: &policies,
        framework,
        explanation,
        snapshot: &snapshot,
        pod,
        now,
    };
    let of_pod = report.pods.iter().find(|of| of.pod.key == pod.key)?;
    let excepting = |of: &[Exempted]| setup.excepting(pod, of, now);
    let question =
        Question { framework, snapshot: &snapshot, pod, now, trials: TRIALS / 3, excepting: &excepting };
    let waits = matches!(standing(of_pod), Standing::Waiting { .. });
    let searched = waits && !asked.is_tried();
    let helps = if searched { that_help(explanation, &question) } else { Suggestions::default() };
    let verdict = verdict(explanation, Some(of_pod), (None, asked.how), &plain());
    Some(explained::of(&subject, report, (row, &verdict), (&helps, false)))
}

/// The text of a policy with its rules.
fn policy_text(setup: &Setup, policy: &Arc<CompiledPolicy>) -> PolicyText {
    let sources = &setup.policies.sources;
    let written = &policy.policy;
    let first =
        |span: Span| sources.source(span).map_or(1, |source| source.own_place(span.start as usize).line);
    let last = |span: Span| sources.source(span).map_or(1, |source| source.own_place(span.end as usize).line);
    let begin = first(written.span);
    let rules = written.rules.iter().filter(|rule| !rule.head.name.is_empty()).map(|rule| RuleText {
        rule: format!("{}/{}", policy.name(), rule.name()),
        place: crate::lang::policy_set::place(sources, rule.head.span),
        first: first(rule.head.span) - begin + 1,
        last: last(rule.head.span) - begin + 1,
        doc: rule.head.doc.as_ref().map(ToString::to_string),
        mode: rule.mode().filter(|mode| *mode != Mode::Enforce).map(|mode| mode.word().to_owned()),
    });
    PolicyText {
        name: policy.name().to_owned(),
        file: sources.file(written.span).map(|file| file.name().to_owned()).unwrap_or_default(),
        line: sources.places(written.span).0.line,
        text: sources.text(written.span).to_owned(),
        rules: rules.collect(),
    }
}
