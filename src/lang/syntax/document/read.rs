//! A document to a policy: its head, its declarations, and one statement for each item of a list.
//!
//! `shape` has reported what is missing or of the wrong type. Here such a part gives no statement but `Broken`, so
//! that the policy is incomplete and is not loaded.

use super::names::{Names, Uses};
use super::node_variables;
use super::place::Places;
use super::scalars::Scalar;
use super::values::Node;
use crate::language::documents::{DESCRIPTION, LANGUAGE_VERSION, MODES, SPEC};
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
        policy.strict = self
            .entry(spec, "strict")
            .filter(|entry| matches!(entry.value.value, TreeValue::Bool(true)))
            .map(|entry| self.places.entry(entry));
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
        let until = self.mode_until(node);
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

    /// `modeUntil` of a map.
    fn mode_until(&self, node: Node<'_>) -> Option<Name> {
        let entry = self.entry(node, "modeUntil")?;
        Some(Name { text: Text::from(entry.value.as_str()?), span: self.places.entry(entry) })
    }

    /// Registers the names that the policy declares.
    fn declare(&mut self, spec: Node<'_>) {
        for space in ["params", "variables", "groups", "ledgers", "memos", "sources"] {
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
            "prefilter" => read.push(self.statement(whole, None, |this| {
                Some(StatementKind::Prefilter(
                    this.block(node, whole, |reader, item| reader.prefilter_statement(item)),
                ))
            })),
            "reserve" => read.push(self.statement(whole, None, |this| {
                Some(StatementKind::Reserve(
                    this.block(node, whole, |reader, item| reader.reserve_statement(item)),
                ))
            })),
            "beforeBind" => read.push(self.statement(whole, None, |this| {
                Some(StatementKind::BeforeBind(this.block(node, whole, |reader, item| reader.act(item))))
            })),
            "afterBind" => read.push(self.statement(whole, None, |this| {
                Some(StatementKind::AfterBind(this.block(node, whole, |reader, item| reader.act(item))))
            })),
            "afterFailure" => read.push(self.statement(whole, None, |this| {
                Some(StatementKind::AfterFailure(
                    this.block(node, whole, |reader, item| reader.failure_statement(item)),
                ))
            })),
            "preempt" => read.push(self.statement(whole, None, |this| {
                Some(StatementKind::Preempt(
                    this.block(node, whole, |reader, item| reader.preempt_statement(item)),
                ))
            })),
            "permit" => read.push(self.statement(whole, None, |this| {
                Some(StatementKind::Permit(
                    this.block(node, whole, |reader, item| reader.permit_statement(item)),
                ))
            })),
            "params" | "variables" | "groups" | "ledgers" | "memos" | "sources" | "gates" | "filters"
            | "scores" | "prefer" | "exceptions" => {
                for item in self.items(node) {
                    let span = self.places.whole(item.tree);
                    read.push(self.statement(span, Some(item), |this| match def.name {
                        "params" => this.param(item),
                        "variables" => this.variable(item),
                        "groups" => this.group(item),
                        "ledgers" => this.ledger(item),
                        "memos" => this.memo(item),
                        "sources" => this.source(item),
                        "gates" => this.gate(item),
                        "filters" => this.filter(item, span),
                        "scores" => this.score(item, span),
                        "exceptions" => this.exception(item),
                        _ => this.prefer(item),
                    }));
                }
            }
            _ => {}
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

    // ---- statements without a block

    fn applies(&mut self, spec: Node<'_>) -> Option<StatementKind> {
        let all = self.entry(spec, "appliesToAllPods");
        let all = all.filter(|entry| matches!(entry.value.value, TreeValue::Bool(true)));
        let to_all_pods = all.map(|entry| self.places.entry(entry));
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

    fn group(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let name = self.name(self.get(item, "name")?)?;
        let condition = self.expression(self.get(item, "expression")?)?;
        let variable = Name { text: Text::from("p"), span: condition.span.at_start() };
        Some(StatementKind::Group(Group { name, variable, condition }))
    }

    fn memo(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let key = self.get(item, "by").and_then(|by| self.expression(by));
        let ttl = self.get(item, "ttl").and_then(|ttl| self.duration(ttl));
        let declared = self.declared(self.get(item, "type")?)?;
        let name = self.name(self.get(item, "name")?)?;
        Some(StatementKind::Memo(Memo { name, declared, key: key?, ttl: ttl? }))
    }

    fn exception(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let when = match self.get(item, "when") {
            Some(when) => Some(self.expression(when)?),
            None => None,
        };
        let text = |key: &str| {
            let entry = self.entry(item, key)?;
            Some((Text::from(entry.value.as_str()?), self.places.entry(entry)))
        };
        let (until, because, target) = (text("until")?, text("because")?, text("rule"));
        let named = |(text, span)| Name { text, span };
        Some(StatementKind::Except(Except {
            target: target.map(named),
            until: named(until),
            because: StringLiteral { text: because.0, span: because.1 },
            when,
        }))
    }

    fn gate(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let reason = self.reason(item, "reason");
        let when = self.expression(self.get(item, "when")?)?;
        Some(StatementKind::Gate(Gate { reason: reason?, when }))
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

    fn prefer(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let weight = self.get(item, "weight").and_then(|weight| self.expression(weight));
        let when = self.expression(self.get(item, "when")?)?;
        Some(StatementKind::Prefer(Prefer { weight: weight?, when }))
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
