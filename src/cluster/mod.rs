//! The only room that talks to the API server (feature `cluster`): watches, calls, events, the
//! lease, policies from ConfigMaps, health and metrics. It drives the
//! [`Scheduler`](crate::scheduler) on one thread and makes no scheduling decisions.

pub mod backoff;
pub mod supervisor;
pub mod limiter;
pub mod kubeconfig;
pub mod credentials;
pub mod client;
pub mod watch;
pub mod objects;
pub mod term;
pub mod calls;
mod window;
mod event_object;
mod events;
pub mod effects;
pub mod inbox;
pub mod driver;
pub mod informers;
pub mod leader;
pub mod metrics;
pub mod stopwatch;
pub mod resources;
pub mod access_cache;
pub mod review_limit;
pub mod access;
pub mod subject;
pub mod tls;
pub mod connections;
pub mod serve;
pub mod policy_store;
pub mod policy_history;
pub mod policy_objects;
pub mod policy_state;
pub mod policy_files;
pub mod policy_writer;
mod policy_service;
pub mod policy_source;
pub mod logs;
pub mod comparer;
pub mod debugger;
pub mod policies;
pub mod policy_list;
pub mod list;
pub mod effect_router;
pub mod pages;
pub mod run;
