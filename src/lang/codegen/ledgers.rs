//! Ledgers as closures: what a pod adds, for the index, and the sum under a key, for rules.

use super::closures::{BoolFn, ValueFn, as_value};
use super::{Env, Lowering};
use crate::analysis::preconditions::Preconditions;
use crate::eval::amounts::Amount;
use crate::eval::context::EvalContext;
use crate::eval::ledgers::{self, Definition, EntryFn, LedgerIndex};
use crate::typed::{Expr, LedgerId, Policy};
use crate::types::Type;
use crate::types::convert;
use crate::types::value::{Constant, Ordered, Value};
use std::sync::Arc;

/// An empty index for a ledger of a policy.
pub fn index(policy: &Policy, ledger: LedgerId) -> LedgerIndex {
    let precondition = Preconditions::of(policy).narrowest().cloned();
    LedgerIndex::new(Definition::new(policy, ledger, precondition, entry(policy, ledger)))
}

/// The closures of a ledger's expressions.
struct Parts {
    applies: Vec<BoolFn>,
    required_lets: Vec<ValueFn>,
    key: ValueFn,
    adds: Vec<(Option<BoolFn>, ValueFn)>,
}

/// What [`ledgers::entry_of`] defines, compiled.
pub fn entry(policy: &Policy, ledger: LedgerId) -> EntryFn {
    let of = &policy[ledger];
    let mut lowering = Lowering::new(policy);
    let parts = Parts {
        applies: policy.narrows().map(|condition| lowering.bool(condition)).collect(),
        required_lets: of.required_lets.iter().map(|id| lowering.value(&policy[*id].value)).collect(),
        key: lowering.value(&of.key),
        adds: of
            .adds
            .iter()
            .map(|add| (add.when.as_ref().map(|when| lowering.bool(when)), lowering.value(&add.value)))
            .collect(),
    };
    let preconditions = Preconditions::of(policy);
    let (reads_node, ty) = (of.reads_node, of.ty.clone());
    let (slots, lets) = (policy.slots.len(), policy.lets.len());
    Box::new(move |pod, node, snapshot, looked| {
        if pod.is_finished() || !preconditions.may_apply(pod) {
            return None;
        }
        let node = snapshot.node(node);
        if reads_node && node.is_none() {
            return None;
        }
        let context = EvalContext { node, looked, ..EvalContext::new(pod, snapshot, snapshot.time()) };
        let mut env = Env::of_size(context, slots, lets);
        let applies = parts.applies.iter().all(|condition| condition(&mut env));
        // An expression of CEL that fails does not hold.
        if !applies || env.take_fault().is_some() {
            return None;
        }
        let absent = parts.required_lets.iter().any(|value| value(&mut env).is_absent());
        if absent || env.take_fault().is_some() {
            return None;
        }
        let key = (parts.key)(&mut env);
        if !key.equals(&key) {
            return None;
        }
        let mut amount = Amount::nothing(&ty);
        for (when, value) in &parts.adds {
            if when.as_ref().is_none_or(|when| when(&mut env)) {
                amount.add_value(&value(&mut env));
            }
        }
        Some((Ordered(convert::keep(&key)), amount))
    })
}

impl Lowering<'_> {
    /// The sum of a ledger under a key.
    pub(super) fn ledger(&mut self, id: LedgerId, key: &Expr) -> ValueFn {
        let key = self.value(key);
        let of = &self.policy[id];
        let (index, ty, entry) = (of.index.clone(), of.ty.clone(), self.ledger_entry(id));
        as_value(move |env| {
            let key: Value<'_> = key(env);
            let known = ledgers::sum(&env.context, &index, &key);
            known.unwrap_or_else(|| without_index(&env.context, &ty, &entry, &key))
        })
    }

    /// What a pod adds to a ledger; lowered once.
    fn ledger_entry(&mut self, id: LedgerId) -> Arc<EntryFn> {
        if let Some(known) = self.ledger_entries.get(&id) {
            return known.clone();
        }
        let made = Arc::new(entry(self.policy, id));
        self.ledger_entries.insert(id, made.clone());
        made
    }
}

/// The sum of the entries of all pods that have a node.
fn without_index(context: &EvalContext<'_>, ty: &Type, entry: &EntryFn, key: &Value<'_>) -> Constant {
    let mut sum = Amount::nothing(ty);
    for pod in context.pods() {
        let Some((node, _)) = context.placement(pod) else { continue };
        if let Some((of, amount)) = entry(pod, node, context.snapshot, None)
            && of.0.equals(key)
        {
            sum.add(&amount);
        }
    }
    sum.value()
}
