//! `applies when`: the conditions that narrow the whole policy.

use super::Checker;
use super::scope::{FactScope, Frame, Place};
use super::statements::split;
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, StatementKind};
use crate::typed::{Body, Head, Policy};
use bayplan_diag::Span;

impl<'a> Checker<'a> {
    /// `applies when`, first, because what it says narrows everything else.
    pub(super) fn applies(&mut self, policy: &'a ast::Policy, result: &mut Policy) {
        self.frame = Frame::new(Place::In(StatementId::Applies), FactScope::Raw);
        let mut conditions = Vec::new();
        for statement in &policy.statements {
            let StatementKind::Applies(applies) = &statement.kind else { continue };
            result.to_all_pods |= applies.to_all_pods.is_some();
            let Some(when) = &applies.when else { continue };
            let condition = self.condition(when);
            self.always(&condition, "the policy applies to every pod", "the policy applies to no pod");
            self.assume(&condition, true);
            split(condition, &mut conditions);
        }
        if let (Some(first), Some(last)) = (conditions.first(), conditions.last()) {
            let span = Span { end: last.span.end, ..first.span };
            result.add_rule(Head::of("applies when", span), Body::Applies(conditions));
        }
        self.policy_facts = std::mem::take(&mut self.frame.facts).into_policy();
    }
}
