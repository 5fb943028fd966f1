//! Statements with a block: `filters`, `scores`, `ledgers`, `prefilter`, `preempt`, `reserve` and `permit`.

use super::read::Reader;
use super::values::Node;
use crate::syntax::ast::*;
use bayplan_diag::Span;
use bayplan_yaml::TreeValue;

/// Reads one statement of a block.
type ReadOne = fn(&mut Reader<'_>, Node<'_>) -> Option<BlockKind>;

impl Reader<'_> {
    /// A list as a block, an item a statement.
    pub(super) fn block(&mut self, list: Node<'_>, span: Span, read: ReadOne) -> Block {
        let items = self.items(list);
        Block { statements: items.into_iter().map(|item| self.block_statement(item, read)).collect(), span }
    }

    fn block_statement(&mut self, item: Node<'_>, read: ReadOne) -> BlockStatement {
        let span = self.places.whole(item.tree);
        let before = self.said.len();
        let kind = read(self, item);
        let mode = self.mode(item);
        let kind = kind.filter(|_| self.said.len() == before);
        let broken = || BlockKind::Broken(Broken { word: Text::from(""), declares: None });
        BlockStatement {
            doc: None,
            kind: kind.unwrap_or_else(broken),
            span,
            on_error: self.on_error(item),
            mode,
        }
    }

    /// A condition that may be missing; the outer `None` is a mistake.
    fn when(&mut self, item: Node<'_>) -> Option<Option<Expr>> {
        match self.get(item, "when") {
            Some(when) => self.expression(when).map(Some),
            None => Some(None),
        }
    }

    fn reject(&mut self, item: Node<'_>) -> Option<BlockKind> {
        let when = self.when(item);
        let reason = self.reason(item, "reject")?;
        Some(BlockKind::Reject(Reject { reason, when: when? }))
    }

    pub(super) fn prefilter_statement(&mut self, item: Node<'_>) -> Option<BlockKind> {
        let Some(nodes) = self.get(item, "onlyNodes") else { return self.reject(item) };
        let nodes = self.expression(nodes);
        let when = self.when(item)?;
        Some(BlockKind::Only(Only { nodes: nodes?, when }))
    }

    pub(super) fn reserve_statement(&mut self, item: Node<'_>) -> Option<BlockKind> {
        match self.write(item) {
            Some(write) => write,
            None => self.reject(item),
        }
    }

    /// A statement of `beforeBind` or `afterBind`.
    pub(super) fn act(&mut self, item: Node<'_>) -> Option<BlockKind> {
        if let Some(write) = self.write(item) {
            return write;
        }
        let when = self.when(item);
        if let Some(group) = self.get(item, "activate") {
            return Some(BlockKind::Activate(Activate { group: self.name(group)?, when: when? }));
        }
        if let Some(memo) = self.get(item, "remember") {
            return self.remember(item, memo, when?);
        }
        let object = self.get(item, "event").and_then(|object| self.name(object));
        let warning = self.entry(item, "type").is_some_and(|entry| entry.value.as_str() == Some("warning"));
        let reason = self.get(item, "reason").and_then(|reason| {
            let text = Text::from(reason.tree.as_str()?);
            Some(StringLiteral { text, span: self.places.whole(reason.tree) })
        });
        let text = self.get(item, "text").and_then(|text| self.template(text));
        Some(BlockKind::Event(Event { object: object?, warning, reason: reason?, text: text?, when: when? }))
    }

    /// A write, if the item is one; the inner `None` is a mistake.
    fn write(&mut self, item: Node<'_>) -> Option<Option<BlockKind>> {
        let verbs = [WriteVerb::Annotate, WriteVerb::Label, WriteVerb::Patch];
        let (object, verb) = verbs.into_iter().find_map(|verb| Some((self.get(item, verb.word())?, verb)))?;
        Some(self.write_to(item, object, verb))
    }

    fn write_to(&mut self, item: Node<'_>, object: Node<'_>, verb: WriteVerb) -> Option<BlockKind> {
        let object = self.name(object);
        let set = self.get(item, if verb == WriteVerb::Patch { "fields" } else { "set" })?;
        let value = self.written(set)?;
        let when = self.when(item)?;
        Some(BlockKind::Write(Write { verb, object: object?, value, when }))
    }

    /// A map of keys and values, which may be maps.
    fn written(&mut self, set: Node<'_>) -> Option<Expr> {
        let TreeValue::Map(found) = &set.tree.value else { return None };
        let mut entries = Vec::new();
        for entry in found {
            let key = ExprKind::Literal(Literal::String(Text::from(entry.key.as_str())));
            let key = Expr { kind: key, span: self.places.key(entry) };
            let inner = set.inner(&entry.value, self.text());
            let value = match &entry.value.value {
                TreeValue::Map(_) => self.written(inner),
                _ => self.expression(inner),
            };
            entries.push(Entry { key, value: value?, optional: false });
        }
        Some(Expr { kind: ExprKind::Map(entries), span: self.places.whole(set.tree) })
    }

    pub(super) fn permit_statement(&mut self, item: Node<'_>) -> Option<BlockKind> {
        let Some(patience) = self.get(item, "wait") else { return self.reject(item) };
        let patience = self.duration(patience);
        let group = match self.get(item, "for") {
            Some(group) => Some(self.name(group)?),
            None => None,
        };
        let until = self.get(item, "until").and_then(|until| self.expression(until));
        let reason = self.reason(item, "else")?;
        Some(BlockKind::Wait(Wait { patience: patience?, group, until: until?, reason }))
    }

    /// The pod that may be evicted is `v`.
    pub(super) fn preempt_statement(&mut self, item: Node<'_>) -> Option<BlockKind> {
        for key in ["victim", "protect"] {
            let Some(node) = self.get(item, key) else { continue };
            // A variable of this name is hidden here.
            let hidden = self.names.declared.remove_entry("v");
            let when = self.expression(node);
            self.names.declared.extend(hidden);
            let when = when?;
            let all = self.entry(item, "toAllPods");
            let all = all.filter(|entry| matches!(entry.value.value, TreeValue::Bool(true)));
            let to_all_pods = all.map(|entry| self.places.entry(entry));
            let variable = Name { text: Text::from("v"), span: when.span };
            let victim = Victim { variable, to_all_pods, when };
            return Some(if key == "victim" {
                BlockKind::Victim(victim)
            } else {
                BlockKind::Protect(victim)
            });
        }
        if self.get(item, "guard").is_some() {
            return match self.require(item, "guard", "else")? {
                BlockKind::Require(guard) => Some(BlockKind::Guard(guard)),
                other => Some(other),
            };
        }
        let when = self.when(item);
        let reason = self.reason(item, "never")?;
        Some(BlockKind::Never(Reject { reason, when: when? }))
    }

    pub(super) fn failure_statement(&mut self, item: Node<'_>) -> Option<BlockKind> {
        let when = self.when(item);
        if let Some(group) = self.get(item, "activate") {
            return Some(BlockKind::Activate(Activate { group: self.name(group)?, when: when? }));
        }
        if let Some(memo) = self.get(item, "remember") {
            return self.remember(item, memo, when?);
        }
        let group = self.get(item, "release").and_then(|group| self.name(group));
        let reason = self.reason(item, "reason")?;
        Some(BlockKind::Release(Release { group: group?, reason, when: when? }))
    }

    fn remember(&mut self, item: Node<'_>, memo: Node<'_>, when: Option<Expr>) -> Option<BlockKind> {
        let memo = self.name(memo);
        let value = self.get(item, "value").and_then(|value| self.expression(value));
        Some(BlockKind::Remember(Remember { memo: memo?, value: value?, when }))
    }

    /// A filter of one expression, or of rules.
    pub(super) fn filter(&mut self, item: Node<'_>, span: Span) -> Option<StatementKind> {
        let block = match self.get(item, "rules") {
            Some(rules) => {
                let within = self.places.whole(rules.tree);
                Some(self.block(rules, within, |reader, item| reader.rule(item)))
            }
            None => self.require(item, "expression", "reason").map(|kind| self.alone(item, kind, span)),
        };
        let name = self.name(self.get(item, "name")?)?;
        Some(StatementKind::Filter(Filter { name, block: block? }))
    }

    /// The block of a statement that has an expression in the place of one.
    fn alone(&self, item: Node<'_>, kind: BlockKind, span: Span) -> Block {
        let entry = self.entry(item, "expression");
        let own = entry.map_or(span, |entry| self.places.entry(entry));
        let on_error = self.on_error(item);
        let statement = BlockStatement { doc: None, kind, span: own, on_error, mode: None };
        Block { statements: vec![statement], span }
    }

    fn require(&mut self, item: Node<'_>, key: &str, reason: &str) -> Option<BlockKind> {
        let condition = self.get(item, key).and_then(|condition| self.expression(condition));
        let reason = match self.get(item, reason) {
            Some(_) => Some(self.reason(item, reason)?),
            None => None,
        };
        Some(BlockKind::Require(Require { condition: condition?, reason }))
    }

    fn rule(&mut self, item: Node<'_>) -> Option<BlockKind> {
        match self.get(item, "require") {
            Some(_) => self.require(item, "require", "else"),
            None => self.reject(item),
        }
    }

    /// A score of one expression, or of several values with conditions.
    pub(super) fn score(&mut self, item: Node<'_>, span: Span) -> Option<StatementKind> {
        let block = match self.get(item, "gives") {
            Some(gives) => {
                let within = self.places.whole(gives.tree);
                Some(self.block(gives, within, |reader, item| reader.give(item)))
            }
            None => {
                let value = self.get(item, "expression").and_then(|value| self.expression(value));
                value.map(|value| self.alone(item, BlockKind::Give(Give { value, when: None }), span))
            }
        };
        let weight = match self.get(item, "weight") {
            Some(weight) => Some(self.expression(weight)?),
            None => None,
        };
        let normalize = self.entry(item, "normalize").and_then(|entry| {
            let how = match entry.value.as_str()? {
                "none" => Normalize::None,
                "max" => Normalize::Max,
                "minmax" => Normalize::MinMax,
                _ => return None,
            };
            Some((how, self.places.entry(entry)))
        });
        let reversed = self.entry(item, "reversed");
        let reversed = reversed.filter(|entry| matches!(entry.value.value, TreeValue::Bool(true)));
        let reversed = reversed.map(|entry| self.places.entry(entry));
        let name = self.name(self.get(item, "name")?)?;
        Some(StatementKind::Score(Score { name, weight, normalize, reversed, block: block? }))
    }

    /// A ledger with what pods add to it.
    pub(super) fn ledger(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let key = self.get(item, "by").and_then(|by| self.expression(by));
        let block = self.get(item, "adds").map(|adds| {
            let within = self.places.whole(adds.tree);
            self.block(adds, within, |reader, item| match reader.give(item)? {
                BlockKind::Give(add) => Some(BlockKind::Add(add)),
                other => Some(other),
            })
        });
        let declared = self.declared(self.get(item, "type")?)?;
        let name = self.name(self.get(item, "name")?)?;
        Some(StatementKind::Ledger(Ledger { name, declared, key: key?, block: block? }))
    }

    /// A source of metrics.
    pub(super) fn source(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let span = self.places.whole(item.tree);
        let mut args = Vec::new();
        for (field, argument) in [("window", "window"), ("maxAge", "max_age")] {
            let length = self.get(item, field).and_then(|length| self.duration(length));
            let name = Name { text: Text::from(argument), span };
            args.push(length.map(|value| Arg { name: Some(name), value }));
        }
        let args: Option<Vec<Arg>> = args.into_iter().collect();
        let name = self.name(self.get(item, "name")?)?;
        let function = Name { text: Text::from("metrics"), span };
        let value = Expr { kind: ExprKind::Call(Call { function, args: args? }), span };
        Some(StatementKind::Source(SourceDecl { name, value }))
    }

    fn give(&mut self, item: Node<'_>) -> Option<BlockKind> {
        let value = self.get(item, "value").and_then(|value| self.expression(value));
        let when = self.when(item)?;
        Some(BlockKind::Give(Give { value: value?, when }))
    }
}
