//! JUnit XML, in the form that Jenkins' schema (junit-10.xsd) allows.
//!
//! Forty lines of our own: quick-junit would bring an XML library, dates and UUIDs for them.

use super::{file_of, whole};
use crate::{Diagnostic, SourceMap, codes, escape};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Text escaped for XML, attributes included. Characters that XML cannot hold, or that must not
/// be printed, become escapes.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape::lines(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// A suite for each file, a failed case for each error. Warnings and notes are cases that pass, with
/// their text as output. A file without findings is a case that passes; one that cannot be read is a
/// case with an error.
pub fn junit(sources: &SourceMap, diagnostics: &[Diagnostic], files: &[String]) -> String {
    let mut by_file: BTreeMap<&str, Vec<&Diagnostic>> =
        files.iter().map(|file| (file.as_str(), Vec::new())).collect();
    for diagnostic in diagnostics {
        by_file.entry(file_of(sources, diagnostic)).or_default().push(diagnostic);
    }
    let cases: usize = by_file.values().map(|of| of.len().max(1)).sum();
    let all: Vec<&Diagnostic> = diagnostics.iter().collect();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"bayplan lint\" {}>\n",
        counts(cases, &all)
    );
    for (file, found) in by_file {
        suite(sources, file, &found, &mut text);
    }
    text.push_str("</testsuites>\n");
    text
}

/// Whether a diagnostic says that nothing could be checked, and not that something is wrong.
fn unreadable(diagnostic: &Diagnostic) -> bool {
    diagnostic.code == &codes::UNREADABLE
}

fn counts(cases: usize, found: &[&Diagnostic]) -> String {
    let errors = found.iter().filter(|diagnostic| unreadable(diagnostic)).count();
    let failures = found.iter().filter(|diagnostic| diagnostic.is_error()).count() - errors;
    format!("tests=\"{cases}\" failures=\"{failures}\" errors=\"{errors}\"")
}

fn suite(sources: &SourceMap, file: &str, found: &[&Diagnostic], text: &mut String) {
    let (file, tests) = (xml(&escape::line(file)), found.len().max(1));
    let _ = writeln!(text, "  <testsuite name=\"{file}\" {}>", counts(tests, found));
    if found.is_empty() {
        let _ = writeln!(text, "    <testcase name=\"lint\" classname=\"{file}\"/>");
    }
    for diagnostic in found {
        let line = sources.places(diagnostic.span).0.line;
        let (code, said) = (diagnostic.code, xml(&whole(diagnostic)));
        let name = format!("{} {}, line {line}", code.id, code.slug);
        let _ = writeln!(text, "    <testcase name=\"{name}\" classname=\"{file}\">");
        let element = if unreadable(diagnostic) { "error" } else { "failure" };
        let _ = match diagnostic.is_error() {
            true => {
                let message = xml(&diagnostic.message).replace('\n', " ");
                let id = code.id;
                let head = format!("<{element} message=\"{message}\" type=\"{id}\">");
                writeln!(text, "      {head}{file}:{line}: {said}</{element}>")
            }
            false => writeln!(text, "      <system-out>{file}:{line}: {said}</system-out>"),
        };
        text.push_str("    </testcase>\n");
    }
    text.push_str("  </testsuite>\n");
}
