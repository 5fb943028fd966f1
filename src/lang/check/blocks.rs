//! Blocks of rejections: `prefilter` and `filter`, and the statements that blocks share.

use super::Checker;
use super::facts::Facts;
use super::scope::{FactScope, Frame, LocalKind, Place};
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, BlockKind, OnError, Text};
use crate::typed::reads::RuleReads;
use crate::typed::{Check, Expr, Only, PrefilterStatement, Reason, ReasonPart};
use crate::types::Type;
use bayplan_diag::{Diagnostic, Span, codes};

impl<'a> Checker<'a> {
    /// A new block: nothing of the one before is known.
    pub(super) fn enter(&mut self, place: Place) {
        self.frame = Frame::new(place, FactScope::Narrowed);
        self.frame.facts = Facts::of_policy(&self.policy_facts);
    }

    /// Says which lets of the block nothing used.
    pub(super) fn leave(&mut self) {
        let broken = self.diagnostics.iter().any(Diagnostic::is_error);
        for local in std::mem::take(&mut self.frame.locals) {
            if !local.used && !broken && matches!(local.kind, LocalKind::Let(_)) {
                self.mistake(
                    &codes::UNUSED,
                    local.span,
                    format!("nothing uses the let `{}`", local.name),
                    "remove it, or use it",
                );
            }
        }
        self.frame.facts = Facts::default();
    }

    pub(super) fn block_let(&mut self, of: &'a ast::Let) {
        let kind = match self.make_let(of, false) {
            Some(id) => LocalKind::Let(id),
            None => LocalKind::Failed,
        };
        self.add_local(&of.name, kind);
    }

    pub(super) fn prefilter(&mut self, block: &'a ast::Block) -> Vec<PrefilterStatement> {
        self.enter(Place::In(StatementId::Prefilter));
        let mut made = Vec::new();
        for statement in &block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Reject(reject) => {
                    let check = self.reject(reject, statement);
                    made.push(PrefilterStatement::Check(check));
                }
                BlockKind::Only(only) => {
                    let mark = self.frame.facts.mark();
                    let when = only.when.as_ref().map(|when| self.guard(when));
                    let list = Type::String.optional().list();
                    let nodes = self.expr(&only.nodes, Some(&list));
                    let nodes = self.value(nodes);
                    let fits = match &nodes.ty {
                        Type::List(element) | Type::Set(element) => {
                            matches!(element.present(), Type::String | Type::Never)
                        }
                        Type::Unknown => true,
                        _ => false,
                    };
                    if !fits {
                        let help = match &nodes.ty {
                            Type::String => format!("write `[{}]`", self.excerpt(nodes.span)),
                            Type::List(element) if matches!(element.present(), Type::Object(_)) => {
                                format!("`{}.map(n, n.name)`", self.excerpt(nodes.span))
                            }
                            _ => String::new(),
                        };
                        let message = format!("`only nodes` wants a list of names, this is `{}`", nodes.ty);
                        self.mistake(&codes::TYPE_MISMATCH, nodes.span, message, help);
                    }
                    self.frame.facts.forget(mark);
                    made.push(PrefilterStatement::Only(Only {
                        nodes,
                        when,
                        reads: RuleReads::default(),
                        on_error: self.on_error(statement),
                        span: statement.span,
                    }));
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        made
    }

    /// A `when`: looked at first, and known in what it guards.
    pub(super) fn guard(&mut self, when: &ast::Expr) -> Expr {
        let condition = self.condition(when);
        self.assume(&condition, true);
        condition
    }

    pub(super) fn refused_in_block(&mut self, kind: &BlockKind, span: Span) {
        match kind {
            // `modes` and `exceptions` read them.
            BlockKind::Mode(_) | BlockKind::Except(_) => {}
            BlockKind::Broken(broken) => {
                self.incomplete = true;
                if let Some(name) = &broken.declares {
                    self.add_local(name, LocalKind::Failed);
                }
            }
            kind => {
                if let Some(id) = kind.id() {
                    self.refused(id, span);
                }
            }
        }
    }

    /// What a fault of a statement does: as the statement says, else as the rule or the policy does.
    pub(super) fn on_error(&self, statement: &ast::BlockStatement) -> OnError {
        statement.on_error.map_or(self.on_error, |(on_error, _)| on_error)
    }

    /// The check that a statement makes, which refuses when its condition has this value.
    pub(super) fn made_check(
        &self,
        statement: &ast::BlockStatement,
        refuses_when: bool,
        condition: Option<Expr>,
        reason: Reason,
    ) -> Check {
        let doc = statement.doc.as_ref().map(|doc| doc.text.clone());
        let (on_error, span) = (self.on_error(statement), statement.span);
        Check { condition, refuses_when, reason, reads: RuleReads::default(), on_error, doc, span }
    }

    pub(super) fn reject(&mut self, reject: &'a ast::Reject, statement: &ast::BlockStatement) -> Check {
        let mark = self.frame.facts.mark();
        let condition = reject.when.as_ref().map(|when| {
            let condition = self.condition(when);
            self.always(&condition, "everything is refused", "nothing is refused");
            condition
        });
        if let Some(condition) = &condition {
            self.assume(condition, true);
        }
        let reason = self.reason(&reject.reason);
        self.frame.facts.forget(mark);
        if let Some(condition) = &condition {
            self.assume(condition, false);
        }
        self.made_check(statement, true, condition, reason)
    }

    pub(super) fn filter(&mut self, policy: &ast::Policy, filter: &'a ast::Filter) -> Vec<Check> {
        self.enter(Place::In(StatementId::Filter));
        let mut checks = Vec::new();
        for statement in &filter.block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Reject(reject) => {
                    let check = self.reject(reject, statement);
                    checks.push(check);
                }
                BlockKind::Require(require) => {
                    let condition = self.condition(&require.condition);
                    self.always(&condition, "nothing is refused", "everything is refused");
                    let mark = self.frame.facts.mark();
                    self.assume(&condition, false);
                    let reason = match &require.reason {
                        Some(reason) => self.reason(reason),
                        None => {
                            self.mistake(
                                &codes::MISSING_REASON,
                                statement.span,
                                "what is the pod's owner told?",
                                "`else \"node(s) without …\"`: it is read after a number",
                            );
                            let text = Text::from(format!("{}/{}", policy.name.text, filter.name.text));
                            Reason {
                                parts: vec![ReasonPart::Text(text)],
                                resolvable: true,
                                derived: true,
                                written: None,
                                details: Vec::new(),
                                span: statement.span,
                            }
                        }
                    };
                    self.frame.facts.forget(mark);
                    self.assume(&condition, true);
                    checks.push(self.made_check(statement, false, Some(condition), reason));
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        checks
    }
}
