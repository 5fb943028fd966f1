//! `memo`: its key, its type, and how long it keeps a value; `remember`.

use super::Checker;
use super::ledgers::is_key_part;
use super::scope::{DeclKind, FactScope, Place, State};
use crate::language::statements::StatementId;
use crate::syntax::ast::{self, Text};
use crate::typed::{Does, Expr, ExprKind, Memo, MemoId};
use crate::types::Type;
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_model::{Duration, IndexKey, Symbol};

impl<'a> Checker<'a> {
    /// Its key is that of every pod: it knows nothing of what `applies when` says.
    pub(super) fn declare_memo(&mut self, of: &'a ast::Memo) -> State {
        let fact_scope = std::mem::replace(&mut self.frame.fact_scope, FactScope::Raw);
        let doc = self.resolving.last().and_then(|id| self.decls[id.index()].doc.clone());
        let (made, _) = self.in_frame(Place::In(StatementId::Memo), |this| this.memo(of, doc));
        self.frame.fact_scope = fact_scope;
        let Some(memo) = made else { return State::Failed };
        let id = MemoId(self.declared.memos.len() as u32);
        self.declared.memos.push(memo);
        State::Memo(id)
    }

    /// `None` when it has a mistake.
    fn memo(&mut self, of: &'a ast::Memo, doc: Option<Text>) -> Option<Memo> {
        let ty = self.type_expr(&of.declared);
        let ty = self.type_of_memo(ty, of);
        let key = self.expr(&of.key, None);
        let key = self.memo_key(key);
        let ttl = self.expr(&of.ttl, Some(&Type::Duration));
        let ttl = self.fit(ttl, &Type::Duration, "`ttl`");
        let ttl = self.ttl(ttl);
        if ty.is_unknown() || key.ty.is_unknown() || ttl.ty.is_unknown() {
            return None;
        }
        Some(Memo {
            name: of.name.text.clone(),
            doc,
            ty,
            key,
            ttl,
            // `analysis::memos` derives the rest.
            keeps_for: Duration::default(),
            index: IndexKey(Symbol::new("")),
            span: of.name.span,
        })
    }

    /// `remember M = E`; `None` when it has a mistake.
    pub(super) fn remember(&mut self, of: &'a ast::Remember) -> Option<Does> {
        let memo = self.remembered_memo(&of.memo);
        let wanted = memo.map(|memo| self.declared.memos[memo.index()].ty.clone().optional());
        let value = self.expr(&of.value, wanted.as_ref());
        let (memo, wanted) = (memo?, wanted?);
        // An optional of CEL: an empty one forgets.
        let (value, _) = self.held(value);
        if matches!(value.kind, ExprKind::Constant(Value::Absent)) && !value.ty.is_unknown() {
            return Some(Does::Remember(memo, Expr { ty: wanted, ..value }));
        }
        let value = self.fit(value, &wanted, &format!("the memo `{}`", of.memo.text));
        (!value.ty.is_unknown()).then_some(Does::Remember(memo, value))
    }

    /// The memo that is written; reports a name that is none.
    fn remembered_memo(&mut self, name: &ast::Name) -> Option<MemoId> {
        let id = self.names.get(&name.text).copied();
        let known = id.filter(|id| matches!(self.decls[id.index()].kind, DeclKind::Memo(_) | DeclKind::Lost));
        if let Some(id) = known {
            return match self.resolve(id, name.span) {
                State::Memo(memo) => Some(memo),
                _ => None,
            };
        }
        let memos = self.decls.iter().filter(|decl| matches!(decl.kind, DeclKind::Memo(_)));
        let near = self.nearest(&name.text, memos.map(|decl| &*decl.name.text));
        let message = format!("no memo is called `{}`", name.text);
        let said = Diagnostic::new(&codes::UNKNOWN_NAME, name.span, message);
        self.report(match near {
            Some(near) => said.with_help(format!("did you mean `{near}`?")).with_fix(
                format!("write `{near}`"),
                name.span,
                near,
            ),
            None => said.with_help("declare it: `memo NAME: T by KEY ttl D`"),
        });
        None
    }

    /// The memo of this name, which may be absent.
    pub(super) fn named_memo(&mut self, name: &Text, span: Span) -> Option<Expr> {
        let id = *self.names.get(name)?;
        let is_memo = matches!(self.decls[id.index()].kind, DeclKind::Memo(_));
        let hidden = self.frame.locals.iter().any(|local| local.name == *name);
        (is_memo && !hidden).then(|| self.declared(id, span))
    }

    /// The type of what a memo keeps, if it can keep such. Values are small, so that a memo is bounded by its keys.
    fn type_of_memo(&mut self, ty: Type, of: &ast::Memo) -> Type {
        let help = match &ty {
            Type::Unknown => return ty,
            Type::Float => return ty,
            ty if is_key_part(ty) => return ty.clone(),
            Type::Optional(inner) => format!("a memo may be absent in any case: write `{inner}`"),
            _ => "a memo keeps a string, a number, an amount, a time or a bool".to_owned(),
        };
        let message = format!("a memo cannot keep `{ty}`");
        self.mistake(&codes::MEMO_TYPE, of.declared.span, message, help);
        Type::Unknown
    }

    /// A key that is there, and by which values can be kept.
    fn memo_key(&mut self, key: Expr) -> Expr {
        let key = self.key_with_value(key, "");
        let key = self.of_policy_form(key);
        let fits = match &key.ty {
            Type::List(part) => is_key_part(part),
            ty => ty.is_unknown() || is_key_part(ty),
        };
        if fits {
            return key;
        }
        let message = format!("a memo cannot be kept by `{}`", key.ty);
        let help = match &key.ty {
            Type::List(part) if part.is_optional() => {
                "every part of the key needs a value: `[pod.namespace, pod.labels[\"job\"] ?? \"\"]`"
            }
            Type::Object(_) => "write a field of it, such as its name",
            _ => "keys are strings, numbers, amounts, times and bools, or a list of one of these",
        };
        self.mistake(&codes::MEMO_TYPE, key.span, message, help);
        self.unknown(key.span)
    }

    /// How long a value is kept: a constant that is not negative.
    fn ttl(&mut self, ttl: Expr) -> Expr {
        if ttl.ty.is_unknown() {
            return ttl;
        }
        let text = self.excerpt(ttl.span);
        match self.constant(&ttl) {
            Some(Value::Int(micros)) if micros >= 0 => ttl,
            Some(_) => {
                let message = format!("`{text}` is not a time for which a value can be kept");
                self.mistake(
                    &codes::MEMO_TYPE,
                    ttl.span,
                    message,
                    "write a duration such as `10min`; `0s` is off",
                );
                self.unknown(ttl.span)
            }
            None => {
                let message = format!("`{text}` is not a constant");
                let help = "`ttl` is the same for all pods: write a duration such as `10min`, or a param";
                self.mistake(&codes::NOT_CONSTANT, ttl.span, message, help);
                self.unknown(ttl.span)
            }
        }
    }
}
