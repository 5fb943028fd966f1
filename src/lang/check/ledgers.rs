//! `ledger`: its key, what pods add, and the sums that rules read.

use super::Checker;
use super::expr::{default_text, type_range};
use super::scope::{DeclKind, FactScope, Place, State};
use crate::language::statements::{Names, StatementId};
use crate::syntax::ast::{self, BlockKind, Text};
use crate::typed::reads::RuleReads;
use crate::typed::{Add, Expr, ExprKind, Ledger, LedgerId};
use crate::types::Type;
use crate::types::range::Range;
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_model::{IndexKey, Symbol};

impl<'a> Checker<'a> {
    pub(super) fn declare_ledger(&mut self, of: &'a ast::Ledger) -> State {
        let fact_scope = std::mem::replace(&mut self.frame.fact_scope, FactScope::Narrowed);
        let doc = self.resolving.last().and_then(|id| self.decls[id.index()].doc.clone());
        let (made, _) = self.in_frame(Place::In(StatementId::Ledger), |this| this.ledger(of, doc));
        self.frame.fact_scope = fact_scope;
        let Some(ledger) = made else { return State::Failed };
        let id = LedgerId(self.declared.ledgers.len() as u32);
        self.declared.ledgers.push(ledger);
        State::Ledger(id)
    }

    /// `None` when it has a mistake.
    fn ledger(&mut self, of: &'a ast::Ledger, doc: Option<Text>) -> Option<Ledger> {
        let ty = self.type_expr(&of.declared);
        let ty = self.type_of_sums(ty, of);
        let key = self.expr(&of.key, None);
        let key = self.ledger_key(key);
        let mut adds = Vec::new();
        for statement in &of.block.statements {
            match &statement.kind {
                BlockKind::Let(of) => self.block_let(of),
                BlockKind::Add(add) => {
                    let add = self.add(add, &ty, statement.span);
                    adds.push(add);
                }
                other => self.refused_in_block(other, statement.span),
            }
        }
        self.leave();
        if of.block.statements.is_empty() {
            let message = format!("the ledger `{}` adds nothing", of.name.text);
            let help = "write `add 1` to count pods, or `add pod.requests.cpu`";
            self.mistake(&codes::LEDGER_TYPE, of.name.span, message, help);
        }
        let broken = adds.iter().any(|add| add.value.ty.is_unknown());
        if broken || adds.is_empty() || ty.is_unknown() || key.ty.is_unknown() {
            return None;
        }
        Some(Ledger {
            name: of.name.text.clone(),
            doc,
            ty,
            key,
            adds,
            // `analysis::ledgers` derives the rest.
            required_lets: Vec::new(),
            reads_node: false,
            reads_namespace: false,
            reads_objects: false,
            reads: RuleReads::default(),
            index: IndexKey(Symbol::new("")),
            span: of.name.span,
        })
    }

    /// The type of a ledger's sums, if it can have such.
    fn type_of_sums(&mut self, ty: Type, of: &ast::Ledger) -> Type {
        let help = match &ty {
            Type::Int | Type::Cpu | Type::Bytes | Type::Duration | Type::Count | Type::Resources => {
                return ty;
            }
            Type::Unknown => return ty,
            Type::Set(element) if is_key_part(element) => return ty,
            Type::Float => {
                "sums of floats do not come apart again when a pod goes: use `int` or a unit, or add `round(…)`"
            }
            Type::List(_) => "write `set<T>`: an element that two pods add stays until both are gone",
            Type::Set(_) => "elements are strings, numbers, amounts, times and bools",
            _ => "the sums are `int`, `count`, `cpu`, `bytes`, `duration`, `resources` or `set<T>`",
        };
        let message = format!("a ledger cannot add up `{ty}`");
        self.mistake(&codes::LEDGER_TYPE, of.declared.span, message, help);
        Type::Unknown
    }

    /// A key that is there, and by which sums can be kept.
    fn ledger_key(&mut self, key: Expr) -> Expr {
        let key = self.key_with_value(key, "say in `applies when` that it is there");
        let key = self.of_policy_form(key);
        let fits = match &key.ty {
            Type::List(part) => is_key_part(part),
            ty => ty.is_unknown() || is_key_part(ty),
        };
        if !fits {
            let message = format!("a ledger cannot be kept by `{}`", key.ty);
            let help = match &key.ty {
                Type::List(part) if part.is_optional() => {
                    "every part of the key needs a value: `[pod.namespace, pod.labels[\"team\"] ?? \"\"]`"
                }
                Type::Object(_) => "write a field of it, such as its name",
                _ => "keys are strings, numbers, amounts, times and bools, or a list of one of these",
            };
            self.mistake(&codes::LEDGER_TYPE, key.span, message, help);
            return self.unknown(key.span);
        }
        key
    }

    /// A key of a ledger or memo must have a value. `otherwise` says what to do but giving a default.
    pub(super) fn key_with_value(&mut self, mut key: Expr, otherwise: &str) -> Expr {
        if !key.ty.is_optional() || *key.ty.present() == Type::Never {
            return self.value(key);
        }
        let text = self.excerpt(key.span);
        let message = format!("the key `{text}` may be absent");
        let mut said = Diagnostic::new(&codes::LEDGER_KEY_ABSENT, key.span, message);
        if let Some(default) = default_text(key.ty.present()) {
            let fixed = format!("({text} ?? {default})");
            let title = format!("write `{text} ?? {default}`");
            let help = if otherwise.is_empty() { title.clone() } else { format!("{title}, or {otherwise}") };
            said = said.with_help(help).with_fix(title, key.span, fixed);
        }
        self.report(said);
        key.ty = key.ty.present().clone();
        key
    }

    fn add(&mut self, of: &'a ast::Give, ty: &Type, span: Span) -> Add {
        let mark = self.frame.facts.mark();
        let when = of.when.as_ref().map(|when| self.guard(when));
        let value = match ty {
            Type::Set(element) => {
                let value = self.expr(&of.value, None);
                let value = self.value(value);
                let value = self.of_policy_form(value);
                let of_elements = match &value.ty {
                    Type::List(given) | Type::Set(given) => {
                        **given == Type::Never || !given.is_optional() && element.accepts(given)
                    }
                    _ => false,
                };
                if of_elements { value } else { self.fit(value, element, "an element of the ledger") }
            }
            ty => {
                let value = self.expr(&of.value, Some(ty));
                self.fit(value, ty, "`add`")
            }
        };
        self.frame.facts.forget(mark);
        Add { value, when, span }
    }

    /// `NAME[key]`, where the name is a ledger.
    pub(super) fn ledger_sum(&mut self, access: &ast::IndexAccess, span: Span) -> Option<Expr> {
        let ast::ExprKind::Name(name) = &access.object.kind else { return None };
        if self.frame.locals.iter().any(|local| local.name == *name) {
            return None;
        }
        let id = *self.names.get(name)?;
        if !matches!(self.decls[id.index()].kind, DeclKind::Ledger(_)) {
            return None;
        }
        let state = self.resolve(id, access.object.span);
        let wanted = match state {
            State::Ledger(ledger) => Some(self.declared.ledgers[ledger.index()].key.ty.clone()),
            _ => None,
        };
        let key = self.expr(&access.index, wanted.as_ref());
        let (State::Ledger(ledger), Some(wanted)) = (state, wanted) else {
            return Some(self.unknown(span));
        };
        if !self.allow(Names::LEDGERS, name, access.object.span) {
            return Some(self.unknown(span));
        }
        if access.optional {
            let message = format!("the ledger `{name}` has a sum for every key");
            let help = format!("write `{name}[{}]`", self.excerpt(access.index.span));
            self.mistake(&codes::TYPE_MISMATCH, span, message, help);
            return Some(self.unknown(span));
        }
        let key = self.key_with_value(key, "say in `applies when` that it is there");
        let key = self.fit(key, &wanted, &format!("the key of `{name}`"));
        if key.ty.is_unknown() {
            return Some(self.unknown(span));
        }
        let of = &self.declared.ledgers[ledger.index()];
        let range = match &of.ty {
            Type::Set(_) => Range::None,
            ty if of.adds.iter().all(|add| add.value.range.is_positive_or_zero()) => {
                match type_range(ty).ends() {
                    Some(_) => Range::whole(0, i128::from(i64::MAX)),
                    None => Range::None,
                }
            }
            ty => type_range(ty),
        };
        let ty = match &of.ty {
            Type::Set(element) => Type::List(element.clone()),
            ty => ty.clone(),
        };
        let expr = self.with_range(ExprKind::Ledger(ledger, Box::new(key)), ty, range, span);
        Some(self.narrowed(expr))
    }
}

/// Whether values of a type can be a key, or a part of one.
pub(super) fn is_key_part(ty: &Type) -> bool {
    ty.is_whole() || matches!(ty, Type::String | Type::Bool | Type::Time | Type::Uint)
}
