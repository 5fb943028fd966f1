//! The fuzz target `devices`; what it does is in `src/testing/fuzz.rs`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| bayplan::testing::fuzz::run("devices", data));
