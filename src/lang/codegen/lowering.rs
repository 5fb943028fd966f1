//! [`Lowering`] turns the expressions of a policy into closures, which read an [`Env`].

use super::{Answers, ValueFn, closures, lookups};
use crate::analysis::stage::is_register;
use crate::eval::context::EvalContext;
use crate::eval::ledgers::EntryFn;
use crate::typed::{Expr, ExprKind, LedgerId, Policy, SlotId};
use crate::types::convert;
use crate::types::value::{Constant, Fault, Value};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The environment of closures: the context, the registers of the pod, variables, and computed
/// lets.
pub struct Env<'a, 'e> {
    /// The pod, the node and the cluster.
    pub context: EvalContext<'a>,
    /// The registers of the pod.
    pub registers: &'e [Constant],
    /// Variables of macros and parameters of defs, by slot.
    pub(crate) slots: SmallVec<[Value<'a>; 4]>,
    /// Lets computed for this node, by number.
    pub(crate) lets: SmallVec<[Option<Value<'a>>; 2]>,
    /// What the attempt knows already; `None` outside simulations.
    pub answers: Option<&'e Answers>,
    /// Tables of elements by value, and answers that are the same for many nodes.
    pub tables: lookups::Tables<'a>,
    /// The first fault since it was last taken.
    pub(crate) raised: Option<Arc<Fault>>,
    /// The fault that made the last statement fail.
    pub failed: Option<Arc<Fault>>,
    /// The first fault that a statement was told to ignore, since it was last taken.
    pub ignored: Option<Arc<Fault>>,
}

impl<'a, 'e> Env<'a, 'e> {
    /// An environment for closures of `policy`.
    #[inline]
    pub fn new(policy: &Policy, context: EvalContext<'a>, registers: &'e [Constant]) -> Self {
        Self { registers, ..Self::of_size(context, policy.slots.len(), policy.lets.len()) }
    }

    /// An environment for closures of rules that simulations ask, with what the attempt knows already.
    #[inline]
    pub fn simulating(policy: &Policy, context: EvalContext<'a>, answers: Option<&'e Answers>) -> Self {
        Self { answers, ..Self::of_size(context, 0, policy.lets.len()) }
    }

    /// An environment for closures that read one variable, and no register or let.
    pub(super) fn with_slot(context: EvalContext<'a>, slot: usize) -> Self {
        Self::of_size(context, slot + 1, 0)
    }

    /// An environment for closures that read no register, with so many variables and lets.
    #[inline]
    pub(super) fn of_size(context: EvalContext<'a>, slots: usize, lets: usize) -> Self {
        let (mut variables, mut values) = (SmallVec::new(), SmallVec::new());
        variables.resize_with(slots, || Value::Absent);
        values.resize_with(lets, || None);
        Self {
            context,
            registers: &[],
            slots: variables,
            lets: values,
            answers: None,
            tables: lookups::Tables::default(),
            raised: None,
            failed: None,
            ignored: None,
        }
    }

    /// Gives a variable of an expression a value.
    pub fn bind(&mut self, slot: crate::typed::SlotId, value: Value<'a>) {
        closures::bind(self, slot, value);
    }

    /// Turns to another node and forgets what was computed for the last one.
    pub(crate) fn turn_to(&mut self, node: bayplan_model::NodeInfo<'a>) {
        self.context.node = Some(node);
        self.lets.fill(None);
        self.tables.turn();
    }
}

/// A part of a rule that is computed once per pod.
pub struct Register {
    /// Computes it.
    pub compute: ValueFn,
    /// Where it was written.
    pub span: bayplan_diag::Span,
}

impl std::fmt::Debug for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "register at {:?}", self.span)
    }
}

/// Lowers the expressions of one policy.
pub struct Lowering<'p> {
    pub(super) policy: &'p Policy,
    registers: Vec<Register>,
    /// Registers of lets that were hoisted, by number.
    let_registers: Vec<Option<usize>>,
    /// Whether expressions of the pod alone become registers; off for statements that run once per
    /// pod.
    hoisting: bool,
    /// How many tables and remembered answers the closures have.
    pub(super) tables: usize,
    pub(super) answers: usize,
    /// True inside an expression whose answers are remembered.
    pub(super) remembering: bool,
    /// False where nothing of the policy may be a fault.
    pub(super) faults: bool,
    /// Variables that may hold a fault, which counts where they are read.
    pub(super) fault_slots: FxHashSet<SlotId>,
    /// Whether answers that hold for a whole attempt are kept: in statements that simulations ask.
    pub(super) remembers_steady: bool,
    /// How many of them there are.
    pub(super) steady: usize,
    /// What a pod adds to each ledger that is read.
    pub(super) ledger_entries: BTreeMap<LedgerId, Arc<EntryFn>>,
}

impl<'p> Lowering<'p> {
    /// For the expressions of `policy`.
    pub fn new(policy: &'p Policy) -> Self {
        Self {
            policy,
            registers: Vec::new(),
            let_registers: vec![None; policy.lets.len()],
            hoisting: false,
            tables: 0,
            answers: 0,
            remembering: false,
            faults: policy.cel,
            fault_slots: FxHashSet::default(),
            remembers_steady: false,
            steady: 0,
            ledger_entries: BTreeMap::new(),
        }
    }

    /// The registers that the lowered expressions read.
    pub fn finish(self) -> Vec<Register> {
        self.registers
    }

    /// Lowers with or without registers.
    pub(super) fn hoist<T>(&mut self, on: bool, lower: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.hoisting, on);
        let lowered = lower(self);
        self.hoisting = before;
        lowered
    }

    /// Statements that simulations ask: the attempt keeps what is the same in all of them.
    pub(super) fn simulated<T>(&mut self, lower: impl FnOnce(&mut Self) -> T) -> T {
        self.remembers_steady = true;
        let lowered = lower(self);
        self.remembers_steady = false;
        lowered
    }

    /// The register of an expression that depends on the pod alone; `None` for others and for
    /// constants.
    pub(super) fn register(&mut self, expr: &Expr) -> Option<usize> {
        if !self.hoisting || !is_register(self.policy, expr) {
            return None;
        }
        let let_id = match &expr.kind {
            ExprKind::Let(id) => Some(id.index()),
            _ => None,
        };
        if let Some(register) = let_id.and_then(|id| self.let_registers.get(id).copied().flatten()) {
            return Some(register);
        }
        let compute = self.hoist(false, |this| this.value(expr));
        self.registers.push(Register { compute, span: expr.span });
        let register = self.registers.len() - 1;
        if let Some(place) = let_id.and_then(|id| self.let_registers.get_mut(id)) {
            *place = Some(register);
        }
        Some(register)
    }
}

/// Computes the registers of a pod.
pub fn compute(policy: &Policy, registers: &[Register], context: EvalContext<'_>) -> Vec<Constant> {
    if registers.is_empty() {
        return Vec::new();
    }
    let mut env = Env::new(policy, context, &[]);
    registers.iter().map(|register| convert::keep(&(register.compute)(&mut env))).collect()
}
