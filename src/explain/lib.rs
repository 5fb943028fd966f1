//! Why: from a pod and a snapshot to an [`Explanation`], plain data that text and JSON render. All
//! filters run on all nodes, also on those that another filter refuses. That is done for the
//! explained pod only; scheduling pays nothing.
//!
//! Called by `cli explain`. The plugins decide, and say what could help ([`Plugin::remedies`]);
//! this room runs them, counts and verifies.
//!
//! [`Plugin::remedies`]: bayplan_framework::Plugin::remedies

mod attempt;
mod candidates;
pub mod changes;
mod conflicts;
mod count;
pub mod except;
pub mod gated;
pub mod overview;
pub mod memory;
mod offers;
mod pod;
pub mod reduce;
mod suggestions;

pub use conflicts::{Conflict, Requirement};
pub use count::{Because, NodeSetCount, RuleCount, Shortfall};
pub use offers::offers;
pub use pod::{
    ExceptionOf, Explanation, LateRefusal, NodeExplanation, Refusal, WouldRefuse, explain, trouble, unplaced,
};
pub use suggestions::{Step, Suggestion, Suggestions};
