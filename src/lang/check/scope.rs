//! What names mean: declarations of a policy and its file, locals of blocks and macros, and which names a
//! statement sees.

use super::facts::Facts;
use super::{Checker, Texts};
use crate::eval::budget::Budget;
use crate::language::statements::{Names, StatementId};
use crate::language::{functions, macros};
use crate::schemas::Schemas;
use crate::syntax::ast::{self, Text};
use crate::typed::{
    self, DefId, Expr, ExprKind, GroupId, LedgerId, LetId, MemoId, ParamId, Root, SlotId, SourceId,
};
use crate::types::Type;
use crate::types::range::Range;
use crate::types::value::Value;
use crate::uses::UsedFile;
use bayplan_diag::{Diagnostic, Span, codes};
use rustc_hash::FxHashMap;

/// Index into `Checker::decls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DeclId(pub u32);

impl DeclId {
    /// The position in the table.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

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
    Ledger(&'a ast::Ledger),
    Memo(&'a ast::Memo),
    Source(&'a ast::SourceDecl),
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
    Ledger(LedgerId),
    Memo(MemoId),
    Source(SourceId),
    Param(ParamId),
    /// A mistake in it has been reported.
    Failed,
}

/// Whether what `applies when` and `missing` say is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactScope {
    /// In `applies when`, `queue by`, the conditions of groups and the keys of memos.
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
            Place::In(StatementId::Ledger) => "a ledger".to_owned(),
            Place::In(StatementId::Memo) => "a memo".to_owned(),
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
    pub fact_scope: FactScope,
    pub locals: Vec<Local>,
    pub facts: Facts,
    pub uses: Names,
}

impl Frame {
    pub(super) fn new(place: Place, fact_scope: FactScope) -> Self {
        Frame { place, fact_scope, locals: Vec::new(), facts: Facts::default(), uses: Names::NONE }
    }
}

/// Types and defs of a file.
pub(super) struct FileItems<'a> {
    pub items: Vec<(&'a ast::Name, DeclKind<'a>, Option<Text>)>,
}

impl<'a> FileItems<'a> {
    /// Those of the files that are used come first.
    pub(super) fn new(
        file: &'a ast::File,
        used: &'a [UsedFile<'a>],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut items: Vec<(&'a ast::Name, DeclKind<'a>, Option<Text>)> = Vec::new();
        let mut known: FxHashMap<&str, Span> = FxHashMap::default();
        for item in used.iter().flat_map(|of| &of.file.items).chain(&file.items) {
            let doc = item.doc.as_ref().map(|doc| doc.text.clone());
            let declared = match &item.kind {
                ast::ItemKind::Def(def) => Some((&def.name, DeclKind::Def(def))),
                ast::ItemKind::Type(of) => Some((&of.name, DeclKind::Type(of))),
                ast::ItemKind::Broken(broken) => broken.declares.as_ref().map(|name| (name, DeclKind::Lost)),
                ast::ItemKind::Use(_) | ast::ItemKind::Policy(_) | ast::ItemKind::Except(_) => None,
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

pub(super) fn twice(name: &ast::Name, first: Span) -> Diagnostic {
    Diagnostic::new(&codes::DUPLICATE_NAME, name.span, format!("`{}` is declared twice", name.text))
        .with_place(first, "the first one")
}

/// Defs of a file that no policy uses are checked when the file has none; their mistakes are reported there.
pub(super) fn check_unused_items(
    file: &ast::File,
    text: Texts<'_>,
    items: &FileItems<'_>,
    schemas: &Schemas,
    budget: &Budget,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if items.items.is_empty() || file.policies().next().is_some() {
        return;
    }
    let empty = ast::Policy {
        name: ast::Name { text: Text::from("file"), span: Span::default() },
        version: None,
        statements: Vec::new(),
        dialect: ast::Dialect::default(),
        on_error: ast::OnError::default(),
        strict: None,
    };
    let mut checker = Checker::new(text, Vec::new(), budget).with(schemas);
    checker.declare(&empty, items);
    checker.check_declarations();
    if let Some(first) = file.items.first() {
        budget.checks.note(0, first.span);
    }
    diagnostics.append(&mut checker.diagnostics);
}

/// CEL's names of types, which are values: what `type(x)` is compared with.
const TYPE_NAMES: [&str; 11] =
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"];

pub(super) fn root(name: &str) -> Option<(Root, Names, Type)> {
    use crate::language::fields::ObjectType::{Namespace, Node, Pod};
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
pub(super) fn is_ours(name: &str) -> bool {
    root(name).is_some()
        || macros::form(name).is_some()
        || !functions::named(name, false).is_empty()
        || functions::NOT_BUILT.contains(&name)
}

impl<'a> Checker<'a> {
    /// Adds a local that may hide nothing.
    pub(super) fn add_local(&mut self, name: &ast::Name, kind: LocalKind) {
        if let Some(local) = self.frame.locals.iter().find(|local| local.name == name.text) {
            let first = local.span;
            self.report(twice(name, first));
        } else if let Some(id) = self.names.get(&name.text) {
            let other = self.decls[id.index()].name.span;
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
            .or_else(|| self.names.get(name).map(|id| Some(self.decls[id.index()].name.span)))
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
        let slot = SlotId(self.declared.slots.len() as u32);
        self.declared.slots.push(typed::Slot { name, ty, span });
        slot
    }

    /// The meaning of a name.
    pub(super) fn name(&mut self, name: &Text, span: Span) -> Expr {
        if let Some(local) = self.frame.locals.iter_mut().rev().find(|local| local.name == *name) {
            local.used = true;
            let kind = local.kind;
            return match kind {
                LocalKind::Slot(slot, range) => {
                    let ty = self.declared.slots[slot.index()].ty.clone();
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
            let value = Value::TypeName(bayplan_model::Symbol::new(name));
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
        let message = if word == name || word.ends_with("()") {
            format!("{} does not see `{word}`", place.words())
        } else {
            format!("`{name}` reads `{word}`, which {} does not see", place.words())
        };
        let help = match (place, word) {
            (Place::In(StatementId::Let), "node") => "move the let into the block that uses it",
            (Place::In(StatementId::Applies), "node" | "nodes") => {
                "it is decided before nodes are evaluated: use `filter`"
            }
            (Place::In(StatementId::Applies), _) => "it sees the pod and its namespace only",
            (Place::In(StatementId::Prefilter), _) => {
                "it runs once per pod; write conditions on nodes in a `filter`"
            }
            (Place::In(StatementId::Queue), _) => {
                "it sees the pod, its namespace, groups, ledgers, memos and objects that are looked up"
            }
            (Place::In(StatementId::Gate), _) => {
                "it sees the pod, its namespace, groups, ledgers, memos, objects that are looked up and the clock"
            }
            (Place::In(StatementId::Group), _) => "a group is kept from the fields of the two pods alone",
            (Place::In(StatementId::Ledger), _) => {
                "it sees the pod that is counted, its namespace, its node, and objects by `lookup` and `owner`"
            }
            (Place::In(StatementId::Memo), _) => {
                "its key is made of the pod, its namespace, groups, other memos and objects that are looked up"
            }
            (Place::FileDef, _) => "give it as an argument, or move the def into the policy",
            (Place::Constant, _) => "write a value that is known when the policy is loaded",
            _ => "",
        };
        self.mistake(&codes::NOT_SEEN_HERE, span, message, help);
        false
    }

    pub(super) fn unknown_name(&mut self, name: &str, span: Span) {
        let help = match name {
            "container" => Some("write `pod.containers.exists(c, c.image …)`"),
            "namespace" => Some("the pod's namespace is `ns`, its name `pod.namespace`"),
            "True" | "TRUE" => Some("write `true`"),
            "False" | "FALSE" => Some("write `false`"),
            "nil" | "None" | "NULL" | "Null" | "undefined" if self.is_cel() => {
                Some("`has(a.b)` says whether a field is there, `\"k\" in m` whether a key is")
            }
            "nil" | "None" | "NULL" | "Null" | "undefined" => Some("write `none`, or ask `has(…)`"),
            "now" | "time" | "today" => Some(
                "the time is `now()`; hours of the week are \
                 `within(now(), \"Mon-Fri 08:00-18:00\", \"Europe/Berlin\")`",
            ),
            "hour" | "hours" => Some(
                "write `within(now(), \"Mon-Sun 08:00-18:00\", \"Europe/Berlin\")`, or \
                 `now().getHours(\"Europe/Berlin\")`",
            ),
            "weekday" | "day" | "dayOfWeek" | "day_of_week" | "weekend" => Some(
                "write `within(now(), \"Mon-Fri 00:00-24:00\", \"Europe/Berlin\")`, or \
                 `now().getDayOfWeek(\"Europe/Berlin\")`, where Sunday is 0",
            ),
            _ => None,
        };
        if let Some(help) = help.filter(|_| !self.names.contains_key(name)) {
            let message = format!("nothing is called `{name}` here");
            return self.mistake(&codes::UNKNOWN_NAME, span, message, help);
        }
        let is_function = !functions::named(name, false).is_empty();
        let near = match is_function {
            true => None,
            false => {
                let locals = self.frame.locals.iter().map(|local| &*local.name);
                let known = locals.chain(self.decls.iter().map(|decl| &*decl.name.text)).chain([
                    "pod",
                    "node",
                    "ns",
                    "nodes",
                    "pods",
                    "nominated",
                ]);
                self.nearest(name, known)
            }
        };
        let mut diagnostic =
            Diagnostic::new(&codes::UNKNOWN_NAME, span, format!("nothing is called `{name}` here"));
        if is_function {
            diagnostic = diagnostic.with_help(format!("`{name}` is a function: write `{name}(…)`"));
        } else if let Some(near) = near {
            diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic);
    }

    /// Runs `f` in a frame of its own; returns the result and the names that it used.
    pub(super) fn in_frame<R>(&mut self, place: Place, f: impl FnOnce(&mut Self) -> R) -> (R, Names) {
        let fact_scope = self.frame.fact_scope;
        let mut frame = Frame::new(place, fact_scope);
        if fact_scope == FactScope::Narrowed && place != Place::FileDef {
            frame.facts = Facts::of_policy(&self.policy_facts);
        }
        let outer = std::mem::replace(&mut self.frame, frame);
        let result = f(self);
        let inner = std::mem::replace(&mut self.frame, outer);
        (result, inner.uses)
    }
}
