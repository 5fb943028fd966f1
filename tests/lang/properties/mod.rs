//! Properties that hold for every policy and every cluster, tried on random ones.

mod bounds;
mod concerns;
mod evaluators;
mod group_index;
mod hints;
mod instants;
mod lookups;
mod programs;
mod soundness;
mod traces;

pub(crate) use bayplan::testing::Random;
