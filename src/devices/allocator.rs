//! [`Allocator`]: devices for the claims of a pod on a node.

use crate::capacity::Arithmetic;
use crate::features::AllocatorFeatures;
use crate::pools::{Gather, PoolState};
use crate::search::{STEP_COST, Search};
use crate::selectable::Verdicts;
use crate::selects::Selects;
use crate::validate::Validation;
use bayplan_model::objects::devices::Allocation;
use bayplan_model::{DeviceIndex, Duration, Node, ResourceClaim, Snapshot, VersionRow};

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

/// Allocates devices: reads the cluster, and changes nothing.
#[derive(Clone, Copy)]
pub struct Allocator<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) index: &'a DeviceIndex,
    pub(crate) features: AllocatorFeatures,
    pub(crate) selectors: &'a dyn Selects,
}

impl<'a> Allocator<'a> {
    /// An allocator for the cluster of a snapshot.
    pub fn new(
        snapshot: &'a Snapshot,
        index: &'a DeviceIndex,
        features: AllocatorFeatures,
        selectors: &'a dyn Selects,
    ) -> Self {
        Self { snapshot, index, features, selectors }
    }

    /// How amounts of capacity are computed.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        Arithmetic {
            checked: self.features.has(VersionRow::CapacityFaults),
            fractions: self.features.fractional_capacity,
        }
    }

    /// Devices for each of the claims, in order, on a node: the first solution in upstream's order. Fields that depend on
    /// the time of writing are left out.
    ///
    /// `timeout` counts as steps, so that a decision does not depend on the machine; zero is none. A step is a choice that is
    /// made: of a device, of an alternative, of the next request. Eight devices that are tried and refused count as one
    /// more: that bounds the time on nodes with many devices, of which upstream's clock takes note too.
    pub fn allocate(
        &self,
        node: &Node,
        claims: &[&ResourceClaim],
        timeout: Duration,
    ) -> Result<Vec<Allocation>, NotAllocated> {
        let this: &Allocator<'_> = self;
        let gather = Gather { index: this.index, features: &this.features, node };
        let pools = gather.pools();
        let pools =
            pools.map_err(|error| NotAllocated::Error(format!("gather pool information: {error}")))?;
        let (verdicts, alternatives) = (Verdicts::default(), 0);
        let mut validation = Validation { allocator: this, node, pools: &pools, verdicts, alternatives };
        let claims = claims.iter().map(|claim| validation.claim(claim));
        let claims = claims.collect::<Result<Vec<_>, _>>()?;
        let microseconds = u64::try_from(timeout.0).unwrap_or(0);
        let budget = microseconds.saturating_mul(STEPS_PER_MILLISECOND) / 1_000;
        let budget = (microseconds > 0).then(|| budget.saturating_mul(STEP_COST));
        let search = Search::new((this, node), (&pools, &claims), validation.verdicts, budget);
        match search.run()? {
            Some(found) => this.results(node, &pools, &claims, &found),
            None if pools.iter().any(|pool| pool.state == PoolState::Invalid) => Err(NotAllocated::InvalidPools),
            None => Err(NotAllocated::NoSolution),
        }
    }
}
