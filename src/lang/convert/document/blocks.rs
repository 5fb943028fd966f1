//! Rules in blocks: filters, scores, and the statements of `prefilter`, `reserve`, `permit`, `preempt` and of the writes.

use super::{Fields, PolicyWriter, put, put_raw, unquote};
use crate::convert::expressions::{Writer, Written, inner, macro_variables};
use crate::convert::remarks::Comments;
use crate::convert::yaml::{self, Item, Node};
use crate::convert::{NoTwin, absent};
use crate::language::documents::{FILTER, FieldDef, ObjectDef, RULE, SPEC, Shape};
use crate::language::statements::{PartKind, StatementId};
use crate::syntax::ast::*;
use bayplan_diag::Span;

impl PolicyWriter<'_, '_> {
    pub(super) fn filter(&mut self, filter: &Filter, span: Span) -> Result<(), NoTwin> {
        let mut fields = Fields::new();
        put(&mut fields, "name", &filter.name.text);
        let rules = self.without_lets(&filter.block)?;
        let mode = mode_in(&filter.block);
        if let [BlockStatement { kind: BlockKind::Require(require), span: inner, .. }] = rules.as_slice() {
            let renamed = [("require", "expression"), ("else", "reason")];
            let parts = require.parts("require");
            fields.extend(self.fields_of(StatementId::Require, &parts, &FILTER, &renamed)?);
            self.put_mode(&mut fields, mode)?;
            let comments = self.remarks.take(span).with(self.remarks.take(*inner));
            return self.add_with("filters", comments, fields);
        }
        let mut items = Vec::new();
        for rule in rules {
            let fields = self.block_fields(rule, &RULE)?;
            items.push(Item { comments: self.remarks.take(rule.span), fields });
        }
        fields.push(("rules".to_owned(), Node::List(items)));
        self.put_mode(&mut fields, mode)?;
        self.add("filters", span, fields);
        Ok(())
    }

    fn add_with(&mut self, field: &'static str, comments: Comments, fields: Fields) -> Result<(), NoTwin> {
        self.add(field, Span::default(), fields);
        if let Some(Node::List(items)) = self.fields.get_mut(field)
            && let Some(item) = items.last_mut()
        {
            item.comments = comments;
        }
        Ok(())
    }

    /// The statements of a block without its lets, which become variables of the policy.
    pub(super) fn without_lets<'b>(&mut self, block: &'b Block) -> Result<Vec<&'b BlockStatement>, NoTwin>
    where
        BlockStatement: 'b,
    {
        let mut rest = Vec::new();
        for statement in &block.statements {
            match &statement.kind {
                BlockKind::Let(of) => {
                    // Variables of documents are those of the policy: another block may have a let of this name.
                    let mut name = of.name.text.to_string();
                    let mut count = 1;
                    while self.is_variable(&name) {
                        count += 1;
                        name = format!("{}_{count}", of.name.text);
                    }
                    self.renamed.insert(of.name.text.clone(), format!("variables.{name}"));
                    self.note_optional(std::iter::once(of));
                    self.variable(of, statement.span)?;
                    if !rest.is_empty() && self.demands_optional() {
                        let why = "the value of the let is there only where the statements before it say so";
                        return Err(NoTwin::new(of.value.span, why));
                    }
                }
                // Documents say it of the rule, or of each statement.
                BlockKind::Mode(_) => self.above_of(statement.span),
                // They are a field of the policy.
                BlockKind::Except(_) => {}
                _ => rest.push(statement),
            }
        }
        Ok(rest)
    }

    /// Whether the last variable takes the value of an optional one. Where a statement in front of it proves the value,
    /// there is no way back: variables precede all statements.
    fn demands_optional(&self) -> bool {
        let Some(Node::List(items)) = self.fields.get("variables") else { return false };
        let (values, writer) = (self.optional.iter(), self.writer());
        let written = values.filter_map(|name| writer.name(name, Span::default()).ok());
        let values: Vec<String> = written.map(|name| format!("{name}.value()")).collect();
        items.last().is_some_and(|item| {
            item.fields.iter().any(|(_, node)| {
            matches!(node, Node::Scalar(text) if values.iter().any(|value| text.contains(value)))
        })
        })
    }

    /// Whether a variable, or another let of the policy, has the name.
    fn is_variable(&self, name: &str) -> bool {
        let written = matches!(self.fields.get("variables"), Some(Node::List(items)) if items.iter().any(|item| {
            matches!(item.fields.first(), Some((_, Node::Scalar(known))) if known == name)
        }));
        written || self.of_policy.contains(name)
    }

    pub(super) fn score(&mut self, score: &Score, span: Span) -> Result<(), NoTwin> {
        let mut fields = Fields::new();
        put(&mut fields, "name", &score.name.text);
        if let Some(weight) = &score.weight {
            put(&mut fields, "weight", &self.cel(weight)?);
            unquote(&mut fields, "weight", weight);
        }
        if let Some((normalize, _)) = score.normalize {
            let word = match normalize {
                Normalize::None => "none",
                Normalize::Max => "max",
                Normalize::MinMax => "minmax",
            };
            put(&mut fields, "normalize", word);
        }
        if score.reversed.is_some() {
            put_raw(&mut fields, "reversed", true);
        }
        let gives = self.without_lets(&score.block)?;
        self.put_mode(&mut fields, mode_in(&score.block))?;
        if let [BlockStatement { kind: BlockKind::Give(Give { value, when: None }), span: inner, .. }] =
            gives.as_slice()
        {
            put(&mut fields, "expression", &self.cel(value)?);
            unquote(&mut fields, "expression", value);
            let comments = self.remarks.take(span).with(self.remarks.take(*inner));
            return self.add_with("scores", comments, fields);
        }
        let mut items = Vec::new();
        // Where no value is given the node is left out: so are the nodes of `give none`.
        let mut left_out: Vec<String> = Vec::new();
        for statement in gives {
            let BlockKind::Give(give) = &statement.kind else {
                return Err(NoTwin::new(statement.span, NOTHING));
            };
            if is_none(&give.value) {
                match &give.when {
                    Some(when) => left_out.push(format!("!({})", self.cel(when)?)),
                    None => break,
                }
                self.above_of(statement.span);
                continue;
            }
            let mut inner = Fields::new();
            put(&mut inner, "value", &self.cel(&give.value)?);
            unquote(&mut inner, "value", &give.value);
            let mut conditions = left_out.clone();
            if let Some(when) = &give.when {
                let when = self.cel(when)?;
                conditions.push(if left_out.is_empty() { when } else { format!("({when})") });
            }
            if !conditions.is_empty() {
                put(&mut inner, "when", &conditions.join(" && "));
            }
            items.push(Item { comments: self.remarks.take(statement.span), fields: inner });
        }
        fields.push(("gives".to_owned(), Node::List(items)));
        self.add("scores", span, fields);
        Ok(())
    }

    /// The fields of a statement, by its row, in the order of the map that holds them. `renamed` has the parts for which
    /// this map has other fields, with these.
    pub(super) fn fields_of(
        &mut self,
        id: StatementId,
        parts: &Parts<'_>,
        of: &ObjectDef,
        renamed: &[(&str, &str)],
    ) -> Result<Fields, NoTwin> {
        let mut fields = Fields::new();
        for def in id.def().parts {
            let Some((_, part)) = parts.iter().find(|(key, _)| *key == def.key) else { continue };
            let other = renamed.iter().find(|(part, _)| *part == def.key);
            let key = other.map_or(def.key, |(_, field)| field);
            match (part, def.kind) {
                (Part::Expr(value), PartKind::Map) => {
                    fields.push((key.to_owned(), Node::Map(self.written(value)?)));
                }
                (Part::Expr(value), PartKind::Duration) => put(&mut fields, key, &self.duration(value)?),
                (Part::Expr(value), PartKind::Optional) => {
                    let mut writer = self.writer();
                    let absent = matches!(value.kind, ExprKind::Literal(Literal::None));
                    let text = match absent || writer.may_be_absent(value) {
                        true => absent::optional(&mut writer, value)?,
                        false => writer.expr(value)?,
                    };
                    put(&mut fields, key, &text);
                }
                (Part::Expr(value), _) => {
                    put(&mut fields, key, &self.expression_of(id, parts, value)?);
                    unquote(&mut fields, key, value);
                }
                (Part::Reason(reason), _) => self.reason(&mut fields, key, reason)?,
                (Part::Name(_), PartKind::Variable(_)) => {}
                (Part::Name(name), PartKind::Object) => put(&mut fields, key, &self.object(name)?),
                (Part::Name(name), _) => put(&mut fields, key, &name.text),
                (Part::Text(text), _) => put(&mut fields, key, &text.text),
                (Part::Template(text), _) => put(&mut fields, key, &self.template(text)?),
                (Part::Type(declared), _) => put(&mut fields, key, &self.type_text(declared)),
                (Part::Flag, _) => put_raw(&mut fields, key, true),
                (Part::Word(word), PartKind::Word([first, _])) if *word == first => {}
                (Part::Word(word), _) => put(&mut fields, key, word),
            }
        }
        fields.sort_by_key(|(key, _)| of.fields.iter().position(|field| field.name == key));
        Ok(fields)
    }

    /// An expression of a statement, whose pod has the variable of documents there.
    fn expression_of(&self, id: StatementId, parts: &Parts<'_>, value: &Expr) -> Written {
        let mut writer = match id {
            StatementId::Group => Writer { in_group: true, ..Writer::new(self.to) },
            _ => self.writer(),
        };
        for def in id.def().parts {
            let PartKind::Variable(ours) = def.kind else { continue };
            if let Some((_, Part::Name(theirs))) = parts.iter().find(|(key, _)| *key == def.key)
                && *theirs.text != *ours
            {
                if macro_variables(value).iter().any(|name| **name == *ours) {
                    let why = format!(
                        "documents call this pod `{ours}`, and a macro of the condition has that name"
                    );
                    return Err(NoTwin::new(value.span, why));
                }
                writer.instead.insert(theirs.text.clone(), ours.to_owned());
            }
            // Macros that are written for it have other variables.
            writer.bound.push(Text::from(ours));
        }
        writer.expr(value)
    }

    /// The fields of a statement of a block, of which the map has forms.
    pub(super) fn block_fields(
        &mut self,
        statement: &BlockStatement,
        of: &ObjectDef,
    ) -> Result<Fields, NoTwin> {
        let id = statement.kind.id().filter(|id| !id.def().parts.is_empty());
        let known = |id: &StatementId| of.has(*id);
        match id {
            Some(id) if known(&id) => self.fields_of(id, &statement.kind.parts(), of, &[]),
            Some(id) => Err(NoTwin::new(statement.span, elsewhere(id))),
            None => Err(NoTwin::new(statement.span, NOTHING)),
        }
    }

    /// The keys and values of a write.
    fn written(&mut self, value: &Expr) -> Result<Fields, NoTwin> {
        let ExprKind::Map(entries) = &value.kind else {
            return Err(NoTwin::new(value.span, "documents have keys and values here"));
        };
        let mut set = Fields::new();
        for entry in entries {
            let ExprKind::Literal(Literal::String(key)) = &entry.key.kind else {
                return Err(NoTwin::new(entry.key.span, "keys are plain texts in documents"));
            };
            let key = yaml::scalar(key);
            match &entry.value.kind {
                ExprKind::Literal(Literal::None | Literal::Null) => put(&mut set, &key, "null"),
                ExprKind::Map(_) => set.push((key, Node::Map(self.written(&entry.value)?))),
                _ if Writer::new(self.to).may_be_absent(&entry.value) => {
                    return Err(NoTwin::new(
                        entry.value.span,
                        "CEL has no value here while it is absent: write `?? …`",
                    ));
                }
                _ => put(&mut set, &key, &self.cel(&entry.value)?),
            }
        }
        Ok(set)
    }

    pub(super) fn block(&mut self, block: &Block, field: &'static str) -> Result<(), NoTwin> {
        let Some(Shape::List(of)) = SPEC.field(field).map(|field| field.shape) else { return Ok(()) };
        for statement in self.without_lets(block)? {
            let mut fields = self.block_fields(statement, of)?;
            self.put_mode(&mut fields, mode_in(block))?;
            self.add(field, statement.span, fields);
        }
        Ok(())
    }
}

/// There is no such field.
pub(super) const NOTHING: &str = "documents have nothing for this statement";

/// Which fields of a document have a statement that this one has not.
fn elsewhere(id: StatementId) -> String {
    let has = |field: &&FieldDef| matches!(field.shape, Shape::List(of) if of.has(id));
    let fields: Vec<String> =
        SPEC.fields.iter().filter(has).map(|field| format!("`{}`", field.name)).collect();
    match fields.as_slice() {
        [] => NOTHING.to_owned(),
        fields => format!("documents have `{}` in {} only", id.def().words, fields.join(" and ")),
    }
}

/// The mode that a block says.
fn mode_in(block: &Block) -> Option<&Mode> {
    block.statements.iter().find_map(|statement| match &statement.kind {
        BlockKind::Mode(mode) => Some(mode),
        _ => None,
    })
}

fn is_none(expr: &Expr) -> bool {
    matches!(inner(expr).kind, ExprKind::Literal(Literal::None))
}
