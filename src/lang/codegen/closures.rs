//! One closure per typed expression, one function per type of result: conditions, whole numbers,
//! floats, and values for everything else, whose closures are in `values.rs` and `loops.rs`.
//!
//! The reference evaluator (`eval`) defines the meaning. Nothing here calls it: a property test
//! compares the two implementations.

use super::{Env, Lowering, operators};
use crate::analysis::shape::{self, ResourceAmount};
use crate::typed::{ArithmeticOp, CompareOp, Expr, ExprKind, SlotId};
use crate::types::value::Value;
use crate::types::{Type, arithmetic, convert};
use bayplan_model::{Resource, Symbol};

/// Computes a bool.
pub type BoolFn = Box<dyn Fn(&mut Env<'_, '_>) -> bool + Send + Sync>;
/// Computes a whole number, amounts in base units.
pub type IntFn = Box<dyn Fn(&mut Env<'_, '_>) -> i64 + Send + Sync>;
/// Computes a float.
pub type FloatFn = Box<dyn Fn(&mut Env<'_, '_>) -> f64 + Send + Sync>;
/// Computes any value.
pub type ValueFn = Box<dyn for<'a, 'e> Fn(&mut Env<'a, 'e>) -> Value<'a> + Send + Sync>;

pub(super) fn as_value(
    f: impl for<'a, 'e> Fn(&mut Env<'a, 'e>) -> Value<'a> + Send + Sync + 'static,
) -> ValueFn {
    Box::new(f)
}

impl Lowering<'_> {
    /// A condition.
    pub fn bool(&mut self, expr: &Expr) -> BoolFn {
        if let Some(register) = self.register(expr) {
            return Box::new(move |env| env.registers.get(register).is_some_and(Value::holds));
        }
        if let Some(steady) = self.steady(expr) {
            return Box::new(move |env| steady(env).holds());
        }
        match &expr.kind {
            ExprKind::Constant(constant) => {
                let truth = constant.holds();
                Box::new(move |_| truth)
            }
            ExprKind::Not(inner) => {
                let inner = self.bool(inner);
                Box::new(move |env| !inner(env))
            }
            ExprKind::And(left, right) | ExprKind::Or(left, right) if self.may_fail(expr) => {
                self.absorbing(left, right, matches!(expr.kind, ExprKind::Or(..)))
            }
            ExprKind::And(left, right) => {
                let (left, right) = (self.bool(left), self.bool(right));
                Box::new(move |env| left(env) && right(env))
            }
            ExprKind::Or(left, right) => {
                let (left, right) = (self.bool(left), self.bool(right));
                Box::new(move |env| left(env) || right(env))
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let (condition, then) = (self.bool(condition), self.bool(then));
                let otherwise = self.bool(otherwise);
                Box::new(move |env| if condition(env) { then(env) } else { otherwise(env) })
            }
            ExprKind::Has(inner) => self.has(inner),
            ExprKind::Equal(left, right) if is_plain_whole(left) && is_plain_whole(right) => {
                let (left, right) = (self.int(left), self.int(right));
                Box::new(move |env| left(env) == right(env))
            }
            ExprKind::Equal(left, right) => {
                // A register or a constant is compared in place, without a copy.
                for (side, other) in [(left, right), (right, left)] {
                    if let Some(register) = self.register(side) {
                        let other = self.value(other);
                        return Box::new(move |env| {
                            let other = other(env);
                            env.registers.get(register).is_some_and(|register| other.equals(register))
                        });
                    }
                    if let Some(constant) = shape::constant(self.policy, side) {
                        let constant = convert::interned(constant);
                        let other = self.value(other);
                        return Box::new(move |env| other(env).equals(&constant));
                    }
                }
                let (left, right) = (self.value(left), self.value(right));
                Box::new(move |env| left(env).equals(&right(env)))
            }
            ExprKind::Compare(op, left, right) if is_plain_whole(left) && is_plain_whole(right) => {
                let (left, right) = (self.int(left), self.int(right));
                match op {
                    CompareOp::Less => Box::new(move |env| left(env) < right(env)),
                    CompareOp::LessEqual => Box::new(move |env| left(env) <= right(env)),
                    CompareOp::Greater => Box::new(move |env| left(env) > right(env)),
                    CompareOp::GreaterEqual => Box::new(move |env| left(env) >= right(env)),
                }
            }
            ExprKind::Compare(op, left, right) => {
                let (op, left, right) = (*op, self.value(left), self.value(right));
                Box::new(move |env| operators::holds(op, &left(env), &right(env)))
            }
            ExprKind::In(left, right) => {
                if let Some(found) = self.looked_up(left, right) {
                    return found;
                }
                let (left, right) = (self.value(left), self.value(right));
                Box::new(move |env| {
                    let left = left(env);
                    left.is_in(&right(env))
                })
            }
            _ => {
                let value = self.native(expr);
                Box::new(move |env| value(env).holds())
            }
        }
    }

    fn has(&mut self, expr: &Expr) -> BoolFn {
        if let ExprKind::Resource(resources, name) = &expr.kind {
            let (resources, name) = (self.value(resources), self.value(name));
            return Box::new(move |env| {
                let name = name(env);
                name.is_in(&resources(env))
            });
        }
        let value = self.value(expr);
        Box::new(move |env| !value(env).is_absent())
    }

    /// A whole number that is there.
    pub fn int(&mut self, expr: &Expr) -> IntFn {
        if let Some(register) = self.register(expr) {
            return Box::new(move |env| env.registers.get(register).and_then(Value::as_int).unwrap_or(0));
        }
        if let Some(steady) = self.steady(expr) {
            return Box::new(move |env| steady(env).as_int().unwrap_or(0));
        }
        match &expr.kind {
            ExprKind::Constant(constant) => {
                let number = constant.as_int().unwrap_or(0);
                Box::new(move |_| number)
            }
            ExprKind::Negate(inner) if is_plain_whole(inner) => {
                let inner = self.int(inner);
                Box::new(move |env| inner(env).saturating_neg())
            }
            ExprKind::Conditional(condition, then, otherwise)
                if is_plain_whole(then) && is_plain_whole(otherwise) =>
            {
                let (condition, then) = (self.bool(condition), self.int(then));
                let otherwise = self.int(otherwise);
                Box::new(move |env| if condition(env) { then(env) } else { otherwise(env) })
            }
            ExprKind::Arithmetic(op, left, right)
                if is_plain_whole(left)
                    && is_plain_whole(right)
                    && !matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder) =>
            {
                let (left, right) = (self.int(left), self.int(right));
                match op {
                    ArithmeticOp::Add => Box::new(move |env| left(env).saturating_add(right(env))),
                    ArithmeticOp::Subtract => Box::new(move |env| left(env).saturating_sub(right(env))),
                    _ => Box::new(move |env| left(env).saturating_mul(right(env))),
                }
            }
            ExprKind::Arithmetic(ArithmeticOp::Multiply, left, right)
                if is_plain_whole(left) && operators::is_amount(&left.ty) && is_plain_float(right) =>
            {
                let (left, right) = (self.int(left), self.float(right));
                Box::new(move |env| arithmetic::scale(left(env), right(env)))
            }
            ExprKind::Resource(..) if shape::node_resource(self.policy, expr).is_some() => {
                self.node_amount(expr)
            }
            ExprKind::Call(..) if shape::is_count_of_node_pods(self.policy, expr) => Box::new(|env| {
                let count = env.context.node.map_or(0, |node| node.pod_count());
                i64::try_from(count).unwrap_or(i64::MAX)
            }),
            _ => {
                let value = self.native(expr);
                Box::new(move |env| value(env).as_int().unwrap_or(0))
            }
        }
    }

    /// `node.free["cpu"]` and the like, without making a map of resources.
    fn node_amount(&mut self, expr: &Expr) -> IntFn {
        let Some((part, name)) = shape::node_resource(self.policy, expr) else {
            return Box::new(|_| 0);
        };
        let name = Name::of(name);
        Box::new(move |env| {
            let Some(node) = env.context.node else { return 0 };
            let allocatable = || name.amount(&node.node().allocatable);
            let requested = || match name {
                Name::Pods => i64::try_from(node.pod_count()).unwrap_or(i64::MAX),
                _ => name.amount(node.requested()),
            };
            match part {
                ResourceAmount::Allocatable => allocatable(),
                ResourceAmount::Requested => requested(),
                ResourceAmount::Free => allocatable().saturating_sub(requested()).max(0),
            }
        })
    }

    /// A float that is there.
    pub fn float(&mut self, expr: &Expr) -> FloatFn {
        if let Some(register) = self.register(expr) {
            return Box::new(move |env| env.registers.get(register).and_then(Value::as_float).unwrap_or(0.0));
        }
        if let Some(steady) = self.steady(expr) {
            return Box::new(move |env| steady(env).as_float().unwrap_or(0.0));
        }
        match &expr.kind {
            ExprKind::Constant(constant) => {
                let number = constant.as_float().unwrap_or(0.0);
                Box::new(move |_| number)
            }
            ExprKind::Widen(inner) if is_plain_whole(inner) => {
                let inner = self.int(inner);
                Box::new(move |env| inner(env) as f64)
            }
            ExprKind::Negate(inner) if is_plain_float(inner) => {
                let inner = self.float(inner);
                Box::new(move |env| -inner(env))
            }
            ExprKind::Conditional(condition, then, otherwise)
                if is_plain_float(then) && is_plain_float(otherwise) =>
            {
                let (condition, then) = (self.bool(condition), self.float(then));
                let otherwise = self.float(otherwise);
                Box::new(move |env| if condition(env) { then(env) } else { otherwise(env) })
            }
            ExprKind::Arithmetic(op, left, right)
                if is_plain_float(left)
                    && is_plain_float(right)
                    && !matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder) =>
            {
                let (left, right) = (self.float(left), self.float(right));
                match op {
                    ArithmeticOp::Add => Box::new(move |env| arithmetic::finite(left(env) + right(env))),
                    ArithmeticOp::Subtract => Box::new(move |env| arithmetic::finite(left(env) - right(env))),
                    _ => Box::new(move |env| arithmetic::finite(left(env) * right(env))),
                }
            }
            _ => {
                let value = self.native(expr);
                Box::new(move |env| value(env).as_float().unwrap_or(0.0))
            }
        }
    }

    /// Any value, by the closure of its type where it has one.
    pub fn value(&mut self, expr: &Expr) -> ValueFn {
        if let Some(register) = self.register(expr) {
            return as_value(move |env| env.registers.get(register).cloned().unwrap_or(Value::Absent));
        }
        if let Some(steady) = self.steady(expr) {
            return steady;
        }
        match (&expr.kind, &expr.ty) {
            (ExprKind::Constant(_), _) => self.native(expr),
            (
                ExprKind::Not(_)
                | ExprKind::And(..)
                | ExprKind::Or(..)
                | ExprKind::Has(_)
                | ExprKind::Equal(..)
                | ExprKind::Compare(..)
                | ExprKind::In(..),
                _,
            ) => {
                let truth = self.bool(expr);
                as_value(move |env| Value::Bool(truth(env)))
            }
            (ExprKind::Negate(inner), ty) if ty.is_whole() && is_plain_whole(inner) => {
                let number = self.int(expr);
                as_value(move |env| Value::Int(number(env)))
            }
            (ExprKind::Arithmetic(op, left, right), ty)
                if ty.is_whole()
                    && is_plain_whole(left)
                    && is_plain_whole(right)
                    && !matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder) =>
            {
                let number = self.int(expr);
                as_value(move |env| Value::Int(number(env)))
            }
            (ExprKind::Resource(..), ty)
                if ty.is_whole() && shape::node_resource(self.policy, expr).is_some() =>
            {
                let number = self.int(expr);
                as_value(move |env| Value::Int(number(env)))
            }
            _ => self.native(expr),
        }
    }
}

/// The name of a resource, resolved when the rule is lowered.
pub(super) enum Name {
    Cpu,
    Memory,
    EphemeralStorage,
    Pods,
    Scalar(Symbol),
}

impl Name {
    /// By its name.
    pub(crate) fn of(name: Symbol) -> Self {
        match name.as_str() {
            "cpu" => Name::Cpu,
            "memory" => Name::Memory,
            "ephemeral-storage" => Name::EphemeralStorage,
            "pods" => Name::Pods,
            _ => Name::Scalar(name),
        }
    }

    /// The amount in base units.
    pub(crate) fn amount(&self, of: &Resource) -> i64 {
        match self {
            Name::Cpu => of.milli_cpu,
            Name::Memory => of.memory,
            Name::EphemeralStorage => of.ephemeral_storage,
            Name::Pods => of.pods,
            Name::Scalar(name) => of.scalar(name),
        }
    }
}

pub(super) fn bind<'a>(env: &mut Env<'a, '_>, slot: SlotId, value: Value<'a>) {
    let at = slot.index();
    if env.slots.len() <= at {
        env.slots.resize_with(at + 1, || Value::Absent);
    }
    if let Some(place) = env.slots.get_mut(at) {
        *place = value;
    }
}

/// Whole numbers that are never absent.
pub(super) fn is_plain_whole(expr: &Expr) -> bool {
    expr.ty.is_whole()
}

/// Floats that are never absent.
pub(super) fn is_plain_float(expr: &Expr) -> bool {
    expr.ty == Type::Float
}
