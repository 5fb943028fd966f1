//! The configurations of classes and of the claim that go with an allocation.
//!
//! Source: `structured/internal/incubating/allocator_incubating.go`, `Allocate`.

use crate::context::Context;
use crate::request::{Alternative, Claim, Request};
use crate::search::Found;
use bayplan_model::objects::devices::{AllocationConfig, ConfigSource};
use bayplan_model::{Symbol, VersionRow};
use std::sync::Arc;

/// The requests of a claim, each with the alternative that was chosen.
type Chosen<'c> = Vec<(&'c Request<'c>, &'c Alternative<'c>)>;

/// Whether a list of names has the request, by its name or by that of the alternative.
fn names(list: &[Symbol], (request, of): &(&Request<'_>, &Alternative<'_>)) -> bool {
    list.contains(request.name) || list.contains(&of.full_name)
}

impl Context<'_> {
    /// Those of classes in the order of their first use, then those of the claim.
    pub(crate) fn config(&self, at: usize, claim: &Claim<'_>, found: &Found) -> Vec<AllocationConfig> {
        let once = self.features.has(VersionRow::ConfigOnce);
        let chosen = claim.requests.iter().enumerate().filter_map(|(number, request)| {
            let alternative = found.alternatives.get(&(at, number)).copied().unwrap_or(0);
            Some((request, request.alternatives.get(alternative)?))
        });
        let chosen: Chosen<'_> = chosen.collect();
        let mut config = of_classes(&chosen);
        for of in claim.object.config.iter() {
            let matches = chosen.iter().filter(|request| names(&of.requests, request)).count();
            let times = match of.requests.is_empty() {
                true => 1,
                false if once => matches.min(1),
                false => matches,
            };
            let (requests, opaque) = (of.requests.clone(), of.opaque.clone());
            let of = AllocationConfig { source: ConfigSource::FromClaim, requests, opaque };
            config.extend(std::iter::repeat_n(of, times));
        }
        if once {
            for of in &mut config {
                if chosen.iter().all(|request| names(&of.requests, request)) {
                    of.requests.clear();
                }
            }
        }
        config
    }
}

fn of_classes(chosen: &Chosen<'_>) -> Vec<AllocationConfig> {
    let mut config: Vec<AllocationConfig> = Vec::new();
    for (at, (_, first)) in chosen.iter().enumerate() {
        let of_class =
            |of: &&(&Request<'_>, &Alternative<'_>)| of.1.class.metadata.name == first.class.metadata.name;
        if chosen.iter().take(at).any(|of| of_class(&of)) {
            continue;
        }
        let requests = chosen.iter().filter(of_class).map(|(_, of)| of.full_name.clone());
        let requests: Vec<Symbol> = requests.collect();
        config.extend(first.class.config.iter().map(|of| {
            let opaque = of.get("opaque").map(|opaque| Arc::new(opaque.clone()));
            AllocationConfig { source: ConfigSource::FromClass, requests: requests.clone(), opaque }
        }));
    }
    config
}
