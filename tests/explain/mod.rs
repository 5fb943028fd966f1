//! What `explain` prints and what it suggests.

mod changes;
mod explanations;
mod overview;
