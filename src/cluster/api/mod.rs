//! Connections to the API server: who we are, how requests are sent, how often, and with which pauses.

pub(crate) mod backoff;
pub(crate) mod limiter;
pub(crate) mod kubeconfig;
pub(crate) mod credentials;
pub mod client;
pub(crate) mod server_version;
