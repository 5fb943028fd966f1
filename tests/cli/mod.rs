//! The real binary: arguments, what each command prints, and how it ends.

mod commands;
mod convert;
mod documents;
mod escapes;
mod exceptions;
mod explain;
mod diff;
mod diff_recorded;
mod init;
mod input;
mod json_output;
mod lint;
mod look_ups;
mod nodes;
mod page;
mod patches;
mod plan;
mod policy_changes;
#[cfg(feature = "cluster")]
mod rbac;
mod rights;
mod snapshot;
mod uses;
mod writes;
