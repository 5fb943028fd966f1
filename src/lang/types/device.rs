//! [`ReachedDevice`]: a device as a value, and how its attributes and capacities are named and read.

use super::value::Value;
use bayplan_model::objects::devices::{AttributeValue, Device};
use bayplan_model::{Quantity, Resource, ResourceSlice, Symbol};

/// A device and the slice that lists it.
#[derive(Clone, Copy)]
pub struct ReachedDevice<'a> {
    /// The slice.
    pub slice: &'a ResourceSlice,
    /// The device.
    pub device: &'a Device,
}

impl<'a> ReachedDevice<'a> {
    /// What tells devices apart: driver, pool, name.
    pub(crate) fn id(self) -> (&'a Symbol, &'a Symbol, &'a Symbol) {
        (&self.slice.pool.driver, &self.slice.pool.name, &self.device.name)
    }

    /// A name of an attribute or capacity: without its domain where that is the driver's, which slices may leave out.
    fn own_name(self, name: &str) -> &str {
        let own = name.strip_prefix(self.slice.pool.driver.as_str()).and_then(|rest| rest.strip_prefix('/'));
        own.unwrap_or(name)
    }

    /// The attributes that have a text.
    pub fn attributes(self) -> Value<'a> {
        let texts = self.device.attributes.iter().filter_map(|(name, value)| {
            let text = match value {
                AttributeValue::Int(number) => Value::text(number.to_string()),
                AttributeValue::Bool(truth) => Value::borrowed(if *truth { "true" } else { "false" }),
                AttributeValue::String(text) | AttributeValue::Version(text) => Value::borrowed(text),
                AttributeValue::Ints(_)
                | AttributeValue::Bools(_)
                | AttributeValue::Strings(_)
                | AttributeValue::Versions(_)
                | AttributeValue::Unknown => return None,
            };
            Some((Value::borrowed(self.own_name(name)), text))
        });
        Value::map(texts)
    }

    /// All there is of its capacities.
    pub(crate) fn capacity(self) -> Resource {
        self.amounts(self.device.capacity.iter().map(|(name, of)| (name, of.value)))
    }

    /// Amounts of its capacities: CPU in millicores, the rest in units, each rounded up.
    pub(crate) fn amounts<'n>(self, of: impl Iterator<Item = (&'n Symbol, Quantity)>) -> Resource {
        let mut amounts = Resource::default();
        for (name, amount) in of {
            let own = self.own_name(name);
            match own {
                "cpu" => amounts.milli_cpu = amount.milli_value(),
                "memory" => amounts.memory = amount.value(),
                "ephemeral-storage" => amounts.ephemeral_storage = amount.value(),
                "pods" => amounts.pods = amount.value(),
                _ if own.len() == name.len() => amounts.set_scalar(name.clone(), amount.value()),
                _ => amounts.set_scalar(Symbol::new(own), amount.value()),
            }
        }
        amounts
    }
}
