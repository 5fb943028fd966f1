//! `params.x`, `variables.x`, `groups.x`, `ledgers.x`, `memos.x` and `sources.x` of CEL to the names of the policy.
//!
//! In the tree all names of a policy live together, so that what follows needs not know which language declared
//! them. What would then mean something else is refused: a name without its prefix, and a variable of a macro that
//! would hide it. Two declarations of one name are refused by the checker.

use crate::language::documents::spaces;
use crate::language::macros;
use crate::syntax::ast::*;
use bayplan_diag::suggest::Effort;
use bayplan_diag::{Diagnostic, Span, codes};
use std::collections::BTreeMap;

/// The variables of the language.
const OURS: [&str; 6] = ["pod", "node", "ns", "nodes", "pods", "nominated"];

/// What a policy declares: the prefix of each name.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) declared: BTreeMap<Text, &'static str>,
    /// Prefixes with a declaration whose name could not be read.
    pub(super) open: Vec<&'static str>,
    /// For the names of the policy that are unknown.
    pub(super) suggestions: Effort,
}

/// What an expression uses.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Names of the policy, with their places.
    pub(super) names: Vec<(Text, Span)>,
    /// Names that a declaration with a mistake may have, with their places.
    pub(super) assumed: Vec<(Text, Span)>,
    /// It reads `node`.
    pub(super) node: bool,
}

/// The walk over one expression.
pub(super) struct Resolver<'a> {
    pub(super) names: &'a Names,
    pub(super) said: &'a mut Vec<Diagnostic>,
    pub(super) uses: &'a mut Uses,
    /// The variables of the macros around, innermost last.
    bound: Vec<Text>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(names: &'a Names, said: &'a mut Vec<Diagnostic>, uses: &'a mut Uses) -> Self {
        Resolver { names, said, uses, bound: Vec::new() }
    }

    /// Replaces the names with a prefix in an expression.
    pub(super) fn expr(&mut self, expr: &mut Expr) {
        let span = expr.span;
        match &mut expr.kind {
            ExprKind::Name(name) => self.bare(&name.clone(), span),
            ExprKind::Field(access) => match self.space(&access.object) {
                Some("memos") if access.optional => {
                    // The value as an optional: the checker knows this form.
                    let name = access.field.clone();
                    self.reference("memos", &name, span);
                }
                Some(space) if !access.optional => {
                    let name = access.field.clone();
                    self.reference(space, &name, span);
                    expr.kind = ExprKind::Name(name.text);
                }
                _ => self.expr(&mut access.object),
            },
            ExprKind::Method(call) => self.method(call),
            ExprKind::Call(call) => call.args.iter_mut().for_each(|arg| self.expr(&mut arg.value)),
            ExprKind::Literal(_) => {}
            ExprKind::Paren(inner) => self.expr(inner),
            ExprKind::Index(access) => {
                self.expr(&mut access.object);
                self.expr(&mut access.index);
            }
            ExprKind::Unary(unary) => self.expr(&mut unary.operand),
            ExprKind::Binary(binary) => {
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

    /// A method; a macro binds its variables in what follows them.
    fn method(&mut self, call: &mut MethodCall) {
        self.expr(&mut call.object);
        let row = macros::fitting(&call.method.text, call.args.len(), |at| call.is_name(at));
        let variables = row.map_or(0, |row| row.variables);
        let before = self.bound.len();
        for (at, arg) in call.args.iter_mut().enumerate() {
            match &arg.value.kind {
                ExprKind::Name(name) if at < variables => self.bound.push(name.clone()),
                _ => self.expr(&mut arg.value),
            }
        }
        self.bound.truncate(before);
    }

    /// The prefix that an expression is.
    fn space(&self, object: &Expr) -> Option<&'static str> {
        let ExprKind::Name(name) = &object.kind else { return None };
        let known = spaces().find(|space| **name == **space)?;
        (!self.bound.contains(name)).then_some(known)
    }

    /// `space.name`
    fn reference(&mut self, space: &'static str, name: &Name, span: Span) {
        match self.names.declared.get(&name.text) {
            Some(declared) if *declared == space => {
                if self.bound.contains(&name.text) {
                    let message = format!("the variable `{}` of a macro hides `{space}.{0}`", name.text);
                    let said = Diagnostic::new(&codes::HIDDEN_NAME, span, message);
                    self.said.push(said.with_help("give the variable of the macro another name"));
                }
                self.uses.names.push((name.text.clone(), span));
            }
            Some(declared) => {
                let message = format!("`{}` is none of the {space}", name.text);
                let right = format!("{declared}.{}", name.text);
                let said = Diagnostic::new(&codes::UNKNOWN_NAME, span, message);
                self.said.push(said.with_help(format!("write `{right}`")).with_fix(
                    format!("write `{right}`"),
                    span,
                    right,
                ));
            }
            None if self.names.open.contains(&space) => {
                self.uses.assumed.push((name.text.clone(), name.span));
            }
            None => {
                let message = format!("nothing of the {space} is called `{}`", name.text);
                let said = Diagnostic::new(&codes::UNKNOWN_NAME, name.span, message);
                let near = self.names.suggestions.nearest(&name.text, self.of(space));
                self.said.push(match near {
                    Some(near) => said.with_help(format!("did you mean `{space}.{near}`?")).with_fix(
                        format!("write `{near}`"),
                        name.span,
                        near,
                    ),
                    None => said.with_help(format!("declare it under `spec.{space}`")),
                });
            }
        }
    }

    fn of(&self, space: &str) -> impl Iterator<Item = &str> {
        let of_space = move |(_, other): &(&Text, &&str)| **other == space;
        self.names.declared.iter().filter(of_space).map(|(name, _)| &**name)
    }

    /// A name without a prefix: ours, or a variable of a macro.
    fn bare(&mut self, name: &Text, span: Span) {
        if self.bound.contains(name) {
            return;
        }
        if OURS.contains(&&**name) {
            self.uses.node |= **name == *"node";
        } else if let Some(space) = spaces().find(|space| **name == **space) {
            let message = format!("`{space}` is not a value");
            let help = format!("write `{space}.NAME`");
            self.said.push(Diagnostic::new(&codes::UNKNOWN_NAME, span, message).with_help(help));
        } else if let Some(space) = self.names.declared.get(name) {
            let message = format!("nothing is called `{name}` here");
            let right = format!("{space}.{name}");
            self.said.push(
                Diagnostic::new(&codes::UNKNOWN_NAME, span, message)
                    .with_help(format!("write `{right}`"))
                    .with_fix(format!("write `{right}`"), span, right),
            );
        }
    }
}
