//! [`FUNCTIONS`]: every function and method of expressions, one row an overload.
//!
//! The checker reads a row's parameters, result, range and absence, both evaluators its body, the
//! analyses its influences, the column code its vector form, and help and docs its text. Its
//! examples run as tests. Macros, `has` and `now` are in `language/macros.rs`. One file holds one
//! family.

#[macro_use]
mod parts;
mod beta;
pub mod cel;
mod collections;
mod compiled_pattern;
mod conversions;
pub mod format;
mod math;
mod notation;
mod optionals;
mod patterns;
mod quantities;
mod re2;
mod resources;
mod row;
mod sample;
mod strings;
mod times;
mod windows;

pub use compiled_pattern::{Pattern, PatternError};
pub(crate) use notation::go_float;
pub(crate) use notation::parse_cpu;
pub use notation::parse_duration;
pub(crate) use notation::parse_whole;
pub(crate) use notation::set_amount;
pub(crate) use optionals::WRAP;
pub use row::{
    Absence, Body, Conversion, Demand, Dialects, Examples, FUNCTIONS, FunctionDef, FunctionId, Grows,
    Influence, LooksFor, Make, NOT_BUILT, Prepare, Prepared, Presence, Vector, Work, any, named,
    named_in_kubernetes, names, of_policies, ty_text,
};
pub(crate) use row::{named_in_devices, named_in_newer_devices, with_presence};
pub use windows::Windows;
