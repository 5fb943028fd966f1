//! Mistakes of expressions as cel-go prints them: the message, the line, and a mark below the place.

use bayplan_diag::Diagnostic;
use std::fmt::Write;

/// The text of an expression that does not compile.
///
/// The messages are those of our compiler, where they are not among the frequent ones that cel-go has in other words.
pub(super) fn text(expression: &str, said: &[Diagnostic]) -> String {
    let mut text = String::from("compilation failed: ");
    for (at, mistake) in said.iter().enumerate() {
        let range = mistake.span.range();
        let before = expression.get(..range.start).unwrap_or_default().trim_end();
        let (message, place) = message(&mistake.message, before);
        let wrong = expression.get(range.clone()).unwrap_or_default();
        let start = match place {
            Place::Start => range.start,
            Place::End => range.end,
            Place::Before => before.len().saturating_sub(1),
            Place::Dot => range.start.saturating_sub(1),
            Place::Top => range.start + top(wrong),
        };
        let start = start.min(expression.len());
        let before = expression.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = expression.get(line_start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let column = before.get(line_start..).unwrap_or_default().chars().count();
        let row = before.matches('\n').count() + 1;
        let separator = if at == 0 { "" } else { "\n" };
        let dots = ".".repeat(column);
        let _ = write!(
            text,
            "{separator}ERROR: <input>:{row}:{}: {}\n | {line}\n | {dots}^",
            column + 1,
            message
        );
    }
    text
}

/// Where cel-go marks a mistake.
enum Place {
    /// At the start of what is wrong.
    Start,
    /// Behind it.
    End,
    /// At the sign before it.
    Before,
    /// At the dot before it.
    Dot,
    /// At the operator, dot, bracket or parenthesis that makes it.
    Top,
}

/// How tightly an operator binds that has operands on both sides: its rank, and its length.
fn operator(rest: &str) -> Option<(u8, usize)> {
    const ALL: [(&str, u8); 15] = [
        ("?", 0),
        ("||", 1),
        ("&&", 2),
        ("==", 3),
        ("!=", 3),
        ("<=", 3),
        (">=", 3),
        ("<", 3),
        (">", 3),
        ("in ", 3),
        ("+", 4),
        ("-", 4),
        ("*", 5),
        ("/", 5),
        ("%", 5),
    ];
    ALL.iter().find(|(symbol, _)| rest.starts_with(symbol)).map(|(symbol, rank)| (*rank, symbol.len()))
}

/// The byte at which cel-go marks an expression: at its operator, or at the last step of `a.b`, `a["b"]` and `a(b)`.
fn top(text: &str) -> usize {
    let text = text.trim_end();
    // Open brackets; the one that the last bracket closes; the loosest operator outside of brackets.
    let (mut open, mut closed, mut loosest) = (Vec::new(), 0, None::<(u8, usize)>);
    let (mut dot, mut quote, mut before) = (None, None, ' ');
    let mut skip = 0;
    for (at, letter) in text.char_indices() {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        if let Some(end) = quote {
            match letter {
                '\\' => skip = 1,
                _ if letter == end => (quote, before) = (None, letter),
                _ => {}
            }
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let after_value = is_word(before) || matches!(before, ')' | ']' | '}' | '\'' | '"');
        match letter {
            '\'' | '"' => quote = Some(letter),
            '(' | '[' | '{' => open.push(at),
            ')' | ']' | '}' => closed = open.pop().unwrap_or(0),
            '.' if open.is_empty() && rest.chars().nth(1).is_some_and(|next| !next.is_ascii_digit()) => {
                dot = Some(at);
            }
            _ if open.is_empty() => {
                let is_behind_space = text.get(..at).unwrap_or_default().ends_with(' ');
                let stands = after_value && (letter != 'i' || is_behind_space);
                if let Some((rank, length)) = operator(rest).filter(|_| stands) {
                    // `?` groups from the right, all others from the left.
                    if loosest.is_none_or(|(known, _)| rank < known || rank == known && rank > 0) {
                        loosest = Some((rank, at));
                    }
                    (skip, before, dot) = (length - 1, ' ', None);
                    continue;
                }
            }
            _ => {}
        }
        if !letter.is_whitespace() {
            before = letter;
        }
    }
    match (loosest, text.chars().last()) {
        (Some((_, at)), _) => at,
        _ if text.starts_with(['!', '-']) => 0,
        // Parentheses leave no trace.
        (None, Some(')')) if closed == 0 => 1 + top(text.get(1..text.len() - 1).unwrap_or_default()),
        (None, Some(')' | ']' | '}')) => closed,
        _ => dot.unwrap_or(0),
    }
}

fn no_overload(name: &str, applied: &str) -> String {
    format!("found no matching overload for '{name}' applied to '{applied}'")
}

/// The mistake of a condition that is not true or false.
fn condition(ty: &str, before: &str) -> (String, Place) {
    if before.ends_with('!') {
        return (no_overload("!_", &format!("({ty})")), Place::Before);
    }
    let ty = if ty == "null_type" { "null" } else { ty };
    (format!("expected type 'bool' but found '{ty}'"), Place::Top)
}

/// What a verb of a format takes.
///
/// Source: `cel-go/ext/formatting.go`.
fn taken_by(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "%s" => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and \
             timestamps"
        }
        "%d" => "decimal clause can only be used on integers",
        "%f" => "fixed-point clause can only be used on doubles",
        "%e" => "scientific clause can only be used on doubles",
        "%b" => "only integers and bools can be formatted as binary",
        "%o" => "octal clause can only be used on integers",
        "%x" | "%X" => "only integers, byte buffers, and strings can be formatted as hex",
        _ => return None,
    })
}

/// The message of cel-go, and its place. `before` is the text before what is wrong.
fn message(ours: &str, before: &str) -> (String, Place) {
    // In mistakes cel-go has the short name of this type.
    let short = ours.replace("google.protobuf.Any", "any");
    let quoted: Vec<&str> = short.split('`').skip(1).step_by(2).collect();
    let last = quoted.last().copied().unwrap_or_default();
    match &quoted[..] {
        [name, ..] if ours.starts_with("nothing is called `") => {
            (format!("undeclared reference to '{name}' (in container '')"), Place::Start)
        }
        [name] if ours.starts_with("CEL has no function `") || ours.starts_with("CEL has no method `") => {
            (format!("undeclared reference to '{name}' (in container '')"), Place::End)
        }
        _ if ours.contains(" has no field `") => (format!("undefined field '{last}'"), Place::Dot),
        _ if ours.starts_with("a macro goes over a list or a map, this is `") => {
            let range = "cannot be range of a comprehension (must be list, map, or dynamic)";
            (format!("expression of type '{last}' {range}"), Place::Top)
        }
        [a, b] if ours.starts_with("the list has `") || ours.starts_with("the map has `") => {
            (format!("expected type '{a}' but found '{b}'"), Place::Top)
        }
        [a, b] if ours.starts_with("cannot choose between `") => {
            (no_overload("_?_:_", &format!("(bool, {a}, {b})")), Place::Top)
        }
        ["-", ty] if ours.starts_with("`-` wants a number") => {
            (no_overload("-_", &format!("({ty})")), Place::Before)
        }
        [ty] if ours.starts_with("a condition is true or false, this is `") => condition(ty, before),
        ["cel.bind"] if ours.starts_with("`cel.bind` declares a variable here") => {
            ("cel.bind() variable names must be simple identifiers".to_owned(), Place::Top)
        }
        [verb, _] if taken_by(verb).is_some() => {
            let (takes, ty) =
                (taken_by(verb).unwrap_or_default(), ours.rsplit('`').nth(1).unwrap_or_default());
            (format!("error during formatting: {takes}, was given {ty}"), Place::Top)
        }
        [name, rest @ ..] if ours.starts_with(&format!("`{name}` does not take (")) => {
            (no_overload(name, &format!("({})", rest.join(", "))), Place::Top)
        }
        [name, of, rest @ ..] if ours.contains("` of `") && ours.contains("` does not take (") => {
            (no_overload(name, &format!("{of}.({})", rest.join(", "))), Place::Top)
        }
        [symbol, a, b] if ours.contains("` does not take `") => {
            let name = match *symbol {
                "in" => "@in".to_owned(),
                "[ ]" => "_[_]".to_owned(),
                symbol => format!("_{symbol}_"),
            };
            (no_overload(&name, &format!("({a}, {b})")), Place::Top)
        }
        _ => (ours.to_owned(), Place::Start),
    }
}
