//! The `index` stage over collections: `nodes.filter(n, n.labels[k] == node.labels[k])` without
//! walking all nodes for each node. Read by `stage`, `cost` and code generation.
//!
//! - [`equalities`]: a macro over a collection that is the same for all nodes, with an equality in
//!   its condition between a value of the element and another value. Elements are kept by that
//!   value, and the condition is evaluated for those that have the wanted one.
//! - [`in_namespace`]: a macro over the objects of a kind that asks for those of one namespace, which the
//!   snapshot keeps together.
//! - [`answer_keys`]: an expression that sees nothing of a node but values which such macros look
//!   up. It is computed once for each value, not once for each node.
//! - [`is_looked_up`]: `x in list`, where the list changes less often than x.
//! - [`can_be_indexed`]: a group whose members an index can follow.

use super::faults::may_fail;
use super::same::same;
use super::shape::{constant, resolve_alias};
use super::stage::depends;
use crate::language::fields::{Meaning, ObjectType};
use crate::language::functions::Presence;
use crate::typed::walk;
use crate::typed::{
    Expr, ExprKind, GroupId, KindId, LookUp, LookUpBy, Macro, MacroKind, Policy, Root, SlotId,
};
use crate::types::Type;
use crate::types::convert;
use bayplan_model::Kinds;

/// The equalities in a macro's condition by which its elements can be looked up.
pub struct Equalities<'p> {
    /// A value of the element, and the value it is compared with, which does not use the element.
    pub pairs: Vec<(&'p Expr, &'p Expr)>,
    /// Elements without the wanted values meet the condition too: `all(x, x.a != b || …)`.
    pub others_hold: bool,
}

/// The equalities by which the elements of a macro can be looked up; `None` where there are none,
/// or where the macro is computed once per pod anyway.
pub fn equalities<'p>(policy: &Policy, of: &'p Macro) -> Option<Equalities<'p>> {
    let condition = of.condition.as_ref()?;
    // A part that is false makes up for the fault of another part, so each element counts.
    if is_written(policy, &of.over) || may_fail(policy, condition) {
        return None;
    }
    let over = depends(policy, &of.over, &mut Vec::new());
    if over.node || over.free {
        return None;
    }
    let own: Vec<SlotId> = std::iter::once(of.slot).chain(of.second).collect();
    let others_hold = of.kind == MacroKind::All && {
        let mut parts = Vec::new();
        alternatives(condition, &mut parts);
        parts
            .iter()
            .any(|part| matches!(&part.kind, ExprKind::Not(inner) if pair(policy, inner, &own).is_some()))
    };
    let mut parts = Vec::new();
    let pairs: Vec<_> = if others_hold {
        alternatives(condition, &mut parts);
        let negated = parts.into_iter().filter_map(|part| match &part.kind {
            ExprKind::Not(inner) => Some(&**inner),
            _ => None,
        });
        negated.filter_map(|part| pair(policy, part, &own)).collect()
    } else {
        conjuncts(condition, &mut parts);
        parts.into_iter().filter_map(|part| pair(policy, part, &own)).collect()
    };
    let changes = pairs.iter().any(|(_, other)| {
        let of = depends(policy, other, &mut Vec::new());
        of.node || of.free
    });
    changes.then_some(Equalities { pairs, others_hold })
}

/// The namespace that a macro over the objects of a kind asks for: `objects("Kind").first(o, o.namespace == E && …)`.
pub struct InNamespace<'p> {
    /// The kind of the objects.
    pub kind: KindId,
    /// The namespace.
    pub namespace: &'p Expr,
    /// The condition asks for nothing else.
    pub covers: bool,
}

/// Whether a macro visits the objects of one namespace alone.
pub fn in_namespace<'p>(policy: &'p Policy, of: &'p Macro) -> Option<InNamespace<'p>> {
    let condition = of.condition.as_ref()?;
    let ExprKind::LookUp(LookUp { kind, by: LookUpBy::All }, _) = resolve_alias(policy, &of.over).kind else {
        return None;
    };
    if of.second.is_some() || of.kind == MacroKind::All || may_fail(policy, condition) {
        return None;
    }
    let mut parts = Vec::new();
    conjuncts(condition, &mut parts);
    let of_element = |expr: &Expr| match &resolve_alias(policy, expr).kind {
        ExprKind::Field(object, field) => {
            field.def().meaning == Some(Meaning::Namespace)
                && matches!(resolve_alias(policy, object).kind, ExprKind::Slot(slot) if slot == of.slot)
        }
        _ => false,
    };
    let namespace = parts.iter().find_map(|part| {
        let ExprKind::Equal(left, right) = &part.kind else { return None };
        let sides = [(left, right), (right, left)];
        let mut of_other = sides.into_iter().filter(|(mine, _)| of_element(mine)).map(|(_, other)| &**other);
        of_other.find(|other| !walk::mentions(other, &[of.slot]))
    })?;
    Some(InNamespace { kind, namespace, covers: parts.len() == 1 })
}

/// The parts that `&&` joins.
pub(crate) fn conjuncts<'e>(expr: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::And(left, right) => {
            conjuncts(left, parts);
            conjuncts(right, parts);
        }
        _ => parts.push(expr),
    }
}

/// The parts that `||` joins.
pub fn alternatives<'e>(expr: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Or(left, right) => {
            alternatives(left, parts);
            alternatives(right, parts);
        }
        _ => parts.push(expr),
    }
}

/// `A == B` where A uses the element alone, B does not use it, and both can be keys of a table.
fn pair<'p>(policy: &Policy, expr: &'p Expr, own: &[SlotId]) -> Option<(&'p Expr, &'p Expr)> {
    let ExprKind::Equal(left, right) = &expr.kind else { return None };
    if !is_key(&left.ty) || !is_key(&right.ty) {
        return None;
    }
    [(left, right), (right, left)].into_iter().map(|(a, b)| (&**a, &**b)).find(|(mine, other)| {
        let mut bound: Vec<u32> = own.iter().map(|slot| slot.0).collect();
        let of = depends(policy, mine, &mut bound);
        !of.node && !of.free && walk::mentions(mine, own) && !walk::mentions(other, own)
    })
}

/// Whether values of a type can be keys of a table. Floats cannot: equal ones may have other bits.
pub fn is_key(ty: &Type) -> bool {
    match ty.present() {
        Type::String | Type::Bool | Type::Time => true,
        Type::Object(object) => *object == ObjectType::Node,
        Type::CelOptional(of) => is_key(of),
        ty => ty.is_whole(),
    }
}

/// The paths of `node` that an expression reads, if it reads the node through them alone and every
/// macro in it that reads the node looks its elements up by all of them; and the `has` of resources of
/// `node` in it, a few. Then equal values of all of them give equal answers, and all answers together visit
/// each element once, or as often as these `has` can differ.
pub(crate) fn answer_keys<'p>(policy: &'p Policy, expr: &'p Expr) -> Option<Vec<&'p Expr>> {
    if !matches!(
        expr.kind,
        ExprKind::Macro(_) | ExprKind::Call(..) | ExprKind::Coalesce(..) | ExprKind::Field(..)
    ) {
        return None;
    }
    let of = depends(policy, expr, &mut Vec::new());
    if !of.node || of.free {
        return None;
    }
    let mut found = Found { policy, keys: Vec::new(), named: Vec::new(), lookups: Vec::new(), whole: false };
    found.look(expr);
    // An optional of CEL is there where its path is.
    let covered = |others: &Vec<&Expr>| {
        let of_path =
            |key: &Expr, other: &Expr| same(policy, unwrapped(policy, key), unwrapped(policy, other));
        found.keys.iter().all(|key| others.iter().any(|other| of_path(key, other)))
    };
    let fits = !found.whole && !found.lookups.is_empty() && found.lookups.iter().all(covered);
    fits.then(|| [found.keys, found.named].concat())
}

/// What [`answer_keys`] finds in an expression.
struct Found<'p> {
    policy: &'p Policy,
    /// Paths of `node`, each once.
    keys: Vec<&'p Expr>,
    /// Questions whether a resource of `node` is named, each once.
    named: Vec<&'p Expr>,
    /// What the elements are compared with, for each macro that reads the node.
    lookups: Vec<Vec<&'p Expr>>,
    /// The node is read in another way.
    whole: bool,
}

impl<'p> Found<'p> {
    fn look(&mut self, expr: &'p Expr) {
        let policy = self.policy;
        // Variables of enclosing macros are not the node.
        if self.whole || !depends(policy, expr, &mut Vec::new()).node {
            return;
        }
        if is_node_path(policy, expr) && is_key(&expr.ty) {
            if !self.keys.iter().any(|key| same(policy, key, expr)) {
                self.keys.push(expr);
            }
            return;
        }
        match &expr.kind {
            ExprKind::Root(Root::Node) => self.whole = true,
            ExprKind::Has(inner) if matches!(inner.kind, ExprKind::Resource(..)) => {
                self.look_named(expr, inner)
            }
            ExprKind::Let(id) => self.look(&policy[*id].value),
            ExprKind::CallDef(id, args) => {
                args.iter().for_each(|arg| self.look(arg));
                // A def may read `node` itself.
                self.look(&policy[*id].body);
            }
            ExprKind::Macro(of) => {
                let asks = of
                    .condition
                    .iter()
                    .chain(&of.body)
                    .any(|part| depends(policy, part, &mut Vec::new()).node);
                if asks {
                    match equalities(policy, of) {
                        Some(found) => {
                            self.lookups.push(found.pairs.iter().map(|(_, other)| *other).collect())
                        }
                        None => self.whole = true,
                    }
                }
                walk::each_part(expr, &mut |part| self.look(part));
            }
            _ => walk::each_part(expr, &mut |part| self.look(part)),
        }
    }
}

/// Most questions whether a resource is named that answers are remembered by: each doubles the answers.
const MOST_NAMED: usize = 2;

impl<'p> Found<'p> {
    /// `has(r[k])` asks whether the resource is named, which the amount does not tell.
    fn look_named(&mut self, has: &'p Expr, resource: &'p Expr) {
        let ExprKind::Resource(object, name) = &resource.kind else { return };
        if is_node_path(self.policy, resource) {
            if !self.named.iter().any(|other| same(self.policy, other, has)) {
                self.named.push(has);
            }
            self.whole |= self.named.len() > MOST_NAMED;
        } else if depends(self.policy, object, &mut Vec::new()).node {
            self.whole = true;
        } else {
            self.look(name);
        }
    }
}

/// A path that begins at `node`, with keys that are constants.
fn is_node_path(policy: &Policy, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Root(Root::Node) => true,
        ExprKind::Field(inner, _) | ExprKind::ApiField(inner, _) | ExprKind::Present(inner) => {
            is_node_path(policy, inner)
        }
        ExprKind::Index(object, key) | ExprKind::Resource(object, key) => {
            is_node_path(policy, object) && constant(policy, key).is_some()
        }
        ExprKind::Let(id) => is_node_path(policy, &policy[*id].value),
        // As an optional of CEL, or with a value for nodes without it.
        ExprKind::Call(function, args, _) => match args.as_slice() {
            [path] => function.def().presence == Some(Presence::Wraps) && is_node_path(policy, path),
            _ => false,
        },
        ExprKind::Coalesce(path, other) => is_node_path(policy, path) && constant(policy, other).is_some(),
        _ => false,
    }
}

/// What an optional of CEL was made of; any other expression itself.
fn unwrapped<'p>(policy: &'p Policy, expr: &'p Expr) -> &'p Expr {
    match &resolve_alias(policy, expr).kind {
        ExprKind::Call(function, args, _) if function.def().presence == Some(Presence::Wraps) => {
            args.first().unwrap_or(expr)
        }
        _ => expr,
    }
}

/// Whether a list is written out in the policy: it is short, and walked.
fn is_written(policy: &Policy, list: &Expr) -> bool {
    matches!(list.kind, ExprKind::List(_)) || constant(policy, list).is_some()
}

/// Whether a table of the list answers `x in list`: the list changes less often than x.
pub(crate) fn is_looked_up(policy: &Policy, element: &Expr, list: &Expr) -> bool {
    let (Type::List(of) | Type::Set(of)) = list.ty.present() else { return false };
    if !is_key(of) || !is_key(&element.ty) {
        return false;
    }
    if is_written(policy, list) {
        return false;
    }
    let (x, of) = (depends(policy, element, &mut Vec::new()), depends(policy, list, &mut Vec::new()));
    !of.free && (x.free || x.node && !of.node)
}

/// Whether the values of a group's paths depend on the pod alone, so that an index can follow them.
pub fn can_be_indexed(policy: &Policy, group: GroupId) -> bool {
    let mut keys = policy[group].keys.iter();
    keys.all(|key| is_of_the_pod_alone(&key.member) && convert::can_be_kept(&key.member.ty))
}

fn is_of_the_pod_alone(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Param(_) | ExprKind::Slot(_) => true,
        ExprKind::Field(inner, field) => {
            !matches!(
                field.def().changed_by,
                Kinds::PLACEMENT | Kinds::QUEUE | Kinds::ATTEMPTS | Kinds::DEVICES
            ) && field.def().meaning != Some(Meaning::Nomination)
                && is_of_the_pod_alone(inner)
        }
        ExprKind::ApiField(inner, _)
        | ExprKind::Present(inner)
        | ExprKind::Widen(inner)
        | ExprKind::RecordField(inner, _) => is_of_the_pod_alone(inner),
        ExprKind::Index(left, right)
        | ExprKind::Resource(left, right)
        | ExprKind::Coalesce(left, right)
        | ExprKind::Arithmetic(_, left, right) => is_of_the_pod_alone(left) && is_of_the_pod_alone(right),
        ExprKind::Call(_, args, _) => args.iter().all(is_of_the_pod_alone),
        _ => false,
    }
}
