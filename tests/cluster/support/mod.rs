//! What the tests against a real API server share: the servers, makers of objects, and waiting.
//! Nothing here uses our crate.
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
