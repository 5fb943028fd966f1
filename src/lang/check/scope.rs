//! What names mean here: declarations of a policy and its file, locals of blocks and macros, and which names
//! a statement sees.

use super::Checker;
use super::facts::Facts;
use crate::diag::{Diagnostic, Span, codes};
use crate::lang::language::functions;
use crate::lang::language::statements::{Names, StatementId};
use crate::lang::syntax::ast::{self, Text};
use crate::lang::typed::{self, DefId, Expr, ExprKind, GroupId, LetId, ParamId, Root, SlotId};
use crate::lang::types::Type;
use crate::lang::types::range::Range;
use crate::lang::types::value::Value;
use rustc_hash::FxHashMap;

/// Index into `Checker::decls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeclId(pub u32);

/// A declaration of the policy, or of the file.
pub(super) struct Decl<'a> {
    pub name: &'a ast::Name,
    pub kind: DeclKind<'a>,
    pub doc: Option<Text>,
    /// Declared in the file: sees nothing of the policy.
    pub of_file: bool,
    pub used: bool,
    /// What became of it, without and with what the policy narrows.
    pub state: [State; 2],
}

#[derive(Clone, Copy)]
pub(super) enum DeclKind<'a> {
    Param(&'a ast::Param),
    Let(&'a ast::Let),
    Def(&'a ast::Def),
    Group(&'a ast::Group),
    Type(&'a ast::TypeItem),
    /// Refused or broken; known to exist.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Unchecked,
    InProgress,
    Let(LetId, Names),
    Def(DefId, Names),
    Group(GroupId),
    Param(ParamId),
    /// A mistake in it has been reported.
    Failed,
}

/// Whether what `applies when` and `missing` say is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum World {
    /// In `applies when`, `queue by` and the conditions of groups.
    Raw,
    /// Everywhere else.
    Narrowed,
}

/// Where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A default of a param, a weight.
    Constant,
    /// A def of the file.
    FileDef,
    /// In a statement of the policy; a `let` is one of the policy here, not of a block.
    In(StatementId),
}

impl Place {
    /// The names that are seen here.
    fn sees(self) -> Names {
        match self {
            Place::Constant | Place::FileDef => Names::NONE,
            Place::In(statement) => statement.def().sees.unwrap_or(Names::NONE),
        }
    }

    /// Its name in messages.
    fn words(self) -> String {
        match self {
            Place::Constant => "a constant".to_owned(),
            Place::FileDef => "a def of the file".to_owned(),
            Place::In(StatementId::Let) => "a let of the policy".to_owned(),
            Place::In(StatementId::Def) => "a def".to_owned(),
            Place::In(StatementId::Group) => "the condition of a group".to_owned(),
            Place::In(statement) => format!("`{}`", statement.def().words),
        }
    }
}

/// A name that is known in a part of an expression or block only.
pub(super) struct Local {
    pub name: Text,
    pub span: Span,
    pub kind: LocalKind,
    pub used: bool,
}

#[derive(Clone, Copy)]
pub(super) enum LocalKind {
    /// A variable of a macro or a parameter of a def.
    Slot(SlotId, Range),
    /// A let of a block.
    Let(LetId),
    /// A let of a block with a mistake in it.
    Failed,
}

/// What is known while one expression, or one block, is checked.
pub(super) struct Frame {
    pub place: Place,
    pub world: World,
    pub locals: Vec<Local>,
    pub facts: Facts,
    pub uses: Names,
}

impl Frame {
    pub fn new(place: Place, world: World) -> Self {
        Frame { place, world, locals: Vec::new(), facts: Facts::default(), uses: Names::NONE }
    }
}

/// Types and defs of a file.
pub(super) struct FileItems<'a> {
    pub items: Vec<(&'a ast::Name, DeclKind<'a>, Option<Text>)>,
}

impl<'a> FileItems<'a> {
    pub fn new(file: &'a ast::File, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let mut items: Vec<(&'a ast::Name, DeclKind<'a>, Option<Text>)> = Vec::new();
        let mut known: FxHashMap<&str, Span> = FxHashMap::default();
        for item in &file.items {
            let doc = item.doc.as_ref().map(|doc| doc.text.clone());
            let declared = match &item.kind {
                ast::ItemKind::Def(def) => Some((&def.name, DeclKind::Def(def))),
                ast::ItemKind::Type(of) => Some((&of.name, DeclKind::Type(of))),
                ast::ItemKind::Broken(broken) => broken.declares.as_ref().map(|name| (name, DeclKind::Lost)),
                ast::ItemKind::Use(_) => {
                    diagnostics.push(not_built(item.span, StatementId::Use));
                    None
                }
                ast::ItemKind::Except(_) => {
                    diagnostics.push(not_built(item.span, StatementId::Except));
                    None
                }
                ast::ItemKind::Policy(_) => None,
            };
            let Some((name, kind)) = declared else { continue };
            if let Some(first) = known.get(&*name.text) {
                diagnostics.push(twice(name, *first));
            } else {
                known.insert(&name.text, name.span);
                items.push((name, kind, doc));
            }
        }
        FileItems { items }
    }
}

fn not_built(span: Span, statement: StatementId) -> Diagnostic {
    Diagnostic::new(&codes::NOT_BUILT, span, format!("`{}` is not built yet", statement.def().words))
        .with_help("this release refuses it rather than ignoring it; the rest of the file is checked")
}

fn twice(name: &ast::Name, first: Span) -> Diagnostic {
    Diagnostic::new(&codes::DUPLICATE_NAME, name.span, format!("`{}` is declared twice", name.text))
        .with_place(first, "the first one")
}

/// Defs of a file that no policy uses are checked when the file has none; their mistakes are said there.
pub(super) fn check_unused_items(
    file: &ast::File,
    text: &str,
    items: &FileItems<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if items.items.is_empty() || file.policies().next().is_some() {
        return;
    }
    let empty = ast::Policy {
        name: ast::Name { text: Text::from("file"), span: Span::default() },
        version: None,
        statements: Vec::new(),
    };
    let mut checker = Checker::new(text, Vec::new());
    checker.declare(&empty, items);
    checker.check_declarations();
    diagnostics.append(&mut checker.diagnostics);
}

/// CEL's names of types, which are values: what `type(x)` is compared with.
const TYPE_NAMES: [&str; 11] =
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"];

fn root(name: &str) -> Option<(Root, Names, Type)> {
    use crate::lang::language::fields::ObjectType::{Namespace, Node, Pod};
    Some(match name {
        "pod" => (Root::Pod, Names::POD, Type::Object(Pod)),
        "ns" => (Root::Namespace, Names::NS, Type::Object(Namespace)),
        "node" => (Root::Node, Names::NODE, Type::Object(Node)),
        "nodes" => (Root::Nodes, Names::NODES, Type::Object(Node).list()),
        "pods" => (Root::Pods, Names::PODS, Type::Object(Pod).list()),
        "nominated" => (Root::Nominated, Names::NOMINATED, Type::Object(Pod).list()),
        _ => return None,
    })
}

/// Whether a name is ours: a variable or a function.
fn is_ours(name: &str) -> bool {
    root(name).is_some()
        || matches!(name, "has" | "now")
        || !functions::named(name, false).is_empty()
        || functions::NOT_BUILT.contains(&name)
}

impl<'a> Checker<'a> {
    /// Declares everything that the policy and its file name.
    pub(super) fn declare(&mut self, policy: &'a ast::Policy, file: &FileItems<'a>) {
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
                ast::StatementKind::Ledger(of) => (&of.name, DeclKind::Lost),
                ast::StatementKind::Memo(of) => (&of.name, DeclKind::Lost),
                ast::StatementKind::Source(of) => (&of.name, DeclKind::Lost),
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

    fn declare_one(&mut self, name: &'a ast::Name, kind: DeclKind<'a>, doc: Option<Text>, of_file: bool) {
        if is_ours(&name.text) {
            self.hides(name, None);
        } else if let Some(first) = self.names.get(&name.text) {
            let first = self.decls[first.0 as usize].name.span;
            self.report(twice(name, first));
            return;
        }
        let id = DeclId(self.decls.len() as u32);
        self.names.insert(name.text.clone(), id);
        self.decls.push(Decl { name, kind, doc, of_file, used: false, state: [State::Unchecked; 2] });
    }

    fn hides(&mut self, name: &ast::Name, other: Option<Span>) {
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

    /// Adds a local that may hide nothing.
    pub(super) fn add_local(&mut self, name: &ast::Name, kind: LocalKind) {
        if let Some(local) = self.frame.locals.iter().find(|local| local.name == name.text) {
            let first = local.span;
            self.report(twice(name, first));
        } else if let Some(id) = self.names.get(&name.text) {
            let other = self.decls[id.0 as usize].name.span;
            self.hides(name, Some(other));
        } else if is_ours(&name.text) {
            self.hides(name, None);
        }
        self.frame.locals.push(Local { name: name.text.clone(), span: name.span, kind, used: false });
    }

    /// Adds the variable of a macro, which may hide a name, with a finding.
    pub(super) fn add_variable(&mut self, name: &Text, span: Span, ty: Type, range: Range) -> SlotId {
        let hidden = self
            .frame
            .locals
            .iter()
            .find(|local| local.name == *name)
            .map(|local| Some(local.span))
            .or_else(|| self.names.get(name).map(|id| Some(self.decls[id.0 as usize].name.span)))
            .or_else(|| root(name).map(|_| None));
        if let Some(other) = hidden {
            let mut diagnostic =
                Diagnostic::new(&codes::HIDES_NAME, span, format!("the variable `{name}` hides a name"))
                    .with_help("inside the macro the name means the variable: choose another one");
            if let Some(other) = other {
                diagnostic = diagnostic.with_place(other, "hidden inside the macro");
            }
            self.report(diagnostic);
        }
        let slot = self.new_slot(name.clone(), ty, span);
        let kind = LocalKind::Slot(slot, range);
        self.frame.locals.push(Local { name: name.clone(), span, kind, used: false });
        slot
    }

    pub(super) fn new_slot(&mut self, name: Text, ty: Type, span: Span) -> SlotId {
        let slot = SlotId(self.slots.len() as u32);
        self.slots.push(typed::Slot { name, ty, span });
        slot
    }

    /// The meaning of a name.
    pub(super) fn name(&mut self, name: &Text, span: Span) -> Expr {
        if let Some(local) = self.frame.locals.iter_mut().rev().find(|local| local.name == *name) {
            local.used = true;
            let kind = local.kind;
            return match kind {
                LocalKind::Slot(slot, range) => {
                    let ty = self.slots[slot.0 as usize].ty.clone();
                    let expr = self.with_range(ExprKind::Slot(slot), ty, range, span);
                    self.narrowed(expr)
                }
                LocalKind::Let(id) => self.let_reference(id, span),
                LocalKind::Failed => self.unknown(span),
            };
        }
        if let Some(id) = self.names.get(name).copied() {
            return self.declared(id, span);
        }
        if let Some((root, uses, ty)) = root(name) {
            if !self.allow(uses, name, span) {
                return self.unknown(span);
            }
            return self.make(ExprKind::Root(root), ty, span);
        }
        if TYPE_NAMES.contains(&&**name) {
            let value = Value::TypeName(crate::model::Symbol::new(name));
            return self.make(ExprKind::Constant(value), Type::TypeName, span);
        }
        self.unknown_name(name, span);
        self.unknown(span)
    }

    /// Whether the place sees these; says it if not.
    pub(super) fn allow(&mut self, uses: Names, name: &str, span: Span) -> bool {
        self.uses(uses);
        let place = self.frame.place;
        let Some(word) = uses.beyond(place.sees()) else { return true };
        let message = if word == name || word == "now()" {
            format!("{} does not see `{word}`", place.words())
        } else {
            format!("`{name}` reads `{word}`, which {} does not see", place.words())
        };
        let help = match (place, word) {
            (Place::In(StatementId::Let), "node") => "move the let into the block that uses it",
            (Place::In(StatementId::Applies), "node" | "nodes") => {
                "it is decided before a node is looked at: use `filter`"
            }
            (Place::In(StatementId::Applies), _) => "it sees the pod and its namespace only",
            (Place::In(StatementId::Prefilter), _) => {
                "it runs once per pod; what is asked of each node goes into a `filter`"
            }
            (Place::In(StatementId::Queue), _) => "it sees the pod, its namespace and groups only",
            (Place::In(StatementId::Gate), _) => "it sees the pod, its namespace and the clock only",
            (Place::In(StatementId::Group), _) => "a group is kept from the fields of the two pods alone",
            (Place::FileDef, _) => "give it as an argument, or move the def into the policy",
            (Place::Constant, _) => "write a value that is known when the policy is loaded",
            _ => "",
        };
        self.mistake(&codes::NOT_SEEN_HERE, span, message, help);
        false
    }

    fn unknown_name(&mut self, name: &str, span: Span) {
        let help = match name {
            "container" => Some("`pod.containers.exists(c, c.image …)`".to_owned()),
            "namespace" => Some("the pod's namespace is `ns`, its name `pod.namespace`".to_owned()),
            "p" | "v" | "victim" => None,
            "true" | "false" => None,
            _ => None,
        };
        if let Some(help) = help {
            let message = format!("no `{name}` here");
            return self.mistake(&codes::UNKNOWN_NAME, span, message, help);
        }
        let known: Vec<String> = self
            .frame
            .locals
            .iter()
            .map(|local| local.name.to_string())
            .chain(self.decls.iter().map(|decl| decl.name.text.to_string()))
            .chain(["pod", "node", "ns", "nodes", "pods", "nominated"].map(str::to_owned))
            .collect();
        let mut diagnostic =
            Diagnostic::new(&codes::UNKNOWN_NAME, span, format!("nothing is called `{name}` here"));
        if !functions::named(name, false).is_empty() {
            diagnostic = diagnostic.with_help(format!("`{name}` is a function: write `{name}(…)`"));
        } else if let Some(near) = super::types::nearest(name, known.iter().map(String::as_str)) {
            diagnostic = diagnostic.with_help(format!("did you mean `{near}`?")).with_fix(
                format!("write `{near}`"),
                span,
                near,
            );
        }
        self.report(diagnostic);
    }

    /// The meaning of a declared name, resolved when it is first used in this world.
    fn declared(&mut self, id: DeclId, span: Span) -> Expr {
        match self.resolve(id, span) {
            State::Let(id, uses) => {
                let name = self.lets[id.0 as usize].name.clone();
                if !self.allow(uses, &name, span) {
                    return self.unknown(span);
                }
                self.let_reference(id, span)
            }
            State::Param(id) => {
                let param = &self.params[id.0 as usize];
                let ty = param.ty.clone();
                let range = super::expr::constant_range(&param.value, &ty);
                self.with_range(ExprKind::Param(id), ty, range, span)
            }
            State::Group(id) => {
                let name = self.groups[id.0 as usize].name.clone();
                if !self.allow(Names::GROUPS, &name, span) {
                    return self.unknown(span);
                }
                let ty = Type::Object(crate::lang::language::fields::ObjectType::Pod).list();
                self.make(ExprKind::Group(id), ty, span)
            }
            State::Def(..) => {
                let name = self.decls[id.0 as usize].name.text.clone();
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

    fn let_reference(&mut self, id: LetId, span: Span) -> Expr {
        let of = &self.lets[id.0 as usize];
        let (ty, range, missing) = (of.value.ty.clone(), of.value.range, of.missing.is_some());
        let expr = self.with_range(ExprKind::Let(id), ty, range, span);
        if missing && self.frame.world == World::Narrowed {
            return self.present(expr);
        }
        self.narrowed(expr)
    }

    /// Checks a declaration, once in each world.
    pub(super) fn resolve(&mut self, id: DeclId, span: Span) -> State {
        let world = self.frame.world;
        let decl = &mut self.decls[id.0 as usize];
        decl.used = true;
        match decl.state[world as usize] {
            State::Unchecked => {}
            State::InProgress => {
                self.circle(id, span);
                return State::Failed;
            }
            done => return done,
        }
        let (kind, of_file) = (decl.kind, decl.of_file);
        decl.state[world as usize] = State::InProgress;
        self.resolving.push(id);
        let state = match kind {
            DeclKind::Let(of) => self.declare_let(of),
            DeclKind::Def(of) => self.declare_def(of, of_file),
            DeclKind::Group(of) => self.declare_group(of),
            DeclKind::Param(_) => State::Failed,
            DeclKind::Type(of) => {
                self.mistake(
                    &codes::UNKNOWN_NAME,
                    span,
                    format!("`{}` is a type and no value", of.name.text),
                    "types stand after `:` and in `< >`",
                );
                State::Failed
            }
            DeclKind::Lost => {
                self.incomplete = true;
                State::Failed
            }
        };
        self.resolving.pop();
        let decl = &mut self.decls[id.0 as usize];
        // A group is the same in both worlds.
        if matches!(state, State::Group(_)) {
            decl.state = [state; 2];
        }
        let slot = &mut decl.state[world as usize];
        // A circle that was found below has marked it as failed.
        if *slot == State::InProgress {
            *slot = state;
        }
        *slot
    }

    fn circle(&mut self, id: DeclId, span: Span) {
        let from = self.resolving.iter().position(|other| *other == id).unwrap_or(0);
        let circle: Vec<DeclId> = self.resolving[from..].to_vec();
        let mut path: Vec<String> =
            circle.iter().map(|id| format!("`{}`", self.decls[id.0 as usize].name.text)).collect();
        let first = path.first().cloned().unwrap_or_default();
        path.push(first.clone());
        let mut diagnostic =
            Diagnostic::new(&codes::RECURSION, span, format!("{first} is defined by itself"));
        if path.len() > 2 {
            diagnostic = diagnostic.with_help(format!("{}: there is no recursion", path.join(" needs ")));
        } else {
            diagnostic = diagnostic.with_help("there is no recursion");
        }
        self.report(diagnostic);
        for id in circle {
            self.decls[id.0 as usize].state = [State::Failed; 2];
        }
    }

    /// Runs `f` in a frame of its own; gives what it made and what it looked at.
    pub(super) fn in_frame<R>(&mut self, place: Place, f: impl FnOnce(&mut Self) -> R) -> (R, Names) {
        let world = self.frame.world;
        let mut frame = Frame::new(place, world);
        if world == World::Narrowed && place != Place::FileDef {
            frame.facts = self.policy_facts.clone();
        }
        let outer = std::mem::replace(&mut self.frame, frame);
        let result = f(self);
        let inner = std::mem::replace(&mut self.frame, outer);
        (result, inner.uses)
    }

    fn declare_let(&mut self, of: &'a ast::Let) -> State {
        let (id, uses) = self.in_frame(Place::In(StatementId::Let), |this| this.make_let(of, true));
        match id {
            Some(id) => State::Let(id, uses),
            None => State::Failed,
        }
    }

    fn declare_def(&mut self, of: &'a ast::Def, of_file: bool) -> State {
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
        if def.body.ty.is_unknown() {
            return State::Failed;
        }
        let id = DefId(self.defs.len() as u32);
        self.defs.push(def);
        State::Def(id, uses)
    }

    /// Checks what nothing has used yet, so that its mistakes are said, and says that nothing uses it.
    pub(super) fn check_declarations(&mut self) {
        self.frame.world = World::Narrowed;
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
