//! Cuts a file that does not parse into segments and reads each alone, so that each mistake is reported once
//! and on its line.
//!
//! Called by `syntax::parse` after the grammar refused the whole file. Items begin in the first column,
//! statements at their words; `grammar/README.md` has the rules. The result is used for diagnostics and for the
//! names that it declares: a file with an error is never loaded.
//!
//! A missing `}` is reported where it is expected, with a label at the `{`.

mod expected;
mod familiar_mistakes;
mod slips;
pub(in crate::syntax) mod segments;

use super::build::Builder;
use super::nodes::Nodes;
use super::{Grammar, Rule};
use crate::language::statements::{Home, Naming, STATEMENTS, StatementId};
use crate::syntax::ast::*;
use crate::syntax::recovery::expected::Expected;
use crate::syntax::recovery::segments::{
    Body, Segment, block_at, body_of_block, body_of_policy, in_blocks, in_files, in_language, in_policies,
    items, opening, words_in,
};
use crate::syntax::tokens::Kind;
use bayplan_diag::{Diagnostic, Span, codes, suggest};
use pest::Parser as _;
use pest::error::Error;

/// Reads what can be read of a file and reports the rest. `error` is what the grammar said of the whole.
pub(in crate::syntax) fn file(builder: &mut Builder<'_>, file: &mut File, error: Option<&Error<Rule>>) {
    builder.failed = true;
    for open in &builder.scan.open {
        let (message, help) = match open.comment {
            true => ("this comment has no `*/`", None),
            false => {
                let text = builder.text.get(open.start..open.end).unwrap_or("");
                let long = text.contains("\"\"\"") || text.contains("'''");
                let help = if long {
                    "a string of several lines ends with the three quotes that it begins with"
                } else {
                    "a string ends on its line; `\"\"\"` begins one of several lines"
                };
                ("this string has no end", Some(help))
            }
        };
        let span = builder.span(open.start, open.end);
        let mut diagnostic = Diagnostic::new(&codes::UNCLOSED, span, message);
        diagnostic.help = help.map(str::to_owned);
        builder.diagnostics.push(diagnostic);
    }
    for segment in items(builder) {
        let item = item(builder, &segment);
        file.items.push(item);
    }
    if let Some(error) = error.filter(|_| builder.diagnostics.is_empty()) {
        let whole = Segment::whole(builder, "file");
        explain(builder, &whole, error);
    }
}

// ---- reading pieces

/// Reads a segment by the grammar, with `closing` after it. Gives the diagnostics' count unchanged on success.
fn read<T>(
    builder: &mut Builder<'_>,
    segment: &Segment,
    closing: &str,
    build: impl FnOnce(&mut Builder<'_>, super::build::Node<'_>) -> T,
) -> Result<T, Box<Error<Rule>>> {
    let start = builder.token(segment.start).map_or(builder.text.len(), |token| token.start);
    let end = segment
        .end
        .checked_sub(1)
        .and_then(|at| builder.token(at))
        .map_or(start, |token| token.end.max(start));
    let slice = builder.text.get(start..end).unwrap_or("");
    let completed;
    let text = match closing {
        "" => slice,
        _ => {
            completed = format!("{slice}{closing}");
            &completed
        }
    };
    let nodes = Nodes::of(text, Grammar::parse(Rule::one, text).map_err(Box::new)?);
    let kept = (builder.base, builder.limit);
    (builder.base, builder.limit) = (start, end);
    let found = nodes.root().and_then(|root| root.parts().next());
    let built = found.map(|pair| build(builder, pair));
    (builder.base, builder.limit) = kept;
    built.ok_or_else(|| {
        let variant = pest::error::ErrorVariant::CustomError { message: String::new() };
        Box::new(Error::new_from_pos(variant, pest::Position::from_start("")))
    })
}

fn segment_span(builder: &Builder<'_>, segment: &Segment) -> Span {
    let start = builder.span_of(segment.start);
    match segment.end.checked_sub(1).filter(|at| *at >= segment.start) {
        Some(last) => start.to(builder.span_of(last)),
        None => start,
    }
}

fn broken(builder: &Builder<'_>, segment: &Segment) -> Broken {
    let next = builder.word_at(segment.start + 1);
    let word = builder.token_text(segment.start);
    let declaring = STATEMENTS.iter().map(|id| id.def()).filter(|def| def.naming == Naming::Declares);
    let known: Vec<&str> = declaring.map(|def| def.word()).collect();
    let meant = if known.contains(&word) { Some(word) } else { suggest::nearest(word, known) };
    let declares = next
        .filter(|_| meant.is_some())
        .map(|name| Name { text: Text::from(name), span: builder.span_of(segment.start + 1) });
    Broken { word: Text::from(word), declares }
}

fn item(builder: &mut Builder<'_>, segment: &Segment) -> Item {
    let span = segment_span(builder, segment);
    let word = builder.word_at(segment.start).unwrap_or("");
    let nearest = || suggest::nearest(word, words_in(Home::File));
    if word == "policy" || (!in_files(word) && nearest() == Some("policy")) {
        return policy(builder, segment, span);
    }
    let result = read(builder, segment, "", |builder, pair| match pair.rule() {
        Rule::use_ | Rule::typedef | Rule::def | Rule::except_item => Some(builder.item(pair)),
        _ => None,
    });
    match result {
        Ok(Some(item)) => return item,
        Ok(None) => misplaced_item(builder, segment),
        Err(error) if in_files(word) => explain(builder, segment, &error),
        Err(_) => misplaced_item(builder, segment),
    }
    Item { doc: None, kind: ItemKind::Broken(broken(builder, segment)), span }
}

/// A statement or mark at the top level of a file that is not an item.
fn misplaced_item(builder: &mut Builder<'_>, segment: &Segment) {
    let span = builder.span_of(segment.start);
    let text = builder.token_text(segment.start);
    let diagnostic = if builder.word_at(segment.start).is_none() {
        stray(span, text)
    } else if in_language(text) {
        Diagnostic::new(&codes::MISPLACED_STATEMENT, span, format!("`{text}` is outside of a policy"))
            .with_help("write `policy NAME { … }` around it")
    } else {
        unknown(span, text, "a file", &words_in(Home::File))
    };
    report(builder, segment, diagnostic);
}

/// A mark that nothing before it asks for.
fn stray(span: Span, text: &str) -> Diagnostic {
    match text {
        "}" | ")" | "]" => Diagnostic::new(&codes::UNCLOSED, span, format!("this `{text}` closes nothing")),
        _ => Diagnostic::new(&codes::SYNTAX, span, format!("`{text}` is not expected here"))
            .with_label("expected `policy`, `def`, `type` or `use`"),
    }
}

/// Words of other policy languages, and the statements that say the same.
const FOREIGN_STATEMENTS: [(&str, &str); 11] = [
    ("deny", "reject"),
    ("forbid", "reject"),
    ("refuse", "reject"),
    ("disallow", "reject"),
    ("block", "reject"),
    ("fail", "reject"),
    ("allow", "require"),
    ("assert", "require"),
    ("must", "require"),
    ("ensure", "require"),
    ("rank", "score"),
];

/// `deny "…" if E`: a word of another language, with the condition that follows it.
fn foreign_statement(builder: &Builder<'_>, segment: &Segment, allowed: &[&str]) -> Option<Diagnostic> {
    let word = builder.word_at(segment.start)?;
    let (_, ours) = FOREIGN_STATEMENTS.iter().find(|(foreign, _)| *foreign == word)?;
    let span = builder.span_of(segment.start);
    let message = format!("`{word}` is written `{ours}` here");
    let diagnostic = Diagnostic::new(&codes::UNKNOWN_STATEMENT, span, message);
    let syntax = STATEMENTS.iter().map(|id| id.def()).find(|def| def.words == *ours)?.syntax;
    if !allowed.contains(ours) {
        return Some(diagnostic.with_help(format!("write `{syntax}` in {}", quoted(&homes_of(ours), "or"))));
    }
    let diagnostic = diagnostic.with_help(format!("write `{syntax}`"));
    let when = (segment.start + 1..segment.end).filter(|at| builder.word_at(*at) == Some("if"));
    let edits = std::iter::once((span, *ours)).chain(when.map(|at| (builder.span_of(at), "when")));
    let edits = edits.map(|(span, text)| bayplan_diag::Edit { span, text: text.to_owned() }).collect();
    Some(diagnostic.with_edits(format!("write `{ours}`"), edits))
}

/// A word of another language at the beginning of a statement, or a name that is set.
fn slip_at(builder: &Builder<'_>, segment: &Segment) -> Option<Diagnostic> {
    let sets = builder.token_text(segment.start + 1) == "=";
    slips::begins(builder.word_at(segment.start)?, builder.span_of(segment.start), sets)
}

fn unknown(span: Span, word: &str, place: &str, allowed: &[&str]) -> Diagnostic {
    if word == "if" {
        return familiar_mistakes::no_if(span);
    }
    let diagnostic =
        Diagnostic::new(&codes::UNKNOWN_STATEMENT, span, format!("`{word}` begins no statement"));
    match suggest::nearest(word, allowed.iter().copied()) {
        Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
        None if allowed.len() > 10 => diagnostic.with_help(format!(
            "{place} has statements such as `applies when`, `filter`, `score`, `let` and `param`"
        )),
        None => diagnostic.with_help(format!("{place} has {}", quoted(allowed, "and"))),
    }
}

/// Words in backticks, with `and` or `or` before the last one.
fn quoted(words: &[&str], joint: &str) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    expected::joined(&words, joint)
}

/// Reports unless a quote or comment without an end in the segment explains it already.
fn report(builder: &mut Builder<'_>, segment: &Segment, diagnostic: Diagnostic) {
    let start = builder.token(segment.start).map_or(builder.text.len(), |token| token.start);
    let end = builder.token(segment.end).map_or(builder.text.len(), |token| token.start);
    if !builder.scan.open.iter().any(|open| (start..end.max(start + 1)).contains(&open.start)) {
        builder.diagnostics.push(diagnostic);
    }
}

// ---- policies

fn policy(builder: &mut Builder<'_>, segment: &Segment, span: Span) -> Item {
    let body = body_of_policy(builder, segment);
    let head = Segment { end: body.head, ..segment.clone() };
    let mut policy = None;
    if builder.word_at(segment.start) != Some("policy") {
        let word = builder.token_text(segment.start);
        let diagnostic = unknown(builder.span_of(segment.start), word, "a file", &words_in(Home::File));
        report(builder, &head, diagnostic);
    } else {
        let result = if body.open {
            read(builder, &head, "}", |builder, pair| builder.policy(pair).ok())
        } else {
            read(builder, &head, "", |builder, pair| builder.policy(pair).ok())
        };
        match result {
            Ok(built) => policy = built,
            Err(error) => explain(builder, &head, &error),
        }
    }
    let failures = builder.diagnostics.len();
    let statements = statements(builder, segment, &body);
    if let Some(close) = body.stray.filter(|_| builder.diagnostics.len() == failures) {
        let diagnostic =
            Diagnostic::new(&codes::UNCLOSED, builder.span_of(close), "this `}` closes the policy too early")
                .with_place(builder.span_of(body.head.saturating_sub(1)), "the policy begins here");
        report(builder, segment, diagnostic);
    }
    if body.open && body.close.is_none() {
        missing_brace(builder, body.head - 1, segment.end, "policy");
    }
    // a block without its `}` has one left over after the policy
    let lost = body.unclosed || body.starts.iter().any(|&(_, lost)| lost);
    let tail = body.tail.clone().take(1).filter(|&at| !lost || builder.token_text(at) != "}");
    for at in tail.collect::<Vec<_>>() {
        let diagnostic = stray(builder.span_of(at), builder.token_text(at));
        report(builder, &Segment { start: at, end: segment.end, word: String::new() }, diagnostic);
    }
    match policy {
        Some(mut policy) => {
            policy.statements = statements;
            Item { doc: None, kind: ItemKind::Policy(policy), span }
        }
        None => Item { doc: None, kind: ItemKind::Broken(broken(builder, segment)), span },
    }
}

fn statements(builder: &mut Builder<'_>, segment: &Segment, body: &Body) -> Vec<Statement> {
    let mut out = Vec::new();
    for (index, &(start, _)) in body.starts.iter().enumerate() {
        let next = body.starts.get(index + 1);
        let end = match (next, body.close) {
            (Some(&(next, _)), _) => next,
            (None, Some(close)) if close > start => close,
            (None, _) => segment.end,
        };
        // a `}` too many between two statements belongs to neither
        let end = match body.stray {
            Some(stray) if (start..end).contains(&stray) => stray,
            _ => end,
        };
        let lost = next.map_or(body.unclosed, |&(_, lost)| lost);
        let segment = Segment { start, end, word: builder.token_text(start).to_owned() };
        let statement = statement(builder, &segment, lost);
        out.push(statement);
    }
    out
}

fn statement(builder: &mut Builder<'_>, segment: &Segment, lost: bool) -> Statement {
    let span = segment_span(builder, segment);
    let word = builder.token_text(segment.start);
    let fail = |builder: &Builder<'_>| {
        let kind = StatementKind::Broken(broken(builder, segment));
        Statement { doc: None, kind, span, on_error: None, mode: None }
    };
    if !in_policies(word) {
        let mark = builder.token(segment.start).and_then(|token| familiar_mistakes::mark_at(builder, token));
        let diagnostic = match builder.word_at(segment.start) {
            None if mark.is_some() => mark.unwrap_or_else(|| stray(span, word)),
            Some("policy") => {
                let span = builder.span_of(segment.start);
                Diagnostic::new(&codes::MISPLACED_STATEMENT, span, "a policy cannot contain a policy")
                    .with_help("write it after the `}` of the other one")
            }
            Some(word) if in_blocks(word) => {
                let span = builder.span_of(segment.start);
                Diagnostic::new(&codes::MISPLACED_STATEMENT, span, format!("`{word}` is outside of a block"))
                    .with_help(format!("it belongs in {}", quoted(&homes_of(word), "or")))
            }
            Some(word) => {
                let allowed = words_in(Home::Policy);
                foreign_statement(builder, segment, &allowed)
                    .or_else(|| slip_at(builder, segment))
                    .unwrap_or_else(|| unknown(builder.span_of(segment.start), word, "a policy", &allowed))
            }
            None => Diagnostic::new(
                &codes::SYNTAX,
                builder.span_of(segment.start),
                format!("`{word}` is not expected here"),
            )
            .with_label("expected a statement"),
        };
        if word == "if" {
            lone_equals(builder, segment);
        }
        report(builder, segment, diagnostic);
        return fail(builder);
    }
    let is_block = block_at(builder, segment.start).is_some();
    if !(is_block && lost) {
        match read(builder, segment, "", |builder, pair| builder.statement(pair)) {
            Ok(statement) => return statement,
            Err(error) if !is_block => {
                explain(builder, segment, &error);
                return fail(builder);
            }
            Err(error) => {
                return block(builder, segment, false, Some(&error)).unwrap_or_else(|| fail(builder));
            }
        }
    }
    block(builder, segment, true, None).unwrap_or_else(|| fail(builder))
}

/// The statements in whose blocks a word may stand.
fn homes_of(word: &str) -> Vec<&'static str> {
    let stands = |block: &&StatementId| words_in(Home::Block(**block)).contains(&word);
    STATEMENTS.iter().filter(stands).map(|block| block.def().words).collect()
}

/// The `=` of `if x = "a"`, reported beside the `if`.
fn lone_equals(builder: &mut Builder<'_>, segment: &Segment) {
    for at in segment.start..segment.end {
        if builder.token_text(at) == "=" {
            let span = builder.span_of(at);
            let diagnostic = Diagnostic::new(&codes::FOREIGN_WORD, span, "`=` sets, `==` compares").with_fix(
                "write `==`",
                span,
                "==",
            );
            report(builder, segment, diagnostic);
            return;
        }
    }
}

// ---- blocks

/// A statement with a block that does not parse as a whole: its head, then its statements one by one.
fn block(
    builder: &mut Builder<'_>,
    segment: &Segment,
    lost: bool,
    error: Option<&Error<Rule>>,
) -> Option<Statement> {
    let id = block_at(builder, segment.start);
    let word = id.map_or(builder.token_text(segment.start), |id| id.def().words);
    let allowed = id.map(|id| words_in(Home::Block(id))).unwrap_or_default();
    let Some(open) = opening(builder, segment, &allowed) else {
        match error {
            Some(error) => explain(builder, segment, error),
            None => {
                let diagnostic = Diagnostic::new(
                    &codes::SYNTAX,
                    builder.span_of(segment.start),
                    format!("`{word}` has no block"),
                );
                report(builder, segment, diagnostic);
            }
        }
        return None;
    };
    let before = builder.diagnostics.len();
    let head = Segment { end: open + 1, ..segment.clone() };
    let mut built = match read(builder, &head, "}", |builder, pair| builder.statement(pair)) {
        Ok(statement) => Some(statement),
        Err(error) => {
            explain(builder, &head, &error);
            None
        }
    };
    let mut inner = Vec::new();
    let (starts, close) = body_of_block(builder, segment, open);
    let last = close.unwrap_or(segment.end);
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(last).max(start);
        let part = Segment { start, end, word: builder.token_text(start).to_owned() };
        let statement = block_statement(builder, &part, word, &allowed);
        inner.push(statement);
    }
    match close {
        None => missing_brace(builder, open, segment.end, word),
        Some(_) if lost && builder.diagnostics.len() == before => {
            missing_brace(builder, open, segment.end, word)
        }
        Some(close) if close + 1 < segment.end && builder.diagnostics.len() == before => {
            let diagnostic = stray(builder.span_of(close + 1), builder.token_text(close + 1));
            let diagnostic = Diagnostic { label: None, ..diagnostic };
            report(builder, segment, diagnostic);
        }
        Some(_) => {}
    }
    if let Some(error) = error.filter(|_| builder.diagnostics.len() == before) {
        explain(builder, segment, error);
    }
    let span = segment_span(builder, segment);
    if let Some(statement) = &mut built {
        statement.span = span;
        if let Some(block) = statement.kind.block_mut() {
            block.statements = inner;
            block.span = builder.span_of(open).to(span.at_end());
        }
    }
    built
}

fn block_statement(
    builder: &mut Builder<'_>,
    segment: &Segment,
    block: &str,
    allowed: &[&str],
) -> BlockStatement {
    let span = segment_span(builder, segment);
    let word = builder.token_text(segment.start);
    if allowed.contains(&word) {
        match read(builder, segment, "", |builder, pair| builder.block_statement(pair)) {
            Ok(statement) => return statement,
            Err(error) => explain(builder, segment, &error),
        }
    } else {
        let span = builder.span_of(segment.start);
        let mark = builder.token(segment.start).and_then(|token| familiar_mistakes::mark_at(builder, token));
        let diagnostic = match builder.word_at(segment.start) {
            None if mark.is_some() => mark.unwrap_or_else(|| stray(span, word)),
            Some(word) if in_language(word) => Diagnostic::new(
                &codes::MISPLACED_STATEMENT,
                span,
                format!("`{word}` has no meaning in `{block}`"),
            )
            .with_help(format!("`{block}` has {}", quoted(allowed, "and"))),
            Some(word) => foreign_statement(builder, segment, allowed)
                .or_else(|| slip_at(builder, segment))
                .unwrap_or_else(|| unknown(span, word, &format!("`{block}`"), allowed)),
            None => Diagnostic::new(&codes::SYNTAX, span, format!("`{word}` is not expected here"))
                .with_label(format!("expected {}", quoted(allowed, "or"))),
        };
        if word == "if" {
            lone_equals(builder, segment);
        }
        report(builder, segment, diagnostic);
    }
    BlockStatement {
        doc: None,
        kind: BlockKind::Broken(broken(builder, segment)),
        span,
        on_error: None,
        mode: None,
    }
}

/// A `}` that is missing before token `end`: said where it would stand, with the `{` beside it.
fn missing_brace(builder: &mut Builder<'_>, open: usize, end: usize, word: &str) {
    let last = end.checked_sub(1).and_then(|at| builder.token(at));
    let from = last.map_or(0, |token| token.end);
    let until = builder.token(end).map_or(builder.text.len(), |token| token.start);
    let gap = builder.text.get(from..until).unwrap_or("");
    // an empty line is where it would stand; else after the last token
    let at = match gap.match_indices('\n').nth(1) {
        Some((second, _)) if gap.get(..second).is_some_and(|lines| lines.trim().is_empty()) => {
            let line = gap.find('\n').map_or(0, |first| first + 1);
            from + line
        }
        _ => from,
    };
    let diagnostic =
        Diagnostic::new(&codes::UNCLOSED, builder.span(at, at), format!("the block of `{word}` has no `}}`"))
            .with_label("a `}` is missing here")
            .with_place(builder.span_of(open), "opened here");
    let segment = Segment { start: open, end, word: String::new() };
    report(builder, &segment, diagnostic);
}

// ---- saying what the grammar said

/// Reports what the grammar said of a segment.
pub(in crate::syntax) fn explain(builder: &mut Builder<'_>, segment: &Segment, error: &Error<Rule>) {
    builder.failed = true;
    let expected = Expected::of(error);
    let start = builder.token(segment.start).map_or(0, |token| token.start);
    let at = start + expected.at;
    let last = segment.end.min(builder.scan.tokens.len());
    let tokens = builder.scan.tokens.get(segment.start.min(last)..last).unwrap_or(&[]);
    let index = tokens.partition_point(|token| token.end <= at);
    let known = builder.diagnostics.len();
    let segment_end = tokens.last().map_or(start, |token| token.end);
    let in_open = builder.scan.open.iter().any(|open| (start..segment_end).contains(&open.start));
    let swallowed = index >= tokens.len() && builder.scan.open.iter().any(|open| open.comment);
    if in_open || swallowed {
        return;
    }
    // a `{` is missed at the end of its line, not at the beginning of the next
    let before = index.checked_sub(1).and_then(|index| tokens.get(index));
    if let Some(before) =
        before.filter(|_| expected.wants("`{`") && tokens.get(index).is_some_and(|token| token.first))
    {
        let span = builder.span(before.end, before.end);
        let mut diagnostic =
            Diagnostic::new(&codes::SYNTAX, span, format!("`{}` is not complete", segment.word));
        diagnostic.label = expected.sentence();
        builder.diagnostics.push(diagnostic);
        return;
    }
    if let Some(said) = slips::explain(builder, tokens, index) {
        builder.diagnostics.push(said);
        return;
    }
    if familiar_mistakes::explain(builder, tokens, index, &expected) {
        // a statement with `=` for `==` after `and` has two mistakes of one kind: one report is enough
        debug_assert!(builder.diagnostics.len() > known);
        return;
    }
    let diagnostic = match tokens.get(index) {
        Some(token) => {
            let text = builder.text.get(token.start..token.end).unwrap_or("");
            let shown = if text.chars().count() > 40 {
                format!("{}…", text.chars().take(39).collect::<String>())
            } else {
                text.to_owned()
            };
            let span = builder.span(token.start, token.end);
            let mut diagnostic =
                Diagnostic::new(&codes::SYNTAX, span, format!("`{shown}` is not expected here"));
            diagnostic.label = expected.sentence();
            if expected.only("`{`") && matches!(text, "weight" | "normalize" | "reversed") {
                diagnostic.help =
                    Some("write them in the order `weight`, `normalize`, `reversed`".to_owned());
            }
            let near =
                (token.kind == Kind::Word).then(|| suggest::nearest(text, expected.all_words())).flatten();
            match near {
                Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
                None => diagnostic,
            }
        }
        None => {
            let end = tokens.last().map_or(at, |token| token.end);
            let span = builder.span(end, end);
            let mut diagnostic =
                Diagnostic::new(&codes::SYNTAX, span, format!("`{}` is not complete", segment.word));
            diagnostic.label = expected.sentence();
            diagnostic
        }
    };
    builder.diagnostics.push(diagnostic);
}
