//! Moves the places of trees that were read from a decoded text to the places of that text in its document.

use crate::diag::{Diagnostic, SourceId, Span};
use crate::lang::syntax::ast::*;

/// From offsets of a decoded text to places of its document.
pub(super) struct Move<'a> {
    pub(super) source: SourceId,
    pub(super) at: &'a dyn Fn(usize) -> usize,
}

impl Move<'_> {
    pub(super) fn span(&self, span: &mut Span) {
        let (start, end) = ((self.at)(span.start as usize), (self.at)(span.end as usize));
        *span = Span::new(self.source, start, end);
    }

    fn name(&self, name: &mut Name) {
        self.span(&mut name.span);
    }

    pub(super) fn diagnostic(&self, said: &mut Diagnostic) {
        self.span(&mut said.span);
        said.labels.iter_mut().for_each(|label| self.span(&mut label.span));
        for edit in said.fixes.iter_mut().flat_map(|fix| &mut fix.edits) {
            self.span(&mut edit.span);
        }
    }

    pub(super) fn type_expr(&self, of: &mut TypeExpr) {
        self.span(&mut of.span);
        match &mut of.kind {
            TypeExprKind::Name(name) => self.name(name),
            TypeExprKind::Kind(kind) => self.span(&mut kind.span),
            TypeExprKind::List(of) | TypeExprKind::Set(of) => self.type_expr(of),
            TypeExprKind::Map(key, value) => {
                self.type_expr(key);
                self.type_expr(value);
            }
            TypeExprKind::Record(fields) => {
                for field in fields {
                    self.name(&mut field.name);
                    self.type_expr(&mut field.declared);
                }
            }
        }
    }

    pub(super) fn expr(&self, expr: &mut Expr) {
        self.span(&mut expr.span);
        match &mut expr.kind {
            ExprKind::Literal(_) | ExprKind::Name(_) => {}
            ExprKind::Paren(inner) => self.expr(inner),
            ExprKind::Call(call) => {
                self.name(&mut call.function);
                self.args(&mut call.args);
            }
            ExprKind::Method(call) => {
                self.expr(&mut call.object);
                self.name(&mut call.method);
                self.args(&mut call.args);
            }
            ExprKind::Field(access) => {
                self.expr(&mut access.object);
                self.name(&mut access.field);
            }
            ExprKind::Index(access) => {
                self.expr(&mut access.object);
                self.expr(&mut access.index);
            }
            ExprKind::Unary(unary) => self.expr(&mut unary.operand),
            ExprKind::Binary(binary) => {
                self.span(&mut binary.op_span);
                self.expr(&mut binary.left);
                self.expr(&mut binary.right);
            }
            ExprKind::Conditional(of) => {
                self.expr(&mut of.condition);
                self.expr(&mut of.then);
                self.expr(&mut of.otherwise);
            }
            ExprKind::List(elements) => elements.iter_mut().for_each(|element| self.expr(&mut element.value)),
            ExprKind::Map(entries) => {
                for entry in entries {
                    self.expr(&mut entry.key);
                    self.expr(&mut entry.value);
                }
            }
        }
    }

    fn args(&self, args: &mut [Arg]) {
        for arg in args {
            if let Some(name) = &mut arg.name {
                self.name(name);
            }
            self.expr(&mut arg.value);
        }
    }
}
