//! Declarations of a policy: registered first, checked when they are first used, at the latest at the end.

use super::Checker;
use super::scope::{Decl, DeclId, DeclKind, FactScope, FileItems, LocalKind, Place, State, is_ours, twice};
use crate::language::statements::{Names, StatementId};
use crate::syntax::ast::{self, Text};
use crate::typed::{self, DefId, Expr, ExprKind, LetId};
use crate::types::Type;
use crate::types::range::Range;
use bayplan_diag::{Diagnostic, SourceId, Span, codes};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

impl<'a> Checker<'a> {
    /// Declares everything that the policy and its file name.
    pub(super) fn declare(&mut self, policy: &'a ast::Policy, file: &FileItems<'a>) {
        let visible = file.items.len() + policy.statements.len();
        if !self.budget.checks.spend(visible as u64) {
            self.incomplete = true;
            return;
        }
        for (name, kind, doc) in &file.items {
            self.declare_one(name, *kind, doc.clone(), true);
        }
        for statement in &policy.statements {
            let doc = statement.doc.as_ref().map(|doc| doc.text.clone());
            let (name, kind) = match &statement.kind {
                ast::StatementKind::Param(of) => (&of.name, DeclKind::Param(of)),
                ast::StatementKind::Let(of) => (&of.name, DeclKind::Let(of)),
                ast::StatementKind::Def(of) => (&of.name, DeclKind::Def(of)),
                ast::StatementKind::Group(of) => (&of.name, DeclKind::Group(of)),
                ast::StatementKind::Type(of) => (&of.name, DeclKind::Type(of)),
                ast::StatementKind::Ledger(of) => (&of.name, DeclKind::Ledger(of)),
                ast::StatementKind::Memo(of) => (&of.name, DeclKind::Memo(of)),
                ast::StatementKind::Source(of) => (&of.name, DeclKind::Source(of)),
                ast::StatementKind::Broken(broken) => {
                    self.incomplete = true;
                    match &broken.declares {
                        Some(name) => (name, DeclKind::Lost),
                        None => continue,
                    }
                }
                _ => continue,
            };
            self.declare_one(name, kind, doc, false);
        }
    }

    pub(super) fn declare_one(
        &mut self,
        name: &'a ast::Name,
        kind: DeclKind<'a>,
        doc: Option<Text>,
        of_file: bool,
    ) {
        if is_ours(&name.text) {
            self.hides(name, None);
        } else if let Some(first) = self.names.get(&name.text) {
            let first = self.decls[first.index()].name.span;
            self.report(twice(name, first));
            return;
        }
        let id = DeclId(self.decls.len() as u32);
        self.names.insert(name.text.clone(), id);
        self.decls.push(Decl { name, kind, doc, of_file, used: false, state: [State::Unchecked; 2] });
    }

    pub(super) fn hides(&mut self, name: &ast::Name, other: Option<Span>) {
        let message = match other {
            Some(_) => format!("`{}` is declared already", name.text),
            None => format!("`{}` is a name of the language", name.text),
        };
        let mut diagnostic = Diagnostic::new(&codes::HIDDEN_NAME, name.span, message)
            .with_help("only the variable of a macro may hide a name: choose another one");
        if let Some(other) = other {
            diagnostic = diagnostic.with_place(other, "declared here");
        }
        self.report(diagnostic);
    }

    /// The meaning of a declared name, resolved when it is first used in this fact scope.
    pub(super) fn declared(&mut self, id: DeclId, span: Span) -> Expr {
        match self.resolve(id, span) {
            State::Let(id, uses) => {
                let name = self.declared.lets[id.index()].name.clone();
                if !self.allow(uses, &name, span) {
                    return self.unknown(span);
                }
                self.let_reference(id, span)
            }
            State::Param(id) => {
                let param = &self.declared.params[id.index()];
                let ty = param.ty.clone();
                let range = match self.values.any_arguments {
                    true => any_argument(param),
                    false => super::expr::constant_range(&param.value, &ty),
                };
                self.with_range(ExprKind::Param(id), ty, range, span)
            }
            State::Group(id) => {
                let name = self.declared.groups[id.index()].name.clone();
                if !self.allow(Names::GROUPS, &name, span) {
                    return self.unknown(span);
                }
                let ty = Type::Object(crate::language::fields::ObjectType::Pod).list();
                self.make(ExprKind::Group(id), ty, span)
            }
            State::Ledger(_) => {
                let name = self.decls[id.index()].name.text.clone();
                self.mistake(
                    &codes::TYPE_MISMATCH,
                    span,
                    format!("`{name}` is a ledger, which has a sum for each key"),
                    format!("write the key in brackets: `{name}[…]`"),
                );
                self.unknown(span)
            }
            State::Memo(id) => {
                let of = &self.declared.memos[id.index()];
                let (name, ty) = (of.name.clone(), of.ty.clone().optional());
                if !self.allow(Names::MEMOS, &name, span) {
                    return self.unknown(span);
                }
                let expr = self.make(ExprKind::Memo(id), ty, span);
                self.narrowed(expr)
            }
            State::Source(_) => {
                let name = self.decls[id.index()].name.text.clone();
                self.mistake(
                    &codes::TYPE_MISMATCH,
                    span,
                    format!("`{name}` is a source, which has metrics for each node"),
                    format!("write the name of the node in brackets: `{name}[node.name]`"),
                );
                self.unknown(span)
            }
            State::Def(..) => {
                let name = self.decls[id.index()].name.text.clone();
                let help = format!("`{name}(…)`");
                self.mistake(
                    &codes::TYPE_MISMATCH,
                    span,
                    format!("`{name}` is a def and is called with its arguments"),
                    help,
                );
                self.unknown(span)
            }
            State::Unchecked | State::InProgress | State::Failed => self.unknown(span),
        }
    }

    pub(super) fn let_reference(&mut self, id: LetId, span: Span) -> Expr {
        let of = &self.declared.lets[id.index()];
        let (ty, range, missing) = (of.value.ty.clone(), of.value.range, of.missing.is_some());
        let expr = self.with_range(ExprKind::Let(id), ty, range, span);
        if missing && self.frame.fact_scope == FactScope::Narrowed {
            return self.present(expr);
        }
        self.narrowed(expr)
    }

    /// Checks a declaration, once in each fact scope.
    pub(super) fn resolve(&mut self, id: DeclId, span: Span) -> State {
        let fact_scope = self.frame.fact_scope;
        let decl = &mut self.decls[id.index()];
        decl.used = true;
        match decl.state[fact_scope as usize] {
            State::Unchecked => {}
            State::InProgress => {
                self.circle(id, span);
                return State::Failed;
            }
            done => return done,
        }
        let (kind, of_file) = (decl.kind, decl.of_file);
        decl.state[fact_scope as usize] = State::InProgress;
        self.resolving.push(id);
        let state = match kind {
            DeclKind::Let(of) => self.declare_let(of),
            DeclKind::Def(of) => self.declare_def(of, of_file),
            DeclKind::Group(of) => self.declare_group(of),
            DeclKind::Ledger(of) => self.declare_ledger(of),
            DeclKind::Memo(of) => self.declare_memo(of),
            DeclKind::Source(of) => self.declare_source(of),
            DeclKind::Param(_) => State::Failed,
            DeclKind::Type(of) => {
                self.mistake(
                    &codes::UNKNOWN_NAME,
                    span,
                    format!("`{}` is a type, not a value", of.name.text),
                    "write types after `:` and in `< >`",
                );
                State::Failed
            }
            DeclKind::Lost => {
                self.incomplete = true;
                State::Failed
            }
        };
        self.resolving.pop();
        let decl = &mut self.decls[id.index()];
        // A group, a ledger, a memo or a source is the same in both scopes.
        if matches!(state, State::Group(_) | State::Ledger(_) | State::Memo(_) | State::Source(_)) {
            decl.state = [state; 2];
        }
        let slot = &mut decl.state[fact_scope as usize];
        // A circle that was found below has marked it as failed.
        if *slot == State::InProgress {
            *slot = state;
        }
        *slot
    }

    pub(super) fn circle(&mut self, id: DeclId, span: Span) {
        let from = self.resolving.iter().position(|other| *other == id).unwrap_or(0);
        let circle: Vec<DeclId> = self.resolving[from..].to_vec();
        let mut path: Vec<String> =
            circle.iter().map(|id| format!("`{}`", self.decls[id.index()].name.text)).collect();
        let first = path.first().cloned().unwrap_or_default();
        path.push(first.clone());
        let mut diagnostic =
            Diagnostic::new(&codes::RECURSION, span, format!("{first} is defined by itself"));
        if path.len() > 2 {
            diagnostic =
                diagnostic.with_help(format!("{}: a definition may not use itself", path.join(" needs ")));
        } else {
            diagnostic = diagnostic.with_help("a definition may not use itself");
        }
        self.report(diagnostic);
        for id in circle {
            self.decls[id.index()].state = [State::Failed; 2];
        }
    }

    pub(super) fn declare_let(&mut self, of: &'a ast::Let) -> State {
        let (id, uses) = self.in_frame(Place::In(StatementId::Let), |this| this.make_let(of, true));
        match id {
            Some(id) => State::Let(id, uses),
            None => State::Failed,
        }
    }

    pub(super) fn declare_def(&mut self, of: &'a ast::Def, of_file: bool) -> State {
        let place = if of_file { Place::FileDef } else { Place::In(StatementId::Def) };
        let (def, uses) = self.in_frame(place, |this| {
            let mut parameters = Vec::with_capacity(of.parameters.len());
            for parameter in &of.parameters {
                let ty = this.type_expr(&parameter.declared);
                let range = super::expr::type_range(&ty);
                let slot = this.new_slot(parameter.name.text.clone(), ty, parameter.name.span);
                this.add_local(&parameter.name, LocalKind::Slot(slot, range));
                parameters.push(slot);
            }
            let wanted = of.result.as_ref().map(|result| this.type_expr(result));
            let body = this.expr(&of.body, wanted.as_ref());
            let body = match &wanted {
                Some(wanted) => this.fit(body, wanted, "the def"),
                None => body,
            };
            typed::Def { name: of.name.text.clone(), parameters, body, span: of.name.span }
        });
        if def.body.ty.is_unknown() || self.leaves_scope(&def.body.ty, &def.parameters, def.body.span) {
            return State::Failed;
        }
        let id = DefId(self.declared.defs.len() as u32);
        self.declared.defs.push(def);
        State::Def(id, uses)
    }

    /// A declaration that is used with and without what the policy narrows was checked twice. A finding about it holds
    /// where both say it: a default that one of them needs is needed.
    pub(super) fn settle_scopes(&mut self) {
        let both = self.decls.iter().filter(|decl| !decl.state.contains(&State::Unchecked));
        let both: BTreeMap<(SourceId, u32), u32> = both
            .filter_map(|decl| match decl.kind {
                DeclKind::Let(of) => Some(of.value.span),
                DeclKind::Def(of) => Some(of.body.span),
                _ => None,
            })
            .map(|span| ((span.source, span.start), span.end))
            .collect();
        if both.is_empty() {
            return;
        }
        let within = |said: &Diagnostic| {
            let before = both.range(..=(said.span.source, said.span.start)).next_back();
            before.is_some_and(|((source, _), end)| *source == said.span.source && said.span.end <= *end)
        };
        let mut times: FxHashMap<(Span, &str), usize> = FxHashMap::default();
        for said in self.diagnostics.iter().filter(|said| !said.is_error()) {
            *times.entry((said.span, said.code.id)).or_default() += 1;
        }
        self.diagnostics.retain(|said| {
            said.is_error() || !within(said) || times.get(&(said.span, said.code.id)).is_none_or(|of| *of > 1)
        });
    }

    /// Checks unused declarations, so that their mistakes are reported, and reports that they are unused.
    pub(super) fn check_declarations(&mut self) {
        self.frame.fact_scope = FactScope::Narrowed;
        // Beside what could not be read nothing is known about what is used.
        let whole = !self.decls.iter().any(|decl| matches!(decl.kind, DeclKind::Lost))
            && !self.incomplete
            && !self.diagnostics.iter().any(Diagnostic::is_error);
        for at in 0..self.decls.len() {
            let decl = &self.decls[at];
            if matches!(decl.kind, DeclKind::Lost) {
                continue;
            }
            let (used, of_file, name) = (decl.used, decl.of_file, decl.name);
            let what = match decl.kind {
                DeclKind::Param(_) => "param",
                DeclKind::Let(_) => "let",
                DeclKind::Def(_) => "def",
                DeclKind::Group(_) => "group",
                DeclKind::Ledger(_) => "ledger",
                DeclKind::Memo(_) => "memo",
                DeclKind::Source(_) => "source",
                DeclKind::Type(_) => "type",
                DeclKind::Lost => "",
            };
            if decl.state == [State::Unchecked; 2] && !matches!(decl.kind, DeclKind::Param(_)) {
                if let DeclKind::Type(of) = decl.kind {
                    self.type_expr(&of.value);
                } else {
                    self.resolve(DeclId(at as u32), name.span);
                }
            }
            if !used && !of_file && whole {
                self.mistake(
                    &codes::UNUSED,
                    name.span,
                    format!("nothing uses the {what} `{}`", name.text),
                    "remove it, or use it",
                );
            }
        }
    }
}

/// The values of a param for any argument. Without a range of its own a number is taken to be far from the ends of its type:
/// a document whose rule fails for the argument that a profile gives has the lint `may-fail` then.
fn any_argument(param: &typed::Param) -> Range {
    const FAR: i128 = 1 << 31;
    let default = super::expr::constant_range(&param.value, &param.ty);
    if let Some(allowed) = param.allowed {
        return allowed.union(default);
    }
    match default {
        Range::Whole { .. } => Range::whole(-FAR, FAR).union(default).intersect(Range::of(&param.ty)),
        Range::Real { .. } => Range::real(-1e100, 1e100).union(default),
        Range::None => Range::None,
    }
}
