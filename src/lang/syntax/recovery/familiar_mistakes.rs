//! Mistakes that come from other languages, each with a message of its own.
//!
//! Called by `recovery` for a statement that the grammar refuses, before its general message. One function per
//! mistake; the first one that recognizes it reports it.

use crate::language::statements::{CLAUSES, Naming, RESERVED, beginning_with};
use crate::syntax::build::Builder;
use crate::syntax::familiar::{self, WordOperator};
use crate::syntax::literal;
use crate::syntax::recovery::expected::Expected;
use crate::syntax::recovery::segments::in_blocks;
use crate::syntax::tokens::{Kind, Token};
use bayplan_diag::{Diagnostic, Span, codes};

/// Reports a mistake that is known by name. `tokens` are those of the statement, `at` the one that the
/// grammar did not take (the number of tokens when it missed something at the end).
pub(in crate::syntax) fn explain(
    builder: &mut Builder<'_>,
    tokens: &[Token],
    at: usize,
    expected: &Expected,
) -> bool {
    let found = [
        words,
        unit,
        unit_apart,
        equals,
        marks,
        nested_quote,
        reason_quotes,
        message_literal,
        remainder,
        doubled,
        otherwise,
        nameless,
        named,
        reserved,
    ]
    .iter()
    .find_map(|check| check(builder, tokens, at, expected));
    match found {
        Some(diagnostic) => {
            builder.diagnostics.push(diagnostic);
            true
        }
        None => false,
    }
}

fn text<'a>(builder: &Builder<'a>, token: &Token) -> &'a str {
    builder.text.get(token.start..token.end).unwrap_or("")
}

fn place(builder: &Builder<'_>, token: &Token) -> Span {
    builder.span(token.start, token.end)
}

fn foreign(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::FOREIGN_WORD, span, message)
}

/// `and`, `or`, `not`: all of the statement in one diagnostic.
fn words(builder: &Builder<'_>, tokens: &[Token], at: usize, _: &Expected) -> Option<Diagnostic> {
    let here = [at.checked_sub(1), Some(at)].into_iter().flatten().filter_map(|at| tokens.get(at));
    let sign = |token: &Token| match builder.word(token) {
        Some("and" | "AND") => Some("&&"),
        Some("or" | "OR") => Some("||"),
        Some("not" | "NOT") => Some("!"),
        Some("is") => Some("=="),
        _ => None,
    };
    if !here.into_iter().any(|token| sign(token).is_some()) {
        return None;
    }
    let written = |token: &Token, index: usize| {
        // a field `.not` or an argument's name is not an operator
        let dotted = index
            .checked_sub(1)
            .and_then(|i| tokens.get(i))
            .is_some_and(|before| text(builder, before) == ".");
        !dotted && sign(token).is_some()
    };
    let all: Vec<&Token> = tokens
        .iter()
        .enumerate()
        .filter(|(index, token)| written(token, *index))
        .map(|(_, token)| token)
        .collect();
    let word = text(builder, all.first()?);
    let of = |token: &&Token| {
        let mark = sign(token)?;
        let blank = builder.text.get(token.end..).is_some_and(|rest| rest.starts_with(' '));
        Some(WordOperator {
            span: place(builder, token),
            mark,
            with_blank: builder.span(token.start, token.end + usize::from(blank)),
            end: negated_comparison(builder, tokens, token)
                .filter(|_| mark == "!")
                .map(|end| builder.span(end, end)),
        })
    };
    let found: Vec<WordOperator> = all.iter().filter_map(of).collect();
    familiar::operators(&found, word, "here")
}

/// Where the operand of a `not` ends, if it has an operator of its own outside of brackets.
fn negated_comparison(builder: &Builder<'_>, tokens: &[Token], not: &Token) -> Option<usize> {
    let (mut depth, mut end, mut operator) = (0, not.end, false);
    for token in tokens.iter().filter(|token| token.start >= not.end) {
        let written = text(builder, token);
        match written {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => break,
            ")" | "]" | "}" => depth -= 1,
            "and" | "or" | "AND" | "OR" | "&&" | "||" | "," | "?" | ":" | "else" | "when" if depth == 0 => {
                break;
            }
            "in" | "is" | "matches" | "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "/"
            | "??"
                if depth == 0 =>
            {
                operator = true;
            }
            _ => {}
        }
        end = token.end;
    }
    operator.then_some(end)
}

/// `500Mb`, `2GB`, `30sec`
fn unit(builder: &Builder<'_>, tokens: &[Token], at: usize, expected: &Expected) -> Option<Diagnostic> {
    let token = tokens.get(at).filter(|token| token.kind == Kind::Number)?;
    let number = text(builder, token);
    if expected.name && !expected.expression {
        let diagnostic =
            Diagnostic::new(&codes::SYNTAX, place(builder, token), format!("`{number}` is not a name"));
        return Some(diagnostic.with_help("a name begins with a letter"));
    }
    let lettered = number.chars().any(|c| c.is_ascii_alphabetic() || c == '_');
    let known = crate::syntax::recovery::segments::is_number(number);
    if !lettered || known {
        return None;
    }
    let wrong = literal::unknown_unit(number);
    let mut diagnostic = Diagnostic::new(&codes::BAD_NUMBER, place(builder, token), wrong.message);
    diagnostic.help = wrong.help;
    Some(diagnostic)
}

/// `10 Gi`, `10 GiB`, `3 days`
fn unit_apart(builder: &Builder<'_>, tokens: &[Token], at: usize, _: &Expected) -> Option<Diagnostic> {
    let token = tokens.get(at).filter(|token| token.kind == Kind::Word)?;
    let before = tokens.get(at.checked_sub(1)?).filter(|before| before.kind == Kind::Number)?;
    let (number, unit) = (text(builder, before), text(builder, token));
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_key = tokens.get(at + 1).is_some_and(|next| text(builder, next) == ":");
    if !is_plain || is_key {
        return None;
    }
    let joined = format!("{number}{unit}");
    let span = builder.span(before.start, token.end);
    let apart = Diagnostic::new(&codes::BAD_NUMBER, span, format!("`{number} {unit}` is not an amount"));
    if crate::syntax::recovery::segments::is_number(&joined) {
        return Some(apart.with_fix(format!("write `{joined}`"), span, joined));
    }
    let help = literal::meant_unit(number, unit)?;
    Some(apart.with_help(help))
}

/// Whether a token is followed, without a blank, by a mark that begins so.
fn follows(builder: &Builder<'_>, tokens: &[Token], at: usize, mark: &str) -> bool {
    let (Some(token), Some(next)) = (tokens.get(at), tokens.get(at + 1)) else { return false };
    next.start == token.end && text(builder, next).starts_with(mark)
}

/// `=` where something is compared, `===`, `:=`
fn equals(builder: &Builder<'_>, tokens: &[Token], at: usize, expected: &Expected) -> Option<Diagnostic> {
    let token = tokens.get(at)?;
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    let touches = before.is_some_and(|before| before.end == token.start);
    match (text(builder, token), before.map(|before| text(builder, before))) {
        ("=", Some(sign @ ("==" | "!="))) if touches => {
            let start = before.map_or(token.start, |before| before.start);
            let span = builder.span(start, token.end);
            let message = format!("`{sign}=` is written `{sign}` here");
            Some(foreign(span, message).with_fix(format!("write `{sign}`"), span, sign))
        }
        ("=", Some(":")) if touches => {
            let start = before.map_or(token.start, |before| before.start);
            let span = builder.span(start, token.end);
            Some(foreign(span, "`:=` is written `=` here").with_fix("write `=`", span, "="))
        }
        ("=", Some(_)) if follows(builder, tokens, at, "~") => {
            let span = builder.span(token.start, token.end + 1);
            let said = foreign(span, "`=~` is not an operator");
            Some(said.with_help("write `a.matches(\"^web-.*\")`"))
        }
        ("=", Some(_)) if follows(builder, tokens, at, ">") => {
            let span = builder.span(token.start, token.end + 1);
            let said = foreign(span, "the language has no `=>`");
            Some(
                said.with_help(
                    "an element gets a name, and a condition follows: `l.exists(x, x.key == \"a\")`",
                ),
            )
        }
        ("=", Some(_)) if expected.operator && !expected.wants("`=`") => {
            let span = place(builder, token);
            Some(foreign(span, "`=` sets, `==` compares").with_fix("write `==`", span, "=="))
        }
        ("=>", _) => None,
        ("==", _) if expected.wants("`=`") => {
            let span = place(builder, token);
            Some(foreign(span, "`==` compares, `=` sets").with_fix("write `=`", span, "="))
        }
        _ => None,
    }
}

/// A mark that begins a statement and is none of the language, if it is known by name.
pub(in crate::syntax) fn mark_at(builder: &Builder<'_>, token: &Token) -> Option<Diagnostic> {
    marks(builder, std::slice::from_ref(token), 0, &Expected::default())
}

/// Marks that the language does not have.
fn marks(builder: &Builder<'_>, tokens: &[Token], at: usize, _: &Expected) -> Option<Diagnostic> {
    let token = tokens.get(at)?;
    let span = place(builder, token);
    let next = tokens.get(at + 1).filter(|next| next.start == token.end).map(|next| text(builder, next));
    let before = at.checked_sub(1).and_then(|at| tokens.get(at)).filter(|before| before.end == token.start);
    if let (">", Some(before)) = (text(builder, token), before)
        && text(builder, before) == "<"
    {
        let span = builder.span(before.start, token.end);
        return Some(foreign(span, "`<>` is written `!=` here").with_fix("write `!=`", span, "!="));
    }
    let (message, fix) = match text(builder, token) {
        "~" if next == Some("=") => ("`~=` is written `matches` here".to_owned(), None),
        "->" => ("the language has no `->`".to_owned(), None),
        "^" => ("a power is written `pow(a, b)`".to_owned(), None),
        mark => familiar::mark(mark, "here")?,
    };
    let mut diagnostic = foreign(span, message);
    if let Some(fix) = fix {
        diagnostic = diagnostic.with_fix(format!("write `{fix}`"), span, fix);
    }
    // The curved quote at the other end of the text goes with the first one; without it there is no string.
    if let (Some(quote @ ("\"" | "'")), Some(fix)) = (fix, diagnostic.fixes.last_mut())
        && let Some((start, end)) = familiar::closing_quote(builder.text, token, quote)
    {
        fix.edits.push(bayplan_diag::Edit { span: builder.span(start, end), text: quote.to_owned() });
    }
    Some(diagnostic)
}

/// `reject "node is "bad" now"`: a quote in a reason ends it.
fn nested_quote(builder: &Builder<'_>, tokens: &[Token], at: usize, _: &Expected) -> Option<Diagnostic> {
    let before = at.checked_sub(1).and_then(|at| tokens.get(at))?;
    let token = tokens.get(at)?;
    let double = |token: &Token| token.kind == Kind::String && text(builder, token).ends_with('"');
    if !double(before) || token.kind == Kind::Mark || before.end != token.start {
        return None;
    }
    // the string that goes on after the quoted words touches the last of them
    let next = tokens.iter().enumerate().skip(at).find(|(_, token)| double(token))?;
    let last = next.0.checked_sub(1).and_then(|at| tokens.get(at))?;
    if next.0 > at && last.end != next.1.start {
        return None;
    }
    let escaped =
        |start: usize| bayplan_diag::Edit { span: builder.span(start, start + 1), text: "\\\"".to_owned() };
    let message = "a quote inside a text ends it";
    let span = builder.span(before.end - 1, next.1.start + 1);
    let diagnostic =
        Diagnostic::new(&codes::SYNTAX, span, message).with_help("write `\\\"` for a quote inside a text");
    Some(diagnostic.with_edits("escape the quotes", vec![escaped(before.end - 1), escaped(next.1.start)]))
}

/// `reject 'text'`
fn reason_quotes(
    builder: &Builder<'_>,
    tokens: &[Token],
    at: usize,
    expected: &Expected,
) -> Option<Diagnostic> {
    let token = tokens.get(at).filter(|token| token.kind == Kind::String && expected.template)?;
    let string = text(builder, token);
    let (_, start, end) = literal::content(string);
    let body = string.get(start..end).unwrap_or("");
    let span = place(builder, token);
    let diagnostic =
        Diagnostic::new(&codes::SYNTAX, span, "a reason is written in double quotes, on one line");
    let plain = !body.contains(['"', '\\', '\n', '{']);
    Some(if plain {
        diagnostic.with_fix("use double quotes", span, format!("\"{body}\""))
    } else {
        diagnostic
    })
}

/// `T{f: v}`
fn message_literal(
    builder: &Builder<'_>,
    tokens: &[Token],
    at: usize,
    expected: &Expected,
) -> Option<Diagnostic> {
    let brace = tokens.get(at).filter(|token| text(builder, token) == "{")?;
    let before = at.checked_sub(1).and_then(|at| tokens.get(at)).filter(|token| token.kind == Kind::Word)?;
    let field = tokens.get(at + 1).is_some_and(|token| token.kind == Kind::Word);
    let colon = tokens.get(at + 2).is_some_and(|token| text(builder, token) == ":");
    let braces = expected.sentence().is_some_and(|text| text.contains('{'));
    (field && colon && !braces).then(|| {
        foreign(place(builder, brace), "the language has no message literals")
            .with_help(format!("a map is written `{{\"key\": value}}`, without `{}`", text(builder, before)))
    })
}

/// `7% 3`: the `%` belongs to the number.
fn remainder(builder: &Builder<'_>, tokens: &[Token], at: usize, _: &Expected) -> Option<Diagnostic> {
    let token = tokens.get(at)?;
    let percent =
        at.checked_sub(1).and_then(|at| tokens.get(at)).filter(|token| text(builder, token) == "%")?;
    let number =
        at.checked_sub(2).and_then(|at| tokens.get(at)).filter(|token| token.kind == Kind::Number)?;
    let operand = !matches!(token.kind, Kind::Mark) || matches!(text(builder, token), "(" | "[" | "-" | "!");
    (operand && number.end == percent.start).then(|| {
        let share = builder.text.get(number.start..percent.end).unwrap_or("");
        let first = text(builder, number);
        foreign(builder.span(number.start, percent.end), format!("`{share}` is a share here"))
            .with_help(format!("write `{first} % …` for the remainder"))
    })
}

/// `give a when C else b`
fn otherwise(builder: &Builder<'_>, tokens: &[Token], at: usize, _: &Expected) -> Option<Diagnostic> {
    let token = tokens.get(at).filter(|token| builder.word(token) == Some("else"))?;
    let first = tokens.first().and_then(|token| builder.word(token));
    let when = tokens.get(..at)?.iter().any(|token| builder.word(token) == Some("when"));
    (first == Some("give") && when).then(|| {
        foreign(place(builder, token), "`give … when` has no `else`")
            .with_help("write `give C ? a : b`, or a second `give`: the first whose condition holds counts")
    })
}

/// A statement that wants a name and has none: `filter {`
fn nameless(builder: &Builder<'_>, tokens: &[Token], at: usize, expected: &Expected) -> Option<Diagnostic> {
    let word = at.checked_sub(1).and_then(|at| tokens.get(at)).and_then(|before| builder.word(before))?;
    let token = tokens.get(at).filter(|token| text(builder, token) == "{" && expected.name)?;
    beginning_with(word).any(|id| id.def().naming == Naming::Rule).then(|| {
        Diagnostic::new(&codes::SYNTAX, place(builder, token), format!("this `{word}` has no name"))
            .with_help(format!("write `{word} NAME {{ … }}`; explanations and tests use the name"))
    })
}

/// A name where a statement has none: `permit whole {`
fn named(builder: &Builder<'_>, tokens: &[Token], at: usize, expected: &Expected) -> Option<Diagnostic> {
    let statement =
        at.checked_sub(1).and_then(|at| tokens.get(at)).and_then(|before| builder.word(before))?;
    let token = tokens.get(at).filter(|token| token.kind == Kind::Word && expected.only("`{`"))?;
    let nameless = beginning_with(statement)
        .any(|id| id.has_block() && id.def().words == statement && id.def().naming == Naming::None);
    nameless.then(|| {
        let help = format!("write `{statement} {{ … }}`; it is called after its policy");
        Diagnostic::new(&codes::SYNTAX, place(builder, token), format!("`{statement}` has no name"))
            .with_help(help)
    })
}

/// A part that a statement has already: `give 1 when a when b`.
fn doubled(builder: &Builder<'_>, tokens: &[Token], at: usize, _: &Expected) -> Option<Diagnostic> {
    let token = tokens.get(at)?;
    let word = builder.word(token)?;
    let clause = CLAUSES.iter().find(|clause| clause.word == word && !clause.twice.is_empty())?;
    let mut depth = 0usize;
    for earlier in tokens.get(..at)?.iter().rev() {
        match text(builder, earlier) {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" if depth == 0 => return None,
            "(" | "[" | "{" => depth -= 1,
            known if depth == 0 && known == word => {
                let message = format!("this statement has `{word}` twice");
                return Some(
                    Diagnostic::new(&codes::DUPLICATE_CLAUSE, place(builder, token), message)
                        .with_place(place(builder, earlier), "here already")
                        .with_help(clause.twice),
                );
            }
            // Another statement: the text before it does not belong to this one.
            ";" if depth == 0 => return None,
            known if depth == 0 && in_blocks(known) => return None,
            _ => {}
        }
    }
    None
}

/// A reserved word where a name is declared or used.
fn reserved(builder: &Builder<'_>, tokens: &[Token], at: usize, expected: &Expected) -> Option<Diagnostic> {
    let token = tokens.get(at)?;
    let word = builder.word(token)?;
    let span = place(builder, token);
    if word == "if" && expected.all_words().any(|word| word == "when") {
        return Some(foreign(span, "`if` is written `when` here").with_fix("write `when`", span, "when"));
    }
    if word == "if" {
        return Some(no_if(span));
    }
    let before = at.checked_sub(1).and_then(|at| tokens.get(at)).and_then(|before| builder.word(before));
    let declared =
        before.is_some_and(|word| beginning_with(word).any(|id| id.def().naming == Naming::Declares));
    (RESERVED.contains(&word) && expected.name && declared).then(|| {
        Diagnostic::new(&codes::RESERVED_NAME, span, format!("`{word}` is a reserved word"))
            .with_help("take another name")
    })
}

/// `if`, at the beginning of a statement or in one.
pub(in crate::syntax) fn no_if(span: Span) -> Diagnostic {
    foreign(span, "the language has no `if`")
        .with_help("put the condition last: `reject \"…\" when E`, `give E when C`; a choice is `C ? a : b`")
}
