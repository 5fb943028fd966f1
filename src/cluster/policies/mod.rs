//! Policies of the cluster: the objects that hold them, which texts serve, and what is written about them.

pub(crate) mod largest;
pub mod account;
pub mod verdict;
pub(crate) mod outgrown;
pub(crate) mod store;
pub mod choice;
pub mod overrides;
pub(crate) mod history;
pub mod config_maps;
pub(crate) mod state;
pub(crate) mod exceptions;
mod faults;
mod files;
mod writer;
mod keeper;
pub(crate) mod service;
mod loader;
pub mod source;
pub mod compiled;
pub mod listing;
pub mod session;
