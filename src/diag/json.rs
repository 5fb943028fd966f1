//! `lint --format json`. An interface: fields are only added.
//!
//! Called by `cli`. Lines and columns count from 1, columns in characters, offsets in bytes of the file on
//! disk. Places in a policy of a ConfigMap are those of the YAML file.

use super::{Diagnostic, Source, SourceMap, Span, Tally};
use serde_json::{Map, Value, json};

/// The report about `files` files.
pub fn report(sources: &SourceMap, diagnostics: &[Diagnostic], files: usize) -> Value {
    let tally = Tally::of(diagnostics);
    json!({
        "apiVersion": "bayplan.dev/v1",
        "kind": "LintReport",
        "files": files,
        "diagnostics": diagnostics.iter().map(|diagnostic| one(sources, diagnostic)).collect::<Vec<_>>(),
        "summary": {"errors": tally.errors, "warnings": tally.warnings, "notes": tally.notes},
    })
}

/// One diagnostic.
pub fn one(sources: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    put("code", json!(diagnostic.code.id));
    put("slug", json!(diagnostic.code.slug));
    put("severity", json!(diagnostic.severity.word()));
    put("message", json!(diagnostic.message));
    if let Some(help) = &diagnostic.help {
        put("help", json!(help));
    }
    if let Some(effect) = &diagnostic.effect {
        put("effect", json!(effect));
    }
    let file = sources.file(diagnostic.span).map_or("", Source::name);
    put("file", json!(file));
    let (start, end) = ends(sources, diagnostic.span);
    put("start", start);
    put("end", end);
    if let Some((source, origin)) =
        sources.source(diagnostic.span).and_then(|source| Some((source, source.origin()?)))
    {
        let place = source.own_place(diagnostic.span.start as usize);
        put(
            "origin",
            json!({"object": origin.object, "key": origin.key, "line": place.line, "column": place.column}),
        );
    }
    let primary = diagnostic.label.as_ref().map(|label| (diagnostic.span, label));
    let others = diagnostic.labels.iter().map(|label| (label.span, &label.message));
    let labels: Vec<Value> = primary
        .into_iter()
        .chain(others)
        .map(|(span, message)| label(sources, span, message, file))
        .collect();
    put("labels", Value::Array(labels));
    let fixes = diagnostic.fixes.iter().map(|fix| {
        let edits = fix.edits.iter().map(|edit| {
            let mut edit_out = placed(sources, edit.span, file);
            edit_out.insert("text".to_owned(), json!(edit.text));
            Value::Object(edit_out)
        });
        json!({"message": fix.message, "class": fix.class.word(), "edits": edits.collect::<Vec<_>>()})
    });
    put("fixes", Value::Array(fixes.collect()));
    Value::Object(out)
}

fn label(sources: &SourceMap, span: Span, message: &str, file: &str) -> Value {
    let mut out = Map::new();
    out.insert("message".to_owned(), json!(message));
    out.append(&mut placed(sources, span, file));
    Value::Object(out)
}

/// Start and end; the file only if it differs from that of the diagnostic.
fn placed(sources: &SourceMap, span: Span, file: &str) -> Map<String, Value> {
    let mut out = Map::new();
    let here = sources.file(span).map_or("", Source::name);
    if here != file {
        out.insert("file".to_owned(), json!(here));
    }
    let (start, end) = ends(sources, span);
    out.insert("start".to_owned(), start);
    out.insert("end".to_owned(), end);
    out
}

fn ends(sources: &SourceMap, span: Span) -> (Value, Value) {
    let (start, end) = sources.places(span);
    let value =
        |place: super::Place| json!({"line": place.line, "column": place.column, "offset": place.offset});
    (value(start), value(end))
}
