//! The bay plan: what lies where in a cluster, what is free, what waits and why. [`BayPlan`] is the one document of
//! everything that is shown; [`html`] makes a page of it that opens from a file, [`svg`] a picture of the bays, and [`served`]
//! the page that asks `bayplan ui` for documents ([`packed`]).
//!
//! Called by `cli`, which hands in what `dry-run` and `explain` say. The page shows these numbers and words and computes
//! no others. The sources of the page are in `ui`; `page.html` is built of them (`make page`).

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod anonymous;
mod cluster;
mod decided;
mod devices;
mod document;
mod explained;
mod file;
mod picture;
mod strings;

pub use anonymous::anonymized;
pub use cluster::{PodState, cluster};
pub use decided::{Decided, decisions};
pub use document::{
    BayPlan, CauseOfWait, Explained, Help, NodeColumns, NodeValues, Placement, PodColumns, PolicyText,
    RuleReasons, RuleText,
};
pub use explained::explained;
pub use file::{html, packed, served};
pub use picture::svg;
pub use strings::Strings;
