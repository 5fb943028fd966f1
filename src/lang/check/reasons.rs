//! Reasons: their text, the values beside it, and why a reason should not name an object.

use super::Checker;
use super::expr::strip;
use crate::language::fields::Meaning;
use crate::syntax::ast::{self, Text};
use crate::typed::{Expr, ExprKind, Reason, ReasonPart, Root};
use crate::types::Type;
use bayplan_diag::{Diagnostic, codes};
use rustc_hash::FxHashSet;

impl<'a> Checker<'a> {
    // ---- reasons

    pub(super) fn reason(&mut self, of: &ast::Reason) -> Reason {
        let mut parts = Vec::with_capacity(of.template.parts.len());
        let mut named = None;
        for part in &of.template.parts {
            match part {
                ast::TemplatePart::Text(text) => parts.push(ReasonPart::Text(text.clone())),
                ast::TemplatePart::Hole(hole) => {
                    let hole = self.expr(hole, None);
                    // Of an optional, what it holds is shown.
                    let hole = self.held(hole).0;
                    if names_object(&hole) && named.is_none() {
                        named = Some(hole.span);
                    }
                    self.showable(&hole);
                    parts.push(ReasonPart::Hole(hole));
                }
            }
        }
        if parts.is_empty() {
            parts.push(ReasonPart::Text(Text::from("")));
        }
        if let Some(span) = named {
            let path = self.excerpt(span);
            let (message, name) = match path.split('.').next() {
                Some("node") => ("the reason differs on every node", "node"),
                _ => ("the reason differs for every pod", "pod"),
            };
            let template = self.excerpt(of.template.span);
            let constant =
                template.replace(&format!(" on {{{path}}}"), "").replace(&format!("{{{path}}}"), "…");
            let constant = constant.trim_start_matches('"').trim_end_matches('"');
            let constant = match constant.strip_prefix("no ") {
                Some(rest) => format!("node(s) without {rest}"),
                None => constant.to_owned(),
            };
            self.report(
                Diagnostic::new(&codes::REASON_NAMES_OBJECT, of.template.span, message)
                    .with_help(format!("write `\"{constant}\" … with {{ {name}: {path} }}`")),
            );
        }
        let mut details: Vec<(Text, Expr)> = Vec::with_capacity(of.details.len());
        let mut names: FxHashSet<&Text> = FxHashSet::default();
        for detail in &of.details {
            let value = self.expr(&detail.value, None);
            let value = self.held(value).0;
            self.showable(&value);
            if !names.insert(&detail.name.text) {
                let message = format!("`{}` is shown twice", detail.name.text);
                self.mistake(&codes::DUPLICATE_NAME, detail.name.span, message, "");
            }
            details.push((detail.name.text.clone(), value));
        }
        Reason {
            parts,
            resolvable: true,
            derived: true,
            written: of.resolvable.map(|(written, _)| written),
            details,
            span: of.span,
        }
    }

    /// The text of an event. It may name objects.
    pub(super) fn event_text(&mut self, of: &ast::Template) -> Reason {
        let mut parts = Vec::with_capacity(of.parts.len());
        for part in &of.parts {
            parts.push(match part {
                ast::TemplatePart::Text(text) => ReasonPart::Text(text.clone()),
                ast::TemplatePart::Hole(hole) => {
                    let hole = self.expr(hole, None);
                    let hole = self.held(hole).0;
                    self.showable(&hole);
                    ReasonPart::Hole(hole)
                }
            });
        }
        if parts.is_empty() {
            parts.push(ReasonPart::Text(Text::from("")));
        }
        let details = Vec::new();
        Reason { parts, resolvable: true, derived: true, written: None, details, span: of.span }
    }

    /// What can be shown in a text.
    pub(super) fn showable(&mut self, expr: &Expr) {
        if let Type::Object(object) = expr.ty.present() {
            let text = self.excerpt(expr.span);
            self.mistake(
                &codes::TYPE_MISMATCH,
                expr.span,
                format!("a {} is not a text", object.name()),
                format!("`{text}.name`"),
            );
        }
    }
}

/// `node.name`, `pod.name`, `pod.uid`: a text that is another for each.
fn names_object(expr: &Expr) -> bool {
    let ExprKind::Field(object, field) = strip(&expr.kind) else { return false };
    field.def().meaning == Some(Meaning::Identity)
        && matches!(object.kind, ExprKind::Root(Root::Node | Root::Pod))
}
