//! [`Allocator`]: devices for the claims of a pod on a node.

use crate::context::Context;
use crate::features::AllocatorFeatures;
use crate::gather::Gather;
use crate::learned::Learned;
use crate::pools::PoolState;
use crate::search::{STEP_COST, Search};
use crate::selectable::Verdicts;
use crate::selects::Selects;
use crate::validate::Validation;
use bayplan_model::objects::devices::Allocation;
use bayplan_model::{DeviceIndex, Duration, Node, ResourceClaim, Snapshot};

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
    learned: Learned,
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
        Self { context, gather: Gather::new(index, features), learned: Learned::default() }
    }

    /// The claims of the next node are others: what was learned about the ones before does not hold.
    pub fn other_claims(&mut self) {
        self.learned = Learned::default();
    }

    /// Devices for each of the claims, in order, on a node: the first solution in upstream's order. Fields that depend on
    /// the time of writing are left out. The claims are those of the node before, or [`Allocator::other_claims`] was called.
    ///
    /// `timeout` counts as steps, so that a decision does not depend on the machine; zero is none. A step is a choice that is
    /// made: of a device, of an alternative, of the next request. Eight devices that are tried and refused count as one
    /// more: that bounds the time on nodes with many devices, of which upstream's clock takes note too.
    pub fn allocate(
        &mut self,
        node: &Node,
        claims: &[&ResourceClaim],
        timeout: Duration,
    ) -> Result<Vec<Allocation>, NotAllocated> {
        let pools = self.gather.pools(node);
        let pools =
            pools.map_err(|error| NotAllocated::Error(format!("gather pool information: {error}")))?;
        let context: &Context<'_> = &self.context;
        let (verdicts, alternatives) = (Verdicts::default(), 0);
        let learned = std::mem::take(&mut self.learned);
        let mut validation = Validation { context, node, pools: &pools, verdicts, alternatives, learned };
        let claims = claims.iter().map(|claim| validation.claim(claim));
        let claims = claims.collect::<Result<Vec<_>, _>>()?;
        let microseconds = u64::try_from(timeout.0).unwrap_or(0);
        let budget = microseconds.saturating_mul(STEPS_PER_MILLISECOND) / 1_000;
        let budget = (microseconds > 0).then(|| budget.saturating_mul(STEP_COST));
        let Validation { verdicts, learned, .. } = validation;
        let search = Search::new((context, node), (&pools, &claims), (verdicts, learned), budget);
        let (found, learned) = search.run();
        self.learned = learned;
        match found? {
            Some(found) => context.results(node, &pools, &claims, &found),
            None if pools.iter().any(|pool| pool.state == PoolState::Invalid) => {
                Err(NotAllocated::InvalidPools)
            }
            None => Err(NotAllocated::NoSolution),
        }
    }
}
