//! The extender protocol in both directions: `ask` asks extenders, `server` answers a kube-scheduler.

pub(crate) mod objects;

pub(crate) mod binds;
pub mod server;
pub mod wire;
pub mod ask;
