//! The limits of computed values, and of all policies together.

/// Bytes of a text that a rule computes, at most.
pub const MOST_BYTES: u128 = 1 << 20;

/// Elements of a list that a rule computes, at most; a filtered or mapped collection of the cluster may have more.
pub const MOST_ELEMENTS: u128 = 100_000;

/// Bytes that a number, an amount or a time counts with when it becomes a text.
pub const NUMBER_TEXT: u64 = 64;

/// Bytes that a value may have in a formatted text beside its own, for its precision.
pub const FORMATTED: u128 = 1024;

/// Steps that all policies of a scheduler may take for one pod together: ten times what one policy may.
pub const MOST_STEPS_OF_ALL: u128 = 1_000_000_000;

/// Expressions that all policies of a scheduler may have together.
pub const MOST_EXPRESSIONS_OF_ALL: u128 = 2_000_000;
