//! The parser that pest generates from `grammar/bay.pest`. Its rules are described there.

#![allow(missing_docs)]

/// The grammar.
#[derive(pest_derive::Parser)]
#[grammar = "../../grammar/bay.pest"]
pub(super) struct Grammar;
