//! [`PolicyWriter`]: writes one policy of the policy language as a document.

use super::{blocks, exceptions};
use crate::convert::expressions::{To, Writer, Written};
use crate::convert::remarks::Remarks;
use crate::convert::yaml::{self, Item, Node};
use crate::convert::{NoTwin, Types, literals};
use crate::language::documents::{self, API_VERSION, FieldDef, KIND, SPEC, Shape};
use crate::syntax::ast::{self, *};
use crate::uses::UsedFile;
use bayplan_diag::{Source, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Writes every policy of a file, with the defs and types of the files that it uses written out.
pub(in crate::convert) fn write(
    source: &Source,
    (file, used): (&File, &[UsedFile<'_>]),
    types: &Types,
) -> Result<String, Vec<NoTwin>> {
    let mut remarks = Remarks::of(source, file);
    let mut without = Vec::new();
    let mut text = String::new();
    let mut of_file = FxHashMap::default();
    let mut aliases = FxHashMap::default();
    // Comments of defs and types, which are written out where they are used, go to the next policy.
    let mut above = Vec::new();
    for item in used.iter().flat_map(|of| &of.file.items) {
        match &item.kind {
            ItemKind::Def(def) => drop(of_file.insert(def.name.text.clone(), def)),
            ItemKind::Type(of) => drop(aliases.insert(of.name.text.clone(), &of.value)),
            _ => {}
        }
    }
    for item in &file.items {
        match &item.kind {
            ItemKind::Def(def) => {
                of_file.insert(def.name.text.clone(), def);
                above.extend(remarks.take(item.span).into_notes());
            }
            ItemKind::Type(of) => {
                aliases.insert(of.name.text.clone(), &of.value);
                above.extend(remarks.take(item.span).into_notes());
            }
            ItemKind::Policy(policy) => {
                let mut spaces = FxHashMap::default();
                let (mut defs, mut aliases) = (of_file.clone(), aliases.clone());
                declare(policy, &mut spaces, &mut defs, &mut aliases);
                let to = To::Cel { types, spaces: &spaces, defs: &defs };
                let mut writer = PolicyWriter {
                    to: &to,
                    aliases: &aliases,
                    remarks: &mut remarks,
                    without: &mut without,
                    fields: BTreeMap::new(),
                    applies: Vec::new(),
                    to_all_pods: false,
                    above: Vec::new(),
                    optional: FxHashSet::default(),
                    renamed: FxHashMap::default(),
                    of_policy: spaces.keys().cloned().collect(),
                };
                writer.note_optional(policy.statements.iter().filter_map(
                    |statement| match &statement.kind {
                        StatementKind::Let(of) => Some(of),
                        _ => None,
                    },
                ));
                let spec = writer.spec(policy, &file.items);
                let inside = std::mem::take(&mut writer.above);
                if !text.is_empty() {
                    text.push_str("---\n");
                }
                let mut comments = remarks.take(item.span);
                above.append(&mut comments.notes);
                above.extend(inside);
                comments.notes = std::mem::take(&mut above);
                yaml::comments(&mut text, &comments, "");
                let scalar = |text: &str| Node::Scalar(yaml::scalar(text));
                let document = [
                    ("apiVersion".to_owned(), scalar(API_VERSION)),
                    ("kind".to_owned(), scalar(KIND)),
                    ("metadata".to_owned(), Node::Map(vec![("name".to_owned(), scalar(&policy.name.text))])),
                    ("spec".to_owned(), Node::Map(spec)),
                ];
                yaml::map(&mut text, &document, "");
            }
            ItemKind::Use(_) => above.extend(remarks.take(item.span).into_notes()),
            // It goes to its policy.
            ItemKind::Except(except) if exceptions::is_about_policy_of(&file.items, except) => {}
            ItemKind::Except(_) => {
                let text =
                    "a document has exceptions from its own policy only: leave this one in a `.bay` text";
                without.push(NoTwin::new(item.span, text));
            }
            ItemKind::Broken(_) => {
                without.push(NoTwin::new(item.span, blocks::NOTHING));
            }
        }
    }
    yaml::notes(&mut text, &above, "");
    yaml::notes(&mut text, &remarks.rest, "");
    if without.is_empty() { Ok(text) } else { Err(without) }
}

pub(super) fn declare<'a>(
    policy: &'a Policy,
    spaces: &mut FxHashMap<Text, &'static str>,
    defs: &mut FxHashMap<Text, &'a Def>,
    aliases: &mut FxHashMap<Text, &'a TypeExpr>,
) {
    for statement in &policy.statements {
        match &statement.kind {
            StatementKind::Def(of) => drop(defs.insert(of.name.text.clone(), of)),
            StatementKind::Type(of) => drop(aliases.insert(of.name.text.clone(), &of.value)),
            kind => {
                let space = kind.id().and_then(documents::list_of);
                spaces.extend(kind.declares().cloned().zip(space));
            }
        }
    }
}

/// The writer of one policy. Fields are collected by name and written in the order of the table.
pub(super) struct PolicyWriter<'w, 'a> {
    pub(super) to: &'w To<'w>,
    aliases: &'w FxHashMap<Text, &'a TypeExpr>,
    pub(super) remarks: &'w mut Remarks,
    without: &'w mut Vec<NoTwin>,
    pub(super) fields: BTreeMap<&'static str, Node>,
    applies: Vec<String>,
    to_all_pods: bool,
    /// Comments of statements that are not items of a list: they go above the document.
    above: Vec<String>,
    /// Lets whose variables are optionals of CEL.
    pub(super) optional: FxHashSet<Text>,
    /// Lets of the block whose names other variables have.
    pub(super) renamed: FxHashMap<Text, String>,
    /// Params, lets and groups of the policy.
    pub(super) of_policy: FxHashSet<Text>,
}

pub(super) type Fields = Vec<(String, Node)>;

pub(super) fn put(fields: &mut Fields, key: &str, text: &str) {
    fields.push((key.to_owned(), Node::Scalar(yaml::scalar(text))));
}

pub(super) fn put_raw(fields: &mut Fields, key: &str, text: impl ToString) {
    fields.push((key.to_owned(), Node::Scalar(text.to_string())));
}

impl PolicyWriter<'_, '_> {
    /// What a policy says, with the exceptions from it that the file has beside it.
    fn spec(&mut self, policy: &Policy, items: &[ast::Item]) -> Fields {
        if let Some((version, _)) = policy.version {
            self.fields.insert("version", Node::Scalar(version.to_string()));
        }
        for statement in &policy.statements {
            if let Err(no_twin) = self.statement(statement) {
                self.without.push(no_twin);
            }
        }
        self.without.extend(exceptions::of_one_of_several(policy));
        for (except, rule, span) in exceptions::outside(items, &policy.name.text) {
            if let Err(no_twin) = self.exception(except, rule, span) {
                self.without.push(no_twin);
            }
        }
        if self.to_all_pods {
            self.fields.insert("appliesToAllPods", Node::Scalar("true".to_owned()));
        }
        let applies = std::mem::take(&mut self.applies);
        if let [one] = applies.as_slice() {
            self.fields.insert("appliesWhen", Node::Scalar(yaml::scalar(one)));
        } else if !applies.is_empty() {
            let all: Vec<String> = applies.iter().map(|one| format!("({one})")).collect();
            self.fields.insert("appliesWhen", Node::Scalar(yaml::scalar(&all.join(" && "))));
        }
        let names = SPEC.fields.iter().map(|field| field.name);
        names.filter_map(|name| Some((name.to_owned(), self.fields.remove(name)?))).collect()
    }

    pub(super) fn add(&mut self, field: &'static str, span: Span, fields: Fields) {
        let item = Item { comments: self.remarks.take(span), fields };
        match self.fields.entry(field).or_insert_with(|| Node::List(Vec::new())) {
            Node::List(items) => items.push(item),
            Node::Scalar(_) | Node::Map(_) => {}
        }
    }

    pub(super) fn writer(&self) -> Writer<'_> {
        Writer { optional: self.optional.clone(), instead: self.renamed.clone(), ..Writer::new(self.to) }
    }

    pub(super) fn cel(&self, expr: &Expr) -> Written {
        self.writer().expr(expr)
    }

    /// Lets without `missing` whose value may be absent.
    pub(super) fn note_optional<'l>(&mut self, lets: impl Iterator<Item = &'l Let>) {
        for of in lets {
            match of.missing.is_none() && self.writer().let_may_be_absent(of) {
                true => self.optional.insert(of.name.text.clone()),
                false => self.optional.remove(&of.name.text),
            };
        }
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), NoTwin> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Applies(applies) => {
                self.above_of(span);
                self.to_all_pods |= applies.to_all_pods.is_some();
                if let Some(when) = &applies.when {
                    let text = self.cel(when)?;
                    self.applies.push(text);
                }
            }
            StatementKind::Mode(mode) => {
                self.above_of(span);
                self.policy_mode(mode)?;
            }
            StatementKind::Queue(keys) => {
                for (at, key) in keys.iter().enumerate() {
                    let mut fields = Fields::new();
                    put(&mut fields, "expression", &self.cel(&key.value)?);
                    if key.descending {
                        put(&mut fields, "order", "desc");
                    }
                    let place = if at == 0 { span } else { key.value.span.at_end() };
                    self.add("queueBy", place, fields);
                }
            }
            StatementKind::Filter(filter) => self.inside(|this| this.filter(filter, span))?,
            StatementKind::Score(score) => self.inside(|this| this.score(score, span))?,
            StatementKind::Let(of) => self.variable(of, span)?,
            // Written out where they are used.
            StatementKind::Def(_) | StatementKind::Type(_) => self.above_of(span),
            StatementKind::Param(param) => self.param(param, span)?,
            StatementKind::Ledger(ledger) => self.ledger(ledger, span)?,
            StatementKind::Source(source) => self.source(source, span)?,
            StatementKind::Except(except) => {
                let rule = except.target.as_ref().map(|rule| &*rule.text);
                self.exception(except, rule, span)?;
            }
            kind => self.by_its_row(statement, kind)?,
        }
        self.exceptions_in(statement)
    }

    /// A statement whose row says where it goes: an item of a list, or a block that is a list.
    fn by_its_row(&mut self, statement: &Statement, kind: &StatementKind) -> Result<(), NoTwin> {
        let list = kind.id().and_then(|id| Some((id, SPEC.field(documents::list_of(id)?)?)));
        let Some((id, FieldDef { name, shape: Shape::List(of), .. })) = list else {
            return Err(NoTwin::new(statement.span, blocks::NOTHING));
        };
        if let Some(block) = kind.block() {
            self.above_of(statement.span);
            return self.inside(|this| this.block(block, name));
        }
        let mut fields = self.fields_of(id, &kind.parts(), of, &[])?;
        self.put_mode(&mut fields, statement.mode.as_ref())?;
        self.add(name, statement.span, fields);
        Ok(())
    }

    /// Writes a block, whose lets are known inside only.
    fn inside(&mut self, write: impl FnOnce(&mut Self) -> Result<(), NoTwin>) -> Result<(), NoTwin> {
        let (optional, renamed) = (self.optional.clone(), self.renamed.clone());
        let done = write(self);
        (self.optional, self.renamed) = (optional, renamed);
        done
    }

    pub(super) fn above_of(&mut self, span: Span) {
        let comments = self.remarks.take(span);
        self.above.extend(comments.into_notes());
    }

    /// `mode`, `enforceWhen` and `modeUntil`.
    pub(super) fn put_mode(&self, fields: &mut Fields, mode: Option<&Mode>) -> Result<(), NoTwin> {
        let Some(mode) = mode else { return Ok(()) };
        match &mode.when {
            None => put(fields, "mode", &mode.mode.text),
            Some(when) => {
                mode.otherwise.iter().for_each(|otherwise| put(fields, "mode", &otherwise.text));
                put(fields, "enforceWhen", &self.cel(when)?);
            }
        }
        mode.until.iter().for_each(|day| put(fields, "modeUntil", &day.text));
        Ok(())
    }

    fn policy_mode(&mut self, mode: &Mode) -> Result<(), NoTwin> {
        let mut fields = Fields::new();
        self.put_mode(&mut fields, Some(mode))?;
        for (key, node) in fields {
            let known = SPEC.fields.iter().find(|field| *field.name == *key);
            self.fields.extend(known.map(|field| (field.name, node)));
        }
        Ok(())
    }

    /// The object of a write or an event: its variable of the document.
    pub(super) fn object(&self, name: &Name) -> Result<String, NoTwin> {
        if self.optional.contains(&name.text) {
            return Err(NoTwin::new(
                name.span,
                "CEL has no object here while it is absent: give the let `missing`",
            ));
        }
        let renamed = self.renamed.get(&name.text).and_then(|name| name.strip_prefix("variables."));
        Ok(renamed.unwrap_or(&name.text).to_owned())
    }

    pub(super) fn template(&mut self, template: &Template) -> Result<String, NoTwin> {
        let mut text = String::new();
        for part in &template.parts {
            match part {
                TemplatePart::Text(plain) => text.push_str(&plain.replace('{', "{{").replace('}', "}}")),
                TemplatePart::Hole(path) => {
                    let mut writer = self.writer();
                    let hole = match writer.may_be_absent(path) {
                        true => crate::convert::absent::optional(&mut writer, path)?,
                        false => writer.expr(path)?,
                    };
                    text.push_str(&format!("{{{hole}}}"));
                }
            }
        }
        Ok(text)
    }

    /// A reason with what belongs to it.
    pub(super) fn reason(&mut self, fields: &mut Fields, key: &str, reason: &Reason) -> Result<(), NoTwin> {
        let text = self.template(&reason.template)?;
        put(fields, key, &text);
        if !reason.details.is_empty() {
            let mut with = Fields::new();
            for detail in &reason.details {
                let mut writer = self.writer();
                let text = match writer.may_be_absent(&detail.value) {
                    true => crate::convert::absent::optional(&mut writer, &detail.value)?,
                    false => writer.expr(&detail.value)?,
                };
                put(&mut with, &yaml::scalar(&detail.name.text), &text);
            }
            fields.push(("with".to_owned(), Node::Map(with)));
        }
        if let Some((resolvable, _)) = reason.resolvable {
            put_raw(fields, "resolvable", resolvable.helps());
        }
        Ok(())
    }

    /// A type, with the names of types written out.
    pub(super) fn type_text(&self, of: &TypeExpr) -> String {
        let text = match &of.kind {
            TypeExprKind::Name(name) => match self.aliases.get(&name.text) {
                Some(alias) => self.type_text(alias),
                None => name.text.to_string(),
            },
            TypeExprKind::Kind(kind) => literals::quoted(&kind.text),
            TypeExprKind::List(of) => format!("list<{}>", self.type_text(of)),
            TypeExprKind::Set(of) => format!("set<{}>", self.type_text(of)),
            TypeExprKind::Map(key, value) => {
                format!("map<{}, {}>", self.type_text(key), self.type_text(value))
            }
            TypeExprKind::Record(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|field| format!("{}: {}", field.name.text, self.type_text(&field.declared)))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
        };
        if of.optional { format!("{text}?") } else { text }
    }
}

/// Takes the quotes from a number.
pub(super) fn unquote(fields: &mut Fields, key: &str, expr: &Expr) {
    if let ExprKind::Literal(Literal::Int(value)) = &expr.kind
        && let Some((_, node)) = fields.iter_mut().find(|(other, _)| other == key)
    {
        *node = Node::Scalar(value.to_string());
    }
}
