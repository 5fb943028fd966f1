//! `preempt`: which pods may be evicted for the pod. Nothing that one statement shows is known in another: between two of
//! them a simulation may take pods away.

use super::Checker;
use super::scope::Place;
use crate::language::fields::ObjectType;
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, BlockKind};
use crate::typed::reads::RuleReads;
use crate::typed::{Body, Check, Expr, ExprKind, Reason, Root, Victim, walk};
use crate::types::Type;
use crate::types::range::Range;
use bayplan_diag::{Span, codes};

impl<'a> Checker<'a> {
    /// The statements of a `preempt`, each a rule with its place.
    pub(super) fn preempt(&mut self, block: &'a ast::Block) -> Vec<(Span, Body)> {
        self.enter(Place::In(StatementId::Preempt));
        let mut rules = Vec::new();
        for statement in &block.statements {
            let mark = self.frame.facts.mark();
            match &statement.kind {
                BlockKind::Let(of) => {
                    self.block_let(of);
                    continue;
                }
                BlockKind::Never(never) => {
                    let check = self.never(never, statement);
                    rules.push((statement.span, Body::Never(check)));
                }
                BlockKind::Victim(of) => {
                    let victim = self.victim(of, statement, false);
                    rules.push((statement.span, Body::Victim(victim)));
                }
                BlockKind::Protect(of) => {
                    let victim = self.victim(of, statement, true);
                    rules.push((statement.span, Body::Victim(victim)));
                }
                BlockKind::Guard(guard) => {
                    let check = self.eviction_guard(guard, statement);
                    rules.extend(check.map(|check| (statement.span, Body::EvictionGuard(check))));
                }
                other => self.refused_in_block(other, statement.span),
            }
            self.frame.facts.forget(mark);
        }
        self.leave();
        rules
    }

    fn victim(&mut self, of: &'a ast::Victim, statement: &ast::BlockStatement, protects: bool) -> Victim {
        let ty = Type::Object(ObjectType::Pod);
        let slot = self.add_variable(&of.variable.text, of.variable.span, ty, Range::None);
        let condition = self.condition(&of.when);
        match protects {
            true => self.always(&condition, "no pod may be evicted", "no pod is protected"),
            false => self.always(&condition, "every pod may be evicted", "no pod may be evicted"),
        }
        let variable = self.frame.locals.pop();
        if variable.is_some_and(|variable| !variable.used) && !condition.ty.is_unknown() {
            let message = format!("the condition reads nothing of the pod `{}`", of.variable.text);
            let help = match protects {
                true => "it protects all pods or none: `never \"…\" when …` says that the pod evicts nothing",
                false => "it names all pods or none: compare something of the pod",
            };
            self.mistake(&codes::UNUSED, of.variable.span, message, help);
        }
        let doc = statement.doc.as_ref().map(|doc| doc.text.clone());
        let (on_error, span) = (self.on_error(statement), statement.span);
        let to_all_pods = of.to_all_pods.is_some();
        Victim { protects, to_all_pods, slot, condition, reads: RuleReads::default(), on_error, doc, span }
    }

    fn never(&mut self, never: &'a ast::Reject, statement: &ast::BlockStatement) -> Check {
        let condition = never.when.as_ref().map(|when| {
            let condition = self.condition(when);
            self.always(&condition, "the pod evicts nothing", "the pod may evict others in any case");
            self.assume(&condition, true);
            condition
        });
        let reason = self.eviction_reason(&never.reason);
        let shown = reason.holes().chain(reason.details.iter().map(|(_, value)| value));
        if let Some(span) = condition.iter().chain(shown).find_map(|part| self.place_of_node(part)) {
            let help =
                "it is decided once per pod: write conditions on nodes in `protect v when …` or `guard`";
            self.mistake(&codes::NOT_SEEN_HERE, span, "`never` does not see `node`", help);
        }
        self.made_check(statement, true, condition, reason)
    }

    fn eviction_guard(&mut self, guard: &'a ast::Require, statement: &ast::BlockStatement) -> Option<Check> {
        let condition = self.condition(&guard.condition);
        self.always(&condition, "every eviction is allowed", "no eviction is allowed");
        self.assume(&condition, false);
        // Without a reason the statement did not parse.
        let reason = self.eviction_reason(guard.reason.as_ref()?);
        Some(self.made_check(statement, false, Some(condition), reason))
    }

    /// A reason without `resolvable` and `unresolvable`.
    fn eviction_reason(&mut self, reason: &ast::Reason) -> Reason {
        if let Some((_, span)) = reason.resolvable {
            let message = "this has no meaning where evictions are decided";
            self.mistake(&codes::WRONG_RESOLVABILITY, span, message, "remove it");
        }
        self.reason(reason)
    }

    /// Where an expression reads `node`, itself or by a let or def.
    fn place_of_node(&self, expr: &Expr) -> Option<Span> {
        let named = |of: Option<&Expr>| of.and_then(|of| self.place_of_node(of)).map(|_| expr.span);
        match &expr.kind {
            ExprKind::Root(Root::Node) => Some(expr.span),
            ExprKind::Let(id) => named(self.declared.lets.get(id.index()).map(|of| &of.value)),
            ExprKind::CallDef(id, args) => named(self.declared.defs.get(id.index()).map(|of| &of.body))
                .or_else(|| args.iter().find_map(|arg| self.place_of_node(arg))),
            _ => walk::parts(expr).into_iter().find_map(|part| self.place_of_node(part)),
        }
    }
}
