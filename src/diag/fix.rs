//! Fixes applied to texts, for `lint --fix`. Writes no files.
//!
//! Called by `cli`. A fix is applied whole or not at all: when its edits meet those of an earlier one, or
//! cannot be written where they belong (a quote inside of a quoted YAML scalar), it is left for the next run.

use super::{Diagnostic, Edit, SourceId, SourceMap, Span};
use std::collections::BTreeMap;

/// What applying fixes gave.
#[derive(Debug, Default)]
pub struct Fixed {
    /// Files that change, with their texts.
    pub files: BTreeMap<SourceId, String>,
    /// How many diagnostics were fixed.
    pub applied: usize,
    /// How many have a fix that was left out.
    pub left: usize,
}

/// Applies the first fix of each diagnostic.
pub fn apply(sources: &SourceMap, diagnostics: &[Diagnostic]) -> Fixed {
    let mut taken: BTreeMap<SourceId, Vec<(Span, &str)>> = BTreeMap::new();
    let mut fixed = Fixed::default();
    for fix in diagnostics.iter().filter_map(|diagnostic| diagnostic.fixes.first()) {
        let free = fix.edits.iter().all(|edit| {
            let place = sources.in_file(edit.span);
            let meets = |(other, _): &(Span, &str)| {
                place.start < other.end && other.start < place.end || place == *other
            };
            sources.takes(edit.span, &edit.text)
                && !taken.get(&place.source).is_some_and(|all| all.iter().any(meets))
        });
        if !free {
            fixed.left += 1;
            continue;
        }
        fixed.applied += 1;
        for Edit { span, text } in &fix.edits {
            let place = sources.in_file(*span);
            taken.entry(place.source).or_default().push((place, text));
        }
    }
    for (file, mut edits) in taken {
        let Some(source) = sources.get(file) else { continue };
        let mut text = source.text().to_owned();
        edits.sort_by_key(|(span, _)| std::cmp::Reverse((span.start, span.end)));
        for (span, new) in edits {
            if text.get(span.range()).is_some() {
                text.replace_range(span.range(), new);
            }
        }
        fixed.files.insert(file, text);
    }
    fixed
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::diag::codes;

    #[test]
    fn fixes_are_applied_whole_and_those_that_meet_are_left() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.bay", "a and b or c");
        let at = |start, end| Span::new(file, start, end);
        let one = Diagnostic::new(&codes::FOREIGN_WORD, at(2, 5), "x").with_fix("x", at(2, 5), "&&");
        let two = Diagnostic::new(&codes::FOREIGN_WORD, at(8, 10), "x").with_fix("x", at(8, 10), "||");
        let meets = Diagnostic::new(&codes::FOREIGN_WORD, at(4, 6), "x").with_fix("x", at(4, 6), "!");
        let fixed = apply(&sources, &[one, two, meets]);
        assert_eq!(fixed.files[&file], "a && b || c");
        assert_eq!((fixed.applied, fixed.left), (2, 1));
    }

    #[test]
    fn a_quote_is_not_written_into_a_quoted_scalar() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.yaml", "k: 'a b'");
        let origin = crate::diag::Origin { object: "n/m".into(), key: "k".into() };
        let inner = sources.embed(file, 3..8, "a b", origin);
        let at = Span::new(inner, 2, 3);
        let quote = Diagnostic::new(&codes::FOREIGN_WORD, at, "x").with_fix("x", at, "'c'");
        let plain = Diagnostic::new(&codes::FOREIGN_WORD, at, "x").with_fix("x", at, "c");
        let fixed = apply(&sources, &[quote, plain]);
        assert_eq!(fixed.files[&file], "k: 'a c'");
        assert_eq!(fixed.left, 1);
    }
}
