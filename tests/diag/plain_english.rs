//! Plain English in all of `src` and on the pages: strings, comments and Markdown have none of the turns of phrase
//! that hide subject and verb.

use std::path::{Path, PathBuf};

/// Phrases that no string, no comment and no page may contain, and what to write instead.
const PATTERNS: &[(&str, &str)] = &[
    (" is no ", "is not a"),
    (" are no ", "are not"),
    (" stands ", "is, precedes, follows"),
    (" stand ", "are, precede, follow"),
    (" is asked", "is evaluated, is requested"),
    (" are asked", "are evaluated, are requested"),
    (" was asked", "was evaluated, was requested"),
    (" is told", "receives, is notified"),
    (" are told", "receive, are notified"),
    (" is said", "is reported"),
    (" are said", "are reported"),
    (" is looked at", "is evaluated, is checked"),
    (" are looked at", "are evaluated, are checked"),
    (" asks after", "requests, checks"),
    (" who keep", "name the plugin or rule"),
    (" those who ", "name them"),
    (" nobody", "name the subject: no plugin, no caller"),
    (" somebody", "name the subject: a user, a caller"),
    (" whoever", "name the subject: the caller"),
    (" anyone", "name the subject: any plugin, any user"),
    (" of which none", "none of the …"),
    (" what it is told", "its input"),
    (" what becomes of", "the result of, how … is treated"),
    (" belongs into", "belongs in"),
    (" a truth ", "a bool"),
    (" truths", "bools"),
    (" in vain", "without effect"),
    (" shall ", "must"),
    (" any more", "name the state"),
    (" speak of ", "apply to, be about, mention"),
    (" speaks of ", "applies to, is about, mentions"),
    (" spoken of", "mentioned"),
];

/// What no comment may begin with: an editor and rustdoc show it alone, without the item before it.
const BEGINNING: (&str, &str) = ("The same ", "what it is");

/// Phrases that no string may contain; in a comment, "`None` when there is no such row" is fine.
const IN_STRINGS: &[(&str, &str)] = &[("there is no ", "… does not exist, … has no …, … is not supported")];

/// Phrases that contain a pattern and are good English.
const ALLOWED: &[&str] = &["there is no ", "there are no ", " stands for", " stand for"];

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|of| of == ending) {
            found.push(path);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Comment,
    /// A string, with the number of `#` that end it; `None` if it is not raw.
    String(Option<usize>),
}

/// The comments and the strings of each line.
fn prose(code: &str) -> Vec<(String, String)> {
    let mut lines = vec![(String::new(), String::new())];
    let mut part = Part::Code;
    let mut rest = code;
    while let Some(letter) = rest.chars().next() {
        let mut length = letter.len_utf8();
        if letter == '\n' {
            lines.push((String::new(), String::new()));
            part = if part == Part::Comment { Part::Code } else { part };
        }
        let line = lines.last_mut().unwrap();
        match part {
            Part::Code if rest.starts_with("//") => part = Part::Comment,
            Part::Code if rest.starts_with("'\"'") => length = 3,
            Part::Code if rest.starts_with("'\\\"'") => length = 4,
            Part::Code if letter == '"' => part = Part::String(None),
            Part::Code if rest.starts_with("r\"") || rest.starts_with("r#") => {
                let hashes = rest[1..].len() - rest[1..].trim_start_matches('#').len();
                if rest[1 + hashes..].starts_with('"') {
                    part = Part::String(Some(hashes));
                    length = hashes + 2;
                }
            }
            Part::Code => {}
            Part::Comment => line.0.push(letter),
            Part::String(None) if letter == '\\' => {
                length += rest[1..].chars().next().filter(|next| *next != '\n').map_or(0, char::len_utf8);
            }
            Part::String(None) if letter == '"' => {
                part = Part::Code;
                line.1.push(' ');
            }
            Part::String(Some(hashes)) if rest.starts_with(&format!("\"{}", "#".repeat(hashes))) => {
                part = Part::Code;
                length = hashes + 1;
                line.1.push(' ');
            }
            Part::String(_) => line.1.push(letter),
        }
        rest = &rest[length..];
    }
    lines
}

/// The patterns that a line of prose contains.
fn found(line: &str, more: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let padded = format!(" {} ", line.replace(['"', '`', '/', '!', '('], " ")).to_lowercase();
    let plain = ALLOWED.iter().fold(padded.clone(), |text, good| text.replace(good, "   "));
    let always = PATTERNS.iter().filter(|(pattern, _)| plain.contains(pattern));
    always.chain(more.iter().filter(|(pattern, _)| padded.contains(pattern))).copied().collect()
}

/// Whether a comment begins with [`BEGINNING`].
fn begins_badly(comment: &str) -> bool {
    comment.trim_start_matches(['/', '!', ' ']).starts_with(BEGINNING.0)
}

#[test]
fn strings_and_comments_are_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root, "rs", &mut paths);
    paths.sort();
    let mut wrong = String::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        for (at, (comment, string)) in prose(code).iter().enumerate() {
            let begins = begins_badly(comment).then_some(BEGINNING);
            for (pattern, better) in
                found(comment, &[]).into_iter().chain(found(string, IN_STRINGS)).chain(begins)
            {
                let place = path.strip_prefix(&root).unwrap().display();
                wrong.push_str(&format!("src/{place}:{}: `{}`: write `{better}`\n", at + 1, pattern.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Markdown of the root and of `docs`, `examples` and `policies`, without the list of changes.
#[test]
fn pages_are_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].iter().map(|name| root.join(name)).collect();
    for folder in ["docs", "examples", "policies"] {
        files(&root.join(folder), "md", &mut paths);
    }
    paths.sort();
    assert!(paths.len() > 30, "{paths:?}");
    let mut wrong = String::new();
    for path in paths {
        for (at, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            for (pattern, better) in found(line, &[]) {
                let place = path.strip_prefix(root).unwrap().display();
                wrong.push_str(&format!("{place}:{}: `{}`: write `{better}`\n", at + 1, pattern.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn comments_and_strings_are_told_from_code() {
    let code = "let truths = 1; // one of the truths\nlet a = '\"'; f(\"it is no \\\"a\\\"\", r#\"in \"vain\"\"#);\n";
    let lines = prose(code);
    assert_eq!(lines[0].0.trim_start_matches('/'), " one of the truths");
    assert_eq!(lines[0].1, "");
    assert_eq!(lines[1].1, "it is no a in \"vain\" ");
    assert_eq!(found(&lines[0].0, &[]), [(" truths", "bools")]);
    assert_eq!(found("`None` when there is no such row", &[]), []);
    assert_eq!(found("there is no such row", IN_STRINGS).len(), 1);
    assert!(begins_badly("/ The same for nodes."));
    assert!(!begins_badly("/ Another name for the same node."));
}
