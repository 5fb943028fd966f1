//! [`FUNCTIONS`]: every function and method of expressions, one row an overload.
//!
//! A row is read by the checker (parameters, result, range, absence), both evaluators (body), completion,
//! hover text and docs; its examples run as tests. Macros are not here: they are part of the typed tree.
//! `now()` is part of the tree too. One file a family.

use super::range::Range;
use super::types::Ty;
use super::value::{Constant, Value};
use std::sync::Arc;

/// Every row, family by family.
pub static FUNCTIONS: &[&[FunctionDef]] = &[];

/// A row: family, and row of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u8, pub u8);

impl FunctionId {
    /// Its row.
    pub fn def(self) -> &'static FunctionDef {
        &FUNCTIONS[self.0 as usize][self.1 as usize]
    }
}

/// One overload of a function or method.
#[derive(Debug)]
pub struct FunctionDef {
    /// Its name; with its namespace in front where it has one (`math.greatest`).
    pub name: &'static str,
    /// Called as `x.name(…)`: the object is the first parameter.
    pub method: bool,
    /// Types of the parameters.
    pub params: &'static [Ty],
    /// Names of the parameters, for docs and hover.
    pub names: &'static [&'static str],
    /// The type of the result, without the `?` that `absent` may add.
    pub result: Ty,
    /// The range of a numeric result from those of the arguments; `None` where nothing is known.
    pub range: Option<fn(&[Range]) -> Range>,
    /// When it has no value.
    pub absent: Absence,
    /// Which arguments must be constants, and what is made of them.
    pub prepare: Option<Prepare>,
    /// What it means, in a sentence or two.
    pub doc: &'static str,
    /// Expressions and their values, as the language writes them; they run as tests.
    pub examples: &'static [(&'static str, &'static str)],
    /// The value of given values, which have the parameters' types and are never absent unless the
    /// parameter is `T?`. Total: where it has no value it is `Value::Absent`.
    pub body: Body,
}

/// The function itself.
pub type Body = for<'a> fn(&[Value<'a>], &Prepared) -> Value<'a>;

/// When a function has no value although its arguments have one.
#[derive(Clone, Copy, Debug)]
pub enum Absence {
    /// Never. With an absent argument the call is a mistake.
    Never,
    /// It may have none: the result is `T?`. An absent argument makes an absent result only where the
    /// parameter is `T?`.
    Maybe,
    /// It may have none unless the ranges of the arguments show that it has one.
    Unless(fn(&[Range]) -> bool),
}

/// What is made of constant arguments when the policy is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Prepare {
    /// Positions of the arguments that must be constants.
    pub constants: &'static [usize],
    /// Makes it; the text says what is wrong with the argument of that position.
    pub make: fn(&[Option<&Constant>]) -> Result<Prepared, (usize, String)>,
}

/// What was made of constant arguments.
#[derive(Clone, Debug)]
pub enum Prepared {
    /// Nothing.
    Nothing,
    /// A pattern.
    Pattern(regex::Regex),
    /// Weekly windows with their time zone.
    Windows(Arc<Windows>),
    /// A time zone.
    Zone(jiff::tz::TimeZone),
}

/// Weekly windows: what `within` was given.
#[derive(Clone, Debug)]
pub struct Windows {
    /// Days (0 is Monday), first minute of the day, minutes that it lasts.
    pub windows: Vec<(u8, u16, u16)>,
    /// The time zone.
    pub zone: jiff::tz::TimeZone,
}
