//! Statements by their rows, and those with a block: `filters`, `scores`, `ledgers`, `prefilter`, `permit` and so on.

use super::read::Reader;
use super::values::Node;
use crate::language::documents::{ADD, GIVE, ObjectDef, RULE};
use crate::language::statements::{PartDef, PartKind, StatementId};
use crate::syntax::ast::*;
use bayplan_diag::Span;
use bayplan_yaml::TreeValue;

impl Reader<'_> {
    /// A list as a block, an item a statement of one of the forms.
    pub(super) fn block(&mut self, list: Node<'_>, span: Span, of: &ObjectDef) -> Block {
        let items = self.items(list);
        Block { statements: items.into_iter().map(|item| self.block_statement(item, of)).collect(), span }
    }

    fn block_statement(&mut self, item: Node<'_>, of: &ObjectDef) -> BlockStatement {
        let span = self.places.whole(item.tree);
        let before = self.said.len();
        let id = of.statement(|key| self.get(item, key).is_some());
        let kind = id.and_then(|id| BlockKind::of(id, self.given(item, id, &[])));
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

    /// The parts of a statement, by its row. `renamed` has the parts for which this map has other fields, with these.
    pub(super) fn given(&mut self, item: Node<'_>, id: StatementId, renamed: &[(&str, &str)]) -> Given {
        let mut given = Given::default();
        let parts = id.def().parts;
        let variable = parts.iter().find_map(|part| match part.kind {
            PartKind::Variable(name) => Some((part.key, name)),
            _ => None,
        });
        // A variable of the policy of this name is hidden here.
        let hidden = variable.and_then(|(_, name)| self.names.declared.remove_entry(name));
        for PartDef { key, kind, .. } in parts {
            let other = renamed.iter().find(|(part, _)| part == key);
            let field = other.map_or(*key, |(_, field)| field);
            let Some(node) = self.get(item, field) else { continue };
            match *kind {
                PartKind::Expression | PartKind::Optional | PartKind::Weight => {
                    given.exprs.extend(self.expression(node).map(|expr| (*key, expr)));
                }
                PartKind::Duration => given.exprs.extend(self.duration(node).map(|expr| (*key, expr))),
                PartKind::Map => given.exprs.extend(self.written(node).map(|expr| (*key, expr))),
                PartKind::Reason => {
                    given.reasons.extend(self.reason(item, field).map(|reason| (*key, reason)));
                }
                PartKind::Declared | PartKind::Name | PartKind::Object => {
                    given.names.extend(self.name(node).map(|name| (*key, name)));
                }
                PartKind::Variable(_) => {}
                PartKind::Day => given.names.extend(self.day(item, field).map(|day| (*key, day))),
                PartKind::Text => {
                    let span = self.places.whole(node.tree);
                    let text = node.tree.as_str().map(Text::from);
                    given.texts.extend(text.map(|text| (*key, StringLiteral { text, span })));
                }
                PartKind::Template => {
                    given.templates.extend(self.template(node).map(|text| (*key, text)));
                }
                PartKind::Type => given.types.extend(self.declared(node).map(|of| (*key, of))),
                PartKind::Flag => given.flags.extend(self.flag(item, field).map(|span| (*key, span))),
                PartKind::Word(words) => {
                    let written = words.into_iter().find(|word| node.tree.as_str() == Some(word));
                    given.words.extend(written.map(|word| (*key, word)));
                }
            }
        }
        self.names.declared.extend(hidden);
        if let Some((key, name)) = variable
            && let Some((_, about)) = given.exprs.first()
        {
            given.names.push((key, Name { text: Text::from(name), span: about.span }));
        }
        given
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

    /// A filter of one expression, or of rules.
    pub(super) fn filter(&mut self, item: Node<'_>, span: Span) -> Option<StatementKind> {
        let block = match self.get(item, "rules") {
            Some(rules) => Some(self.block(rules, self.places.whole(rules.tree), &RULE)),
            None => {
                let renamed = [("require", "expression"), ("else", "reason")];
                let given = self.given(item, StatementId::Require, &renamed);
                let kind = BlockKind::of(StatementId::Require, given);
                kind.map(|kind| self.alone(item, kind, span))
            }
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

    /// A score of one expression, or of several values with conditions.
    pub(super) fn score(&mut self, item: Node<'_>, span: Span) -> Option<StatementKind> {
        let block = match self.get(item, "gives") {
            Some(gives) => Some(self.block(gives, self.places.whole(gives.tree), &GIVE)),
            None => {
                let given = self.given(item, StatementId::Give, &[("value", "expression")]);
                let kind = BlockKind::of(StatementId::Give, given);
                kind.map(|kind| self.alone(item, kind, span))
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
        let reversed = self.flag(item, "reversed");
        let name = self.name(self.get(item, "name")?)?;
        Some(StatementKind::Score(Score { name, weight, normalize, reversed, block: block? }))
    }

    /// A ledger with what pods add to it.
    pub(super) fn ledger(&mut self, item: Node<'_>) -> Option<StatementKind> {
        let key = self.get(item, "by").and_then(|by| self.expression(by));
        let adds = self.get(item, "adds");
        let block = adds.map(|adds| self.block(adds, self.places.whole(adds.tree), &ADD));
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
}
