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
        let (message, place) = message(&mistake.message);
        let start = match place {
            Place::Start => range.start,
            Place::Dot => range.start.saturating_sub(1),
            Place::Last => range.start + last_step(expression.get(range).unwrap_or_default()),
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
    /// At the dot before it.
    Dot,
    /// At the dot or bracket of the last step, in what is a field or an element.
    Last,
}

/// How many bytes are before the last step of `a.b` or `a["b"]`; 0 for other forms.
fn last_step(text: &str) -> usize {
    let at = match text.strip_suffix(']') {
        Some(index) => index.rfind('['),
        None => text.rfind('.').filter(|at| {
            let name = text.get(at + 1..).unwrap_or_default();
            name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        }),
    };
    at.unwrap_or(0)
}

/// The message of cel-go, and its place.
fn message(ours: &str) -> (String, Place) {
    let quoted = ours.rsplit('`').nth(1).unwrap_or_default();
    if ours.starts_with("nothing is called `") {
        (format!("undeclared reference to '{quoted}' (in container '')"), Place::Start)
    } else if ours.contains(" has no field `") {
        (format!("undefined field '{quoted}'"), Place::Dot)
    } else if ours.starts_with("a macro goes over a list or a map, this is `") {
        let ty = if quoted == "google.protobuf.Any" { "any" } else { quoted };
        let range = "cannot be range of a comprehension (must be list, map, or dynamic)";
        (format!("expression of type '{ty}' {range}"), Place::Last)
    } else {
        (ours.to_owned(), Place::Start)
    }
}
