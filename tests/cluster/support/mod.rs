//! What the tests against a real API server share: the servers, makers of objects, and waiting.
//! Nothing here uses our crate.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

pub(crate) mod binaries;
pub(crate) mod clock;
pub(crate) mod control_plane;
pub(crate) mod daemon;
pub(crate) mod extender;
pub(crate) mod http_proxy;
pub(crate) mod kube_scheduler;
pub(crate) mod metrics_api;
pub(crate) mod objects;
pub(crate) mod proxy;
pub(crate) mod wait;

pub(crate) use control_plane::{ControlPlane, Options, User};
pub(crate) use daemon::Daemon;
pub(crate) use http_proxy::{HttpProxy, Rule};
pub(crate) use kube_scheduler::KubeScheduler;
pub(crate) use proxy::Proxy;
pub(crate) use wait::wait_until;
