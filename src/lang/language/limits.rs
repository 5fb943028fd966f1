//! The limits of computed values, and how messages write large numbers.

/// Bytes of a text that a rule computes, at most.
pub const MOST_BYTES: u128 = 1 << 20;

/// Elements of a list that a rule computes, at most; a filtered or mapped collection of the cluster may have more.
pub const MOST_ELEMENTS: u128 = 100_000;

/// Bytes that a number, an amount or a time counts with when it becomes a text.
pub const NUMBER_TEXT: u64 = 64;

/// Bytes that a value may have in a formatted text beside its own, for its precision.
pub const FORMATTED: u128 = 1024;

/// A number with commas between thousands, as messages write it.
pub fn with_commas(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
