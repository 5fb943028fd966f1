//! [`Range`]: which numbers an expression can be, computed without wrap-around.
//!
//! Made by `lang::check` from literals, the field table, params and narrowing; read by the score proof, the
//! totality rules (division, conversion) and the lints. A range is always correct and not always tight.

/// Which values a number can have. Ends are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Not a number.
    None,
    /// Whole numbers and amounts with a unit, in base units.
    Whole {
        /// Smallest.
        lo: i128,
        /// Largest.
        hi: i128,
        /// 0 is left out, though it lies between the ends.
        nonzero: bool,
    },
    /// Floats.
    Real {
        /// Smallest.
        lo: f64,
        /// Largest.
        hi: f64,
        /// 0 is left out, though it lies between the ends.
        nonzero: bool,
    },
}
