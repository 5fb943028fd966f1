//! Bayplan: a Kubernetes scheduler whose rules its operators write, test, preview and explain.
//!
//! The crate is the map: rooms are listed in the order of dependency, and a room uses only rooms above it
//! (`ARCHITECTURE.md` has the table, the manifests in the folders of the rooms keep it). All rooms but `cli`
//! are crates of their own, which get the names of their rooms here.

#![deny(clippy::print_stdout, clippy::print_stderr)]

#[doc(inline)]
pub use bayplan_diag as diag;

#[doc(inline)]
pub use bayplan_model as model;

#[doc(inline)]
pub use bayplan_yaml as yaml;

#[doc(inline)]
pub use bayplan_policy_files as policy_files;

#[doc(inline)]
pub use bayplan_lang as lang;

#[doc(inline)]
pub use bayplan_devices as devices;

#[doc(inline)]
pub use bayplan_framework as framework;
pub use bayplan_framework::serves;

#[doc(inline)]
pub use bayplan_engine as engine;

/// The in-tree plugins, and policies as plugins, which are a crate of their own.
pub mod plugins {
    #[doc(inline)]
    pub use bayplan_plugins::*;
    #[doc(inline)]
    pub use bayplan_policy as policy;
}

#[doc(inline)]
pub use bayplan_scheduler as scheduler;

#[doc(inline)]
pub use bayplan_config as config;

#[doc(inline)]
pub use bayplan_dry_run as dry_run;

#[doc(inline)]
pub use bayplan_explain as explain;

#[doc(inline)]
pub use bayplan_compare as compare;

#[doc(inline)]
pub use bayplan_page as page;

#[doc(inline)]
pub use bayplan_reference as reference;

#[cfg(feature = "cluster")]
#[doc(inline)]
pub use bayplan_cluster as cluster;

pub mod cli;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
