//! The documents of a stream. A broken document does not hide the others, and a key that is written twice does not
//! hide the rest of its document.

use super::limits::{Limits, OTHERS_VALUES};
use super::read::{Node, YamlError, tree, yaml_error};
use super::tree::{At, Tree, TreeEntry, TreeValue};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, Spanned};
use std::collections::BTreeMap;

/// Mistakes of a text of another user that are reported, about.
const MOST_ERRORS: usize = 1_000;

/// Keys of a document that are reported because they are written twice.
const MOST_TWINS: usize = 100;

/// Reads every document of a stream, without empty ones. A broken document does not hide the
/// others. Lists and maps under a key that is written twice are joined, and the second key is an error.
pub fn documents(text: &str) -> (Vec<Tree>, Vec<YamlError>) {
    documents_with(text, Limits::Own)
}

/// Reads every document of a stream with the limits for texts of other users: deep nesting and repeated aliases are
/// refused.
pub fn limited_documents(text: &str) -> (Vec<Tree>, Vec<YamlError>) {
    documents_with(text, Limits::Others)
}

/// The place of the value at `path` (`items[3].spec.containers[0].image`) in a document, counted
/// without empty documents. The nearest enclosing value when the path leads nowhere; the start of
/// the text when nothing is found.
pub fn place(text: &str, document: usize, path: &str) -> At {
    let (trees, _) = documents(text);
    trees.get(document).map(|tree| tree.find(path).head(text)).unwrap_or_default()
}

fn documents_with(text: &str, limits: Limits) -> (Vec<Tree>, Vec<YamlError>) {
    let options = limits.options();
    if let Ok(trees) = stream(text, 0, &options) {
        return (trees, Vec::new());
    }
    let (mut trees, mut errors) = (Vec::new(), Vec::new());
    // Without aliases a text has fewer values than bytes.
    let mut left = text.len().saturating_add(OTHERS_VALUES);
    for (base, document) in values_of_json(text).unwrap_or_else(|| split(text)) {
        if limits == Limits::Others && (errors.len() >= MOST_ERRORS || left == 0) {
            errors.push(too_many(base));
            break;
        }
        let (found, mut said) = document_of(document, base, &options);
        left = left.saturating_sub(found.iter().map(values_of).sum());
        trees.extend(found);
        errors.append(&mut said);
    }
    (trees, errors)
}

fn too_many(at: usize) -> YamlError {
    let message = "too many mistakes, or too many values from aliases; what follows is not read".to_owned();
    YamlError { format: "YAML", message, at: At { start: at, end: at }, block: None }
}

/// One document of a stream, with every key that it has twice.
fn document_of(text: &str, base: usize, options: &serde_saphyr::Options) -> (Vec<Tree>, Vec<YamlError>) {
    let error = match stream(text, base, options) {
        Ok(trees) => return (trees, Vec::new()),
        Err(error) => error,
    };
    let first = yaml_error(text, base, &error);
    if !matches!(error.without_snippet(), Error::DuplicateMappingKey { .. }) {
        return (Vec::new(), vec![first]);
    }
    let mut tolerant = options.clone();
    tolerant.duplicate_keys = DuplicateKeyPolicy::LastWins;
    match stream(text, base, &tolerant) {
        Ok(mut trees) => {
            let mut errors = Vec::new();
            trees.iter_mut().for_each(|tree| join_twins(tree, &mut errors));
            errors.sort_by_key(|error| error.at.start);
            errors.truncate(MOST_TWINS);
            // The reader keeps one of two numbers that are a key.
            (trees, if errors.is_empty() { vec![first] } else { errors })
        }
        // The rest of the document has a mistake too.
        Err(error) => (Vec::new(), vec![first, yaml_error(text, base, &error)]),
    }
}

/// Joins the entries of maps that have the same key, and reports each key after the first.
fn join_twins(tree: &mut Tree, errors: &mut Vec<YamlError>) {
    match &mut tree.value {
        TreeValue::List(items) => items.iter_mut().for_each(|item| join_twins(item, errors)),
        TreeValue::Map(entries) => {
            let mut first: BTreeMap<String, usize> = BTreeMap::new();
            let mut kept: Vec<TreeEntry> = Vec::with_capacity(entries.len());
            for entry in entries.drain(..) {
                match first.get(&entry.key).and_then(|at| kept.get_mut(*at)) {
                    Some(before) => {
                        let message = format!("duplicate mapping key: {}", entry.key);
                        errors.push(YamlError { format: "YAML", message, at: entry.key_at, block: None });
                        match (&mut before.value.value, entry.value.value) {
                            (TreeValue::List(items), TreeValue::List(more)) => items.extend(more),
                            (TreeValue::Map(entries), TreeValue::Map(more)) => entries.extend(more),
                            _ => {}
                        }
                    }
                    None => {
                        first.insert(entry.key.clone(), kept.len());
                        kept.push(entry);
                    }
                }
            }
            *entries = kept;
            entries.iter_mut().for_each(|entry| join_twins(&mut entry.value, errors));
        }
        _ => {}
    }
}

/// The number of values of a tree.
fn values_of(tree: &Tree) -> usize {
    1 + match &tree.value {
        TreeValue::List(items) => items.iter().map(values_of).sum(),
        TreeValue::Map(entries) => entries.iter().map(|entry| values_of(&entry.value)).sum(),
        _ => 0,
    }
}

fn stream(text: &str, base: usize, options: &serde_saphyr::Options) -> Result<Vec<Tree>, Error> {
    let read: Vec<Spanned<Node>> = serde_saphyr::from_multiple_with_options(text, options.clone())?;
    let trees = read.into_iter().map(|root| tree(text, base, root));
    Ok(trees.filter(|tree| !matches!(tree.value, TreeValue::Null)).collect())
}

/// The values of a stream of JSON, which has no marks between them, with their first bytes. `None`: it is none, or has one
/// value.
fn values_of_json(text: &str) -> Option<Vec<(usize, &str)>> {
    let start = text.len() - text.trim_start_matches('\u{feff}').trim_start().len();
    let json = text.get(start..).filter(|json| json.starts_with('{'))?;
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<serde::de::IgnoredAny>();
    let mut found = Vec::new();
    let mut from = start;
    while let Some(value) = values.next() {
        value.ok()?;
        let end = start + values.byte_offset();
        found.push((from, text.get(from..end)?));
        from = end;
    }
    (found.len() > 1).then_some(found)
}

/// The documents of a stream with their first bytes. A document begins at a line `---`; the
/// content of a block scalar is indented.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let rest = line.strip_prefix("---");
        let mark = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if mark && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let both = starts.iter().copied().zip(ends);
    both.filter_map(|(start, end)| Some((start, text.get(start..end)?))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::values;

    #[test]
    fn a_broken_document_does_not_hide_the_others() {
        let text = "a: 1\n---\nb: [\n---\nc: 3\n";
        let (trees, errors) = documents(text);
        assert_eq!(trees.len(), 2, "{trees:?}");
        assert_eq!(errors.len(), 1);
        assert!(
            errors[0].at.start >= 11 && errors[0].to_string().starts_with("the file is not valid YAML: ")
        );
        let found = trees[1].find("c");
        assert_eq!(&text[found.at.start..found.at.end], "3");
    }

    #[test]
    fn a_stream_of_json_is_read_with_its_places() {
        let text = "\u{feff}{\"a\": {\"b\": 1}}\n{\"a\": 2} {\"a\": 3}\n";
        for read in [documents, limited_documents] {
            let (trees, errors) = read(text);
            assert!(errors.is_empty() && trees.len() == 3, "{errors:?}");
            let third = trees[2].find("a").at;
            assert_eq!((&text[third.start..third.end], third.start), ("3", text.len() - 3));
        }
        // A broken value is a mistake, as it was.
        assert_eq!(documents("{\"a\": 1}\n{\"a\": ").1.len(), 1);
        assert_eq!(documents("{a: 1}\n---\n{a: 2}\n").0.len(), 2);
    }

    #[test]
    fn a_key_that_is_written_twice_is_reported_and_the_rest_is_read() {
        let text = "a: [1]\nb: {x: 1, x: 2}\na: [2, {y: 1, y: 1}]\nc: &k 1\nd: 3\nc: 4\n";
        for read in [documents, limited_documents] {
            let (trees, errors) = read(text);
            let places: Vec<(usize, &str)> =
                errors.iter().map(|error| (error.at.start, &text[error.at.start..error.at.end])).collect();
            assert_eq!(places, [(17, "x"), (23, "a"), (37, "y"), (57, "c")]);
            let wanted = serde_json::json!({"a": [1, 2, {"y": 1}], "b": {"x": 1}, "c": 1, "d": 3});
            assert_eq!(trees.iter().map(Tree::to_json).collect::<Vec<_>>(), [wanted]);
        }
        assert!(values(text, false).is_err());
        let (trees, errors) = documents("1: a\n1: b\nc: 1\nc: 2\n");
        assert!(!errors.is_empty() && trees.len() == 1, "{errors:?}");
        let (_, errors) = documents("a: 1\na: 2\nb: [\n");
        assert_eq!(errors.len(), 2, "{errors:?}");
        // A merged key is not a second one.
        assert!(documents("a: &a {x: 1}\nb: {<<: *a, x: 2}\n").1.is_empty());
    }

    #[test]
    fn nesting_and_repetition_have_limits() {
        // A level takes 16 KiB of the stack where nothing is optimised.
        let work = std::thread::Builder::new().stack_size(16 << 20).spawn(nesting_and_repetition).unwrap();
        work.join().unwrap();
    }

    fn nesting_and_repetition() {
        let dashes = format!("{}x\n", "- ".repeat(10_000));
        let brackets = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let braces = format!("{}1{}", "{a: ".repeat(10_000), "}".repeat(10_000));
        let indented: String = (0..1000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
        for text in [&dashes, &brackets, &braces, &indented] {
            assert!(values(text, false).is_err());
            assert_eq!(documents(text).1.len(), 1);
            assert_eq!(limited_documents(text).1.len(), 1);
        }
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![before; 10].join(", ")));
        }
        assert!(values(&bomb, false).is_err());
        assert_eq!(documents(&bomb).1.len(), 1);
        assert_eq!(limited_documents(&bomb).1.len(), 1);
        // Bombs in many documents count together.
        let small: String = bomb.lines().take(5).map(|line| format!("{line}\n")).collect();
        let many = format!("{small}---\n").repeat(40);
        let (trees, errors) = limited_documents(&many);
        assert!(!errors.is_empty() && trees.iter().map(values_of).sum::<usize>() <= 700_000);
        let (trees, errors) = limited_documents(&format!("x: [\n---\n{many}"));
        assert!(!errors.is_empty() && trees.iter().map(values_of).sum::<usize>() <= 700_000);
    }

    #[test]
    fn many_broken_documents_have_a_bounded_number_of_errors() {
        for one in ["a: [\n---\n", "a: 1\na: 1\n---\n"] {
            let (_, errors) = limited_documents(&one.repeat(100_000));
            assert!(errors.len() > MOST_ERRORS && errors.len() < 2 * MOST_ERRORS, "{one:?}");
        }
        for read in [documents, limited_documents] {
            let (trees, errors) = read(&"a: 1\n---\n".repeat(100_000));
            assert!(trees.len() == 100_000 && errors.is_empty());
            assert!(read(&"---\n".repeat(100_000)).1.is_empty());
        }
    }
}
