//! Which pods could be evicted for a pod that waits, and which are protected by which rule, until when: where policies of
//! its profile speak of evictions. Below the line about preemption, and in JSON.

use super::node::Subject;
use crate::dry_run::told::applying;
use crate::framework::{Cycle, Framework, PluginId, Silent, Simulation, Verdict};
use crate::lang::analysis::clock::next_change_of;
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::trace::Tracer;
use crate::lang::policy_set::place;
use crate::lang::typed::Statement;
use crate::model::{NodeInfo, PodInfo, Time};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many pods a line names.
const NAMED: usize = 3;

/// A pod on a node.
struct Placed {
    pod: String,
    node: String,
}

impl Placed {
    fn of(pod: &PodInfo, node: NodeInfo<'_>) -> Self {
        Self { pod: pod.full_name(), node: node.name().to_string() }
    }
}

/// The rule that protects a pod.
#[derive(PartialEq, Eq)]
struct Rule {
    policy: String,
    place: String,
}

/// A pod that may be evicted.
struct Candidate {
    of: Placed,
    /// The rule that names it; `None`: its priority does.
    by: Option<Rule>,
}

/// A pod that a rule protects.
struct Protected {
    of: Placed,
    by: Rule,
    /// When time alone ends it.
    until: Option<Time>,
}

/// What the rules say about the pods on all nodes.
pub(super) struct Evictions {
    /// Whether rules, and not priorities, say which pods may be evicted.
    pub(super) names_victims: bool,
    /// Whether the pods were evicted.
    evicted: bool,
    candidates: Vec<Candidate>,
    protected: Vec<Protected>,
}

impl Evictions {
    /// `None`: no policy speaks of evictions for this pod.
    pub(super) fn of(subject: &Subject<'_>, framework: &Arc<Framework>) -> Option<Self> {
        let mut cycle = Cycle::new(Arc::new(subject.pod.clone()), framework.clone(), subject.now);
        // A pod that PreFilter refuses may fit without others.
        let _ = framework.run_pre_filter(&mut cycle, subject.snapshot, &mut Silent);
        let handle = cycle.handle(subject.snapshot);
        let mut rules = framework.preemption_rules(handle);
        if rules.is_empty() {
            return None;
        }
        let names_victims = rules.names_victims();
        let (mut candidates, mut protected) = (Vec::new(), Vec::new());
        for node in subject.snapshot.nodes() {
            let mut trial = Simulation::new(framework, handle, node);
            // A rule that fails ends the search: the message of the attempt says so.
            let _ = rules.take_off(node, &mut trial, &mut |simulated, pod, verdict| match verdict {
                Verdict::Other => {}
                Verdict::Candidate => {
                    let by = naming(subject, pod, simulated);
                    candidates.push(Candidate { of: Placed::of(pod, node), by });
                }
                Verdict::Protected(by) => {
                    let (by, until) = rule(subject, framework, by, pod, simulated);
                    protected.push(Protected { of: Placed::of(pod, node), by, until });
                }
            });
        }
        Some(Self { names_victims, evicted: false, candidates, protected })
    }

    /// Only these pods, which were evicted.
    pub(super) fn of_victims(mut self, victims: &[String]) -> Self {
        self.candidates.retain(|of| victims.contains(&of.of.pod));
        self.protected.clear();
        Self { evicted: true, ..self }
    }

    /// One line for the pods that may be evicted, and one for each rule that protects some.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut naming: Vec<&Option<Rule>> = Vec::new();
        for of in &self.candidates {
            if !naming.contains(&&of.by) {
                naming.push(&of.by);
            }
        }
        for rule in naming {
            let of_rule = || self.candidates.iter().filter(|of| of.by == *rule);
            let named = of_rule().map(|Candidate { of, .. }| format!("{} on {}", of.pod, of.node));
            let by = rule.as_ref().map_or_else(String::new, |of| format!(" by {}, {}", of.policy, of.place));
            let may = if self.evicted { "Evicted" } else { "May be evicted" };
            lines.push(format!("{may}{by}: {}.", listed(named, of_rule().count())));
        }
        let mut rules: Vec<&Rule> = Vec::new();
        for of in &self.protected {
            if !rules.contains(&&of.by) {
                rules.push(&of.by);
            }
        }
        for rule in rules {
            let of_rule = || self.protected.iter().filter(|of| of.by == *rule);
            let named = of_rule().map(|Protected { of, until, .. }| {
                let until = until.map_or_else(String::new, |until| format!(" until {}", until.to_rfc3339()));
                format!("{} on {}{until}", of.pod, of.node)
            });
            let pods = listed(named, of_rule().count());
            lines.push(format!("Protected by {}, {}: {pods}.", rule.policy, rule.place));
        }
        lines
    }

    /// The same for programs, all pods named.
    pub(super) fn json(&self) -> Value {
        let protected: Vec<Value> = self
            .protected
            .iter()
            .map(|of| {
                json!({
                    "pod": of.of.pod, "node": of.of.node, "policy": of.by.policy, "place": of.by.place,
                    "until": of.until.map(|until| until.to_rfc3339()),
                })
            })
            .collect();
        let candidates: Vec<Value> = self
            .candidates
            .iter()
            .map(|Candidate { of, by }| {
                let (policy, place) = (by.as_ref().map(|by| &by.policy), by.as_ref().map(|by| &by.place));
                json!({"pod": of.pod, "node": of.node, "policy": policy, "place": place})
            })
            .collect();
        json!({"mayBeEvicted": candidates, "protected": protected})
    }
}

/// The rule of a policy that says of a pod that it may be evicted.
fn naming(subject: &Subject<'_>, pod: &PodInfo, node: NodeInfo<'_>) -> Option<Rule> {
    let context = EvalContext::new(subject.pod, subject.snapshot, subject.now).on(node);
    applying(subject.policies, context).into_iter().find_map(|policy| {
        let mut tracer = Tracer::of_victim(policy.enforced(), false, pod, context);
        let found = tracer.find(|found| found.decides)?;
        let place = place(&subject.setup.policies.sources, found.statement.span());
        Some(Rule { policy: policy.name().to_owned(), place })
    })
}

/// The rule of a policy that protects a pod, and when time alone ends it.
fn rule(
    subject: &Subject<'_>,
    framework: &Framework,
    by: PluginId,
    pod: &PodInfo,
    node: NodeInfo<'_>,
) -> (Rule, Option<Time>) {
    let name = framework.plugin_name(by);
    let mut found = (Rule { policy: name.to_owned(), place: String::new() }, None);
    let Some(policy) = subject.policies.get(name) else { return found };
    let context = EvalContext::new(subject.pod, subject.snapshot, subject.now).on(node);
    let mut tracer = Tracer::of_victim(&policy.policy, true, pod, context);
    if let Some(Statement::Victim(of)) = tracer.find(|found| found.decides).map(|found| found.statement) {
        found.0.place = place(&subject.setup.policies.sources, of.span);
        found.1 = next_change_of(&policy.policy, context, of, pod, &mut 0);
    }
    found
}

fn listed(all: impl Iterator<Item = String>, count: usize) -> String {
    let named: Vec<String> = all.take(if count > NAMED + 1 { NAMED } else { count }).collect();
    let text = named.join(", ");
    match count - named.len() {
        0 => text,
        others => format!("{text} and {others} others"),
    }
}
