//! Why a pod is kept out of the queue: the gate with its place and values, and when it opens.

use super::node::Subject;
use super::refusals;
use crate::cli::output::{Output, Style, count};
use crate::cli::setup::quoted;
use crate::diag::SourceMap;
use crate::dry_run::told::{Told, told};
use crate::explain::changes::{Question, TRIALS};
use crate::explain::gated::{gate, held};
use crate::explain::overview::cause;
use crate::explain::{Explanation, Suggestions, explain};
use crate::framework::{Exempted, Framework};
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::typed::{Expr, ExprKind, Point};
use crate::lang::typed::{Rule, walk};
use crate::model::{PodInfo, Snapshot, Symbol, Time};
use crate::plugins::policy::of_profile;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Why a pod is kept out.
pub(super) struct Gated {
    /// The plugin.
    by: String,
    /// The reason of the refusal.
    pub(super) reason: String,
    /// The gates of the policy that keep it out.
    gates: Vec<Told>,
    /// The pod's scheduling gates.
    scheduling_gates: Vec<String>,
    /// When it opens, as people say it.
    opens: Option<(Time, String)>,
    /// The pod once it is in the queue.
    then: Explanation,
    pub(super) helps: Suggestions,
}

/// Evaluates the gates of a pod that the plugin `by` keeps out.
pub(super) fn gated(subject: &Subject, framework: &Arc<Framework>, by: &Symbol) -> Gated {
    let pod = Arc::new(subject.pod.clone());
    let (snapshot, now) = (subject.snapshot, subject.now);
    let excepting = |of: &[Exempted]| subject.setup.excepting(&pod, of, now);
    let question = Question { framework, snapshot, pod: &pod, now, trials: TRIALS, excepting: &excepting };
    let found = gate(&question);
    let found = found.unwrap_or_default();
    let policy = subject.policies.get(by);
    let gates = policy.map(|policy| statements(subject, policy)).unwrap_or_default();
    let zone = policy.and_then(|policy| zone(policy));
    let scheduling_gates: Vec<String> = pod.scheduling_gates.iter().map(|gate| gate.to_string()).collect();
    let reason = match &scheduling_gates[..] {
        [] => found.reason,
        [one] => format!("scheduling gate {one}"),
        several => format!("scheduling gates {}", several.join(", ")),
    };
    let opens = found.opens.map(|at| (at, moment(at, now, zone)));
    let then = explain(framework, snapshot, &pod, found.opens.unwrap_or(now));
    Gated { by: by.to_string(), reason, gates, scheduling_gates, opens, then, helps: found.helps }
}

/// The `gate` statements that hold.
fn statements(subject: &Subject, compiled: &CompiledPolicy) -> Vec<Told> {
    told(compiled, Point::PreEnqueue, subject.context()).into_iter().filter(|told| told.refuses).collect()
}

/// The time zone that the gates name.
fn zone(compiled: &CompiledPolicy) -> Option<jiff::tz::TimeZone> {
    let mut found = None;
    let mut look = |part: &Expr| {
        if let ExprKind::Constant(constant) = &part.kind
            && let Some(text) = constant.as_str().filter(|text| text.contains('/') || *text == "UTC")
        {
            found = found.take().or_else(|| jiff::tz::TimeZone::get(text).ok());
        }
        false
    };
    let gates = compiled.enforced().at(Point::PreEnqueue).flat_map(Rule::checks);
    for condition in gates.filter_map(|check| check.condition.as_ref()) {
        walk::any(&compiled.policy, condition, &mut look);
    }
    found
}

/// `Sunday 00:00 Europe/Berlin, in 14 min`; with the date when it is more than six days away.
fn moment(at: Time, now: Time, zone: Option<jiff::tz::TimeZone>) -> String {
    let zone = zone.unwrap_or(jiff::tz::TimeZone::UTC);
    let name = zone.iana_name().unwrap_or("UTC").to_owned();
    let shown = jiff::Timestamp::from_microsecond(at.0).map(|at| {
        let pattern = if (at.as_microsecond() - now.0) / DAY < 6 { "%A %H:%M" } else { "%A %Y-%m-%d %H:%M" };
        at.to_zoned(zone).strftime(pattern).to_string()
    });
    let away = super::text::age(at.0.saturating_sub(now.0));
    format!("{} {name}, in {away}", shown.unwrap_or_default())
}

/// What a pod comes to that a gate lets in, in a few words.
pub(crate) fn outlook(explanation: &Explanation) -> String {
    match (&explanation.refused_before_nodes, explanation.fits.len(), explanation.nodes) {
        (Some((plugin, reason)), ..) => format!("refused by {plugin} before nodes are evaluated: {reason}"),
        (None, 0, 0) => "the cluster has no nodes".to_owned(),
        (None, 0, 1) => format!("the only node does not fit: {}", cause(explanation, "")),
        (None, 0, nodes) => format!("none of {} fits: {}", nodes_in_words(nodes), cause(explanation, "")),
        (None, 1, nodes) => format!("1 of {} fits", nodes_in_words(nodes)),
        (None, fits, nodes) => format!("{} of {} fit", count(fits), nodes_in_words(nodes)),
    }
}

fn nodes_in_words(nodes: usize) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", count(nodes)) }
}

/// Why a gate holds a pod, and when time alone opens it, in words. `None`: nothing holds it.
pub(crate) fn held_because(
    framework: &Arc<Framework>,
    snapshot: &Snapshot,
    pod: &Arc<PodInfo>,
    now: Time,
) -> Option<HeldBecause> {
    let excepting = |_: &[Exempted]| None;
    let question = Question { framework, snapshot, pod, now, trials: 0, excepting: &excepting };
    let held = held(&question)?;
    let policies = of_profile(framework);
    let zone = policies.get(&held.plugin).and_then(|policy| zone(policy));
    let gates: Vec<&str> = pod.scheduling_gates.iter().map(|gate| gate.as_str()).collect();
    let reason = if gates.is_empty() { held.reason } else { format!("scheduling gate {}", gates.join(", ")) };
    Some(HeldBecause { reason, at: held.opens, opens: held.opens.map(|at| moment(at, now, zone)) })
}

/// Why a gate holds a pod.
#[derive(Clone)]
pub(crate) struct HeldBecause {
    pub(crate) reason: String,
    /// When time alone opens it.
    pub(crate) at: Option<Time>,
    /// That instant in words.
    pub(crate) opens: Option<String>,
}

impl HeldBecause {
    /// `batch starts at the weekend; opens Saturday 00:00 Europe/Berlin, in 2 d`
    pub(crate) fn words(&self) -> String {
        match &self.opens {
            Some(opens) => format!("{}; opens {opens}", self.reason),
            None => self.reason.clone(),
        }
    }
}

/// A day in microseconds.
const DAY: i64 = 86_400_000_000;

impl Gated {
    /// Everything below the verdict.
    pub(super) fn text(&self, sources: &SourceMap, all: bool, out: &Output) -> String {
        let mut text = String::new();
        for gate in &self.gates {
            refusals::heading(gate, None, out, &mut text);
            refusals::body(gate, sources, out, &mut text);
        }
        if !self.scheduling_gates.is_empty() {
            text.push_str("\n  The pod enters the queue when the controllers that set its scheduling gates remove them.\n");
        }
        if let Some((_, when)) = &self.opens {
            let _ = writeln!(text, "\n  Opens {}.", out.paint(Style::Strong, when));
        }
        let _ = writeln!(text, "\n  In the queue: {}.", out.part(&outlook(&self.then)));
        text.push_str(&super::text::body(&self.then, false, all, out));
        text
    }

    /// The next command where nothing is suggested.
    pub(super) fn next(&self, pod: &PodInfo, out: &Output) -> Vec<(String, &'static str)> {
        let file = self.gates.first().and_then(|gate| gate.place.rsplit_once(':'));
        match file.filter(|(file, _)| Path::new(file).exists()) {
            Some((file, _)) => vec![(format!("{} plan {}", out.program, quoted(file)), "")],
            None => {
                let (name, namespace) = (quoted(&pod.name), quoted(&pod.namespace));
                vec![(format!("kubectl get pod {name} -n {namespace} -o yaml"), "")]
            }
        }
    }

    pub(super) fn json(&self, sources: &SourceMap) -> Value {
        let gates: Vec<Value> =
            self.gates.iter().map(|gate| refusals::to_json(gate, None, sources)).collect();
        let opens = self.opens.as_ref().and_then(|(at, _)| jiff::Timestamp::from_microsecond(at.0).ok());
        json!({
            "by": self.by, "reason": self.reason, "gates": gates,
            "schedulingGates": self.scheduling_gates, "opens": opens.map(|at| at.to_string()),
            "then": outlook(&self.then),
        })
    }
}
