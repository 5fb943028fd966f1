//! What is written about pods and the status of other objects: bindings, patches, events.

pub mod calls;
mod status_writer;
mod group_status;
pub mod quota_status;
pub mod statuses;
mod window;
mod event_object;
mod events;
pub mod effects;
