//! What the pages say of the program is so: codes that they name, commands and flags, topics, and statements that they say
//! are refused.

use super::{below, run};
use crate::support::repository;
use bayplan::diag::codes::CODES;
use bayplan::lang::language::statements::STATEMENTS;
use bayplan::reference::TOPICS;
use std::path::PathBuf;

/// README, pages, examples and policies.
fn pages() -> Vec<(PathBuf, String)> {
    let mut found = vec![repository("README.md")];
    for folder in ["docs", "policies", "examples"] {
        below(&repository(folder), ".md", &mut found);
    }
    found.into_iter().map(|path| (path.clone(), std::fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn codes_that_pages_name_exist() {
    let mut named = 0;
    for (path, text) in pages() {
        for (at, _) in text.match_indices("BP0") {
            let code: String = text[at..].chars().take(6).collect();
            if code.len() == 6 && code[2..].chars().all(|c| c.is_ascii_digit()) {
                assert!(CODES.iter().any(|of| of.id == code), "{}: {code} is not a code", path.display());
                named += 1;
            }
        }
    }
    assert!(named > 100, "{named}");
}

#[test]
fn every_page_is_a_topic() {
    let mut pages = Vec::new();
    below(&repository("docs"), ".md", &mut pages);
    // Alerts lead to the pages of `docs/runbooks`, and `install` lists them.
    pages.retain(|page| !page.starts_with(repository("docs/runbooks")));
    for page in pages {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            name == "README.md" || TOPICS.iter().any(|topic| topic.file == name),
            "{name} is not a topic"
        );
    }
    let index = std::fs::read_to_string(repository("docs/README.md")).unwrap();
    assert!(index.contains("All of it is in the binary"), "{index}");
}

#[test]
fn statements_that_pages_call_refused_are_refused() {
    for (path, text) in pages() {
        let text = text.replace('\n', " ");
        for (at, _) in text.match_indices("` is refused by name").chain(text.match_indices("` is not built"))
        {
            let word = text[..at].rsplit('`').next().unwrap();
            let built =
                STATEMENTS.iter().map(|id| id.def()).any(|def| def.words == word || def.word() == word);
            assert!(!built, "{}: `{word}` is built", path.display());
        }
    }
}

#[test]
fn commands_and_words_that_pages_look_up_are_found() {
    let mut tried = 0;
    for (path, text) in pages() {
        let parts = text
            .split('`')
            .filter(|part| part.starts_with("bayplan help ") || part.starts_with("bayplan lint --explain "));
        for command in
            parts.filter(|part| !part.contains(|c: char| c.is_ascii_uppercase() && !part.contains("BP")))
        {
            let (out, status, said) = run(&command.replace('\n', " "));
            assert_eq!(status, Some(0), "{}: {command}: {said}", path.display());
            assert!(!out.is_empty());
            tried += 1;
        }
    }
    assert!(tried > 5, "{tried}");
}

/// Every word that a person may look up is found by `bayplan help WORD`, and its page is no raw Markdown.
#[test]
fn help_finds_every_word() {
    let words = [
        // statements and clauses
        "gate",
        "filter",
        "score",
        "exception",
        "except",
        "ledger",
        "memo",
        "lookup",
        "group",
        "permit",
        "reserve",
        "use",
        "param",
        "victim",
        "protect",
        "queue by",
        "before bind",
        "after bind",
        "missing",
        // fields
        "node.free",
        "pod.owner",
        "node.free.cpu",
        "pod.labels",
        "allocatable",
        "taints",
        // functions and macros
        "within",
        "percent",
        "share",
        "count",
        "exists",
        "matches",
        "optMap",
        "quantity",
        // units
        "cpu",
        "Gi",
        "GiB",
        "kB",
        "ms",
        // codes and their names
        "BP0105",
        "bp0105",
        "missing-doc",
        "mixed-units",
        // topics, headings, commands
        "tutorial",
        "batch",
        "cel-conformance",
        "metrics",
        "feature-gates",
        "groups",
        "dry-run",
        "configmap",
        // metrics, flags, annotations
        "scheduler_pending_pods",
        "--policies",
        "policies",
        "tie-break",
        "--min-coverage",
        "bayplan.dev/policy",
    ];
    for word in words {
        let (out, status, said) = run(&format!("bayplan help '{word}'"));
        assert!(status == Some(0) && out.lines().count() > 1, "{word}: {said}{out}");
        assert!(!out.contains("](#") && !out.contains("](http"), "{word}: {out}");
    }
    for (command, part) in [
        ("bayplan help language 11", "11. Time"),
        ("bayplan help language groups", "8. Groups"),
        ("bayplan help language 8", "A LEDGER: SUMS BY KEY"),
        ("bayplan help codes", "BP0001"),
        ("bayplan help ci", "Recipes for CI"),
    ] {
        let (out, status, said) = run(command);
        assert!(status == Some(0) && out.contains(part) && !out.contains("]("), "{command}: {said}{out}");
    }
    // Words that are in no code are found in the text.
    for word in ["leader election", "metrics-server", "back-off"] {
        let (out, status, said) = run(&format!("bayplan help '{word}'"));
        let says = out.to_lowercase().contains(&word.to_lowercase()) || out.contains("is mentioned in");
        assert!(status == Some(0) && says, "{word}: {said}{out}");
    }
    for (word, near) in [
        ("fliter", "`filter`"),
        ("perecnt", "`percent`"),
        ("tutoria", "`tutorial`"),
        ("BP9999", "nothing is called"),
    ] {
        let (_, status, said) = run(&format!("bayplan help {word}"));
        assert!(status == Some(2) && said.contains(near), "{word}: {said}");
    }
}

/// Every statement, function, field of an object, code, flag and metric.
#[test]
fn help_finds_what_the_tables_have() {
    use bayplan::reference::search::search;
    let found = |word: &str| {
        let found = search(word);
        assert!(!found.pages.is_empty() || !found.sections.is_empty(), "{word}");
    };
    STATEMENTS.iter().for_each(|id| found(id.def().words));
    CODES.iter().for_each(|code| {
        found(code.id);
        found(code.slug);
    });
    for name in ["functions.md", "fields.md", "metrics.md"] {
        let text = std::fs::read_to_string(repository("docs").join(name)).unwrap();
        let headings = text.lines().filter_map(|line| line.strip_prefix("## `"));
        headings.for_each(|heading| found(heading.trim_end_matches('`')));
        for row in text.lines().filter_map(|line| line.strip_prefix("| `")).step_by(7) {
            found(row.split('`').next().unwrap());
        }
    }
}
