//! Reads fixtures of `tests/lang` and compares with what is recorded there.

use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang;
use bayplan::lang::schemas::Schemas;
use std::path::{Path, PathBuf};

/// All files of a folder with an ending, in the order of their names.
pub(super) fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    files.sort();
    files
}

/// A diagnostic in one line and its help, as goldens have it.
pub(super) fn line(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let (place, _) = sources.places(diagnostic.span);
    let mut text = format!(
        "{}:{} {}[{}] {}\n",
        place.line,
        place.column,
        diagnostic.severity.word(),
        diagnostic.code.id,
        diagnostic.message
    );
    if let Some(help) = &diagnostic.help {
        text.push_str(&format!("    help: {help}\n"));
    }
    text
}

/// What was said about a text.
pub(super) fn said(name: &str, text: &str) -> (Vec<lang::typed::Policy>, Vec<Diagnostic>, String) {
    said_with(name, text, &Schemas::default())
}

/// The same with kinds beside those of Kubernetes.
pub(super) fn said_with(
    name: &str,
    text: &str,
    schemas: &Schemas,
) -> (Vec<lang::typed::Policy>, Vec<Diagnostic>, String) {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    // A fixture for a cluster of another size says so in its first line.
    let size = text.lines().next().and_then(|line| line.strip_prefix("// --size "));
    let size = size.map_or_else(lang::analysis::cost::Size::default, |size| size.parse().unwrap());
    let given = lang::Given { size, schemas, arguments: &|_| Vec::new(), sources: None, exceptions: None };
    let (policies, diagnostics) = lang::compile_given(sources.get(id).unwrap(), given);
    let lines = diagnostics.iter().map(|d| line(d, &sources)).collect();
    (policies, diagnostics, lines)
}

/// Compares with a recorded text; `BAYPLAN_GOLDEN=write` records it.
pub(super) fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang").join(name);
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(got == wanted, "{} differs; BAYPLAN_GOLDEN=write records it:\n{got}", path.display());
}

/// An expression as it would stand in a filter.
pub(super) fn expression(text: &str) -> (Option<lang::typed::Expr>, Vec<Diagnostic>, String) {
    let mut sources = SourceMap::new();
    let id = sources.add("expression", text);
    let (parsed, mut diagnostics) = lang::syntax::parse_expression(sources.get(id).unwrap());
    let mut checked = None;
    if let Some(parsed) = parsed {
        let (result, found) = lang::check::check_expression(&parsed, text);
        checked = result.map(|(_, expr)| expr);
        diagnostics.extend(found);
    }
    let lines = diagnostics.iter().map(|d| line(d, &sources)).collect();
    (checked, diagnostics, lines)
}
