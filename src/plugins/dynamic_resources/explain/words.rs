//! Why devices do not serve a request, in words: the devices with one reason together, or one device alone.

use super::asked::Asked;
use super::unavailable::users;
use super::values::{Read, read};
use bayplan_devices::{Refusal, RefusedDevice};
use bayplan_model::objects::devices::{Device, DeviceId};
use bayplan_model::{DeviceIndex, Holder, ResourceClaim, Snapshot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many claims are named that hold devices, and how many values of an attribute.
const NAMED: usize = 3;

/// The longest expression that is shown whole, in characters.
const LONGEST: usize = 100;

/// What words are made from.
pub(super) struct Words<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) index: &'a DeviceIndex,
}

/// The reason that devices have in common: how it is ordered, and what distinguishes it.
type Key = (u8, String);

fn key(of: &Refusal) -> Key {
    match of {
        Refusal::Allocated(_) => (0, String::new()),
        Refusal::Picked => (1, String::new()),
        Refusal::Class { selector, .. } => (2, selector.to_string()),
        Refusal::Selector { selector, .. } => (3, selector.to_string()),
        Refusal::Taint(taint) => (4, taint.to_string()),
        Refusal::Constraint(attribute) => (5, attribute.to_string()),
        Refusal::Capacity { name, .. } => (6, name.to_string()),
        Refusal::NoCapacity(name) => (7, name.to_string()),
        Refusal::CapacityPolicy { name, .. } => (8, name.to_string()),
        Refusal::Counter { set, name, .. } => (9, format!("{set}/{name}")),
        Refusal::Node => (10, String::new()),
        Refusal::BindingConditions => (11, String::new()),
        Refusal::Counters => (12, String::new()),
        Refusal::Error(text) => (13, text.clone()),
    }
}

impl Words<'_> {
    /// `1 of 8 devices (5 do not match …; 2 are taken by claim a/b for pod p)`
    pub(super) fn of_all(&self, asked: &Asked) -> String {
        let mut groups: BTreeMap<Key, Vec<&RefusedDevice>> = BTreeMap::new();
        for of in &asked.refused {
            groups.entry(key(&of.refusal)).or_default().push(of);
        }
        let mut groups: Vec<Vec<&RefusedDevice>> = groups.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let counted = groups.iter().map(|group| format!("{} {}", group.len(), self.group(asked, group)));
        let mut why: Vec<String> = counted.collect();
        why.extend(asked.incomplete.iter().map(|pool| format!("slices of pool {pool} are missing")));
        why.extend(asked.invalid.iter().map(|pool| format!("slices of pool {pool} contradict each other")));
        let fit = match (asked.fitting.len(), asked.total()) {
            (_, 0) => String::from("none"),
            (0, 1) => String::from("none of 1 device"),
            (0, total) => format!("none of {total} devices"),
            (fit, 1) => format!("{fit} of 1 device"),
            (fit, total) => format!("{fit} of {total} devices"),
        };
        if why.is_empty() { fit } else { format!("{fit} ({})", why.join("; ")) }
    }

    /// `is taken by claim a/b for pod p`
    pub(super) fn of_one(&self, asked: &Asked, of: &RefusedDevice) -> String {
        self.group(asked, &[of])
    }

    /// The words for devices with one reason; the verb is for their number.
    fn group(&self, asked: &Asked, group: &[&RefusedDevice]) -> String {
        let one = group.len() == 1;
        let verb = |single: &'static str, several: &'static str| if one { single } else { several };
        let Some(first) = group.first() else { return String::new() };
        match &first.refusal {
            Refusal::Allocated(_) => {
                let taken = verb("is", "are");
                match self.holders(group) {
                    by if by.is_empty() => format!("{taken} in use"),
                    by => format!("{taken} taken by {by}"),
                }
            }
            Refusal::Picked => format!("{} to a request before this one", verb("goes", "go")),
            Refusal::Class { class, expression, .. } => {
                let words = self.selector(expression.as_ref(), group);
                format!("{} not of class {class}: {words}", verb("is", "are"))
            }
            Refusal::Selector { expression, .. } => {
                let words = self.selector(expression.as_ref(), group);
                format!("{} not match {words}", verb("does", "do"))
            }
            Refusal::Taint(taint) => format!("{} the taint {}", verb("has", "have"), taint),
            Refusal::Constraint(attribute) => {
                let mut distinct = asked.constraints.iter().filter_map(|of| of.distinct_attribute.as_ref());
                let (verb, than) = match distinct.any(|of| of == attribute) {
                    true => (verb("does not differ", "do not differ"), "from the devices before"),
                    false => (verb("does not agree", "do not agree"), "with the devices before"),
                };
                let read = attribute.split_once('/').map(|(domain, id)| Read::attribute(domain, id));
                let values = self.values(read.as_slice(), group);
                format!("{verb} in {attribute} {than}{values}")
            }
            Refusal::Capacity { name, need, have } => {
                format!("{} too little {name} left: {need} of {have} would be taken", verb("has", "have"))
            }
            Refusal::NoCapacity(name) => format!("{} no capacity {name}", verb("has", "have")),
            Refusal::CapacityPolicy { name, need } => {
                format!("{} not give out {need} {name}", verb("does", "do"))
            }
            Refusal::Counter { set, name, need, have } => {
                format!("{} counter {name} of {set}: {need} of {have} left", verb("exceeds", "exceed"))
            }
            Refusal::Node => format!("{} for other nodes", verb("is", "are")),
            Refusal::BindingConditions => {
                format!("{} binding conditions, whose feature gate is off", verb("has", "have"))
            }
            Refusal::Counters => format!("{} counters, whose feature gate is off", verb("takes", "take")),
            Refusal::Error(text) => format!("{} with an error: {text}", verb("ends", "end")),
        }
    }

    /// `claims a/b for pod p, c/d and 2 others`
    fn holders(&self, group: &[&RefusedDevice]) -> String {
        let mut holders: Vec<&Holder> = Vec::new();
        for of in group {
            let Refusal::Allocated(by) = &of.refusal else { continue };
            holders.extend(by.iter().filter(|of| !holders.contains(of)).collect::<Vec<_>>());
        }
        let named: Vec<String> = holders.iter().take(NAMED).map(|of| self.holder(of)).collect();
        let named = named.join(", ");
        match holders.len() {
            0 => String::new(),
            1 => format!("claim {named}"),
            many if many > NAMED => format!("claims {named} and {} others", many - NAMED),
            _ => format!("claims {named}"),
        }
    }

    fn holder(&self, of: &Holder) -> String {
        let claim = self.snapshot.object::<ResourceClaim>(&of.namespace, &of.name);
        let users = claim.map(|claim| users(claim)).unwrap_or_default();
        let users = if users.is_empty() { users } else { format!(" for {users}") };
        format!("{}/{}{users}", of.namespace, of.name)
    }

    /// The selector, and the values that the devices have of what it reads.
    fn selector(&self, expression: Option<&Arc<str>>, group: &[&RefusedDevice]) -> String {
        let Some(expression) = expression else {
            return String::from("a selector of a kind that is not known");
        };
        let text = expression.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        };
        format!("{text}{}", self.values(&read(expression), group))
    }

    /// `, where model is "y" on 4, "z" on 2`
    fn values(&self, reads: &[Read], group: &[&RefusedDevice]) -> String {
        let mut parts = Vec::new();
        for read in reads {
            let mut tally: BTreeMap<String, usize> = BTreeMap::new();
            for of in group {
                let Some(device) = self.device(&of.device) else { continue };
                *tally.entry(read.of(&of.device.pool.driver, device)).or_default() += 1;
            }
            let mut tally: Vec<(String, usize)> = tally.into_iter().collect();
            tally.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let values = match &tally[..] {
                [] => continue,
                [(value, _)] => value.clone(),
                several => {
                    let shown =
                        several.iter().take(NAMED).map(|(value, count)| format!("{value} on {count}"));
                    let mut shown: Vec<String> = shown.collect();
                    if several.len() > NAMED {
                        shown.push(String::from("…"));
                    }
                    shown.join(", ")
                }
            };
            parts.push(format!("{} is {values}", read.id));
        }
        if parts.is_empty() { String::new() } else { format!(", where {}", parts.join(" and ")) }
    }

    fn device(&self, id: &DeviceId) -> Option<&Device> {
        let mut newest: Option<(i64, &Device)> = None;
        for slice in self.index.pool(&id.pool) {
            let device = slice.devices.iter().find(|device| device.name == id.name);
            if let Some(device) = device.filter(|_| newest.is_none_or(|(known, _)| known < slice.generation))
            {
                newest = Some((slice.generation, device));
            }
        }
        newest.map(|(_, device)| device)
    }
}
