//! The tables of the language: statements, functions, macros and fields. All later stages, docs and help read them.

pub mod documents;
pub mod environments;
pub mod fields;
pub mod functions;
pub mod limits;
pub mod macros;
pub mod statements;
