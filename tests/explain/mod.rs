//! What `explain` prints and what it suggests.

mod changes;
mod explanations;
mod late;
mod overview;
mod reduce;
mod statements;
mod suggestions;
