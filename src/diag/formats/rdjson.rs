//! reviewdog's rdjson. Its columns count bytes of UTF-8.

use super::{file_of, whole};
use crate::{Diagnostic, Place, Severity, Source, SourceMap, Span};
use serde_json::{Value, json};

/// The diagnostics with their first fix as suggestions.
pub fn rdjson(sources: &SourceMap, diagnostics: &[Diagnostic]) -> Value {
    let all: Vec<Value> = diagnostics.iter().map(|diagnostic| one(sources, diagnostic)).collect();
    json!({"source": {"name": "bayplan"}, "diagnostics": all})
}

fn one(sources: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let edits = diagnostic.fixes.first().map(|fix| fix.edits.as_slice()).unwrap_or_default();
    let suggestions: Vec<Value> =
        edits.iter().map(|edit| json!({"range": range(sources, edit.span), "text": edit.text})).collect();
    json!({
        "message": whole(diagnostic),
        "location": {"path": file_of(sources, diagnostic), "range": range(sources, diagnostic.span)},
        "severity": match diagnostic.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Note => "INFO",
        },
        "code": {"value": diagnostic.code.id, "url": diagnostic.code.url()},
        "suggestions": suggestions,
    })
}

fn range(sources: &SourceMap, span: Span) -> Value {
    let file = sources.file(span);
    let place = |place: Place| {
        let first = file.map_or(0, |file: &Source| file.line_start(place.line));
        json!({"line": place.line, "column": place.offset.saturating_sub(first) + 1})
    };
    let (start, end) = sources.places(span);
    json!({"start": place(start), "end": place(end)})
}
