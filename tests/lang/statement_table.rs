//! The table of statements: the grammar has the same statements in the same places, and every example holds.

use bayplan::diag::SourceMap;
use bayplan::lang;
use bayplan::lang::language::statements::{CLAUSES, Home, RESERVED, STATEMENTS, StatementId, statements_in};
use std::collections::{BTreeMap, BTreeSet};

/// The rules of the grammar: name and right-hand side.
fn grammar() -> BTreeMap<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/grammar/bay.pest");
    let text = std::fs::read_to_string(path).unwrap();
    let mut rules: BTreeMap<String, String> = BTreeMap::new();
    let mut last = None;
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//") && !line.trim().is_empty()) {
        match line.split_once(" = ").filter(|_| !line.starts_with(' ')) {
            Some((name, body)) => {
                rules.insert(name.trim().to_owned(), body.to_owned());
                last = Some(name.trim().to_owned());
            }
            None => {
                if let Some(body) = last.as_ref().and_then(|last| rules.get_mut(last)) {
                    body.push_str(line);
                }
            }
        }
    }
    rules
}

/// The names of rules in a right-hand side, without those that are words, marks or white space.
fn named<'a>(body: &'a str, rules: &[&str]) -> BTreeSet<&'a str> {
    let words = body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| rules.contains(word)).collect()
}

fn rules_of(home: Home) -> BTreeSet<&'static str> {
    statements_in(home).map(|id| id.def().rule).collect()
}

#[test]
fn the_grammar_has_the_statements_of_the_table_in_the_same_places() {
    let grammar = grammar();
    let rules: Vec<&str> = STATEMENTS.iter().map(|id| id.def().rule).collect();
    assert_eq!(named(&grammar["stmt"], &rules), rules_of(Home::Policy));
    let file = grammar["file"].replace("except_item", "except_");
    assert_eq!(named(&file, &rules), rules_of(Home::File));
    for id in STATEMENTS {
        let rule = id.def().rule;
        // what stands between the braces of its block
        let inner = grammar[rule].split_once("lbrace").map_or("", |(_, inner)| inner);
        if *id != StatementId::Policy {
            assert_eq!(named(inner, &rules), rules_of(Home::Block(*id)), "the block of `{}`", id.def().words);
        }
    }
    let everywhere = ["let_", "mode", "except_"];
    let in_blocks: BTreeSet<&str> = STATEMENTS
        .iter()
        .filter(|id| id.def().stands_in_a_block())
        .map(|id| id.def().rule)
        .filter(|rule| !everywhere.contains(rule))
        .collect();
    assert_eq!(named(&grammar["in_block"], &rules), in_blocks);
}

#[test]
fn the_words_of_a_statement_are_those_of_its_rule() {
    let grammar = grammar();
    for id in STATEMENTS {
        let def = id.def();
        for word in def.words.split(' ').filter(|word| *word != "when") {
            let token = format!("k_{word}");
            assert!(grammar[def.rule].contains(&token), "`{}` has no {token}", def.rule);
            assert!(grammar[&token].contains(&format!("\"{word}\"")), "{token}");
        }
        assert!(def.syntax.starts_with(def.word()), "{}", def.syntax);
    }
}

#[test]
fn the_words_of_clauses_and_the_reserved_words_are_those_of_the_grammar() {
    let grammar = grammar();
    let has = |word: &str| {
        ["k_", "by_", ""].iter().any(|prefix| {
            grammar.get(&format!("{prefix}{word}")).is_some_and(|body| body.contains(&format!("\"{word}\"")))
        })
    };
    for clause in CLAUSES {
        assert!(has(clause.word), "{}", clause.word);
        assert!(clause.syntax.starts_with(clause.word), "{}", clause.syntax);
        for value in clause.values {
            assert!(has(value), "{value}");
        }
    }
    for word in RESERVED {
        let text = format!("policy p {{ let {word} = 1 }}");
        assert!(errors(&text).iter().any(|error| !error.contains("not-built")), "`{word}` is a name");
    }
}

/// The slugs of what is said of a text.
fn said(text: &str) -> Vec<String> {
    let mut sources = SourceMap::new();
    let id = sources.add("example.bay", text);
    sources.add("racks.bay", "def is_moving(n: node): bool = n.labels[\"moves\"] == \"true\"\n");
    let given = lang::Given {
        size: Default::default(),
        schemas: &Default::default(),
        arguments: &|_| Vec::new(),
        sources: Some(&sources),
        exceptions: None,
    };
    let (_, diagnostics) = lang::compile_given(sources.get(id).unwrap(), given);
    diagnostics.iter().map(|said| format!("{}: {}", said.code.slug, said.message)).collect()
}

fn errors(text: &str) -> Vec<String> {
    let mut sources = SourceMap::new();
    let id = sources.add("example.bay", text);
    let (_, diagnostics) = lang::compile(sources.get(id).unwrap());
    let errors = diagnostics.iter().filter(|said| said.is_error());
    errors.map(|said| format!("{}: {}", said.code.slug, said.message)).collect()
}

#[test]
fn every_example_compiles_without_a_finding() {
    let mut wrong = String::new();
    for id in STATEMENTS {
        let def = id.def();
        if !def.example.contains(def.word()) {
            wrong.push_str(&format!("`{}`: its example does not use it\n", def.words));
        }
        for said in said(def.example) {
            wrong.push_str(&format!("`{}`: {said}\n", def.words));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_row_is_complete() {
    for id in STATEMENTS {
        let def = id.def();
        assert!(def.doc.ends_with('.'), "`{}`: {}", def.words, def.doc);
        assert!(!def.stands.is_empty() && !def.syntax.is_empty() && !def.rule.is_empty(), "`{}`", def.words);
        let inside = def.stands.iter().all(|home| matches!(home, Home::Block(_)));
        assert_eq!(inside, def.sees.is_none(), "`{}`: what does it see?", def.words);
    }
    for clause in CLAUSES {
        assert!(clause.doc.ends_with('.'), "{}", clause.doc);
    }
}
