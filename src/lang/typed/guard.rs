//! [`Leave`]: the pods that a rule leaves alone. What a rule leaves alone is its guard, beside its conditions, which stay as
//! they are written: where a part of the guard holds, the rule says nothing about the pod.
//!
//! A guard reads the pod, its namespace and the clock, and it never fails: the checker refuses one that may.

use super::{ExceptionId, Expr, ExprKind, LetId, Mode};
use crate::types::Type;
use crate::types::range::Range;
use bayplan_diag::Span;

/// A part of the guard of a rule.
#[derive(Clone, Debug)]
pub struct Leave {
    /// Holds for the pods that are left alone.
    pub holds: Expr,
    /// Why they are.
    pub by: LeftBy,
}

/// Why a rule leaves pods alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftBy {
    /// An exception.
    Exception(ExceptionId),
    /// The rule decides for other pods: those for which this hidden `let` holds. For the ones left alone it has this mode.
    Mode(LetId, Mode),
}

impl Leave {
    /// By an exception, whose hidden `let` holds for the pods.
    pub(super) fn by_exception(id: ExceptionId, (holds, span): (LetId, Span)) -> Self {
        Self { holds: condition_at(span, ExprKind::Let(holds)), by: LeftBy::Exception(id) }
    }

    /// By a mode, whose hidden `let` holds for the pods for which the rule decides.
    pub(crate) fn by_mode((decides, span): (LetId, Span), otherwise: Mode) -> Self {
        let holds = negated(&condition_at(span, ExprKind::Let(decides)));
        Self { holds, by: LeftBy::Mode(decides, otherwise) }
    }

    /// For which pods the rule decides, and its mode for the others; `None` of an exception.
    pub fn decides(&self) -> Option<(LetId, Mode)> {
        match self.by {
            LeftBy::Exception(_) => None,
            LeftBy::Mode(decides, otherwise) => Some((decides, otherwise)),
        }
    }
}

/// A condition at a place.
pub(super) fn condition_at(span: Span, kind: ExprKind) -> Expr {
    Expr { kind, ty: Type::Bool, range: Range::of(&Type::Bool), span }
}

/// The place of a negation is not that of the condition: traces tell them apart.
pub(super) fn negated(of: &Expr) -> Expr {
    condition_at(of.span.at_end(), ExprKind::Not(Box::new(of.clone())))
}
