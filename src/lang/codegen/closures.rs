//! One closure per typed expression, one function per type of result: truths, whole numbers, floats, and values for
//! everything else. Each agrees with the reference evaluator's rule for the same kind.

use super::{Env, Lowering};
use crate::lang::codegen::groups;
use crate::lang::eval::convert;
use crate::lang::eval::getters;
use crate::lang::eval::interpret::{
    arithmetic, compare, extreme, is_amount, items, negate, root_value, sum, widen,
};
use crate::lang::language::fields::ObjectType;
use crate::lang::typed::{ArithmeticOp, CompareOp, Expr, ExprKind, Macro, MacroKind, SlotId};
use crate::lang::types::Type;
use crate::lang::types::arithmetic;
use crate::lang::types::value::Value;
use crate::model::{Resource, Symbol};
use std::cmp::Ordering;
use std::sync::Arc;

/// Computes a truth.
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
        match &expr.kind {
            ExprKind::Constant(constant) => {
                let truth = constant.holds();
                Box::new(move |_| truth)
            }
            ExprKind::Not(inner) => {
                let inner = self.bool(inner);
                Box::new(move |env| !inner(env))
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
                // A register is compared where it stands, a constant where the closure has it.
                for (side, other) in [(left, right), (right, left)] {
                    if let Some(register) = self.register(side) {
                        let other = self.value(other);
                        return Box::new(move |env| {
                            let other = other(env);
                            env.registers.get(register).is_some_and(|register| other.equals(register))
                        });
                    }
                    if let Some(constant) = crate::lang::analysis::shape::constant(self.policy, side) {
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
                Box::new(move |env| compare(op, &left(env), &right(env)))
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
                if is_plain_whole(left) && is_amount(&left.ty) && is_plain_float(right) =>
            {
                let (left, right) = (self.int(left), self.float(right));
                Box::new(move |env| arithmetic::scale(left(env), right(env)))
            }
            ExprKind::Resource(..)
                if crate::lang::analysis::shape::node_resource(self.policy, expr).is_some() =>
            {
                self.node_amount(expr)
            }
            _ => {
                let value = self.native(expr);
                Box::new(move |env| value(env).as_int().unwrap_or(0))
            }
        }
    }

    /// `node.free["cpu"]` and the like, without making a map of resources.
    fn node_amount(&mut self, expr: &Expr) -> IntFn {
        let Some((part, name)) = crate::lang::analysis::shape::node_resource(self.policy, expr) else {
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
                crate::lang::analysis::shape::Part::Allocatable => allocatable(),
                crate::lang::analysis::shape::Part::Requested => requested(),
                crate::lang::analysis::shape::Part::Free => allocatable().saturating_sub(requested()).max(0),
            }
        })
    }

    /// A float that is there.
    pub fn float(&mut self, expr: &Expr) -> FloatFn {
        if let Some(register) = self.register(expr) {
            return Box::new(move |env| env.registers.get(register).and_then(Value::as_float).unwrap_or(0.0));
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
                if ty.is_whole()
                    && crate::lang::analysis::shape::node_resource(self.policy, expr).is_some() =>
            {
                let number = self.int(expr);
                as_value(move |env| Value::Int(number(env)))
            }
            _ => self.native(expr),
        }
    }

    /// Any value, by the rule of its kind.
    fn native(&mut self, expr: &Expr) -> ValueFn {
        if let Some(remembered) = self.remembered(expr) {
            return remembered;
        }
        let ty = expr.ty.clone();
        match &expr.kind {
            ExprKind::Constant(constant) => {
                let constant = constant.clone();
                as_value(move |_| constant.clone())
            }
            ExprKind::Param(param) => {
                let value = self
                    .policy
                    .params
                    .get(param.0 as usize)
                    .map_or(Value::Absent, |param| param.value.clone());
                as_value(move |_| value.clone())
            }
            ExprKind::Let(id) => {
                let at = id.0 as usize;
                let Some(of) = self.policy.lets.get(at) else { return as_value(|_| Value::Absent) };
                let inner = self.value(&of.value);
                if is_cheap(&of.value) {
                    return inner;
                }
                as_value(move |env| {
                    if let Some(Some(value)) = env.lets.get(at) {
                        return value.clone();
                    }
                    let value = inner(env);
                    if let Some(place) = env.lets.get_mut(at) {
                        *place = Some(value.clone());
                    }
                    value
                })
            }
            ExprKind::Slot(slot) => {
                let at = slot.0 as usize;
                as_value(move |env| env.slots.get(at).cloned().unwrap_or(Value::Absent))
            }
            ExprKind::Root(root) => {
                let root = *root;
                as_value(move |env| root_value(&env.context, root))
            }
            ExprKind::Group(id) => {
                let group = self.policy.groups.get(id.0 as usize);
                let Some(group) = group else { return as_value(|_| Value::List(Arc::from([]))) };
                let lookup = groups::Lookup::new(self.policy, *id);
                let keys: Vec<(ValueFn, ValueFn)> =
                    group.keys.iter().map(|key| (self.value(&key.member), self.value(&key.pod))).collect();
                let rest: Vec<BoolFn> = group.rest.iter().map(|condition| self.bool(condition)).collect();
                let slot = group.slot;
                as_value(move |env| {
                    let wanted: Vec<Value<'_>> = keys.iter().map(|(_, pod)| pod(env)).collect();
                    let (candidates, by_key) = lookup.candidates(&env.context, &wanted);
                    let mut members = Vec::with_capacity(candidates.len());
                    for pod in candidates {
                        bind(env, slot, Value::Pod(pod));
                        let same = by_key
                            || keys
                                .iter()
                                .zip(&wanted)
                                .all(|((member, _), wanted)| member(env).equals(wanted));
                        if same && rest.iter().all(|condition| condition(env)) {
                            members.push(Value::Pod(pod));
                        }
                    }
                    Value::List(members.into())
                })
            }
            ExprKind::Now => as_value(|env| Value::Time(env.context.now)),
            ExprKind::Field(object, field)
                if field.def().owner == ObjectType::Node && matches!(field.def().name, "zone" | "region") =>
            {
                let object = self.value(object);
                let name = field.def().name;
                let keys = [
                    Symbol::from(format!("topology.kubernetes.io/{name}")),
                    Symbol::from(format!("failure-domain.beta.kubernetes.io/{name}")),
                ];
                as_value(move |env| {
                    let Value::Node(node) = object(env) else { return Value::Absent };
                    let Some(node) = env.context.node_info(node) else { return Value::Absent };
                    Value::optional(keys.iter().find_map(|key| node.label(key)).map(Value::symbol))
                })
            }
            ExprKind::Field(object, field) => {
                let (object, getter) = (self.value(object), getters::getter(*field));
                as_value(move |env| {
                    let object = object(env);
                    getter(&env.context, &object)
                })
            }
            ExprKind::ApiField(object, name) => {
                let (object, name) = (self.value(object), name.clone());
                as_value(move |env| {
                    let object = object(env);
                    convert::field(getters::api_field(&env.context, &object, &name), &ty)
                })
            }
            ExprKind::RecordField(object, at) => {
                let (object, at) = (self.value(object), *at);
                as_value(move |env| match object(env) {
                    Value::Record(fields) => Value::optional(fields.get(at).cloned()),
                    _ => Value::Absent,
                })
            }
            ExprKind::Index(object, index)
                if crate::lang::analysis::shape::constant_text(self.policy, index).is_some() =>
            {
                let key = crate::lang::analysis::shape::constant_text(self.policy, index).unwrap_or_default();
                let object = self.value(object);
                as_value(move |env| match object(env) {
                    Value::Labels(labels) => Value::optional(labels.get(&key).map(Value::symbol)),
                    Value::Annotations(annotations) => Value::optional(
                        annotations
                            .iter()
                            .find(|(name, _)| **name == key)
                            .map(|(_, text)| Value::borrowed(text)),
                    ),
                    object => convert::fit(object.key(&key), &ty),
                })
            }
            ExprKind::Index(object, index) => {
                let (object, index) = (self.value(object), self.value(index));
                as_value(move |env| {
                    let (object, index) = (object(env), index(env));
                    if index.is_absent() { Value::Absent } else { convert::fit(object.index(&index), &ty) }
                })
            }
            ExprKind::Resource(resources, name)
                if crate::lang::analysis::shape::constant_text(self.policy, name).is_some() =>
            {
                let name = Name::of(
                    crate::lang::analysis::shape::constant_text(self.policy, name).unwrap_or_default(),
                );
                let resources = self.value(resources);
                as_value(move |env| match resources(env) {
                    Value::Resources(resources) => Value::Int(name.amount(&resources)),
                    _ => Value::Absent,
                })
            }
            ExprKind::Resource(resources, name) => {
                let (resources, name) = (self.value(resources), self.value(name));
                as_value(move |env| {
                    let (resources, name) = (resources(env), name(env));
                    name.as_str().map_or(Value::Absent, |name| resources.key(name))
                })
            }
            ExprKind::Present(inner) => self.value(inner),
            ExprKind::Widen(inner) => {
                let inner = self.value(inner);
                as_value(move |env| widen(inner(env)))
            }
            ExprKind::Negate(inner) => {
                let inner = self.value(inner);
                as_value(move |env| negate(inner(env)))
            }
            ExprKind::Not(_)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Has(_)
            | ExprKind::Equal(..)
            | ExprKind::Compare(..)
            | ExprKind::In(..) => {
                let truth = self.bool(expr);
                as_value(move |env| Value::Bool(truth(env)))
            }
            ExprKind::Arithmetic(op, left, right) => {
                let (op, left_ty, right_ty) = (*op, left.ty.clone(), right.ty.clone());
                let (left, right) = (self.value(left), self.value(right));
                as_value(move |env| {
                    let (left, right) = (left(env), right(env));
                    arithmetic(op, &left_ty, &right_ty, left, right)
                })
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let (condition, then) = (self.bool(condition), self.value(then));
                let otherwise = self.value(otherwise);
                as_value(move |env| if condition(env) { then(env) } else { otherwise(env) })
            }
            ExprKind::Coalesce(left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                as_value(move |env| match left(env) {
                    Value::Absent => right(env),
                    value => value,
                })
            }
            ExprKind::List(elements) => {
                let elements: Vec<(ValueFn, bool)> =
                    elements.iter().map(|(element, optional)| (self.value(element), *optional)).collect();
                as_value(move |env| {
                    let mut list = Vec::with_capacity(elements.len());
                    for (element, optional) in &elements {
                        let value = element(env);
                        if !(*optional && value.is_absent()) {
                            list.push(value);
                        }
                    }
                    Value::List(list.into())
                })
            }
            ExprKind::Map(entries) => {
                let entries: Vec<(ValueFn, ValueFn, bool)> = entries
                    .iter()
                    .map(|(key, value, optional)| (self.value(key), self.value(value), *optional))
                    .collect();
                as_value(move |env| {
                    let mut pairs = Vec::with_capacity(entries.len());
                    for (key, value, optional) in &entries {
                        let (key, value) = (key(env), value(env));
                        if !(*optional && value.is_absent()) {
                            pairs.push((key, value));
                        }
                    }
                    Value::map(pairs)
                })
            }
            ExprKind::Record(values) => {
                let values: Vec<ValueFn> = values.iter().map(|value| self.value(value)).collect();
                as_value(move |env| {
                    let mut fields = Vec::with_capacity(values.len());
                    for value in &values {
                        fields.push(value(env));
                    }
                    Value::Record(fields.into())
                })
            }
            ExprKind::Call(function, args, prepared) => {
                let (body, prepared) = (function.def().body, prepared.clone());
                let args: Vec<ValueFn> = args.iter().map(|arg| self.value(arg)).collect();
                as_value(move |env| {
                    let mut values = smallvec::SmallVec::<[Value<'_>; 4]>::new();
                    for arg in &args {
                        values.push(arg(env));
                    }
                    body(&values, &prepared)
                })
            }
            ExprKind::CallDef(def, args) => {
                let Some(def) = self.policy.defs.get(def.0 as usize) else {
                    return as_value(|_| Value::Absent);
                };
                let args: Vec<ValueFn> = args.iter().map(|arg| self.value(arg)).collect();
                let (slots, body) = (def.parameters.clone(), self.value(&def.body));
                as_value(move |env| {
                    let mut values = smallvec::SmallVec::<[Value<'_>; 4]>::new();
                    for arg in &args {
                        values.push(arg(env));
                    }
                    for (slot, value) in slots.iter().zip(values) {
                        bind(env, *slot, value);
                    }
                    body(env)
                })
            }
            ExprKind::Macro(of) => self.macro_value(of, ty),
        }
    }

    fn macro_value(&mut self, of: &Macro, ty: Type) -> ValueFn {
        let by_value = self.by_value(of);
        let over = by_value.is_none().then(|| self.value(&of.over));
        let condition = of.condition.as_ref().map(|condition| self.bool(condition));
        let body = of.body.as_ref().map(|body| self.value(body));
        let (kind, slot, second) = (of.kind, of.slot, of.second);
        as_value(move |env| {
            let (items, total) = match (&by_value, &over) {
                (Some(by_value), _) => by_value.candidates(env),
                (None, Some(over)) => {
                    let items = items(&over(env), second.is_some());
                    let total = items.len();
                    (items, total)
                }
                (None, None) => (Vec::new(), 0),
            };
            if kind == MacroKind::All
                && items.len() < total
                && by_value.as_ref().is_some_and(|by| !by.others_hold)
            {
                return Value::Bool(false);
            }
            let mut hits = 0usize;
            // Counting and asking need no list of what was kept.
            let keeps =
                !matches!(kind, MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne | MacroKind::Count);
            let mut kept: Vec<(Value<'_>, Value<'_>)> = Vec::new();
            for (item, value) in items {
                bind(env, slot, item.clone());
                if let Some(second) = second {
                    bind(env, second, value.clone());
                }
                let holds = condition.as_ref().is_none_or(|condition| condition(env));
                if !holds {
                    if kind == MacroKind::All {
                        return Value::Bool(false);
                    }
                    continue;
                }
                hits += 1;
                if kind == MacroKind::Exists {
                    return Value::Bool(true);
                }
                if keeps {
                    let element = if second.is_some() && body.is_none() { value } else { item };
                    let computed = match &body {
                        Some(body) => body(env),
                        None => element.clone(),
                    };
                    if kind == MacroKind::First {
                        return computed;
                    }
                    kept.push((element, computed));
                }
            }
            match kind {
                // One that does not meet the condition ended the walk.
                MacroKind::All => Value::Bool(true),
                MacroKind::Exists => Value::Bool(false),
                MacroKind::ExistsOne => Value::Bool(hits == 1),
                MacroKind::Count => Value::Int(hits as i64),
                MacroKind::Filter | MacroKind::Map => {
                    Value::list(kept.into_iter().map(|(_, computed)| computed))
                }
                MacroKind::TransformMap => Value::map(kept),
                MacroKind::Sum => sum(kept.into_iter().map(|(_, computed)| computed), &ty),
                MacroKind::Min => extreme(kept.into_iter().map(|(_, computed)| computed), Ordering::Less),
                MacroKind::Max => extreme(kept.into_iter().map(|(_, computed)| computed), Ordering::Greater),
                MacroKind::SortBy => {
                    kept.sort_by(|left, right| left.1.order(&right.1));
                    Value::list(kept.into_iter().map(|(element, _)| element))
                }
                MacroKind::First => Value::Absent,
                MacroKind::OptMap => {
                    Value::Optional(kept.into_iter().next().map(|(_, computed)| Arc::new(computed)))
                }
                MacroKind::OptFlatMap => {
                    kept.into_iter().next().map_or(Value::Optional(None), |(_, computed)| computed)
                }
            }
        })
    }
}

/// The name of a resource, looked at once.
enum Name {
    Cpu,
    Memory,
    EphemeralStorage,
    Pods,
    Scalar(Symbol),
}

impl Name {
    fn of(name: Symbol) -> Self {
        match name.as_str() {
            "cpu" => Name::Cpu,
            "memory" => Name::Memory,
            "ephemeral-storage" => Name::EphemeralStorage,
            "pods" => Name::Pods,
            _ => Name::Scalar(name),
        }
    }

    fn amount(&self, of: &Resource) -> i64 {
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
    if let Some(place) = env.slots.get_mut(slot.0 as usize) {
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

/// A path, which is as cheap to walk again as to remember.
pub fn is_cheap(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Param(_)
        | ExprKind::Slot(_)
        | ExprKind::Root(_)
        | ExprKind::Now => true,
        ExprKind::Field(inner, field) => {
            !matches!(
                field.def().name,
                "pods" | "free" | "requested" | "images" | "containers" | "taints" | "gpus" | "gpu"
            ) && is_cheap(inner)
        }
        ExprKind::Present(inner) | ExprKind::Widen(inner) => is_cheap(inner),
        ExprKind::Index(object, key) => is_cheap(object) && is_cheap(key),
        _ => false,
    }
}
