//! Why a pod of a test is where it is: the rule that made the difference, with its values. From the
//! recorded decision and the traces of the reference evaluator. `cases` calls it, `cli test` prints
//! it.

use super::PodReport;
use super::recorder::{Moment, named};
use super::told::{self, Told, about_victim};
use bayplan_framework::{Cycle, Framework, Silent, Simulation, Verdict};
use bayplan_lang::eval::context::{EvalContext, MovedPods};
use bayplan_lang::eval::trace::{Reach, StatementTrace, Tracer, ValueTrace, trace};
use bayplan_lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan_lang::typed::Point;
use bayplan_lang::types::show;
use bayplan_model::{Change, Placement, PodInfo, Symbol};
use bayplan_scheduler::{NodeDetail, Profiles};
use std::sync::Arc;

/// One cause of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Because {
    /// One sentence, with the rule and its place.
    pub text: String,
    /// The condition or value with its parts; places are in the policies' texts.
    pub tree: Option<ValueTrace>,
}

impl Because {
    fn of(text: String) -> Self {
        Self { text, tree: None }
    }
}

/// The pod to explain, at one moment.
pub(super) struct DecisionView<'a> {
    pub(super) policies: &'a PolicySet,
    pub(super) moment: &'a Moment,
    pub(super) pod: &'a PodInfo,
    /// The plugins of its profile.
    pub(super) framework: Option<&'a Arc<Framework>>,
    /// The nodes of the decision.
    pub(super) nodes: &'a [NodeDetail],
}

impl<'a> DecisionView<'a> {
    /// The first or last decision on a pod.
    pub(super) fn of(
        report: &'a PodReport,
        (policies, profiles): (&'a PolicySet, &'a Profiles),
        moment: Option<&'a Moment>,
        last: bool,
    ) -> Option<Self> {
        let framework = profiles.get(&report.pod.scheduler_name);
        let decision = if last { report.decisions.last() } else { report.decisions.first() };
        let nodes = decision.and_then(|decision| decision.detail.as_ref()).map(|detail| &*detail.nodes);
        let nodes = nodes.unwrap_or_default();
        Some(Self { policies, moment: moment?, pod: &report.pod, framework, nodes })
    }

    fn context(&self) -> EvalContext<'a> {
        EvalContext::new(self.pod, &self.moment.snapshot, self.moment.now)
    }

    fn detail(&self, node: &str) -> Option<&'a NodeDetail> {
        self.nodes.iter().find(|of| of.name == *node)
    }

    fn applies(&self, policy: &CompiledPolicy) -> bool {
        self.why_not_applied(policy).is_none()
    }

    /// The first conjunct of `applies when` that does not hold.
    fn why_not_applied(&self, policy: &CompiledPolicy) -> Option<ValueTrace> {
        let mut tracer = Tracer::new(policy.enforced(), Point::Applies, self.context());
        while let Some(finding) = tracer.next() {
            if finding.decides {
                return tracer.condition(&finding);
            }
        }
        None
    }

    /// Why a node refuses the pod; empty when it does not.
    pub(super) fn refused(&self, node: &str) -> Vec<Because> {
        let Some((plugin, status)) = self.detail(node).and_then(|of| of.refused.as_ref()) else {
            return Vec::new();
        };
        let info = named(&self.moment.snapshot, &Symbol::new(node));
        if let (Some(policy), Some(info)) = (self.policies.get(plugin), info) {
            let mut found = filters(policy, self.context().on(info));
            let refuses =
                |of: &StatementTrace<'_>| of.finding.decides && of.finding.reach == Reach::Evaluated;
            if let Some((rule, first)) = found.find(|(_, of)| refuses(of)) {
                let text = format!("{node} is refused by {rule}{}", told::values(&first.details));
                return vec![Because { text, tree: first.condition }];
            }
            if let Some(told) = told::refused_before_nodes(policy, self.context()) {
                return vec![refuses_pod(told)];
            }
        }
        let message = status.message();
        let room = self.room(node, &message).map_or_else(String::new, |room| format!(" ({room})"));
        vec![Because::of(format!("{}{message}{room}", refused_by(node, plugin)))]
    }

    /// Why a node is not refused for a reason: the rule with that reason, and its values on the node.
    pub(super) fn passed(&self, node: &str, reason: &str) -> Vec<Because> {
        let Some(info) = named(&self.moment.snapshot, &Symbol::new(node)) else { return Vec::new() };
        for policy in self.policies.iter() {
            let mut found = filters(policy, self.context().on(info));
            let Some((rule, of)) = found.find(|(_, of)| of.reason.as_deref() == Some(reason)) else {
                continue;
            };
            if let Some(tree) = self.why_not_applied(policy) {
                let text = format!("{} does not apply to the pod", policy.name());
                return vec![Because { text, tree: Some(tree) }];
            }
            if of.finding.decides {
                continue;
            }
            return vec![Because { text: format!("{node} passed {rule}"), tree: of.condition }];
        }
        self.room(node, reason)
            .map(|room| Because::of(format!("{node} has room: {room}")))
            .into_iter()
            .collect()
    }

    /// The values of the first three rules that let the pod onto a node.
    pub(super) fn let_in(&self, node: &str) -> Vec<Because> {
        let Some(info) = named(&self.moment.snapshot, &Symbol::new(node)) else { return Vec::new() };
        let applying = self.policies.iter().filter(|policy| self.applies(policy));
        let passed = applying.flat_map(|policy| filters(policy, self.context().on(info)));
        let because =
            passed.map(|(rule, of)| Because { text: format!("{node} passed {rule}"), tree: of.condition });
        because.take(3).collect()
    }

    /// The first node that does not give the reason, and why.
    pub(super) fn one_without(&self, reason: &str) -> Vec<Because> {
        let gives = |of: &&NodeDetail| {
            let refused = of.refused.as_ref();
            refused.is_some_and(|(_, status)| status.reasons().any(|known| known == reason))
        };
        let Some(node) = self.nodes.iter().find(|of| !gives(of)) else { return Vec::new() };
        if node.refused.is_none() { self.passed(&node.name, reason) } else { self.refused(&node.name) }
    }

    /// `2 of 8 cpu free, 4 needed`, for a reason that names a resource.
    fn room(&self, node: &str, reason: &str) -> Option<String> {
        let name = Symbol::new(reason.strip_prefix("Insufficient ")?.split(',').next()?);
        let info = named(&self.moment.snapshot, &Symbol::new(node))?;
        let (all, used) = (info.allocatable().get(&name), info.requested().get(&name));
        // `2` cpu, not `2cpu`: the name of the resource follows.
        let show = |amount: i64| {
            let shown = show::resource(&name, amount);
            shown.strip_suffix("cpu").map_or(shown.clone(), str::to_owned)
        };
        let free = show(all.saturating_sub(used).max(0));
        Some(format!("{free} of {} {name} free, {} needed", show(all), show(self.pod.requests.get(&name))))
    }

    /// Why another node won: the score that separates them most.
    pub(super) fn outscored(&self, expected: &str, chosen: &str) -> Vec<Because> {
        let (Some(wanted), Some(won)) = (self.detail(expected), self.detail(chosen)) else {
            return Vec::new();
        };
        let (Some(less), Some(more)) = (wanted.total, won.total) else { return Vec::new() };
        if less == more {
            return vec![Because::of(format!(
                "{expected} and {chosen} are equal, {more} each: it was drawn"
            ))];
        }
        let Some((name, theirs, own)) = decisive(won, wanted) else { return Vec::new() };
        let text =
            format!("{chosen} scores {more}, {expected} {less}; most by {name}: {theirs} against {own}");
        vec![Because::of(text)]
    }

    /// How a policy came to a score.
    pub(super) fn score(&self, node: &str, name: &str) -> Vec<Because> {
        let Some(info) = named(&self.moment.snapshot, &Symbol::new(node)) else { return Vec::new() };
        if self.detail(node).is_some_and(|of| of.refused.is_some()) {
            return self.refused(node);
        }
        for policy in self.policies.iter() {
            let asked = |score: &str| score == name || format!("{}/{score}", policy.name()) == name;
            if !policy.policy.rules_at(Point::Score).any(|rule| asked(rule.name())) {
                continue;
            }
            if !self.applies(policy) {
                return vec![Because::of(format!("{} does not apply to the pod", policy.name()))];
            }
            let mut tracer = Tracer::new(policy.enforced(), Point::Score, self.context().on(info)).reached();
            let taken = tracer.find(|finding| finding.decides && asked(finding.rule.name()));
            let Some(value) = taken.and_then(|finding| finding.statement.value()) else {
                return vec![Because::of(format!("{name} gives {node} nothing"))];
            };
            let tree = tracer.evaluator.tree(value);
            return vec![Because { text: format!("{name} gives {node} {}", tree.value), tree: Some(tree) }];
        }
        Vec::new()
    }

    /// The conditions that waits at permit wait for, with their values.
    pub(super) fn waits(&self, node: Option<&str>) -> Vec<Because> {
        let info = node.and_then(|node| named(&self.moment.snapshot, &Symbol::new(node)));
        let mut found = Vec::new();
        for policy in self.policies.iter().filter(|policy| self.applies(policy)) {
            let context = EvalContext { node: info, ..self.context() };
            for of in trace(policy.enforced(), Point::Permit, context) {
                if let Some(how) = of.finding.waits() {
                    let text = format!("{} {how}", policy.name());
                    found.push(Because { text, tree: of.condition });
                }
            }
        }
        found
    }

    /// The gates with their values.
    pub(super) fn gates(&self) -> Vec<Because> {
        let mut found = Vec::new();
        for policy in self.policies.iter().filter(|policy| self.applies(policy)) {
            for of in told::told(policy, Point::PreEnqueue, self.context()) {
                let (how, values) = match of.refuses {
                    true => ("keeps the pod out", of.values()),
                    false => ("lets the pod in", String::new()),
                };
                let text = format!("the gate of {} {how}, {}{values}", policy.name(), of.place);
                found.push(Because { text, tree: of.condition });
            }
        }
        found
    }

    /// What policies say of the pod before nodes are evaluated.
    fn before_nodes(&self) -> Vec<Because> {
        let mut found = Vec::new();
        for policy in told::concerning(self.policies, self.context()) {
            let of = told::told(policy, Point::Applies, self.context());
            found.extend(of.into_iter().filter(|of| of.refuses || of.fails).map(refuses_pod));
        }
        for policy in self.judging() {
            for of in told::told(policy, Point::PreFilter, self.context()) {
                found.push(match (of.refuses, &of.nodes) {
                    (true, _) => refuses_pod(of),
                    (_, Some(nodes)) => Because {
                        text: format!("{} leaves the nodes {nodes}, {}", of.rule, of.place),
                        tree: of.condition,
                    },
                    _ => Because {
                        text: format!("{} lets the pod pass, {}", of.rule, of.place),
                        tree: of.condition,
                    },
                });
            }
        }
        found
    }

    /// The policies that come to their rules about nodes.
    fn judging(&self) -> Vec<&'a Arc<CompiledPolicy>> {
        let mut applying = told::applying(self.policies, self.context());
        applying.retain(|policy| told::judges_nodes(policy, self.context()));
        applying
    }

    /// The node that an attempt came to: the best of those that fit, the one that was promised to the pod, or the only one.
    fn reached(&self) -> Option<&'a NodeDetail> {
        let fit = || self.nodes.iter().filter(|node| node.refused.is_none());
        let scored = fit().filter(|node| node.total.is_some()).rev().max_by_key(|node| node.total);
        let snapshot = &self.moment.snapshot;
        let nominated = snapshot.nominated_node(&self.pod.key);
        let promised =
            |node: &&NodeDetail| nominated.is_some_and(|id| snapshot.node_by_name(&node.name) == Some(id));
        let only = || fit().next().filter(|_| fit().count() == 1);
        scored.or_else(|| fit().find(promised)).or_else(only)
    }

    /// What `reserve` and `permit` say of the node with the highest score; `all`: also what lets the pod pass.
    pub(super) fn late(&self, all: bool) -> Vec<Because> {
        let Some(best) = self.reached() else { return Vec::new() };
        let snapshot = &self.moment.snapshot;
        let Some(id) = snapshot.node_by_name(&best.name) else { return Vec::new() };
        let Some(pod) = snapshot.pod(&self.pod.key).map(|entry| entry.pod.clone()) else { return Vec::new() };
        let mut after = snapshot.fork();
        after.apply(Change::PodPlaced { pod, node: id, how: Placement::Assumed });
        let Some(info) = after.node(id) else { return Vec::new() };
        let context = EvalContext::new(self.pod, &after, self.moment.now).on(info);
        let mut found = Vec::new();
        for policy in told::applying(self.policies, context) {
            for point in [Point::Reserve, Point::Permit] {
                for of in told::told(policy, point, context) {
                    let (rule, place, name) = (&of.rule, &of.place, &best.name);
                    let how = match (of.refuses, of.waits.is_some()) {
                        (true, _) => "refuses",
                        (_, true) => "waits on",
                        _ if all && of.condition.is_some() => "lets the pod pass on",
                        _ => continue,
                    };
                    let text = format!("{rule} {how} {name}, {place}{}", of.values());
                    found.push(Because { text, tree: of.condition });
                }
            }
        }
        found
    }

    /// What rules about evictions say: why there are none, which pods they name and protect, and which guards do not hold
    /// without the pods that may be evicted.
    pub(super) fn evictions(&self) -> Vec<Because> {
        let context = self.context();
        let policies = || told::applying(self.policies, context).into_iter();
        let speaking: Vec<_> = policies().filter(|policy| policy.policy.evicts()).collect();
        if speaking.is_empty() {
            return Vec::new();
        }
        let never = told::never_evicts(self.policies, context);
        if !never.is_empty() {
            let text =
                |told: &Told| format!("{} refuses evictions, {}{}", told.rule, told.place, told.values());
            return never
                .into_iter()
                .map(|told| Because { text: text(&told), tree: told.condition })
                .collect();
        }
        let Some(framework) = self.framework else { return Vec::new() };
        let Some(pod) = self.moment.snapshot.pod(&self.pod.key).map(|entry| entry.pod.clone()) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut cycle = Cycle::new(pod, framework.clone(), self.moment.now);
        // A pod that PreFilter refuses may fit without others.
        let _ = framework.run_pre_filter(&mut cycle, &self.moment.snapshot, &mut Silent);
        let handle = cycle.handle(&self.moment.snapshot);
        let mut rules = framework.preemption_rules(handle);
        for node in self.moment.snapshot.nodes() {
            let mut trial = Simulation::new(&**framework, handle, node);
            let mut moved = MovedPods::default();
            let _ = rules.take_off(node, &mut trial, &mut |simulated, victim, verdict| {
                let context = EvalContext { moved: &moved, ..context }.on(simulated);
                for policy in &speaking {
                    for protects in [false, true] {
                        let wanted = !protects || matches!(verdict, Verdict::Protected(_));
                        let told =
                            if wanted { about_victim(policy, protects, victim, context) } else { None };
                        let Some(told) = told else { continue };
                        let how = match (&told.error, protects) {
                            (Some(_), _) => "ends with an error for",
                            (None, false) => "names",
                            (None, true) => "protects",
                        };
                        let (rule, pod, on, place) =
                            (&told.rule, victim.full_name(), node.name(), &told.place);
                        let text = format!("{rule} {how} {pod} on {on}, {place}");
                        found.push(Because { text, tree: told.condition });
                    }
                }
                if verdict == Verdict::Candidate {
                    moved.remove(victim);
                }
            });
            if moved.is_empty() {
                continue;
            }
            let (_, simulated) = trial.view();
            let context = EvalContext { moved: &moved, ..context }.on(simulated);
            for told in told::guards(self.policies, context) {
                let (rule, on, place) = (&told.rule, node.name(), &told.place);
                let text = format!("{rule} keeps the pods of {on}, {place}{}", told.values());
                found.push(Because { text, tree: told.condition });
            }
            if found.len() >= RULES_ABOUT_EVICTIONS {
                break;
            }
        }
        found.truncate(RULES_ABOUT_EVICTIONS);
        found
    }

    /// Everything about every node of the decision, for `--explain`.
    pub(super) fn all(&self) -> Vec<Because> {
        let mut found = self.gates();
        found.extend(self.before_nodes());
        let applying = self.judging();
        for node in self.nodes {
            let score = node.total.map_or_else(String::new, |total| format!(", score {total}"));
            match &node.refused {
                Some((plugin, status)) => {
                    let text = format!("{}{}", refused_by(&node.name, plugin), status.message());
                    found.push(Because::of(text));
                }
                None => found.push(Because::of(format!("{} fits{score}", node.name))),
            }
            let Some(info) = named(&self.moment.snapshot, &node.name) else { continue };
            for policy in &applying {
                for of in trace(policy.enforced(), Point::Filter, self.context().on(info)) {
                    let finding = &of.finding;
                    let how = if finding.decides { "refuses" } else { "passes" };
                    let place = policy.place(finding.statement.span());
                    let values = if finding.decides { told::values(&of.details) } else { String::new() };
                    let text = format!("{} {how} {}, {place}{values}", finding.rule.name(), node.name);
                    found.push(Because { text, tree: of.condition });
                }
                let scores = policy.policy.rules_at(Point::Score).filter(|_| node.refused.is_none());
                found.extend(scores.flat_map(|rule| self.score(&node.name, rule.name())));
            }
        }
        found.extend(self.late(true));
        found.extend(self.evictions());
        found
    }
}

/// How many rules about evictions a result names.
const RULES_ABOUT_EVICTIONS: usize = 8;

/// A statement that refuses the pod before nodes are evaluated, or fails.
fn refuses_pod(told: Told) -> Because {
    let how = if told.fails { "ends the attempt with an error" } else { "refuses the pod" };
    let text = format!("{} {how}, {}{}", told.rule, told.place, told.values());
    Because { text, tree: told.condition }
}

/// What the filters of a policy found on a node, each with its name and place.
fn filters<'p>(
    policy: &'p CompiledPolicy,
    context: EvalContext<'_>,
) -> impl Iterator<Item = (String, StatementTrace<'p>)> {
    trace(policy.enforced(), Point::Filter, context).into_iter().map(|of| {
        let place = policy.place(of.finding.statement.span());
        (format!("{}, {place}", of.finding.rule.name()), of)
    })
}

/// A node's total as its parts: plugins, and the single statements of policies, weights included.
/// The parts add up to the total.
pub fn addends(node: &NodeDetail) -> Vec<(String, i64)> {
    let mut found = Vec::new();
    for score in &node.scores {
        let own: i64 = score.parts.iter().map(|part| part.score * part.weight).sum();
        let factor = if own == 0 { 1 } else { score.score / own };
        if score.parts.is_empty() || own * factor != score.score {
            found.push((score.plugin.to_string(), score.score));
            continue;
        }
        for part in &score.parts {
            found.push((format!("{}/{}", score.plugin, part.name), part.score * part.weight * factor));
        }
    }
    found
}

/// What separates two nodes most: a plugin, or one statement of a policy, with what each node has
/// of it.
pub fn decisive(ahead: &NodeDetail, behind: &NodeDetail) -> Option<(String, i64, i64)> {
    let theirs = addends(behind);
    let other = |name: &str| theirs.iter().find(|(known, _)| known == name).map_or(0, |(_, score)| *score);
    let both = addends(ahead).into_iter().map(|(name, score)| {
        let other = other(&name);
        (name, score, other)
    });
    // Of equal differences the first.
    both.reduce(|most, next| if next.1 - next.2 > most.1 - most.2 { next } else { most })
}

/// The beginning of a refusal. Nodes that plugins leave out together have no plugin of their own.
fn refused_by(node: &str, plugin: &str) -> String {
    match plugin {
        "" => format!("{node} is left out: "),
        plugin => format!("{node} is refused by {plugin}: "),
    }
}
