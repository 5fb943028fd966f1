//! Statements that lack a part which is easily forgotten, and words of other languages at their beginning.
//!
//! Called by `recovery` before it says what the grammar expected, which is named at the place *after* the slip: `when` is
//! taken for the name that is missing.

use crate::syntax::build::Builder;
use crate::syntax::tokens::{Kind, Token};
use bayplan_diag::{Diagnostic, Span, codes};

/// Statements whose second word is not `when`: the first word, what it needs, and how it is written.
const NEEDS: [(&str, &str, &str); 5] = [
    ("prefer", "a number, how much better such a node is", "prefer 10 when …"),
    ("except", "an end and a reason", "except until 2030-01-31 because \"…\" when …"),
    ("victim", "a name for the pod that may be evicted", "victim v when v.priority < 10"),
    ("protect", "a name for the pod that stays", "protect v when v.priority > 10"),
    ("guard", "the condition that must hold on the node", "guard node.pods.count() > 2 else \"…\""),
];

/// Words of other languages at the beginning of a statement, with what to write.
const ELSEWHERE: [(&str, &str); 8] = [
    ("for", "a condition about the elements of a list is `l.exists(x, …)` or `l.all(x, …)`"),
    ("foreach", "a condition about the elements of a list is `l.exists(x, …)` or `l.all(x, …)`"),
    ("while", "a condition about the elements of a list is `l.exists(x, …)` or `l.all(x, …)`"),
    ("return", "a score gives its value with `give E when C`, a filter decides with `require` and `reject`"),
    ("var", "write `let NAME = E`"),
    ("const", "write `let NAME = E`, or `param NAME = E` for what a profile may change"),
    ("function", "write `def NAME(x: int): bool = E`"),
    ("else", "conditions are tried in their order: write another `give E when C`, or `C ? a : b`"),
];

/// `prefer when E`, `score s weight 0.5`.
pub(super) fn explain(builder: &Builder<'_>, tokens: &[Token], at: usize) -> Option<Diagnostic> {
    lacks(builder, tokens)
        .or_else(|| end(builder, tokens))
        .or_else(|| weight(builder, tokens, at))
        .or_else(|| operator(builder, tokens, at))
        .or_else(|| next_line(builder, tokens, at))
}

/// What begins a line and no statement, so that the statement before it would go on there: `x = x + 1`, `for …`.
fn next_line(builder: &Builder<'_>, tokens: &[Token], at: usize) -> Option<Diagnostic> {
    let (before, token) = (tokens.get(at.checked_sub(1)?)?, tokens.get(at)?);
    let word = builder.word(token)?;
    if !builder.text.get(before.end..token.start)?.contains('\n') {
        return None;
    }
    let span = builder.span(token.start, token.end);
    let rest = builder.text.get(token.end..)?.trim_start_matches([' ', '\t']);
    let sets = rest.starts_with('=') && !rest.starts_with("==")
        || ["+=", "-=", "*=", "/=", "++", "--"].iter().any(|mark| rest.starts_with(mark));
    if !sets {
        return begins(word, span, false);
    }
    let said = Diagnostic::new(&codes::UNKNOWN_STATEMENT, span, format!("`{word}` begins no statement"));
    Some(said.with_help("a let is set once: give another value another name, `let NAME = E`"))
}

fn text<'a>(builder: &Builder<'a>, token: &Token) -> &'a str {
    builder.text.get(token.start..token.end).unwrap_or("")
}

fn lacks(builder: &Builder<'_>, tokens: &[Token]) -> Option<Diagnostic> {
    let (first, second) = (tokens.first()?, tokens.get(1)?);
    let (word, needs, form) = NEEDS.iter().find(|(word, ..)| builder.word(first) == Some(*word))?;
    let is_begun = match (*word, builder.word(second)) {
        (_, Some("when")) => false,
        ("prefer", Some(_)) => tokens.iter().any(|token| builder.word(token) == Some("when")),
        ("except", Some("because")) => false,
        _ => true,
    };
    if is_begun {
        return None;
    }
    let span = builder.span(first.start, second.end);
    let said = Diagnostic::new(&codes::SYNTAX, span, format!("`{word}` lacks {needs}"));
    Some(said.with_help(format!("write `{form}`")))
}

/// `except until tomorrow …`, `except until 2030-01-31 when …`: an end that is not a day, or no reason after it.
fn end(builder: &Builder<'_>, tokens: &[Token]) -> Option<Diagnostic> {
    if builder.word(tokens.first()?) != Some("except") {
        return None;
    }
    let until = tokens.iter().position(|token| builder.word(token) == Some("until"))?;
    let first = tokens.get(until + 1)?;
    let stop = |token: &&Token| !matches!(builder.word(token), Some("because" | "when"));
    let last = tokens.get(until + 1..)?.iter().take_while(stop).last()?;
    let written = builder.text.get(first.start..last.end)?;
    let digits: Vec<usize> = written.split('-').map(str::len).collect();
    let is_day = digits == [4, 2, 2] && written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if !is_day {
        let span = builder.span(first.start, last.end);
        let said = Diagnostic::new(&codes::SYNTAX, span, format!("`{}` is not a day", written.trim()));
        return Some(said.with_help("a day is written as in `2030-01-31`, without quotes"));
    }
    let behind = tokens.iter().find(|token| token.start >= last.end)?;
    if builder.word(behind) != Some("when") {
        return None;
    }
    let span = builder.span(tokens.first()?.start, last.end);
    let said = Diagnostic::new(&codes::SYNTAX, span, "this exception has no reason");
    Some(said.with_help(format!("write `except until {written} because \"…\" when …`")))
}

/// A weight, or the number of `prefer`, that is not whole.
fn weight(builder: &Builder<'_>, tokens: &[Token], at: usize) -> Option<Diagnostic> {
    odd_weight(builder, tokens).or_else(|| fraction(builder, tokens, at))
}

/// `weight "3"`, `weight: 3`, `weight -1`, `weight 50%`, `prefer -1 when …`.
fn odd_weight(builder: &Builder<'_>, tokens: &[Token]) -> Option<Diagnostic> {
    let is_word = |token: &Token| matches!(builder.word(token), Some("weight" | "prefer"));
    let at = tokens.iter().position(is_word)?;
    let (word, next) = (tokens.get(at)?, tokens.get(at + 1)?);
    let behind = tokens.get(at + 2);
    let (end, number) = match (next.kind, text(builder, next)) {
        (Kind::String, written) => (next.end, written.trim_matches(['"', '\''])),
        (Kind::Mark, "-" | ":" | "=") => (behind?.end, text(builder, behind?)),
        (Kind::Number, written) if behind.is_some_and(|mark| text(builder, mark) == "%") => {
            (behind?.end, written)
        }
        (Kind::Number, written) => (next.end, written.strip_suffix('%')?),
        _ => return None,
    };
    let span = builder.span(next.start, end);
    let written = builder.text.get(next.start..end)?;
    let word = text(builder, word);
    let message = match text(builder, next) {
        mark @ (":" | "=") => format!("`{word}` is followed by its number, without `{mark}`"),
        _ => format!("`{written}` is not a whole number"),
    };
    let said = Diagnostic::new(&codes::SYNTAX, span, message);
    Some(match number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty() {
        true => said.with_help(format!("a weight is a whole number, 1 or more: `{word} {number}`")),
        false => said.with_help(format!("a weight is a whole number, 1 or more, as in `{word} 2`")),
    })
}

fn fraction(builder: &Builder<'_>, tokens: &[Token], at: usize) -> Option<Diagnostic> {
    let near = [at.checked_sub(1), Some(at)].into_iter().flatten();
    let number = near.filter_map(|at| Some((at, tokens.get(at)?))).find(|(at, token)| {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).and_then(|before| builder.word(before));
        token.kind == Kind::Number && matches!(before, Some("weight" | "prefer"))
    });
    let (_, token) = number?;
    let written = text(builder, token);
    let whole = written.bytes().all(|byte| byte.is_ascii_digit());
    (!whole).then(|| {
        let span = builder.span(token.start, token.end);
        Diagnostic::new(&codes::SYNTAX, span, format!("`{written}` is not a whole number")).with_help(
            "a weight is a whole number, 1 or more: weigh others higher, as in `weight 2` beside `weight 1`",
        )
    })
}

/// `a like "b"`: an operator of another language.
fn operator(builder: &Builder<'_>, tokens: &[Token], at: usize) -> Option<Diagnostic> {
    let token = tokens.get(at)?;
    let right = match builder.word(token)? {
        "like" | "LIKE" | "ilike" => {
            "`a.matches(\"^web-.*\")`, `a.startsWith(\"web-\")`, or `a.contains(\"web\")`"
        }
        "between" | "BETWEEN" => "`a >= 1 && a <= 5`",
        "startsWith" | "startswith" => "`a.startsWith(b)`",
        "endsWith" | "endswith" => "`a.endsWith(b)`",
        "contains" | "CONTAINS" | "includes" => "`a.contains(b)`, or `b in a` of a list or map",
        "has" => "`b in a`",
        _ => return None,
    };
    let span = builder.span(token.start, token.end);
    let said =
        Diagnostic::new(&codes::FOREIGN_WORD, span, format!("`{}` is not an operator", text(builder, token)));
    Some(said.with_help(format!("write {right}")))
}

/// `return …`, `x = x + 1`: at the beginning of a statement.
pub(super) fn begins(word: &str, span: Span, sets: bool) -> Option<Diagnostic> {
    if let Some((_, help)) = ELSEWHERE.iter().find(|(known, _)| *known == word) {
        let said = Diagnostic::new(&codes::UNKNOWN_STATEMENT, span, format!("`{word}` begins no statement"));
        return Some(said.with_help(*help));
    }
    sets.then(|| {
        Diagnostic::new(&codes::UNKNOWN_STATEMENT, span, format!("`{word}` is not declared here"))
            .with_help(format!("write `let {word} = …`; it is set once: another value gets another name"))
    })
}
