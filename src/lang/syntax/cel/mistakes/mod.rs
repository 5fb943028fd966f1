//! Diagnostics of an expression that cannot be read: in words of CEL, with a place and a way out.
//!
//! Called by `cel::parse` with the errors of the parser, whose own words (sets of tokens) are not shown. What the
//! tokens alone show comes first: quotes, brackets, escapes, numbers, and the `familiar` mistakes. An error of the
//! parser is added where its line has no report yet.

pub(super) mod familiar;
pub(super) mod units;
mod words;

use super::Place;
use super::parse::{MAX_LEVELS, Mistake, MistakeKind};
use super::tokens::Tokens;
use crate::syntax::literal;
use crate::syntax::tokens::Kind;
use bayplan_diag::{Diagnostic, Span, codes};

/// The tokens of a text and its place: what every check looks at.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) tokens: &'a Tokens<'a>,
    pub(super) place: &'a Place<'a>,
}

impl<'a> Text<'a> {
    /// From the beginning of a token to the end of another; after the last token it is the end of the text.
    pub(super) fn span(&self, first: usize, last: usize) -> Span {
        let end = self.tokens.list.last().map_or(0, |token| token.end);
        let start = self.tokens.token(first).map_or(end, |token| token.start);
        self.place.span(start, self.tokens.token(last).map_or(end, |token| token.end))
    }

    /// The text from a token to another.
    pub(super) fn slice(&self, first: usize, last: usize) -> &'a str {
        let (Some(first), Some(last)) = (self.tokens.token(first), self.tokens.token(last)) else {
            return "";
        };
        self.tokens.text.get(first.start..last.end).unwrap_or("")
    }

    /// Whether nothing is between a token and the next one.
    pub(super) fn touches_next(&self, at: usize) -> bool {
        let next = self.tokens.token(at + 1).map(|next| next.start);
        self.tokens.token(at).is_some_and(|token| next == Some(token.end))
    }

    /// The first token of the path that ends before `at`: `a.b(c)[d]`. None: no operand ends there.
    pub(super) fn path_before(&self, at: usize) -> Option<usize> {
        if !self.tokens.ends_operand(at) {
            return None;
        }
        let mut first = at.checked_sub(1)?;
        loop {
            if matches!(self.tokens.mark(first), ")" | "]" | "}") {
                let closed = first;
                first = self.tokens.partner(first)?;
                let indexed = self.tokens.mark(closed) == "]" && self.tokens.ends_operand(first);
                if indexed || self.tokens.opens_call(first) {
                    first = first.checked_sub(1)?;
                    continue;
                }
            }
            match self.dot_before(first) {
                Some(dot) if self.tokens.ends_operand(dot) => first = dot.checked_sub(1)?,
                _ => return Some(first),
            }
        }
    }

    /// The `.` before a field, also before an optional one.
    pub(super) fn dot_before(&self, at: usize) -> Option<usize> {
        let before = at.checked_sub(1)?;
        let optional = before.checked_sub(1).filter(|_| self.tokens.mark(before) == "?");
        Some(optional.unwrap_or(before)).filter(|dot| self.tokens.mark(*dot) == ".")
    }
}

/// How many mistakes of one expression are reported.
const MAX_REPORTS: usize = 20;

/// The line of each token, from 0; places of a document come in the order of its text.
struct Lines {
    starts: Vec<u32>,
    lines: Vec<usize>,
}

impl Lines {
    fn of(text: Text<'_>) -> Self {
        let mut line = 0;
        let mut end = 0;
        let mut out = Lines { starts: Vec::new(), lines: Vec::new() };
        for (at, token) in text.tokens.list.iter().enumerate() {
            line += text.tokens.text.get(end..token.start).unwrap_or("").matches('\n').count();
            end = token.start;
            out.starts.push(text.span(at, at).start);
            out.lines.push(line);
        }
        out
    }

    /// The line of the last token that begins at or before a place.
    fn line(&self, span: Span) -> usize {
        let at = self.starts.partition_point(|start| *start <= span.start);
        at.checked_sub(1).and_then(|at| self.lines.get(at)).copied().unwrap_or(0)
    }
}

/// All diagnostics of a text that the parser refuses.
pub(super) fn explain(text: Text<'_>, found: &[Mistake]) -> Vec<Diagnostic> {
    let mut said = Vec::new();
    unclosed(text, &mut said);
    let whole = said.is_empty();
    literals(text, &mut said);
    familiar::all(text, &mut said);
    said.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
    let places = Lines::of(text);
    let mut lines: Vec<usize> = said.iter().map(|diagnostic| places.line(diagnostic.span)).collect();
    // Two operands side by side are a mistake whatever precedes them; any other error may be the effect of one before it.
    for (at, token) in text.tokens.list.iter().enumerate().filter(|_| whole) {
        let line = places.lines.get(at).copied().unwrap_or(0);
        let beside = text.tokens.ends_operand(at) && begins_operand(text, at);
        if beside && !lines.contains(&line) && said.len() < MAX_REPORTS {
            lines.push(line);
            said.push(of_parser(text, Mistake { at: token.start, kind: MistakeKind::Grammar }));
        }
    }
    for mistake in found {
        // A quote or bracket without an end makes errors of everything after it.
        if !whole && mistake.kind == MistakeKind::Grammar {
            continue;
        }
        let diagnostic = of_parser(text, *mistake);
        let line = places.line(diagnostic.span);
        if lines.iter().all(|known| *known < line) {
            lines.push(line);
            said.push(diagnostic);
        }
    }
    said.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
    if said.is_empty() {
        let end = text.tokens.list.len();
        said.push(Diagnostic::new(&codes::SYNTAX, text.span(0, end), "the expression cannot be read"));
    }
    said.truncate(MAX_REPORTS);
    said
}

/// Quotes and brackets without an end.
fn unclosed(text: Text<'_>, said: &mut Vec<Diagnostic>) {
    for at in text.tokens.open_strings.iter().take(MAX_REPORTS) {
        let string = text.tokens.text_of(*at);
        let first = string.find(['"', '\'']).unwrap_or(0);
        let quote = string.get(first..=first).unwrap_or("\"");
        let message = format!("this string has no closing `{quote}`");
        let help =
            "a string in single or double quotes ends on its line; write `\"\"\"` for one of several lines";
        said.push(Diagnostic::new(&codes::UNCLOSED, text.span(*at, *at), message).with_help(help));
    }
    if !said.is_empty() {
        return;
    }
    for at in text.tokens.lone_brackets.iter().take(MAX_REPORTS) {
        let bracket = text.tokens.mark(*at);
        let closing = match bracket {
            "(" => ")",
            "[" => "]",
            "{" => "}",
            _ => "",
        };
        let message = match closing {
            "" => format!("this `{bracket}` closes nothing"),
            _ => format!("this `{bracket}` has no `{closing}`"),
        };
        said.push(Diagnostic::new(&codes::UNCLOSED, text.span(*at, *at), message));
    }
}

/// Unknown escapes, and numbers beyond their range.
fn literals(text: Text<'_>, said: &mut Vec<Diagnostic>) {
    for (at, token) in text.tokens.list.iter().enumerate() {
        let written = text.tokens.text_of(at);
        match token.kind {
            Kind::String if text.tokens.open_strings.binary_search(&at).is_err() => {
                said.extend(bad_escape(text, token.start, written));
            }
            Kind::Number => {
                let minus = at
                    .checked_sub(1)
                    .is_some_and(|minus| text.tokens.mark(minus) == "-" && !text.tokens.ends_operand(minus));
                let unsigned = written.ends_with(['u', 'U']);
                let hex = written.starts_with("0x");
                let value = if !hex && written.contains(['.', 'e', 'E']) {
                    literal::float(written, minus)
                } else {
                    literal::int(written, minus && !unsigned)
                };
                if let Err(wrong) = value {
                    said.push(Diagnostic::new(&codes::BAD_NUMBER, text.span(at, at), wrong.message));
                }
            }
            _ => {}
        }
    }
}

fn bad_escape(text: Text<'_>, start: usize, written: &str) -> Option<Diagnostic> {
    let (raw, from, to) = literal::content(written);
    let body = written.get(from..to).filter(|_| !raw)?;
    let blob = written.starts_with(['b', 'B']);
    let value =
        if blob { literal::unescape_bytes(body).map(drop) } else { literal::unescape(body).map(drop) };
    let (first, mut last) = value.err()?;
    last = last.min(body.len());
    while !body.is_char_boundary(last) {
        last += 1;
    }
    let escape = body.get(first..last).unwrap_or("\\");
    let span = text.place.span(start + from + first, start + from + last);
    let diagnostic = Diagnostic::new(&codes::BAD_ESCAPE, span, format!("`{escape}` is not an escape"));
    let digits = escape.get(2..).filter(|_| escape.starts_with("\\u") || escape.starts_with("\\U"));
    let surrogate = digits
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .is_some_and(|value| (0xd800..0xe000).contains(&value));
    if blob && (escape.starts_with("\\u") || escape.starts_with("\\U")) {
        return Some(diagnostic.with_help("bytes have the escapes `\\x` and `\\` with three octal digits"));
    }
    Some(if surrogate {
        diagnostic.with_help(
            "half of a surrogate pair is not a character; write `\\U` with the 8 digits of the character",
        )
    } else {
        diagnostic.with_help("write `\\\\` for a backslash, or put `r` before the quote")
    })
}

/// An error of the parser.
fn of_parser(text: Text<'_>, mistake: Mistake) -> Diagnostic {
    let tokens = text.tokens;
    let at = tokens.list.partition_point(|token| token.end <= mistake.at);
    let word = tokens.text_of(at);
    match mistake.kind {
        MistakeKind::Levels => {
            let message = format!("more than {MAX_LEVELS} levels of `? :` and brackets");
            return Diagnostic::new(&codes::TOO_LARGE, text.span(at, at), message)
                .with_help("move parts of it to `variables`");
        }
        MistakeKind::Number => {
            let message = format!("`{word}` is beyond the range of its type");
            return Diagnostic::new(&codes::BAD_NUMBER, text.span(at, at), message);
        }
        MistakeKind::String => {
            let message = "this string has an unknown escape";
            return Diagnostic::new(&codes::BAD_ESCAPE, text.span(at, at), message);
        }
        MistakeKind::Reserved => return familiar::reserved_word(text.span(at, at), word),
        MistakeKind::BackQuote | MistakeKind::Grammar => {}
    }
    if tokens.list.is_empty() {
        return Diagnostic::new(&codes::SYNTAX, text.span(0, 0), "the expression is empty");
    }
    if at >= tokens.list.len() {
        let end = tokens.list.len();
        return Diagnostic::new(&codes::SYNTAX, text.span(end, end), "the expression is not complete")
            .with_label(expected(text, end));
    }
    if begins_operand(text, at)
        && !tokens.ends_operand(at)
        && at.checked_sub(1).is_none_or(|dot| tokens.mark(dot) != ".")
    {
        // The parser gave up at the beginning of a part that it could not read.
        let span = text.span(at, tokens.list.len() - 1);
        return Diagnostic::new(&codes::SYNTAX, span, "this part of the expression cannot be read");
    }
    let shown = match word.char_indices().nth(39) {
        Some((cut, _)) => format!("{}…", word.get(..cut).unwrap_or("")),
        None => word.to_owned(),
    };
    Diagnostic::new(&codes::SYNTAX, text.span(at, at), format!("`{shown}` is not expected here"))
        .with_label(expected(text, at))
}

/// Whether a token is a name or a literal.
fn begins_operand(text: Text<'_>, at: usize) -> bool {
    text.tokens.token(at).is_some_and(|token| token.kind != Kind::Mark) && text.tokens.mark(at) != "in"
}

/// What could be at a token, told by the one before it and the bracket around it.
fn expected(text: Text<'_>, at: usize) -> String {
    let tokens = text.tokens;
    if at.checked_sub(1).is_some_and(|before| tokens.mark(before) == ".") {
        return "expected a field".to_owned();
    }
    if !tokens.ends_operand(at) {
        return "expected an expression".to_owned();
    }
    // At a closing bracket it is the bracket that it closes.
    let around = match tokens.mark(at) {
        ")" | "]" | "}" => tokens.partner(at),
        _ => tokens.inside(at.min(tokens.list.len().saturating_sub(1))),
    };
    match around.map(|open| (open, tokens.mark(open))) {
        Some((open, "(")) if tokens.opens_call(open) => "expected an operator, `,` or `)`".to_owned(),
        Some((_, "(")) => "expected an operator or `)`".to_owned(),
        Some((open, "[")) if tokens.ends_operand(open) => "expected an operator or `]`".to_owned(),
        Some((_, "[")) => "expected an operator, `,` or `]`".to_owned(),
        Some((_, "{")) => "expected an operator, `:`, `,` or `}`".to_owned(),
        _ => "expected an operator or the end".to_owned(),
    }
}
