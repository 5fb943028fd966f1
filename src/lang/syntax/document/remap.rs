//! Moves the places of trees that were read from a decoded text to the places of that text in its document.

use crate::syntax::ast::*;
use bayplan_diag::{Diagnostic, SourceId, Span};

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
}
