//! What is written about pods and the status of other objects: bindings, patches, events.

pub(crate) mod calls;
mod verbatim;
mod status_writer;
mod group_status;
pub(crate) mod quota_status;
pub mod statuses;
mod window;
mod event_object;
mod events;
pub(crate) mod effects;
