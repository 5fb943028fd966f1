//! Decisions: both deciders against each other and against recorded decisions of kube-scheduler.

mod conformance;
mod deciders;
mod simulations;
