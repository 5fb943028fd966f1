//! Operators written as words, `and`, `or`, `not`, `is`, `matches`, and words that CEL reserves.

use super::Text;
use super::familiar::foreign;
use crate::language::statements::RESERVED;
use crate::syntax::familiar::{self, WordOperator};
use crate::syntax::tokens::Kind;
use bayplan_diag::{Diagnostic, Edit, Span, codes};

/// `and`, `or`, `not`, `is`: all of the expression in one diagnostic.
pub(super) fn operators(text: Text<'_>) -> Option<Diagnostic> {
    let signs = signs(text);
    let word = text.tokens.text_of(signs.first()?.first);
    let of = |sign: &Sign| {
        let span = text.span(sign.first, sign.last);
        WordOperator {
            span,
            mark: sign.mark,
            with_blank: span.to(text.span(sign.last + 1, sign.last + 1).at_start()),
            end: negated_comparison(text, sign.last)
                .filter(|_| sign.mark == "!")
                .map(|end| text.span(end, end).at_end()),
        }
    };
    let found: Vec<WordOperator> = signs.iter().map(of).collect();
    familiar::operators(&found, word, "in CEL")
}

/// A word, or `is not`, that is used as an operator.
struct Sign {
    first: usize,
    last: usize,
    mark: &'static str,
}

/// The words that are used as operators, from left to right.
fn signs(text: Text<'_>) -> Vec<Sign> {
    let tokens = text.tokens;
    let mut found: Vec<Sign> = Vec::new();
    for at in 0..tokens.list.len() {
        let operator =
            at.checked_sub(1).is_some_and(|before| found.last().is_some_and(|sign| sign.last == before));
        let field = text.dot_before(at).is_some();
        let between = tokens.ends_operand(at) && !operator;
        let next = |text: &str| tokens.text_of(at + 1) == text;
        let begins =
            tokens.token(at + 1).is_some_and(|next| next.kind != Kind::Mark) && tokens.mark(at + 1) != "in";
        let (last, mark) = match tokens.word(at) {
            Some("and" | "AND") if between => (at, "&&"),
            Some("or" | "OR") if between => (at, "||"),
            Some("is") if between && next("not") => (at + 1, "!="),
            Some("is") if between => (at, "=="),
            Some("not" | "NOT") if !tokens.ends_operand(at) || operator => {
                // With brackets after it, it is a call, unless an operator in words precedes it.
                if !begins && !operator {
                    continue;
                }
                (at, "!")
            }
            _ => continue,
        };
        let taken = found.last().is_some_and(|sign| sign.last >= at);
        if !field && !taken {
            found.push(Sign { first: at, last, mark });
        }
    }
    found
}

/// The last token of the operand of a `not`, if it has an operator of its own outside of brackets.
fn negated_comparison(text: Text<'_>, not: usize) -> Option<usize> {
    let tokens = text.tokens;
    let (mut last, mut operator) = (not, false);
    let mut at = not + 1;
    while at < tokens.list.len() {
        match tokens.text_of(at) {
            "(" | "[" | "{" => at = tokens.partner(at)?,
            ")" | "]" | "}" | "and" | "or" | "AND" | "OR" | "&&" | "||" | "," | "?" | ":" => break,
            "in" | "is" | "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "/" => {
                operator = true
            }
            _ => {}
        }
        last = at;
        at += 1;
    }
    operator.then_some(last)
}

/// `a not in b`
pub(super) fn not_in(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    tokens.word(at).filter(|word| matches!(*word, "not" | "NOT"))?;
    if tokens.mark(at + 1) != "in" || !tokens.ends_operand(at) {
        return None;
    }
    let diagnostic = foreign(text.span(at, at + 1), "`a not in b` is written `!(a in b)` in CEL");
    let (Some(first), Some(last)) = (text.path_before(at), path_behind(text, at + 2)) else {
        return Some(diagnostic);
    };
    let edits = vec![
        Edit { span: text.span(first, first).at_start(), text: "!(".to_owned() },
        Edit { span: text.span(at, at + 1), text: "in".to_owned() },
        Edit { span: text.span(last, last).at_end(), text: ")".to_owned() },
    ];
    Some(diagnostic.with_edits("write `!(… in …)`", edits))
}

/// The last token of the path or literal that begins at a token.
pub(super) fn path_behind(text: Text<'_>, at: usize) -> Option<usize> {
    let tokens = text.tokens;
    tokens.token(at)?;
    let mut last = match tokens.mark(at) {
        "(" | "[" | "{" => tokens.partner(at)?,
        "" => at,
        _ => return None,
    };
    loop {
        match tokens.mark(last + 1) {
            "." if tokens.word(last + 2).is_some() => last += 2,
            "." if tokens.mark(last + 2) == "?" && tokens.word(last + 3).is_some() => last += 3,
            "[" => last = tokens.partner(last + 1)?,
            "(" if tokens.opens_call(last + 1) => last = tokens.partner(last + 1)?,
            _ => return Some(last),
        }
    }
}

/// `a matches "b"`
pub(super) fn matches(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    tokens.word(at).filter(|word| *word == "matches")?;
    let first = text.path_before(at)?;
    let diagnostic = foreign(text.span(at, at), "`matches` is a method in CEL")
        .with_help("write `text.matches(\"…\")`; the pattern need not match the whole text");
    let pattern = tokens.token(at + 1).filter(|next| next.kind == Kind::String);
    let tighter = first.checked_sub(1).is_some_and(|sign| {
        matches!(
            tokens.mark(sign),
            "+" | "-" | "*" | "/" | "%" | "!" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "in"
        )
    });
    if pattern.is_none() || tighter || path_behind(text, at + 1) != Some(at + 1) {
        return Some(diagnostic);
    }
    let right = format!(".matches({})", tokens.text_of(at + 1));
    let span = text.span(at - 1, at - 1).at_end().to(text.span(at + 1, at + 1));
    Some(diagnostic.with_fix("call the method", span, right))
}

/// A reserved word where a name is.
pub(super) fn reserved(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    let written = tokens.text_of(at);
    if let Some(dot) = text.dot_before(at) {
        let literal = matches!(written, "in" | "true" | "false" | "null");
        if !literal || !tokens.ends_operand(dot) {
            return None;
        }
        let message = format!("`{written}` is a reserved word and no field");
        let help = format!("a map's key is written `[\"{written}\"]`");
        return Some(Diagnostic::new(&codes::RESERVED_NAME, text.span(dot, at), message).with_help(help));
    }
    let literal = |word: &str| matches!(word, "true" | "false" | "null" | "none");
    let word = tokens.word(at).filter(|word| RESERVED.contains(word) && !literal(word))?;
    Some(reserved_word(text.span(at, at), word))
}

pub(super) fn reserved_word(span: Span, word: &str) -> Diagnostic {
    let diagnostic =
        Diagnostic::new(&codes::RESERVED_NAME, span, format!("`{word}` is a reserved word and no name"));
    match word {
        "if" | "else" => diagnostic.with_help("a choice is written `C ? a : b`"),
        "for" | "while" | "loop" => {
            diagnostic.with_help("lists have the macros `all`, `exists`, `exists_one`, `filter` and `map`")
        }
        "let" | "var" | "const" => diagnostic.with_help("name parts of an expression under `variables`"),
        "return" => diagnostic.with_help("an expression is its own result: leave the word out"),
        _ => diagnostic.with_help("take another name"),
    }
}
