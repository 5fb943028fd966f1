//! How good the alternatives are that a node gives to requests with `firstAvailable`.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `computeScore`.

use crate::solution::Solution;
use bayplan_model::ResourceClaim;
use bayplan_model::objects::devices::{Allocation, RequestKind};

/// The alternatives that a request has at most (`FirstAvailableDeviceRequestMaxSize`).
const MOST_ALTERNATIVES: i64 = 8;

/// The score of a node before it is normalised: of each request with `firstAvailable` 8 for the first alternative, 7 for
/// the second, and so on, whether the allocation is new or stored.
pub fn score<'a>(claims: impl IntoIterator<Item = (&'a ResourceClaim, &'a Allocation)>) -> i64 {
    claims.into_iter().map(|(claim, allocation)| of_claim(claim, allocation)).sum()
}

fn of_claim(claim: &ResourceClaim, allocation: &Allocation) -> i64 {
    let mut score = 0;
    for request in claim.requests.iter() {
        let RequestKind::FirstAvailable(alternatives) = request.kind() else { continue };
        for (best, alternative) in (1..=MOST_ALTERNATIVES).rev().zip(alternatives) {
            let is_it = |name: &str| {
                let parts = name.split_once('/');
                parts.is_some_and(|(of, name)| request.name == of && alternative.name == name)
            };
            if allocation.devices.results.iter().any(|result| is_it(&result.request)) {
                score += best;
            }
        }
    }
    score
}

impl Solution<'_> {
    /// The [`score`] of its allocations.
    pub fn score(&self) -> i64 {
        let chosen = self.found.alternatives.values();
        chosen.map(|place| i64::try_from(*place).map_or(0, |place| (MOST_ALTERNATIVES - place).max(0))).sum()
    }
}
