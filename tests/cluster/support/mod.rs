//! What the tests against a real API server stand on: the servers themselves, the objects put into them and
//! waiting for what must come. Used by the tests here and by the cluster bench. Nothing here knows our crate.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

pub mod binaries;
pub mod control_plane;
pub mod daemon;
pub mod kube_scheduler;
pub mod objects;
pub mod proxy;
pub mod wait;

pub use control_plane::{ControlPlane, Options, User};
pub use daemon::Daemon;
pub use kube_scheduler::KubeScheduler;
pub use proxy::Proxy;
pub use wait::wait_until;
