//! [`Type`]: the type of an expression, with units and absence, and how it is written.
//!
//! This stage holds what all others share: the types, the values of a type (`value.rs`), their
//! arithmetic (`arithmetic.rs`), their equality, order and hash (`equality.rs`), and ranges of
//! numbers (`range.rs`). It imports no other stage. Fields of objects are in `language/fields`.

pub mod arithmetic;
pub mod cel;
pub mod convert;
mod device;
pub mod equality;
mod kind;
mod object;
pub mod range;
pub mod resources;
pub mod show;
pub mod tagged;
pub mod text;
mod ty;
pub mod value;

pub use cel::CelType;
pub use kind::{ObjectKind, SchemaField, Structure};
pub use object::{ApiType, ObjectType};
pub use ty::{ComputedName, RecordType, Ty, Type};
