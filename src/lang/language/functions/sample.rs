//! `sample`: a share of all texts, the same ones wherever and whenever it is computed.

use super::{FunctionDef, Influence};
use crate::types::Ty;
use crate::types::range::Range;
use crate::types::value::Value;

const BASE: FunctionDef = FunctionDef::BASE;

pub(super) static FUNCTIONS: &[FunctionDef] = &[FunctionDef {
    name: "sample",
    params: &[Ty::String, Ty::Float],
    names: &["text", "share"],
    result: Ty::Bool,
    influence: &[Influence::Unknown, Influence::Raises],
    demand: Some(within_one),
    body: |args, _| match args {
        [text, share] => match (text.as_str(), share.as_float()) {
            (Some(text), Some(share)) => Value::Bool(place_of(text) < share),
            _ => Value::Absent,
        },
        _ => Value::Absent,
    },
    doc: "whether a text is in a share of all texts, by a hash that never changes: a text that is in a share is in every \
          larger one; 0% has no text, 100% every one",
    examples: &[
        ("sample(\"a\", 0%)", "false"),
        ("sample(\"a\", 100%)", "true"),
        ("sample(\"web-1\", 20%)", "false"),
        ("sample(\"web-2\", 20%)", "true"),
    ],
    ..BASE
}];

/// A share lies in 0 to 1.
fn within_one(args: &[Range]) -> Result<(), (usize, &'static str)> {
    match args.get(1) {
        Some(share) if !share.within(0.0, 1.0) && !share.is_empty() => {
            Err((1, "a share is 0% to 100%, as in `10%`"))
        }
        _ => Ok(()),
    }
}

/// The place of a text between 0 and 1, 1 excluded: the 64-bit hash FNV-1a of its bytes, mixed by the last step of
/// SplitMix64 so that texts that differ in one byte are far apart. Policies rest on it: it must never change.
fn place_of(text: &str) -> f64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let mixed = mixed ^ (mixed >> 31);
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_share_has_about_its_part_of_all_texts() {
        for (part, of) in [(1, 100), (1, 10), (1, 2), (9, 10)] {
            let share = f64::from(part) / f64::from(of);
            let taken = (0..10_000).filter(|at| place_of(&format!("pod-{at}")) < share).count();
            let wanted = 10_000.0 * share;
            assert!(
                (taken as f64 - wanted).abs() < 4.0 * (wanted * (1.0 - share)).sqrt(),
                "{share}: {taken}"
            );
        }
    }

    #[test]
    fn places_never_change() {
        let places = ["", "a", "web-1", "web-2", "b0b5a6c0-0d7c-4d2b-9d0a-5a0f0a7c9e11"].map(place_of);
        assert_eq!(
            places.map(|place| (place * 1e9) as u64),
            [957_673_425, 10_753_497, 958_842_368, 31_714_641, 668_701_872]
        );
    }

    proptest::proptest! {
        #[test]
        fn a_larger_share_contains_a_smaller_one(text in ".*", small in 0.0..1.0f64, more in 0.0..1.0f64) {
            let large = (small + more).min(1.0);
            let place = place_of(&text);
            proptest::prop_assert!((0.0..1.0).contains(&place));
            proptest::prop_assert!(place >= small || place < large);
        }
    }
}
