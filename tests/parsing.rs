//! The front end of the language from outside: what parses, what is said about what does not, and where.

use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::lang::{ast, dsl};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Files of a folder with an ending, by name.
fn files(of: &str, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder(of))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    found.sort();
    found
}

fn design() -> Vec<(String, String)> {
    let paths = files("language/design", "bay");
    paths
        .iter()
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn parse(text: &str) -> (SourceMap, ast::File, Vec<Diagnostic>) {
    let mut sources = SourceMap::new();
    let id = sources.add("test.bay", text);
    let (file, diagnostics) = dsl::parse(sources.get(id).unwrap());
    (sources, file, diagnostics)
}

/// Every span of the tree lies inside the text, on character boundaries.
fn assert_spans(text: &str, file: &ast::File, diagnostics: &[Diagnostic]) {
    let printed = format!("{file:?}{diagnostics:?}");
    for part in printed.split("start: ").skip(1) {
        let start: usize = part.split(',').next().unwrap().parse().unwrap();
        let end: usize = part.split("end: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(start <= end && end <= text.len(), "{start}..{end} of {}", text.len());
        assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{start}..{end} in {text:?}");
    }
}

#[test]
fn every_policy_of_the_design_parses() {
    let all = design();
    assert_eq!(all.len(), 39);
    for (name, text) in &all {
        let (_, file, diagnostics) = parse(text);
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:#?}");
        assert_eq!(file.policies().count(), 1, "{name}");
        assert_spans(text, &file, &diagnostics);
        let printed = format!("{file:?}");
        assert!(!printed.contains("Broken("), "{name}");
        assert!(
            file.items.iter().all(|item| text[item.span.range()].trim() == &text[item.span.range()]),
            "{name}"
        );
    }
}
