//! The only room that talks to the API server (feature `cluster`): watches, calls, events, the
//! lease, policies from ConfigMaps, health and metrics. It drives the
//! [`Scheduler`](bayplan_scheduler) on one thread and makes no scheduling decisions.

pub mod api;
pub mod inputs;
pub mod process;
pub mod writes;
pub mod policies;
pub mod extender;
pub mod admission;
pub mod port;
pub mod rights;
pub mod doctor;
pub mod viewer;
