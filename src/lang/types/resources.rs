//! [`Resources`]: amounts by resource name as a value, and how they are read by name.

use bayplan_model::{Resource, Symbol};
use std::sync::Arc;

/// Amounts by resource name: a reference into the snapshot, or computed.
#[derive(Clone)]
pub enum Resources<'a> {
    /// Of an object of the snapshot.
    Borrowed(&'a Resource),
    /// A sum or a difference.
    Shared(Arc<Resource>),
}

impl std::ops::Deref for Resources<'_> {
    type Target = Resource;
    fn deref(&self) -> &Resource {
        match self {
            Resources::Borrowed(resource) => resource,
            Resources::Shared(resource) => resource,
        }
    }
}

/// The amount of the resource `name` in base units, 0 when it is not named.
pub fn amount(resources: &Resource, name: &str) -> i64 {
    match name {
        "cpu" => resources.milli_cpu,
        "memory" => resources.memory,
        "ephemeral-storage" => resources.ephemeral_storage,
        "pods" => resources.pods,
        _ => resources
            .scalars
            .iter()
            .find(|(scalar, _)| scalar.as_str() == name)
            .map_or(0, |(_, amount)| *amount),
    }
}

/// Whether `name` is named; the four resources that every object has are named when they are not 0.
pub(crate) fn is_named(resources: &Resource, name: &str) -> bool {
    match name {
        "cpu" | "memory" | "ephemeral-storage" | "pods" => amount(resources, name) != 0,
        _ => resources.scalars.iter().any(|(scalar, _)| scalar.as_str() == name),
    }
}

/// The named resources with their amounts.
pub fn named_resources(resources: &Resource) -> Vec<(Symbol, i64)> {
    let mut named: Vec<(Symbol, i64)> = ["cpu", "memory", "ephemeral-storage", "pods"]
        .into_iter()
        .filter(|name| is_named(resources, name))
        .map(|name| (Symbol::new(name), amount(resources, name)))
        .collect();
    named.extend(resources.scalars.iter().cloned());
    named
}
