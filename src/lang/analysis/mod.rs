//! What follows from a checked policy: folded constants, reads, stages, lookups, costs, instants of
//! the clock, preconditions, conditions to cover. [`analyse`] is called once for each checked policy;
//! the lints, code generation, the policy plugin and `plan` request the rest.

pub mod claims;
pub mod clock;
pub mod cost;
pub mod coverage;
pub mod faults;
pub mod stops;
pub mod fold;
pub mod index;
pub mod keeps;
mod ledgers;
pub mod load;
pub mod memory;
mod memos;
pub mod preconditions;
pub mod reads;
pub mod same;
pub mod shape;
pub mod shown;
pub mod stage;
pub mod steady;

use crate::eval::budget::Budget;
use crate::typed::Policy;
use bayplan_diag::Diagnostic;

/// Fills in the reads of a policy, folds its constants, and reports what follows from them. `false`: an index cannot
/// follow one of its ledgers.
pub(crate) fn analyse(policy: &mut Policy, budget: &Budget, diagnostics: &mut Vec<Diagnostic>) -> bool {
    let follows = ledgers::derive(policy, diagnostics);
    reads::derive(policy, diagnostics);
    // Before params become constants: a profile may give other arguments.
    keeps::derive(policy, diagnostics);
    fold::fold(policy, &budget.constants);
    preconditions::check(policy, diagnostics);
    faults::check(policy, diagnostics);
    ledgers::name(policy);
    memos::derive(policy);
    follows
}
