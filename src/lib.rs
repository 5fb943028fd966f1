//! Bayplan: a Kubernetes scheduler whose rules its operators write.
//!
//! The crate is the map: rooms are declared in the order of dependency, and a room uses only rooms above it
//! (`ARCHITECTURE.md` has the table, `tests/architecture.rs` keeps it).

pub mod model;
