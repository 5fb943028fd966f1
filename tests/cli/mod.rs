//! The real binary: arguments, what each command prints, and how it ends.

mod commands;
mod convert;
mod documents;
mod escapes;
mod exceptions;
mod explain;
mod json_output;
mod lint;
mod look_ups;
mod plan;
mod uses;
