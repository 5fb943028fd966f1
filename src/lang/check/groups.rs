//! `group`: the equalities that keep it in an index, and the rest of its condition.

use super::Checker;
use super::scope::{FactScope, Place, State};
use super::statements::split;
use crate::language::fields::ObjectType;
use crate::language::statements::StatementId;
use crate::syntax::ast::{self};
use crate::typed::{Expr, ExprKind, Group, GroupId, GroupKey, Root, SlotId};
use crate::types::Type;
use bayplan_diag::codes;

impl<'a> Checker<'a> {
    pub(super) fn declare_group(&mut self, of: &'a ast::Group) -> State {
        let fact_scope = self.frame.fact_scope;
        self.frame.fact_scope = FactScope::Raw;
        let ((condition, slot), _) = self.in_frame(Place::In(StatementId::Group), |this| {
            let ty = Type::Object(ObjectType::Pod);
            let slot =
                this.add_variable(&of.variable.text, of.variable.span, ty, crate::types::range::Range::None);
            (this.condition(&of.condition), slot)
        });
        self.frame.fact_scope = fact_scope;
        if condition.ty.is_unknown() {
            return State::Failed;
        }
        let span = condition.span;
        let mut conjuncts = Vec::new();
        split(condition, &mut conjuncts);
        let mut group = Group {
            name: of.name.text.clone(),
            slot,
            keys: Vec::new(),
            rest: Vec::new(),
            mutual: true,
            span: of.name.span,
        };
        for conjunct in conjuncts {
            let conjunct = self.key_that_may_be_absent(conjunct);
            match self.group_key(conjunct, slot) {
                Ok((key, same)) => {
                    group.mutual &= same;
                    group.keys.push(key);
                }
                Err(rest) => {
                    group.mutual = false;
                    group.rest.push(rest);
                }
            }
        }
        if group.keys.is_empty() {
            let p = &of.variable.text;
            self.mistake(
                &codes::GROUP_WITHOUT_KEY,
                span,
                format!("no equality keeps the group `{}` together", of.name.text),
                format!(
                    "add `{p}.namespace == pod.namespace`, or `{p}.labels[\"app\"] == pod.labels[\"app\"]`"
                ),
            );
            return State::Failed;
        }
        let id = GroupId(self.declared.groups.len() as u32);
        self.declared.groups.push(group);
        State::Group(id)
    }

    /// `p.path == pod.path`, and whether both paths are the same.
    fn group_key(&self, conjunct: Expr, slot: SlotId) -> Result<(GroupKey, bool), Expr> {
        let ExprKind::Equal(left, right) = conjunct.kind else { return Err(conjunct) };
        let of = |expr: &Expr| self.path_of(expr);
        let (left, right) = match (of(&left), of(&right)) {
            (Some(PathOf::Slot(a)), Some(PathOf::Pod)) if a == slot => (left, right),
            (Some(PathOf::Pod), Some(PathOf::Slot(b))) if b == slot => (right, left),
            _ => return Err(Expr { kind: ExprKind::Equal(left, right), ..conjunct }),
        };
        let same = self.same_path(&left, &right);
        Ok((GroupKey { member: *left, pod: *right }, same))
    }

    /// Whether two paths have the same steps, whatever they begin at.
    fn same_path(&self, left: &Expr, right: &Expr) -> bool {
        let (left, right) = (self.without_alias(left), self.without_alias(right));
        match (&left.kind, &right.kind) {
            (ExprKind::Slot(_), ExprKind::Root(Root::Pod)) => true,
            (ExprKind::Field(left, a), ExprKind::Field(right, b)) => a == b && self.same_path(left, right),
            (ExprKind::ApiField(left, a), ExprKind::ApiField(right, b)) => {
                a == b && self.same_path(left, right)
            }
            (ExprKind::Index(left, a), ExprKind::Index(right, b)) => {
                self.constant(a).is_some_and(|key| self.constant(b) == Some(key))
                    && self.same_path(left, right)
            }
            _ => false,
        }
    }

    /// What lets stand for, without marks that change nothing.
    fn without_alias<'e>(&'e self, expr: &'e Expr) -> &'e Expr {
        match &expr.kind {
            ExprKind::Let(id) => self.without_alias(&self.declared.lets[id.index()].value),
            ExprKind::Present(inner) => self.without_alias(inner),
            _ => expr,
        }
    }

    /// Whose path an expression is, keys constant.
    fn path_of(&self, expr: &Expr) -> Option<PathOf> {
        match &expr.kind {
            ExprKind::Slot(slot) => Some(PathOf::Slot(*slot)),
            ExprKind::Root(Root::Pod) => Some(PathOf::Pod),
            ExprKind::Let(id) => self.path_of(&self.declared.lets[id.index()].value),
            ExprKind::Present(inner) | ExprKind::Field(inner, _) | ExprKind::ApiField(inner, _) => {
                self.path_of(inner)
            }
            ExprKind::Index(object, key) => {
                self.constant(key)?;
                self.path_of(object)
            }
            _ => None,
        }
    }
}

/// Whose path.
enum PathOf {
    Pod,
    Slot(SlotId),
}
