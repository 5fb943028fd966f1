//! Diagnostics for other programs: SARIF 2.1.0 (code scanning), GitHub's workflow commands, JUnit XML (what every CI
//! shows), rdjson (reviewdog). Called by `cli lint`; the small writers also by `cli test`. Our own form is in `json`.

use super::{Diagnostic, Severity, Source, SourceMap};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many annotations of one level GitHub shows of a step, less the one that counts the others.
pub const ANNOTATIONS: usize = 9;

/// A workflow command of GitHub: one annotation at a line.
pub fn annotation(level: &str, file: &str, line: usize, title: &str, message: &str) -> String {
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} file={},line={line},title={}::{}", property(file), property(title), data(message))
}

/// The message of a workflow command, which is one line.
pub fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text as it may stand in XML, attributes included; characters that XML cannot hold become `?`.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

fn file_of<'s>(sources: &'s SourceMap, diagnostic: &Diagnostic) -> &'s str {
    sources.file(diagnostic.span).map_or("", Source::name)
}

/// What is wrong and what to do, on lines of their own.
fn whole(diagnostic: &Diagnostic) -> String {
    let mut text = diagnostic.message.clone();
    for (head, more) in [("effect", &diagnostic.effect), ("help", &diagnostic.help)] {
        if let Some(more) = more {
            let _ = write!(text, "\n{head}: {more}");
        }
    }
    text
}

/// GitHub's workflow commands: at most nine annotations of a level, then one that counts the others.
pub fn github(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for (severity, level) in
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "notice")]
    {
        let of_level: Vec<&Diagnostic> =
            diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).collect();
        for diagnostic in of_level.iter().take(ANNOTATIONS) {
            let title = format!("{} {}", diagnostic.code.id, diagnostic.code.slug);
            let line = sources.places(diagnostic.span).0.line;
            let file = file_of(sources, diagnostic);
            let _ = writeln!(text, "{}", annotation(level, file, line, &title, &whole(diagnostic)));
        }
        if of_level.len() > ANNOTATIONS {
            let _ = writeln!(text, "::{level}::{} more in the log", of_level.len() - ANNOTATIONS);
        }
    }
    text
}

/// A SARIF log of one run.
pub fn sarif(sources: &SourceMap, diagnostics: &[Diagnostic]) -> Value {
    let level = |severity: Severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut rules: BTreeMap<&str, Value> = BTreeMap::new();
    for diagnostic in diagnostics {
        let code = diagnostic.code;
        rules.entry(code.id).or_insert_with(|| {
            json!({
                "id": code.id, "name": code.slug,
                "shortDescription": {"text": code.title}, "fullDescription": {"text": code.explanation},
                "defaultConfiguration": {"level": level(code.severity)},
            })
        });
    }
    let region = |span| {
        let (start, end) = sources.places(span);
        json!({
            "startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column,
        })
    };
    let location = |span, message: Option<&str>| {
        let file = sources.file(span).map_or("", Source::name);
        let mut at =
            json!({"physicalLocation": {"artifactLocation": {"uri": uri(file)}, "region": region(span)}});
        if let (Some(message), Some(at)) = (message, at.as_object_mut()) {
            at.insert("message".to_owned(), json!({"text": message}));
        }
        at
    };
    let results: Vec<Value> = diagnostics
        .iter()
        .map(|diagnostic| {
            let mut related = Vec::new();
            for (at, label) in diagnostic.labels.iter().enumerate() {
                let mut place = location(label.span, Some(&label.message));
                if let Some(place) = place.as_object_mut() {
                    place.insert("id".to_owned(), json!(at));
                }
                related.push(place);
            }
            let fixes: Vec<Value> = diagnostic
                .fixes
                .iter()
                .map(|fix| {
                    let changes: Vec<Value> = fix
                        .edits
                        .iter()
                        .map(|edit| {
                            let file = sources.file(edit.span).map_or("", Source::name);
                            json!({
                                "artifactLocation": {"uri": uri(file)},
                                "replacements": [
                                    {"deletedRegion": region(edit.span), "insertedContent": {"text": edit.text}}
                                ],
                            })
                        })
                        .collect();
                    json!({"description": {"text": fix.message}, "artifactChanges": changes})
                })
                .collect();
            json!({
                "ruleId": diagnostic.code.id,
                "level": level(diagnostic.severity),
                "message": {"text": whole(diagnostic)},
                "locations": [location(diagnostic.span, diagnostic.label.as_deref())],
                "relatedLocations": related,
                "fixes": fixes,
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "bayplan", "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_values().collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// A path as a relative reference: what SARIF calls a uri.
fn uri(file: &str) -> String {
    let mut out = String::new();
    for byte in file.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            b'\\' => out.push('/'),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

/// reviewdog's rdjson.
pub fn rdjson(sources: &SourceMap, diagnostics: &[Diagnostic]) -> Value {
    let range = |span| {
        let (start, end) = sources.places(span);
        json!({
            "start": {"line": start.line, "column": start.column},
            "end": {"line": end.line, "column": end.column},
        })
    };
    let all: Vec<Value> = diagnostics
        .iter()
        .map(|diagnostic| {
            let edits = diagnostic.fixes.first().map(|fix| fix.edits.as_slice()).unwrap_or_default();
            let suggestions: Vec<Value> =
                edits.iter().map(|edit| json!({"range": range(edit.span), "text": edit.text})).collect();
            json!({
                "message": whole(diagnostic),
                "location": {"path": file_of(sources, diagnostic), "range": range(diagnostic.span)},
                "severity": match diagnostic.severity {
                    Severity::Error => "ERROR",
                    Severity::Warning => "WARNING",
                    Severity::Note => "INFO",
                },
                "code": {"value": diagnostic.code.id},
                "suggestions": suggestions,
            })
        })
        .collect();
    json!({"source": {"name": "bayplan"}, "diagnostics": all})
}

/// JUnit XML: a suite for each file, a failed case for each error; warnings and notes are cases that pass, with what
/// is said as their output. A file without findings is a case that passes.
pub fn junit(sources: &SourceMap, diagnostics: &[Diagnostic], files: &[String]) -> String {
    let mut by_file: BTreeMap<&str, Vec<&Diagnostic>> =
        files.iter().map(|file| (file.as_str(), Vec::new())).collect();
    for diagnostic in diagnostics {
        by_file.entry(file_of(sources, diagnostic)).or_default().push(diagnostic);
    }
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let cases: usize = by_file.values().map(|of| of.len().max(1)).sum();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"bayplan lint\" tests=\"{cases}\" failures=\"{errors}\">\n"
    );
    for (file, found) in by_file {
        let failed = found.iter().filter(|diagnostic| diagnostic.is_error()).count();
        let (file, tests) = (xml(file), found.len().max(1));
        let _ = writeln!(text, "  <testsuite name=\"{file}\" tests=\"{tests}\" failures=\"{failed}\">");
        if found.is_empty() {
            let _ = writeln!(text, "    <testcase name=\"lint\" classname=\"{file}\"/>");
        }
        for diagnostic in found {
            let line = sources.places(diagnostic.span).0.line;
            let (code, said) = (diagnostic.code, xml(&whole(diagnostic)));
            let _ = writeln!(
                text,
                "    <testcase name=\"{} {}, line {line}\" classname=\"{file}\" file=\"{file}\" line=\"{line}\">",
                code.id, code.slug
            );
            if diagnostic.is_error() {
                let message = xml(&diagnostic.message);
                let _ = writeln!(
                    text,
                    "      <failure message=\"{message}\" type=\"{}\">{file}:{line}: {said}</failure>",
                    code.id
                );
            } else {
                let _ = writeln!(text, "      <system-out>{file}:{line}: {said}</system-out>");
            }
            text.push_str("    </testcase>\n");
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::diag::{Span, codes};

    fn some() -> (SourceMap, Vec<Diagnostic>) {
        let mut sources = SourceMap::new();
        let file = sources.add("a b.bay", "one\ntwo <&> three\n");
        let at = Span::new(file, 4, 7);
        let said = Diagnostic::new(&codes::FOREIGN_WORD, at, "`two` is 100% <wrong>")
            .with_help("write\n`2`")
            .with_fix("write `2`", at, "2")
            .with_place(Span::new(file, 0, 3), "this one");
        let note = Diagnostic::new(&codes::MISSING_DOC, at, "no doc");
        (sources, vec![said, note])
    }

    #[test]
    fn workflow_commands_are_one_line_each_and_at_most_ten_of_a_level() {
        let (sources, said) = some();
        let text = github(&sources, &said);
        assert_eq!(
            text.lines().next().unwrap(),
            "::error file=a b.bay,line=2,title=BP0008 foreign-word::`two` is 100%25 <wrong>%0Ahelp: write%0A`2`"
        );
        let many: Vec<Diagnostic> = (0..21).map(|_| said[0].clone()).collect();
        let text = github(&sources, &many);
        assert_eq!(text.lines().count(), 10);
        assert_eq!(text.lines().last().unwrap(), "::error::12 more in the log");
    }

    #[test]
    fn sarif_has_rules_places_and_fixes() {
        let (sources, said) = some();
        let log = sarif(&sources, &said);
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 2);
        let first = &run["results"][0];
        let place = &first["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b.bay");
        assert_eq!(place["region"]["startLine"], 2);
        assert_eq!(place["region"]["endColumn"], 4);
        assert_eq!(
            first["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"],
            "2"
        );
        assert_eq!(first["relatedLocations"][0]["message"]["text"], "this one");
        assert_eq!(run["results"][1]["level"], "note");
    }

    #[test]
    fn junit_counts_errors_as_failures_and_escapes() {
        let (sources, said) = some();
        let text = junit(&sources, &said, &["a b.bay".into(), "fine.bay".into()]);
        assert!(text.contains("tests=\"3\" failures=\"1\""), "{text}");
        assert!(text.contains("`two` is 100% &lt;wrong&gt;"), "{text}");
        assert!(text.contains("<testcase name=\"lint\" classname=\"fine.bay\"/>"), "{text}");
    }

    #[test]
    fn rdjson_has_ranges_and_suggestions() {
        let (sources, said) = some();
        let json = rdjson(&sources, &said);
        assert_eq!(json["diagnostics"][0]["location"]["range"]["start"]["line"], 2);
        assert_eq!(json["diagnostics"][0]["suggestions"][0]["text"], "2");
        assert_eq!(json["diagnostics"][1]["severity"], "INFO");
    }
}
