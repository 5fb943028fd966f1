//! The secure port: who may connect, who may read, and the pages.

pub mod metrics;
pub mod memory;
pub(crate) mod resources;
pub(crate) mod access_cache;
pub(crate) mod review_limit;
pub mod access;
pub(crate) mod subject;
pub mod tls;
pub mod connections;
pub(crate) mod health;
pub mod zpages;
pub mod serve;
pub mod pages;
pub mod listen;
pub mod questions;
