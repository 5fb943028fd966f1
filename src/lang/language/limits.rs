//! The limits of computed values.

/// Bytes of a text that a rule computes, at most.
pub const MOST_BYTES: u128 = 1 << 20;

/// Elements of a list that a rule computes, at most; a filtered or mapped collection of the cluster may have more.
pub const MOST_ELEMENTS: u128 = 100_000;

/// Bytes that a number, an amount or a time counts with when it becomes a text.
pub const NUMBER_TEXT: u64 = 64;

/// Bytes that a value may have in a formatted text beside its own, for its precision.
pub const FORMATTED: u128 = 1024;
