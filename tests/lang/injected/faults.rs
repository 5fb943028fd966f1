//! One mistake in a document: where it is, and whether something must be said of it.

use bayplan::testing::Random;
use bayplan::yaml::{self, At, Tree, TreeEntry, TreeValue};
use std::ops::Range;

/// A mistake in a text.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// Its bytes in the broken text. Of what is missing, those of what lacks it.
    pub(super) range: Range<usize>,
    /// The text cannot be right.
    pub(super) certain: bool,
}

/// The kinds of mistakes.
pub(super) const KINDS: &[&str] = &[
    "field misspelt",
    "name misspelt",
    "wrong type",
    "mark missing",
    "indentation",
    "field missing",
    "key twice",
    "operator of another language",
    "word misspelt",
    "tab",
    "unit or coalescing",
    "field of elsewhere",
];

/// Those of which several can be read in one document.
pub(super) const BESIDE_OTHERS: &[&str] = &[
    "field misspelt",
    "name misspelt",
    "wrong type",
    "key twice",
    "operator of another language",
    "word misspelt",
];

/// Those that often have a fix.
pub(super) const FIXABLE: &[&str] = &[
    "field misspelt",
    "name misspelt",
    "operator of another language",
    "word misspelt",
    "unit or coalescing",
];

/// Keys below which a document has names of its own.
const FREE: [&str; 6] = ["labels", "annotations", "with", "default", "data", "set"];

const EXPRESSIONS: [&str; 7] =
    ["expression", "when", "require", "until", "appliesWhen", "onlyNodes", "value"];

/// An entry of a map with the map.
struct Entry<'t> {
    around: &'t Tree,
    entry: &'t TreeEntry,
    flow: bool,
}

/// Entries whose keys the format defines.
fn entries<'t>(text: &str, tree: &'t Tree, flow: bool, found: &mut Vec<Entry<'t>>) {
    let flow =
        flow || text[tree.at.start..].starts_with(['{', '[']) && !matches!(tree.value, TreeValue::String(_));
    match &tree.value {
        TreeValue::List(items) => items.iter().for_each(|item| entries(text, item, flow, found)),
        TreeValue::Map(map) => {
            for entry in map {
                found.push(Entry { around: tree, entry, flow });
                if !FREE.contains(&&*entry.key) {
                    entries(text, &entry.value, flow, found);
                }
            }
        }
        _ => {}
    }
}

/// The end of a value without the white space after it.
fn end(text: &str, tree: &Tree) -> usize {
    let close = |end: usize| text[end..].find(['}', ']']).map_or(end, |at| end + at + 1);
    match &tree.value {
        TreeValue::List(items) => {
            let last = items.last().map_or(tree.at.start + 1, |item| end(text, item));
            if text[tree.at.start..].starts_with('[') { close(last) } else { last }
        }
        TreeValue::Map(entries) => {
            let last = entries
                .last()
                .map_or(tree.at.start + 1, |entry| end(text, &entry.value).max(entry.key_at.end));
            if text[tree.at.start..].starts_with('{') { close(last) } else { last }
        }
        _ => {
            let At { start, end } = tree.at;
            start + text[start..end].trim_end().len()
        }
    }
}

/// A word with two letters swapped, one left out or one doubled.
fn misspelt(random: &mut Random, word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    if letters.len() < 2 {
        return format!("{word}{word}");
    }
    let at = 1 + random.below(letters.len() - 1);
    match random.below(3) {
        0 => letters.swap(at, at - 1),
        1 => {
            letters.remove(at);
        }
        _ => letters.insert(at, letters[at]),
    }
    letters.into_iter().collect()
}

fn replaced(text: &str, range: Range<usize>, new: &str) -> (String, Range<usize>) {
    let mut broken = text.to_owned();
    let start = range.start;
    broken.replace_range(range, new);
    (broken, start..start + new.len())
}

/// The line of a byte, without its end.
fn line(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    start..end
}

/// Words outside of quotes in an expression.
fn words(text: &str, at: At) -> Vec<Range<usize>> {
    let (mut found, mut quote, mut start) = (Vec::new(), None, None);
    // The first quote may be that of YAML.
    let outer = text[at.start..].chars().next().filter(|first| ['"', '\''].contains(first));
    let begin = at.start + usize::from(outer.is_some());
    for (offset, letter) in text[begin..at.end].char_indices() {
        let at = begin + offset;
        let is_word = letter.is_ascii_alphanumeric() || letter == '_';
        if quote.is_none() && is_word {
            start.get_or_insert(at);
        } else if let Some(from) = start.take() {
            found.push(from..at);
        }
        match quote {
            Some(open) if open == letter => quote = None,
            None if Some(letter) != outer && ['"', '\''].contains(&letter) => quote = Some(letter),
            _ => {}
        }
    }
    found.extend(start.map(|from| from..at.end));
    found.retain(|word| word.len() >= 4 && !text[word.start..].starts_with(|c: char| c.is_ascii_digit()));
    // A key of labels is a name of its own.
    found.retain(|word| {
        !["labels.", "annotations.", "labels.?"].iter().any(|of| text[..word.start].ends_with(of))
    });
    found
}

/// The text with one mistake; none where it has no place for this kind.
pub(super) fn inject(random: &mut Random, text: &str, kind: &str) -> Option<(String, Fault)> {
    let (trees, _) = yaml::documents(text);
    let mut all = Vec::new();
    trees.iter().for_each(|tree| entries(text, tree, false, &mut all));
    let of_expressions: Vec<&Entry<'_>> = all
        .iter()
        .filter(|of| EXPRESSIONS.contains(&&*of.entry.key))
        .filter(|of| matches!(of.entry.value.value, TreeValue::String(_)))
        .collect();
    let known: Vec<&str> = all.iter().map(|of| &*of.entry.key).collect();
    let fault =
        |(broken, range): (String, Range<usize>), certain: bool| Some((broken, Fault { range, certain }));
    match kind {
        "field misspelt" => {
            let of = random.pick(&all)?;
            let word = misspelt(random, &of.entry.key);
            if word == of.entry.key || known.contains(&&*word) || of.entry.key.len() < 3 {
                return None;
            }
            let At { start, end } = of.entry.key_at;
            fault(replaced(text, start..end, &word), true)
        }
        "name misspelt" => {
            let of = random.pick(&of_expressions)?;
            let words = words(text, of.entry.value.at);
            let place = random.pick(&words)?.clone();
            let word = misspelt(random, &text[place.clone()]);
            if word == text[place.clone()] || text.contains(&format!("name: {word}")) {
                return None;
            }
            fault(replaced(text, place, &word), true)
        }
        "wrong type" => {
            let scalar = |of: &&Entry<'_>| {
                !matches!(of.entry.value.value, TreeValue::List(_) | TreeValue::Map(_))
                    && !["default", "missing"].contains(&&*of.entry.key)
            };
            let scalars: Vec<&Entry<'_>> = all.iter().filter(scalar).collect();
            let of = random.pick(&scalars)?;
            let start = of.entry.key_at.end;
            let new = random.of(&[": {a: 1}", ": [1, 2]"]);
            let key = of.entry.key_at.start..start;
            let (broken, range) = replaced(text, start..end(text, &of.entry.value), new);
            fault((broken, key.start..range.end), true)
        }
        "mark missing" => {
            let spec = text.find("spec:")?;
            let marks: Vec<usize> =
                text[spec..].match_indices(|c| "()[]{}'\"".contains(c)).map(|(at, _)| spec + at).collect();
            let at = *random.pick(&marks)?;
            if text[line(text, at).start..at].contains('#') {
                return None;
            }
            let broken = replaced(text, at..at + 1, "").0;
            let range = line(&broken, at);
            fault((broken, range), false)
        }
        "indentation" => {
            let of = random.pick(&all)?;
            let start = line(text, of.entry.key_at.start).start;
            let spaces = text[start..].len() - text[start..].trim_start_matches(' ').len();
            let broken = match random.below(2) {
                0 if spaces > 0 => replaced(text, start..start + 1, "").0,
                _ => replaced(text, start..start, " ").0,
            };
            let range = line(&broken, start);
            fault((broken, range), false)
        }
        "field missing" => {
            let of = random.pick(&all)?;
            let around = of.around.at.start;
            let (start, stop) = (of.entry.key_at.start, end(text, &of.entry.value));
            let (mut from, mut to) = (start, stop);
            if of.flow {
                if text[stop..].starts_with(", ") {
                    to += 2;
                } else if text[..start].ends_with(", ") {
                    from -= 2;
                }
            } else {
                // Up to the next key, so that a dash before it stays.
                let rest = &text[stop..];
                let next = rest.find('\n').map_or(rest.len(), |end| end + 1);
                let blanks = rest[next..].len() - rest[next..].trim_start_matches(' ').len();
                to =
                    stop + next + if text[line(text, start).start..start].trim() == "-" { blanks } else { 0 };
                if text[line(text, start).start..start].trim().is_empty() {
                    from = line(text, start).start;
                }
            }
            let whole = around.min(from)..end(text, of.around).max(to);
            let broken = replaced(text, from..to.min(text.len()), "").0;
            let lost = to.min(text.len()) - from;
            let start = line(&broken, whole.start.min(broken.len())).start;
            fault((broken.clone(), start..(whole.end - lost).min(broken.len())), false)
        }
        "key twice" => {
            let of = random.pick(&all)?;
            let (start, stop) = (of.entry.key_at.start, end(text, &of.entry.value));
            let words = &text[start..stop];
            if words.contains('\n') {
                return None;
            }
            let column = start - line(text, start).start;
            let new = if of.flow { format!(", {words}") } else { format!("\n{}{words}", " ".repeat(column)) };
            if !of.flow && text[stop..line(text, stop).end].contains('#') {
                return None;
            }
            fault(replaced(text, stop..stop, &new), true)
        }
        "operator of another language" => {
            let of = random.pick(&of_expressions)?;
            let At { start, end } = of.entry.value.at;
            let (right, wrong) = random.of(&[
                (" && ", " and "),
                (" || ", " or "),
                (" == ", " = "),
                (" == ", " === "),
                (" != ", " <> "),
                (" in ", " not in "),
                (" && ", " & "),
                ("pod.", "not pod."),
                ("node.", "$node."),
            ]);
            let at = start + text[start..end].find(right)?;
            fault(replaced(text, at..at + right.len(), wrong), false)
        }
        "word misspelt" => {
            let wanted = |of: &&Entry<'_>| {
                ["apiVersion", "kind", "onError", "normalize", "order", "type", "missing"]
                    .contains(&&*of.entry.key)
                    && matches!(of.entry.value.value, TreeValue::String(_))
            };
            let found: Vec<&Entry<'_>> = all.iter().filter(wanted).collect();
            let of = random.pick(&found)?;
            let At { start, end } = of.entry.value.at;
            let word = misspelt(random, &text[start..end]);
            if word == text[start..end] {
                return None;
            }
            fault(replaced(text, start..end, &word), true)
        }
        "tab" => {
            let of = random.pick(&all)?;
            let start = line(text, of.entry.key_at.start).start;
            if !text[start..].starts_with(' ') {
                return None;
            }
            let broken = replaced(text, start..start + 1, "\t").0;
            let range = line(&broken, start);
            fault((broken, range), false)
        }
        "unit or coalescing" => {
            let of = random.pick(&of_expressions)?;
            let stop = end(text, &of.entry.value);
            let quoted = text[..stop].ends_with(['"', '\''])
                && text[of.entry.value.at.start..].starts_with(['"', '\'']);
            let at = stop - usize::from(quoted);
            let new = random.of(&[" ?? 0", " > 500m", " < 2Gi", " matches a", " == none", " ?? pod.name"]);
            let (broken, range) = replaced(text, at..at, new);
            fault((broken, of.entry.value.at.start..range.end), false)
        }
        _ => {
            let of = random.pick(&all)?;
            let new =
                random.of(&["failurePolicy: Fail", "validations: []", "message: no", "cel: a", "weigth: 1"]);
            let start = of.entry.key_at.start;
            let column = start - line(text, start).start;
            let after = if of.flow { ", ".to_owned() } else { format!("\n{}", " ".repeat(column)) };
            let (broken, range) = replaced(text, start..start, &format!("{new}{after}"));
            fault((broken, range.start..range.start + new.len()), true)
        }
    }
}
