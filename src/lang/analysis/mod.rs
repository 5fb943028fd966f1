//! What follows from a checked policy: folded constants, reads, stages, costs, instants, preconditions.

pub mod clock;
pub mod cost;
pub mod fold;
pub mod preconditions;
pub mod reads;
pub mod same;
pub mod shape;
pub mod stage;
