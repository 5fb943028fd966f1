//! What is reported about an expression that cannot be read.

use super::*;
use bayplan::diag::draw::human;
use bayplan::diag::{Fix, Look};

/// What is said about an expression, drawn.
fn drawn(text: &str) -> (SourceMap, Vec<Diagnostic>, String) {
    let mut sources = SourceMap::new();
    let id = sources.add("rule", text);
    let said = cel::parse(text, id, &|at| at).diagnostics;
    let report = human(&sources, &said, Look { unicode: true, ..Look::default() }).as_str().to_owned();
    (sources, said, report)
}

/// A text with the edits of a fix.
fn fixed(text: &str, fix: &Fix) -> String {
    let mut edits: Vec<_> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse((edit.span.start, edit.span.end)));
    let mut text = text.to_owned();
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.text);
    }
    text
}

/// `BAYPLAN_GOLDEN=write` writes what is said.
#[test]
fn mistakes_are_reported_as_recorded() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang/cel_errors");
    let expressions = std::fs::read_to_string(folder.join("expressions.txt")).unwrap();
    let (mut all, mut wrong) = (String::new(), Vec::new());
    for line in expressions.lines() {
        let text = &line.replace('␤', "\n");
        let (_, said, report) = drawn(text);
        assert!(!said.is_empty(), "nothing is said about {text}");
        for diagnostic in &said {
            let words = format!("{} {:?}", diagnostic.message, diagnostic.help);
            assert!(!words.contains("input") && !words.contains("<EOF>"), "{words}");
        }
        for fix in said.iter().flat_map(|diagnostic| &diagnostic.fixes) {
            let (_, more, _) = drawn(&fixed(text, fix));
            if more.len() >= said.len() {
                wrong.push(format!("{text}: {} gives {}: {more:?}", fix.message, fixed(text, fix)));
            }
        }
        all.push_str(&format!("==== {line}\n{report}\n"));
    }
    let path = folder.join("reports.out");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(&path, &all).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), all, "BAYPLAN_GOLDEN=write records");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hostile_expressions_are_answered_quickly() {
    let long = |part: &str, times: usize| part.repeat(times);
    let deep =
        |open: &str, close: &str, levels: usize| format!("{}1{}", long(open, levels), long(close, levels));
    for (text, code) in [
        (long("a", 10 << 20), "BP0005"),
        (long("é", 10 << 20), "BP0005"),
        (deep("(", ")", 5000), "BP0005"),
        (deep("[", "]", 101), "BP0005"),
        (long("(", 10_000), "BP0005"),
        (format!("{}a", long("a.", 8000)), "BP0005"),
        (format!("{}a", long("a.", 1001)), "BP0005"),
        (format!("{}a", long("a?a:", 700)), "BP0005"),
        (format!("{}a", long("-", 5000)), "BP0005"),
        (format!("[{}]", long("!a,", 2000)), "BP0005"),
        (long("a ", 8000), "BP0001"),
        (long("'", 16_001), "BP0004"),
        (long("\\", 16_000), "BP0008"),
        (long(")", 16_000), "BP0004"),
        ("a\0b".to_owned(), "BP0008"),
        ("'\\ud83d\\ude00'".to_owned(), "BP0006"),
        (String::new(), "BP0001"),
    ] {
        let begin = std::time::Instant::now();
        let said = of_cel(&text).unwrap_err();
        let shown: String = text.chars().take(30).collect();
        assert!(said.iter().any(|one| one.code.id == code), "{shown}: {:?}", said.first());
        assert!(begin.elapsed().as_secs() < 5, "{shown}: {:?}", begin.elapsed());
        assert!(said.len() <= 20, "{shown}: {}", said.len());
    }
}
