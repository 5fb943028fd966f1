//! `!` where a value begins: in YAML it begins a tag, which takes the words after it away, and in an expression it
//! negates. Documents with expressions are read as they are meant, and each such place is a mistake.

use super::documents::limited_documents;
use super::read::YamlError;
use super::tree::{At, Tree, TreeValue};
use bayplan_diag::{Diagnostic, SourceId, Span, codes};

/// What `!` is.
const MESSAGE: &str = "`!` begins a tag in YAML";

/// What to do about it where the text is not shown.
const HELP: &str = "put the text into single quotes";

/// The longest text that a help shows in its quotes.
const SHOWN: usize = 80;

/// The tags of YAML itself, which say of what type a value is.
const OF_YAML: [&str; 13] = [
    "str",
    "int",
    "float",
    "bool",
    "null",
    "map",
    "seq",
    "set",
    "omap",
    "pairs",
    "binary",
    "timestamp",
    "merge",
];

/// What replaces `!` while the text is read: a text that begins with it needs no quotes.
const MASK: u8 = b'_';

/// Reads every document of a text in which values are expressions. A value that begins with `!` is a text and keeps it;
/// the places of those are given too, since without quotes they are tags.
pub fn documents_of_expressions(text: &str) -> (Vec<Tree>, Vec<YamlError>, Vec<At>) {
    let mut marks = marks(text);
    // What looks like the beginning of a value may be within a text.
    for _ in 0..3 {
        if marks.is_empty() {
            break;
        }
        let (mut trees, errors) = limited_documents(&masked(text, &marks));
        let mut found = Vec::new();
        trees.iter_mut().for_each(|tree| restore(tree, text, &marks, &mut found));
        found.sort_by_key(|at| at.start);
        if found.len() == marks.len() {
            return (trees, errors, found);
        }
        marks.retain(|mark| found.iter().any(|at| at.start == mark.start));
    }
    let (trees, errors) = limited_documents(text);
    (trees, errors, Vec::new())
}

/// The diagnostic about a value that begins with `!`.
pub fn tag(source: SourceId, text: &str, at: At) -> Diagnostic {
    let span = Span::new(source, at.start, at.end);
    let written = text.get(at.start..at.end).unwrap_or("");
    let quoted = format!("'{}'", written.replace('\'', "''"));
    let said = Diagnostic::new(&codes::BAD_YAML, span, MESSAGE);
    if written.contains('\n') {
        return said.with_help(HELP);
    }
    let shown = if quoted.chars().count() <= SHOWN && !quoted.contains('`') {
        format!("quote the expression: `{quoted}`")
    } else {
        HELP.to_owned()
    };
    // The text itself: where an edit is written into a scalar that cannot be without quotes, it gets them.
    said.with_help(shown).with_fix("quote the expression", span, written)
}

/// The tag at the line of a place at which the reader of YAML stopped.
pub(super) fn near(text: &str, at: usize) -> Option<At> {
    let before = text.get(..at)?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let end = text.get(at..)?.find('\n').map_or(text.len(), |end| at + end);
    let mark = marks(text).into_iter().find(|mark| (start..end).contains(&mark.start))?;
    let long = text.get(mark.start..end)?.trim_end().len();
    Some(At { start: mark.start, end: mark.start + long })
}

/// The message about a tag, with the text that it begins.
pub(super) fn message(written: &str) -> String {
    format!("{MESSAGE}: `{written}`")
}

/// What to do, where a message is about a tag.
pub(super) fn help(message: &str) -> Option<&'static str> {
    message.starts_with(MESSAGE).then_some(HELP)
}

/// The places of the `!` with which a value may begin and which name no type of YAML.
fn marks(text: &str) -> Vec<At> {
    let mut found = Vec::new();
    // Whether a line before opened a value that goes on in the next one.
    let mut open = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        for (at, _) in line.match_indices('!') {
            let before = line.get(..at).unwrap_or("").trim_end_matches([' ', '\t']);
            let apart = before.len() < at;
            let begins = match before.chars().next_back() {
                None => open,
                Some(':' | '-' | '?') => apart,
                Some('[' | '{' | ',') => true,
                _ => false,
            };
            let rest = line.get(at..).unwrap_or("");
            let dashed = before.ends_with('-') && !before.trim_start_matches([' ', '-']).is_empty();
            if begins && !dashed && !names_type(rest) {
                let long = rest.bytes().take_while(|byte| *byte == b'!').count();
                found.push(At { start: start + at, end: start + at + long });
            }
        }
        let words = line.split(" #").next().unwrap_or("").trim();
        if !words.is_empty() && !words.starts_with('#') {
            open = words.ends_with(':') || words == "-" || words.ends_with([',', '[', '{']);
        }
        start += line.len();
    }
    found
}

/// Whether a tag is one of YAML: `!!str`, or one in angle brackets.
fn names_type(tag: &str) -> bool {
    let name = |rest: &str| {
        let word = rest.split([' ', '\t', '\n', '\r', ',', ']', '}']).next().unwrap_or("").to_owned();
        OF_YAML.contains(&word.as_str())
    };
    tag.starts_with("!<") || tag.strip_prefix("!!").is_some_and(name)
}

fn masked(text: &str, marks: &[At]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for mark in marks {
        if let Some(bytes) = bytes.get_mut(mark.start..mark.end) {
            bytes.fill(MASK);
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Gives the texts that begin at these places their `!` again, and tells where they are.
fn restore(tree: &mut Tree, text: &str, marks: &[At], found: &mut Vec<At>) {
    match &mut tree.value {
        TreeValue::List(items) => items.iter_mut().for_each(|item| restore(item, text, marks, found)),
        TreeValue::Map(entries) => {
            entries.iter_mut().for_each(|entry| restore(&mut entry.value, text, marks, found));
        }
        TreeValue::String(value) => {
            let Ok(mark) = marks.binary_search_by_key(&tree.at.start, |mark| mark.start) else { return };
            let Some(mark) = marks.get(mark) else { return };
            let long = mark.end - mark.start;
            if let Some(rest) = value.get(long..) {
                *value = format!("{}{rest}", "!".repeat(long));
                let written = text.get(tree.at.start..tree.at.end).unwrap_or("");
                tree.at.end = tree.at.start + written.trim_end().len();
                found.push(tree.at);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(text: &str) -> Vec<String> {
        let (_, _, found) = documents_of_expressions(text);
        found.iter().filter_map(|at| text.get(at.start..at.end)).map(str::to_owned).collect()
    }

    #[test]
    fn values_that_begin_with_a_tag_are_read_as_texts() {
        for (text, found) in [
            ("a: !b.c", vec!["!b.c"]),
            ("a: ! b", vec!["! b"]),
            ("a: !!b", vec!["!!b"]),
            ("a:   !within(x, \"y\", 'z') # why", vec!["!within(x, \"y\", 'z')"]),
            ("a:\n  !b ||\n  c\nd: 1", vec!["!b ||\n  c"]),
            ("- !a\n- b: !c\n- - !d", vec!["!a", "!c", "!d"]),
            ("a: [!b, {c: !d}, !e]", vec!["!b", "!d", "!e"]),
            ("a: [\n  !b,\n  !c\n]", vec!["!b", "!c"]),
            ("a: !b && c | d", vec!["!b && c | d"]),
            ("a: !b.c\nd: 'e: !f'", vec!["!b.c"]),
        ] {
            assert_eq!(tags(text), found, "{text}");
        }
        let (trees, errors, _) = documents_of_expressions("a: !b\nc: [1, !d]\ne: 'f: !g'\n");
        let wanted = serde_json::json!({"a": "!b", "c": [1, "!d"], "e": "f: !g"});
        assert_eq!(trees.iter().map(Tree::to_json).collect::<Vec<_>>(), [wanted]);
        assert!(errors.is_empty());
    }

    #[test]
    fn other_exclamation_marks_are_left_as_they_are() {
        for text in [
            "a: '!b'\nc: \"!d\"",
            "a: b != c\nd: b && !c",
            "a: |\n  x: !b\n  - !c\nd: >-\n  e, !f",
            "a: \"x: !y\"\nb: 'c, !d'",
            "a: b # c: !d",
            "a: !!str 5\nb: !<tag:yaml.org,2002:str> 5",
            "a: x - !y",
            "a: hey, !you",
        ] {
            let (trees, errors, found) = documents_of_expressions(text);
            let (plain, _) = limited_documents(text);
            assert!(found.is_empty() && errors.is_empty(), "{text}: {found:?} {errors:?}");
            assert!(trees.iter().zip(&plain).all(|(a, b)| a.same(b)) && trees.len() == plain.len(), "{text}");
        }
    }

    #[test]
    fn a_tag_beside_another_mistake_is_told_where_the_reader_stops() {
        let (_, errors, found) = documents_of_expressions("a: !within(x, y)\nb: [\n");
        assert!(found.is_empty());
        assert!(errors.iter().any(|error| error.message.starts_with(MESSAGE)), "{errors:?}");
    }
}
