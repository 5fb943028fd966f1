//! The grammar's pairs to the tree: one function per rule of a statement, in the order of the grammar.
//!
//! Called by `syntax::parse` for a whole file and by `recovery` for single statements. Expressions are in
//! `expr`. Parts that the grammar accepts and the language does not (an unknown escape, a number out of range)
//! are reported here, and their statement becomes `Broken`.

use super::Rule;
pub(super) use super::nodes::Node;
use super::nodes::Nodes;
use crate::language::statements::{Naming, PartDef, PartKind, StatementId, beginning_with};
use crate::syntax::ast::*;
use crate::syntax::tokens::{Kind, Scan, Token};
use bayplan_diag::{Code, Diagnostic, Source, SourceId, Span, codes};

/// The statement cannot be built. A diagnostic has been pushed.
#[derive(Debug)]
pub(super) struct Failed;

pub(super) type Built<T> = Result<T, Failed>;

/// What building needs to know of the text.
pub(super) struct Builder<'a> {
    pub(super) text: &'a str,
    pub(super) source: SourceId,
    pub(super) scan: &'a Scan,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
    /// Where the text that the grammar was given begins in the whole text.
    pub(super) base: usize,
    /// Where it ends; a head that was completed with a `}` of ours ends before that.
    pub(super) limit: usize,
    /// Operators of the expression that is being built.
    pub(super) operators: usize,
    /// Something was dropped.
    pub(super) failed: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(source: &'a Source, scan: &'a Scan, diagnostics: &'a mut Vec<Diagnostic>) -> Self {
        Builder {
            text: source.text(),
            source: source.id(),
            scan,
            diagnostics,
            base: 0,
            limit: source.text().len(),
            operators: 0,
            failed: false,
        }
    }

    // ---- places and words

    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source, start.min(self.limit), end.min(self.limit))
    }

    /// The place of a pair whose last token is its own, such as a bracket or a word.
    pub(super) fn place(&self, pair: &Node<'_>) -> Span {
        self.span(self.base + pair.start(), self.base + pair.end())
    }

    /// The place of a pair that may run over white space after it: it ends with its last token.
    fn tight(&self, pair: &Node<'_>) -> Span {
        let span = self.place(pair);
        let end = self.last_token(span.end as usize).map_or(span.end as usize, |token| token.end);
        self.span(span.start as usize, end.max(span.start as usize))
    }

    /// The last token that ends at or before a byte.
    pub(super) fn last_token(&self, end: usize) -> Option<&'a Token> {
        let at = self.scan.tokens.partition_point(|token| token.end <= end);
        at.checked_sub(1).and_then(|at| self.scan.tokens.get(at))
    }

    pub(super) fn name(&self, pair: &Node<'_>) -> Name {
        Name { text: Text::from(pair.text().trim_matches('`')), span: self.place(pair) }
    }

    pub(super) fn refuse<T>(
        &mut self,
        code: &'static Code,
        span: Span,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Built<T> {
        let mut diagnostic = Diagnostic::new(code, span, message);
        diagnostic.help = help;
        self.diagnostics.push(diagnostic);
        self.failed = true;
        Err(Failed)
    }

    /// A part that the grammar promises. Its absence is reported rather than a panic.
    pub(super) fn need<T>(&mut self, part: Option<T>, of: Span) -> Built<T> {
        match part {
            Some(part) => Ok(part),
            None => self.refuse(&codes::SYNTAX, of, "this could not be read", None),
        }
    }

    // ---- files

    /// A whole file.
    pub(super) fn file(&mut self, nodes: &Nodes<'_>, file: &mut File) {
        for pair in nodes.root().into_iter().flat_map(|root| root.parts()) {
            if pair.rule() != Rule::EOI {
                let item = self.item(pair);
                file.items.push(item);
            }
        }
    }

    pub(super) fn item(&mut self, pair: Node<'_>) -> Item {
        let span = self.tight(&pair);
        let kind = match pair.rule() {
            Rule::use_ => self.only_string(pair).map(ItemKind::Use),
            Rule::typedef => self.typedef(pair).map(ItemKind::Type),
            Rule::def => self.def(pair).map(ItemKind::Def),
            Rule::except_item => self.except(pair).map(ItemKind::Except),
            _ => self.policy(pair).map(ItemKind::Policy),
        };
        let kind = kind.unwrap_or_else(|Failed| ItemKind::Broken(self.broken(&pair)));
        Item { doc: None, kind, span }
    }

    /// `use "file.bay"`
    fn only_string(&mut self, pair: Node<'_>) -> Built<StringLiteral> {
        let span = self.place(&pair);
        let string = pair.parts().find(|part| part.rule() == Rule::string);
        let string = self.need(string, span)?;
        self.string(&string)
    }

    /// `policy NAME [version N] { … }`
    pub(super) fn policy(&mut self, pair: Node<'_>) -> Built<Policy> {
        let span = self.place(&pair);
        let mut name = None;
        let mut version = None;
        let mut statements = Vec::new();
        for part in pair.parts() {
            match part.rule() {
                Rule::name => name = Some(self.name(&part)),
                Rule::version => version = self.version(part),
                Rule::k_policy | Rule::lbrace | Rule::rbrace | Rule::semicolon => {}
                _ => {
                    let statement = self.statement(part);
                    statements.push(statement);
                }
            }
        }
        let name = self.need(name, span)?;
        Ok(Policy {
            name,
            version,
            statements,
            dialect: Dialect::Policy,
            on_error: OnError::Reject,
            strict: None,
        })
    }

    fn version(&mut self, pair: Node<'_>) -> Option<(u64, Span)> {
        let number = pair.parts().find(|part| part.rule() == Rule::int)?;
        let span = self.place(&number);
        let value = number.text().parse().ok();
        if value != Some(1) {
            let text = number.text().to_owned();
            let message = format!("no language version `{text}`");
            let help = Some("this release knows version 1".to_owned());
            let _ = self.refuse::<()>(&codes::LANGUAGE_VERSION, span, message, help);
        }
        value.map(|value| (value, span))
    }

    // ---- statements of a policy

    pub(super) fn statement(&mut self, pair: Node<'_>) -> Statement {
        let span = self.tight(&pair);
        let kind = self.statement_kind(pair);
        let kind = kind.unwrap_or_else(|Failed| StatementKind::Broken(self.broken(&pair)));
        let mode = self.rule_mode(&pair);
        Statement { doc: None, kind, span, on_error: None, mode }
    }

    fn statement_kind(&mut self, pair: Node<'_>) -> Built<StatementKind> {
        Ok(match pair.rule() {
            Rule::applies => StatementKind::Applies(self.applies(pair)?),
            Rule::gate => self.by_its_parts(StatementId::Gate, pair, StatementKind::of)?,
            Rule::queue => StatementKind::Queue(self.queue(pair)?),
            Rule::prefilter => StatementKind::Prefilter(self.block(pair)?),
            Rule::filter => {
                let name = self.name_of(&pair)?;
                StatementKind::Filter(Filter { name, block: self.block(pair)? })
            }
            Rule::score => StatementKind::Score(self.score(pair)?),
            Rule::prefer => self.by_its_parts(StatementId::Prefer, pair, StatementKind::of)?,
            Rule::preempt => StatementKind::Preempt(self.block(pair)?),
            Rule::ledger => StatementKind::Ledger(self.ledger(pair)?),
            Rule::memo => self.by_its_parts(StatementId::Memo, pair, StatementKind::of)?,
            Rule::permit => StatementKind::Permit(self.block(pair)?),
            Rule::reserve => StatementKind::Reserve(self.block(pair)?),
            Rule::before => StatementKind::BeforeBind(self.block(pair)?),
            Rule::after => StatementKind::AfterBind(self.block(pair)?),
            Rule::failure => StatementKind::AfterFailure(self.block(pair)?),
            Rule::let_ => StatementKind::Let(self.let_(pair)?),
            Rule::typedef => StatementKind::Type(self.typedef(pair)?),
            Rule::def => StatementKind::Def(self.def(pair)?),
            Rule::param => StatementKind::Param(self.param(pair)?),
            Rule::group => self.by_its_parts(StatementId::Group, pair, StatementKind::of)?,
            Rule::source => {
                let (name, value, _) = self.named_value(pair)?;
                StatementKind::Source(SourceDecl { name, value })
            }
            Rule::mode => StatementKind::Mode(self.mode(pair)?),
            Rule::except_ | Rule::except_item => StatementKind::Except(self.except(pair)?),
            _ => {
                let span = self.place(&pair);
                return self.refuse(&codes::SYNTAX, span, "a policy has no such statement", None);
            }
        })
    }

    /// `applies [to all pods] [when E]`
    fn applies(&mut self, pair: Node<'_>) -> Built<Applies> {
        let mut applies = Applies { to_all_pods: None, when: None };
        for part in pair.parts() {
            match part.rule() {
                Rule::all_pods => applies.to_all_pods = Some(self.place(&part)),
                Rule::when => applies.when = Some(self.inner_expr(part)?),
                _ => {}
            }
        }
        Ok(applies)
    }

    /// `queue by [asc|desc] E, …`
    fn queue(&mut self, pair: Node<'_>) -> Built<Vec<QueueKey>> {
        let mut keys = Vec::new();
        for key in pair.parts().filter(|part| part.rule() == Rule::key) {
            let descending = key.parts().any(|part| part.rule() == Rule::desc);
            keys.push(QueueKey { descending, value: self.inner_expr(key)? });
        }
        Ok(keys)
    }

    fn name_of(&mut self, pair: &Node<'_>) -> Built<Name> {
        let span = self.place(pair);
        let name = pair.parts().find(|part| part.rule() == Rule::name);
        let name = name.map(|name| self.name(&name));
        self.need(name, span)
    }

    /// `score NAME [weight N] [normalize M] [reversed] { … }`
    fn score(&mut self, pair: Node<'_>) -> Built<Score> {
        let name = self.name_of(&pair)?;
        let mut weight = None;
        let mut normalize = None;
        let mut reversed = None;
        for part in pair.parts() {
            match part.rule() {
                Rule::weight => weight = Some(self.number_or_name(part)?),
                Rule::normalize => {
                    let span = self.place(&part);
                    let how = part.parts().find_map(|how| match how.rule() {
                        Rule::by_none => Some(Normalize::None),
                        Rule::by_max => Some(Normalize::Max),
                        Rule::by_minmax => Some(Normalize::MinMax),
                        _ => None,
                    });
                    normalize = how.map(|how| (how, span));
                }
                Rule::reversed => reversed = Some(self.place(&part)),
                _ => {}
            }
        }
        Ok(Score { name, weight, normalize, reversed, block: self.block(pair)? })
    }

    /// `weight N`, `prefer N`: the whole number or the name among the parts.
    fn number_or_name(&mut self, pair: Node<'_>) -> Built<Expr> {
        let span = self.place(&pair);
        let part = pair.parts().find(|part| matches!(part.rule(), Rule::int | Rule::ident));
        let part = self.need(part, span)?;
        let span = self.place(&part);
        let kind = match part.rule() {
            Rule::int => ExprKind::Literal(self.number(&part, false)?),
            _ => ExprKind::Name(Text::from(part.text())),
        };
        Ok(Expr { kind, span })
    }

    /// `ledger NAME: T by K { … }`
    fn ledger(&mut self, pair: Node<'_>) -> Built<Ledger> {
        let block = self.block(pair)?;
        let parts = self.parts(pair)?;
        let span = parts.span;
        let mut exprs = parts.exprs.into_iter();
        Ok(Ledger {
            name: self.need(parts.names.into_iter().next(), span)?,
            declared: self.need(parts.declared, span)?,
            key: self.need(exprs.next(), span)?,
            block,
        })
    }

    /// `let NAME [: T] = E [missing …]`
    fn let_(&mut self, pair: Node<'_>) -> Built<Let> {
        let mut missing = None;
        if let Some(part) = pair.parts().find(|part| part.rule() == Rule::missing) {
            let span = self.tight(&part);
            for how in part.parts() {
                missing = match how.rule() {
                    Rule::skip => Some((Missing::Skip, span)),
                    Rule::error => Some((Missing::Error, span)),
                    Rule::reason => Some((Missing::Reject(self.reason(how)?), span)),
                    _ => missing,
                };
            }
        }
        let (name, value, declared) = self.named_value(pair)?;
        Ok(Let { name, declared, value, missing })
    }

    /// `def f(a: T, …) [: T] = E`
    fn def(&mut self, pair: Node<'_>) -> Built<Def> {
        let mut parameters = Vec::new();
        for part in pair.parts().filter(|part| part.rule() == Rule::arg_decl) {
            parameters.push(self.field_decl(part)?);
        }
        let (name, body, result) = self.named_value(pair)?;
        Ok(Def { name, parameters, result, body })
    }

    /// `type NAME = T`
    fn typedef(&mut self, pair: Node<'_>) -> Built<TypeItem> {
        let parts = self.parts(pair)?;
        Ok(TypeItem {
            name: self.need(parts.names.into_iter().next(), parts.span)?,
            value: self.need(parts.declared, parts.span)?,
        })
    }

    /// `name: T`
    fn field_decl(&mut self, pair: Node<'_>) -> Built<FieldDecl> {
        let parts = self.parts(pair)?;
        Ok(FieldDecl {
            name: self.need(parts.names.into_iter().next(), parts.span)?,
            declared: self.need(parts.declared, parts.span)?,
        })
    }

    /// `param NAME [: T] [in a..b] = E`
    fn param(&mut self, pair: Node<'_>) -> Built<Param> {
        let mut bounds = Vec::new();
        for part in pair.parts().filter(|part| part.rule() == Rule::bound) {
            let span = self.place(&part);
            let negative = part.parts().any(|part| part.rule() == Rule::minus);
            let number = part.parts().find(|part| part.rule() != Rule::minus);
            let number = self.need(number, span)?;
            bounds.push(Bound { value: self.number(&number, negative)?, span });
        }
        let mut bounds = bounds.into_iter();
        let range = bounds.next().zip(bounds.next());
        let (name, default, declared) = self.named_value(pair)?;
        Ok(Param { name, declared, range, default })
    }

    /// `mode M [when E [else M]] [until DATE]`
    fn mode(&mut self, pair: Node<'_>) -> Built<Mode> {
        let otherwise = pair.parts().find(|part| part.rule() == Rule::otherwise);
        let otherwise = otherwise.and_then(|part| part.parts().find(|part| part.rule() == Rule::ident));
        let otherwise = otherwise.map(|part| self.name(&part));
        let parts = self.parts(pair)?;
        Ok(Mode {
            mode: self.need(parts.names.into_iter().next(), parts.span)?,
            when: parts.when,
            otherwise,
            until: parts.date,
        })
    }

    /// `mode …` of a statement without a block.
    fn rule_mode(&mut self, pair: &Node<'_>) -> Option<Mode> {
        let part = pair.parts().find(|part| part.rule() == Rule::rule_mode)?;
        self.mode(part).ok()
    }

    fn except(&mut self, pair: Node<'_>) -> Built<Except> {
        let span = self.place(&pair);
        let except = self.by_its_parts(StatementId::Except, pair, StatementKind::of)?;
        let except = if let StatementKind::Except(except) = except { Some(except) } else { None };
        self.need(except, span)
    }

    // ---- blocks

    fn block(&mut self, pair: Node<'_>) -> Built<Block> {
        let span = self.place(&pair);
        let mut statements = Vec::new();
        let mut start = None;
        let mut end = span.end as usize;
        for part in pair.parts() {
            match part.rule() {
                Rule::lbrace => start = start.or(Some(self.place(&part).start as usize)),
                Rule::rbrace => end = self.place(&part).end as usize,
                Rule::semicolon => {}
                // Before the `{` is the head of the statement.
                _ if start.is_some() => {
                    let statement = self.block_statement(part);
                    statements.push(statement);
                }
                _ => {}
            }
        }
        Ok(Block { statements, span: self.span(start.unwrap_or(span.start as usize), end) })
    }

    pub(super) fn block_statement(&mut self, pair: Node<'_>) -> BlockStatement {
        let span = self.tight(&pair);
        let kind = self.block_kind(pair);
        let kind = kind.unwrap_or_else(|Failed| BlockKind::Broken(self.broken(&pair)));
        BlockStatement { doc: None, kind, span, on_error: None, mode: None }
    }

    fn block_kind(&mut self, pair: Node<'_>) -> Built<BlockKind> {
        match pair.rule() {
            Rule::let_ => return Ok(BlockKind::Let(self.let_(pair)?)),
            Rule::mode => return Ok(BlockKind::Mode(self.mode(pair)?)),
            Rule::except_ | Rule::except_item => return Ok(BlockKind::Except(self.except(pair)?)),
            _ => {}
        }
        let id = beginning_with(first_word(pair.text())).find(|id| id.def().stands_in_a_block());
        match id {
            Some(id) => self.by_its_parts(id, pair, BlockKind::of),
            None => {
                let span = self.tight(&pair);
                self.refuse(&codes::SYNTAX, span, "a block has no such statement", None)
            }
        }
    }

    /// A statement whose row has its parts: each is the next one of its kind in the text.
    fn by_its_parts<K>(
        &mut self,
        id: StatementId,
        pair: Node<'_>,
        of: fn(StatementId, Given) -> Option<K>,
    ) -> Built<K> {
        let (mut given, mut templates) = (Given::default(), Vec::new());
        for part in pair.parts().filter(|part| part.rule() == Rule::template) {
            templates.push(self.template(&part)?);
        }
        let parts = self.parts(pair)?;
        let (mut exprs, mut names) = (parts.exprs.into_iter(), parts.names.into_iter());
        let (mut when, mut reason, mut string) = (parts.when, parts.reason, parts.string);
        let (mut date, mut declared, mut templates) = (parts.date, parts.declared, templates.into_iter());
        for PartDef { key, before, kind } in id.def().parts {
            match kind {
                PartKind::Expression if *before == "when" => {
                    given.exprs.extend(when.take().map(|when| (*key, when)));
                }
                PartKind::Expression | PartKind::Optional | PartKind::Duration | PartKind::Map => {
                    given.exprs.extend(exprs.next().map(|expr| (*key, expr)));
                }
                PartKind::Weight => given.exprs.push((key, self.number_or_name(pair)?)),
                PartKind::Reason => given.reasons.extend(reason.take().map(|reason| (*key, reason))),
                PartKind::Declared | PartKind::Name | PartKind::Object | PartKind::Variable(_) => {
                    given.names.extend(names.next().map(|name| (*key, name)));
                }
                PartKind::Day => given.names.extend(date.take().map(|day| (*key, day))),
                PartKind::Text => given.texts.extend(string.take().map(|text| (*key, text))),
                PartKind::Template => given.templates.extend(templates.next().map(|text| (*key, text))),
                PartKind::Type => given.types.extend(declared.take().map(|declared| (*key, declared))),
                PartKind::Flag => {
                    let written = pair.parts().find(|part| part.rule() == Rule::all_pods);
                    given.flags.extend(written.map(|part| (*key, self.place(&part))));
                }
                PartKind::Word(words) => {
                    // An object may have one of them as its name.
                    let written = |word: &&'static str| {
                        pair.parts().any(|part| part.rule() != Rule::ident && part.text() == *word)
                    };
                    given
                        .words
                        .extend(words.iter().copied().find(|word| written(word)).map(|word| (*key, word)));
                }
            }
        }
        self.need(of(id, given), parts.span)
    }

    /// `[resolvable|unresolvable] "text" [with { name: E, … }]`
    fn reason(&mut self, pair: Node<'_>) -> Built<Reason> {
        let span = self.tight(&pair);
        let mut resolvable = None;
        let mut template = None;
        let mut details = Vec::new();
        for part in pair.parts() {
            match part.rule() {
                Rule::resolvable => resolvable = Some((Resolvable::Yes, self.place(&part))),
                Rule::unresolvable => resolvable = Some((Resolvable::No, self.place(&part))),
                Rule::template => template = Some(self.template(&part)?),
                Rule::detail => {
                    let parts = self.parts(part)?;
                    let name = parts.names.into_iter().next();
                    let name =
                        name.or(parts.string.map(|string| Name { text: string.text, span: string.span }));
                    let value = parts.exprs.into_iter().next();
                    let value = self.need(value, span)?;
                    details.push(Detail { name: self.need(name, span)?, value });
                }
                _ => {}
            }
        }
        Ok(Reason { resolvable, template: self.need(template, span)?, details, span })
    }

    // ---- types

    pub(super) fn type_(&mut self, pair: Node<'_>) -> Built<TypeExpr> {
        let span = self.tight(&pair);
        let mut kind = None;
        let mut optional = false;
        for part in pair.parts() {
            match part.rule() {
                Rule::opt => optional = true,
                Rule::ident => kind = Some(TypeExprKind::Name(self.name(&part))),
                Rule::string => kind = Some(TypeExprKind::Kind(self.string(&part)?)),
                Rule::record => {
                    let mut fields = Vec::new();
                    for field in part.parts().filter(|part| part.rule() == Rule::arg_decl) {
                        fields.push(self.field_decl(field)?);
                    }
                    kind = Some(TypeExprKind::Record(fields));
                }
                Rule::generic => kind = Some(self.generic(part)?),
                _ => {}
            }
        }
        Ok(TypeExpr { kind: self.need(kind, span)?, optional, span })
    }

    /// `list<T>`, `set<T>`, `map<K, V>`
    fn generic(&mut self, pair: Node<'_>) -> Built<TypeExprKind> {
        let span = self.place(&pair);
        let mut of = Vec::new();
        let mut which = Rule::t_list;
        for part in pair.parts() {
            match part.rule() {
                Rule::t_set | Rule::t_map => which = part.rule(),
                Rule::type_ => of.push(self.type_(part)?),
                _ => {}
            }
        }
        let mut of = of.into_iter().map(Box::new);
        let first = self.need(of.next(), span)?;
        Ok(match which {
            Rule::t_map => TypeExprKind::Map(first, self.need(of.next(), span)?),
            Rule::t_set => TypeExprKind::Set(first),
            _ => TypeExprKind::List(first),
        })
    }

    // ---- helpers

    /// `NAME [: T] = E`
    fn named_value(&mut self, pair: Node<'_>) -> Built<(Name, Expr, Option<TypeExpr>)> {
        let parts = self.parts(pair)?;
        let name = self.need(parts.names.into_iter().next(), parts.span)?;
        let value = self.need(parts.exprs.into_iter().next(), parts.span)?;
        Ok((name, value, parts.declared))
    }

    /// The expression inside `when`, a key of a queue, …
    fn inner_expr(&mut self, pair: Node<'_>) -> Built<Expr> {
        let span = self.place(&pair);
        let expr = pair.parts().find(|part| part.rule() == Rule::expr);
        let expr = self.need(expr, span)?;
        self.expression(expr)
    }

    /// The parts of a statement by their kind, each kind in the order of the text. Blocks, details and
    /// parameters are not looked into.
    fn parts(&mut self, pair: Node<'_>) -> Built<ByKind> {
        let mut parts = ByKind { span: self.tight(&pair), ..ByKind::default() };
        for part in pair.parts() {
            match part.rule() {
                Rule::ident | Rule::name | Rule::rule_name => parts.names.push(self.name(&part)),
                Rule::expr => parts.exprs.push(self.expression(part)?),
                Rule::map => parts.exprs.push(self.map_expression(part)?),
                Rule::when => parts.when = Some(self.inner_expr(part)?),
                Rule::reason => parts.reason = Some(self.reason(part)?),
                Rule::type_ => parts.declared = Some(self.type_(part)?),
                Rule::string => parts.string = Some(self.string(&part)?),
                Rule::date => parts.date = Some(self.name(&part)),
                _ => {}
            }
        }
        Ok(parts)
    }

    /// The placeholder for a statement that could not be built: its word, and its name if it
    /// declares one.
    fn broken(&self, pair: &Node<'_>) -> Broken {
        let word = first_word(pair.text());
        let declares = beginning_with(word).any(|id| id.def().naming == Naming::Declares);
        let mut inner = pair.parts();
        let name = if declares { inner.find(|part| part.rule() == Rule::ident) } else { None };
        Broken { word: Text::from(word), declares: name.map(|name| self.name(&name)) }
    }

    /// The word token at a place, if it is one.
    pub(super) fn word(&self, token: &Token) -> Option<&'a str> {
        (token.kind == Kind::Word).then(|| self.text.get(token.start..token.end)).flatten()
    }
}

/// The word that a statement begins with.
fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    text.get(..end).unwrap_or("")
}

#[derive(Default)]
struct ByKind {
    span: Span,
    names: Vec<Name>,
    exprs: Vec<Expr>,
    when: Option<Expr>,
    reason: Option<Reason>,
    declared: Option<TypeExpr>,
    string: Option<StringLiteral>,
    date: Option<Name>,
}
