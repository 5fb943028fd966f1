//! When a sub-expression can be computed: the binding times of the language.
//!
//! Code generation computes what depends on the pod alone once per pod; `cost` counts it so, and
//! `plan` prints the stages.

use super::faults::may_fail;
use super::index::{answer_keys, is_looked_up};
use crate::language::fields::Access;
use crate::typed::{Expr, ExprKind, Policy, Root};
use crate::types::convert::can_be_kept;

/// When an expression can be computed, earliest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// When the policy is compiled.
    Const,
    /// Once per pod.
    Pod,
    /// Once per change of the node.
    Node,
    /// A lookup: something of the pod equals a label of the node, or elements are found by a value
    /// of the node.
    Index,
    /// Per pod and node.
    Pair,
}

impl Stage {
    /// The word that `plan` prints.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Const => "const",
            Stage::Pod => "pod",
            Stage::Node => "node",
            Stage::Index => "index",
            Stage::Pair => "pair",
        }
    }
}

/// What an expression depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Depends {
    /// The pod, its namespace, the cluster as a whole, the clock.
    pub pod: bool,
    /// The node that is evaluated.
    pub node: bool,
    /// Whether it uses a variable of an enclosing macro.
    pub free: bool,
}

impl Depends {
    fn join(self, other: Self) -> Self {
        Self { pod: self.pod || other.pod, node: self.node || other.node, free: self.free || other.free }
    }

    /// The stage of an expression with these dependencies.
    pub fn stage(self) -> Stage {
        match (self.pod, self.node) {
            (false, false) => Stage::Const,
            (true, false) => Stage::Pod,
            (false, true) => Stage::Node,
            (true, true) => Stage::Pair,
        }
    }
}

/// The stage of an expression.
pub fn stage(policy: &Policy, expr: &Expr) -> Stage {
    match &expr.kind {
        ExprKind::Equal(left, right) | ExprKind::In(left, right) => {
            let of = |side: &Expr| depends(policy, side, &mut Vec::new()).stage();
            let label = |side: &Expr| super::shape::node_label(policy, side).is_some();
            if label(left) && of(right) <= Stage::Pod || label(right) && of(left) <= Stage::Pod {
                return if of(left).max(of(right)) == Stage::Node && of(left).min(of(right)) == Stage::Const {
                    Stage::Node
                } else {
                    Stage::Index
                };
            }
            if let ExprKind::In(element, list) = &expr.kind
                && is_looked_up(policy, element, list)
                && of(list) <= Stage::Pod
            {
                return Stage::Index;
            }
            depends(policy, expr, &mut Vec::new()).stage()
        }
        ExprKind::Let(id) => stage(policy, &policy[*id].value),
        _ if answer_keys(policy, expr).is_some() => Stage::Index,
        _ => depends(policy, expr, &mut Vec::new()).stage(),
    }
}

/// Whether the first thing that `expr` names is the node: then it depends on it, whatever else it
/// names.
fn begins_at_node(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Root(Root::Node) => true,
        // What is made of several values, or found by one.
        ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Record(_)
        | ExprKind::Call(..)
        | ExprKind::CallDef(..)
        | ExprKind::Macro(_)
        | ExprKind::LookUp(..)
        | ExprKind::Ledger(..)
        | ExprKind::Source(..) => false,
        _ => expr.first_operand().is_some_and(begins_at_node),
    }
}

/// What `expr` depends on; `bound` are the slots that are not free in it.
pub fn depends(policy: &Policy, expr: &Expr, bound: &mut Vec<u32>) -> Depends {
    let pod = Depends { pod: true, ..Depends::default() };
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Param(_) => Depends::default(),
        // A let sees no slot but its own.
        ExprKind::Let(id) => depends(policy, &policy[*id].value, &mut Vec::new()),
        ExprKind::Slot(slot) => Depends { free: !bound.contains(&slot.0), ..Depends::default() },
        ExprKind::Root(Root::Node) => Depends { node: true, ..Depends::default() },
        ExprKind::Root(_) | ExprKind::Memo(_) | ExprKind::Now => pod,
        ExprKind::LookUp(..) => parts_depend(policy, expr, bound).join(pod),
        ExprKind::Group(group) => {
            let group = &policy[*group];
            let mut inner = vec![group.slot.0];
            let conditions = group.rest.iter();
            conditions.fold(pod, |of, condition| of.join(depends(policy, condition, &mut inner)))
        }
        ExprKind::Ledger(_, key) | ExprKind::Source(_, key) => pod.join(depends(policy, key, bound)),
        // A field of a pod or node that is reached otherwise than by `node` depends on the
        // snapshot.
        ExprKind::Field(object, _) | ExprKind::ApiField(object, _) => {
            let of = depends(policy, object, bound);
            if of.node { of } else { of.join(pod) }
        }
        ExprKind::CallDef(def, _) => {
            let def = &policy[*def];
            let mut inner: Vec<u32> = def.parameters.iter().map(|slot| slot.0).collect();
            parts_depend(policy, expr, bound).join(depends(policy, &def.body, &mut inner))
        }
        _ => parts_depend(policy, expr, bound),
    }
}

fn parts_depend(policy: &Policy, expr: &Expr, bound: &mut Vec<u32>) -> Depends {
    expr.operands().into_iter().fold(Depends::default(), |all, operand| {
        let depth = bound.len();
        bound.extend(operand.binds.iter().flatten().map(|slot| slot.0));
        let of = depends(policy, operand.expr, bound);
        bound.truncate(depth);
        all.join(of)
    })
}

/// Whether the closures for nodes compute an expression once per pod and keep its value in a
/// register: it depends on the pod alone, and its value can be kept.
pub(crate) fn is_register(policy: &Policy, expr: &Expr) -> bool {
    let constant = matches!(expr.kind, ExprKind::Constant(_) | ExprKind::Param(_));
    if constant || begins_at_node(expr) || !can_be_kept(&expr.ty) {
        return false;
    }
    let of = depends(policy, expr, &mut Vec::new());
    !of.node && !of.free && !may_fail(policy, expr)
}

/// Whether an expression is a path, as cheap to evaluate again as to remember.
pub fn is_path(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Param(_)
        | ExprKind::Slot(_)
        | ExprKind::Root(_)
        | ExprKind::Now => true,
        ExprKind::Field(inner, field) => field.def().access != Access::Made && is_path(inner),
        ExprKind::Present(inner) | ExprKind::Widen(inner) => is_path(inner),
        ExprKind::Index(object, key) => is_path(object) && is_path(key),
        _ => false,
    }
}
