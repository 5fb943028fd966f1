//! Exceptions: documents have those of the policy and of its rules in one field, each with the name of its rule.

use super::{Fields, NoTwin, PolicyWriter, put};
use crate::diag::Span;
use crate::lang::syntax::ast::{BlockKind, Except, Statement, StatementKind};

impl PolicyWriter<'_, '_> {
    /// The exceptions that a rule says.
    pub(super) fn exceptions_in(&mut self, statement: &Statement) -> Result<(), NoTwin> {
        let Some(block) = statement.kind.block() else { return Ok(()) };
        let rule = match &statement.kind {
            StatementKind::Filter(of) => &of.name.text,
            StatementKind::Score(of) => &of.name.text,
            StatementKind::Permit(_) => "permit",
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
        if let Some(rule) = rule {
            put(&mut fields, "rule", rule);
        }
        put(&mut fields, "until", &except.until.text);
        put(&mut fields, "because", &except.because.text);
        if let Some(when) = &except.when {
            put(&mut fields, "when", &self.cel(when)?);
        }
        self.add("exceptions", span, fields);
        Ok(())
    }
}
