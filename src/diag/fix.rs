//! Fixes applied to texts, for `lint --fix`. Writes no files.
//!
//! Called by `cli`. A fix is applied whole or not at all. When its edits meet those of an earlier fix it
//! is left for the next round. When they cannot be written where they belong (a line end within single
//! quotes of YAML) it is not applied.
//!
//! What a fix changes is in its class (`FixClass`). A fix of a mistake is certain, since the text decides nothing
//! yet; a fix of what compiles is certain only where the place that makes it says so.

use super::{Diagnostic, Edit, FixClass, Source, SourceId, SourceMap, Span};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

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

/// Applies the first fix of each diagnostic, where it is of one of these classes.
pub fn apply(sources: &SourceMap, diagnostics: &[Diagnostic], classes: &[FixClass]) -> Fixed {
    let mut taken = Taken::default();
    let mut edits: BTreeMap<SourceId, Vec<(Span, String)>> = BTreeMap::new();
    let mut fixed = Fixed::default();
    let first = diagnostics.iter().filter_map(|diagnostic| diagnostic.fixes.first());
    for fix in first.filter(|fix| classes.contains(&fix.class)) {
        let written = fix.edits.iter().map(|edit| sources.written(edit.span, &edit.text));
        let Some(texts) = written.collect::<Option<Vec<String>>>() else {
            fixed.impossible += 1;
            continue;
        };
        if fix.edits.iter().any(|edit| taken.meets(sources.in_file(edit.span))) {
            fixed.left += 1;
            continue;
        }
        fixed.applied += 1;
        for (Edit { span, .. }, text) in fix.edits.iter().zip(texts) {
            let place = sources.in_file(*span);
            taken.take(place);
            edits.entry(place.source).or_default().push((place, text));
        }
    }
    for (file, mut edits) in edits {
        let Some(source) = sources.get(file) else { continue };
        let mut text = source.text().to_owned();
        edits.sort_by_key(|(span, _)| std::cmp::Reverse((span.start, span.end)));
        for (span, new) in edits {
            if text.get(span.range()).is_some() {
                text.replace_range(span.range(), &new);
            }
        }
        fixed.files.insert(file, text);
    }
    fixed
}

fn meet(a: Span, b: Span) -> bool {
    a.start < b.end && b.start < a.end || a == b
}

/// Places that edits have taken, none of which meets another.
#[derive(Default)]
struct Taken(BTreeSet<Span>);

impl Taken {
    fn take(&mut self, span: Span) {
        self.0.insert(span);
    }

    fn meets(&self, span: Span) -> bool {
        let of = |other: &Span| other.source == span.source && meet(span, *other);
        let (first, last) = (Span { end: 0, ..span }, Span { start: span.end, end: u32::MAX, ..span });
        self.0.range(..first).next_back().is_some_and(of) || self.0.range(first..=last).any(of)
    }
}

/// The diagnostics of a text, and the statements that could be read in it.
pub struct Compiled {
    /// All diagnostics.
    pub diagnostics: Vec<Diagnostic>,
    /// Places of the statements without a mistake of the parser.
    pub statements: Vec<Span>,
}

/// How often fixes are dropped and the others tried again, before none is offered.
const TRIALS: usize = 12;

/// How often what a fix uncovers is fixed in turn.
const ROUNDS: usize = 16;

/// Bytes that are compiled to try the fixes of a text: as much as the largest text needs to be tried once, and more than all
/// trials of an ordinary one.
const MOST_COMPILED: usize = 3 << 20;

/// Pairs of a finding, or a statement, and an edit that one trial compares.
const MOST_PAIRS: usize = 20_000_000;

/// Compiles texts while there is effort left.
struct Trials<'c> {
    compile: &'c dyn Fn(&Source) -> Compiled,
    left: Cell<usize>,
}

impl Trials<'_> {
    fn compile(&self, text: &Source) -> Option<Compiled> {
        let left = self.left.get().checked_sub(text.text().len())?;
        self.left.set(left);
        Some((self.compile)(text))
    }
}

/// Takes out the fixes that are not certain.
///
/// All first fixes of a text are applied together, what they uncover is fixed in turn, and the result is
/// compiled by `compile`. It must have no error that the text did not have before, except for mistakes
/// beside the fixes in statements that the parser could not read before. Every statement that no fix
/// touches must be a statement still. Where that does not hold the nearest fix is dropped, and the others
/// are tried again without it. What lies in YAML itself is not compiled and stays. A text that is too large to be tried so
/// often has no fixes.
pub fn verify(
    sources: &SourceMap,
    diagnostics: &mut [Diagnostic],
    texts: &[SourceId],
    compile: &dyn Fn(&Source) -> Compiled,
) {
    for text in texts.iter().filter_map(|id| sources.get(*id)) {
        if trusted(text, diagnostics).is_empty() {
            continue;
        }
        let trials = Trials { compile, left: Cell::new(MOST_COMPILED) };
        let statements = trials.compile(text).map(|compiled| compiled.statements).unwrap_or_default();
        for trial in 0..=TRIALS {
            let trusted = trusted(text, diagnostics);
            if trusted.is_empty() {
                break;
            }
            let wrong = (trial < TRIALS)
                .then(|| wrong_fixes(text, diagnostics, &trusted, &statements, &trials))
                .flatten()
                .unwrap_or_else(|| trusted.iter().map(|(at, _)| *at).collect());
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

/// Edits of a text, in its order: byte range, and the new text.
type Edits = Vec<(usize, usize, String)>;

/// The first fixes of a text that do not meet one before them, by the place of their diagnostics.
fn trusted(source: &Source, diagnostics: &[Diagnostic]) -> Vec<(usize, Edits)> {
    let mut taken = Taken::default();
    let mut trusted = Vec::new();
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        let Some(fix) = diagnostic.fixes.first() else { continue };
        let fits = |edit: &Edit| {
            edit.span.source == source.id()
                && source.text().get(edit.span.range()).is_some()
                && !taken.meets(edit.span)
        };
        if !fix.edits.is_empty() && fix.edits.iter().all(fits) {
            fix.edits.iter().for_each(|edit| taken.take(edit.span));
            let edits = fix.edits.iter().map(|edit| {
                let range = edit.span.range();
                (range.start, range.end, edit.text.clone())
            });
            trusted.push((at, edits.collect()));
        }
    }
    trusted
}

/// The text with edits, which are put in order.
fn edited(text: &str, edits: &mut Edits) -> String {
    edits.sort_by_key(|(start, end, _)| (*start, *end));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end, new) in edits.iter() {
        out.push_str(text.get(done..*start).unwrap_or(""));
        out.push_str(new);
        done = *end;
    }
    out.push_str(text.get(done..).unwrap_or(""));
    out
}

/// The diagnostics, by their place in the list, whose first fix must not be trusted; `None` where that takes too much.
fn wrong_fixes(
    source: &Source,
    diagnostics: &[Diagnostic],
    trusted: &[(usize, Edits)],
    statements: &[Span],
    trials: &Trials<'_>,
) -> Option<Vec<usize>> {
    let mut rounds: Vec<Edits> = vec![trusted.iter().flat_map(|(_, edits)| edits.iter().cloned()).collect()];
    let mut text = source.text().to_owned();
    let mut after;
    loop {
        let edits = rounds.last_mut()?;
        text = edited(&text, edits);
        let mut sources = SourceMap::new();
        let id = sources.add_like(source, text.clone());
        let fixed = sources.get(id)?;
        after = trials.compile(fixed)?;
        let next: Edits =
            self::trusted(fixed, &after.diagnostics).into_iter().flat_map(|(_, edits)| edits).collect();
        if next.is_empty() || rounds.len() == ROUNDS {
            break;
        }
        rounds.push(next);
    }
    let edits = rounds.iter().map(Vec::len).sum::<usize>();
    let looked_at = after.diagnostics.len() + statements.len();
    if looked_at.saturating_mul(edits) > MOST_PAIRS {
        return None;
    }
    let mut known: Vec<&Diagnostic> = diagnostics
        .iter()
        .enumerate()
        .filter(|(at, said)| {
            said.is_error() && said.span.source == source.id() && trusted.iter().all(|(own, _)| own != at)
        })
        .map(|(_, said)| said)
        .collect();
    let mut doubtful: Vec<usize> = Vec::new();
    // A finding that still has a fix was not mended by it.
    for said in after.diagnostics.iter().filter(|said| said.is_error() || !said.fixes.is_empty()) {
        let same = |other: &&Diagnostic| other.code == said.code && other.message == said.message;
        if let Some(at) = known.iter().position(same) {
            known.swap_remove(at);
            continue;
        }
        let range = said.span.range();
        let (start, end) = (before_edits(range.start, &rounds), before_edits(range.end, &rounds));
        let Some((at, edits)) = nearest(trusted, start) else { continue };
        let touched = edits.iter().any(|(from, to, _)| *from <= end && start <= *to);
        // The parser had kept the statement from the checker, which finds a mistake of its own in it.
        let uncovered = !of_the_parser(said) && diagnostics.get(at).is_some_and(of_the_parser) && !touched;
        if !uncovered {
            doubtful.push(start);
        }
    }
    let still: BTreeSet<usize> = after.statements.iter().map(|span| span.range().start).collect();
    for statement in statements.iter().map(|span| span.range()) {
        let touched = rounds
            .first()
            .into_iter()
            .flatten()
            .any(|(start, end, _)| *start <= statement.end && statement.start <= *end);
        if !touched && !still.contains(&behind_edits(statement.start, &rounds)) {
            doubtful.push(statement.start);
        }
    }
    let wrong = doubtful.into_iter().filter_map(|place| nearest(trusted, place).map(|(at, _)| at));
    let mut wrong: Vec<usize> = wrong.collect();
    wrong.sort_unstable();
    wrong.dedup();
    Some(wrong)
}

/// The fix with an edit next to a place, by its diagnostic.
fn nearest(trusted: &[(usize, Edits)], place: usize) -> Option<(usize, &Edits)> {
    let distance = |edits: &Edits| edits.iter().map(|(start, end, _)| gap(place, *start, *end)).min();
    trusted.iter().min_by_key(|(_, edits)| distance(edits)).map(|(at, edits)| (*at, edits))
}

/// Whether the parser reported it: its codes are those below BP0100.
fn of_the_parser(said: &Diagnostic) -> bool {
    said.code.id.starts_with("BP00")
}

/// How far a place lies from a range.
fn gap(place: usize, start: usize, end: usize) -> usize {
    start.saturating_sub(place).max(place.saturating_sub(end))
}

/// Where a place of the last text was in the first one.
fn before_edits(mut place: usize, rounds: &[Edits]) -> usize {
    for edits in rounds.iter().rev() {
        let (mut written, mut read) = (0, 0);
        for (start, end, new) in edits {
            let begin = written + (start - read);
            if place < begin {
                break;
            }
            if place < begin + new.len() {
                (written, read) = (place, *start);
                break;
            }
            (written, read) = (begin + new.len(), *end);
        }
        place = read + (place - written.min(place));
    }
    place
}

/// Where a place of the first text is in the last one.
fn behind_edits(mut place: usize, rounds: &[Edits]) -> usize {
    for edits in rounds {
        let (mut added, mut removed) = (0, 0);
        for (start, end, new) in edits.iter().filter(|(_, end, _)| *end <= place) {
            added += new.len();
            removed += end - start;
        }
        place = place + added - removed;
    }
    place
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::codes;

    #[test]
    fn fixes_are_applied_whole_and_those_that_meet_are_left() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.bay", "a and b or c");
        let at = |start, end| Span::new(file, start, end);
        let one = Diagnostic::new(&codes::FOREIGN_WORD, at(2, 5), "x").with_fix("x", at(2, 5), "&&");
        let two = Diagnostic::new(&codes::FOREIGN_WORD, at(8, 10), "x").with_fix("x", at(8, 10), "||");
        let meets = Diagnostic::new(&codes::FOREIGN_WORD, at(4, 6), "x").with_fix("x", at(4, 6), "!");
        let fixed = apply(&sources, &[one, two, meets], &[FixClass::Certain]);
        assert_eq!(fixed.files[&file], "a && b || c");
        assert_eq!((fixed.applied, fixed.left), (2, 1));
    }

    #[test]
    fn a_quote_is_escaped_in_a_quoted_scalar() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.yaml", "k: 'a b'");
        let origin = crate::Origin { object: "n/m".into(), key: "k".into() };
        let inner = sources.embed(file, 3..8, "a b", origin);
        let at = Span::new(inner, 2, 3);
        let quote = Diagnostic::new(&codes::FOREIGN_WORD, at, "x").with_fix("x", at, "'c'");
        let plain = Diagnostic::new(&codes::FOREIGN_WORD, at, "x").with_fix("x", at, "c");
        assert_eq!(apply(&sources, &[quote], &[FixClass::Certain]).files[&file], "k: 'a ''c'''");
        assert_eq!(apply(&sources, &[plain], &[FixClass::Certain]).files[&file], "k: 'a c'");
        let broken = Diagnostic::new(&codes::FOREIGN_WORD, at, "x").with_fix("x", at, "c\nd");
        assert_eq!(apply(&sources, &[broken], &[FixClass::Certain]).impossible, 1);
        let file = sources.add("b.yaml", "k: \"a b\"");
        let origin = crate::Origin { object: "n/m".into(), key: "k".into() };
        let inner = sources.embed(file, 3..8, "a b", origin);
        let at = Span::new(inner, 2, 3);
        let quote = Diagnostic::new(&codes::FOREIGN_WORD, at, "x").with_fix("x", at, "\"c\"");
        let line = Diagnostic::new(&codes::FOREIGN_WORD, at, "x").with_fix("x", at, "c\nd");
        assert_eq!(apply(&sources, &[quote], &[FixClass::Certain]).files[&file], r#"k: "a \"c\"""#);
        assert_eq!(apply(&sources, &[line], &[FixClass::Certain]).files[&file], r#"k: "a c\nd""#);
    }

    #[test]
    fn what_may_change_decisions_is_applied_only_when_it_is_asked_for() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.bay", "one two three");
        let at = Span::new(file, 4, 7);
        let applied = |said: Diagnostic| {
            let classes = [FixClass::Certain, FixClass::MayChangeDecisions];
            [&classes[..1], &classes]
                .map(|classes| apply(&sources, std::slice::from_ref(&said), classes).applied)
        };
        let of = |code, text: &str| Diagnostic::new(code, at, "x").with_fix("x", at, text);
        assert_eq!(applied(of(&codes::SYNTAX, "2")), [1, 1]);
        assert_eq!(applied(of(&codes::SYNTAX, "2").guessed()), [0, 1]);
        assert_eq!(applied(of(&codes::SYNTAX, "f(…)")), [0, 0]);
        assert_eq!(applied(of(&codes::BOTH_ABSENT, "2")), [0, 1]);
        assert_eq!(applied(of(&codes::BOTH_ABSENT, "2").keeping_decisions()), [1, 1]);
    }

    #[test]
    fn fixes_are_tried_while_little_was_compiled() {
        let mut sources = SourceMap::new();
        let text = "one two three ".repeat(50_000);
        let file = sources.add("a.bay", text.clone());
        let mut said: Vec<Diagnostic> = (0..1_000)
            .map(|at| Span::new(file, 14 * at, 14 * at + 3))
            .map(|at| Diagnostic::new(&codes::FOREIGN_WORD, at, "x").with_fix("x", at, "wrong"))
            .collect();
        let compiled = Cell::new(0);
        let compile = |source: &Source| {
            compiled.set(compiled.get() + source.text().len());
            let found = source.text().rfind("wrong");
            let error = |at| Diagnostic::new(&codes::SYNTAX, Span::new(source.id(), at, at + 5), "no");
            Compiled { diagnostics: found.map(error).into_iter().collect(), statements: Vec::new() }
        };
        verify(&sources, &mut said, &[file], &compile);
        assert!(compiled.get() <= MOST_COMPILED && compiled.get() > 2 * text.len(), "{}", compiled.get());
        assert!(said.iter().all(|said| said.fixes.is_empty()));
    }

    #[test]
    fn places_that_meet_are_found_among_all() {
        let mut random = bayplan_model::testing::Random(3);
        let mut sources = SourceMap::new();
        let file = sources.add("a.bay", "x".repeat(60));
        for _ in 0..300 {
            let (mut taken, mut all) = (Taken::default(), Vec::<Span>::new());
            for _ in 0..12 {
                let start = random.below(50);
                let span = Span::new(file, start, start + random.below(6));
                let meets = all.iter().any(|other| meet(span, *other));
                assert_eq!(taken.meets(span), meets, "{span:?} {all:?}");
                if !meets {
                    taken.take(span);
                    all.push(span);
                }
            }
        }
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
            Compiled { diagnostics: found.map(error).into_iter().collect(), statements: Vec::new() }
        };
        verify(&sources, &mut said, &[file], &compile);
        assert_eq!(said.iter().map(|said| said.fixes.len()).collect::<Vec<_>>(), [1, 0, 1]);
    }
}
