//! Explanations: which request finds too few devices on a node and why, which allocated claim is of no use there, and the
//! devices of a node with the result for each.
//!
//! - `asked.rs`: each request with the devices that serve it and those that do not
//! - `words.rs`: why devices do not serve a request, in words; `values.rs`: the values that a selector reads
//! - `unavailable.rs`: allocated claims; `remedies.rs`: what may help
//!
//! Nothing here decides.

mod asked;
mod remedies;
#[cfg(test)]
mod tests;
mod unavailable;
mod values;
mod words;

use super::DynamicResources;
use super::claims::full_name;
use super::extended;
use super::filter::{NOT_AVAILABLE, Search};
use asked::Asked;
use bayplan_framework::{Handle, Offer, Status, Violation};
use bayplan_model::objects::devices::{Allocation, DeviceId};
use bayplan_model::{NodeInfo, Symbol};
use words::Words;

fn refuse(status: &Status, out: &mut Vec<Violation>) {
    let reasons = status.reasons();
    out.extend(reasons.map(|reason| Violation { reason: reason.to_owned(), ..Violation::default() }));
}

impl DynamicResources {
    /// Everything that keeps the pod off a node.
    pub(super) fn refusals_on(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        let state = self.state(h);
        let mut search = match state.as_deref().map_err(Clone::clone).and_then(|state| self.search(h, state))
        {
            Ok(search) => search,
            Err(status) => return refuse(&status, out),
        };
        let Err(status) = search.on(node) else { return };
        if !status.is_rejected() {
            return refuse(&status, out);
        }
        let unavailable = search.state.claims.iter().filter_map(|of| {
            let (what, need, have) = unavailable::words(self, &of.claim, node, search.now)?;
            Some(Violation { reason: NOT_AVAILABLE.to_owned(), what, need, have, ..Violation::default() })
        });
        out.extend(unavailable);
        // A claim that is not available is the reason whenever the others can be allocated.
        let reason = match status.message() {
            reason if reason != NOT_AVAILABLE => reason,
            _ => return,
        };
        search.requests_on(node, |all| {
            let words = Words { snapshot: h.snapshot, index: search.index };
            let short = all.iter().filter(|asked| asked.is_short);
            out.extend(short.map(|asked| Violation {
                reason: reason.clone(),
                what: asked.name(),
                need: asked.need(),
                have: words.of_all(asked),
                ..Violation::default()
            }));
            if out.is_empty() && !all.is_empty() {
                out.push(Violation {
                    reason: reason.clone(),
                    what: together(all),
                    need: all.iter().map(Asked::need).collect::<Vec<_>>().join(" and "),
                    have: String::from("devices that fit one by one, and not together"),
                    ..Violation::default()
                });
            }
        });
        if out.is_empty() {
            refuse(&status, out);
        }
    }

    /// The devices that are offered to a node, for each request that decides: those that find too few, or else all.
    pub(super) fn offers_on(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Offer>) {
        let Ok(state) = self.state(h) else { return };
        let Ok(mut search) = self.search(h, &state) else { return };
        let found = search.on(node).ok().and_then(|found| found.devices);
        for of in &search.state.claims {
            let Some(allocation) = &of.claim.allocation else { continue };
            out.extend(allocation.devices.results.iter().map(|result| Offer {
                name: result.id().to_string(),
                by: format!("claim {}, request {}", full_name(&of.claim), result.request),
                fits: true,
                outcome: String::from("is allocated to the claim already"),
            }));
        }
        search.requests_on(node, |all| {
            let words = Words { snapshot: h.snapshot, index: search.index };
            let any_short = all.iter().any(|asked| asked.is_short);
            for asked in all.iter().filter(|asked| asked.is_short || !any_short) {
                let chosen = |device: &DeviceId| {
                    let allocation = found.as_ref().and_then(|found| found.get(asked.claim_at));
                    allocation.is_some_and(|allocation| gives(allocation, &asked.request, device))
                };
                out.extend(asked.fitting.iter().map(|device| {
                    let outcome = if chosen(device) { "is given to the pod" } else { "fits" };
                    let (name, by) = (device.to_string(), asked.name());
                    Offer { name, by, fits: true, outcome: outcome.to_owned() }
                }));
                out.extend(asked.refused.iter().map(|of| Offer {
                    name: of.device.to_string(),
                    by: asked.name(),
                    fits: false,
                    outcome: words.of_one(asked, of),
                }));
            }
        });
    }
}

fn gives(allocation: &Allocation, request: &Symbol, device: &DeviceId) -> bool {
    let mut results = allocation.devices.results.iter();
    results.any(|result| result.request == *request && result.id() == *device)
}

/// The claims of requests that find devices one by one.
fn together(all: &[Asked]) -> String {
    match all {
        [one] => one.name(),
        _ => {
            let mut names: Vec<String> = all.iter().map(Asked::owner).collect();
            names.dedup();
            format!("{}, all requests together", names.join(" and "))
        }
    }
}

impl Search<'_> {
    /// Visits the requests of the unallocated claims. Without any where the node refuses before devices are searched for.
    fn requests_on(&self, node: NodeInfo, visit: impl FnOnce(&[Asked])) {
        let Some(allocator) = &self.allocator else { return };
        let Ok(requests) = extended::on_node(&self.h, self.index, self.state, &node) else { return };
        let claims = self.claims(requests.as_ref());
        visit(&asked::of(allocator, node.node(), &claims, requests.as_ref()));
    }
}
