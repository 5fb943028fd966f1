//! Mistakes of expressions as cel-go prints them: the message, the line, and a mark below the place.

use bayplan_diag::Diagnostic;
use std::fmt::Write;

/// The text of an expression that does not compile.
///
/// The messages are those of our compiler, where they are not among the frequent ones that cel-go has in other words.
pub(super) fn text(expression: &str, said: &[Diagnostic]) -> String {
    let mut text = String::from("compilation failed: ");
    for (at, mistake) in said.iter().enumerate() {
        let start = mistake.span.range().start.min(expression.len());
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
            mistake.message
        );
    }
    text
}
