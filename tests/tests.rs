//! The one test binary of everything that needs no cluster. Each module tests one room from outside.
#![allow(clippy::unwrap_used, clippy::expect_used)]
mod architecture;
mod configuration;
mod conformance;
mod deciders;
mod fuzz_corpus;
mod language;
mod objects;
mod pods;
mod parsing;
mod support;
mod snapshot;
mod policies;
mod properties;
mod scheduling;
mod cases;
