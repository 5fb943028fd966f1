//! Policies of the cluster: the objects that hold them, which texts serve, and what is written about them.

pub mod largest;
pub mod account;
pub mod verdict;
pub mod outgrown;
pub mod store;
pub mod choice;
pub mod overrides;
pub mod history;
pub mod config_maps;
pub mod state;
pub mod exceptions;
mod faults;
mod files;
mod writer;
mod keeper;
pub(in crate::cluster) mod service;
mod loader;
pub mod source;
pub mod compiled;
pub mod listing;
pub mod session;
