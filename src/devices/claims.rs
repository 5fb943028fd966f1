//! [`Claims`]: the claims of a pod, for one node after the other.

use crate::learned::Learned;
use crate::request::Claim;
use crate::selectable::Verdicts;
use bayplan_model::ResourceClaim;
use std::rc::Rc;

/// Claims to allocate, and what was found out about them on one node that holds for the next one.
#[derive(Debug)]
pub struct Claims<'a> {
    pub(crate) objects: Vec<&'a ResourceClaim>,
    /// As a search needs them, when no node changes that: none of their requests is for all devices.
    pub(crate) tested: Option<Rc<[Claim<'a>]>>,
    pub(crate) known: Known,
}

/// What searches know.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Of pools that many nodes have.
    pub(crate) learned: Learned,
    /// Of the devices of a node.
    pub(crate) verdicts: Verdicts,
}

impl<'a> Claims<'a> {
    /// Claims of which nothing is known yet. They get devices in this order.
    pub fn new(objects: impl IntoIterator<Item = &'a ResourceClaim>) -> Self {
        Self { objects: objects.into_iter().collect(), tested: None, known: Known::default() }
    }
}
