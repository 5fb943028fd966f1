//! Mistakes of expressions as cel-go prints them: the message, the line, and a mark below the place.

use bayplan_diag::Diagnostic;
use std::fmt::Write;

/// The text of an expression that does not compile.
///
/// The messages are those of our compiler, where they are not among the frequent ones that cel-go has in other words.
pub(super) fn text(expression: &str, said: &[Diagnostic]) -> String {
    let mut text = String::from("compilation failed: ");
    for (at, mistake) in said.iter().enumerate() {
        let (message, back) = message(&mistake.message);
        let start = mistake.span.range().start.saturating_sub(back).min(expression.len());
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

/// The message of cel-go, and how many bytes before ours its place is: it marks the dot before a field.
fn message(ours: &str) -> (String, usize) {
    let quoted = ours.rsplit('`').nth(1).unwrap_or_default();
    if ours.starts_with("nothing is called `") {
        (format!("undeclared reference to '{quoted}' (in container '')"), 0)
    } else if ours.contains(" has no field `") {
        (format!("undefined field '{quoted}'"), 1)
    } else {
        (ours.to_owned(), 0)
    }
}
