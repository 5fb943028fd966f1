//! Exceptions: documents have those of the policy and of its rules in one field, each with the name of its rule.

use super::{Fields, PolicyWriter, put};
use crate::convert::NoTwin;
use crate::language::documents::EXCEPTION;
use crate::language::statements::StatementId;
use crate::syntax::ast::{BlockKind, Except, Item, ItemKind, Parts, Policy, Statement, StatementKind};
use bayplan_diag::Span;
use std::mem::discriminant;

/// Exceptions from one of several `prefilter`, `reserve`, `permit` or `preempt` of a policy: documents name all of them.
pub(super) fn of_one_of_several(policy: &Policy) -> Vec<NoTwin> {
    let is_one = |kind: &StatementKind| {
        use StatementKind::{Permit, Preempt, Prefilter, Reserve};
        matches!(kind, Prefilter(_) | Reserve(_) | Permit(_) | Preempt(_))
    };
    let of_kind = |statement: &Statement| {
        let same = |of: &&Statement| discriminant(&of.kind) == discriminant(&statement.kind);
        policy.statements.iter().filter(same).count()
    };
    let several = policy.statements.iter().filter(|of| is_one(&of.kind) && of_kind(of) > 1);
    let inside = several.filter_map(|of| of.kind.block()).flat_map(|block| &block.statements);
    let exceptions = inside.filter(|inner| matches!(inner.kind, BlockKind::Except(_)));
    let why = "an exception of a document is from all blocks of its word: write them as one";
    exceptions.map(|inner| NoTwin::new(inner.span, why)).collect()
}

/// The exceptions of a file from one of its policies, outside of it.
pub(super) fn outside<'a>(
    items: &'a [Item],
    policy: &'a str,
) -> impl Iterator<Item = (&'a Except, Option<&'a str>, Span)> {
    items.iter().filter_map(move |item| {
        let ItemKind::Except(except) = &item.kind else { return None };
        let (of, rule) = except.about()?;
        (of == policy).then_some((except, rule, item.span))
    })
}

/// Whether the policy of an exception is among the items.
pub(super) fn is_about_policy_of(items: &[Item], except: &Except) -> bool {
    let is = |item: &Item| {
        matches!(&item.kind, ItemKind::Policy(policy)
            if except.about().is_some_and(|(of, _)| *of == *policy.name.text))
    };
    items.iter().any(is)
}

impl PolicyWriter<'_, '_> {
    /// The exceptions that a rule says.
    pub(super) fn exceptions_in(&mut self, statement: &Statement) -> Result<(), NoTwin> {
        let Some(block) = statement.kind.block() else { return Ok(()) };
        let rule = match &statement.kind {
            StatementKind::Filter(of) => &of.name.text,
            StatementKind::Score(of) => &of.name.text,
            StatementKind::Reserve(_) => "reserve",
            StatementKind::Permit(_) => "permit",
            StatementKind::Preempt(_) => "preempt",
            _ => "prefilter",
        };
        for inner in &block.statements {
            if let BlockKind::Except(except) = &inner.kind {
                self.exception(except, Some(rule), inner.span)?;
            }
        }
        Ok(())
    }

    pub(super) fn exception(
        &mut self,
        except: &Except,
        rule: Option<&str>,
        span: Span,
    ) -> Result<(), NoTwin> {
        let mut fields = Fields::new();
        rule.iter().for_each(|rule| put(&mut fields, "rule", rule));
        let parts: Parts<'_> = except.parts().into_iter().filter(|(key, _)| *key != "rule").collect();
        fields.extend(self.fields_of(StatementId::Except, &parts, &EXCEPTION, &[])?);
        self.add("exceptions", span, fields);
        Ok(())
    }
}
