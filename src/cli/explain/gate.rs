//! Why a pod is kept out of the queue: the gate with its place and values, and when it opens.

use super::node::Subject;
use super::tree;
use crate::cli::output::{Output, Style};
use crate::cli::setup::quoted;
use crate::diag::SourceMap;
use crate::explain::Suggestions;
use crate::explain::changes::{Question, TRIALS};
use crate::explain::gated::gate;
use crate::framework::{Exempted, Framework};
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::trace::{ValueTrace, trace};
use crate::lang::policy_set::{CompiledPolicy, place};
use crate::lang::typed::walk;
use crate::lang::typed::{Expr, ExprKind, Point, Statement};
use crate::model::{PodInfo, Symbol, Time};
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
    gates: Vec<GateStatement>,
    /// The pod's scheduling gates.
    scheduling_gates: Vec<String>,
    /// When it opens, as people say it.
    opens: Option<(Time, String)>,
    pub(super) helps: Suggestions,
}

/// One `gate` statement that holds.
struct GateStatement {
    place: String,
    doc: Option<String>,
    reason: String,
    condition: Option<ValueTrace>,
}

/// Evaluates the gates of a pod that the plugin `by` keeps out.
pub(super) fn gated(subject: &Subject, framework: &Arc<Framework>, by: &Symbol) -> Gated {
    let pod = Arc::new(subject.pod.clone());
    let (snapshot, now) = (subject.snapshot, subject.now);
    let excepting = |of: &[Exempted]| subject.setup.excepting(&pod, of, now);
    let question = Question { framework, snapshot, pod: &pod, now, trials: TRIALS, excepting: &excepting };
    let found = gate(&question);
    let found = found.unwrap_or_default();
    let policy = subject.setup.policies.set.get(by);
    let gates = policy.map(|policy| statements(subject, policy)).unwrap_or_default();
    let zone = policy.and_then(|policy| zone(policy));
    let scheduling_gates: Vec<String> = pod.scheduling_gates.iter().map(|gate| gate.to_string()).collect();
    let reason = match &scheduling_gates[..] {
        [] => found.reason,
        [one] => format!("scheduling gate {one}"),
        several => format!("scheduling gates {}", several.join(", ")),
    };
    let opens = found.opens.map(|at| (at, moment(at, now, zone)));
    Gated { by: by.to_string(), reason, gates, scheduling_gates, opens, helps: found.helps }
}

/// The `gate` statements that hold.
fn statements(subject: &Subject, compiled: &CompiledPolicy) -> Vec<GateStatement> {
    let context = EvalContext::new(subject.pod, subject.snapshot, subject.now);
    let traces = trace(compiled.enforced(), Point::PreEnqueue, context).into_iter();
    let holding = traces.filter(|of| of.finding.refuses());
    let shown = holding.map(|of| {
        let statement = of.finding.statement;
        let doc = if let Statement::Check(check) = statement { check.doc.as_deref() } else { None };
        GateStatement {
            place: place(&subject.setup.policies.sources, statement.span()),
            doc: doc.map(str::to_owned),
            reason: of.reason.unwrap_or_default(),
            condition: of.condition,
        }
    });
    shown.collect()
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
    for condition in compiled.enforced().gates.iter().filter_map(|check| check.condition.as_ref()) {
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

/// A day in microseconds.
const DAY: i64 = 86_400_000_000;

impl Gated {
    /// Everything below the verdict.
    pub(super) fn text(&self, sources: &SourceMap, out: &Output) -> String {
        let mut text = String::new();
        for gate in &self.gates {
            let (by, place) = (out.paint(Style::Name, &self.by), out.paint(Style::Name, &gate.place));
            let _ = writeln!(text, "\n  {by}   {place}");
            for line in gate.doc.iter().flat_map(|doc| doc.lines()) {
                let _ = writeln!(text, "    {}", out.paint(Style::Dim, line));
            }
            let _ = writeln!(text, "    {}", out.part(&gate.reason));
            if let Some(condition) = &gate.condition {
                let _ = write!(text, "\n{}", tree::draw(sources, condition, 4, out));
            }
        }
        if !self.scheduling_gates.is_empty() {
            text.push_str("\n  The pod enters the queue when the controllers that set its scheduling gates remove them.\n");
        }
        if let Some((_, when)) = &self.opens {
            let _ = writeln!(text, "\n  Opens {}.", out.paint(Style::Strong, when));
        }
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
        let gates: Vec<Value> = self
            .gates
            .iter()
            .map(|gate| {
                let condition = gate.condition.as_ref().map(|shown| tree::to_json(sources, shown));
                json!({"place": gate.place, "reason": gate.reason, "condition": condition})
            })
            .collect();
        let opens = self.opens.as_ref().and_then(|(at, _)| jiff::Timestamp::from_microsecond(at.0).ok());
        json!({
            "by": self.by, "reason": self.reason, "gates": gates,
            "schedulingGates": self.scheduling_gates, "opens": opens.map(|at| at.to_string()),
        })
    }
}
