//! Constraints of a claim over the attributes of its devices.
//!
//! Source: `structured/internal/incubating/allocator_incubating.go` (`matchAttributeConstraint`), `constraint.go`.

use crate::device::DeviceOf;
use crate::request::Alternative;
use bayplan_model::Symbol;
use bayplan_model::objects::devices::{AttributeValue, ClaimConstraint};

/// A constraint with what it knows of the devices added so far. A device that is removed was the last one added.
#[derive(Clone, Debug)]
pub(crate) struct Constraint<'a> {
    of: &'a ClaimConstraint,
    /// `DOMAIN/ID`.
    pub(crate) attribute: &'a Symbol,
    domain: Symbol,
    id: Symbol,
    kind: Kind<'a>,
}

#[derive(Clone, Debug)]
enum Kind<'a> {
    /// `matchAttribute`: the value of the first device, and how many there are.
    Match(Option<&'a AttributeValue>, usize),
    /// `distinctAttribute`: the values of all devices.
    Distinct(Vec<&'a AttributeValue>),
    /// `distinctAttribute` of 1.36: the value of the last device of each request, forgotten with any device of the request
    /// that is removed, and how many devices there are.
    DistinctRequests(Vec<(Symbol, &'a AttributeValue)>, usize),
}

/// Whether constraints can compare values of the type.
fn is_known(value: &AttributeValue) -> bool {
    use AttributeValue::{Bool, Int, String, Version};
    matches!(value, Int(_) | Bool(_) | String(_) | Version(_))
}

/// Whether all stored values differ from the value; one of unknown type differs from none.
fn differs<'a>(value: &AttributeValue, mut stored: impl Iterator<Item = &'a AttributeValue>) -> bool {
    stored.all(|stored| is_known(value) && value != stored)
}

impl<'a> Constraint<'a> {
    /// The constraint before any device. `None`: it is of a kind that this program does not know.
    ///
    /// `distinct`: the kind `distinctAttribute` is known. `each_device`: it is about every device, not only the last one of
    /// each request.
    pub(crate) fn of(of: &'a ClaimConstraint, distinct: bool, each_device: bool) -> Option<Self> {
        let (attribute, kind) = match (&of.match_attribute, &of.distinct_attribute) {
            (Some(attribute), _) => (attribute, Kind::Match(None, 0)),
            (None, Some(attribute)) if distinct && each_device => (attribute, Kind::Distinct(Vec::new())),
            (None, Some(attribute)) if distinct => (attribute, Kind::DistinctRequests(Vec::new(), 0)),
            _ => return None,
        };
        let (domain, id) = attribute.split_once('/').unwrap_or_default();
        Some(Self { of, attribute, domain: Symbol::new(domain), id: Symbol::new(id), kind })
    }

    /// Whether the constraint is about a request.
    fn concerns(&self, request: &Alternative<'_>) -> bool {
        let requests = &self.of.requests;
        requests.is_empty() || requests.contains(request.parent) || requests.contains(&request.full_name)
    }

    /// The value of the attribute: its full name, or its short name if the domain is the device's driver.
    fn value(&self, device: &DeviceOf<'a>) -> Option<&'a AttributeValue> {
        let attributes = &device.device.attributes;
        attributes.get(self.attribute).or_else(|| {
            let is_own = self.domain == device.pool().driver && !self.id.is_empty();
            attributes.get(&self.id).filter(|_| is_own)
        })
    }

    /// Adds a device. Returns whether the constraint allows it; otherwise nothing changes.
    pub(crate) fn add(&mut self, request: &Alternative<'_>, device: &DeviceOf<'a>) -> bool {
        if !self.concerns(request) {
            return true;
        }
        let Some(value) = self.value(device) else { return false };
        match &mut self.kind {
            Kind::Match(first, count) => {
                if *count == 0 {
                    *first = Some(value);
                } else if !is_known(value) || *first != Some(value) {
                    return false;
                }
                *count += 1;
            }
            Kind::Distinct(values) => {
                if !differs(value, values.iter().copied()) {
                    return false;
                }
                values.push(value);
            }
            Kind::DistinctRequests(values, count) => {
                if *count > 0 && !differs(value, values.iter().map(|(_, value)| *value)) {
                    return false;
                }
                values.retain(|(name, _)| name != request.parent);
                values.push((request.parent.clone(), value));
                *count += 1;
            }
        }
        true
    }

    /// Removes the device that was added last.
    pub(crate) fn remove(&mut self, request: &Alternative<'_>) {
        if !self.concerns(request) {
            return;
        }
        match &mut self.kind {
            Kind::Match(_, count) => *count = count.saturating_sub(1),
            Kind::Distinct(values) => drop(values.pop()),
            Kind::DistinctRequests(values, count) => {
                values.retain(|(name, _)| name != request.parent);
                *count = count.saturating_sub(1);
            }
        }
    }
}
