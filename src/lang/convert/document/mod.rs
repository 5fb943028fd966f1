//! Policies of the policy language as documents.

mod blocks;
mod declarations;
mod exceptions;
mod writer;

pub(super) use writer::write;
use writer::{Fields, PolicyWriter, put, put_raw, unquote};
