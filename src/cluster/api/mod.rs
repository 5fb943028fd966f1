//! Connections to the API server: who we are, how requests are sent, how often, and with which pauses.

pub mod backoff;
pub mod limiter;
pub mod kubeconfig;
pub mod credentials;
pub mod client;
pub mod server_version;
