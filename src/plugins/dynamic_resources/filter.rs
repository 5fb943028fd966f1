//! Filter: whether a node can use the allocated claims of the pod, and has devices for the others.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, `Filter`.

use super::extended;
use super::requests::Requests;
use super::state::{State, reaches};
use super::verdicts::{Remembered, Serves};
use super::{DynamicResources, conditions, index};
use bayplan_devices::{Allocator, Claims, NotAllocated, Solution};
use bayplan_framework::{Filter, Handle, Offer, Status, Verdicts, Violation};
use bayplan_model::objects::devices::Allocation;
use bayplan_model::{DeviceIndex, Duration, NodeInfo, NodeSet, ResourceClaim, Time, VersionRow};
use std::borrow::Cow;

/// The refusal by a claim that is allocated and cannot be used on the node.
pub(super) const NOT_AVAILABLE: &str = "resourceclaim not available on the node";

/// What a node that passes gives to the pod.
pub(super) struct Found<T> {
    /// What is made of the devices that the unallocated claims get; `None`: nothing was searched for.
    pub(super) devices: Option<T>,
    /// What the claim for extended resources requests there.
    pub(super) requests: Option<Requests>,
}

/// The search for one pod on many nodes: what is found out once is kept for all of them.
pub(super) struct Search<'a> {
    plugin: &'a DynamicResources,
    pub(super) h: Handle<'a>,
    pub(super) state: &'a State,
    pub(super) index: &'a DeviceIndex,
    /// `None`: nothing is to be allocated.
    pub(super) allocator: Option<Allocator<'a>>,
    /// The claims to allocate, when they are the same on every node.
    claims: Option<Claims<'a>>,
    /// What is remembered of pods with such claims.
    remembered: Option<Remembered<'a>>,
    pub(super) now: Time,
}

impl DynamicResources {
    /// What PreFilter found, or the same when a profile has the plugin without PreFilter.
    pub(super) fn state<'a>(&self, h: &Handle<'a>) -> Result<Cow<'a, State>, Status> {
        match h.state::<State>() {
            Some(state) => Ok(Cow::Borrowed(state)),
            None => Ok(Cow::Owned(self.claims_of(h)?)),
        }
    }

    pub(super) fn search<'a>(&'a self, h: &Handle<'a>, state: &'a State) -> Result<Search<'a>, Status> {
        let index = index(h)?;
        let allocates = state.to_allocate().next().is_some();
        let allocator =
            allocates.then(|| Allocator::new(h.snapshot, index, self.gates.allocator, &self.selectors));
        let claims = || Claims::new(state.to_allocate().map(|of| &*of.claim));
        let claims = state.special().is_none().then(claims);
        let now = h.snapshot.wall_clock(h.now);
        Ok(Search { plugin: self, h: *h, state, index, allocator, claims, remembered: None, now })
    }

    /// Whether an allocated claim cannot be used on the node: it is for other nodes, the node does not know what the
    /// driver needs, or its devices were not prepared.
    pub(super) fn is_unavailable(&self, claim: &ResourceClaim, node: &NodeInfo, now: Time) -> bool {
        let Some(allocation) = &claim.allocation else { return false };
        if !reaches(allocation, node) {
            return true;
        }
        let skips = allocation.devices.results.iter().any(|result| !result.skip_node_operations.is_empty());
        if skips && self.gates.has(VersionRow::SkipNodeOperations) && !declares(node) {
            return true;
        }
        self.gates.allocator.binding_conditions
            && match conditions::ready(claim) {
                Err(_) => true,
                Ok(ready) => !ready && conditions::is_late(claim, self.args.binding_timeout, now),
            }
    }
}

/// Whether the node declares that it knows devices which need nothing of it.
fn declares(node: &NodeInfo) -> bool {
    node.node().declared_features.iter().any(|feature| *feature == "DRAOptionalNodeOperations")
}

impl Search<'_> {
    /// Uses what is remembered of earlier pods.
    pub(super) fn remembering(mut self) -> Self {
        let of = (self.h.snapshot, self.index, self.plugin.gates.allocator);
        let is_alike = self.claims.is_some();
        self.remembered = is_alike.then(|| Remembered::of(&self.plugin.verdicts, of, self.state)).flatten();
        self
    }

    /// Whether the node can serve the claims of the pod.
    fn passes(&mut self, node: NodeInfo) -> Result<(), Status> {
        match self.remembered.as_ref().and_then(|remembered| remembered.serves(&node)) {
            None => self.with(node, |_| Ok(())).map(|_| ()),
            Some(Serves::Not) => Err(refusal(NotAllocated::NoSolution, &node)),
            Some(_) if self.is_unavailable(&node) => Err(Status::unresolvable(NOT_AVAILABLE)),
            Some(Serves::WithScore(_)) => Ok(()),
        }
    }

    /// How good the alternatives are that the node, which passed, gives to the unallocated claims.
    pub(super) fn score(&mut self, node: NodeInfo) -> Result<i64, Status> {
        match self.remembered.as_ref().and_then(|remembered| remembered.serves(&node)) {
            Some(Serves::WithScore(score)) => Ok(score),
            _ => Ok(self.with(node, |found| Ok(found.score()))?.devices.unwrap_or(0)),
        }
    }

    /// Whether the node cannot use a claim that is allocated.
    fn is_unavailable(&self, node: &NodeInfo) -> bool {
        self.state.claims.iter().any(|of| self.plugin.is_unavailable(&of.claim, node, self.now))
    }

    /// What the node gives to the pod: allocations in the order of the unallocated claims.
    pub(super) fn on(&mut self, node: NodeInfo) -> Result<Found<Vec<Allocation>>, Status> {
        self.with(node, |found| found.allocations())
    }

    /// What the node gives to the pod, with what is made of the devices that are found.
    fn with<T>(
        &mut self,
        node: NodeInfo,
        make: impl FnOnce(&Solution) -> Result<T, NotAllocated>,
    ) -> Result<Found<T>, Status> {
        if self.state.claims.is_empty() {
            return Ok(Found { devices: None, requests: None });
        }
        let requests = extended::on_node(&self.h, self.index, self.state, &node)?;
        if requests.is_none() && !self.state.has_user_claims() {
            return Ok(Found { devices: None, requests: None });
        }
        let unavailable = self.is_unavailable(&node);
        let devices = self.allocate(&node, requests.as_ref(), make)?;
        if unavailable {
            return Err(Status::unresolvable(NOT_AVAILABLE));
        }
        Ok(Found { devices, requests })
    }

    /// The claims to allocate, with the requests that the one for extended resources has on the node.
    pub(super) fn claims(&self, requests: Option<&Requests>) -> Vec<Cow<'_, ResourceClaim>> {
        claims(self.state, requests)
    }

    /// What is made of the devices that the claims to allocate get on the node; `None`: there are none.
    fn allocate<T>(
        &mut self,
        node: &NodeInfo,
        requests: Option<&Requests>,
        make: impl FnOnce(&Solution) -> Result<T, NotAllocated>,
    ) -> Result<Option<T>, Status> {
        let Some(allocator) = &mut self.allocator else { return Ok(None) };
        let limit = match self.plugin.gates.filter_timeout {
            true => self.plugin.args.filter_timeout,
            false => Duration::ZERO,
        };
        let scored = |found: Solution| Ok((found.score(), make(&found)?));
        let found = match &mut self.claims {
            Some(known) => allocator.allocate(node.node(), known, limit).and_then(scored),
            None => {
                let claims = claims(self.state, requests);
                let mut claims = Claims::new(claims.iter().map(|claim| &**claim));
                allocator.allocate(node.node(), &mut claims, limit).and_then(scored)
            }
        };
        if let Some(remembered) = &mut self.remembered {
            match &found {
                Ok((score, _)) => remembered.note(node, Serves::WithScore(*score)),
                Err(NotAllocated::NoSolution) => remembered.note(node, Serves::Not),
                Err(_) => {}
            }
        }
        found.map(|(_, made)| Some(made)).map_err(|why| refusal(why, node))
    }
}

/// The status of a node that gets no devices.
fn refusal(why: NotAllocated, node: &NodeInfo) -> Status {
    match why {
        NotAllocated::NoSolution => Status::unresolvable("cannot allocate all claims"),
        NotAllocated::InvalidPools => Status::unresolvable("invalid resource pools were encountered"),
        NotAllocated::TimedOut => {
            Status::error(format!("node {}: timed out trying to allocate devices", node.name()))
        }
        NotAllocated::Error(text) => Status::error(text),
    }
}

fn claims<'s>(state: &'s State, requests: Option<&Requests>) -> Vec<Cow<'s, ResourceClaim>> {
    let claims = state.to_allocate().map(|of| match requests {
        Some(requests) if of.special => Cow::Owned(extended::with_requests(&of.claim, requests)),
        _ => Cow::Borrowed(&*of.claim),
    });
    claims.collect()
}

impl Filter for DynamicResources {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        self.search(h, &*self.state(h)?)?.remembering().passes(node)
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        self.refusals_on(h, node, out);
    }

    fn offers(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Offer>) {
        self.offers_on(h, node, out);
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let state = self.state(h);
        let mut search = match state.as_deref().map_err(Clone::clone).and_then(|state| self.search(h, state))
        {
            Ok(search) => search.remembering(),
            Err(status) => {
                let status = out.status(status);
                for (word, rows) in nodes.words().iter().enumerate() {
                    out.refuse_rows(word, *rows, status);
                }
                return;
            }
        };
        for id in nodes.iter() {
            let Some(node) = h.snapshot.node(id) else { continue };
            if let Err(status) = search.passes(node) {
                let failed = !status.is_rejected();
                let status = out.status(status);
                out.refuse(id, status);
                if failed {
                    // It ends the attempt.
                    return;
                }
            }
        }
    }
}
