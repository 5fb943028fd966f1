//! The tables of the language: functions and fields. Checker, evaluators, docs and help read the same rows.

pub mod fields;
pub mod functions;
pub mod macros;
