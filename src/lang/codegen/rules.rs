//! The statements of a policy as closures and scans: what `plugins::policy` runs at each extension
//! point.
//!
//! One struct per statement, in the order of the typed tree. `plugins::policy` decides when they
//! run and what their results mean to the framework.
//!
//! `onError` is decided here, at the statement, and nowhere else.

use super::acts::{CompiledActs, acts, members_of};
use super::columns::{ColumnInputs, ColumnScan, RangeBool, RangeFloat, RangeNumber};
use super::preempt::{CompiledPreempt, preempt};
use super::{Env, Lowering, Register};
use crate::analysis::faults::sources_of_faults;
use crate::codegen::closures::{BoolFn, IntFn, ValueFn};
use crate::codegen::scores::{Column, Raw};
use crate::syntax::ast::{Normalize, OnError, WriteVerb};
use crate::typed::{
    Body, Check, Expr, GroupId, LetId, Missing, Mode, Point, QueueKey, Reason, Rule, Rules, Score, Statement,
    Wait, Write,
};
use crate::types::value::{Fault, Value};
use bayplan_diag::Span;
use bayplan_model::{NodeId, NodeSet, Symbol, bits};
use std::sync::Arc;

/// A let with `missing`: decided before the statements of the policy run.
pub struct RequiredLet {
    /// Which let.
    pub id: LetId,
    /// Its value.
    pub value: ValueFn,
    /// What its absence means.
    pub missing: Missing,
}

/// A condition that refuses.
pub struct CompiledCheck {
    /// The message, with its holes and details.
    reason: Reason,
    /// What a fault of its condition does.
    pub on_error: OnError,
    /// The statement.
    pub span: Span,
    /// Whether what it reads depends on nodes.
    reads_nodes: bool,
    /// The mode of its rule.
    pub mode: Mode,
    /// Whether it refuses, for one node.
    refuses: BoolFn,
    /// Whether it refuses, for 64 nodes.
    range: RangeBool,
    /// The reason, when it is constant.
    pub constant: Option<Symbol>,
    /// Whether its condition may be a fault: [`Env::failed`] holds it after a refusal.
    pub may_fail: bool,
}

impl CompiledCheck {
    /// Whether it refuses in this environment.
    pub fn refuses(&self, env: &mut Env<'_, '_>) -> bool {
        (self.refuses)(env)
    }

    /// The rows of `word` in `mask` that it refuses.
    pub fn refused(&self, scan: &mut ColumnScan<'_, '_>, word: usize, mask: u64) -> u64 {
        self.range.test(scan, word, mask)
    }

    /// Whether a node that does not exist yet would be refused too. Whether the policy applies never depends on nodes.
    pub fn no_node_helps(&self) -> bool {
        !self.reads_nodes
    }

    /// Why.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }
}

/// A condition that may be a fault.
struct Fallible {
    holds: BoolFn,
    on_error: OnError,
}

impl Fallible {
    /// Whether it holds; where it fails, `failed`, and the environment remembers the fault.
    fn holds(&self, env: &mut Env<'_, '_>, failed: bool) -> bool {
        let holds = (self.holds)(env);
        match env.take_fault() {
            None => holds,
            Some(fault) => {
                failed_or_ignored(env, self.on_error, fault);
                failed
            }
        }
    }
}

/// Keeps the first fault of a statement until the statement takes it.
fn failed_or_ignored(env: &mut Env<'_, '_>, on_error: OnError, fault: Arc<Fault>) {
    let kept = if on_error == OnError::Ignore { &mut env.ignored } else { &mut env.failed };
    kept.get_or_insert(fault);
}

/// A condition whose faults become an answer: `failed`.
pub(super) fn fallible(
    lowering: &mut Lowering<'_>,
    condition: &Expr,
    on_error: OnError,
    failed: bool,
) -> BoolFn {
    let holds = lowering.bool(condition);
    if !lowering.may_fail(condition) {
        return holds;
    }
    let condition = Fallible { holds, on_error };
    Box::new(move |env| condition.holds(env, failed))
}

/// A value whose fault becomes absent, and is remembered.
fn fallible_value(lowering: &mut Lowering<'_>, value: &Expr, on_error: OnError) -> ValueFn {
    let closure = lowering.value(value);
    if !lowering.may_fail(value) {
        return closure;
    }
    super::closures::as_value(move |env| {
        let value = closure(env);
        match env.take_fault() {
            None => value,
            Some(fault) => {
                failed_or_ignored(env, on_error, fault);
                Value::Absent
            }
        }
    })
}

/// A `filter`.
pub struct CompiledFilter {
    /// Its name.
    pub name: Symbol,
    /// Its mode.
    pub mode: Mode,
    /// The statement.
    pub span: Span,
    /// In the order of the text.
    pub checks: Vec<CompiledCheck>,
}

/// `only nodes E [when C]`
pub struct CompiledOnly {
    /// Names of nodes.
    pub nodes: ValueFn,
    /// Evaluated first.
    pub when: Option<BoolFn>,
    /// What a fault of one of them does.
    pub on_error: OnError,
    /// The mode of its rule.
    pub mode: Mode,
}

/// A statement of a `prefilter`.
pub enum CompiledPrefilter {
    /// `reject`
    Check(Box<CompiledCheck>),
    /// `only nodes`
    Only(CompiledOnly),
}

/// A key of `queue by`.
pub struct CompiledKey {
    /// Larger first.
    pub descending: bool,
    /// The key.
    pub value: ValueFn,
}

/// `annotate pod {…} [when C]`, `label pod {…} [when C]`
pub struct CompiledWrite {
    /// Annotations or labels.
    pub verb: WriteVerb,
    /// Keys and values; a key whose value is absent stays as it is.
    pub entries: Vec<(Symbol, ValueFn)>,
    /// Evaluated first.
    pub when: Option<BoolFn>,
}

/// A `reserve`.
pub struct CompiledReserve {
    /// In the order of the text.
    pub checks: Vec<CompiledCheck>,
    /// In the order of the text.
    pub writes: Vec<CompiledWrite>,
}

/// `wait D [for G] until E else "r"`
pub struct CompiledWait {
    /// What was written.
    pub wait: Wait,
    /// The mode of its rule.
    pub mode: Mode,
    /// At most 15 minutes, in microseconds.
    pub patience: IntFn,
    /// What is waited for; a fault does not hold.
    pub until: BoolFn,
    /// Whether it may be a fault: [`Env::failed`] holds it then.
    pub may_fail: bool,
    /// The group that waits together.
    pub group: Option<GroupId>,
    /// The members of that group, as pods.
    pub members: Option<ValueFn>,
}

/// A `permit`.
pub struct CompiledPermit {
    /// In the order of the text.
    pub checks: Vec<CompiledCheck>,
    /// All must be satisfied.
    pub waits: Vec<CompiledWait>,
}

/// `give E [when C]`
pub(crate) struct CompiledGive {
    value: Option<ValueFn>,
    range: Option<RangeGive>,
    when: Option<BoolFn>,
    range_when: Option<RangeBool>,
}

enum RangeGive {
    Whole(RangeNumber),
    Float(RangeFloat),
}

/// A `score` or `prefer`.
pub struct CompiledScore {
    /// Its name.
    pub name: Symbol,
    /// At least 1.
    pub weight: i64,
    /// How raw values become 0 to 100.
    pub normalize: Normalize,
    /// 100 minus that.
    pub reversed: bool,
    /// Whether all values are whole numbers.
    pub whole: bool,
    gives: Vec<CompiledGive>,
    /// Whether a condition or value may be a fault: then it is computed node by node.
    may_fail: bool,
    /// What a fault does: the node is left out, or the attempt is an error.
    pub on_error: OnError,
}

impl CompiledScore {
    /// The raw value of the node of `env`; `None` leaves the node out. The definition.
    pub fn raw(&self, env: &mut Env<'_, '_>) -> Option<Raw> {
        for give in &self.gives {
            let chosen = give.when.as_ref().is_none_or(|when| when(env));
            if env.failed.is_some() {
                return None;
            }
            if chosen {
                let value = give.value.as_ref()?(env);
                return match (self.whole, value) {
                    (true, Value::Int(number)) => Some(Raw::Whole(number)),
                    (_, value) => value.as_float().map(Raw::Float),
                };
            }
        }
        None
    }

    /// The raw values of all `nodes`, over columns.
    pub fn raw_range(&self, scan: &mut ColumnScan<'_, '_>, nodes: &NodeSet) -> Column {
        let rows = nodes.words().len() * 64;
        let mut column = Column::new(self.whole, rows);
        if self.may_fail {
            for (word, mask) in nodes.words().iter().copied().enumerate() {
                for bit in bits(mask) {
                    let row = word * 64 + bit;
                    if scan.turn_to(row)
                        && let Some(raw) = self.raw(&mut scan.env)
                    {
                        column.put(NodeId::from_row(row), raw);
                    }
                    scan.keep_fault(row);
                }
            }
            return column;
        }
        for (word, mask) in nodes.words().iter().copied().enumerate() {
            let mut open = mask;
            for give in &self.gives {
                if open == 0 {
                    break;
                }
                let chosen = match &give.range_when {
                    Some(when) => when.test(scan, word, open),
                    None => open,
                };
                open &= !chosen;
                if chosen == 0 {
                    continue;
                }
                match &give.range {
                    None => {}
                    Some(RangeGive::Whole(number)) => {
                        let mut out = [0; 64];
                        number.fill(scan, word, chosen, &mut out);
                        column.put_wholes(word, chosen, &out);
                    }
                    Some(RangeGive::Float(number)) => {
                        let mut out = [0.0; 64];
                        number.fill(scan, word, chosen, &mut out);
                        column.put_floats(word, chosen, &out);
                    }
                }
            }
        }
        column
    }
}

/// All statements of a policy, lowered.
pub struct Statements {
    /// `applies when`, cut at `&&`.
    pub applies: Vec<BoolFn>,
    /// Lets with `missing`, in the order of the text.
    pub required_lets: Vec<RequiredLet>,
    /// `gate`
    pub gates: Vec<CompiledCheck>,
    /// `queue by`
    pub queue: Option<Vec<CompiledKey>>,
    /// `prefilter`, in the order of the text.
    pub prefilters: Vec<CompiledPrefilter>,
    /// `filter`, in the order of the text.
    pub filters: Vec<CompiledFilter>,
    /// `score` and `prefer`, in the order of the text.
    pub scores: Vec<CompiledScore>,
    /// `reserve`
    pub reserves: Vec<CompiledReserve>,
    /// `permit`
    pub permits: Vec<CompiledPermit>,
    /// `preempt`
    pub preempt: Option<CompiledPreempt>,
    /// What is done before and after the binding, and after a failed attempt.
    pub acts: CompiledActs,
    /// What filters and scores read of the pod, computed once per pod.
    pub registers: Vec<Register>,
    /// The columns that filters and scores read.
    pub inputs: ColumnInputs,
}

/// Lowers the statements of some rules of a policy.
pub fn lower(rules: Rules<'_>) -> Statements {
    let policy = rules.policy;
    let mut lowering = Lowering::new(policy);
    lowering.faults = !sources_of_faults(policy).is_empty();
    let mut inputs = ColumnInputs::default();
    // After a fault the policy applies, unless faults are ignored.
    let on_error = rules.on_error();
    let applies = rules
        .narrows()
        .map(|condition| fallible(&mut lowering, condition, on_error, on_error != OnError::Ignore))
        .collect();
    let required_lets = required_lets(&mut lowering, rules);
    let gates = checks(&mut lowering, rules, Point::PreEnqueue);
    let queue = rules.iter().find_map(|rule| match &rule.body {
        Body::Queue(queue) => Some(queue.keys.iter().map(|key| keyed(&mut lowering, key)).collect()),
        _ => None,
    });
    let prefilters = lowering.simulated(|lowering| prefilters(lowering, rules));
    let (reserves, permits) = (reserves(&mut lowering, rules), permits(&mut lowering, rules));
    let preempt = lowering.simulated(|lowering| preempt(lowering, rules));
    let acts = acts(&mut lowering, rules);
    let filters = lowering.hoist(true, |lowering| filters(lowering, rules, &mut inputs));
    let scores = lowering.hoist(true, |lowering| scores(lowering, rules, &mut inputs));
    let registers = lowering.finish();
    Statements {
        applies,
        required_lets,
        gates,
        queue,
        prefilters,
        filters,
        scores,
        reserves,
        permits,
        preempt,
        acts,
        registers,
        inputs,
    }
}

/// The lets with `missing`.
fn required_lets(lowering: &mut Lowering<'_>, rules: Rules<'_>) -> Vec<RequiredLet> {
    let mut required = Vec::new();
    for rule in rules.iter() {
        let Body::Missing(id) = rule.body else { continue };
        for statement in rules.statements(rule) {
            let Statement::Missing(of, missing) = statement else { continue };
            let value = fallible_value(lowering, &of.value, rules.on_error());
            required.push(RequiredLet { id, value, missing: missing.clone() });
        }
    }
    required
}

/// The checks of the rules of one extension point, which run once per pod.
pub(super) fn checks(lowering: &mut Lowering<'_>, rules: Rules<'_>, point: Point) -> Vec<CompiledCheck> {
    let of = rules.at(point).flat_map(|rule| rule.checks().map(move |check| (rule, check)));
    of.map(|(rule, check)| once(lowering, rules, rule, check)).collect()
}

fn keyed(lowering: &mut Lowering<'_>, key: &QueueKey) -> CompiledKey {
    CompiledKey { descending: key.descending, value: lowering.value(&key.value) }
}

fn prefilters(lowering: &mut Lowering<'_>, rules: Rules<'_>) -> Vec<CompiledPrefilter> {
    let mut all = Vec::new();
    for rule in rules.at(Point::PreFilter) {
        for statement in rules.statements(rule) {
            match statement {
                Statement::Check(check) => {
                    all.push(CompiledPrefilter::Check(Box::new(once(lowering, rules, rule, check))));
                }
                Statement::Only(only) => {
                    let when = rules.condition(rule, statement);
                    all.push(CompiledPrefilter::Only(CompiledOnly {
                        nodes: fallible_value(lowering, &only.nodes, only.on_error),
                        when: when.map(|when| fallible(lowering, &when, only.on_error, false)),
                        on_error: only.on_error,
                        mode: rules.mode(rule),
                    }));
                }
                _ => {}
            }
        }
    }
    all
}

fn reserves(lowering: &mut Lowering<'_>, rules: Rules<'_>) -> Vec<CompiledReserve> {
    let of = |rule| {
        let (mut checks, mut writes) = (Vec::new(), Vec::new());
        for statement in rules.statements(rule) {
            match statement {
                Statement::Check(check) => checks.push(once(lowering, rules, rule, check)),
                Statement::Write(write) => writes.push(writing(lowering, rules, rule, write)),
                _ => {}
            }
        }
        CompiledReserve { checks, writes }
    };
    rules.at(Point::Reserve).map(of).collect()
}

fn permits(lowering: &mut Lowering<'_>, rules: Rules<'_>) -> Vec<CompiledPermit> {
    let of = |rule: &Rule| CompiledPermit {
        checks: rule.checks().map(|check| once(lowering, rules, rule, check)).collect(),
        waits: rule.waits().iter().map(|wait| waiting(lowering, rules, rule, wait)).collect(),
    };
    rules.at(Point::Permit).map(of).collect()
}

fn filters(lowering: &mut Lowering<'_>, rules: Rules<'_>, inputs: &mut ColumnInputs) -> Vec<CompiledFilter> {
    let of = |rule: &Rule| CompiledFilter {
        name: Symbol::new(rule.name()),
        mode: rules.mode(rule),
        span: rule.span(),
        checks: rule.checks().map(|check| of_a_node(lowering, (rules, rule), check, inputs)).collect(),
    };
    rules.at(Point::Filter).map(of).collect()
}

fn scores(lowering: &mut Lowering<'_>, rules: Rules<'_>, inputs: &mut ColumnInputs) -> Vec<CompiledScore> {
    let scores = rules.at(Point::Score).filter_map(|rule| Some((rule, rule.score()?)));
    scores.map(|(rule, score)| scoring(lowering, (rules, rule), score, inputs)).collect()
}

/// A check that runs once per pod.
pub(super) fn once(
    lowering: &mut Lowering<'_>,
    rules: Rules<'_>,
    rule: &Rule,
    check: &Check,
) -> CompiledCheck {
    let condition = rules.condition(rule, Statement::Check(check));
    let refuses = refusal(lowering, check, condition.as_deref());
    let constant = check.reason.constant().map(|text| Symbol::new(text));
    let may_fail = condition.as_ref().is_some_and(|condition| lowering.may_fail(condition));
    CompiledCheck {
        reason: check.reason.clone(),
        on_error: check.on_error,
        span: check.span,
        reads_nodes: check.reads.depends_on_nodes(),
        mode: rules.mode(rule),
        refuses,
        range: RangeBool::Constant(false),
        constant,
        may_fail,
    }
}

/// A check that runs for nodes.
fn of_a_node(
    lowering: &mut Lowering<'_>,
    (rules, rule): (Rules<'_>, &Rule),
    check: &Check,
    inputs: &mut ColumnInputs,
) -> CompiledCheck {
    let condition = rules.condition(rule, Statement::Check(check));
    let range = match condition.as_deref() {
        None => RangeBool::Constant(true),
        Some(condition) if lowering.may_fail(condition) => {
            RangeBool::Closure(refusal(lowering, check, Some(condition)))
        }
        Some(condition) => {
            let range = lowering.range_bool(condition, inputs);
            if check.refuses_when { range } else { RangeBool::Not(Box::new(range)) }
        }
    };
    CompiledCheck { range, ..once(lowering, rules, rule, check) }
}

/// Whether a check refuses, by its condition with the guard.
fn refusal(lowering: &mut Lowering<'_>, check: &Check, condition: Option<&Expr>) -> BoolFn {
    let Some(condition) = condition else { return Box::new(|_| true) };
    let refuses = check.on_error != OnError::Ignore;
    let holds = fallible(lowering, condition, check.on_error, refuses == check.refuses_when);
    if check.refuses_when { holds } else { Box::new(move |env| !holds(env)) }
}

/// A write. It was proved that nothing of it fails.
fn writing(lowering: &mut Lowering<'_>, rules: Rules<'_>, rule: &Rule, write: &Write) -> CompiledWrite {
    let entries = write.entries.iter();
    let when = rules.condition(rule, Statement::Write(write));
    CompiledWrite {
        verb: write.verb,
        entries: entries.map(|entry| (Symbol::new(&entry.key), lowering.value(&entry.value))).collect(),
        when: when.map(|when| lowering.bool(&when)),
    }
}

fn waiting(lowering: &mut Lowering<'_>, rules: Rules<'_>, rule: &Rule, wait: &Wait) -> CompiledWait {
    let members = wait.group.map(|group| members_of(lowering, rules.policy, group));
    let until = rules.condition(rule, Statement::Wait(wait));
    let until = until.as_deref().unwrap_or(&wait.until);
    CompiledWait {
        wait: wait.clone(),
        mode: rules.mode(rule),
        patience: lowering.int(&wait.patience),
        until: fallible(lowering, until, wait.on_error, false),
        may_fail: lowering.may_fail(until),
        group: wait.group,
        members,
    }
}

fn scoring(
    lowering: &mut Lowering<'_>,
    (rules, rule): (Rules<'_>, &Rule),
    score: &Score,
    inputs: &mut ColumnInputs,
) -> CompiledScore {
    let whole = score.gives.iter().filter_map(|give| give.value.as_ref()).all(|value| value.ty.is_whole());
    // The pods that the rule leaves alone get nothing from it.
    let alone = rules.guard(rule).map(|leave| (None, Some(&leave.holds)));
    let gives = score.gives.iter().map(|give| (give.value.as_ref(), give.when.as_ref()));
    let gives: Vec<(Option<&Expr>, Option<&Expr>)> = alone.chain(gives).collect();
    let may_fail =
        gives.iter().any(|(value, when)| when.iter().chain(value).any(|part| lowering.may_fail(part)));
    let mut of_give = |(value, when): (Option<&Expr>, Option<&Expr>)| CompiledGive {
        value: value.map(|value| fallible_value(lowering, value, OnError::Reject)),
        range: value.map(|value| {
            if whole {
                RangeGive::Whole(lowering.range_number(value, inputs))
            } else if value.ty.is_whole() {
                RangeGive::Float(RangeFloat::Widen(lowering.range_number(value, inputs)))
            } else {
                RangeGive::Float(lowering.range_float(value, inputs))
            }
        }),
        when: when.map(|when| fallible(lowering, when, OnError::Reject, false)),
        range_when: when.map(|when| lowering.range_bool(when, inputs)),
    };
    CompiledScore {
        name: Symbol::new(rule.name()),
        weight: score.weight,
        normalize: score.normalize,
        reversed: score.reversed,
        whole,
        gives: gives.into_iter().map(&mut of_give).collect(),
        may_fail,
        on_error: score.on_error,
    }
}
