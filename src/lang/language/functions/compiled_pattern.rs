//! [`Pattern`]: a regular expression with the size of its compiled form, which bounds its time and
//! memory.
//!
//! Rows of `patterns.rs` match with it, `analysis::cost` counts what a match costs, and the checker what
//! all patterns of a text need.

use crate::lang::language::limits::{MOST_PATTERN_BYTES, MOST_PATTERN_TEXT};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_automata::util::syntax;
use std::ops::Deref;

/// Bytes that a pattern needs beside its states, and what its caches may take when it is used.
const CACHES: usize = 256 << 10;
/// Nodes within each other in the tree of a pattern.
const NEST_LIMIT: u32 = 1000;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: regex::Regex,
    /// The states of its automaton: a match visits each of them for each byte, at most.
    pub states: u64,
    /// Bytes of its longest match; `None` if there is no such bound.
    pub longest: Option<u64>,
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
    /// It is no regular expression, it is too long, or it needs too much memory when compiled.
    pub fn compile(source: &str) -> Result<Self, PatternError> {
        let refused = |why: String, bytes: usize| PatternError { why, bytes: bytes as u64 };
        if source.len() > MOST_PATTERN_TEXT {
            let limit = crate::diag::with_commas(MOST_PATTERN_TEXT as u128);
            return Err(refused(format!("it is longer than {limit} bytes"), 0));
        }
        let too_big = || refused("it needs more than 1 MiB when compiled".to_owned(), MOST_PATTERN_BYTES);
        let translated = super::re2::translate(source).map_err(|why| refused(why, source.len()))?;
        let rules = syntax::Config::new().nest_limit(NEST_LIMIT);
        let tree = syntax::parse_with(&translated, &rules).map_err(|error| {
            let text = error.to_string();
            let why = text.lines().last().unwrap_or("").trim_start_matches("error: ").to_owned();
            refused(why, source.len())
        })?;
        let limits =
            Config::new().nfa_size_limit(Some(MOST_PATTERN_BYTES)).which_captures(WhichCaptures::None);
        let automaton = Compiler::new().configure(limits).build_from_hir(&tree).map_err(|_| too_big())?;
        let regex = regex::RegexBuilder::new(&translated)
            .size_limit(MOST_PATTERN_BYTES)
            .dfa_size_limit(CACHES)
            .nest_limit(NEST_LIMIT)
            .build()
            .map_err(|_| too_big())?;
        Ok(Self {
            regex,
            states: automaton.states().len() as u64,
            longest: tree.properties().maximum_len().map(|longest| longest as u64),
            // Once to search forward and once to search backward.
            bytes: 2 * automaton.memory_usage() as u64 + 2 * CACHES as u64 / 16,
        })
    }

    /// The steps of a search in so many bytes of text, or of `searches` one after the other.
    pub fn visits(&self, bytes: u64, all: bool, searches: Option<u64>) -> u128 {
        let once = u128::from(bytes) * u128::from(self.states);
        if !all {
            return once;
        }
        // A search goes on behind the end of a match for as long as a longer one is possible.
        let ahead = self.longest.map_or(bytes, |longest| longest.min(bytes)).saturating_add(1);
        let again = searches.map_or(ahead, |searches| ahead.min(searches.saturating_add(1)));
        once.saturating_mul(u128::from(again))
    }
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
        assert_eq!(Pattern::compile("a{3}b?").unwrap().longest, Some(4));
        assert_eq!(Pattern::compile("a*").unwrap().longest, None);
    }

    #[test]
    fn patterns_have_limits() {
        let refused = |source: &str| Pattern::compile(source).unwrap_err().why;
        assert!(refused("\\pL{1000}").contains("1 MiB"));
        assert!(refused(&"(a|b)".repeat(10_000)).contains("longer"));
        assert!(refused("(").contains("`)` is missing"), "{}", refused("("));
    }
}
