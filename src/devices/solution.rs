//! [`Solution`]: the devices that claims get on a node, before they are written down.

use crate::allocator::NotAllocated;
use crate::candidate::Pick;
use crate::context::Context;
use crate::device::DeviceOf;
use crate::pools::Pool;
use crate::request::{Alternative, Claim};
use crate::search::Found;
use bayplan_model::Node;
use bayplan_model::objects::devices::Allocation;
use std::rc::Rc;

/// What the claims of a pod get on a node. Most nodes are only asked whether there is a solution; that of the chosen one
/// becomes [`Solution::allocations`].
pub struct Solution<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) node: &'a Node,
    pools: Vec<Rc<Pool<'a>>>,
    claims: Rc<[Claim<'a>]>,
    pub(crate) found: Found,
}

/// A device of a solution with the request that it is for.
#[derive(Clone, Copy)]
pub(crate) struct Picked<'s, 'a> {
    pub(crate) pick: &'s Pick,
    pub(crate) of: &'s Alternative<'a>,
    pub(crate) device: DeviceOf<'a>,
}

impl<'a> Solution<'a> {
    /// Fails if what claims get cannot be written.
    pub(crate) fn new(
        (context, node): (Context<'a>, &'a Node),
        pools: Vec<Rc<Pool<'a>>>,
        claims: Rc<[Claim<'a>]>,
        found: Found,
    ) -> Result<Self, NotAllocated> {
        let this = Self { context, node, pools, claims, found };
        for (at, claim) in this.claims.iter().enumerate() {
            this.nodes(claim, this.picked(at))?;
        }
        Ok(this)
    }

    /// The devices of a claim, by its position, in the order of its requests.
    fn picked(&self, claim: usize) -> impl Iterator<Item = Picked<'_, 'a>> + Clone {
        self.found.picks.iter().filter(move |pick| pick.at.0 == claim).filter_map(|pick| {
            let (claim, request, alternative) = pick.at;
            let of = self.claims.get(claim)?.requests.get(request)?.alternatives.get(alternative)?;
            let device = self.pools.get(pick.place.pool as usize)?.device(pick.place)?;
            Some(Picked { pick, of, device })
        })
    }

    /// The allocations, in the order of the claims. Fields that depend on the time of writing are left out. It does not
    /// fail: [`Solution::new`] tried what can.
    pub fn allocations(&self) -> Result<Vec<Allocation>, NotAllocated> {
        let claims = self.claims.iter().enumerate();
        claims.map(|(at, claim)| self.allocation((at, claim), self.picked(at))).collect()
    }
}
