//! Kubernetes objects as the scheduler reads them, and the snapshot of a cluster.

mod metadata_rules;
mod object_decoding;
mod objects_and_assumptions;
mod pod_constraints;
mod pod_counts;
mod pods_and_nodes;
mod quantities_and_selectors;
mod snapshot;
mod storage_kinds;
mod unreadable;
