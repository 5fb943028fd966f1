//! What is written into a claim when its devices are found.
//!
//! Source: `structured/internal/incubating/allocator_incubating.go`, `Allocate`, `createNodeSelector`.

use crate::allocator::NotAllocated;
use crate::candidate::Pick;
use crate::context::Context;
use crate::device::DeviceOf;
use crate::pools::Pool;
use crate::request::{Alternative, Claim};
use crate::search::Found;
use crate::shares::share_id;
use bayplan_model::objects::devices::{AllocatedDevice, Allocation, ChosenNodes, DeviceAllocation};
use bayplan_model::objects::selectors::{Expression, NodeSelector, NodeSelectorTerm};
use bayplan_model::{Node, Symbol};
use std::rc::Rc;
use std::sync::Arc;

/// A device of a solution with the request that it is for.
struct Picked<'a> {
    pick: &'a Pick,
    of: &'a Alternative<'a>,
    device: DeviceOf<'a>,
}

impl Context<'_> {
    /// The allocations of a solution.
    pub(crate) fn results(
        &self,
        node: &Node,
        pools: &[Rc<Pool<'_>>],
        claims: &[Claim<'_>],
        found: &Found,
    ) -> Result<Vec<Allocation>, NotAllocated> {
        let mut picks = found.picks.iter().peekable();
        let mut allocations = Vec::with_capacity(claims.len());
        for (at, claim) in claims.iter().enumerate() {
            let mut devices = Vec::new();
            while let Some(pick) = picks.next_if(|pick| pick.at.0 == at) {
                let (_, request, alternative) = pick.at;
                let of = claim.requests.get(request).and_then(|of| of.alternatives.get(alternative));
                let device = pools.get(pick.place.pool as usize).and_then(|pool| pool.device(pick.place));
                devices.extend(of.zip(device).map(|(of, device)| Picked { pick, of, device }));
            }
            let node_selector = self.node_selector(node, &devices).map_err(|error| {
                let name = &claim.object.metadata.name;
                NotAllocated::Error(format!("create NodeSelector for claim {name}: {error}"))
            })?;
            let uid = &claim.object.metadata.uid;
            let results = devices.iter().enumerate().map(|(at, result)| self.result(result, uid, at));
            let devices =
                DeviceAllocation { results: results.collect(), config: self.config(at, claim, found) };
            allocations.push(Allocation { devices, node_selector, allocation_timestamp: None });
        }
        Ok(allocations)
    }

    fn result(&self, result: &Picked<'_>, claim: &Symbol, at: usize) -> AllocatedDevice {
        let Picked { pick, of, device: found } = result;
        let device = found.device;
        let conditions = |of: &[Symbol]| match self.features.binding_conditions {
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

    /// The nodes that can use the devices; `None`: all.
    fn node_selector(&self, node: &Node, results: &[Picked<'_>]) -> Result<Option<Arc<ChosenNodes>>, String> {
        let mut term = NodeSelectorTerm::default();
        for Picked { device: DeviceOf { slice, device }, .. } in results {
            let nodes = if slice.per_device == Some(true) { &device.nodes } else { &slice.nodes };
            if !nodes.node_name.is_empty() || device.binds_to_node && !self.features.stable() {
                let (key, operator) = (Symbol::new("metadata.name"), Symbol::new("In"));
                let name = Expression { key, operator, values: Some(vec![node.name.clone()]) };
                return Ok(Some(chosen(NodeSelectorTerm { match_fields: vec![name], ..Default::default() })));
            }
            let Some(selector) = &nodes.node_selector else { continue };
            match selector.written.node_selector_terms.as_slice() {
                [] => {}
                [one] => {
                    merge(&one.match_fields, &mut term.match_fields);
                    merge(&one.match_expressions, &mut term.match_expressions);
                }
                terms => {
                    let terms = terms.len();
                    return Err(format!("unsupported ResourceSlice.NodeSelector with {terms} terms"));
                }
            }
        }
        let is_empty = term.match_fields.is_empty() && term.match_expressions.is_empty();
        Ok((!is_empty).then(|| chosen(term)))
    }
}

fn chosen(term: NodeSelectorTerm) -> Arc<ChosenNodes> {
    Arc::new(ChosenNodes::of(NodeSelector { node_selector_terms: vec![term] }))
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
