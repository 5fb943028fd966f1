//! The secure port: who may connect, who may read, and the pages.

pub mod metrics;
pub mod resources;
pub mod access_cache;
pub mod review_limit;
pub mod access;
pub mod subject;
pub mod tls;
pub mod connections;
pub mod health;
pub mod zpages;
pub mod serve;
pub mod pages;
