//! Bayplan: a Kubernetes scheduler whose rules its operators write, test, preview and explain.
//!
//! The rooms stand in the order of dependency: a room uses only rooms above it.

pub mod diag;
pub mod model;
pub mod lang;
