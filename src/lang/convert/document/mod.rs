//! Policies of the policy language as documents.

mod exceptions;
mod declarations;

use super::expressions::{To, Writer, Written, macro_variables};
use super::remarks::Remarks;
use super::yaml::{self, Item, Node};
use super::{NoTwin, Types, literals};
use crate::diag::{Source, Span};
use crate::lang::language::documents::{API_VERSION, KIND, SPEC};
use crate::lang::syntax::ast::{self, *};
use crate::lang::uses::UsedFile;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Writes every policy of a file, with the defs and types of the files that it uses written out.
pub(super) fn write(
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
                above.extend(remarks.take(item.span));
            }
            ItemKind::Type(of) => {
                aliases.insert(of.name.text.clone(), &of.value);
                above.extend(remarks.take(item.span));
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
                above.extend(remarks.take(item.span));
                above.extend(inside);
                yaml::comments(&mut text, &std::mem::take(&mut above), "");
                let scalar = |text: &str| Node::Scalar(yaml::scalar(text));
                let document = [
                    ("apiVersion".to_owned(), scalar(API_VERSION)),
                    ("kind".to_owned(), scalar(KIND)),
                    ("metadata".to_owned(), Node::Map(vec![("name".to_owned(), scalar(&policy.name.text))])),
                    ("spec".to_owned(), Node::Map(spec)),
                ];
                yaml::map(&mut text, &document, "");
            }
            ItemKind::Use(_) => above.extend(remarks.take(item.span)),
            // It goes to its policy.
            ItemKind::Except(except) if exceptions::is_about_policy_of(&file.items, except) => {}
            ItemKind::Except(_) => {
                let text =
                    "a document has exceptions from its own policy only: leave this one in a `.bay` text";
                without.push(NoTwin::new(item.span, text));
            }
            ItemKind::Broken(_) => {
                without.push(NoTwin::new(item.span, "documents have nothing for this statement"));
            }
        }
    }
    yaml::comments(&mut text, &above, "");
    yaml::comments(&mut text, &remarks.rest, "");
    if without.is_empty() { Ok(text) } else { Err(without) }
}

fn declare<'a>(
    policy: &'a Policy,
    spaces: &mut FxHashMap<Text, &'static str>,
    defs: &mut FxHashMap<Text, &'a Def>,
    aliases: &mut FxHashMap<Text, &'a TypeExpr>,
) {
    for statement in &policy.statements {
        match &statement.kind {
            StatementKind::Param(of) => {
                spaces.insert(of.name.text.clone(), "params");
            }
            StatementKind::Let(of) => {
                spaces.insert(of.name.text.clone(), "variables");
            }
            StatementKind::Group(of) => {
                spaces.insert(of.name.text.clone(), "groups");
            }
            StatementKind::Ledger(of) => {
                spaces.insert(of.name.text.clone(), "ledgers");
            }
            StatementKind::Memo(of) => {
                spaces.insert(of.name.text.clone(), "memos");
            }
            StatementKind::Source(of) => {
                spaces.insert(of.name.text.clone(), "sources");
            }
            StatementKind::Def(of) => {
                defs.insert(of.name.text.clone(), of);
            }
            StatementKind::Type(of) => {
                aliases.insert(of.name.text.clone(), &of.value);
            }
            _ => {}
        }
    }
}

/// The writer of one policy. Fields are collected by name and written in the order of the table.
struct PolicyWriter<'w, 'a> {
    to: &'w To<'w>,
    aliases: &'w FxHashMap<Text, &'a TypeExpr>,
    remarks: &'w mut Remarks,
    without: &'w mut Vec<NoTwin>,
    fields: BTreeMap<&'static str, Node>,
    applies: Vec<String>,
    to_all_pods: bool,
    /// Comments of statements that are not items of a list: they go above the document.
    above: Vec<String>,
    /// Lets whose variables are optionals of CEL.
    optional: FxHashSet<Text>,
    /// Lets of the block whose names other variables have.
    renamed: FxHashMap<Text, String>,
    /// Params, lets and groups of the policy.
    of_policy: FxHashSet<Text>,
}

type Fields = Vec<(String, Node)>;

/// The mode that a block says.
fn mode_in(block: &Block) -> Option<&Mode> {
    block.statements.iter().find_map(|statement| match &statement.kind {
        BlockKind::Mode(mode) => Some(mode),
        _ => None,
    })
}

fn put(fields: &mut Fields, key: &str, text: &str) {
    fields.push((key.to_owned(), Node::Scalar(yaml::scalar(text))));
}

fn put_raw(fields: &mut Fields, key: &str, text: impl ToString) {
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

    fn add(&mut self, field: &'static str, span: Span, fields: Fields) {
        let item = Item { comments: self.remarks.take(span), fields };
        match self.fields.entry(field).or_insert_with(|| Node::List(Vec::new())) {
            Node::List(items) => items.push(item),
            Node::Scalar(_) | Node::Map(_) => {}
        }
    }

    fn writer(&self) -> Writer<'_> {
        Writer { optional: self.optional.clone(), instead: self.renamed.clone(), ..Writer::new(self.to) }
    }

    fn cel(&self, expr: &Expr) -> Written {
        self.writer().expr(expr)
    }

    /// Lets without `missing` whose value may be absent.
    fn note_optional<'l>(&mut self, lets: impl Iterator<Item = &'l Let>) {
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
                let comments = self.remarks.take(span);
                self.above.extend(comments);
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
            StatementKind::Gate(gate) => {
                let mut fields = Fields::new();
                self.reason(&mut fields, "reason", &gate.reason)?;
                let at = fields.iter().position(|(key, _)| key != "reason").unwrap_or(fields.len());
                fields.insert(at, ("when".to_owned(), Node::Scalar(yaml::scalar(&self.cel(&gate.when)?))));
                self.put_mode(&mut fields, statement.mode.as_ref())?;
                self.add("gates", span, fields);
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
            StatementKind::Prefilter(block) => {
                self.above_of(span);
                self.inside(|this| this.block(block, "prefilter"))?;
            }
            StatementKind::Reserve(block) => {
                self.above_of(span);
                self.block(block, "reserve")?;
            }
            StatementKind::Permit(block) => {
                self.above_of(span);
                self.inside(|this| this.block(block, "permit"))?;
            }
            StatementKind::Preempt(block) => {
                self.above_of(span);
                self.inside(|this| this.block(block, "preempt"))?;
            }
            StatementKind::BeforeBind(block) => {
                self.above_of(span);
                self.inside(|this| this.block(block, "beforeBind"))?;
            }
            StatementKind::AfterBind(block) => {
                self.above_of(span);
                self.inside(|this| this.block(block, "afterBind"))?;
            }
            StatementKind::AfterFailure(block) => {
                self.above_of(span);
                self.inside(|this| this.block(block, "afterFailure"))?;
            }
            StatementKind::Filter(filter) => self.inside(|this| this.filter(filter, span))?,
            StatementKind::Score(score) => self.inside(|this| this.score(score, span))?,
            StatementKind::Prefer(prefer) => {
                let mut fields = Fields::new();
                put(&mut fields, "weight", &self.cel(&prefer.weight)?);
                put(&mut fields, "when", &self.cel(&prefer.when)?);
                unquote(&mut fields, "weight", &prefer.weight);
                self.put_mode(&mut fields, statement.mode.as_ref())?;
                self.add("prefer", span, fields);
            }
            StatementKind::Let(of) => self.variable(of, span)?,
            // Written out where they are used.
            StatementKind::Def(_) | StatementKind::Type(_) => self.above_of(span),
            StatementKind::Param(param) => self.param(param, span)?,
            StatementKind::Group(group) => self.group(group, span)?,
            StatementKind::Ledger(ledger) => self.ledger(ledger, span)?,
            StatementKind::Memo(memo) => self.memo(memo, span)?,
            StatementKind::Source(source) => self.source(source, span)?,
            StatementKind::Except(except) => {
                let rule = except.target.as_ref().map(|rule| &*rule.text);
                self.exception(except, rule, span)?;
            }
            _ => return Err(NoTwin::new(span, "documents have nothing for this statement")),
        }
        self.exceptions_in(statement)
    }

    /// Writes a block, whose lets are known inside only.
    fn inside(&mut self, write: impl FnOnce(&mut Self) -> Result<(), NoTwin>) -> Result<(), NoTwin> {
        let (optional, renamed) = (self.optional.clone(), self.renamed.clone());
        let done = write(self);
        (self.optional, self.renamed) = (optional, renamed);
        done
    }

    fn above_of(&mut self, span: Span) {
        let comments = self.remarks.take(span);
        self.above.extend(comments);
    }

    /// `value` and `when` of a statement.
    fn value_when(&mut self, of: &Give, span: Span) -> Result<Item, NoTwin> {
        let mut fields = Fields::new();
        put(&mut fields, "value", &self.cel(&of.value)?);
        unquote(&mut fields, "value", &of.value);
        if let Some(when) = &of.when {
            put(&mut fields, "when", &self.cel(when)?);
        }
        Ok(Item { comments: self.remarks.take(span), fields })
    }

    fn filter(&mut self, filter: &Filter, span: Span) -> Result<(), NoTwin> {
        let mut fields = Fields::new();
        put(&mut fields, "name", &filter.name.text);
        let rules = self.without_lets(&filter.block)?;
        let mode = mode_in(&filter.block);
        if let [BlockStatement { kind: BlockKind::Require(require), span: inner, .. }] = rules.as_slice() {
            put(&mut fields, "expression", &self.cel(&require.condition)?);
            if let Some(reason) = &require.reason {
                self.reason(&mut fields, "reason", reason)?;
            }
            self.put_mode(&mut fields, mode)?;
            let mut comments = self.remarks.take(span);
            comments.extend(self.remarks.take(*inner));
            return self.add_with("filters", comments, fields);
        }
        let mut items = Vec::new();
        for rule in rules {
            let mut inner = Fields::new();
            match &rule.kind {
                BlockKind::Require(require) => {
                    put(&mut inner, "require", &self.cel(&require.condition)?);
                    if let Some(reason) = &require.reason {
                        self.reason(&mut inner, "else", reason)?;
                    }
                }
                BlockKind::Reject(reject) => self.reject(&mut inner, reject)?,
                _ => return Err(NoTwin::new(rule.span, "documents have nothing for this statement")),
            }
            items.push(Item { comments: self.remarks.take(rule.span), fields: inner });
        }
        fields.push(("rules".to_owned(), Node::List(items)));
        self.put_mode(&mut fields, mode)?;
        self.add("filters", span, fields);
        Ok(())
    }

    fn add_with(&mut self, field: &'static str, comments: Vec<String>, fields: Fields) -> Result<(), NoTwin> {
        self.add(field, Span::default(), fields);
        if let Some(Node::List(items)) = self.fields.get_mut(field)
            && let Some(item) = items.last_mut()
        {
            item.comments = comments;
        }
        Ok(())
    }

    /// The statements of a block without its lets, which become variables of the policy.
    fn without_lets<'b>(&mut self, block: &'b Block) -> Result<Vec<&'b BlockStatement>, NoTwin>
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
        let values: Vec<String> = values.map(|name| format!("{}.value()", writer.name(name))).collect();
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

    fn score(&mut self, score: &Score, span: Span) -> Result<(), NoTwin> {
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
            let mut comments = self.remarks.take(span);
            comments.extend(self.remarks.take(*inner));
            return self.add_with("scores", comments, fields);
        }
        let mut items = Vec::new();
        // Where no value is given the node is left out: so are the nodes of `give none`.
        let mut left_out: Vec<String> = Vec::new();
        for statement in gives {
            let BlockKind::Give(give) = &statement.kind else {
                return Err(NoTwin::new(statement.span, "documents have nothing for this statement"));
            };
            if is_none(&give.value) {
                match &give.when {
                    Some(when) => left_out.push(format!("!({})", self.cel(when)?)),
                    None => break,
                }
                let comments = self.remarks.take(statement.span);
                self.above.extend(comments);
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

    fn write(&mut self, fields: &mut Fields, write: &Write) -> Result<(), NoTwin> {
        put(fields, write.verb.word(), &self.object(&write.object)?);
        let set = self.written(&write.value)?;
        let key = if write.verb == WriteVerb::Patch { "fields" } else { "set" };
        fields.push((key.to_owned(), Node::Map(set)));
        if let Some(when) = &write.when {
            put(fields, "when", &self.cel(when)?);
        }
        Ok(())
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

    fn when(&mut self, fields: &mut Fields, when: Option<&Expr>) -> Result<(), NoTwin> {
        if let Some(when) = when {
            put(fields, "when", &self.cel(when)?);
        }
        Ok(())
    }

    fn block(&mut self, block: &Block, field: &'static str) -> Result<(), NoTwin> {
        for statement in self.without_lets(block)? {
            let mut fields = Fields::new();
            match &statement.kind {
                BlockKind::Reject(reject) => self.reject(&mut fields, reject)?,
                BlockKind::Event(_) if field != "afterBind" => {
                    return Err(NoTwin::new(statement.span, "documents have events in `afterBind` only"));
                }
                BlockKind::Release(_) if field != "afterFailure" => {
                    return Err(NoTwin::new(
                        statement.span,
                        "documents release groups in `afterFailure` only",
                    ));
                }
                BlockKind::Event(of) => {
                    put(&mut fields, "event", &self.object(&of.object)?);
                    if of.warning {
                        put(&mut fields, "type", "warning");
                    }
                    put(&mut fields, "reason", &of.reason.text);
                    let text = self.template(&of.text)?;
                    put(&mut fields, "text", &text);
                    self.when(&mut fields, of.when.as_ref())?;
                }
                BlockKind::Release(of) => {
                    put(&mut fields, "release", &of.group.text);
                    self.reason(&mut fields, "reason", &of.reason)?;
                    self.when(&mut fields, of.when.as_ref())?;
                }
                BlockKind::Activate(of) => {
                    put(&mut fields, "activate", &of.group.text);
                    self.when(&mut fields, of.when.as_ref())?;
                }
                BlockKind::Remember(of) => {
                    put(&mut fields, "remember", &of.memo.text);
                    let mut writer = self.writer();
                    let forgets = matches!(of.value.kind, ExprKind::Literal(Literal::None));
                    let value = match forgets || writer.may_be_absent(&of.value) {
                        true => super::absent::optional(&mut writer, &of.value)?,
                        false => writer.expr(&of.value)?,
                    };
                    put(&mut fields, "value", &value);
                    self.when(&mut fields, of.when.as_ref())?;
                }
                BlockKind::Only(only) => {
                    put(&mut fields, "onlyNodes", &self.cel(&only.nodes)?);
                    if let Some(when) = &only.when {
                        put(&mut fields, "when", &self.cel(when)?);
                    }
                }
                BlockKind::Wait(wait) => {
                    put(&mut fields, "wait", &self.duration(&wait.patience)?);
                    if let Some(group) = &wait.group {
                        put(&mut fields, "for", &group.text);
                    }
                    put(&mut fields, "until", &self.cel(&wait.until)?);
                    self.reason(&mut fields, "else", &wait.reason)?;
                }
                BlockKind::Write(write) => self.write(&mut fields, write)?,
                BlockKind::Victim(of) => put(&mut fields, "victim", &self.victim(of)?),
                BlockKind::Protect(of) => put(&mut fields, "protect", &self.victim(of)?),
                BlockKind::Never(never) => {
                    self.reason(&mut fields, "never", &never.reason)?;
                    if let Some(when) = &never.when {
                        let text = self.cel(when)?;
                        fields.insert(1, ("when".to_owned(), Node::Scalar(yaml::scalar(&text))));
                    }
                }
                BlockKind::Guard(guard) => {
                    put(&mut fields, "guard", &self.cel(&guard.condition)?);
                    if let Some(reason) = &guard.reason {
                        self.reason(&mut fields, "else", reason)?;
                    }
                }
                _ => return Err(NoTwin::new(statement.span, "documents have nothing for this statement")),
            }
            self.put_mode(&mut fields, mode_in(block))?;
            self.add(field, statement.span, fields);
        }
        Ok(())
    }

    /// `mode`, `enforceWhen` and `modeUntil`.
    fn put_mode(&self, fields: &mut Fields, mode: Option<&Mode>) -> Result<(), NoTwin> {
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

    /// The condition of `victim` or `protect`, in which the pod is `v`.
    fn victim(&self, of: &Victim) -> Written {
        let mut writer = Writer::new(self.to);
        if *of.variable.text != *"v" {
            if macro_variables(&of.when).iter().any(|name| **name == *"v") {
                let why = "the pod that may be evicted is `v` in documents, and a macro of the condition has that name";
                return Err(NoTwin::new(of.when.span, why));
            }
            writer.instead.insert(of.variable.text.clone(), "v".to_owned());
        }
        // Macros that are written for it have other variables.
        writer.bound.push(Text::from("v"));
        writer.expr(&of.when)
    }

    fn reject(&mut self, fields: &mut Fields, reject: &Reject) -> Result<(), NoTwin> {
        self.reason(fields, "reject", &reject.reason)?;
        if let Some(when) = &reject.when {
            let text = self.cel(when)?;
            let when = ("when".to_owned(), Node::Scalar(yaml::scalar(&text)));
            fields.insert(1, when);
        }
        Ok(())
    }

    /// A reason with what belongs to it.
    /// The object of a write or an event: its variable of the document.
    fn object(&self, name: &Name) -> Result<String, NoTwin> {
        if self.optional.contains(&name.text) {
            return Err(NoTwin::new(
                name.span,
                "CEL has no object here while it is absent: give the let `missing`",
            ));
        }
        let renamed = self.renamed.get(&name.text).and_then(|name| name.strip_prefix("variables."));
        Ok(renamed.unwrap_or(&name.text).to_owned())
    }

    fn template(&mut self, template: &Template) -> Result<String, NoTwin> {
        let mut text = String::new();
        for part in &template.parts {
            match part {
                TemplatePart::Text(plain) => text.push_str(&plain.replace('{', "{{").replace('}', "}}")),
                TemplatePart::Hole(path) => {
                    let mut writer = self.writer();
                    let hole = match writer.may_be_absent(path) {
                        true => super::absent::optional(&mut writer, path)?,
                        false => writer.expr(path)?,
                    };
                    text.push_str(&format!("{{{hole}}}"));
                }
            }
        }
        Ok(text)
    }

    fn reason(&mut self, fields: &mut Fields, key: &str, reason: &Reason) -> Result<(), NoTwin> {
        let text = self.template(&reason.template)?;
        put(fields, key, &text);
        if !reason.details.is_empty() {
            let mut with = Fields::new();
            for detail in &reason.details {
                let mut writer = self.writer();
                let text = match writer.may_be_absent(&detail.value) {
                    true => super::absent::optional(&mut writer, &detail.value)?,
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
    fn type_text(&self, of: &TypeExpr) -> String {
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

fn is_none(expr: &Expr) -> bool {
    matches!(super::expressions::inner(expr).kind, ExprKind::Literal(Literal::None))
}

/// Takes the quotes from a number.
fn unquote(fields: &mut Fields, key: &str, expr: &Expr) {
    if let ExprKind::Literal(Literal::Int(value)) = &expr.kind
        && let Some((_, node)) = fields.iter_mut().find(|(other, _)| other == key)
    {
        *node = Node::Scalar(value.to_string());
    }
}

/// A default as a value, with the type that it needs beside it.
fn constant(expr: &Expr) -> Result<(serde_json::Value, Option<&'static str>), NoTwin> {
    let no_twin =
        || NoTwin::new(expr.span, "the default of a param of a document is a value, not an expression");
    match &expr.kind {
        ExprKind::Literal(literal) => literals::as_value(literal).ok_or_else(no_twin),
        ExprKind::Paren(inner) => constant(inner),
        ExprKind::List(elements) => {
            let items: Result<Vec<_>, _> =
                elements.iter().map(|element| constant(&element.value).map(|(value, _)| value)).collect();
            Ok((serde_json::Value::Array(items?), None))
        }
        ExprKind::Map(entries) => {
            let mut map = serde_json::Map::new();
            for entry in entries {
                let ExprKind::Literal(Literal::String(key)) = &entry.key.kind else { return Err(no_twin()) };
                map.insert(key.to_string(), constant(&entry.value)?.0);
            }
            Ok((serde_json::Value::Object(map), None))
        }
        _ => Err(no_twin()),
    }
}
