//! The test binary of everything that needs a real API server. Where none is to be had, each test says on
//! standard error that it did not run; with `CI` set it fails. Needs the feature `cluster`.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a real cluster take real time"
)]

mod support;

mod harness;
mod ours;
mod hands;
mod load;
mod walks;
mod leaders;
mod faults;
mod policies;
mod gangs;
mod deployed;
mod rights;
mod pages;
mod peers;
mod mistakes;
mod soak;
mod live;
mod bench;
mod restart;
