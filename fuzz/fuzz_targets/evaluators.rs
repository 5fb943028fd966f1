//! The fuzz target `evaluators`: closures against the reference evaluator, on random policies and clusters of the
//! seeds in the data. The programs and the comparison are those of the property test in
//! `tests/lang/properties/evaluators.rs`.
#![no_main]
#![allow(dead_code, missing_docs, unused_imports)]

use bayplan::testing::Random;

#[path = "../../tests/lang/properties/evaluators.rs"]
mod evaluators;
#[path = "../../tests/lang/properties/programs.rs"]
mod programs;
#[path = "../../tests/support/policies.rs"]
mod policies;
mod support {
    pub(crate) use crate::policies;
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for seed in data.chunks(8).take(4) {
        let mut bytes = [0; 8];
        bytes[..seed.len()].copy_from_slice(seed);
        evaluators::agree_on_seed(u64::from_le_bytes(bytes));
    }
});
