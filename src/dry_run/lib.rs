//! A cluster from files: the same `Scheduler` as in a real cluster runs against an API server in
//! memory, on a clock that jumps. Pods are placed, wait at Permit and time out as in a cluster, and
//! nothing is written. Called by `cli` (dry-run, test, explain). `load` reads files, `cases` tests.

pub mod anonymous;
pub mod api;
pub mod because;
pub mod cases;
mod claim_controller;
mod disruption_controller;
pub mod items;
pub mod daemon_sets;
pub mod dump;
pub mod load;
mod managed;
pub mod namespaces;
mod run;
mod volume_controller;
mod recorder;
mod remembered;
pub mod saved;
pub mod told;
mod workloads;
mod writes;
pub mod world;

pub use api::{Api, Fault, WatchEvent};
pub use claim_controller::{ClaimController, Preparation, prepare};
pub use disruption_controller::DisruptionController;
pub use load::{Loaded, Makers, Others, load, load_pods};
pub use run::{Options, Order, PodReport, Report, Standing, Waited, Watcher, run, run_watched};
pub use volume_controller::{Provisioning, VolumeController};
pub use world::World;
pub use writes::Writes;
