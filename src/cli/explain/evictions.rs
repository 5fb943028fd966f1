//! Which pods could be evicted for a pod that waits, and which are protected by which rule, until when: where policies of
//! its profile have rules about evictions. Below the line about preemption, and in JSON.

use super::node::Subject;
use super::{refusals, tree};
use crate::cli::output::Output;
use crate::diag::SourceMap;
use crate::dry_run::told::{Told, about_victim, applying, guards, never_evicts};
use crate::framework::{Cycle, Framework, PluginId, Silent, Simulation, Verdict};
use crate::lang::analysis::clock::next_change_of;
use crate::lang::eval::context::{EvalContext, MovedPods};
use crate::lang::eval::trace::{Tracer, ValueTrace};
use crate::lang::policy_set::place;
use crate::lang::typed::{Body, Statement, Victim};
use crate::model::{NodeInfo, PodInfo, Time};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many pods a line names.
const NAMED: usize = 3;

/// Of how many pods the values of conditions are kept.
const TRACED: usize = 50;

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
    /// The condition of the rule, of the first pods.
    condition: Option<ValueTrace>,
}

/// A pod that a rule protects.
struct Protected {
    of: Placed,
    by: Rule,
    /// When time alone ends it.
    until: Option<Time>,
    /// The condition of the rule, of the first pods.
    condition: Option<ValueTrace>,
}

/// What the rules say about the pods on all nodes.
pub(super) struct Evictions {
    /// Whether rules, and not priorities, say which pods may be evicted.
    pub(super) names_victims: bool,
    /// Whether the pods were evicted.
    evicted: bool,
    candidates: Vec<Candidate>,
    protected: Vec<Protected>,
    /// Why the pod evicts no other pod; or the guards that do not hold without the pods that may be evicted, each on the
    /// first node on which it keeps them.
    keeps: Vec<(Option<String>, Told)>,
}

/// What rules say of one pod on a node, as [`on_node`] tells it.
pub(crate) struct EvictionAccount {
    /// The pod; `None`: the node, or evictions as such.
    pod: Option<String>,
    told: Told,
}

impl Evictions {
    /// `None`: no policy has rules about evictions for this pod.
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
        let never = never_evicts(subject.policies, subject.context());
        let mut keeps: Vec<(Option<String>, Told)> = never.into_iter().map(|told| (None, told)).collect();
        if !keeps.is_empty() {
            return Some(Self { names_victims, evicted: false, candidates, protected, keeps });
        }
        let has_guards = subject
            .policies
            .iter()
            .any(|policy| policy.policy.rules.iter().any(|rule| matches!(rule.body, Body::EvictionGuard(_))));
        for node in subject.snapshot.nodes() {
            let mut trial = Simulation::new(&**framework, handle, node);
            let mut moved = MovedPods::default();
            // A rule that fails ends the search: the message of the attempt says so.
            let _ = rules.take_off(node, &mut trial, &mut |simulated, pod, verdict| {
                let context = EvalContext { moved: &moved, ..subject.context() }.on(simulated);
                match verdict {
                    Verdict::Other => {}
                    Verdict::Candidate => {
                        let trace = candidates.len() < TRACED;
                        let (by, condition) = naming(subject, pod, context, trace).unzip();
                        let condition = condition.flatten();
                        candidates.push(Candidate { of: Placed::of(pod, node), by, condition });
                        moved.remove(pod);
                    }
                    Verdict::Protected(by) => {
                        let mut by = rule(subject, framework, by, pod, context);
                        by.condition = by.condition.filter(|_| protected.len() < TRACED);
                        protected.push(Protected { of: Placed::of(pod, node), ..by });
                    }
                }
            });
            if !has_guards || moved.is_empty() {
                continue;
            }
            let (_, simulated) = trial.view();
            let context = EvalContext { moved: &moved, ..subject.context() }.on(simulated);
            for told in guards(subject.policies, context) {
                if !keeps.iter().any(|(_, known)| known.place == told.place) {
                    keeps.push((Some(node.name().to_string()), told));
                }
            }
        }
        Some(Self { names_victims, evicted: false, candidates, protected, keeps })
    }

    /// Only these pods, which were evicted.
    pub(super) fn of_victims(mut self, victims: &[String]) -> Self {
        self.candidates.retain(|of| victims.contains(&of.of.pod));
        self.protected.clear();
        self.keeps.clear();
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

    /// The rules that keep all pods, with their values.
    pub(super) fn text(&self, sources: &SourceMap, out: &Output) -> String {
        let mut text = String::new();
        for (node, told) in &self.keeps {
            refusals::heading(told, node.as_deref(), out, &mut text);
            refusals::body(told, sources, out, &mut text);
        }
        text
    }

    /// The rules that keep pods as JSON, with the names of all pods.
    pub(super) fn json(&self, sources: &SourceMap) -> Value {
        let keeps: Vec<Value> =
            self.keeps.iter().map(|(node, told)| refusals::to_json(told, node.as_deref(), sources)).collect();
        let protected: Vec<Value> = self
            .protected
            .iter()
            .map(|of| {
                json!({
                    "pod": of.of.pod, "node": of.of.node, "policy": of.by.policy, "place": of.by.place,
                    "until": of.until.map(|until| until.to_rfc3339()),
                    "condition": of.condition.as_ref().map(|shown| tree::to_json(sources, shown)),
                })
            })
            .collect();
        let candidates: Vec<Value> = self
            .candidates
            .iter()
            .map(|Candidate { of, by, condition }| {
                let (policy, place) = (by.as_ref().map(|by| &by.policy), by.as_ref().map(|by| &by.place));
                let condition = condition.as_ref().map(|shown| tree::to_json(sources, shown));
                json!({"pod": of.pod, "node": of.node, "policy": policy, "place": place, "condition": condition})
            })
            .collect();
        json!({"mayBeEvicted": candidates, "protected": protected, "keeps": keeps})
    }
}

/// The rule of a policy that says of a pod that it may be evicted, and its condition.
fn naming(
    subject: &Subject<'_>,
    pod: &PodInfo,
    context: EvalContext<'_>,
    trace: bool,
) -> Option<(Rule, Option<ValueTrace>)> {
    applying(subject.policies, context).into_iter().find_map(|policy| {
        let mut tracer = Tracer::of_victim(policy.enforced(), false, pod, context);
        let found = tracer.find(|found| found.decides)?;
        let place = place(&subject.setup.policies.sources, found.statement.span());
        let condition = if trace { tracer.condition(&found) } else { None };
        Some((Rule { policy: policy.name().to_owned(), place }, condition))
    })
}

/// What rules about evictions say of a node and its pods, for `--node`: each pod with the earlier ones gone, then the guards.
pub(super) fn on_node(
    subject: &Subject<'_>,
    framework: &Arc<Framework>,
    node: NodeInfo<'_>,
) -> Vec<EvictionAccount> {
    let policies = || applying(subject.policies, subject.context()).into_iter();
    let speaking: Vec<_> = policies().filter(|policy| policy.policy.evicts()).collect();
    if speaking.is_empty() {
        return Vec::new();
    }
    let never = never_evicts(subject.policies, subject.context());
    if !never.is_empty() {
        return never.into_iter().map(|told| EvictionAccount { pod: None, told }).collect();
    }
    let mut found = Vec::new();
    let mut cycle = Cycle::new(Arc::new(subject.pod.clone()), framework.clone(), subject.now);
    // A pod that PreFilter refuses may fit without others.
    let _ = framework.run_pre_filter(&mut cycle, subject.snapshot, &mut Silent);
    let handle = cycle.handle(subject.snapshot);
    let mut rules = framework.preemption_rules(handle);
    let mut trial = Simulation::new(&**framework, handle, node);
    let mut moved = MovedPods::default();
    let _ = rules.take_off(node, &mut trial, &mut |simulated, pod, verdict| {
        let context = EvalContext { moved: &moved, ..subject.context() }.on(simulated);
        for policy in &speaking {
            for protects in [false, true] {
                if protects && !matches!(verdict, Verdict::Protected(_)) {
                    continue;
                }
                if let Some(told) = about_victim(policy, protects, pod, context) {
                    found.push(EvictionAccount { pod: Some(pod.full_name()), told });
                }
            }
        }
        if verdict == Verdict::Candidate {
            moved.remove(pod);
        }
    });
    if !moved.is_empty() {
        let (_, simulated) = trial.view();
        let context = EvalContext { moved: &moved, ..subject.context() }.on(simulated);
        found.extend(
            guards(subject.policies, context).into_iter().map(|told| EvictionAccount { pod: None, told }),
        );
    }
    found
}

impl EvictionAccount {
    /// The lines, after those of the filters of the node.
    pub(super) fn text(&self, sources: &SourceMap, out: &Output, text: &mut String) {
        refusals::heading(&self.told, self.pod.as_deref(), out, text);
        refusals::body(&self.told, sources, out, text);
    }

    /// The account as JSON.
    pub(super) fn json(&self, sources: &SourceMap) -> Value {
        let mut json = refusals::to_json(&self.told, None, sources);
        if let Some(json) = json.as_object_mut() {
            json.remove("node");
            json.insert("pod".to_owned(), json!(self.pod));
        }
        json
    }
}

/// The rule of a policy that protects a pod, and when time alone ends it.
fn rule(
    subject: &Subject<'_>,
    framework: &Framework,
    by: PluginId,
    pod: &PodInfo,
    context: EvalContext<'_>,
) -> Protected {
    let name = framework.plugin_name(by);
    let by = Rule { policy: name.to_owned(), place: String::new() };
    let of = Placed { pod: String::new(), node: String::new() };
    let mut found = Protected { of, by, until: None, condition: None };
    let Some(policy) = subject.policies.get(name) else { return found };
    let rules = policy.enforced();
    let mut tracer = Tracer::of_victim(rules, true, pod, context);
    if let Some(finding) = tracer.find(|found| found.decides)
        && let Statement::Victim(of) = finding.statement
    {
        found.by.place = place(&subject.setup.policies.sources, of.span);
        let condition = rules.condition(finding.rule, finding.statement);
        let of = condition.map(|condition| Victim { condition: condition.into_owned(), ..of.clone() });
        found.until = of.and_then(|of| next_change_of(rules.policy, context, &of, pod, &mut 0));
        found.condition = tracer.condition(&finding);
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
