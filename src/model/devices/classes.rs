//! Classes by the extended resources that they stand for.
//!
//! Upstream's resolver depends on the order of events where classes share an extended resource; this one does not. It
//! differs in this: a class that loses to a newer one still stands for the resource named after it; a change of the class
//! that counts takes effect; and when that class is gone or names another resource, the next one counts.
//!
//! Source: `dynamic-resource-allocation/deviceclass/extendedresourcecache/extendedresourcecache.go`.

use crate::constraints::CLASS_RESOURCE;
use crate::objects::DeviceClass;
use crate::symbol::Symbol;
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The newest first, then by name.
type Rank = (Reverse<Option<Time>>, Symbol);

/// Classes by extended resource; the first one counts.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Classes(Arc<BTreeMap<Symbol, BTreeMap<Rank, Arc<DeviceClass>>>>);

fn resources(class: &DeviceClass) -> impl Iterator<Item = Symbol> {
    let own = Symbol::from(format!("{CLASS_RESOURCE}{}", class.metadata.name));
    [Some(own), class.extended_resource.clone()].into_iter().flatten()
}

fn rank(class: &DeviceClass) -> Rank {
    (Reverse(class.created), class.metadata.name.clone())
}

impl Classes {
    pub(super) fn of_resource(&self, resource: &Symbol) -> Option<&Arc<DeviceClass>> {
        self.0.get(resource)?.values().next()
    }

    pub(super) fn change(&mut self, before: Option<&DeviceClass>, after: Option<Arc<DeviceClass>>) {
        let classes = Arc::make_mut(&mut self.0);
        if let Some(before) = before {
            for resource in resources(before) {
                if let Some(known) = classes.get_mut(&resource) {
                    known.remove(&rank(before));
                    if known.is_empty() {
                        classes.remove(&resource);
                    }
                }
            }
        }
        if let Some(after) = after {
            for resource in resources(&after) {
                classes.entry(resource).or_default().insert(rank(&after), after.clone());
            }
        }
    }
}
