//! Closures of what may fail: an operation of CEL raises its fault in the environment, closures around it go
//! on with any value, and the statement asks at the end. Only what absorbs faults looks at them: `&&`, `||`,
//! `all`, `exists`, and `cel.bind`, whose value counts where it is read.
//!
//! Closures of what cannot fail are those of the policy language.

use super::closures::{BoolFn, ValueFn, as_value, bind};
use super::values::each;
use super::{Env, Lowering, loops};
use crate::analysis::faults::may_fail;
use crate::eval::operations;
use crate::typed::{Expr, ExprKind, Macro, MacroKind, Operation, SlotId};
use crate::types::value::{Cel, Fault, FaultKind, Value};
use bayplan_diag::Span;
use std::sync::Arc;

impl<'a> Env<'a, '_> {
    /// Takes the fault that was raised, if there is one.
    pub fn take_fault(&mut self) -> Option<Arc<Fault>> {
        self.raised.take()
    }

    /// Whether what closures compute is a value: after a fault they go on with any value, which must not be
    /// remembered.
    pub(super) fn is_settled(&self) -> bool {
        self.raised.is_none()
    }

    /// Remembers a fault, unless an earlier one is known.
    fn raise(&mut self, fault: &Arc<Fault>, span: Span) {
        if self.raised.is_some() && fault.kind != FaultKind::Stopped {
            return;
        }
        self.raised = Some(if fault.span == Span::default() {
            Arc::new(Fault { span, ..Fault::clone(fault) })
        } else {
            fault.clone()
        });
    }

    /// A value that may be a fault, which is raised.
    pub(super) fn settled(&mut self, value: Value<'a>, span: Span) -> Value<'a> {
        if let Value::Cel(Cel::Fault(fault)) = &value {
            self.raise(fault, span);
        }
        value
    }
}

/// Runs a part of an expression on its own: its value, and the fault that it raised.
fn alone<'a, 'e, T>(
    env: &mut Env<'a, 'e>,
    part: impl FnOnce(&mut Env<'a, 'e>) -> T,
) -> (T, Option<Arc<Fault>>) {
    let outer = env.raised.take();
    let value = part(env);
    (value, std::mem::replace(&mut env.raised, outer))
}

impl Lowering<'_> {
    /// Whether an expression may be a fault.
    pub(super) fn may_fail(&self, expr: &Expr) -> bool {
        self.faults && may_fail(self.policy, expr)
    }

    /// An operation of CEL.
    pub(super) fn dynamic(&mut self, operation: &Operation, args: &[Expr], span: Span) -> ValueFn {
        if let (Operation::OrElse(held), [first, other]) = (operation, args) {
            let (first, other, held) = (self.value(first), self.value(other), *held);
            return as_value(move |env| match operations::or_else(first(env), held) {
                // An optional may hold a fault.
                Some(value) => env.settled(value, span),
                None if env.raised.is_some() => Value::Absent,
                None => other(env),
            });
        }
        if let (Operation::Demand(kind), [value]) = (operation, args) {
            // The fault is made once: all nodes without the value share it.
            let (value, missing) = (self.value(value), operations::missing(*kind));
            let Value::Cel(Cel::Fault(fault)) = missing else { return value };
            let fault = Arc::new(Fault { span, ..Fault::clone(&fault) });
            return as_value(move |env| {
                let value = value(env);
                if value.is_absent() && env.raised.is_none() {
                    env.raised = Some(fault.clone());
                }
                env.settled(value, span)
            });
        }
        if let (Operation::Valid, [of]) = (operation, args) {
            let of = self.value(of);
            return as_value(move |env| match alone(env, &of) {
                (value, None) => value,
                (_, Some(_)) => Value::Absent,
            });
        }
        if let (Operation::Counted(_), [list]) = (operation, args) {
            let (list, operation) = (self.value(list), operation.clone());
            return as_value(move |env| {
                let (value, fault) = alone(env, &list);
                let value = match fault {
                    Some(fault) => Value::Cel(Cel::Fault(Arc::new(operations::stopping(&fault)))),
                    None => operations::operate(&operation, [value].into_iter().collect()),
                };
                env.settled(value, span)
            });
        }
        let is_held = |at: usize| match operation {
            Operation::Map(optional) => at % 2 == 1 && optional.get(at / 2) == Some(&true),
            _ => false,
        };
        let part = |(at, arg)| if is_held(at) { self.held(arg) } else { self.value(arg) };
        let args: Vec<ValueFn> = args.iter().enumerate().map(part).collect();
        let operation = operation.clone();
        as_value(move |env| {
            let values = each(env, &args);
            if env.raised.is_some() {
                return Value::Absent;
            }
            let value = operations::operate(&operation, values);
            env.settled(value, span)
        })
    }

    /// What an optional in a list or map holds. It may be a fault, which then is the element.
    pub(super) fn held(&mut self, part: &Expr) -> ValueFn {
        let (ExprKind::Dynamic(Operation::Held, inner), span) = (&part.kind, part.span) else {
            return self.value(part);
        };
        let [inner] = inner.as_slice() else { return as_value(|_| Value::Absent) };
        let inner = self.value(inner);
        as_value(move |env| match inner(env) {
            _ if env.raised.is_some() => Value::Absent,
            Value::Optional(Some(held)) if held.is_fault() => Value::clone(&held),
            value => {
                let held = operations::operate(&Operation::Held, [value].into_iter().collect());
                env.settled(held, span)
            }
        })
    }

    /// A let whose value is remembered, a fault too.
    pub(super) fn let_that_may_fail(&mut self, at: usize, inner: ValueFn, span: Span) -> ValueFn {
        as_value(move |env| {
            if let Some(Some(value)) = env.lets.get(at) {
                let value = value.clone();
                return env.settled(value, span);
            }
            let (value, fault) = alone(env, &inner);
            let value = fault.map_or(value, |fault| Value::Cel(Cel::Fault(fault)));
            if let Some(place) = env.lets.get_mut(at) {
                *place = Some(value.clone());
            }
            env.settled(value, span)
        })
    }

    /// `&&` or `||` of sides that may fail: `decisive` on either side decides.
    pub(super) fn absorbing(&mut self, left: &Expr, right: &Expr, decisive: bool) -> BoolFn {
        let sides = [self.bool(left), self.bool(right)];
        Box::new(move |env| {
            let mut first = None;
            for side in &sides {
                let (holds, fault) = alone(env, side);
                match fault {
                    Some(fault) if fault.kind == FaultKind::Stopped => {
                        first = Some(fault);
                        break;
                    }
                    Some(fault) => first = first.or(Some(fault)),
                    None if holds == decisive => return decisive,
                    None => {}
                }
            }
            env.raised = earlier(env.raised.take(), first);
            !decisive
        })
    }

    /// A macro that absorbs faults, or that CEL alone has; `None` for any other one.
    pub(super) fn macro_of_cel(&mut self, of: &Macro, span: Span) -> Option<ValueFn> {
        Some(match (of.kind, &of.condition, &of.body) {
            (MacroKind::Bind, _, Some(body)) => {
                if self.may_fail(&of.over) {
                    self.fault_slots.insert(of.slot);
                }
                let (over, body, slot) = (self.value(&of.over), self.value(body), of.slot);
                as_value(move |env| {
                    let (value, fault) = alone(env, &over);
                    bind(env, slot, fault.map_or(value, |fault| Value::Cel(Cel::Fault(fault))));
                    body(env)
                })
            }
            (MacroKind::TransformMapEntry, condition, Some(body)) => {
                let condition = condition.as_ref().map(|condition| self.bool(condition));
                let (over, body) = (self.value(&of.over), self.value(body));
                let (slot, second) = (of.slot, of.second);
                as_value(move |env| {
                    let mut entries = Vec::new();
                    for element in loops::elements(over(env), second.is_some()) {
                        bind_both(env, slot, second, element);
                        if condition.as_ref().is_none_or(|condition| condition(env)) {
                            entries.extend(body(env).entries().unwrap_or_default().into_owned());
                        }
                    }
                    if env.raised.is_some() {
                        return Value::Absent;
                    }
                    env.settled(operations::unique(entries), span)
                })
            }
            (MacroKind::All | MacroKind::Exists, Some(condition), None) if self.may_fail(condition) => {
                let decisive = of.kind == MacroKind::Exists;
                let (over, condition) = (self.value(&of.over), self.bool(condition));
                let (slot, second) = (of.slot, of.second);
                as_value(move |env| {
                    let mut first = None;
                    for element in loops::elements(over(env), second.is_some()) {
                        bind_both(env, slot, second, element);
                        let (holds, fault) = alone(env, &condition);
                        match fault {
                            Some(fault) if fault.kind == FaultKind::Stopped => {
                                first = Some(fault);
                                break;
                            }
                            Some(fault) => first = first.or(Some(fault)),
                            None if holds == decisive => return Value::Bool(decisive),
                            None => {}
                        }
                    }
                    env.raised = earlier(env.raised.take(), first);
                    Value::Bool(!decisive)
                })
            }
            _ => return None,
        })
    }
}

/// The first of two faults, unless the evaluation stops at the second.
fn earlier(first: Option<Arc<Fault>>, second: Option<Arc<Fault>>) -> Option<Arc<Fault>> {
    let (stops, goes_on) = second.map_or((None, None), |second| match second.kind {
        FaultKind::Stopped => (Some(second), None),
        _ => (None, Some(second)),
    });
    stops.or(first).or(goes_on)
}

fn bind_both<'a>(
    env: &mut Env<'a, '_>,
    slot: SlotId,
    second: Option<SlotId>,
    (item, other): loops::Element<'a>,
) {
    bind(env, slot, item);
    if let Some(slot) = second {
        bind(env, slot, other);
    }
}
