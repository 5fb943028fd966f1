//! The guide to the language: its policies compile, its expressions have the values beside them.

use super::{blocks, run};
use crate::support::repository;

#[test]
fn every_policy_of_the_guide_compiles_without_a_finding() {
    let guide = std::fs::read_to_string(repository("docs/language.md")).unwrap();
    let policies: Vec<&str> =
        blocks(&guide).into_iter().filter(|(words, _)| *words == "bay").map(|(_, lines)| lines).collect();
    assert!(policies.len() >= 10, "{}", policies.len());
    for text in policies {
        let mut sources = bayplan::diag::SourceMap::new();
        let id = sources.add("guide.bay", text);
        let (compiled, found) = bayplan::lang::compile(sources.get(id).unwrap());
        assert!(found.is_empty() && !compiled.is_empty(), "{text}\n{found:?}");
    }
}

#[test]
fn the_document_of_its_page_compiles_without_a_finding() {
    let page = std::fs::read_to_string(repository("docs/documents.md")).unwrap();
    let (_, text) = blocks(&page).into_iter().find(|(words, _)| *words == "yaml").unwrap();
    let mut sources = bayplan::diag::SourceMap::new();
    let id = sources.add("page.yaml", text);
    let (compiled, found) = bayplan::lang::compile(sources.get(id).unwrap());
    assert!(found.is_empty() && compiled.len() == 1, "{found:?}");
}

#[test]
fn expressions_of_the_guide_have_the_values_beside_them() {
    let guide = std::fs::read_to_string(repository("docs/language.md")).unwrap();
    let table = guide.split("| expression | value |\n|---|---|\n").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 5);
    for row in rows {
        let cells: Vec<&str> = row.split('`').collect();
        let [_, expression, _, value, _] = cells[..] else { panic!("{row}") };
        let (text, status, errors) = run(&format!("bayplan eval '{expression}'"));
        assert_eq!(status, Some(0), "{errors}");
        assert_eq!(text.split("   ").next(), Some(value), "{expression}: {text}");
    }
}
