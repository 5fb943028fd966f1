//! What tests, benches and fuzzers share (feature `testing`): the makers of pods, nodes and namespaces, which are part of
//! the crate of the model so that its own tests have them, and what fuzzers run, in [`fuzz`].
// Wrong use of a maker must fail the test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

pub mod fuzz;
mod fuzz_schemas;

pub use bayplan_model::testing::{
    NamespaceMaker, NodeMaker, PodMaker, Random, namespace, node, object_of, pod,
};
