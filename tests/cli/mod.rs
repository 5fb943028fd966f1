//! The real binary: arguments, what each command prints, and how it ends.

mod commands;
mod convert;
mod documents;
mod escapes;
mod exceptions;
mod explain;
mod input;
mod json_output;
mod lint;
mod look_ups;
mod page;
mod patches;
mod plan;
mod rights;
mod uses;
mod writes;
