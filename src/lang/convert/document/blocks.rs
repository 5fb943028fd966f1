//! Rules in blocks: filters, scores, and the statements of `prefilter`, `reserve`, `permit`, `preempt` and of the writes.

use super::{Fields, PolicyWriter, put, put_raw, unquote};
use crate::convert::expressions::{Writer, Written, inner, macro_variables};
use crate::convert::remarks::Comments;
use crate::convert::yaml::{self, Item, Node};
use crate::convert::{NoTwin, absent};
use crate::syntax::ast::*;
use bayplan_diag::Span;

impl PolicyWriter<'_, '_> {
    pub(super) fn filter(&mut self, filter: &Filter, span: Span) -> Result<(), NoTwin> {
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
            let comments = self.remarks.take(span).with(self.remarks.take(*inner));
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
                return Err(NoTwin::new(statement.span, "documents have nothing for this statement"));
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

    pub(super) fn block(&mut self, block: &Block, field: &'static str) -> Result<(), NoTwin> {
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
                        true => absent::optional(&mut writer, &of.value)?,
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
                BlockKind::Victim(of) => {
                    put(&mut fields, "victim", &self.victim(of)?);
                    if of.to_all_pods.is_some() {
                        fields.push(("toAllPods".to_owned(), Node::Scalar("true".to_owned())));
                    }
                }
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

    /// The condition of `victim` or `protect`, in which the pod is `v`.
    fn victim(&self, of: &Victim) -> Written {
        let mut writer = self.writer();
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
