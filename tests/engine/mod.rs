//! Decisions: both deciders against each other and against recorded decisions of kube-scheduler.

mod affinity;
pub(crate) mod conformance;
mod deciders;
mod device_writes;
mod devices;
#[cfg(feature = "cluster")]
mod extenders;
mod simulations;
mod spreading;
mod volume_filters;
mod volumes;
