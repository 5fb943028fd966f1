//! GitHub's workflow commands: annotations at the lines of a pull request.

use super::{file_of, whole};
use crate::{Diagnostic, Place, Severity, SourceMap, escape};
use std::fmt::Write;

/// How many annotations of one level GitHub shows of a step, less the one that counts the others.
pub const ANNOTATIONS: usize = 9;

/// A workflow command of GitHub: one annotation at a line.
pub fn annotation(level: &str, file: &str, line: usize, title: &str, message: &str) -> String {
    at(level, file, &format!("line={line}"), title, message)
}

fn at(level: &str, file: &str, place: &str, title: &str, message: &str) -> String {
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} file={},{place},title={}::{}", property(file), property(title), data(message))
}

/// The message of a workflow command, which is one line.
pub fn data(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    escape::line(&text).into_owned()
}

/// At most nine annotations of a level, then one that counts the others.
pub fn github(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for (severity, level) in
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "notice")]
    {
        let of_level: Vec<&Diagnostic> =
            diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).collect();
        for diagnostic in of_level.iter().take(ANNOTATIONS) {
            let title = format!("{} {}", diagnostic.code.id, diagnostic.code.slug);
            let place = place(sources.places(diagnostic.span));
            let file = file_of(sources, diagnostic);
            let _ = writeln!(text, "{}", at(level, file, &place, &title, &whole(diagnostic)));
        }
        if of_level.len() > ANNOTATIONS {
            let _ = writeln!(text, "::{level}::{} more in the log", of_level.len() - ANNOTATIONS);
        }
    }
    text
}

/// Lines, and the columns of a place within one line: GitHub takes no columns of several lines.
fn place((start, end): (Place, Place)) -> String {
    match start.line == end.line {
        true => format!(
            "line={},col={},endLine={},endColumn={}",
            start.line,
            start.column,
            end.line,
            end.column.max(start.column)
        ),
        false => format!("line={},endLine={}", start.line, end.line),
    }
}
