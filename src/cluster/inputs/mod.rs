//! What is read from the API server: lists, watches, discovery, and how objects are decoded.

pub mod watch;
pub mod objects;
mod unreadable;
pub mod kinds;
mod look_ups;
pub mod node_metrics;
pub mod informers;
pub mod list;
pub mod memory;
pub mod save;
