//! Closures for values: paths, collections, calls and groups. Conditions and numbers, and the
//! choice between a typed closure and one of these, are in `closures.rs`; macros are in `loops.rs`.

use super::closures::{BoolFn, Name, ValueFn, as_value, bind};
use super::{Env, Lowering, groups, operators};
use crate::analysis::shape;
use crate::analysis::stage::is_path;
use crate::eval::getters;
use crate::eval::interpret::symbol_of;
use crate::eval::operations::Operands;
use crate::language::fields::api;
use crate::typed::{Expr, ExprKind, GroupId, LetId, LookUp, LookUpBy, Root};
use crate::types::value::Value;
use crate::types::{Type, convert};

/// Evaluates arguments in order.
pub(super) fn each<'a>(env: &mut Env<'a, '_>, args: &[ValueFn]) -> Operands<'a> {
    let mut values = Operands::new();
    for arg in args {
        values.push(arg(env));
    }
    values
}

impl Lowering<'_> {
    /// The closure of an expression that is neither a condition nor a plain number.
    pub(super) fn native(&mut self, expr: &Expr) -> ValueFn {
        if let Some(remembered) = self.remembered(expr) {
            return remembered;
        }
        match &expr.kind {
            ExprKind::Constant(constant) => {
                let constant = constant.clone();
                as_value(move |_| constant.clone())
            }
            ExprKind::Param(param) => {
                let value = self.policy[*param].value.clone();
                as_value(move |_| value.clone())
            }
            ExprKind::Let(id) => self.let_value(*id),
            ExprKind::Slot(slot) => {
                let at = slot.index();
                if self.fault_slots.contains(slot) {
                    let span = expr.span;
                    return as_value(move |env| {
                        let value = env.slots.get(at).cloned().unwrap_or(Value::Absent);
                        env.settled(value, span)
                    });
                }
                as_value(move |env| env.slots.get(at).cloned().unwrap_or(Value::Absent))
            }
            ExprKind::Root(root) => root_value(*root),
            ExprKind::Group(id) => self.group(*id),
            ExprKind::Ledger(id, key) => self.ledger(*id, key),
            ExprKind::Memo(id) => self.memo(*id),
            ExprKind::Source(id, node) => {
                let (source, node) = (self.policy[*id].clone(), self.value(node));
                as_value(move |env| {
                    let node = node(env);
                    let load = symbol_of(&node).and_then(|node| env.context.load(&node, &source));
                    Value::optional(load.map(|load| Value::Load(load.clone())))
                })
            }
            ExprKind::Now => as_value(|env| Value::Time(env.context.now)),
            ExprKind::LookUp(which, args) => self.look_up(*which, args),
            ExprKind::Field(..)
            | ExprKind::ApiField(..)
            | ExprKind::RecordField(..)
            | ExprKind::Index(..)
            | ExprKind::Resource(..) => self.path(expr),
            ExprKind::Present(inner) => self.value(inner),
            ExprKind::Widen(_)
            | ExprKind::Negate(_)
            | ExprKind::Arithmetic(..)
            | ExprKind::Conditional(..)
            | ExprKind::Coalesce(..) => self.operation(expr),
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
            ExprKind::List(_) | ExprKind::Map(_) | ExprKind::Record(_) => self.collection(expr),
            ExprKind::Call(..) | ExprKind::CallDef(..) => self.call(expr),
            ExprKind::Macro(of) => match self.macro_of_cel(of, expr.span) {
                Some(made) => made,
                None => self.macro_value(of, &expr.ty),
            },
            ExprKind::Dynamic(operation, args) => self.dynamic(operation, args, expr.span),
        }
    }

    /// A let: its expression, whose value is remembered for the node unless it is cheap. To read a list is not: it is
    /// made of the objects, as `node.gpus` is.
    fn let_value(&mut self, id: LetId) -> ValueFn {
        let of = &self.policy[id];
        let inner = self.value(&of.value);
        if is_path(&of.value) && !matches!(of.value.ty, Type::List(_)) {
            return inner;
        }
        let at = id.index();
        if self.may_fail(&of.value) {
            return self.let_that_may_fail(at, inner, of.value.span);
        }
        as_value(move |env| {
            if let Some(Some(value)) = env.lets.get(at) {
                return value.clone();
            }
            let value = inner(env);
            if env.is_settled()
                && let Some(place) = env.lets.get_mut(at)
            {
                *place = Some(value.clone());
            }
            value
        })
    }

    /// The members of a group: candidates of its index, or all pods, that meet its conditions.
    fn group(&mut self, id: GroupId) -> ValueFn {
        let group = &self.policy[id];
        let lookup = groups::Lookup::new(self.policy, id);
        let keys: Vec<(ValueFn, ValueFn)> =
            group.keys.iter().map(|key| (self.value(&key.member), self.value(&key.pod))).collect();
        let rest: Vec<BoolFn> = group.rest.iter().map(|condition| self.bool(condition)).collect();
        let slot = group.slot;
        as_value(move |env| {
            let mut wanted = Vec::with_capacity(keys.len());
            for (_, pod) in &keys {
                wanted.push(pod(env));
            }
            let (candidates, by_key) = lookup.candidates(&env.context, &wanted);
            let mut members = Vec::with_capacity(candidates.len());
            for pod in candidates {
                bind(env, slot, Value::Pod(pod));
                let mut pairs = keys.iter().zip(&wanted);
                let same = by_key || pairs.all(|((member, _), wanted)| member(env).equals(wanted));
                if same && rest.iter().all(|condition| condition(env)) {
                    members.push(Value::Pod(pod));
                }
            }
            Value::List(members.into())
        })
    }

    /// Objects of a kind.
    fn look_up(&mut self, which: LookUp, args: &[Expr]) -> ValueFn {
        let kind = self.policy[which.kind].name.clone();
        let args: Vec<ValueFn> = args.iter().map(|arg| self.value(arg)).collect();
        match which.by {
            LookUpBy::All => {
                as_value(move |env| Value::List(env.context.objects(&kind).map(Value::LookedUp).collect()))
            }
            LookUpBy::Name => as_value(move |env| {
                let names = each(env, &args);
                Value::optional(env.context.object_named(&kind, &names).map(Value::LookedUp))
            }),
            LookUpBy::Owner => as_value(move |env| {
                let found = each(env, &args).first().and_then(|of| env.context.owner(&kind, of));
                Value::optional(found.map(Value::LookedUp))
            }),
        }
    }

    /// A field, an entry or an element of something.
    fn path(&mut self, expr: &Expr) -> ValueFn {
        let ty = expr.ty.clone();
        match &expr.kind {
            ExprKind::Field(object, field) => {
                let getter = getters::getter(*field);
                match object.kind {
                    // A variable is read in place, without a copy.
                    ExprKind::Slot(slot) if !self.fault_slots.contains(&slot) => {
                        let at = slot.index();
                        return as_value(move |env| match env.slots.get(at) {
                            Some(object) => getter(&env.context, object),
                            None => Value::Absent,
                        });
                    }
                    ExprKind::Root(Root::Pod) => {
                        return as_value(move |env| getter(&env.context, &Value::Pod(env.context.pod)));
                    }
                    _ => {}
                }
                let object = self.value(object);
                as_value(move |env| {
                    let object = object(env);
                    getter(&env.context, &object)
                })
            }
            ExprKind::ApiField(object, name) => {
                let declared = api::declared(&object.ty, name);
                let (object, name) = (self.value(object), name.clone());
                as_value(move |env| {
                    let object = object(env);
                    convert::field(getters::api_field(&env.context, &object, &name), &ty, declared)
                })
            }
            ExprKind::RecordField(object, at) => {
                let (object, at) = (self.value(object), *at);
                as_value(move |env| match object(env) {
                    Value::Record(fields) => Value::optional(fields.get(at).cloned()),
                    _ => Value::Absent,
                })
            }
            ExprKind::Index(object, index) => match shape::constant_text(self.policy, index) {
                Some(key) => {
                    let object = self.value(object);
                    as_value(move |env| match object(env) {
                        Value::Labels(labels) => Value::optional(labels.get(&key).map(Value::symbol)),
                        Value::Annotations(annotations) => {
                            let found = annotations.iter().find(|(name, _)| **name == key);
                            Value::optional(found.map(|(_, text)| Value::borrowed(text)))
                        }
                        object => convert::fit(object.key(&key), &ty),
                    })
                }
                None => {
                    let (object, index) = (self.value(object), self.value(index));
                    as_value(move |env| {
                        let (object, index) = (object(env), index(env));
                        if index.is_absent() {
                            return Value::Absent;
                        }
                        convert::fit(object.index(&index), &ty)
                    })
                }
            },
            ExprKind::Resource(resources, name) => match shape::constant_text(self.policy, name) {
                Some(name) => {
                    let (resources, name) = (self.value(resources), Name::of(name));
                    as_value(move |env| match resources(env) {
                        Value::Resources(resources) => Value::Int(name.amount(&resources)),
                        _ => Value::Absent,
                    })
                }
                None => {
                    let (resources, name) = (self.value(resources), self.value(name));
                    as_value(move |env| {
                        let (resources, name) = (resources(env), name(env));
                        name.as_str().map_or(Value::Absent, |name| resources.key(name))
                    })
                }
            },
            _ => as_value(|_| Value::Absent),
        }
    }

    /// An operator whose operands are values.
    fn operation(&mut self, expr: &Expr) -> ValueFn {
        match &expr.kind {
            ExprKind::Widen(inner) => {
                let inner = self.value(inner);
                as_value(move |env| operators::widen(inner(env)))
            }
            ExprKind::Negate(inner) => {
                let (negate, inner) = (operators::negate(&inner.ty), self.value(inner));
                as_value(move |env| negate(inner(env)))
            }
            ExprKind::Arithmetic(op, left, right) => {
                let operator = operators::arithmetic(*op, &left.ty, &right.ty);
                let (left, right) = (self.value(left), self.value(right));
                as_value(move |env| {
                    let left = left(env);
                    operator(left, right(env))
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
            _ => as_value(|_| Value::Absent),
        }
    }

    /// A list, a map or a record that the policy writes.
    fn collection(&mut self, expr: &Expr) -> ValueFn {
        match &expr.kind {
            ExprKind::List(elements) => {
                let part = |(element, optional): &(Expr, bool)| match optional {
                    true => (self.held(element), true),
                    false => (self.value(element), false),
                };
                let elements: Vec<(ValueFn, bool)> = elements.iter().map(part).collect();
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
                as_value(move |env| Value::Record(each(env, &values).into_iter().collect()))
            }
            _ => as_value(|_| Value::Absent),
        }
    }

    /// A call of a function or of a def.
    fn call(&mut self, expr: &Expr) -> ValueFn {
        match &expr.kind {
            ExprKind::Call(function, args, prepared) => {
                let (body, prepared) = (function.def().body, prepared.clone());
                let args: Vec<ValueFn> = args.iter().map(|arg| self.value(arg)).collect();
                if self.may_fail(expr) {
                    let span = expr.span;
                    return as_value(move |env| {
                        let args = each(env, &args);
                        if env.raised.is_some() {
                            return Value::Absent;
                        }
                        env.settled(body(&args, &prepared), span)
                    });
                }
                as_value(move |env| body(&each(env, &args), &prepared))
            }
            ExprKind::CallDef(def, args) => {
                let def = &self.policy[*def];
                let args: Vec<ValueFn> = args.iter().map(|arg| self.value(arg)).collect();
                let (slots, body) = (def.parameters.clone(), self.value(&def.body));
                as_value(move |env| {
                    for (slot, value) in slots.iter().zip(each(env, &args)) {
                        bind(env, *slot, value);
                    }
                    body(env)
                })
            }
            _ => as_value(|_| Value::Absent),
        }
    }
}

/// `pod`, `node` and the other names that a rule starts from.
fn root_value(root: Root) -> ValueFn {
    match root {
        Root::Pod => as_value(|env| Value::Pod(env.context.pod)),
        Root::Namespace => as_value(|env| {
            let snapshot = env.context.snapshot;
            match snapshot.namespace(&env.context.pod.namespace) {
                Some(namespace) => Value::Namespace(namespace),
                None => Value::Absent,
            }
        }),
        Root::Node => as_value(|env| match &env.context.node {
            Some(node) => Value::Node(node.id()),
            None => Value::Absent,
        }),
        Root::Nodes => as_value(|env| Value::List(env.context.nodes().map(Value::Node).collect())),
        Root::Pods => as_value(|env| Value::List(env.context.pods().into_iter().map(Value::Pod).collect())),
        Root::Nominated => {
            as_value(|env| Value::List(env.context.nominated().into_iter().map(Value::Pod).collect()))
        }
    }
}
