//! The size and depth of expressions with their lets, defs, groups and types written out, as the analyses and
//! the generated closures see them.
//!
//! Called for a policy before anything else of it is checked. A policy that is too large is reported and not
//! checked further. Names are taken as they are written: a variable that hides a let counts as the let.

use crate::language::limits::{MOST_EXPRESSIONS_OF_ALL, MOST_POLICIES};
use crate::syntax::ast::{
    self, Block, BlockKind, Expr, ExprKind, Part, Reason, StatementKind, Template, TemplatePart, Text,
    TypeExpr, TypeExprKind,
};
use bayplan_diag::with_commas;
use bayplan_diag::{Diagnostic, Span, codes};
use rustc_hash::FxHashMap;

/// Most parts of one expression, or of one type, with everything written out that it names.
const MOST_PARTS: u64 = 20_000;
/// Most levels of one expression with everything written out that it names.
const MOST_LEVELS: u64 = 1_000;

/// Most statements of a block: what each of them shows holds in those after it.
const MOST_STATEMENTS: usize = 1_000;

/// Most groups, ledgers and memos of a policy: each is an index.
const MOST_INDEXES: usize = 100;

/// How large an expression is.
#[derive(Clone, Copy, Default)]
struct Measure {
    parts: u64,
    levels: u64,
}

impl Measure {
    const ONE: Measure = Measure { parts: 1, levels: 1 };

    fn is_too_large(self) -> bool {
        self.parts > MOST_PARTS || self.levels > MOST_LEVELS
    }

    /// The measure of two expressions side by side.
    fn beside(self, other: Measure) -> Measure {
        Measure { parts: self.parts.saturating_add(other.parts), levels: self.levels.max(other.levels) }
    }

    /// A level above it.
    fn under_one(self) -> Measure {
        Measure { parts: self.parts.saturating_add(1), levels: self.levels + 1 }
    }
}

/// What a name stands for.
#[derive(Clone, Copy)]
enum Named<'a> {
    Expr(&'a Expr),
    Type(&'a TypeExpr),
    Measured(Measure),
}

/// How large the policies of a text are together.
#[derive(Default)]
pub(super) struct TextSize {
    policies: usize,
    parts: u64,
    /// The largest policy, and its parts.
    largest: (u64, Span),
}

impl TextSize {
    /// Counts a policy; a diagnostic and `false` if it is one too many.
    pub(super) fn has_room_for(&mut self, policy: &ast::Policy, said: &mut Vec<Diagnostic>) -> bool {
        self.policies += 1;
        if self.policies > MOST_POLICIES {
            let limit = with_commas(MOST_POLICIES as u128);
            let message = format!("the text has more than {limit} policies");
            let diagnostic = Diagnostic::new(&codes::TOO_LARGE, policy.name.span, message);
            said.push(diagnostic.with_help("make several files of it"));
        }
        self.policies <= MOST_POLICIES && !self.is_exceeded()
    }

    /// Says what of a policy is too large with everything written out.
    pub(super) fn check(
        &mut self,
        policy: &ast::Policy,
        file: &super::scope::FileItems<'_>,
    ) -> Vec<Diagnostic> {
        let (parts, said) = check(policy, file);
        self.parts = self.parts.saturating_add(parts);
        if parts > self.largest.0 {
            self.largest = (parts, policy.name.span);
        }
        if self.is_exceeded() && said.is_empty() {
            // Said once, at the largest policy.
            return self.said();
        }
        said
    }

    fn is_exceeded(&self) -> bool {
        u128::from(self.parts) > MOST_EXPRESSIONS_OF_ALL
    }

    fn said(&self) -> Vec<Diagnostic> {
        let limit = with_commas(MOST_EXPRESSIONS_OF_ALL);
        let message =
            format!("the policies have more than {limit} parts with their lets and defs written out");
        let parts = with_commas(self.largest.0.into());
        let said = Diagnostic::new(&codes::TOO_LARGE, self.largest.1, message);
        vec![
            said.with_label(format!("{parts} of them are here, which is most"))
                .with_help("a let or def counts wherever it is named: name the large ones less often"),
        ]
    }
}

/// The parts of a policy with everything written out, and what of it is too large.
fn check(policy: &ast::Policy, file: &super::scope::FileItems<'_>) -> (u64, Vec<Diagnostic>) {
    let mut unfold = Unfold { names: FxHashMap::default(), level: 0, said: Vec::new() };
    for (name, kind, _) in &file.items {
        match kind {
            super::scope::DeclKind::Def(of) => unfold.declare(&name.text, Named::Expr(&of.body)),
            super::scope::DeclKind::Type(of) => unfold.declare(&name.text, Named::Type(&of.value)),
            _ => {}
        }
    }
    for statement in &policy.statements {
        match &statement.kind {
            StatementKind::Let(of) => unfold.declare(&of.name.text, Named::Expr(&of.value)),
            StatementKind::Def(of) => unfold.declare(&of.name.text, Named::Expr(&of.body)),
            StatementKind::Group(of) => unfold.declare(&of.name.text, Named::Expr(&of.condition)),
            StatementKind::Memo(of) => unfold.declare(&of.name.text, Named::Expr(&of.key)),
            StatementKind::Type(of) => unfold.declare(&of.name.text, Named::Type(&of.value)),
            _ => {}
        }
    }
    let mut indexes = policy.statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Group(of) => Some(&of.name),
        StatementKind::Ledger(of) => Some(&of.name),
        StatementKind::Memo(of) => Some(&of.name),
        _ => None,
    });
    if let Some(name) = indexes.nth(MOST_INDEXES) {
        let message = format!("the policy has more than {MOST_INDEXES} groups, ledgers and memos");
        let help = "each is an index: make several policies of it";
        unfold.said.push(Diagnostic::new(&codes::TOO_LARGE, name.span, message).with_help(help));
    }
    let mut all = 0u64;
    for (name, kind, _) in &file.items {
        if matches!(kind, super::scope::DeclKind::Def(_) | super::scope::DeclKind::Type(_)) {
            all = all.saturating_add(unfold.declared(name));
        }
    }
    for statement in &policy.statements {
        let of_mode = unfold.mode(statement.mode.as_ref());
        all = all.saturating_add(of_mode).saturating_add(unfold.statement(&statement.kind));
    }
    (all, unfold.said)
}

struct Unfold<'a> {
    names: FxHashMap<Text, Named<'a>>,
    /// How deep the walk is.
    level: u64,
    said: Vec<Diagnostic>,
}

impl<'a> Unfold<'a> {
    fn declare(&mut self, name: &Text, of: Named<'a>) {
        self.names.entry(name.clone()).or_insert(of);
    }

    /// The parts of a declaration.
    fn declared(&mut self, name: &ast::Name) -> u64 {
        let of = self.name(&name.text);
        self.judge(of, &format!("`{}`", name.text), name.span)
    }

    /// The parts of the expression at a place. Reports too many parts, and then counts the expression as one.
    fn judge(&mut self, of: Measure, what: &str, span: Span) -> u64 {
        if !of.is_too_large() {
            return of.parts;
        }
        let (limit, unit) =
            if of.parts > MOST_PARTS { (MOST_PARTS, "parts") } else { (MOST_LEVELS, "levels") };
        let limit = with_commas(limit.into());
        let message = format!("{what} has more than {limit} {unit} with its lets and defs written out");
        let help = "a let or def counts wherever it is named: name the large ones less often";
        self.said.push(Diagnostic::new(&codes::TOO_LARGE, span, message).with_help(help));
        for named in self.names.values_mut() {
            if matches!(named, Named::Measured(of) if of.is_too_large()) {
                *named = Named::Measured(Measure::ONE);
            }
        }
        1
    }

    fn name(&mut self, name: &Text) -> Measure {
        let of = match self.names.get(name) {
            None => return Measure::ONE,
            Some(Named::Measured(known)) => return known.under_one(),
            Some(of) => *of,
        };
        // A circle, which is reported elsewhere, ends here.
        self.names.insert(name.clone(), Named::Measured(Measure::ONE));
        let measure = match of {
            Named::Expr(expr) => self.expr(expr),
            Named::Type(of) => self.ty(of),
            Named::Measured(known) => known,
        };
        self.names.insert(name.clone(), Named::Measured(measure));
        measure.under_one()
    }

    fn statement(&mut self, kind: &'a StatementKind) -> u64 {
        match kind {
            StatementKind::Let(of) => {
                let missing = match &of.missing {
                    Some((ast::Missing::Reject(reason), _)) => self.reason(reason),
                    _ => 0,
                };
                self.declared(&of.name).saturating_add(missing)
            }
            StatementKind::Def(of) => self.declared(&of.name),
            StatementKind::Group(of) => self.declared(&of.name),
            StatementKind::Ledger(of) => self.whole(&of.key).saturating_add(self.block(&of.block)),
            StatementKind::Memo(of) => self.declared(&of.name).saturating_add(self.whole(&of.ttl)),
            StatementKind::Type(of) => self.declared(&of.name),
            StatementKind::Source(of) => self.whole(&of.value),
            StatementKind::Param(of) => self.whole(&of.default),
            StatementKind::Applies(of) => of.when.as_ref().map_or(0, |when| self.whole(when)),
            StatementKind::Gate(_) => self.parts(&kind.parts()),
            StatementKind::Queue(keys) => {
                keys.iter().fold(0, |all, key| all.saturating_add(self.whole(&key.value)))
            }
            StatementKind::Prefer(of) => self.whole(&of.when),
            StatementKind::Mode(of) => self.optional(&of.when),
            StatementKind::Except(of) => self.optional(&of.when),
            other => other.block().map_or(0, |block| self.block(block)),
        }
    }

    fn block(&mut self, block: &'a Block) -> u64 {
        if let Some(first) = block.statements.get(MOST_STATEMENTS) {
            let limit = with_commas(MOST_STATEMENTS as u128);
            let message = format!("the block has more than {limit} statements");
            let said = Diagnostic::new(&codes::TOO_LARGE, first.span, message);
            self.said.push(said.with_help("make several blocks of it"));
            return 0;
        }
        let mut all = 0u64;
        let mut hidden = Vec::new();
        for statement in &block.statements {
            let parts = match &statement.kind {
                BlockKind::Let(of) => {
                    hidden.push((of.name.text.clone(), self.names.get(&of.name.text).copied()));
                    // A let of a block sees the declarations before it, and not itself.
                    let measure = self.expr(&of.value);
                    let parts = self.judge(measure, &format!("`{}`", of.name.text), of.name.span);
                    let kept = if measure.is_too_large() { Measure::ONE } else { measure };
                    self.names.insert(of.name.text.clone(), Named::Measured(kept));
                    parts
                }
                BlockKind::Mode(of) => self.optional(&of.when),
                BlockKind::Except(of) => self.optional(&of.when),
                kind => self.parts(&kind.parts()),
            };
            let of_mode = self.mode(statement.mode.as_ref());
            all = all.saturating_add(parts).saturating_add(of_mode);
        }
        for (name, before) in hidden.into_iter().rev() {
            match before {
                Some(before) => self.names.insert(name, before),
                None => self.names.remove(&name),
            };
        }
        all
    }

    /// The parts of a statement that its row has.
    fn parts(&mut self, parts: &ast::Parts<'a>) -> u64 {
        parts.iter().fold(0, |all: u64, (_, part)| {
            all.saturating_add(match part {
                Part::Expr(expr) => self.whole(expr),
                Part::Reason(reason) => self.reason(reason),
                Part::Template(text) => self.template(text),
                Part::Name(_) | Part::Text(_) | Part::Type(_) | Part::Flag | Part::Word(_) => 0,
            })
        })
    }

    /// The condition of a mode that a statement says beside its own parts.
    fn mode(&mut self, mode: Option<&'a ast::Mode>) -> u64 {
        mode.map_or(0, |mode| self.optional(&mode.when))
    }

    fn optional(&mut self, expr: &'a Option<Expr>) -> u64 {
        expr.as_ref().map_or(0, |expr| self.whole(expr))
    }

    fn whole(&mut self, expr: &'a Expr) -> u64 {
        let measure = self.expr(expr);
        self.judge(measure, "this", expr.span)
    }

    fn reason(&mut self, reason: &'a Reason) -> u64 {
        let mut all = self.template(&reason.template);
        for detail in &reason.details {
            all = all.saturating_add(self.whole(&detail.value));
        }
        all
    }

    fn template(&mut self, template: &'a Template) -> u64 {
        let holes = template.parts.iter().filter_map(|part| match part {
            TemplatePart::Hole(hole) => Some(hole),
            TemplatePart::Text(_) => None,
        });
        let mut all = 0u64;
        for hole in holes {
            all = all.saturating_add(self.whole(hole));
        }
        all
    }

    fn expr(&mut self, expr: &'a Expr) -> Measure {
        if self.level > MOST_LEVELS {
            return Measure { parts: 1, levels: MOST_LEVELS + 1 };
        }
        self.level += 1;
        let all = match &expr.kind {
            ExprKind::Literal(_) => Measure::default(),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Paren(inner) => self.expr(inner),
            ExprKind::Call(call) => {
                let args = self.all(call.args.iter().map(|arg| &arg.value));
                self.name(&call.function.text).beside(args)
            }
            ExprKind::Method(call) => {
                self.expr(&call.object).beside(self.all(call.args.iter().map(|arg| &arg.value)))
            }
            ExprKind::Field(of) => self.expr(&of.object),
            ExprKind::Index(of) => self.all([&of.object, &of.index]),
            ExprKind::Unary(of) => self.expr(&of.operand),
            ExprKind::Binary(of) => self.all([&of.left, &of.right]),
            ExprKind::Conditional(of) => self.all([&of.condition, &of.then, &of.otherwise]),
            ExprKind::List(elements) => self.all(elements.iter().map(|element| &element.value)),
            ExprKind::Map(entries) => self.all(entries.iter().flat_map(|entry| [&entry.key, &entry.value])),
        };
        self.level -= 1;
        all.under_one()
    }

    fn all(&mut self, parts: impl IntoIterator<Item = &'a Expr>) -> Measure {
        parts.into_iter().fold(Measure::default(), |all, part| all.beside(self.expr(part)))
    }

    fn ty(&mut self, of: &'a TypeExpr) -> Measure {
        if self.level > MOST_LEVELS {
            return Measure { parts: 1, levels: MOST_LEVELS + 1 };
        }
        self.level += 1;
        let all = match &of.kind {
            TypeExprKind::Name(name) => self.name(&name.text),
            TypeExprKind::Kind(_) => Measure::default(),
            TypeExprKind::List(of) | TypeExprKind::Set(of) => self.ty(of),
            TypeExprKind::Map(key, of) => self.ty(key).beside(self.ty(of)),
            TypeExprKind::Record(fields) => {
                fields.iter().fold(Measure::default(), |all, field| all.beside(self.ty(&field.declared)))
            }
        };
        self.level -= 1;
        all.under_one()
    }
}
