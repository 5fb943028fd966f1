//! The parser that pest makes of `grammar/bay.pest`; its rules are named as there, and described there.

#![allow(missing_docs)]

/// The grammar.
#[derive(pest_derive::Parser)]
#[grammar = "grammar/bay.pest"]
pub(super) struct Grammar;
