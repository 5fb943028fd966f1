//! Why the devices of a node do not serve a request: for explanations, never for a decision.

use crate::allocator::{Allocator, NotAllocated};
use crate::candidate::Unfit;
use crate::capacity::CapacityProblem;
use crate::claims::Known;
use crate::context::Context;
use crate::counters::ShortCounter;
use crate::device::{DeviceOf, Place};
use crate::gather::Gather;
use crate::pools::{Pool, PoolState, place_from};
use crate::request::{Alternative, Claim};
use crate::search::{STEP_COST, Search};
use crate::selectable::Unselected;
use crate::validate::Validation;
use bayplan_model::objects::devices::{DeviceId, DeviceTaint, PoolId};
use bayplan_model::{Holder, Node, Quantity, ResourceClaim, Symbol};
use std::rc::Rc;
use std::sync::Arc;

/// Why a device does not serve a request.
#[derive(Clone, PartialEq, Debug)]
pub enum Refusal {
    /// Claims have it already.
    Allocated(Vec<Holder>),
    /// A request before this one takes it, of the same pod.
    Picked,
    /// A selector of the class does not select it.
    Class {
        /// The class.
        class: Symbol,
        /// Position of the selector.
        selector: usize,
        /// The selector; `None`: of a kind that this program does not know.
        expression: Option<Arc<str>>,
    },
    /// A selector of the request does not select it.
    Selector {
        /// Position of the selector.
        selector: usize,
        /// The selector.
        expression: Option<Arc<str>>,
    },
    /// A selector fails on it, or its capacity cannot be computed: a text of upstream.
    Error(String),
    /// It is for other nodes.
    Node,
    /// It has binding conditions, and the feature is off.
    BindingConditions,
    /// It does not have a capacity that the request names.
    NoCapacity(Symbol),
    /// It does not give out that much of a capacity at once, or not exactly that much.
    CapacityPolicy {
        /// The capacity.
        name: Symbol,
        /// What the request takes of it.
        need: Quantity,
    },
    /// Too little of a capacity is left.
    Capacity {
        /// The capacity.
        name: Symbol,
        /// What the request and all shares of the device take together.
        need: Quantity,
        /// What the device has.
        have: Quantity,
    },
    /// It takes counters, and the feature is off.
    Counters,
    /// A counter of its pool does not suffice. It may be one that the device does not take.
    Counter {
        /// The counter set.
        set: Symbol,
        /// The counter.
        name: Symbol,
        /// What the device and the requests before take together.
        need: Quantity,
        /// What allocated devices leave.
        have: Quantity,
    },
    /// A taint that the request does not tolerate.
    Taint(DeviceTaint),
    /// The attribute of a constraint of the claim is missing, or has another value than those of requests before.
    Constraint(Symbol),
}

/// A device that does not serve an alternative of a request.
#[derive(Clone, PartialEq, Debug)]
pub struct RefusedDevice {
    /// The device.
    pub device: DeviceId,
    /// `request`, or `request/alternative`.
    pub request: Symbol,
    /// Why.
    pub refusal: Refusal,
}

/// What a node does not give to a request.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Refusals {
    /// Devices that do not serve it, in the order in which they are tried.
    pub devices: Vec<RefusedDevice>,
    /// Devices that would serve it alone, for each alternative: a count above their number, or the requests after this one,
    /// are then the reason.
    pub fitting: Vec<(Symbol, Vec<DeviceId>)>,
    /// Pools of which slices are missing.
    pub incomplete: Vec<PoolId>,
    /// Pools whose slices contradict each other.
    pub invalid: Vec<PoolId>,
}

impl Allocator<'_> {
    /// Why the devices of a node do not serve a request, by positions of the claim and its request. Requests before it have
    /// the devices that they would get if they were all; where they cannot be served either, they have none.
    ///
    /// Empty for claims that are refused before any device is tried.
    pub fn refusals(&self, node: &Node, claims: &[&ResourceClaim], claim: usize, request: usize) -> Refusals {
        let context: Context<'_> = self.context;
        let mut gather = Gather::new(context.index, context.features);
        let Ok(pools) = gather.pools(node) else { return Refusals::default() };
        let mut refusals = Refusals::default();
        for pool in &pools {
            match pool.state {
                PoolState::Whole => {}
                PoolState::Incomplete => refusals.incomplete.push(pool.id.clone()),
                PoolState::Invalid => refusals.invalid.push(pool.id.clone()),
            }
        }
        let (mut known, mut anew) = (Known::default(), Known::default());
        let Known { learned, verdicts } = &mut known;
        let pools = pools.as_slice();
        let mut validation = Validation { context, node, pools, verdicts, alternatives: 0, learned };
        let claims = claims.iter().map(|claim| validation.claim(claim)).collect::<Result<Vec<_>, _>>();
        let Ok(claims) = claims else { return refusals };
        let mut before: Vec<Claim<'_>> = claims.iter().take(claim + 1).cloned().collect();
        if let Some(last) = before.last_mut() {
            last.requests.truncate(request);
        }
        let budget = Some(STEPS * STEP_COST);
        let new = |known, budget| Search::new((&context, node), (pools, &before), known, budget);
        let mut search = new(&mut known, budget);
        if !matches!(search.go(), Ok(true)) {
            search = new(&mut anew, None);
        }
        let wanted = claims.get(claim).and_then(|claim| claim.requests.get(request));
        for (number, of) in wanted.into_iter().flat_map(|request| &request.alternatives).enumerate() {
            let mut fitting = Vec::new();
            let mut from = Place::default();
            while let Some(place) = place_from(pools, from) {
                from = place.next();
                match search.refusal((claim, request, number), of, place, pools) {
                    Some((device, refusal)) => {
                        let request = of.full_name.clone();
                        refusals.devices.push(RefusedDevice { device: device.id(), request, refusal });
                    }
                    None => fitting.extend(
                        pools.get(place.pool as usize).and_then(|pool| pool.device(place)).map(|of| of.id()),
                    ),
                }
            }
            refusals.fitting.push((of.full_name.clone(), fitting));
        }
        refusals
    }
}

/// The steps that a search for the requests before may take.
const STEPS: u64 = 100_000;

impl<'a> Search<'a> {
    fn refusal(
        &mut self,
        at: (usize, usize, usize),
        of: &Alternative<'a>,
        place: Place,
        pools: &'a [Rc<Pool<'a>>],
    ) -> Option<(DeviceOf<'a>, Refusal)> {
        let pool = pools.get(place.pool as usize)?;
        let device = pool.device(place)?;
        let unfit = match self.consider(at, of, place) {
            Ok(Ok(pick)) => {
                self.undo(&pick, of);
                return None;
            }
            Ok(Err(unfit)) => unfit,
            Err(NotAllocated::Error(text)) => return Some((device, Refusal::Error(text))),
            Err(_) => return None,
        };
        let expression = |from: &[Option<Arc<str>>], at: usize| from.get(at).cloned().flatten();
        let refusal = match unfit {
            Unfit::Allocated => {
                let used = pool.used(place, &device);
                Refusal::Allocated(used.into_iter().flat_map(|used| used.holders()).cloned().collect())
            }
            Unfit::Picked => Refusal::Picked,
            Unfit::Unselected(Unselected::BindingConditions) => Refusal::BindingConditions,
            Unfit::Unselected(Unselected::Node) => Refusal::Node,
            Unfit::Unselected(Unselected::Class(selector)) => {
                let class = of.class.metadata.name.clone();
                Refusal::Class { class, selector, expression: expression(&of.class.selectors, selector) }
            }
            Unfit::Unselected(Unselected::Request(selector)) => {
                Refusal::Selector { selector, expression: expression(&of.device.selectors, selector) }
            }
            Unfit::Capacity(CapacityProblem::Unknown(name)) => Refusal::NoCapacity(name),
            Unfit::Capacity(CapacityProblem::Policy(name, need)) => Refusal::CapacityPolicy { name, need },
            Unfit::Capacity(CapacityProblem::Short(name, need, have)) => {
                Refusal::Capacity { name, need, have }
            }
            Unfit::CountersOff => Refusal::Counters,
            Unfit::Counter(ShortCounter { set, name, need, have }) => {
                Refusal::Counter { set, name, need, have }
            }
            Unfit::Taint(taint) => Refusal::Taint(taint),
            Unfit::Constraint(attribute) => Refusal::Constraint(attribute.clone()),
        };
        Some((device, refusal))
    }
}
