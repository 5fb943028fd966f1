//! [`Group`]: what a policy says under one name at one place of the scheduling cycle, as one question: does it refuse?
//!
//! Rules without names of their own are one group: their order, and into how many statements a condition is written, does
//! not count.

use crate::formula::{Formula, Formulas};
use crate::outcome::Outcome;
use bayplan_diag::Span;
use bayplan_lang::analysis::faults::may_fail;
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::exempt::{ExemptPods, of_daemon_set};
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::syntax::ast::OnError;
use bayplan_lang::typed::{
    Act, Body, Check, Expr, Missing, Mode, Only, Point, Policy, PolicyPart, Rule, Rules, Statement, Victim,
    Wait,
};
use bayplan_model::PodInfo;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// What rules of a group do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GroupKind {
    /// `applies when`, where it may be a fault.
    Applies,
    /// A `let` with `missing`.
    Missing,
    /// `ledger`
    Ledger,
    /// `gate`
    Gate,
    /// `queue by`
    Queue,
    /// `prefilter`
    Prefilter,
    /// `filter`
    Filter,
    /// `never` of `preempt`: pods that do not preempt.
    Never,
    /// `victim`: pods that may be evicted.
    Victim,
    /// `protect`: pods that may not.
    Protect,
    /// `guard` of `preempt`: nodes on which nothing is evicted.
    EvictionGuard,
    /// `preempt` without a statement.
    Preempt,
    /// `score` and `prefer`
    Score,
    /// `reserve`
    Reserve,
    /// `permit`
    Permit,
    /// `before bind`, `after bind`, `after failure`
    Acts,
}

impl GroupKind {
    pub(crate) fn of(rule: &Rule) -> Option<Self> {
        Some(match &rule.body {
            Body::Applies(_) | Body::Mode(_) | Body::DecidesWhen(_) | Body::Except(_) => return None,
            Body::Missing(_) => Self::Missing,
            Body::Ledger(_) => Self::Ledger,
            Body::Gate(_) => Self::Gate,
            Body::Queue(_) => Self::Queue,
            Body::Prefilter(_) => Self::Prefilter,
            Body::Filter(_) => Self::Filter,
            Body::Preempt => Self::Preempt,
            Body::Never(_) => Self::Never,
            Body::Victim(of) if of.protects => Self::Protect,
            Body::Victim(_) => Self::Victim,
            Body::EvictionGuard(_) => Self::EvictionGuard,
            Body::Score(_) => Self::Score,
            Body::Reserve(_) => Self::Reserve,
            Body::Permit(_) => Self::Permit,
            Body::Acts(_) => Self::Acts,
        })
    }

    /// Whether it refuses a pod, a node or a victim, so that it can be stricter or looser.
    pub fn refuses(self) -> bool {
        !matches!(self, Self::Ledger | Self::Queue | Self::Preempt | Self::Score | Self::Acts)
    }

    /// Whether it refuses pods before a node is chosen.
    pub fn refuses_pods(self) -> bool {
        matches!(self, Self::Applies | Self::Missing | Self::Gate | Self::Prefilter | Self::Filter)
    }

    /// Whether what is refused is a victim and not the pod.
    pub fn is_about_victims(self) -> bool {
        matches!(self, Self::Victim | Self::Protect)
    }
}

/// One side of a comparison: a policy with its rules that decide and all its rules.
pub(crate) struct Side<'p> {
    pub(crate) policy: &'p Policy,
    deciding: PolicyPart,
    whole: PolicyPart,
}

impl<'p> Side<'p> {
    pub(crate) fn new(policy: &'p Policy) -> Arc<Self> {
        Arc::new(Self { policy, deciding: PolicyPart::deciding(policy), whole: PolicyPart::whole(policy) })
    }

    /// The groups, in the order of evaluation.
    pub(crate) fn groups(self: &Arc<Self>) -> Vec<Group<'p>> {
        let mut groups: Vec<Group<'p>> = Vec::new();
        let narrows = self.policy.narrows().any(|condition| may_fail(self.policy, condition));
        if narrows {
            let name = "applies when".to_owned();
            groups.push(Group {
                kind: GroupKind::Applies,
                name,
                rules: Vec::new(),
                side: self.clone(),
                counts: false,
            });
        }
        for rule in &self.policy.rules {
            let Some(kind) = GroupKind::of(rule) else { continue };
            let counts = rule.mode().is_some_and(|mode| mode != Mode::Enforce);
            match groups
                .iter_mut()
                .find(|of| of.kind == kind && of.name == rule.name() && of.counts == counts)
            {
                Some(group) => group.rules.push(rule),
                None => {
                    let name = rule.name().to_owned();
                    groups.push(Group { kind, name, rules: vec![rule], side: self.clone(), counts });
                }
            }
        }
        groups
    }
}

/// Rules of one kind and name.
#[derive(Clone)]
pub(crate) struct Group<'p> {
    pub(crate) kind: GroupKind,
    pub(crate) name: String,
    pub(crate) rules: Vec<&'p Rule>,
    pub(crate) side: Arc<Side<'p>>,
    /// They do not decide.
    pub(crate) counts: bool,
}

impl<'p> Group<'p> {
    /// The policy.
    pub(crate) fn policy(&self) -> &'p Policy {
        self.side.policy
    }

    /// The rules as evaluators see them.
    pub(crate) fn part(&self) -> Rules<'_> {
        Rules::new(self.side.policy, if self.counts { &self.side.whole } else { &self.side.deciding })
    }

    /// Where the first of them is written.
    pub(crate) fn span(&self) -> Span {
        self.rules.first().map_or(self.side.policy.name_span, |rule| rule.span())
    }

    /// How far it may go, in a word.
    pub(crate) fn mode(&self) -> Mode {
        self.rules.first().and_then(|rule| rule.mode()).unwrap_or_default()
    }

    /// The variable for the pod that may be evicted, and what it holds.
    pub(crate) fn victims(&self) -> impl Iterator<Item = &'p Victim> {
        self.rules.iter().filter_map(|rule| match &rule.body {
            Body::Victim(of) => Some(of),
            _ => None,
        })
    }

    /// A number of all that it does: equal numbers mean the same, whatever the cluster is. Reasons do not count.
    pub(crate) fn number(&self, side: usize, formulas: &mut Formulas<'_>) -> u64 {
        let mut hasher = DefaultHasher::new();
        let part = self.part();
        (self.kind, self.counts, self.mode(), part.policy.to_all_pods, part.on_error()).hash(&mut hasher);
        part.narrows().for_each(|condition| formulas.meaning(side, condition).hash(&mut hasher));
        for let_ in &part.policy.lets {
            if let Some(missing) = &let_.missing {
                (std::mem::discriminant(missing), formulas.meaning(side, &let_.value)).hash(&mut hasher);
            }
        }
        for rule in &self.rules {
            rule.head.mode.hash(&mut hasher);
            for leave in part.guard(rule) {
                formulas.meaning(side, &leave.holds).hash(&mut hasher);
            }
            for statement in part.statements(rule) {
                number_of(statement, side, formulas, &mut hasher);
            }
            if let Some(score) = rule.score() {
                (score.weight, score.normalize as u8, score.reversed, score.on_error).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// What differs between two groups beside what their conditions say.
    pub(crate) fn beside(&self, new: &Group<'_>) -> Vec<String> {
        let mut said = Vec::new();
        let all = |of: &Group<'_>| of.policy().to_all_pods;
        if all(self) != all(new) {
            said.push(
                if all(new) { "applies to all pods now" } else { "leaves exempt pods alone now" }.to_owned(),
            );
        }
        let mut formulas = Formulas::new([self.policy(), new.policy()]);
        let mut each = |of: &Group<'_>, side: usize| {
            let (mut waits, mut resolvable, mut writes) = (Vec::new(), Vec::new(), Vec::new());
            for statement in of.rules.iter().flat_map(|rule| of.part().statements(rule)) {
                match statement {
                    Statement::Wait(wait) => {
                        let group = wait.group.map(|id| formulas.group(side, id));
                        waits.push((formulas.meaning(side, &wait.patience), group));
                    }
                    Statement::Check(check) => resolvable.push(check.reason.resolvable),
                    Statement::Victim(victim) => resolvable.push(victim.to_all_pods),
                    Statement::Write(write) => {
                        let when = write.when.as_ref().map(|when| formulas.meaning(side, when));
                        let entries = write
                            .entries
                            .iter()
                            .map(|entry| (entry.path(), entry.removes, formulas.meaning(side, &entry.value)));
                        writes.push((write.verb as u8, when, entries.collect::<Vec<_>>()));
                    }
                    _ => {}
                }
            }
            resolvable.sort_unstable();
            resolvable.dedup();
            (waits, resolvable, writes)
        };
        let (before, now) = (each(self, 0), each(new, 1));
        if before.0 != now.0 {
            said.push("waits for another time, or with another group".to_owned());
        }
        if before.1 != now.1 {
            said.push("another answer to whether evicting pods helps".to_owned());
        }
        if before.2 != now.2 {
            said.push("writes something else".to_owned());
        }
        said
    }

    /// Holds where one of the rules refuses.
    pub(crate) fn refusal(&self, side: usize, formulas: &mut Formulas<'_>) -> Formula {
        let part = self.part();
        let narrows: Vec<Formula> =
            part.narrows().map(|condition| formulas.translate(side, condition)).collect();
        let truth = || Formula::Constant(Outcome::True);
        let all = |fault: bool, narrows: &[Formula]| {
            narrows.iter().map(|of| of.clone().settled(fault)).fold(truth(), Formula::and)
        };
        let applies = all(false, &narrows);
        if self.kind == GroupKind::Applies {
            return match part.on_error() {
                OnError::Ignore => Formula::Constant(Outcome::False),
                _ => all(true, &narrows).and(applies.not()),
            };
        }
        let mut present = truth();
        let mut missing = Formula::Constant(Outcome::False);
        for (value, is_refused) in missing_lets(part) {
            let there = formulas.is_present(side, value);
            let absent = there.clone().settled(false).not();
            // A fault is a refusal with a text of its own.
            let refused = match is_refused {
                true => absent,
                false => there.clone().settled(true).and(absent),
            };
            missing = missing.or(present.clone().and(refused));
            present = present.and(there.settled(false));
        }
        if self.kind == GroupKind::Missing {
            return applies.and(missing);
        }
        let mut refused = Formula::Constant(Outcome::False);
        for rule in &self.rules {
            let guard = part.guard(rule).map(|leave| formulas.translate(side, &leave.holds).settled(false));
            let left_alone =
                guard.collect::<Vec<_>>().into_iter().fold(Formula::Constant(Outcome::False), Formula::or);
            let mut any = Formula::Constant(Outcome::False);
            for statement in part.statements(rule) {
                any = any.or(statement_refusal(statement, side, formulas));
            }
            refused = refused.or(left_alone.not().and(any));
        }
        // A pod that no rule names may not be evicted: of victims it is the pods that are left over.
        match self.kind {
            GroupKind::Victim => applies.and(present).and(refused).not(),
            _ => applies.and(present).and(refused),
        }
    }

    /// Whether the policy applies to a pod, by the reference evaluator.
    pub(crate) fn applies(&self, context: EvalContext<'_>) -> bool {
        let part = self.part();
        let mut evaluator = Evaluator::new(part.policy, context);
        part.narrows().all(|condition| evaluator.holds(condition))
    }

    /// Whether the policy leaves a pod alone whatever it says, as `plugins::policy` does.
    pub(crate) fn exempts(&self, context: EvalContext<'_>, exempt: &ExemptPods) -> bool {
        !self.policy().to_all_pods
            && (exempt.exempts(context.pod) || of_daemon_set(context.pod, context.snapshot))
    }

    /// Whether one of the rules refuses, by the reference evaluator.
    pub(crate) fn refuses(&self, context: EvalContext<'_>, victim: Option<&Arc<PodInfo>>) -> bool {
        if self.kind.refuses_pods() && self.exempts(context, &ExemptPods::default()) {
            return false;
        }
        let part = self.part();
        let mut evaluator = Evaluator::new(part.policy, context);
        let (mut applies, mut failed) = (true, false);
        for condition in part.narrows() {
            let value = evaluator.value(condition);
            failed |= value.is_fault();
            applies &= value.is_fault() || value.holds();
        }
        let applies_surely = applies && !failed;
        if self.kind == GroupKind::Applies {
            return applies && failed && part.on_error() != OnError::Ignore;
        }
        let mut missing = None;
        for (value, is_refused) in missing_lets(part) {
            let value = evaluator.value(value);
            if value.is_absent() || value.is_fault() {
                missing = Some(is_refused || value.is_fault());
                break;
            }
        }
        if self.kind == GroupKind::Missing {
            return applies_surely && missing == Some(true);
        }
        if let Some(victim) = victim {
            self.victims().for_each(|of| evaluator.bind_pod(of.slot, victim));
        }
        let refused = applies_surely
            && missing.is_none()
            && self.rules.iter().any(|rule| {
                !evaluator.leaves_alone(part, rule)
                    && part
                        .statements(rule)
                        .any(|statement| statement_refuses(statement, &mut evaluator, context))
            });
        refused != (self.kind == GroupKind::Victim)
    }
}

/// The lets whose absence ends the evaluation, and whether it refuses.
fn missing_lets<'p>(part: Rules<'p>) -> impl Iterator<Item = (&'p Expr, bool)> {
    let rules = part.iter().filter(|rule| rule.point() == Point::Applies);
    rules.flat_map(move |rule| part.statements(rule)).filter_map(|statement| match statement {
        Statement::Missing(of, missing) => Some((&of.value, !matches!(missing, Missing::Skip))),
        _ => None,
    })
}

/// A condition with what a fault of it does, as a refusal.
fn check_refusal(check: &Check, side: usize, formulas: &mut Formulas<'_>) -> Formula {
    let fault = check.on_error != OnError::Ignore;
    match &check.condition {
        None => Formula::Constant(Outcome::True),
        Some(condition) if check.refuses_when => formulas.translate(side, condition).settled(fault),
        Some(condition) => formulas.translate(side, condition).settled(!fault).not(),
    }
}

fn statement_refusal(statement: Statement<'_>, side: usize, formulas: &mut Formulas<'_>) -> Formula {
    match statement {
        Statement::Check(check) => check_refusal(check, side, formulas),
        Statement::Wait(Wait { until, on_error, .. }) => {
            formulas.translate(side, until).settled(*on_error == OnError::Ignore).not()
        }
        Statement::Only(Only { nodes, when, on_error, .. }) => {
            let fault = *on_error != OnError::Ignore;
            let left = formulas.is_named_node(side, nodes).settled(!fault).not();
            match when {
                Some(when) => formulas.translate(side, when).settled(fault).and(left),
                None => left,
            }
        }
        Statement::Victim(Victim { condition, .. }) => formulas.translate(side, condition).settled(false),
        _ => Formula::Constant(Outcome::False),
    }
}

fn statement_refuses(
    statement: Statement<'_>,
    evaluator: &mut Evaluator<'_, '_>,
    context: EvalContext<'_>,
) -> bool {
    match statement {
        Statement::Check(check) => {
            let fault = check.on_error != OnError::Ignore;
            let Some(condition) = &check.condition else { return true };
            let value = evaluator.value(condition);
            if value.is_fault() { fault } else { value.holds() == check.refuses_when }
        }
        Statement::Wait(Wait { until, on_error, .. }) => {
            let value = evaluator.value(until);
            if value.is_fault() { *on_error != OnError::Ignore } else { !value.holds() }
        }
        Statement::Only(Only { nodes, when, on_error, .. }) => {
            let fault = *on_error != OnError::Ignore;
            let holds = when.as_ref().map(|when| evaluator.value(when));
            match holds {
                Some(value) if value.is_fault() => return fault,
                Some(value) if !value.holds() => return false,
                _ => {}
            }
            let names = evaluator.value(nodes);
            let Some(node) = context.node else { return false };
            let name = node.name().as_str();
            match names.elements() {
                _ if names.is_fault() => fault,
                Some(names) => !names.iter().any(|of| of.as_str() == Some(name)),
                None => true,
            }
        }
        Statement::Victim(Victim { condition, .. }) => evaluator.holds(condition),
        _ => false,
    }
}

fn number_of(statement: Statement<'_>, side: usize, formulas: &mut Formulas<'_>, hasher: &mut DefaultHasher) {
    std::mem::discriminant(&statement).hash(hasher);
    let condition = statement.condition().map(|of| formulas.meaning(side, of));
    let value = statement.value().map(|of| formulas.meaning(side, of));
    (condition, value).hash(hasher);
    statement.written().for_each(|of| formulas.meaning(side, of).hash(hasher));
    match statement {
        Statement::Check(of) => (of.refuses_when, of.on_error).hash(hasher),
        Statement::Only(of) => of.on_error.hash(hasher),
        Statement::Wait(of) => {
            of.on_error.hash(hasher);
            of.group.map(|id| formulas.group(side, id)).hash(hasher);
        }
        Statement::Victim(of) => (of.protects, of.to_all_pods).hash(hasher),
        Statement::Key(of) => of.descending.hash(hasher),
        Statement::Missing(_, missing) => std::mem::discriminant(missing).hash(hasher),
        Statement::Write(of) => {
            (of.verb as u8).hash(hasher);
            of.entries.iter().for_each(|entry| (entry.path(), entry.removes).hash(hasher));
        }
        Statement::Act(Act { does, .. }) => formulas.act(side, does, hasher),
        Statement::Condition(_) | Statement::LedgerKey(_) | Statement::Add(_) | Statement::Give(_) => {}
    }
}
