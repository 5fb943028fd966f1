//! What Kubernetes validates of `format` with a text and a list that are written in place: as many values as
//! verbs, each of a type that its verb takes.

use super::literals::{call_arguments, without_brackets};
use crate::check::Checker;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Operation};
use crate::types::{CelType, Type};
use bayplan_diag::{Span, codes};

impl Checker<'_> {
    /// A call of `format` with a text and a list that are written in place, after its validation.
    pub(super) fn validated_format(&mut self, call: &ast::MethodCall, expr: Expr) -> Expr {
        let span = expr.span;
        let is_text =
            matches!(without_brackets(&call.object).kind, ast::ExprKind::Literal(ast::Literal::String(_)));
        let [ast::Arg { value: values, .. }] = call.args.as_slice() else { return expr };
        let ast::ExprKind::List(written) = &without_brackets(values).kind else { return expr };
        let (Some([text, list]), true) = (call_arguments(&expr), is_text) else { return expr };
        let (ExprKind::Constant(text), ExprKind::List(items)) = (&text.kind, &list.kind) else { return expr };
        let optional = written.iter().any(|element| element.optional);
        let items: Vec<Expr> = items.iter().map(|(item, _)| item.clone()).collect();
        match self.mistake_of_format(text.as_str().unwrap_or(""), &items, span) {
            Some((at, message)) => {
                self.mistake(&codes::WRONG_ARGUMENTS, at, message, "");
                self.unknown(span)
            }
            None if optional => {
                self.mistake(&codes::WRONG_ARGUMENTS, values.span, "no verb takes an optional", "");
                self.unknown(span)
            }
            None => expr,
        }
    }

    /// The first mistake, with its place.
    fn mistake_of_format(&self, text: &str, items: &[Expr], span: Span) -> Option<(Span, String)> {
        let mut rest = text;
        let mut values = items.iter();
        while let Some((_, behind)) = rest.split_once('%') {
            if let Some(behind) = behind.strip_prefix('%') {
                rest = behind;
                continue;
            }
            let Some(value) = values.next() else {
                return Some((span, "the text has more verbs than there are values".to_owned()));
            };
            let digits = match behind.strip_prefix('.') {
                None => behind,
                Some(digits) if !digits.starts_with(|letter: char| letter.is_ascii_digit()) => {
                    return Some((span, "`%.` needs a number after the point".to_owned()));
                }
                Some(digits) => digits.trim_start_matches(|letter: char| letter.is_ascii_digit()),
            };
            let mut letters = digits.chars();
            let Some(verb) = letters.next() else {
                return Some((span, "the text ends after a `%`".to_owned()));
            };
            match self.misfit(verb, value) {
                _ if !"sdfebxXo".contains(verb) => {
                    return Some((span, format!("`%{verb}` is not a verb")));
                }
                None => {}
                Some(at) => {
                    let message = format!("`%{verb}` does not take `{}`", self.shown(&self.ty(at)));
                    return Some((at.span, message));
                }
            }
            rest = letters.as_str();
        }
        let more = values.len();
        (more > 0).then(|| (span, format!("the text has fewer verbs than values: {more} too many")))
    }

    /// The value, or the part of it, that a verb does not take.
    fn misfit<'e>(&self, verb: char, value: &'e Expr) -> Option<&'e Expr> {
        let ty = self.ty(value);
        let shown = matches!(
            ty,
            Type::List(_)
                | Type::Map(..)
                | Type::Int
                | Type::Uint
                | Type::Float
                | Type::Bool
                | Type::String
                | Type::Blob
                | Type::Null
                | Type::TypeOf(_)
                | Type::TypeName
                | Type::Cel(CelType::Duration | CelType::Timestamp)
        );
        let fits = match verb {
            _ if matches!(ty, Type::Dyn | Type::Variable(_)) => true,
            's' => shown,
            'd' | 'o' => matches!(ty, Type::Int | Type::Uint),
            'b' => matches!(ty, Type::Int | Type::Uint | Type::Bool),
            'x' | 'X' => matches!(ty, Type::Int | Type::Uint | Type::String | Type::Blob),
            'f' | 'e' => matches!(ty, Type::Float | Type::String),
            _ => false,
        };
        if !fits {
            return Some(value);
        }
        // A list or map in place shows its parts.
        match (&value.kind, verb) {
            // No verb takes an optional, also as an element or the value of an entry.
            (ExprKind::Dynamic(Operation::Held, of), _) => {
                of.iter().find(|of| matches!(self.ty(of), Type::CelOptional(_)))
            }
            (ExprKind::List(items), 's') => items.iter().find_map(|(item, _)| self.misfit('s', item)),
            (ExprKind::Map(entries), 's') => {
                let mut parts = entries.iter().flat_map(|(key, value, _)| [key, value]);
                parts.find_map(|part| self.misfit('s', part))
            }
            (ExprKind::Dynamic(Operation::Map(_), parts), 's') => {
                parts.iter().find_map(|part| self.misfit('s', part))
            }
            _ => None,
        }
    }
}
