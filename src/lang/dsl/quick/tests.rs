//! The quick reader against the grammar: on every policy of the repository, and on each of them with tokens dropped,
//! doubled, exchanged and put in.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use super::{file, hole};
use crate::lang::dsl::grammar::{Grammar, Rule};
use crate::lang::dsl::nodes::Nodes;
use crate::lang::dsl::scan;
use pest::Parser as _;
use std::path::{Path, PathBuf};

fn policies(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.starts_with(Path::new(env!("CARGO_MANIFEST_DIR")).join("target")) {
            policies(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "bay") || folder.ends_with("corpus/policy")
        {
            into.push(path);
        }
    }
}

fn texts() -> Vec<String> {
    let mut paths = Vec::new();
    for folder in ["tests", "policies", "examples", "fuzz"] {
        policies(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut paths);
    }
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// Whether both read the text; they must agree. A text without pairs of quotes, comments or brackets is not read.
fn agree(text: &str) -> Option<bool> {
    let found = scan::scan(text);
    if !found.open.is_empty() || found.too_deep.is_some() {
        return None;
    }
    let defined = Grammar::parse(Rule::file, text).ok().map(|pairs| Nodes::of(text, pairs));
    let quick = file(text);
    assert_eq!(quick, defined, "{text}");
    Some(defined.is_some())
}

#[test]
fn every_policy_is_read_as_the_grammar_reads_it() {
    let read = texts().iter().filter(|text| agree(text) == Some(true)).count();
    assert!(read > 100, "{read}");
}

#[test]
fn changed_policies_are_read_as_the_grammar_reads_them() {
    let texts = texts();
    let words: Vec<&str> = texts
        .iter()
        .flat_map(|text| scan::scan(text).tokens.into_iter().map(|token| &text[token.start..token.end]))
        .chain([
            "?",
            "??",
            ".?",
            "[?",
            ",",
            ";",
            "/* c */",
            "// c\n",
            " ",
            "1.5e3",
            "0x1Fu",
            "5ms",
            "50%",
            "r\"a\"",
            "b'x'",
            "rb\"y\"",
            "\"\"\"a\nb\"\"\"",
            "''",
            "`a.b`",
            "list<int>",
            "1h30min",
            "2026-01-02",
            "é",
            "!",
            "-",
            ".5",
            "asc",
        ])
        .collect();
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let (mut right, mut wrong) = (0, 0);
    for text in texts.iter().filter(|text| text.len() < 3000) {
        for _ in 0..20 {
            let mut pieces: Vec<&str> = Vec::new();
            let mut behind = 0;
            for token in scan::scan(text).tokens {
                pieces.push(&text[behind..token.start]);
                pieces.push(&text[token.start..token.end]);
                behind = token.end;
            }
            pieces.push(&text[behind..]);
            for _ in 0..1 + draw(2) {
                let at = draw(pieces.len());
                match draw(5) {
                    0 => {
                        pieces.remove(at);
                    }
                    1 => pieces.insert(at, pieces[draw(pieces.len())]),
                    2 => pieces[at] = words[draw(words.len())],
                    3 => pieces.insert(at, words[draw(words.len())]),
                    _ => {
                        let other = draw(pieces.len());
                        pieces.swap(at, other);
                    }
                }
                if pieces.is_empty() {
                    break;
                }
            }
            match agree(&pieces.concat()) {
                Some(true) => right += 1,
                Some(false) => wrong += 1,
                None => {}
            }
        }
    }
    assert!(right > 500 && wrong > 500, "{right} right, {wrong} wrong");
}

#[test]
fn expressions_are_read_as_the_grammar_reads_them() {
    let operands = [
        "a",
        "node.labels[\"x\"]",
        "f(x: 1, y)",
        "l.filter(p, p.a)",
        "-5",
        "! b",
        "1.5e-3",
        ".5",
        "0x1F",
        "7u",
        "5m",
        "5ms",
        "1h30min",
        "2.5Gi",
        "50%",
        "(a ? b : c)",
        "[?a, b,]",
        "{?a: b}",
        "[]",
        "{}",
        "true",
        "null",
        "none",
        "r'x'",
        "rb'x'",
        "b\"x\"",
        "'''a'''",
        "\"\"",
        ".a.b",
        "a.?b",
        "a[?1]",
        "a.`b-c`",
        "a.in",
        "in_x",
        "matchesx",
        "as",
        "a . b ( c )",
        "1d5",
        "5mi",
        "1.e",
        "a /* c */ .b",
        "f(true: 1)",
        "f(a : 1)",
        "",
    ];
    let operators = [
        "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "??", "in", "matches",
        "? b :", "?", "=", ".",
    ];
    let (mut right, mut wrong) = (0, 0);
    for left in operands {
        for operator in operators {
            for right_side in operands {
                for space in ["", " "] {
                    let text = format!("{space}{left}{space}{operator}{space}{right_side}{space}");
                    let found = scan::scan(&text);
                    if !found.open.is_empty() {
                        continue;
                    }
                    let defined = Grammar::parse(Rule::hole, &text).ok().map(|pairs| Nodes::of(&text, pairs));
                    if defined.is_some() {
                        right += 1;
                    } else {
                        wrong += 1;
                    }
                    assert_eq!(hole(&text), defined, "{text}");
                }
            }
        }
    }
    assert!(right > 10_000 && wrong > 1000, "{right} right, {wrong} wrong");
}
