//! Documents as policies of the policy language.

use super::expressions::{To, Writer};
use super::remarks::{Comments, Remarks};
use super::{NoTwin, Types, literals};
use crate::language::statements::{PartDef, PartKind, RESERVED, StatementId};
use crate::syntax::ast::*;
use bayplan_diag::{Source, Span};

/// Writes every policy of a file.
pub(super) fn write(source: &Source, file: &File, types: &Types) -> Result<String, Vec<NoTwin>> {
    let mut writer = LanguageWriter {
        inside: None,
        types,
        remarks: Remarks::of(source, file),
        without: Vec::new(),
        out: String::new(),
        indent: 0,
    };
    for item in &file.items {
        let ItemKind::Policy(policy) = &item.kind else { continue };
        if !writer.out.is_empty() {
            writer.out.push('\n');
        }
        writer.above(item.span);
        let version = policy.version.map(|(version, _)| format!(" version {version}")).unwrap_or_default();
        writer.open(&format!("policy {}{version}", policy.name.text));
        for statement in &policy.statements {
            writer.statement(statement);
        }
        writer.close();
    }
    let rest = std::mem::take(&mut writer.remarks.rest);
    writer.comments(&Comments { notes: rest, ..Comments::default() });
    if writer.without.is_empty() { Ok(writer.out) } else { Err(writer.without) }
}

struct LanguageWriter<'a> {
    /// The mode of the block that is written next.
    inside: Option<String>,
    types: &'a Types,
    remarks: Remarks,
    without: Vec<NoTwin>,
    out: String,
    indent: usize,
}

impl LanguageWriter<'_> {
    fn line(&mut self, text: &str) {
        let indent = " ".repeat(self.indent);
        self.out.push_str(format!("{indent}{text}").trim_end());
        self.out.push('\n');
    }

    fn open(&mut self, head: &str) {
        self.line(&format!("{head} {{"));
        self.indent += 2;
    }

    fn close(&mut self) {
        self.indent = self.indent.saturating_sub(2);
        self.line("}");
    }

    fn comments(&mut self, of: &Comments) {
        // In front of the policy a note about the file keeps its distance.
        let (notes, apart) =
            (of.notes.iter(), self.indent == 0 && of.has_plain_notes() && !of.doc.is_empty());
        notes.for_each(|line| self.line(format!("// {line}").trim_end()));
        if apart {
            self.line("");
        }
        of.doc.iter().for_each(|line| self.line(format!("/// {line}").trim_end()));
    }

    fn above(&mut self, span: Span) {
        let comments = self.remarks.take(span);
        self.comments(&comments);
    }

    /// An expression; a mistake is kept and gives nothing.
    fn expr(&mut self, expr: &Expr) -> String {
        Writer::new(&To::Language(self.types)).expr(expr).unwrap_or_else(|no_twin| {
            self.without.push(no_twin);
            String::new()
        })
    }

    fn name(&mut self, name: &Name) -> String {
        if RESERVED.contains(&&*name.text) {
            let why = format!("`{}` is a reserved word of the policy language", name.text);
            self.without.push(NoTwin::new(name.span, why));
        }
        name.text.to_string()
    }

    fn when(&mut self, when: Option<&Expr>) -> String {
        when.map(|when| format!(" when {}", self.expr(when))).unwrap_or_default()
    }

    fn statement(&mut self, statement: &Statement) {
        self.above(statement.span);
        match &statement.kind {
            StatementKind::Applies(applies) => {
                let all = if applies.to_all_pods.is_some() { " to all pods" } else { "" };
                let when = self.when(applies.when.as_ref());
                self.line(&format!("applies{all}{when}"));
            }
            StatementKind::Queue(keys) => {
                let keys: Vec<String> = keys
                    .iter()
                    .map(|key| {
                        let value = self.expr(&key.value);
                        // A name that is the word itself would turn the order around.
                        let value = if value.starts_with("desc") { format!("({value})") } else { value };
                        format!("{}{value}", if key.descending { "desc " } else { "" })
                    })
                    .collect();
                self.line(&format!("queue by {}", keys.join(", ")));
            }
            StatementKind::Mode(mode) => {
                let mode = self.mode(mode);
                self.line(&mode);
            }
            StatementKind::Reserve(block)
            | StatementKind::BeforeBind(block)
            | StatementKind::AfterBind(block)
            | StatementKind::AfterFailure(block) => {
                let words = statement.kind.id().map_or("", |id| id.def().words);
                self.block(words, block, statement.span);
            }
            StatementKind::Prefilter(block)
            | StatementKind::Permit(block)
            | StatementKind::Preempt(block) => {
                let words = statement.kind.id().map_or("", |id| id.def().words);
                self.block_by_mode(words, block, statement.span);
            }
            StatementKind::Filter(filter) => {
                let mode = statement.mode.as_ref();
                self.block_in_mode(
                    &format!("filter {}", filter.name.text),
                    &filter.block,
                    statement.span,
                    mode,
                );
            }
            StatementKind::Score(score) => self.score(score, statement.span, statement.mode.as_ref()),
            StatementKind::Let(of) => self.declared_let(of),
            StatementKind::Param(param) => {
                let name = self.name(&param.name);
                let declared =
                    param.declared.as_ref().map(|of| format!(": {}", type_text(of))).unwrap_or_default();
                let range = param.range.as_ref().map(|(low, high)| {
                    let end = |bound: &Bound| literals::in_language(&bound.value);
                    format!(" in {}..{}", end(low), end(high))
                });
                let default = self.expr(&param.default);
                self.line(&format!("param {name}{declared}{} = {default}", range.unwrap_or_default()));
            }
            StatementKind::Ledger(ledger) => {
                let (name, key) = (self.name(&ledger.name), self.expr(&ledger.key));
                let head = format!("ledger {name}: {} by {key}", type_text(&ledger.declared));
                self.block(&head, &ledger.block, statement.span);
            }
            StatementKind::Source(source) => {
                let name = self.name(&source.name);
                let ExprKind::Call(call) = &source.value.kind else { return };
                let named = call.args.iter().filter_map(|arg| Some((arg.name.as_ref()?, &arg.value)));
                let args = named.map(|(name, value)| format!("{}: {}", name.text, self.expr(value)));
                let args: Vec<String> = args.collect();
                self.line(&format!("source {name} = {}({})", call.function.text, args.join(", ")));
            }
            kind => {
                let mode = statement.mode.as_ref().map(|mode| self.mode(mode));
                self.by_its_row(kind.id(), mode, &kind.parts(), statement.span);
            }
        }
    }

    /// A statement whose row has its parts, with its mode in front of them.
    fn by_its_row(&mut self, id: Option<StatementId>, mode: Option<String>, parts: &Parts<'_>, span: Span) {
        let Some(def) = id.map(StatementId::def).filter(|def| !def.parts.is_empty()) else {
            self.without.push(NoTwin::new(span, "the policy language has nothing for this field"));
            return;
        };
        let mut line = def.words.to_owned();
        line.extend(mode.map(|mode| format!(" {mode}")));
        for PartDef { key, before, kind } in def.parts {
            let Some((_, part)) = parts.iter().find(|(known, _)| known == key) else { continue };
            let text = match part {
                Part::Expr(expr) => self.expr(expr),
                Part::Reason(reason) => self.reason(reason),
                Part::Name(name) if *kind == PartKind::Declared => self.name(name),
                Part::Name(name) => name.text.to_string(),
                Part::Text(text) => literals::quoted(&text.text),
                Part::Template(text) => format!("\"{}\"", self.template(text)),
                Part::Type(declared) => type_text(declared),
                Part::Flag => String::new(),
                Part::Word(word) => (*word).to_owned(),
            };
            let mark = before.starts_with(|first: char| first.is_ascii_punctuation() && first != '=');
            for word in [*before, &text].into_iter().filter(|word| !word.is_empty()) {
                line.push_str(if mark && word == *before { "" } else { " " });
                line.push_str(word);
            }
        }
        self.line(&line);
    }

    /// `mode M [when E [else M]] [until DATE]`
    fn mode(&mut self, mode: &Mode) -> String {
        let when = self.when(mode.when.as_ref());
        let otherwise =
            mode.otherwise.as_ref().map(|word| format!(" else {}", word.text)).unwrap_or_default();
        let until = mode.until.as_ref().map(|day| format!(" until {}", day.text)).unwrap_or_default();
        format!("mode {}{when}{otherwise}{until}", mode.mode.text)
    }

    fn declared_let(&mut self, of: &Let) {
        let name = self.name(&of.name);
        let declared = of.declared.as_ref().map(|of| format!(": {}", type_text(of))).unwrap_or_default();
        let value = self.expr(&of.value);
        let missing = match &of.missing {
            None => String::new(),
            Some((Missing::Skip, _)) => " missing skip".to_owned(),
            Some((Missing::Error, _)) => " missing error".to_owned(),
            Some((Missing::Reject(reason), _)) => format!(" missing reject {}", self.reason(reason)),
        };
        self.line(&format!("let {name}{declared} = {value}{missing}"));
    }

    fn score(&mut self, score: &Score, span: Span, mode: Option<&Mode>) {
        let mut head = format!("score {}", score.name.text);
        if let Some(weight) = &score.weight {
            head.push_str(&format!(" weight {}", self.expr(weight)));
        }
        match score.normalize {
            Some((Normalize::None, _)) => head.push_str(" normalize none"),
            Some((Normalize::Max, _)) => head.push_str(" normalize max"),
            Some((Normalize::MinMax, _)) => head.push_str(" normalize minmax"),
            None => {}
        }
        if score.reversed.is_some() {
            head.push_str(" reversed");
        }
        self.block_in_mode(&head, &score.block, span, mode);
    }

    /// A block whose statements say their modes, as blocks of one mode each.
    fn block_by_mode(&mut self, head: &str, block: &Block, span: Span) {
        // Lets are known in their block alone: each block has all of them.
        let lets = block.statements.iter().filter(|inner| matches!(inner.kind, BlockKind::Let(_)));
        let lets: Vec<BlockStatement> = lets.cloned().collect();
        let rest = block.statements.iter().filter(|inner| !matches!(inner.kind, BlockKind::Let(_)));
        let rest: Vec<BlockStatement> = rest.cloned().collect();
        let modes = rest.iter().map(|statement| statement.mode.as_ref().map(|mode| self.mode(mode)));
        let rest: Vec<(Option<String>, BlockStatement)> =
            modes.collect::<Vec<_>>().into_iter().zip(rest.clone()).collect();
        for run in rest.chunk_by(|one, other| one.0 == other.0) {
            let statements = lets.iter().chain(run.iter().map(|(_, statement)| statement)).cloned().collect();
            let mode = run.first().and_then(|(_, statement)| statement.mode.as_ref());
            self.block_in_mode(head, &Block { statements, span: block.span }, span, mode);
        }
    }

    fn block_in_mode(&mut self, head: &str, block: &Block, span: Span, mode: Option<&Mode>) {
        self.inside = mode.map(|mode| self.mode(mode));
        self.block(head, block, span);
    }

    fn block(&mut self, head: &str, block: &Block, span: Span) {
        self.open(head);
        if let Some(mode) = self.inside.take() {
            self.line(&mode);
        }
        for inner in &block.statements {
            if inner.span.start != span.start {
                self.above(inner.span);
            }
            match &inner.kind {
                BlockKind::Let(of) => self.declared_let(of),
                kind => self.by_its_row(kind.id(), None, &kind.parts(), inner.span),
            }
        }
        self.close();
    }

    /// The text of a template without its quotes.
    fn template(&mut self, template: &Template) -> String {
        let mut text = String::new();
        for part in &template.parts {
            match part {
                TemplatePart::Text(plain) => {
                    let plain = literals::quoted(&plain.replace('{', "{{").replace('}', "}}"));
                    text.push_str(plain.get(1..plain.len().saturating_sub(1)).unwrap_or(""));
                }
                // A `"` would end the text.
                TemplatePart::Hole(path) => {
                    text.push_str(&format!("{{{}}}", self.expr(path).replace('"', "'")))
                }
            }
        }
        text
    }

    fn reason(&mut self, reason: &Reason) -> String {
        let text = self.template(&reason.template);
        let resolvable = match reason.resolvable {
            Some((Resolvable::Yes, _)) => "resolvable ",
            Some((Resolvable::No, _)) => "unresolvable ",
            None => "",
        };
        let details: Vec<String> = reason
            .details
            .iter()
            .map(|detail| format!("{}: {}", detail_name(&detail.name.text), self.expr(&detail.value)))
            .collect();
        let with =
            if details.is_empty() { String::new() } else { format!(" with {{{}}}", details.join(", ")) };
        format!("{resolvable}\"{text}\"{with}")
    }
}

fn detail_name(name: &str) -> String {
    let word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !RESERVED.contains(&name);
    if word { name.to_owned() } else { literals::quoted(name) }
}

fn type_text(of: &TypeExpr) -> String {
    let text = match &of.kind {
        TypeExprKind::Name(name) => name.text.to_string(),
        TypeExprKind::Kind(kind) => literals::quoted(&kind.text),
        TypeExprKind::List(of) => format!("list<{}>", type_text(of)),
        TypeExprKind::Set(of) => format!("set<{}>", type_text(of)),
        TypeExprKind::Map(key, value) => format!("map<{}, {}>", type_text(key), type_text(value)),
        TypeExprKind::Record(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| format!("{}: {}", field.name.text, type_text(&field.declared)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
    };
    if of.optional { format!("{text}?") } else { text }
}
