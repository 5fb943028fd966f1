//! Mistakes that come from other languages, also from the policy language: each with its CEL spelling.
//!
//! One function per mistake, asked at every token of a text that the parser refuses; and those that CEL's grammar
//! takes and its checker would refuse with less to say ([`accepted`]).

use super::words;
use super::{Text, units};
use crate::syntax::familiar;
use crate::syntax::tokens::Kind;
use bayplan_diag::{Diagnostic, Edit, Span, codes};

pub(super) use super::words::reserved_word;

pub(super) fn foreign(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::FOREIGN_WORD, span, message)
}

/// Every mistake of the table.
pub(super) fn all(text: Text<'_>, said: &mut Vec<Diagnostic>) {
    said.extend(words::operators(text));
    let checks = [
        units::unit,
        words::not_in,
        words::matches,
        words::reserved,
        equals,
        coalesce,
        lambda,
        safe_navigation,
        comment,
        marks,
        element,
        two_prefixes,
        half_choice,
        back_quotes,
        named_argument,
        last_comma,
    ];
    let mut at = 0;
    let mut until = None;
    while at < text.tokens.list.len() && said.len() < super::MAX_REPORTS {
        if let Some(found) = checks.iter().find_map(|check| check(text, at)) {
            // A mark of two tokens is one mistake.
            if until.is_none_or(|end| found.span.start >= end) {
                until = Some(found.span.end);
                said.push(found);
            }
        }
        at += 1;
    }
}

/// `a` and the marks that touch it and each other, from a token on.
fn joined<'a>(text: Text<'a>, at: usize, count: usize) -> &'a str {
    if (at..at + count - 1).all(|at| text.touches_next(at)) { text.slice(at, at + count - 1) } else { "" }
}

/// `=`, `===`, `!==`, `:=`, `=~`, `<>`
fn equals(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let fixed = |long: usize, written: &str, right: &str| {
        let span = text.span(at, at + long - 1);
        foreign(span, format!("`{written}` is written `{right}` in CEL")).with_fix(
            format!("write `{right}`"),
            span,
            right,
        )
    };
    match joined(text, at, 2) {
        written @ "===" => return Some(fixed(2, written, "==")),
        written @ "!==" => return Some(fixed(2, written, "!=")),
        written @ "<>" => return Some(fixed(2, written, "!=")),
        "=~" | "~=" => {
            let span = text.span(at, at + 1);
            return Some(
                foreign(span, "a pattern is matched by a method in CEL")
                    .with_help("write `text.matches(\"…\")`"),
            );
        }
        ":=" => {
            let span = text.span(at, at + 1);
            return Some(
                foreign(span, "an expression sets nothing").with_help("name parts of it under `variables`"),
            );
        }
        "=>" => return None,
        _ => {}
    }
    let compared = text.tokens.mark(at) == "=" && text.tokens.ends_operand(at);
    let arrow = at
        .checked_sub(1)
        .is_some_and(|before| matches!(joined(text, before, 2), ":=" | "~=" | "===" | "!=="));
    if !compared || arrow {
        return None;
    }
    let span = text.span(at, at);
    Some(foreign(span, "`=` sets, `==` compares").with_fix("write `==`", span, "=="))
}

/// `a ?? b`
fn coalesce(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    if joined(text, at, 2) != "??" || !text.tokens.ends_operand(at) {
        return None;
    }
    let tokens = text.tokens;
    let diagnostic = foreign(text.span(at, at + 1), "`??` is an operator of the policy language, not of CEL")
        .with_help("write `m[?\"k\"].orValue(d)`, or `has(a.b) ? a.b : d`");
    // `m["k"] ?? d` and `a.b ?? d`, if `d` is a path or a literal and no operator binds it to more.
    let (Some(first), Some(last)) = (text.path_before(at), words::path_behind(text, at + 2)) else {
        return Some(diagnostic);
    };
    let ends = matches!(tokens.mark(last + 1), "" | ")" | "]" | "}" | "," | "&&" | "||" | ":" | "==" | "!=");
    let ends = ends && (!tokens.mark(last + 1).is_empty() || tokens.token(last + 1).is_none());
    let before = at.checked_sub(1)?;
    let optional = match tokens.mark(before) {
        "]" => tokens.partner(before).filter(|open| *open > first).map(|open| text.span(open, open).at_end()),
        "" if before > first => Some(text.span(before, before).at_start()),
        _ => None,
    };
    let Some(optional) = optional.filter(|_| ends && tokens.mark(first) != "(") else {
        return Some(diagnostic);
    };
    let default = text.slice(at + 2, last);
    let behind = text.span(before, before).at_end().to(text.span(last, last));
    let edits = vec![
        Edit { span: optional, text: "?".to_owned() },
        Edit { span: behind, text: format!(".orValue({default})") },
    ];
    Some(diagnostic.with_edits("use an optional", edits))
}

/// `x => x > 1`, `x -> x > 1`
fn lambda(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    matches!(joined(text, at, 2), "=>" | "->").then(|| {
        foreign(text.span(at, at + 1), "CEL has no functions of this kind")
            .with_help("a macro takes a name and an expression: `l.all(x, x > 1)`")
    })
}

/// `a?.b`
fn safe_navigation(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let field = text.tokens.word(at + 2).is_some() && text.touches_next(at + 1);
    (joined(text, at, 2) == "?." && field && text.tokens.ends_operand(at)).then(|| {
        let span = text.span(at, at + 1);
        foreign(span, "an optional field is written `.?` in CEL").with_fix("write `.?`", span, ".?")
    })
}

/// `/* … */`
fn comment(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    matches!(joined(text, at, 2), "/*" | "*/").then(|| {
        foreign(text.span(at, at + 1), "CEL has no `/* … */`")
            .with_help("a comment begins with `//` and ends with its line")
    })
}

/// Marks that CEL does not have.
fn marks(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let token = text.tokens.token(at).filter(|token| token.kind == Kind::Mark)?;
    let span = text.span(at, at);
    let (message, fix) = match text.tokens.text_of(at) {
        "^" => ("CEL has no `^`".to_owned(), None),
        "`" => ("a back quote begins no string".to_owned(), Some("'")),
        ";" if at + 1 == text.tokens.list.len() => ("an expression ends without `;`".to_owned(), Some("")),
        ";" | "@" | "$" | "~" => ("CEL has no such mark".to_owned(), None),
        mark => match familiar::mark(mark, "in CEL") {
            Some(found) => found,
            None if mark.chars().any(char::is_control) => {
                ("a control character is allowed in strings only, as an escape".to_owned(), None)
            }
            None if !mark.is_ascii() => ("letters beyond ASCII are allowed in strings only".to_owned(), None),
            None => return None,
        },
    };
    let mut diagnostic = foreign(span, message);
    if let Some(fix) = fix {
        let what = if fix.is_empty() { "leave it out".to_owned() } else { format!("write `{fix}`") };
        diagnostic = diagnostic.with_fix(what, span, fix);
    }
    // The quote at the other end of the text goes with the first one; without it there is no string.
    if let (Some(quote @ ("\"" | "'")), Some(fix)) = (fix, diagnostic.fixes.last_mut()) {
        match familiar::closing_quote(text.tokens.text, token, quote) {
            Some((start, end)) => {
                let span = text.place.span(start, end);
                diagnostic.span = diagnostic.span.to(span);
                fix.edits.push(Edit { span, text: quote.to_owned() });
            }
            None => diagnostic.fixes.clear(),
        }
    }
    Some(diagnostic)
}

/// `a.0`, `a.[0]`
fn element(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    let says = |span, right: &str| {
        let what = if right.is_empty() { "leave out the `.`".to_owned() } else { format!("write `{right}`") };
        foreign(span, "an element of a list is written in brackets").with_fix(what, span, right)
    };
    if tokens.mark(at) == "." && tokens.ends_operand(at) && tokens.mark(at + 1) == "[" {
        return Some(says(text.span(at, at), ""));
    }
    let number = tokens.text_of(at).strip_prefix('.').filter(|number| !number.is_empty())?;
    let before = at.checked_sub(1).filter(|before| text.touches_next(*before) && tokens.ends_operand(at))?;
    let path = tokens.token(before).is_some_and(|token| token.kind != Kind::Number);
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    (path && digits).then(|| says(text.span(at, at), &format!("[{number}]")))
}

/// `!-x`, `-!x`
fn two_prefixes(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    let (first, second) = (tokens.mark(at), tokens.mark(at + 1));
    let mixed = matches!((first, second), ("!", "-") | ("-", "!"));
    let number = second == "-" && tokens.token(at + 2).is_some_and(|next| next.kind == Kind::Number);
    if !mixed || number || tokens.ends_operand(at) {
        return None;
    }
    let message = format!("`{first}` needs brackets before `{second}` in CEL");
    let diagnostic = foreign(text.span(at, at + 1), message);
    let Some(last) = words::path_behind(text, at + 2) else { return Some(diagnostic) };
    let edits = vec![
        Edit { span: text.span(at + 1, at + 1).at_start(), text: "(".to_owned() },
        Edit { span: text.span(last, last).at_end(), text: ")".to_owned() },
    ];
    Some(diagnostic.with_edits("write the brackets", edits))
}

/// `C ? a`, `C ? D ? a : b : c`
fn half_choice(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    let choice = |at: usize| tokens.mark(at) == "?" && tokens.ends_operand(at);
    if !choice(at) || matches!(joined(text, at, 2), "??" | "?.") {
        return None;
    }
    let mut next = at + 1;
    while next < tokens.list.len() {
        match tokens.mark(next) {
            "(" | "[" | "{" => next = tokens.partner(next)?,
            ")" | "]" | "}" | "," => break,
            ":" => return None,
            "?" if choice(next) && joined(text, next, 2) != "??" => {
                let message = "a choice inside of a choice needs brackets";
                return Some(
                    Diagnostic::new(&codes::SYNTAX, text.span(next, next), message)
                        .with_help("write `a ? (b ? c : d) : e`"),
                );
            }
            _ => {}
        }
        next += 1;
    }
    Some(
        Diagnostic::new(&codes::SYNTAX, text.span(at, at), "this `?` has no `:`")
            .with_help("a choice is written `C ? a : b`"),
    )
}

/// ``m.`a-b` ``
fn back_quotes(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let key = text.tokens.word(at)?.strip_prefix('`')?.strip_suffix('`')?;
    let message = "the CEL of Kubernetes has no names in back quotes";
    match text.dot_before(at) {
        Some(dot) => {
            let mark = if dot + 1 == at { "" } else { "?" };
            let (span, right) = (text.span(dot, at), format!("[{mark}\"{key}\"]"));
            let diagnostic = foreign(span, message).with_help("the key of a map is written in brackets");
            Some(diagnostic.with_fix(format!("write `{right}`"), span, right))
        }
        None => {
            let span = text.span(at, at);
            let right = format!("\"{key}\"");
            Some(foreign(span, message).with_help("a string is written in single or double quotes").with_fix(
                format!("write `{right}`"),
                span,
                right,
            ))
        }
    }
}

/// `f(window: 5)`
fn named_argument(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    tokens.word(at)?;
    let before = at.checked_sub(1)?;
    let first = tokens.opens_call(before)
        || (tokens.mark(before) == "," && tokens.inside(before).is_some_and(|open| tokens.opens_call(open)));
    (first && tokens.mark(at + 1) == ":").then(|| {
        foreign(text.span(at, at + 1), "arguments have no names in CEL")
            .with_help("their order says which is which")
    })
}

/// `f(a,)`
fn last_comma(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    let call =
        tokens.mark(at + 1) == ")" && tokens.partner(at + 1).is_some_and(|open| tokens.opens_call(open));
    (tokens.mark(at) == "," && call).then(|| {
        let span = text.span(at, at);
        foreign(span, "the arguments of a call end without `,`").with_fix("leave it out", span, "")
    })
}

/// Mistakes in a text that the parser takes.
pub(in crate::syntax::cel) fn accepted(text: Text<'_>) -> Vec<Diagnostic> {
    let tokens = text.tokens;
    let checks = [has_of_key, absent];
    (0..tokens.list.len()).filter_map(|at| checks.iter().find_map(|check| check(text, at))).collect()
}

/// `has(m["k"])`
fn has_of_key(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    tokens.word(at).filter(|word| *word == "has")?;
    let called = tokens.opens_call(at + 1) && at.checked_sub(1).is_none_or(|dot| tokens.mark(dot) != ".");
    let end = tokens.partner(at + 1).filter(|_| called)?;
    let last = end.checked_sub(1).filter(|last| tokens.mark(*last) == "]")?;
    let open = tokens.partner(last).filter(|open| tokens.ends_operand(*open))?;
    if text.path_before(end) != Some(at + 2) || tokens.mark(open + 1) == "?" {
        return None;
    }
    let diagnostic = foreign(text.span(at, end), "`has` takes a field in CEL, as in `has(a.b)`")
        .with_help("whether a map has a key is `\"k\" in m`");
    let key = tokens.token(open + 1).is_some_and(|key| key.kind == Kind::String) && open + 2 == last;
    if !key {
        return Some(diagnostic);
    }
    let around =
        |mark: &str| matches!(mark, "&&" | "||" | "(" | ")" | "," | "?" | ":" | "[" | "]" | "{" | "}");
    let alone = at.checked_sub(1).is_none_or(|before| around(tokens.mark(before)))
        && (tokens.token(end + 1).is_none() || around(tokens.mark(end + 1)));
    let test = format!("{} in {}", tokens.text_of(open + 1), text.slice(at + 2, open - 1));
    let right = if alone { test } else { format!("({test})") };
    Some(diagnostic.with_fix(format!("write `{right}`"), text.span(at, end), right))
}

/// `x == none`, unless a macro declares a variable of this name.
fn absent(text: Text<'_>, at: usize) -> Option<Diagnostic> {
    let tokens = text.tokens;
    let named = |at: usize| tokens.word(at).is_some_and(|word| word == "none");
    let compared = |at: usize| matches!(tokens.mark(at), "==" | "!=");
    let alone = !matches!(tokens.mark(at + 1), "." | "[" | "(");
    let test = at.checked_sub(1).is_some_and(&compared) || compared(at + 1);
    if !named(at) || !alone || !test || text.dot_before(at).is_some() {
        return None;
    }
    let declared = (0..tokens.list.len()).any(|at| named(at) && tokens.mark(at + 1) == ",");
    (!declared).then(|| {
        foreign(text.span(at, at), "`none` is a word of the policy language, not of CEL")
            .with_help("write `has(a.b)` or `\"k\" in m`; an optional is compared with `optional.none()`")
    })
}
