//! Whether a device is of the class of a request, matches its selectors and chooses the node. Answers are kept while a
//! node is searched.
//!
//! Source: `structured/internal/incubating/allocator_incubating.go`, `isSelectable`, `selectorsMatch`.

use crate::allocator::NotAllocated;
use crate::context::Context;
use crate::device::{DeviceOf, Place};
use crate::node_choice::chooses;
use crate::request::named;
use crate::selects::{SelectError, Selects};
use bayplan_model::objects::devices::DeviceRequest;
use bayplan_model::{DeviceClass, Node, ResourceClaim, VersionRow};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What 1.37 adds to an error about a key that is missing.
const MISSING_KEY: &str = ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for \
                           optional fields";

/// What keeps a device from being selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unselected {
    /// It has binding conditions, and the feature is off.
    BindingConditions,
    /// A selector of the class, by position.
    Class(usize),
    /// A selector of the request, by position.
    Request(usize),
    /// It is for other nodes.
    Node,
}

/// A request as selectors see it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
    claim: &'a ResourceClaim,
    class: &'a DeviceClass,
    device: &'a DeviceRequest,
    /// The numbers of the selectors: those of the class, then those of the request.
    keys: Box<[u64]>,
}

impl<'a> Wanted<'a> {
    pub(crate) fn new(
        claim: &'a ResourceClaim,
        class: &'a DeviceClass,
        device: &'a DeviceRequest,
        selectors: &dyn Selects,
    ) -> Self {
        let all = class.selectors.iter().chain(device.selectors.iter());
        let key = |selector: &Option<Arc<str>>| selector.as_ref().map_or(0, |of| selectors.key(of));
        Self { claim, class, device, keys: all.map(key).collect() }
    }
}

/// Answers about the devices of a node: by alternative and device.
#[derive(Debug, Default)]
pub(crate) struct Verdicts(FxHashMap<(u32, Place), Option<Unselected>>);

impl Verdicts {
    /// Makes room for another node.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// What keeps a device from being selected for an alternative; `None`: nothing.
    pub(crate) fn of(
        &mut self,
        (context, node): (&Context<'_>, &Node),
        (number, wanted): (u32, &Wanted<'_>),
        (place, device): (Place, &DeviceOf<'_>),
    ) -> Result<Option<Unselected>, NotAllocated> {
        if let Some(known) = self.0.get(&(number, place)) {
            return Ok(*known);
        }
        let verdict = context.unselected(node, wanted, device)?;
        self.0.insert((number, place), verdict);
        Ok(verdict)
    }
}

impl Context<'_> {
    fn unselected(
        &self,
        node: &Node,
        wanted: &Wanted<'_>,
        device: &DeviceOf<'_>,
    ) -> Result<Option<Unselected>, NotAllocated> {
        let Wanted { claim, class, device: request, keys } = wanted;
        let (of_class, of_request) = keys.split_at_checked(class.selectors.len()).unwrap_or_default();
        if !self.features.binding_conditions && !device.device.binding_conditions.is_empty() {
            return Ok(Some(Unselected::BindingConditions));
        }
        let name = || format!("class {}", class.metadata.name);
        if let Some(at) = self.first_false((&class.selectors, of_class), device, name)? {
            return Ok(Some(Unselected::Class(at)));
        }
        let name = || format!("claim {}", named(claim));
        if let Some(at) = self.first_false((&request.selectors, of_request), device, name)? {
            return Ok(Some(Unselected::Request(at)));
        }
        if device.slice.per_device == Some(true)
            && !chooses(&device.device.nodes, node).map_err(NotAllocated::Error)?
        {
            return Ok(Some(Unselected::Node));
        }
        Ok(None)
    }

    /// The first selector that does not select the device.
    fn first_false(
        &self,
        (selectors, keys): (&[Option<Arc<str>>], &[u64]),
        device: &DeviceOf<'_>,
        of: impl Fn() -> String,
    ) -> Result<Option<usize>, NotAllocated> {
        for (at, (selector, key)) in selectors.iter().zip(keys).enumerate() {
            // Those of requests were tested before; upstream does not survive one of a class.
            let Some(expression) = selector else { return Ok(Some(at)) };
            match self.selectors.selects_by_key((expression, *key), device) {
                Ok(true) => {}
                Ok(false) => return Ok(Some(at)),
                Err(error) => return Err(NotAllocated::Error(self.selector_error(&of(), at, device, error))),
            }
        }
        Ok(None)
    }

    fn selector_error(&self, of: &str, at: usize, device: &DeviceOf<'_>, error: SelectError) -> String {
        match error {
            SelectError::Compile(error) => format!("{of}: selector #{at}: CEL compile error: {error}"),
            SelectError::Run(error) if !self.features.has(VersionRow::SelectorDeviceText) => {
                format!("{of}: selector #{at}: CEL runtime error: {error}")
            }
            SelectError::Run(error) => {
                let more = if error.contains("no such key:") { MISSING_KEY } else { "" };
                format!("{of}: selector #{at} on device {device}: CEL runtime error: {error}{more}")
            }
        }
    }
}
