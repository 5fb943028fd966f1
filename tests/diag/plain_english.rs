//! Plain English in what users read: the strings of the rooms below have none of the turns of phrase that
//! hide subject and verb.

use std::path::{Path, PathBuf};

/// What no string may hold, and what to write instead.
const PATTERNS: &[(&str, &str)] = &[
    (" is no ", "is not a"),
    (" are no ", "are not"),
    ("there is no ", "the language has no …, … is not supported"),
    (" stands behind", "follows"),
    (" stand behind", "follow"),
    (" stands in ", "is in"),
    (" stand in ", "are in"),
    (" stands twice", "… has … twice"),
    (" stands outside", "is outside"),
    (" stands inside", "is inside"),
    (" is asked", "is evaluated, is requested"),
    (" are asked", "are evaluated, are requested"),
    ("belongs into", "belongs in"),
    (" a truth ", "a bool"),
    (" truths", "bools"),
    (" in vain", "without effect"),
];

/// The rooms whose strings are held to this. Add a room once its strings are rewritten.
const ROOMS: &[&str] = &["lang/syntax", "lang/check", "lang/lint", "lang/language/statements"];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn strings_are_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = String::new();
    for room in ROOMS {
        let mut found = Vec::new();
        files(&root.join(room), &mut found);
        assert!(!found.is_empty(), "src/{room} has no files");
        for path in found {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or("");
            for (at, line) in
                code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
            {
                let line = format!(" {} ", line.split(" // ").next().unwrap_or("").replace(['"', '`'], " "));
                for (pattern, better) in PATTERNS.iter().filter(|(pattern, _)| line.contains(pattern)) {
                    let place = path.strip_prefix(&root).unwrap().display();
                    wrong.push_str(&format!(
                        "src/{place}:{}: `{}`: write `{better}`\n",
                        at + 1,
                        pattern.trim()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
