//! `source`: its window and age, and the metrics that rules read.

use super::Checker;
use super::dialect::ExprLanguage;
use super::scope::{DeclKind, Place, State};
use crate::language::fields::ObjectType;
use crate::language::statements::Names;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Source, SourceId};
use crate::types::Type;
use crate::types::show::show_duration;
use crate::types::value::{FaultKind, Value};
use bayplan_diag::{Span, codes};
use bayplan_model::{Duration, LONGEST_WINDOW, POLL_PERIOD};

/// As it is written.
const FORM: &str = "write `metrics(window: 5min, max_age: 2min)`";

impl<'a> Checker<'a> {
    pub(super) fn declare_source(&mut self, of: &'a ast::SourceDecl) -> State {
        let doc = self.resolving.last().and_then(|id| self.decls[id.index()].doc.clone());
        let (lengths, _) = self.in_frame(Place::Constant, |this| this.lengths(&of.value));
        let Some((window, max_age)) = lengths else { return State::Failed };
        let id = SourceId(self.declared.sources.len() as u32);
        let name = of.name.text.clone();
        self.declared.sources.push(Source { name, doc, window, max_age, span: of.name.span });
        State::Source(id)
    }

    /// The window and the age of `metrics(window: D, max_age: D)`; `None` when it has a mistake.
    fn lengths(&mut self, value: &'a ast::Expr) -> Option<(Duration, Duration)> {
        let call = match &value.kind {
            ast::ExprKind::Call(call) if *call.function.text == *"metrics" => call,
            _ => {
                let message = "a source is made of `metrics`";
                self.mistake(&codes::SOURCE_FORM, value.span, message, FORM);
                return None;
            }
        };
        let mut lengths = [("window", None), ("max_age", None)];
        let mut broken = false;
        for arg in &call.args {
            let name = arg.name.as_ref();
            let slot = name.and_then(|name| lengths.iter_mut().find(|(known, _)| *name.text == **known));
            match (slot, name) {
                (Some((what, slot @ None)), _) => {
                    let what = match (*what, &self.dialect) {
                        ("max_age", ExprLanguage::Cel(_)) => "maxAge",
                        (what, _) => what,
                    };
                    *slot = self.length(&arg.value, what);
                    broken |= slot.is_none();
                }
                (Some((what, Some(_))), Some(name)) => {
                    let message = format!("`{what}` is given twice");
                    self.mistake(&codes::SOURCE_FORM, name.span, message, "take one of them out");
                    broken = true;
                }
                (_, name) => {
                    let span = name.map_or(arg.value.span, |name| name.span);
                    let message = match name {
                        Some(name) => format!("`metrics` has no `{}`", name.text),
                        None => "the arguments of `metrics` have names".to_owned(),
                    };
                    self.mistake(&codes::SOURCE_FORM, span, message, FORM);
                    broken = true;
                }
            }
        }
        match lengths {
            [(_, Some(window)), (_, Some(max_age))] if !broken => Some((window, max_age)),
            _ if broken => None,
            [(window, None), _] | [_, (window, None)] => {
                let message = format!("`metrics` lacks `{window}`");
                self.mistake(&codes::SOURCE_FORM, value.span, message, FORM);
                None
            }
            _ => None,
        }
    }

    /// A constant length of time, from one poll to an hour.
    fn length(&mut self, value: &'a ast::Expr, what: &str) -> Option<Duration> {
        let given = self.expr(value, Some(&Type::Duration));
        let given = self.fit(given, &Type::Duration, &format!("`{what}`"));
        if given.ty.is_unknown() {
            return None;
        }
        let Some(Value::Int(length)) = self.constant(&given) else {
            let message = format!("`{what}` is not constant");
            self.mistake(&codes::SOURCE_FORM, value.span, message, "write a length of time, such as `5min`");
            return None;
        };
        let length = Duration(length);
        if length < POLL_PERIOD || length > LONGEST_WINDOW {
            let message = format!(
                "`{what}` is {}, and must be from {} to {}",
                show_duration(length.0),
                show_duration(POLL_PERIOD.0),
                show_duration(LONGEST_WINDOW.0)
            );
            let help = "metrics are polled every 15 seconds, and kept for an hour";
            self.mistake(&codes::SOURCE_FORM, value.span, message, help);
            return None;
        }
        Some(length)
    }

    /// `NAME[node.name]`, where the name is a source.
    pub(super) fn source_of(&mut self, access: &ast::IndexAccess, span: Span) -> Option<Expr> {
        let ast::ExprKind::Name(name) = &access.object.kind else { return None };
        if self.frame.locals.iter().any(|local| local.name == *name) {
            return None;
        }
        let id = *self.names.get(name)?;
        if !matches!(self.decls[id.index()].kind, DeclKind::Source(_)) {
            return None;
        }
        let state = self.resolve(id, access.object.span);
        let node = self.expr(&access.index, Some(&Type::String));
        let State::Source(source) = state else { return Some(self.unknown(span)) };
        if !self.allow(Names::SOURCES, name, access.object.span) {
            return Some(self.unknown(span));
        }
        let node = self.node_name(node, name);
        if node.ty.is_unknown() {
            return Some(self.unknown(span));
        }
        let ty = Type::Object(ObjectType::Load).optional();
        let expr = self.make(ExprKind::Source(source, Box::new(node)), ty, span);
        let expr = self.narrowed(expr);
        Some(match (access.optional, &self.dialect) {
            (true, _) => self.wrapped(expr, span),
            (false, ExprLanguage::Cel(_)) => self.demand(expr, FaultKind::NoSuchKey),
            (false, ExprLanguage::Policy) => expr,
        })
    }

    /// The name of a node: a text, which may be absent.
    fn node_name(&mut self, node: Expr, source: &str) -> Expr {
        let node = self.of_policy_form(node);
        match node.ty.present() {
            Type::String | Type::Unknown => node,
            ty => {
                let (message, span) =
                    (format!("the key of `{source}` is the name of a node, not `{ty}`"), node.span);
                self.mistake(&codes::TYPE_MISMATCH, span, message, format!("write `{source}[node.name]`"));
                self.unknown(span)
            }
        }
    }
}
