//! [`Allocator`]: devices for the claims of a pod on a node.

use crate::claims::{Claims, Known};
use crate::context::Context;
use crate::features::AllocatorFeatures;
use crate::gather::Gather;
use crate::pools::{Pool, PoolState};
use crate::request::Claim;
use crate::search::{STEP_COST, Search};
use crate::selects::Selects;
use crate::solution::Solution;
use crate::validate::Validation;
use bayplan_model::{DeviceIndex, Duration, Node, Snapshot};
use std::rc::Rc;

/// How many steps count as a millisecond of the time-out.
///
/// Upstream looks at a clock. It takes a few seconds for the 2^20 steps of a search for 21 of 20 devices, so that 10 ms are
/// not enough and 10 s are. With this number that holds too: 10 ms are 3,000 steps, and 10 s are 3,000,000.
const STEPS_PER_MILLISECOND: u64 = 300;

/// Why there is no allocation on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotAllocated {
    /// No combination of devices serves all claims.
    NoSolution,
    /// So it is, and the node has pools whose slices contradict each other.
    InvalidPools,
    /// The search did not end in time.
    TimedOut,
    /// The claims, their selectors or slices are wrong: a text of upstream.
    Error(String),
}

/// Allocates devices: reads the cluster, and changes nothing of it.
///
/// It serves the nodes of one attempt, one after the other: what it learned on one node about pools that others have too,
/// it does not find out again.
pub struct Allocator<'a> {
    pub(crate) context: Context<'a>,
    gather: Gather<'a>,
}

impl<'a> Allocator<'a> {
    /// An allocator for the cluster of a snapshot.
    pub fn new(
        snapshot: &'a Snapshot,
        index: &'a DeviceIndex,
        features: AllocatorFeatures,
        selectors: &'a dyn Selects,
    ) -> Self {
        let context = Context { snapshot, index, features, selectors };
        Self { context, gather: Gather::new(index, features) }
    }

    /// Devices for each of the claims on a node: the first solution in upstream's order.
    ///
    /// `timeout` counts as steps, so that a decision does not depend on the machine; zero is none. A step is a choice that is
    /// made: of a device, of an alternative, of the next request. Eight devices that are tried and refused count as one
    /// more: that bounds the time on nodes with many devices, of which upstream's clock takes note too.
    pub fn allocate<'s, 'c: 's>(
        &mut self,
        node: &'s Node,
        claims: &mut Claims<'c>,
        timeout: Duration,
    ) -> Result<Solution<'s>, NotAllocated>
    where
        'a: 'c,
    {
        let pools = self.gather.pools(node);
        let pools =
            pools.map_err(|error| NotAllocated::Error(format!("gather pool information: {error}")))?;
        let context: Context<'c> = self.context;
        claims.known.verdicts.forget();
        let tested = claims.on(context, node, &pools)?;
        let microseconds = u64::try_from(timeout.0).unwrap_or(0);
        let budget = microseconds.saturating_mul(STEPS_PER_MILLISECOND) / 1_000;
        let budget = (microseconds > 0).then(|| budget.saturating_mul(STEP_COST));
        let search = Search::new((&context, node), (&pools, &tested), &mut claims.known, budget);
        match search.run()? {
            Some(found) => Solution::new((context, node), pools, tested, found),
            None if pools.iter().any(|pool| pool.state == PoolState::Invalid) => {
                Err(NotAllocated::InvalidPools)
            }
            None => Err(NotAllocated::NoSolution),
        }
    }
}

impl<'a> Claims<'a> {
    /// The claims as a search on a node needs them.
    fn on(
        &mut self,
        context: Context<'a>,
        node: &Node,
        pools: &[Rc<Pool<'a>>],
    ) -> Result<Rc<[Claim<'a>]>, NotAllocated> {
        if let Some(tested) = &self.tested {
            return Ok(tested.clone());
        }
        let Known { learned, verdicts } = &mut self.known;
        let mut validation = Validation { context, node, pools, verdicts, alternatives: 0, learned };
        let tested = self.objects.iter().map(|claim| validation.claim(claim));
        let tested: Rc<[Claim<'a>]> = tested.collect::<Result<_, _>>()?;
        let mut alternatives =
            tested.iter().flat_map(|claim| &claim.requests).flat_map(|of| &of.alternatives);
        if alternatives.all(|of| of.all.is_none()) {
            self.tested = Some(tested.clone());
        }
        Ok(tested)
    }
}
