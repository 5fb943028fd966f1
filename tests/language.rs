//! The language room from outside: fixtures of texts, types, mistakes and values.

use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang;
use std::path::{Path, PathBuf};

/// All files of a folder with an ending, in the order of their names.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    files.sort();
    files
}

/// A diagnostic in one line and its help, as goldens have it.
fn line(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
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
fn said(name: &str, text: &str) -> (Vec<lang::typed::Policy>, Vec<Diagnostic>, String) {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let (policies, diagnostics) = lang::compile(sources.get(id).unwrap());
    let lines = diagnostics.iter().map(|d| line(d, &sources)).collect();
    (policies, diagnostics, lines)
}

#[test]
fn policies_of_the_design_compile_or_need_what_is_not_built() {
    let mut wrong = String::new();
    for path in files("design", "bay") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (policies, diagnostics, lines) = said(&name, &text);
        let errors: Vec<_> = diagnostics.iter().filter(|d| d.is_error()).collect();
        let only_unbuilt = errors.iter().all(|d| d.code.slug == "not-built");
        if !only_unbuilt || errors.is_empty() != !policies.is_empty() {
            wrong.push_str(&format!("---- {name}\n{lines}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is said about every policy of the design, as one text: a change of a message shows here.
#[test]
fn what_is_said_about_the_policies_of_the_design() {
    let mut all = String::new();
    for path in files("design", "bay") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (_, _, lines) = said(&name, &text);
        all.push_str(&format!("---- {name}\n{lines}"));
    }
    golden("design.out", &all);
}

/// Compares with a recorded text; `UPDATE=1` records it.
fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(got == wanted, "{} differs; UPDATE=1 records it:\n{got}", path.display());
}
