//! [`Checker`]: what the checks of one policy know and report, and the functions that run them on a file or an
//! expression.

use super::dialect::{CelState, ExprLanguage};
use super::facts::PolicyFacts;
use super::numbering::{Numbers, ValueId};
use super::scope::{Decl, DeclId, FactScope, Frame, Place};
use super::types::DeclaredTypes;
use super::{Argument, arguments, exceptions, expr, scope, unfold};
use crate::eval::budget::Budget;
use crate::eval::constant::{self, Known, Tables};
use crate::exceptions::Outside;
use crate::language::environments::Rows;
use crate::language::statements::Names;
use crate::language::statements::StatementId;
use crate::schemas::Schemas;
use crate::syntax::ast::{self, Text};
use crate::typed::reads::Keeps;
use crate::typed::{self, Expr, ExprKind, Modes, Policy};
use crate::types::range::Range;
use crate::types::value::{Constant, Value};
use crate::types::{ObjectKind, Type};
use crate::uses::UsedFile;
use bayplan_diag::{Code, Diagnostic, Source, Span};
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock};

/// Steps of checking that an error counts for, with its search for a similar name.
pub(super) const STEPS_OF_ERROR: u64 = 4_000;

/// Steps that a warning counts for.
pub(super) const STEPS_OF_WARNING: u64 = 20;

/// The arguments that a profile gives a policy, by its name.
pub type Arguments<'a> = &'a dyn Fn(&str) -> Vec<Argument>;

/// A text to check, and what it may name.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The tree of the text.
    pub file: &'a ast::File,
    /// The text, which messages quote.
    pub source: &'a Source,
    /// The files that it uses.
    pub used: &'a [UsedFile<'a>],
    /// The kinds beside those of Kubernetes.
    pub schemas: &'a Schemas,
    /// Exceptions from this text and from others.
    pub outside: &'a Outside,
}

/// Checks a file, every policy with the defaults of its params and again with the arguments of a profile, by the
/// name of the policy.
///
/// The result has the policies without a mistake; the mistakes of all are added to the diagnostics, in the order of the
/// text. A mistake that the policy does not have with its defaults is reported at the argument, with its place in the
/// policy beside it.
pub fn check(
    input: Input<'_>,
    arguments: Arguments<'_>,
    budget: &Budget,
    said: &mut Vec<Diagnostic>,
) -> Vec<Policy> {
    check_all(input, Some(arguments), budget, said)
}

/// Checks a file and concludes nothing from the values of params: for any arguments that a profile may give, as far as the
/// policy compiles for them.
pub(crate) fn check_for_any_arguments(
    input: Input<'_>,
    budget: &Budget,
    said: &mut Vec<Diagnostic>,
) -> Vec<Policy> {
    check_all(input, None, budget, said)
}

/// `arguments` are `None` for any.
pub(super) fn check_all(
    input: Input<'_>,
    arguments: Option<Arguments<'_>>,
    budget: &Budget,
    said: &mut Vec<Diagnostic>,
) -> Vec<Policy> {
    let Input { file, source, used, schemas, outside } = input;
    let mut diagnostics = Vec::new();
    let mut result = Vec::new();
    let text = Texts { text: source.text(), used, outside: Some(outside) };
    let mut named: FxHashMap<&str, Span> = FxHashMap::default();
    let file_items = scope::FileItems::new(file, used, &mut diagnostics);
    let declares = |item: &&ast::Item| matches!(item.kind, ast::ItemKind::Def(_) | ast::ItemKind::Type(_));
    let items = used.iter().flat_map(|of| &of.file.items).chain(&file.items);
    let item_spans: Vec<Span> = items.filter(declares).map(|item| item.span).collect();
    let mut size = unfold::TextSize::default();
    for item in &file.items {
        let ast::ItemKind::Policy(policy) = &item.kind else { continue };
        if budget.is_exceeded() || !size.has_room_for(policy, &mut diagnostics) {
            break;
        }
        let before = budget.checks.spent();
        if let Some(first) = named.insert(&policy.name.text, policy.name.span) {
            let message = format!("a second policy is called `{}`", policy.name.text);
            diagnostics.push(
                Diagnostic::new(&bayplan_diag::codes::POLICY_NAME_CLASH, policy.name.span, message)
                    .with_place(first, "the first one")
                    .with_help("a policy is a plugin of its own name: rename one of them"),
            );
        }
        let too_large = size.check(policy, &file_items);
        if !too_large.is_empty() {
            diagnostics.extend(too_large);
            continue;
        }
        let mut checker = Checker::new(text, Vec::new(), budget).with(schemas);
        checker.values.any_arguments = arguments.is_none();
        let mut checked = checker.policy(item, policy, &file_items, outside);
        if arguments.is_none() && checker.is_broken() {
            checker = Checker::new(text, Vec::new(), budget).with(schemas);
            checked = checker.policy(item, policy, &file_items, outside);
        }
        let mut broken = checker.is_broken();
        let given = arguments.map(|of| of(&policy.name.text)).unwrap_or_default();
        if !broken && !given.is_empty() {
            // Again with the arguments: they cause the further errors, which are reported at their places.
            let mut again = Checker::new(text, given.clone(), budget).with(schemas);
            checked = again.policy(item, policy, &file_items, outside);
            broken = again.is_broken();
            let errors = again.diagnostics.into_iter().filter(Diagnostic::is_error);
            diagnostics.extend(errors.map(|error| arguments::blame(error, &given, text.text)));
        }
        diagnostics.append(&mut checker.diagnostics);
        budget.checks.note(before, policy.name.span);
        if !broken {
            checked.file_items.clone_from(&item_spans);
            result.push(checked);
        }
    }
    exceptions::check_outside(file, text, schemas, budget, &mut diagnostics);
    scope::check_unused_items(file, text, &file_items, schemas, budget, &mut diagnostics);
    diagnostics.sort_by_key(|d| (d.span.source, d.span.start, d.span.end, d.code.id));
    diagnostics.dedup();
    said.append(&mut diagnostics);
    result
}

/// Checks one expression as part of a filter, for `bayplan eval` and for tests. The policy holds the
/// tables that the expression refers to.
pub fn check_expression(expr: &ast::Expr, text: &str) -> (Option<(Policy, Expr)>, Vec<Diagnostic>) {
    let budget = &Budget::default();
    Checker::of_filter(text, budget).alone(expr)
}

/// Checks one expression of CEL, with variables that are given when it is evaluated: they are the first slots.
/// With it its type in the words of cel-go.
pub(crate) fn check_cel(
    expr: &ast::Expr,
    text: &str,
    rows: Rows,
    variables: &[(Text, Type)],
) -> (Option<(Policy, Expr, String)>, Vec<Diagnostic>) {
    let budget = &Budget::default();
    let mut checker = Checker::of_filter(text, budget);
    checker.dialect = ExprLanguage::Cel(rows);
    for (name, ty) in variables {
        checker.cel_binding(name, ty.clone());
    }
    let (checked, said) = checker.alone(expr);
    let named = checked.map(|(policy, expr)| {
        let ty = checker.cel_type_name(&expr);
        (policy, expr, ty)
    });
    (named, said)
}

/// No kinds beside those of Kubernetes.
pub(super) fn no_schemas() -> &'static Schemas {
    static NONE: LazyLock<Schemas> = LazyLock::new(Schemas::default);
    &NONE
}

pub(super) fn empty_policy(name: &ast::Name, span: Span) -> Policy {
    Policy {
        name: name.text.clone(),
        doc: None,
        span,
        name_span: name.span,
        to_all_pods: false,
        cel: false,
        on_error: ast::OnError::default(),
        strict: None,
        modes: Modes::default(),
        unless: Vec::new(),
        exceptions: Vec::new(),
        params: Vec::new(),
        lets: Vec::new(),
        defs: Vec::new(),
        groups: Vec::new(),
        kinds: Vec::new(),
        ledgers: Vec::new(),
        memos: Vec::new(),
        sources: Vec::new(),
        slots: Vec::new(),
        rules: Vec::new(),
        keeps: Keeps::default(),
        file_items: Vec::new(),
    }
}

/// The text that is checked, and those of the files that it uses.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    text: &'a str,
    used: &'a [UsedFile<'a>],
    outside: Option<&'a Outside>,
}

impl<'a> Texts<'a> {
    /// A text that uses no file.
    fn one(text: &'a str) -> Self {
        Self { text, used: &[], outside: None }
    }

    /// The text of a place.
    pub(super) fn at(self, span: Span) -> &'a str {
        let used = self.used.iter().find(|of| of.source.id() == span.source);
        let mut outside = self.outside.into_iter().flat_map(Outside::iter);
        let outside = || outside.find(|of| of.source() == span.source).map(|of| of.text());
        used.map(|of| of.source.text()).or_else(outside).unwrap_or(self.text)
    }
}

/// The state of checking one policy.
pub(super) struct Checker<'a> {
    pub(super) texts: Texts<'a>,
    pub(super) budget: &'a Budget,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// A part could not be read: there is no further diagnostic, but the policy is incomplete.
    pub(super) incomplete: bool,
    pub(super) arguments: Vec<Argument>,
    pub(super) decls: Vec<Decl<'a>>,
    pub(super) names: FxHashMap<Text, DeclId>,
    /// The kinds beside those of Kubernetes.
    pub(super) schemas: &'a Schemas,
    /// What the policy declares, as far as it is checked.
    pub(super) declared: Declared,
    /// What is known of values.
    pub(super) values: Values,
    pub(super) frame: Frame,
    /// What holds in the whole policy but `queue by`.
    pub(super) policy_facts: PolicyFacts,
    /// Names being resolved, innermost last, for the message of a circle.
    pub(super) resolving: Vec<DeclId>,
    pub(super) types: DeclaredTypes,
    /// The language of the expressions.
    pub(super) dialect: ExprLanguage,
    pub(super) cel: CelState,
    /// What a fault of the statement does.
    pub(super) on_error: ast::OnError,
}

/// What a policy declares, as far as it is checked: the tables of [`Policy`].
#[derive(Default)]
pub(super) struct Declared {
    pub(super) params: Vec<typed::Param>,
    pub(super) lets: Vec<typed::Let>,
    pub(super) defs: Vec<typed::Def>,
    pub(super) groups: Vec<typed::Group>,
    /// The kinds that were looked up.
    pub(super) kinds: Vec<Arc<ObjectKind>>,
    pub(super) ledgers: Vec<typed::Ledger>,
    pub(super) memos: Vec<typed::Memo>,
    pub(super) sources: Vec<typed::Source>,
    pub(super) slots: Vec<typed::Slot>,
}

/// What is known of values, and the numbers under which it is known.
#[derive(Default)]
pub(super) struct Values {
    /// The values of lets that are constants.
    pub(super) known: Known,
    /// Nothing is concluded from the values of params.
    pub(super) any_arguments: bool,
    /// The values of lets that are constants then.
    pub(super) known_for_any: Known,
    /// The numbers of the lets' values, beside `lets`.
    pub(super) let_numbers: Vec<ValueId>,
    pub(super) numbers: Numbers,
}

impl<'a> Checker<'a> {
    pub(super) fn new(texts: Texts<'a>, arguments: Vec<Argument>, budget: &'a Budget) -> Self {
        Checker {
            texts,
            budget,
            diagnostics: Vec::new(),
            incomplete: false,
            arguments,
            decls: Vec::new(),
            names: FxHashMap::default(),
            schemas: no_schemas(),
            declared: Declared::default(),
            values: Values::default(),
            frame: Frame::new(Place::Constant, FactScope::Raw),
            policy_facts: PolicyFacts::default(),
            resolving: Vec::new(),
            types: DeclaredTypes::default(),
            dialect: ExprLanguage::Policy,
            cel: CelState::default(),
            on_error: ast::OnError::default(),
        }
    }

    /// A checker of one expression, as part of a filter.
    fn of_filter(text: &'a str, budget: &'a Budget) -> Self {
        let mut checker = Checker::new(Texts::one(text), Vec::new(), budget);
        checker.frame = Frame::new(Place::In(StatementId::Filter), FactScope::Narrowed);
        checker
    }

    /// Checks its only expression. The policy holds the tables that the expression refers to.
    fn alone(&mut self, expr: &'a ast::Expr) -> (Option<(Policy, Expr)>, Vec<Diagnostic>) {
        let checked = self.expr(expr, None);
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        self.budget.report(&mut diagnostics);
        diagnostics.sort_by_key(|d| (d.span.start, d.span.end, d.code.id));
        if diagnostics.iter().any(Diagnostic::is_error) || checked.ty.is_unknown() {
            return (None, diagnostics);
        }
        let name = ast::Name { text: Text::from("expression"), span: expr.span };
        let mut policy = empty_policy(&name, expr.span);
        policy.cel = matches!(self.dialect, ExprLanguage::Cel(_));
        policy.slots = std::mem::take(&mut self.declared.slots);
        policy.lets = std::mem::take(&mut self.declared.lets);
        policy.defs = std::mem::take(&mut self.declared.defs);
        policy.kinds = std::mem::take(&mut self.declared.kinds);
        (Some((policy, checked)), diagnostics)
    }

    /// This checker with kinds beside those of Kubernetes.
    pub(super) fn with(self, schemas: &'a Schemas) -> Self {
        Checker { schemas, ..self }
    }

    fn policy(
        &mut self,
        item: &'a ast::Item,
        policy: &'a ast::Policy,
        file: &scope::FileItems<'a>,
        outside: &'a Outside,
    ) -> Policy {
        if policy.dialect == ast::Dialect::Cel {
            self.dialect = ExprLanguage::Cel(Rows::of_policies());
        }
        self.on_error = policy.on_error;
        self.declare(policy, file);
        let mut result = empty_policy(&policy.name, item.span);
        result.cel = policy.dialect == ast::Dialect::Cel;
        result.on_error = policy.on_error;
        result.strict = policy.strict;
        result.doc = item.doc.as_ref().map(|doc| doc.text.clone());
        let (modes, mut rule_modes) = self.modes(policy);
        result.modes = modes;
        self.check_params();
        self.applies(policy, &mut result);
        self.decides_for(policy, &mut rule_modes, &mut result);
        self.frame = Frame::new(Place::In(StatementId::Let), FactScope::Narrowed);
        self.statements(policy, &rule_modes, &mut result);
        self.exceptions(policy, outside, &mut result);
        self.check_declarations();
        self.settle_scopes();
        result.params = std::mem::take(&mut self.declared.params);
        result.lets = std::mem::take(&mut self.declared.lets);
        result.defs = std::mem::take(&mut self.declared.defs);
        result.groups = std::mem::take(&mut self.declared.groups);
        result.kinds = std::mem::take(&mut self.declared.kinds);
        result.ledgers = std::mem::take(&mut self.declared.ledgers);
        result.memos = std::mem::take(&mut self.declared.memos);
        result.sources = std::mem::take(&mut self.declared.sources);
        result.slots = std::mem::take(&mut self.declared.slots);
        result.add_declared_rules();
        result
    }

    // ---- diagnostics

    pub(super) fn is_broken(&self) -> bool {
        self.incomplete || self.diagnostics.iter().any(Diagnostic::is_error)
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.budget.checks.spend(if diagnostic.is_error() { STEPS_OF_ERROR } else { STEPS_OF_WARNING });
        self.diagnostics.push(diagnostic);
    }

    /// Reports a mistake of one sentence and help.
    pub(super) fn mistake(
        &mut self,
        code: &'static Code,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let help = help.into();
        let diagnostic = Diagnostic::new(code, span, message);
        self.report(if help.is_empty() { diagnostic } else { diagnostic.with_help(help) });
    }

    /// Says that a part of the language is not built.
    pub(super) fn not_built(&mut self, span: Span, what: impl std::fmt::Display) {
        self.mistake(
            &bayplan_diag::codes::NOT_BUILT,
            span,
            format!("{what} is not built yet"),
            "this release refuses it rather than ignoring it; the rest of the file is checked",
        );
    }

    /// The text of a place.
    pub(super) fn excerpt(&self, span: Span) -> &'a str {
        self.texts.at(span).get(span.range()).unwrap_or("")
    }

    // ---- what is made

    pub(super) fn unknown(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Constant(Value::Absent), ty: Type::Unknown, range: Range::None, span }
    }

    pub(super) fn make(&self, kind: ExprKind, ty: Type, span: Span) -> Expr {
        let range = expr::type_range(&ty);
        Expr { kind, ty, range, span }
    }

    pub(super) fn with_range(&self, kind: ExprKind, ty: Type, range: Range, span: Span) -> Expr {
        Expr { kind, ty, range, span }
    }

    /// The value of an expression that is made of constants.
    pub(super) fn constant(&self, expr: &Expr) -> Option<Constant> {
        let effort = &self.budget.constants;
        let before = effort.spent();
        let (params, lets, defs) = (&self.declared.params, &self.declared.lets, &self.declared.defs);
        let known = &self.values.known;
        let value = constant::constant(expr, Tables { params, lets, defs, effort, known });
        effort.note(before, expr.span);
        value
    }

    /// The value of an expression, where nothing is concluded from params the one that it has for any arguments.
    pub(super) fn sure_constant(&self, expr: &Expr) -> Option<Constant> {
        if !self.values.any_arguments {
            return self.constant(expr);
        }
        let effort = &self.budget.constants;
        let before = effort.spent();
        let known = &Known::default();
        let value = constant::constant(
            expr,
            Tables { params: &[], lets: &self.declared.lets, defs: &self.declared.defs, effort, known },
        );
        effort.note(before, expr.span);
        value
    }

    pub(super) fn constant_str(&self, expr: &Expr) -> Option<Text> {
        match self.constant(expr)? {
            Value::String(text) => Some(Text::from(text.as_str())),
            _ => None,
        }
    }

    pub(super) fn uses(&mut self, uses: Names) {
        self.frame.uses |= uses;
    }
}
