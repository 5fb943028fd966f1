//! What is wrong with the indentation near the place at which the reader stops: the reader notices it lines later, and
//! calls a tab by what it was looking for.

use super::tree::At;

/// A tab that indents the line of a place or the one after it.
pub(super) fn tab_near(text: &str, at: usize) -> Option<At> {
    let mut start = line_start(text, at);
    for _ in 0..2 {
        let line = text.get(start..)?.split_inclusive('\n').next()?;
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        let tab = line.get(..blanks)?.find('\t');
        if let Some(tab) = tab.filter(|_| !line.trim().is_empty()) {
            return Some(At { start: start + tab, end: start + tab + 1 });
        }
        start += line.len();
    }
    None
}

/// The first line of the block above a place whose lines are indented deeper than that of the place.
pub(super) fn block_above(text: &str, at: usize) -> Option<At> {
    let here = line_start(text, at);
    let wanted = indentation(text.get(here..)?.lines().next()?);
    let mut first = None;
    let mut end = here;
    while end > 0 {
        let start = line_start(text, end - 1);
        let line = text.get(start..end)?;
        let words = line.trim_start();
        end = start;
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        // The fields of an item are indented after its dash.
        let dash = line.len() - words.len();
        let content = if words.starts_with("- ") { dash + indentation(words.get(1..)?) + 1 } else { dash };
        if content <= wanted || words.starts_with("---") {
            break;
        }
        first = Some(At { start: start + dash, end: start + line.trim_end().len() });
        if dash <= wanted {
            break;
        }
    }
    first
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at.min(text.len())).unwrap_or("");
    before.rfind('\n').map_or(0, |end| end + 1)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::documents;

    #[test]
    fn the_place_is_the_line_that_is_indented_wrongly() {
        for (text, marked) in [
            ("a:\n   - b: 1\n    c: 2\n", "- b: 1"),
            (" a: 1\nb: 2\n", "a: 1"),
            ("x:\n   y:\n   - 1\n  z: 2\n", "y:"),
            ("x:\n  y: 1\n\tz: 2\n", "\t"),
            ("x:\n  - y: 1\n\t   z: 2\n", "\t"),
        ] {
            let (_, errors) = documents(text);
            let error = errors.first().unwrap();
            let places = [Some(error.at), error.block];
            let found = places.iter().flatten().any(|at| &text[at.start..at.end] == marked);
            assert!(found, "{text:?}: {error:?}");
        }
    }
}
