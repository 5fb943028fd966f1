//! A document to a policy: its head, its declarations, and one statement for each item of a list.
//!
//! `shape` has reported what is missing or of the wrong type. Here such a part gives no statement but `Broken`, so
//! that the policy is incomplete and is not loaded.

use super::names::{Names, Uses};
use super::node_variables;
use super::place::Places;
use super::scalars::Scalar;
use super::values::Node;
use crate::language::documents::{self, DESCRIPTION, LANGUAGE_VERSION, MODES, ObjectDef, SPEC, Shape};
use crate::language::statements::StatementId;
use crate::syntax::ast::*;
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_yaml::{Tree, TreeEntry, TreeValue};
use std::collections::BTreeMap;

/// The reader of one document.
pub(super) struct Reader<'a> {
    pub(super) places: Places<'a>,
    pub(super) said: Vec<Diagnostic>,
    pub(super) scalars: Vec<Scalar>,
    pub(super) names: Names,
    /// What the expressions read so far use.
    pub(super) uses: Uses,
    /// The document has mistakes that were reported before.
    malformed: bool,
}

/// A statement with what its expressions use.
pub(super) struct Draft {
    pub(super) statement: Statement,
    pub(super) uses: Uses,
    /// The field that it was written in.
    pub(super) field: &'static str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(places: Places<'a>, malformed: bool) -> Self {
        Reader {
            places,
            said: Vec::new(),
            scalars: Vec::new(),
            names: Names::default(),
            uses: Uses::default(),
            malformed,
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.places.source.text()
    }

    pub(super) fn say(&mut self, said: Diagnostic) {
        self.said.push(said);
    }

    fn errors(&self) -> usize {
        self.said.iter().filter(|said| said.is_error()).count()
    }

    /// The policy of a document.
    pub(super) fn document(&mut self, tree: &Tree) -> Item {
        let span = self.places.whole(tree);
        let root = Node { tree, flow: false };
        let metadata = self.get(root, "metadata");
        let name = metadata.and_then(|metadata| self.get(metadata, "name"));
        let name = name.filter(|name| name.tree.as_str().is_some()).and_then(|name| self.name(name));
        // Without a name it is checked all the same; it is malformed and not loaded.
        let unnamed =
            || Name { text: Text::from(format!("unnamed at {}", span.start)), span: span.at_start() };
        let name = name.unwrap_or_else(unnamed);
        let policy = self.policy(root, name);
        let doc = metadata.and_then(|metadata| {
            let annotations = self.get(metadata, "annotations")?;
            let text = self.get(annotations, DESCRIPTION)?;
            let span = self.places.head(text.tree);
            Some(Doc { text: Text::from(text.tree.as_str()?.trim()), span })
        });
        Item { doc, kind: ItemKind::Policy(policy), span }
    }

    fn policy(&mut self, root: Node<'_>, name: Name) -> Policy {
        let mut policy = Policy {
            name,
            version: None,
            statements: Vec::new(),
            dialect: Dialect::Cel,
            on_error: OnError::default(),
            strict: None,
        };
        if self.malformed {
            policy.statements.push(self.broken(policy.name.span, "spec", None));
        }
        let Some(spec) = self.get(root, "spec") else { return policy };
        policy.version = self.version(spec);
        policy.on_error = self.on_error(spec).map_or(OnError::default(), |(on_error, _)| on_error);
        policy.strict = self.flag(spec, "strict");
        self.declare(spec);
        let mut drafts = Vec::new();
        if let TreeValue::Map(entries) = &spec.tree.value {
            for entry in entries {
                self.field(spec, entry, &mut drafts);
            }
        }
        let mut assumed: BTreeMap<Text, Span> = BTreeMap::new();
        for (name, span) in drafts.iter().flat_map(|draft| &draft.uses.assumed) {
            assumed.entry(name.clone()).or_insert(*span);
        }
        for (text, span) in assumed {
            let broken = self.broken(span.at_start(), "", Some(Name { text, span }));
            policy.statements.push(broken);
        }
        policy.statements.extend(node_variables::place(self, drafts));
        policy
    }

    fn version(&mut self, spec: Node<'_>) -> Option<(u64, Span)> {
        let node = self.get(spec, "version")?;
        let TreeValue::Int(version) = node.tree.value else { return None };
        let span = self.places.head(node.tree);
        if version != LANGUAGE_VERSION {
            let message = format!("no language version `{version}`");
            let said = Diagnostic::new(&codes::LANGUAGE_VERSION, span, message);
            self.say(said.with_help("this release knows version 1"));
        }
        u64::try_from(version).ok().map(|version| (version, span))
    }

    /// `onError` of a map.
    pub(super) fn on_error(&self, node: Node<'_>) -> Option<(OnError, Span)> {
        let entry = self.entry(node, "onError")?;
        let word = entry.value.as_str()?;
        let (_, on_error) = OnError::WORDS.into_iter().find(|(known, _)| *known == word)?;
        Some((on_error, self.places.entry(entry)))
    }

    /// `mode` of a map; with `enforceWhen` it is for the other pods.
    pub(super) fn mode(&mut self, node: Node<'_>) -> Option<Mode> {
        let entry = self.entry(node, "mode");
        let word = entry.and_then(|entry| {
            let word = entry.value.as_str().filter(|word| MODES.contains(word))?;
            Some(Name { text: Text::from(word), span: self.places.entry(entry) })
        });
        let until = self.day(node, "modeUntil");
        if let Some(entry) = self.entry(node, "enforceWhen") {
            let when = self.expression(self.get(node, "enforceWhen")?)?;
            let mode = Name { text: Text::from("enforce"), span: self.places.entry(entry) };
            return Some(Mode { mode, when: Some(when), otherwise: word, until });
        }
        if entry.is_none()
            && let Some(entry) = self.entry(node, "modeUntil")
        {
            let text = "`modeUntil` belongs to a `mode`";
            self.say(Diagnostic::new(&codes::BAD_DOCUMENT, self.places.key(entry), text));
        }
        Some(Mode { mode: word?, when: None, otherwise: None, until })
    }

    /// Whether a field is the one at which the mode of the policy is read: `enforceWhen` where it is, else `mode`.
    fn begins_mode(&self, spec: Node<'_>, entry: &TreeEntry) -> bool {
        let first =
            ["enforceWhen", "mode", "modeUntil"].into_iter().find(|key| self.get(spec, key).is_some());
        first.is_some_and(|first| *first == *entry.key)
    }

    /// Registers the names that the policy declares.
    fn declare(&mut self, spec: Node<'_>) {
        for space in documents::spaces() {
            let Some(entry) = self.entry(spec, space) else { continue };
            if !matches!(entry.value.value, TreeValue::List(_) | TreeValue::Null) {
                self.names.open.push(space);
            }
            let Some(list) = self.get(spec, space) else { continue };
            for item in self.items(list) {
                match self.get(item, "name").and_then(|name| name.tree.as_str()) {
                    Some(name) => {
                        self.names.declared.entry(Text::from(name)).or_insert(space);
                    }
                    None => self.names.open.push(space),
                }
            }
        }
    }

    /// The statements of a field of `spec`, in the order of the text.
    fn field(&mut self, spec: Node<'_>, entry: &TreeEntry, drafts: &mut Vec<Draft>) {
        let Some(def) = SPEC.field(&entry.key) else { return };
        let whole = self.places.entry(entry);
        let Some(node) = self.get(spec, def.name) else { return };
        let mut read: Vec<(Statement, Uses)> = Vec::new();
        match def.name {
            "appliesWhen" => read.push(self.statement(whole, None, |this| this.applies(spec))),
            // Beside `appliesWhen` it is a part of that statement.
            "appliesToAllPods" if self.get(spec, "appliesWhen").is_none() => {
                if let TreeValue::Bool(true) = node.tree.value {
                    read.push(self.statement(whole, None, |this| this.applies(spec)));
                }
            }
            // They are one statement, where the first of them is.
            "mode" | "modeUntil" | "enforceWhen" if self.begins_mode(spec, entry) => {
                read.push(self.statement(whole, None, |this| this.mode(spec).map(StatementKind::Mode)));
            }
            "queueBy" => read.push(self.statement(whole, None, |this| this.queue(node))),
            _ => {
                match (def.shape, def.statement) {
                    (Shape::List(ObjectDef { statement: Some(id), .. }), _) => {
                        for item in self.items(node) {
                            let span = self.places.whole(item.tree);
                            read.push(self.statement(span, Some(item), |this| this.item(item, *id, span)));
                        }
                    }
                    (Shape::List(of), Some(id)) => read.push(self.statement(whole, None, |this| {
                        StatementKind::of_block(id, this.block(node, whole, of))
                    })),
                    _ => {}
                }
            }
        }
        drafts.extend(read.into_iter().map(|(statement, uses)| Draft { statement, uses, field: def.name }));
    }

    fn broken(&self, span: Span, word: &str, declares: Option<Name>) -> Statement {
        let kind = StatementKind::Broken(Broken { word: Text::from(word), declares });
        Statement { doc: None, kind, span, on_error: None, mode: None }
    }

    /// Reads a statement. With a mistake it is `Broken`, and what it would have declared is known to exist.
    fn statement(
        &mut self,
        span: Span,
        item: Option<Node<'_>>,
        read: impl FnOnce(&mut Self) -> Option<StatementKind>,
    ) -> (Statement, Uses) {
        let before = self.errors();
        let ((kind, mode), uses) = self.uses_of(|this| {
            let kind = read(this);
            (kind, item.and_then(|item| this.mode(item)))
        });
        let on_error = item.and_then(|item| self.on_error(item));
        let kind = match kind {
            Some(kind) if self.errors() == before => kind,
            _ => {
                let name = item.and_then(|item| self.get(item, "name"));
                let declares = name.and_then(|name| self.name(name));
                let declares = declares.filter(|name| self.names.declared.contains_key(&name.text));
                return (self.broken(span, "", declares), uses);
            }
        };
        (Statement { doc: None, kind, span, on_error, mode }, uses)
    }

    /// An item of a list of statements.
    fn item(&mut self, item: Node<'_>, id: StatementId, span: Span) -> Option<StatementKind> {
        match id {
            StatementId::Param => self.param(item),
            StatementId::Let => self.variable(item),
            StatementId::Ledger => self.ledger(item),
            StatementId::Source => self.source(item),
            StatementId::Filter => self.filter(item, span),
            StatementId::Score => self.score(item, span),
            _ => StatementKind::of(id, self.given(item, id, &[])),
        }
    }

    /// The place of a field that is `true`.
    pub(super) fn flag(&self, node: Node<'_>, key: &str) -> Option<Span> {
        let entry = self.entry(node, key)?;
        matches!(entry.value.value, TreeValue::Bool(true)).then(|| self.places.entry(entry))
    }

    /// A day, as it is written.
    pub(super) fn day(&self, node: Node<'_>, key: &str) -> Option<Name> {
        let entry = self.entry(node, key)?;
        Some(Name { text: Text::from(entry.value.as_str()?), span: self.places.entry(entry) })
    }

    // ---- statements that documents write in a form of their own

    fn applies(&mut self, spec: Node<'_>) -> Option<StatementKind> {
        let to_all_pods = self.flag(spec, "appliesToAllPods");
        let when = match self.get(spec, "appliesWhen") {
            Some(node) => Some(self.expression(node)?),
            None => None,
        };
        Some(StatementKind::Applies(Applies { to_all_pods, when }))
    }

    fn param(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let name = self.name(self.get(item, "name")?)?;
        let declared = match self.get(item, "type") {
            Some(node) => Some(self.declared(node)?),
            None => None,
        };
        let default = self.entry(item, "default")?;
        let default = Node { tree: &default.value, flow: item.flow };
        let default = self.constant(default, declared.as_ref())?;
        let range = self.range(item, declared.as_ref())?;
        Some(StatementKind::Param(Param { name, declared, range, default }))
    }

    /// `min` and `max`; the outer `None` is a mistake. Where one is missing, the largest value there is.
    fn range(&mut self, item: Node<'_>, declared: Option<&TypeExpr>) -> Option<Option<(Bound, Bound)>> {
        let mut ends = [None, None];
        for (end, key) in ends.iter_mut().zip(["min", "max"]) {
            let Some(node) = self.get(item, key) else { continue };
            let value = self.constant(node, declared)?;
            match value.kind {
                ExprKind::Literal(
                    literal @ (Literal::Int(_)
                    | Literal::Float(_)
                    | Literal::Cpu(_)
                    | Literal::Bytes(_)
                    | Literal::Duration(_)
                    | Literal::Share(_)),
                ) => *end = Some(Bound { value: literal, span: value.span }),
                _ => {
                    let message = format!("`{key}` is a number, an amount or a duration");
                    self.say(Diagnostic::new(&codes::BAD_DOCUMENT, value.span, message));
                    return None;
                }
            }
        }
        Some(match ends {
            [None, None] => None,
            [Some(low), Some(high)] => Some((low, high)),
            [Some(low), None] => {
                Some((low.clone(), Bound { value: extreme(&low.value, true), span: low.span }))
            }
            [None, Some(high)] => Some((Bound { value: extreme(&high.value, false), span: high.span }, high)),
        })
    }

    fn variable(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let name = self.name(self.get(item, "name")?)?;
        let declared = match self.get(item, "type") {
            Some(node) => Some(self.declared(node)?),
            None => None,
        };
        let missing = match self.entry(item, "missing") {
            None => None,
            Some(entry) => {
                let span = self.places.entry(entry);
                let missing = match entry.value.as_str() {
                    Some("skip") => Missing::Skip,
                    Some("error") => Missing::Error,
                    _ => Missing::Reject(self.reason(self.get(item, "missing")?, "reject")?),
                };
                Some((missing, span))
            }
        };
        let value = self.expression(self.get(item, "expression")?)?;
        Some(StatementKind::Let(Let { name, declared, value, missing }))
    }

    fn queue(&mut self, node: Node<'_>) -> Option<StatementKind> {
        let mut keys = Vec::new();
        for item in self.items(node) {
            let order = self.get(item, "order").and_then(|order| order.tree.as_str());
            let value = self.get(item, "expression").and_then(|value| self.expression(value));
            keys.push(value.map(|value| QueueKey { descending: order == Some("desc"), value }));
        }
        let keys: Option<Vec<QueueKey>> = keys.into_iter().collect();
        keys.filter(|keys| !keys.is_empty()).map(StatementKind::Queue)
    }
}

/// The largest or the least amount of the kind of another.
fn extreme(like: &Literal, largest: bool) -> Literal {
    let (whole, float) = if largest { (i64::MAX, f64::MAX) } else { (i64::MIN, f64::MIN) };
    match like {
        Literal::Float(_) => Literal::Float(float),
        Literal::Share(_) => Literal::Share(float),
        Literal::Cpu(_) => Literal::Cpu(whole),
        Literal::Bytes(_) => Literal::Bytes(whole),
        Literal::Duration(_) => Literal::Duration(whole),
        _ => Literal::Int(whole),
    }
}
