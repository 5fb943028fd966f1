//! [`Pattern`]: a regular expression with the size of its compiled form, which bounds its time and
//! memory.
//!
//! Rows of `patterns.rs` match with it, `analysis::cost` counts what a match costs, and the checker what
//! all patterns of a text need.

use crate::language::limits::{MOST_PATTERN_BYTES, MOST_PATTERN_TEXT};
use regex_automata::nfa::thompson::{Compiler, Config, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use std::ops::Deref;

/// Bytes that a pattern needs beside its states, and what its caches may take when it is used.
const CACHES: usize = 256 << 10;
/// Bytes that a pattern may take that is matched once.
const MOST_BYTES_ONCE: usize = 128 << 20;
/// Nodes within each other in the tree of a pattern.
const NEST_LIMIT: u32 = 1000;

/// States of a pattern whose circles are searched.
const MOST_TO_TELL: usize = 200;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: regex::Regex,
    /// The states of its automaton: a match visits each of them for each byte, at most.
    pub states: u64,
    /// Bytes that a search goes on after the end of a match, while a longer one is possible; `None` if
    /// there is no such bound.
    pub ahead: Option<u64>,
    /// Bytes that it takes in memory.
    pub bytes: u64,
}

/// Why a pattern does not compile.
#[derive(Clone, Debug)]
pub struct PatternError {
    /// In words.
    pub why: String,
    /// Bytes that were made before.
    pub bytes: u64,
}

impl Pattern {
    /// Compiles a pattern of RE2.
    ///
    /// # Errors
    /// It is not a regular expression, it is too long, or it needs too much memory when compiled.
    pub fn compile(source: &str) -> Result<Self, PatternError> {
        Self::compile_within(source, MOST_PATTERN_BYTES)
    }

    /// Compiles a pattern that is matched once and not kept: it may take as much memory as Go allows, about.
    ///
    /// # Errors
    /// Those of [`Pattern::compile`].
    pub(crate) fn compile_large(source: &str) -> Result<Self, PatternError> {
        Self::compile_within(source, MOST_BYTES_ONCE)
    }

    fn compile_within(source: &str, limit: usize) -> Result<Self, PatternError> {
        let refused = |why: String, bytes: usize| PatternError { why, bytes: bytes as u64 };
        if source.len() > MOST_PATTERN_TEXT {
            let limit = bayplan_diag::with_commas(MOST_PATTERN_TEXT as u128);
            return Err(refused(format!("it is longer than {limit} bytes"), 0));
        }
        let too_big = || refused(format!("it needs more than {} MiB when compiled", limit >> 20), limit);
        let translated = super::re2::translate(source).map_err(|why| refused(why, source.len()))?;
        let rules = syntax::Config::new().nest_limit(NEST_LIMIT);
        let tree = syntax::parse_with(&translated, &rules).map_err(|error| {
            let text = error.to_string();
            let why = text.lines().last().unwrap_or("").trim_start_matches("error: ").to_owned();
            refused(why, source.len())
        })?;
        let limits = Config::new().nfa_size_limit(Some(limit)).which_captures(WhichCaptures::None);
        let automaton = Compiler::new().configure(limits).build_from_hir(&tree).map_err(|_| too_big())?;
        let regex = regex::RegexBuilder::new(&translated)
            .size_limit(limit)
            .dfa_size_limit(CACHES)
            .nest_limit(NEST_LIMIT)
            .build()
            .map_err(|_| too_big())?;
        Ok(Self {
            regex,
            states: automaton.states().len() as u64,
            ahead: [tree.properties().maximum_len(), ahead(&automaton)]
                .into_iter()
                .flatten()
                .min()
                .map(|it| it as u64),
            // Once to search forward and once to search backward.
            bytes: 2 * automaton.memory_usage() as u64 + 2 * CACHES as u64 / 16,
        })
    }

    /// The steps of a search in so many bytes of text, or of `searches` one after the other.
    pub(crate) fn visits(&self, bytes: u64, all: bool, searches: Option<u64>) -> u128 {
        let once = u128::from(bytes) * u128::from(self.states);
        if !all {
            return once;
        }
        let ahead = self.ahead.map_or(bytes, |ahead| ahead.min(bytes)).saturating_add(1);
        let again = searches.map_or(ahead, |searches| ahead.min(searches.saturating_add(1)));
        once.saturating_mul(u128::from(again))
    }
}

/// Bytes that a search can read without coming by an end of a match: as many as there are states, if no
/// circle of states avoids all ends. `None` if one does, or if the pattern is too large to tell.
fn ahead(automaton: &NFA) -> Option<usize> {
    let states = automaton.states();
    if states.len() > MOST_TO_TELL {
        return None;
    }
    // Where each state goes on without an end of a match on the way.
    let next: Vec<Vec<usize>> = states.iter().map(|state| behind(automaton, state)).collect();
    // The loop that looks for the beginning of a match is left out.
    let mut done = vec![true; states.len()];
    let mut open = states_from(automaton, vec![automaton.start_anchored()]).0;
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut done[at], false) {
            open.extend(states_from(automaton, targets(&states[at])).0);
        }
    }
    // States whose next states are all done are on no circle.
    loop {
        let free = |at: usize, done: &[bool]| !done[at] && next[at].iter().all(|next| done[*next]);
        let found: Vec<usize> = (0..states.len()).filter(|at| free(*at, &done)).collect();
        if found.is_empty() {
            return done.iter().all(|done| *done).then_some(states.len());
        }
        found.into_iter().for_each(|at| done[at] = true);
    }
}

/// The states that read a byte after this one has, if no match can end between them.
fn behind(automaton: &NFA, state: &State) -> Vec<usize> {
    let (found, ends) = states_from(automaton, targets(state));
    if ends { Vec::new() } else { found }
}

/// The states after the byte that a state reads.
fn targets(state: &State) -> Vec<StateID> {
    match state {
        State::ByteRange { trans } => vec![trans.next],
        State::Sparse(sparse) => sparse.transitions.iter().map(|trans| trans.next).collect(),
        State::Dense(dense) => (0..=u8::MAX).filter_map(|byte| dense.matches_byte(byte)).collect(),
        _ => Vec::new(),
    }
}

/// The states that read the next byte, from states between two bytes, and whether a match can end
/// there, whatever follows.
fn states_from(automaton: &NFA, open: Vec<StateID>) -> (Vec<usize>, bool) {
    let (mut found, mut ends) = (Vec::new(), false);
    // With each state, whether it is after a condition on what follows: an end there is none.
    let mut seen = vec![[false; 2]; automaton.states().len()];
    let mut open: Vec<(StateID, bool)> = open.into_iter().map(|id| (id, false)).collect();
    while let Some((id, depends)) = open.pop() {
        if std::mem::replace(&mut seen[id.as_usize()][usize::from(depends)], true) {
            continue;
        }
        match automaton.state(id) {
            State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => found.push(id.as_usize()),
            State::Look { next, .. } => open.push((*next, true)),
            State::Capture { next, .. } => open.push((*next, depends)),
            State::Union { alternates } => open.extend(alternates.iter().map(|id| (*id, depends))),
            State::BinaryUnion { alt1, alt2 } => open.extend([(*alt1, depends), (*alt2, depends)]),
            State::Match { .. } => ends |= !depends,
            State::Fail => {}
        }
    }
    (found, ends)
}

impl Deref for Pattern {
    type Target = regex::Regex;

    fn deref(&self) -> &regex::Regex {
        &self.regex
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiled_size_counts() {
        let small = Pattern::compile("^[a-z]+$").unwrap();
        let large = Pattern::compile("[ab]*a[ab]{400}c").unwrap();
        assert!(small.states < 20 && large.states > 400, "{} {}", small.states, large.states);
        assert!(small.bytes < large.bytes);
        let ahead = |source: &str| Pattern::compile(source).unwrap().ahead;
        assert_eq!(ahead("a{3}b?"), Some(4));
        for source in ["[a-z]+", "(ab)+", "x?[0-9]*", "a+b*"] {
            assert!(ahead(source).is_some_and(|ahead| ahead < 20), "{source}");
        }
        for source in ["a*b|a", "a.*b|a", "[0-9]+$|1", "(aa)+b|a"] {
            assert_eq!(ahead(source), None, "{source}");
        }
    }

    #[test]
    fn patterns_have_limits() {
        let refused = |source: &str| Pattern::compile(source).unwrap_err().why;
        assert!(refused("\\pL{1000}").contains("1 MiB"));
        assert!(refused(&"(a|b)".repeat(10_000)).contains("longer"));
        assert!(refused("(").contains("`)` is missing"), "{}", refused("("));
    }
}
