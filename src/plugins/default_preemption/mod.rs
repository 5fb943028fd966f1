//! Makes room for a pod that fits on no node: finds nodes where it would fit without pods of lower priority. The scheduler
//! chooses among them and evicts (`scheduler/evict.rs`).
//!
//! - `args.rs`: the arguments
//! - `victims.rs`: the dry run on one node
//! - `budgets.rs`: what PodDisruptionBudgets protect
//!
//! The choice among the candidates is in `framework/candidates.rs`: extenders may shrink them first.
//!
//! Preemption has this one evaluator. It calls the rules of every plugin at PostFilter that apply to the pod
//! (`Plugin::preemption`), each on the simulation of one node. A policy with `preempt` is at PostFilter too and
//! replaces DefaultPreemption where a profile disables it. `PreFilterExtensions::again` evaluates in a simulation
//! what PreFilter refused.
//!
//! Source: `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`,
//! `pkg/scheduler/framework/preemption/preemption.go`.

mod args;
mod budgets;
mod plugin;
mod victims;

pub(super) use plugin::new;
pub use plugin::{Evaluator, NEEDS, held_while_evicting};
