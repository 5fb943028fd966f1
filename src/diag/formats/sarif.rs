//! SARIF 2.1.0, a log of one run.

use super::whole;
use crate::{Code, Diagnostic, Fix, Severity, Source, SourceMap, Span, codes};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The log of a run.
pub fn sarif(sources: &SourceMap, diagnostics: &[Diagnostic], suppressed: &[Suppressed]) -> Value {
    let all = diagnostics.iter().chain(suppressed.iter().map(|of| &of.said));
    let rules: BTreeMap<&str, Value> =
        all.map(|diagnostic| (diagnostic.code.id, rule(diagnostic.code))).collect();
    let mut results: Vec<Value> = diagnostics.iter().map(|diagnostic| result(sources, diagnostic)).collect();
    for of in suppressed {
        let mut result = result(sources, &of.said);
        let kind = if of.in_source { "inSource" } else { "external" };
        result["suppressions"] = json!([{"kind": kind, "justification": of.why}]);
        results.push(result);
    }
    let complete = !diagnostics.iter().any(|diagnostic| diagnostic.code == &codes::UNREADABLE);
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "bayplan", "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_values().collect::<Vec<_>>(),
            }},
            "invocations": [{"executionSuccessful": complete}],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// A finding that is not reported, since a comment or the project allows it.
#[derive(Clone, Debug)]
pub struct Suppressed {
    /// The finding.
    pub said: Diagnostic,
    /// Whether a comment in the text allows it.
    pub in_source: bool,
    /// Why.
    pub why: String,
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn rule(code: &Code) -> Value {
    json!({
        "id": code.id, "name": code.slug, "helpUri": code.url(),
        "shortDescription": {"text": code.title}, "fullDescription": {"text": code.explanation},
        "defaultConfiguration": {"level": level(code.severity)},
    })
}

fn result(sources: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let related = diagnostic.labels.iter().enumerate().map(|(at, label)| {
        let mut place = location(sources, label.span, Some(&label.message));
        if let Some(place) = place.as_object_mut() {
            place.insert("id".to_owned(), json!(at));
        }
        place
    });
    json!({
        "ruleId": diagnostic.code.id,
        "level": level(diagnostic.severity),
        "message": {"text": whole(diagnostic)},
        "locations": [location(sources, diagnostic.span, diagnostic.label.as_deref())],
        "relatedLocations": related.collect::<Vec<_>>(),
        "fixes": diagnostic.fixes.iter().map(|change| fix(sources, change)).collect::<Vec<_>>(),
    })
}

fn fix(sources: &SourceMap, fix: &Fix) -> Value {
    let changes = fix.edits.iter().map(|edit| {
        let region = region(sources, edit.span);
        json!({
            "artifactLocation": artifact(sources, edit.span),
            "replacements": [{"deletedRegion": region, "insertedContent": {"text": edit.text}}],
        })
    });
    json!({"description": {"text": fix.message}, "artifactChanges": changes.collect::<Vec<_>>()})
}

fn location(sources: &SourceMap, span: Span, message: Option<&str>) -> Value {
    let place = json!({"artifactLocation": artifact(sources, span), "region": region(sources, span)});
    let mut location = json!({"physicalLocation": place});
    if let (Some(message), Some(location)) = (message, location.as_object_mut()) {
        location.insert("message".to_owned(), json!({"text": message}));
    }
    location
}

fn artifact(sources: &SourceMap, span: Span) -> Value {
    json!({"uri": uri(sources.file(span).map_or("", Source::name))})
}

fn region(sources: &SourceMap, span: Span) -> Value {
    let (start, end) = sources.places(span);
    json!({
        "startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column,
    })
}

/// A path as a URI: relative to the folder of the run, or `file:///` for an absolute one.
fn uri(file: &str) -> String {
    let mut relative = file;
    while let Some(rest) = relative.strip_prefix("./") {
        relative = rest.trim_start_matches('/');
    }
    let mut out = if file.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in relative.bytes() {
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
