//! The limits of computed values, and of all policies together.

/// Bytes of a text that a rule computes, at most.
pub(crate) const MOST_BYTES: u128 = 1 << 20;

/// Elements of a list that a rule computes, at most; a filtered or mapped collection of the cluster may have more.
pub(crate) const MOST_ELEMENTS: u128 = 100_000;

/// Bytes that a number, an amount or a time counts with when it becomes a text.
pub(crate) const NUMBER_TEXT: u64 = 64;

/// Bytes that a value may have in a formatted text beside its own, for its precision.
pub(crate) const FORMATTED: u128 = 1024;

/// Words and marks of a policy text, comments left out.
pub(crate) const MOST_TOKENS: usize = 250_000;

/// Policies of a text.
pub(crate) const MOST_POLICIES: usize = 1_000;

/// Bytes of a pattern, as it is written.
pub(crate) const MOST_PATTERN_TEXT: usize = 16 << 10;

/// Bytes of the automaton of a pattern.
pub(crate) const MOST_PATTERN_BYTES: usize = 1 << 20;

/// Bytes of all patterns of a text, and of all policies of a scheduler together, when they are compiled.
pub(crate) const MOST_PATTERN_BYTES_OF_ALL: u128 = 16 << 20;

/// What constants of a text may take to compute: expressions, bytes and elements that are read or made, and
/// the states that a pattern visits.
pub(crate) const MOST_CONSTANT_EFFORT: u64 = 64 << 20;

/// What checking a text may take: expressions, fields of records that are made, declarations that are visible in
/// a policy, and diagnostics.
pub(crate) const MOST_CHECKS: u64 = 2_000_000;

/// States of a pattern that a step visits.
pub(crate) const STATES_PER_STEP: u128 = 16;

/// Steps that all policies of a scheduler may take for one pod together: ten times what one policy may.
pub(crate) const MOST_STEPS_OF_ALL: u128 = 1_000_000_000;

/// Expressions that a text, and all policies of a scheduler together, may have with their lets, defs and
/// groups written out, as they are kept in memory.
pub(crate) const MOST_EXPRESSIONS_OF_ALL: u128 = 500_000;
