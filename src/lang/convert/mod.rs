//! Policies from the policy language to documents and back, for `bayplan convert`.
//!
//! A policy is converted from its tree, with the types of its checked form where the two languages differ. What has
//! no twin is a [`NoTwin`]; the caller writes nothing then. The caller compiles the result before it writes it.
//!
//! - `expressions.rs` writes expressions in either language, `literals.rs` their literals
//! - `absent.rs` says in CEL what the policy language means where a value may be absent
//! - `document.rs` writes documents, `yaml.rs` their scalars; `language.rs` writes the policy language
//! - `remarks.rs` keeps comments with the statements below them

mod absent;
mod document;
mod expressions;
mod language;
mod literals;
mod remarks;
mod yaml;

use super::syntax::{self, ast};
use super::typed::{self, Policy};
use crate::diag::{Diagnostic, Form, Source, Span, codes};
use crate::lang::typed::walk;
use crate::lang::types::value::Value;
use rustc_hash::{FxHashMap, FxHashSet};

/// A part that the other language cannot say.
#[derive(Clone, Debug)]
pub struct NoTwin {
    /// Where it is.
    pub span: Span,
    /// Why.
    pub why: String,
}

impl NoTwin {
    fn new(span: Span, why: impl Into<String>) -> Self {
        NoTwin { span, why: why.into() }
    }

    /// The same as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(&codes::NO_TWIN, self.span, &self.why)
    }
}

/// A policy text in the other language, or everything that has no twin. The text must compile.
pub fn convert(source: &Source, policies: &[Policy]) -> Result<String, Vec<NoTwin>> {
    let (file, _) = syntax::parse(source);
    let types = Types::of(policies);
    match source.form() {
        Form::Language => document::write(source, &file, &types),
        Form::Document => language::write(source, &file, &types),
    }
}

/// Which expressions may be absent, by their places.
#[derive(Debug, Default)]
struct Types {
    absent: FxHashMap<Span, bool>,
    /// Whole numbers that are widened to floats.
    widened: FxHashSet<Span>,
    /// Constant amounts as literals of the policy language: quantities of CEL beside a unit.
    amounts: FxHashMap<Span, String>,
}

impl Types {
    fn of(policies: &[Policy]) -> Self {
        let mut types = Types::default();
        for policy in policies {
            policy.for_each_expr(&mut |whole| types.note(whole));
            policy.lets.iter().for_each(|of| types.note(&of.value));
            policy.defs.iter().for_each(|def| types.note(&def.body));
        }
        types
    }

    fn note(&mut self, expr: &typed::Expr) {
        // Where a value was shown to be there, a node with the same place says so.
        let absent = expr.ty.is_optional();
        if let typed::ExprKind::Widen(inner) = &expr.kind
            && inner.span == expr.span
        {
            self.widened.insert(expr.span);
        }
        if let typed::ExprKind::Constant(Value::Int(amount)) = &expr.kind
            && let Some(literal) = literals::amount(*amount, &expr.ty)
        {
            self.amounts.insert(expr.span, literal);
        }
        self.absent.entry(expr.span).and_modify(|known| *known &= absent).or_insert(absent);
        walk::each_part(expr, &mut |part| self.note(part));
    }

    fn may_be_absent(&self, expr: &ast::Expr) -> bool {
        self.absent.get(&expr.span).copied().unwrap_or(false)
    }
}
