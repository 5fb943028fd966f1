//! Statements: checks the expressions of each one, in the order of the policy.

use super::Checker;
use super::heads::{OfPermit, head_of, head_of_eviction, runs};
use super::modes::RuleModes;
use super::scope::{FactScope, Frame, Place};
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, Resolvable, StatementKind, Text};
use crate::typed::reads::RuleReads;
use crate::typed::{
    Body, Check, Expr, ExprKind, Filter, Head, Let, LetId, Missing, Point, Policy, Prefilter,
    PrefilterStatement, Queue, QueueKey,
};
use bayplan_diag::{Diagnostic, Span, codes};
use rustc_hash::FxHashMap;

impl<'a> Checker<'a> {
    /// The statements of the policy but `applies`, in the order of the text.
    pub(super) fn statements(&mut self, policy: &'a ast::Policy, modes: &RuleModes, result: &mut Policy) {
        let mut names: FxHashMap<Text, Span> = FxHashMap::default();
        let (mut prefers, mut preempt) = (0, None);
        for statement in &policy.statements {
            if self.budget.is_exceeded() {
                self.incomplete = true;
                return;
            }
            let head = head_of(statement, modes, result);
            self.on_error = statement.on_error.map_or(policy.on_error, |(on_error, _)| on_error);
            match &statement.kind {
                StatementKind::Applies(_)
                | StatementKind::Let(_)
                | StatementKind::Def(_)
                | StatementKind::Type(_)
                | StatementKind::Param(_)
                | StatementKind::Group(_)
                | StatementKind::Ledger(_)
                | StatementKind::Memo(_)
                | StatementKind::Source(_)
                | StatementKind::Mode(_)
                | StatementKind::Except(_)
                | StatementKind::Broken(_) => {}
                StatementKind::Gate(gate) => {
                    let gate = self.gate(gate, head.doc.clone(), statement.span);
                    result.add_rule(head, Body::Gate(gate));
                }
                StatementKind::Queue(keys) => {
                    if let Some((first, _)) = result.queue() {
                        self.second_queue(statement.span, first.span);
                        continue;
                    }
                    let queue = self.queue(keys);
                    result.add_rule(head, Body::Queue(queue));
                }
                StatementKind::Prefilter(block) => {
                    let statements = self.prefilter(block);
                    for (head, statements) in runs(&head, statements, PrefilterStatement::span, modes, result)
                    {
                        result.add_rule(head, Body::Prefilter(Prefilter { statements }));
                    }
                }
                StatementKind::Filter(filter) => {
                    self.once(&mut names, &filter.name, "filter");
                    let checks = self.filter(policy, filter);
                    result.add_rule(head, Body::Filter(Filter { checks }));
                }
                StatementKind::Score(score) => {
                    self.once(&mut names, &score.name, "score");
                    let score = self.score(score);
                    result.add_rule(head, Body::Score(score));
                }
                StatementKind::Prefer(prefer) => {
                    prefers += 1;
                    let name = Text::from(format!("prefer-{prefers}"));
                    let score = self.prefer(prefer, statement.span);
                    result.add_rule(Head { name, ..head }, Body::Score(score));
                }
                StatementKind::Permit(block) => {
                    let statements = OfPermit::all(self.permit(block));
                    for (head, statements) in runs(&head, statements, OfPermit::span, modes, result) {
                        result.add_rule(head, Body::Permit(OfPermit::together(statements)));
                    }
                }
                StatementKind::Reserve(block) => {
                    let reserve = self.reserve(block);
                    result.add_rule(head, Body::Reserve(reserve));
                }
                StatementKind::Preempt(block) => {
                    for (span, body) in self.preempt(block) {
                        result.add_rule(head_of_eviction(span, &body, modes, result), body);
                    }
                    preempt.get_or_insert(head);
                }
                StatementKind::BeforeBind(block) => {
                    let acts = self.acts(StatementId::BeforeBind, Point::PreBind, block);
                    result.add_rule(head, Body::Acts(acts));
                }
                StatementKind::AfterBind(block) => {
                    let acts = self.acts(StatementId::AfterBind, Point::PostBind, block);
                    result.add_rule(head, Body::Acts(acts));
                }
                StatementKind::AfterFailure(block) => {
                    let acts = self.acts(StatementId::AfterFailure, Point::Failure, block);
                    result.add_rule(head, Body::Acts(acts));
                }
            }
        }
        if let Some(head) = preempt.filter(|_| !result.evicts()) {
            result.add_rule(head, Body::Preempt);
        }
        self.patched_at_two_points(result);
        self.name_in_writes(policy, result);
    }

    /// A statement that this release does not have.
    pub(super) fn refused(&mut self, statement: StatementId, span: Span) {
        let words = statement.def().words;
        let at_words = Span { end: span.start + words.len() as u32, ..span };
        self.not_built(at_words, format_args!("`{words}`"));
    }

    pub(super) fn once(&mut self, names: &mut FxHashMap<Text, Span>, name: &ast::Name, what: &str) {
        if let Some(first) = names.insert(name.text.clone(), name.span) {
            self.report(
                Diagnostic::new(
                    &codes::DUPLICATE_NAME,
                    name.span,
                    format!("a second {what} is called `{}`", name.text),
                )
                .with_place(first, "the first one"),
            );
        }
    }

    // ---- lets and groups

    /// A let; `None` when it has a mistake.
    pub(super) fn make_let(&mut self, of: &'a ast::Let, of_policy: bool) -> Option<LetId> {
        let declared = of.declared.as_ref().map(|declared| self.type_expr(declared));
        let wanted = match (&declared, &of.missing) {
            // The declared type is that of the name; the value may be absent.
            (Some(declared), Some(_)) => Some(declared.clone().optional()),
            (declared, _) => declared.clone(),
        };
        let value = self.expr(&of.value, wanted.as_ref());
        let value = match &wanted {
            Some(wanted) => self.fit(value, wanted, &format!("`{}`", of.name.text)),
            None => value,
        };
        let value = if of.missing.is_some() { self.that_may_be_missing(value) } else { value };
        let missing = match &of.missing {
            None => None,
            Some((_, span)) if !of_policy => {
                self.mistake(
                    &codes::MISSING_IN_BLOCK,
                    *span,
                    "only a `let` of the policy may have `missing`",
                    "move the let out of the block, or use `?? …`",
                );
                None
            }
            Some((missing, span)) => {
                if !value.ty.is_optional() && !value.ty.is_unknown() {
                    let text = self.excerpt(of.value.span);
                    self.mistake(
                        &codes::NEVER_ABSENT,
                        *span,
                        format!("`{text}` is never absent"),
                        "remove `missing`",
                    );
                }
                Some(match missing {
                    ast::Missing::Skip => Missing::Skip,
                    ast::Missing::Error => Missing::Error,
                    ast::Missing::Reject(reason) => Missing::Reject(self.reason(reason)),
                })
            }
        };
        if value.ty.is_unknown() {
            return None;
        }
        let id = LetId(self.declared.lets.len() as u32);
        let declared = of_policy.then_some(of.name.span);
        let number = self.numbering().number_of_let(declared, id, &value);
        self.values.let_numbers.push(number);
        self.declared.lets.push(Let {
            name: of.name.text.clone(),
            value,
            missing,
            of_policy,
            span: of.name.span,
        });
        Some(id)
    }

    // ---- statements

    fn gate(&mut self, gate: &'a ast::Gate, doc: Option<Text>, span: Span) -> Check {
        self.enter(Place::In(StatementId::Gate));
        let condition = self.condition(&gate.when);
        self.always(&condition, "no pod gets into the queue", "the gate keeps nothing");
        self.assume(&condition, true);
        let reason = self.reason(&gate.reason);
        let reads = RuleReads::default();
        let on_error = self.on_error;
        Check { condition: Some(condition), refuses_when: true, reason, reads, on_error, doc, span }
    }

    /// Reports a second `queue by`.
    fn second_queue(&mut self, second: Span, first: Span) {
        self.report(
            Diagnostic::new(&codes::DUPLICATE_STATEMENT, second, "a second `queue by`")
                .with_place(first, "the first one")
                .with_help("list all keys in one `queue by`, with commas"),
        );
    }

    pub(super) fn queue(&mut self, keys: &'a [ast::QueueKey]) -> Queue {
        self.frame = Frame::new(Place::In(StatementId::Queue), FactScope::Raw);
        let mut made = Vec::with_capacity(keys.len());
        for key in keys {
            let value = self.expr(&key.value, None);
            let value = self.value(value);
            let value = self.of_policy_form(value);
            if !value.ty.is_ordered() && !value.ty.is_unknown() {
                let message = format!("pods cannot be put in order by `{}`", value.ty);
                let help = "keys are bools, numbers, amounts, strings and times";
                self.mistake(&codes::TYPE_MISMATCH, value.span, message, help);
            }
            made.push(QueueKey { descending: key.descending, value });
        }
        Queue { keys: made, reads: RuleReads::default() }
    }
}

/// Cuts a condition at `&&`.
pub(super) fn split(condition: Expr, into: &mut Vec<Expr>) {
    match condition.kind {
        ExprKind::And(left, right) => {
            split(*left, into);
            split(*right, into);
        }
        _ => into.push(condition),
    }
}

impl Resolvable {
    /// Whether evicting pods may help, as it is written.
    pub fn helps(self) -> bool {
        self == Resolvable::Yes
    }
}
