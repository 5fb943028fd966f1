//! `after failure`: what is done after an attempt.

use super::Checker;
use super::scope::Place;
use crate::diag::Span;
use crate::lang::language::statements::StatementId;
use crate::lang::syntax::ast::{self, BlockKind};
use crate::lang::typed::reads::Reads;
use crate::lang::typed::{Act, Acts, Does, Point};

impl<'a> Checker<'a> {
    pub(super) fn acts(
        &mut self,
        statement: StatementId,
        point: Point,
        block: &'a ast::Block,
        span: Span,
    ) -> Acts {
        self.enter(Place::In(statement));
        let mut acts = Vec::new();
        for statement in &block.statements {
            let act = match &statement.kind {
                BlockKind::Let(of) => {
                    self.block_let(of);
                    continue;
                }
                BlockKind::Release(of) => self.act(of.when.as_ref(), statement.span, |this| {
                    let reason = this.reason(&of.reason);
                    this.named_group(&of.group).map(|group| Does::Release(group, reason))
                }),
                BlockKind::Activate(of) => self.act(of.when.as_ref(), statement.span, |this| {
                    this.named_group(&of.group).map(Does::Activate)
                }),
                BlockKind::Remember(of) => {
                    self.act(of.when.as_ref(), statement.span, |this| this.remember(of))
                }
                other => {
                    self.refused_in_block(other, statement.span);
                    continue;
                }
            };
            acts.extend(act);
        }
        self.leave();
        Acts { point, acts, span }
    }

    /// An act. What its condition shows is known in it, and only there.
    fn act(
        &mut self,
        when: Option<&'a ast::Expr>,
        span: Span,
        does: impl FnOnce(&mut Self) -> Option<Does>,
    ) -> Option<Act> {
        let mark = self.frame.facts.mark();
        let when = when.map(|when| self.guard(when));
        let does = does(self);
        self.frame.facts.forget(mark);
        Some(Act { does: does?, when, reads: Reads::default(), span })
    }
}
