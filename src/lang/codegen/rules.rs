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
use crate::lang::analysis::faults::sources_of_faults;
use crate::lang::codegen::closures::{BoolFn, IntFn, ValueFn};
use crate::lang::codegen::scores::{Column, Raw};
use crate::lang::syntax::ast::{Normalize, OnError, WriteVerb};
use crate::lang::typed::{
    Check, Expr, GroupId, LetId, Missing, Policy, PrefilterStatement, Reason, Score, Wait, Write,
};
use crate::lang::types::value::{Fault, Value};
use crate::model::{NodeId, NodeSet, Symbol, bits};
use std::sync::Arc;

/// A let with `missing`: decided before the statements of the policy run.
pub struct Guard {
    /// Which let.
    pub id: LetId,
    /// Its value.
    pub value: ValueFn,
    /// What its absence means.
    pub missing: Missing,
}

/// A condition that refuses.
pub struct CompiledCheck {
    /// What was written, for the reason's holes and details.
    pub check: Check,
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
        !self.check.reads.depends_on_nodes()
    }

    /// Why.
    pub fn reason(&self) -> &Reason {
        &self.check.reason
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
pub struct CompiledGive {
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
    pub guards: Vec<Guard>,
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

/// Lowers all statements of a policy.
pub fn lower(policy: &Policy) -> Statements {
    let mut lowering = Lowering::new(policy);
    lowering.faults = !sources_of_faults(policy).is_empty();
    let mut inputs = ColumnInputs::default();
    // After a fault the policy applies, unless faults are ignored.
    let applies = policy.narrows().chain(&policy.modes.when).map(|condition| {
        fallible(&mut lowering, condition, policy.on_error, policy.on_error != OnError::Ignore)
    });
    let applies = applies.collect();
    let guards = policy
        .lets
        .iter()
        .enumerate()
        .filter_map(|(at, of)| {
            let missing = of.missing.clone()?;
            let value = fallible_value(&mut lowering, &of.value, policy.on_error);
            Some(Guard { id: LetId(at as u32), value, missing })
        })
        .collect();
    let gates = policy.gates.iter().map(|check| once(&mut lowering, check)).collect();
    let queue = policy.queue.as_ref().map(|queue| {
        let keys = queue.keys.iter();
        keys.map(|key| CompiledKey { descending: key.descending, value: lowering.value(&key.value) })
            .collect()
    });
    let prefilters = lowering.simulated(|lowering| {
        policy
            .prefilters
            .iter()
            .flat_map(|prefilter| &prefilter.statements)
            .map(|statement| match statement {
                PrefilterStatement::Check(check) => CompiledPrefilter::Check(Box::new(once(lowering, check))),
                PrefilterStatement::Only(only) => CompiledPrefilter::Only(CompiledOnly {
                    nodes: fallible_value(lowering, &only.nodes, only.on_error),
                    when: only.when.as_ref().map(|when| fallible(lowering, when, only.on_error, false)),
                    on_error: only.on_error,
                }),
            })
            .collect()
    });
    let reserves = policy
        .reserves
        .iter()
        .map(|reserve| CompiledReserve {
            checks: reserve.checks.iter().map(|check| once(&mut lowering, check)).collect(),
            writes: reserve.writes.iter().map(|write| writing(&mut lowering, write)).collect(),
        })
        .collect();
    let permits = policy
        .permits
        .iter()
        .map(|permit| CompiledPermit {
            checks: permit.checks.iter().map(|check| once(&mut lowering, check)).collect(),
            waits: permit.waits.iter().map(|wait| waiting(&mut lowering, policy, wait)).collect(),
        })
        .collect();
    let preempt = lowering.simulated(|lowering| policy.preempt.as_ref().map(|of| preempt(lowering, of)));
    let acts = acts(&mut lowering, policy);
    let filters = lowering.hoist(true, |lowering| {
        policy
            .filters
            .iter()
            .map(|filter| CompiledFilter {
                name: Symbol::new(&filter.name),
                checks: filter.checks.iter().map(|check| of_a_node(lowering, check, &mut inputs)).collect(),
            })
            .collect()
    });
    let scores = lowering.hoist(true, |lowering| {
        policy.scores.iter().map(|score| scoring(lowering, score, &mut inputs)).collect()
    });
    let registers = lowering.finish();
    Statements {
        applies,
        guards,
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

/// A check that runs once per pod.
pub(super) fn once(lowering: &mut Lowering<'_>, check: &Check) -> CompiledCheck {
    let refuses = refusal(lowering, check);
    let constant = check.reason.constant().map(|text| Symbol::new(text));
    let may_fail = check.condition.as_ref().is_some_and(|condition| lowering.may_fail(condition));
    CompiledCheck { check: check.clone(), refuses, range: RangeBool::Constant(false), constant, may_fail }
}

/// A check that runs for nodes.
fn of_a_node(lowering: &mut Lowering<'_>, check: &Check, inputs: &mut ColumnInputs) -> CompiledCheck {
    let range = match &check.condition {
        None => RangeBool::Constant(true),
        Some(condition) if lowering.may_fail(condition) => RangeBool::Closure(refusal(lowering, check)),
        Some(condition) => {
            let range = lowering.range_bool(condition, inputs);
            if check.refuses_when { range } else { RangeBool::Not(Box::new(range)) }
        }
    };
    CompiledCheck { range, ..once(lowering, check) }
}

fn refusal(lowering: &mut Lowering<'_>, check: &Check) -> BoolFn {
    let Some(condition) = &check.condition else { return Box::new(|_| true) };
    let refuses = check.on_error != OnError::Ignore;
    let holds = fallible(lowering, condition, check.on_error, refuses == check.refuses_when);
    if check.refuses_when { holds } else { Box::new(move |env| !holds(env)) }
}

/// A write. It was proved that nothing of it fails.
fn writing(lowering: &mut Lowering<'_>, write: &Write) -> CompiledWrite {
    let entries = write.entries.iter();
    CompiledWrite {
        verb: write.verb,
        entries: entries.map(|entry| (Symbol::new(&entry.key), lowering.value(&entry.value))).collect(),
        when: write.when.as_ref().map(|when| lowering.bool(when)),
    }
}

fn waiting(lowering: &mut Lowering<'_>, policy: &Policy, wait: &Wait) -> CompiledWait {
    let members = wait.group.map(|group| members_of(lowering, policy, group));
    CompiledWait {
        wait: wait.clone(),
        patience: lowering.int(&wait.patience),
        until: fallible(lowering, &wait.until, wait.on_error, false),
        may_fail: lowering.may_fail(&wait.until),
        group: wait.group,
        members,
    }
}

fn scoring(lowering: &mut Lowering<'_>, score: &Score, inputs: &mut ColumnInputs) -> CompiledScore {
    let whole = score.gives.iter().filter_map(|give| give.value.as_ref()).all(|value| value.ty.is_whole());
    let gives = score
        .gives
        .iter()
        .map(|give| CompiledGive {
            value: give.value.as_ref().map(|value| fallible_value(lowering, value, OnError::Reject)),
            range: give.value.as_ref().map(|value| {
                if whole {
                    RangeGive::Whole(lowering.range_number(value, inputs))
                } else if value.ty.is_whole() {
                    RangeGive::Float(RangeFloat::Widen(lowering.range_number(value, inputs)))
                } else {
                    RangeGive::Float(lowering.range_float(value, inputs))
                }
            }),
            when: give.when.as_ref().map(|when| fallible(lowering, when, OnError::Reject, false)),
            range_when: give.when.as_ref().map(|when| lowering.range_bool(when, inputs)),
        })
        .collect();
    CompiledScore {
        name: Symbol::new(&score.name),
        weight: score.weight,
        normalize: score.normalize,
        reversed: score.reversed,
        whole,
        gives,
        may_fail: score.gives.iter().any(|give| {
            let mut parts = give.when.iter().chain(&give.value);
            parts.any(|part| lowering.may_fail(part))
        }),
        on_error: score.on_error,
    }
}
