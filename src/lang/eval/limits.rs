//! Whether an operation on constants stays within the limits of computed texts and lists.
//!
//! Called by `constant` before it computes, so that compiling never makes a value that is too large.

use crate::language::functions::{FunctionDef, Grows};
use crate::language::limits::{FORMATTED, MOST_BYTES, MOST_ELEMENTS, NUMBER_TEXT};
use crate::types::value::{Constant, Value};

/// Whether the value that a function makes of constants is within the limits.
pub(super) fn fits(def: &FunctionDef, args: &[Constant]) -> bool {
    let bytes = |at: usize| args.get(at).map_or(0, bytes);
    let count = |at: usize| args.get(at).map_or(0, count);
    let items = args.first().and_then(Value::elements).unwrap_or_default();
    let (bytes, elements) = match def.grows {
        Grows::Never | Grows::Takes(_) => (0, 0),
        Grows::Adds => (0, (0..args.len()).map(count).sum()),
        Grows::Parts => (0, bytes(0) + 1),
        Grows::Counts => (0, args.first().and_then(Value::as_int).map_or(0, |n| n.max(0) as u128)),
        Grows::Flattens => (0, items.iter().map(self::count).sum()),
        Grows::Joins => (items.iter().map(|item| self::bytes(item) + bytes(1)).sum(), 0),
        Grows::Replaces => {
            // An empty part is found before and after every letter.
            let places = bytes(0).checked_div(bytes(1)).unwrap_or_else(|| bytes(0) + 1);
            (places.saturating_mul(bytes(2)).saturating_add(bytes(0)), 0)
        }
        Grows::Escapes => (args.first().map_or(0, written), 0),
        // Values are written with a precision of their own.
        Grows::Formats => (bytes(0) + args.get(1).map_or(0, written) + count(1).saturating_mul(FORMATTED), 0),
    };
    bytes <= MOST_BYTES && elements <= MOST_ELEMENTS
}

/// Whether two constants, joined by `+`, are within the limits.
pub(super) fn fits_together(a: &Constant, b: &Constant) -> bool {
    bytes(a) + bytes(b) <= MOST_BYTES && count(a) + count(b) <= MOST_ELEMENTS
}

fn bytes(of: &Value<'_>) -> u128 {
    of.as_str().map_or(0, |text| text.len() as u128)
}

fn count(of: &Value<'_>) -> u128 {
    of.elements().map_or(0, |items| items.len() as u128)
}

/// Bytes of a value as `format` and `strings.quote` write it, escapes (`\u0000` at most) included.
fn written(of: &Value<'_>) -> u128 {
    if let Some(text) = of.as_str() {
        return 6 * text.len() as u128 + 2;
    }
    if let Some(items) = of.elements() {
        return items.iter().map(|item| written(item) + 4).sum::<u128>() + 2;
    }
    if let Some(entries) = of.entries() {
        return entries.iter().map(|(key, value)| written(key) + written(value) + 4).sum::<u128>() + 2;
    }
    match of {
        Value::Blob(bytes) => 6 * bytes.len() as u128 + 2,
        _ => u128::from(NUMBER_TEXT),
    }
}
