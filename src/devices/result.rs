//! What is written into a claim when its devices are found.
//!
//! Source: `structured/internal/incubating/allocator_incubating.go`, `Allocate`, `createNodeSelector`.

use crate::allocator::NotAllocated;
use crate::device::DeviceOf;
use crate::request::Claim;
use crate::shares::share_id;
use crate::solution::{Picked, Solution};
use bayplan_model::objects::devices::{AllocatedDevice, Allocation, ChosenNodes, DeviceAllocation};
use bayplan_model::objects::selectors::{Expression, NodeSelector, NodeSelectorTerm};
use bayplan_model::{Node, Symbol};
use std::sync::Arc;

/// The nodes that can use the devices of a claim.
pub(crate) enum UsableOn<'a> {
    /// The node of the solution only.
    ThisNode,
    /// Those that all of the terms match.
    Matching(Vec<&'a NodeSelectorTerm>),
}

impl<'a> Solution<'a> {
    /// The nodes that can use the devices of a claim. Fails if a slice says that with several terms.
    pub(crate) fn nodes<'s>(
        &self,
        claim: &Claim<'_>,
        devices: impl Iterator<Item = Picked<'s, 'a>>,
    ) -> Result<UsableOn<'a>, NotAllocated>
    where
        'a: 's,
    {
        let mut matching = Vec::new();
        for Picked { device: DeviceOf { slice, device, .. }, .. } in devices {
            let nodes = if slice.per_device == Some(true) { &device.nodes } else { &slice.nodes };
            if !nodes.node_name.is_empty() || device.binds_to_node && !self.context.features.stable() {
                return Ok(UsableOn::ThisNode);
            }
            let Some(selector) = &nodes.node_selector else { continue };
            match selector.written.node_selector_terms.as_slice() {
                [] => {}
                [one] => matching.push(one),
                terms => {
                    let (name, terms) = (&claim.object.metadata.name, terms.len());
                    return Err(NotAllocated::Error(format!(
                        "create NodeSelector for claim {name}: unsupported ResourceSlice.NodeSelector with {terms} terms"
                    )));
                }
            }
        }
        Ok(UsableOn::Matching(matching))
    }

    /// The allocation of a claim, by its position.
    pub(crate) fn allocation<'s>(
        &self,
        (at, claim): (usize, &Claim<'_>),
        devices: impl Iterator<Item = Picked<'s, 'a>> + Clone,
    ) -> Result<Allocation, NotAllocated>
    where
        'a: 's,
    {
        let node_selector = self.nodes(claim, devices.clone())?.selector(self.node);
        let uid = &claim.object.metadata.uid;
        let results = devices.enumerate().map(|(at, result)| self.result(result, uid, at));
        let config = self.context.config(at, claim, &self.found);
        let devices = DeviceAllocation { results: results.collect(), config };
        Ok(Allocation { devices, node_selector, allocation_timestamp: None })
    }

    fn result(&self, result: Picked<'_, '_>, claim: &Symbol, at: usize) -> AllocatedDevice {
        let Picked { pick, of, device: found } = result;
        let device = found.device;
        let conditions = |of: &[Symbol]| match self.context.features.binding_conditions {
            true => of.to_vec(),
            false => Vec::new(),
        };
        AllocatedDevice {
            request: of.full_name.clone(),
            driver: found.pool().driver.clone(),
            pool: found.pool().name.clone(),
            device: device.name.clone(),
            admin_access: of.admin_access,
            tolerations: of.device.tolerations.clone(),
            binding_conditions: conditions(&device.binding_conditions),
            binding_failure_conditions: conditions(&device.binding_failure_conditions),
            share: pick.share.as_ref().map(|_| share_id(claim, at)),
            consumed_capacity: pick.share.clone().filter(|taken| !taken.is_empty()),
            skip_node_operations: Vec::new(),
        }
    }
}

impl UsableOn<'_> {
    /// As a claim has it; `None`: all nodes.
    fn selector(&self, node: &Node) -> Option<Arc<ChosenNodes>> {
        let mut merged = NodeSelectorTerm::default();
        match self {
            Self::ThisNode => {
                let (key, operator) = (Symbol::new("metadata.name"), Symbol::new("In"));
                let values = Some(vec![node.name.clone()]);
                merged.match_fields.push(Expression { key, operator, values });
            }
            Self::Matching(terms) => {
                for term in terms {
                    merge(&term.match_fields, &mut merged.match_fields);
                    merge(&term.match_expressions, &mut merged.match_expressions);
                }
            }
        }
        let is_empty = merged.match_fields.is_empty() && merged.match_expressions.is_empty();
        let selector = NodeSelector { node_selector_terms: vec![merged] };
        (!is_empty).then(|| Arc::new(ChosenNodes::of(selector)))
    }
}

/// Adds the requirements that are not there yet: the order of values does not matter.
fn merge(from: &[Expression], to: &mut Vec<Expression>) {
    let values = |of: &Expression| {
        let mut values = of.values.clone().unwrap_or_default();
        values.sort_unstable();
        values.dedup();
        values
    };
    for requirement in from {
        let is_it = |known: &Expression| {
            known.key == requirement.key
                && known.operator == requirement.operator
                && values(known) == values(requirement)
        };
        if !to.iter().any(is_it) {
            to.push(requirement.clone());
        }
    }
}
