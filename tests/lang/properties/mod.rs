//! Properties that hold for every policy and every cluster, tried on random ones.

mod bounds;
mod cel_evaluators;
mod cel_programs;
mod cel_reads;
mod claims;
mod concerns;
mod devices;
mod evaluators;
mod evictions;
mod group_index;
mod guards;
mod hints;
mod instants;
mod ledgers;
mod lookups;
mod memos;
pub(crate) mod narrowing;
mod objects;
mod programs;
mod same_values;
mod reads;
mod soundness;
mod traces;
mod twins;
mod units;

pub(crate) use bayplan::testing::Random;
