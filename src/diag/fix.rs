//! Fixes applied to texts, for `lint --fix`. Writes no files.
//!
//! Called by `cli`. A fix is applied whole or not at all. When its edits meet those of an earlier fix it
//! is left for the next round. When they cannot be written where they belong (a quote inside of a quoted
//! YAML scalar) it is not applied.

use super::{Diagnostic, Edit, Source, SourceId, SourceMap, Span};
use std::collections::BTreeMap;

/// What applying fixes gave.
#[derive(Debug, Default)]
pub struct Fixed {
    /// Files that change, with their texts.
    pub files: BTreeMap<SourceId, String>,
    /// How many diagnostics were fixed.
    pub applied: usize,
    /// How many fixes were left for the next round, since they meet one that was applied.
    pub left: usize,
    /// How many cannot be written in their place.
    pub impossible: usize,
}

impl Fixed {
    /// How many diagnostics can be fixed, in this round or a later one.
    pub fn possible(&self) -> usize {
        self.applied + self.left
    }
}

/// Applies the first fix of each diagnostic.
pub fn apply(sources: &SourceMap, diagnostics: &[Diagnostic]) -> Fixed {
    let mut taken: BTreeMap<SourceId, Vec<(Span, &str)>> = BTreeMap::new();
    let mut fixed = Fixed::default();
    for fix in diagnostics.iter().filter_map(|diagnostic| diagnostic.fixes.first()) {
        if !fix.edits.iter().all(|edit| sources.takes(edit.span, &edit.text)) {
            fixed.impossible += 1;
            continue;
        }
        let free = fix.edits.iter().all(|edit| {
            let place = sources.in_file(edit.span);
            !taken.get(&place.source).is_some_and(|all| all.iter().any(|(other, _)| meet(place, *other)))
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

fn meet(a: Span, b: Span) -> bool {
    a.start < b.end && b.start < a.end || a == b
}

/// Takes out the fixes whose new text is wrong itself.
///
/// All first fixes of a text are applied together and the result is compiled by `compile`; a fix whose new
/// text a new error begins in is dropped, and the others are tried again without it. What lies in YAML
/// itself is not compiled and stays.
pub fn verify(
    sources: &SourceMap,
    diagnostics: &mut [Diagnostic],
    texts: &[SourceId],
    compile: &dyn Fn(&Source) -> Vec<Diagnostic>,
) {
    for text in texts.iter().filter_map(|id| sources.get(*id)) {
        // Each round drops at least one fix; a few rounds find all but those that hide each other.
        for _ in 0..8 {
            let wrong = wrong_fixes(text, diagnostics, compile);
            if wrong.is_empty() {
                break;
            }
            for at in wrong {
                if let Some(diagnostic) = diagnostics.get_mut(at) {
                    diagnostic.fixes.clear();
                }
            }
        }
    }
}

/// The diagnostics, by their place in the list, whose first fix makes a text with a new error in it.
fn wrong_fixes(
    source: &Source,
    diagnostics: &[Diagnostic],
    compile: &dyn Fn(&Source) -> Vec<Diagnostic>,
) -> Vec<usize> {
    let here = |edit: &Edit| edit.span.source == source.id();
    let mut edits: Vec<(Span, &str, usize)> = Vec::new();
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        let Some(fix) = diagnostic.fixes.first().filter(|fix| fix.edits.iter().all(here)) else { continue };
        if fix.edits.iter().all(|edit| edits.iter().all(|(other, _, _)| !meet(edit.span, *other))) {
            edits.extend(fix.edits.iter().map(|edit| (edit.span, edit.text.as_str(), at)));
        }
    }
    if edits.is_empty() {
        return Vec::new();
    }
    edits.sort_by_key(|(span, _, _)| (span.start, span.end));
    let mut text = String::with_capacity(source.text().len());
    let mut written = Vec::new();
    let mut done = 0;
    for (span, new, at) in edits {
        text.push_str(source.text().get(done..span.range().start).unwrap_or(""));
        written.push((text.len(), text.len() + new.len(), at));
        text.push_str(new);
        done = span.range().end;
    }
    text.push_str(source.text().get(done..).unwrap_or(""));
    let mut fixed = SourceMap::new();
    let id = fixed.add(source.name(), text);
    let errors: Vec<Diagnostic> = match fixed.get(id) {
        Some(fixed) => compile(fixed).into_iter().filter(Diagnostic::is_error).collect(),
        None => Vec::new(),
    };
    let known = |error: &Diagnostic, own: usize| {
        let same = |said: &Diagnostic| said.code == error.code && said.message == error.message;
        diagnostics.iter().enumerate().any(|(at, said)| at != own && same(said))
    };
    let wrong = written.into_iter().filter(|(start, end, at)| {
        let lies_here = |error: &&Diagnostic| (*start..*end).contains(&error.span.range().start);
        errors.iter().filter(lies_here).any(|error| !known(error, *at))
    });
    let mut wrong: Vec<usize> = wrong.map(|(_, _, at)| at).collect();
    wrong.dedup();
    wrong
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
        assert_eq!((fixed.possible(), fixed.impossible), (1, 1));
    }

    #[test]
    fn a_fix_whose_new_text_is_wrong_is_not_offered() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.bay", "one two three");
        let at = |start, end| Span::new(file, start, end);
        let fix = |start, end, text: &str| {
            Diagnostic::new(&codes::FOREIGN_WORD, at(start, end), "x").with_fix("x", at(start, end), text)
        };
        let mut said = vec![fix(0, 3, "a"), fix(4, 7, "wrong"), fix(8, 13, "b")];
        let compile = |source: &Source| {
            let found = source.text().find("wrong");
            let error = |at| Diagnostic::new(&codes::SYNTAX, Span::new(source.id(), at, at + 5), "no");
            found.map(error).into_iter().collect()
        };
        verify(&sources, &mut said, &[file], &compile);
        assert_eq!(said.iter().map(|said| said.fixes.len()).collect::<Vec<_>>(), [1, 0, 1]);
    }
}
