//! The one test binary of everything that needs no cluster: a folder for each room of `src`, and
//! tests of the whole tree at the top. `CONTRIBUTING.md` says where each kind of test goes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod architecture;
mod fuzz_corpus;
mod support;

mod cli;
mod compare;
mod config;
mod diag;
mod docs;
mod dry_run;
mod engine;
mod explain;
mod lang;
mod library;
mod model;
mod plugins;
mod scheduler;
