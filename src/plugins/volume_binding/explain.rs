//! Explanations: which claim keeps the pod off a node, and why no volume suits it.

use super::claims::{Claims, DelayedClaim};
use super::find::{Conflicts, find, reaches, suffices};
use super::index::VolumeIndex;
use super::matching;
use crate::volumes;
use bayplan_framework::{Handle, Violation};
use bayplan_model::{
    LabelSelector, Node, NodeSelector, PersistentVolume, Quantity, SelectorOperator, Snapshot, amount,
};

/// Everything that keeps the pod off a node.
pub(super) fn violations(h: &Handle, node: &Node, out: &mut Vec<Violation>) {
    let claims = match Claims::in_attempt(h) {
        Ok(claims) => claims,
        Err(status) => return refuse(status.reasons(), out),
    };
    match find(h.snapshot, &claims, node) {
        Ok(Ok(_)) => return,
        Ok(Err(_)) => {}
        Err(error) => return refuse([error.as_str()].into_iter(), out),
    }
    for bound in &claims.bound {
        let claim = volumes::full_name(&bound.claim.metadata);
        let Some(volume) = &bound.volume else {
            let what = format!("claim {claim}: volume {} does not exist", bound.claim.volume);
            out.push(violation(Conflicts::GONE, what, String::new(), String::new()));
            continue;
        };
        if matches!(reaches(h.snapshot, volume, node), Ok(true)) {
            continue;
        }
        let what = format!("claim {claim}: node affinity of volume {}", volume.metadata.name);
        let (need, have) = volume.affinity.as_deref().map(|of| wish(of, node)).unwrap_or_default();
        out.push(violation(Conflicts::AFFINITY, what, need, have));
    }
    for of in &claims.delayed {
        delayed(h.snapshot, of, node, out);
    }
    if out.is_empty() {
        // Each claim finds a volume by itself, and together they do not.
        let names: Vec<String> = claims.delayed.iter().map(DelayedClaim::name).collect();
        let what = format!("claims {} want the same volumes", names.join(", "));
        out.push(violation(Conflicts::NO_VOLUME, what, String::new(), String::new()));
    }
}

fn refuse<'r>(reasons: impl Iterator<Item = &'r str>, out: &mut Vec<Violation>) {
    out.extend(reasons.map(|reason| Violation { reason: reason.to_owned(), ..Violation::default() }));
}

fn violation(conflict: Conflicts, what: String, need: String, have: String) -> Violation {
    Violation { reason: conflict.text().to_owned(), what, need, have, ..Violation::default() }
}

/// Why a claim that waits for a node finds no volume on this one.
fn delayed(snapshot: &Snapshot, of: &DelayedClaim, node: &Node, out: &mut Vec<Violation>) {
    let name = of.name();
    if let Some(selected) = &of.claim.selected_node
        && *selected != node.name
    {
        let what = format!("claim {name}: its volume is provisioned for another node");
        out.push(violation(Conflicts::NO_VOLUME, what, selected.to_string(), node.name.to_string()));
        return;
    }
    let pinned = of.claim.selected_node.is_some();
    if !pinned && of.candidates.first(&node.labels, |_| false).is_some() {
        return;
    }
    let class = &of.claim.class;
    if !of.class.provisions() {
        let what = match pinned {
            true => format!("claim {name}: class {class} provisions no volumes"),
            false => format!("claim {name}: volume of class {class}"),
        };
        let need = of.claim.request.map(|request| request.to_string()).unwrap_or_default();
        let have = if pinned { String::new() } else { nearest(snapshot, of, node) };
        out.push(violation(Conflicts::NO_VOLUME, what, need, have));
    } else if !of.class.allows(&node.labels) {
        let what = format!("claim {name}: allowed topologies of class {class}");
        let (need, have) = topologies(of, node);
        out.push(violation(Conflicts::NO_VOLUME, what, need, have));
    } else if let Some(bytes) = of.bytes
        && !suffices(snapshot, of, bytes, &node.labels)
    {
        let what = format!("claim {name}: storage capacity of class {class}");
        let need = of.claim.request.map(|request| request.to_string()).unwrap_or_default();
        out.push(violation(Conflicts::NO_CAPACITY, what, need, capacity(snapshot, of, node)));
    }
}

/// The volumes of the class that come nearest, with what keeps each from the claim on this node.
fn nearest(snapshot: &Snapshot, of: &DelayedClaim, node: &Node) -> String {
    if let Some(reserved) = of.candidates.reserved.first() {
        return format!("volume {} is reserved for the claim and not for this node", reserved.metadata.name);
    }
    let index = snapshot.index::<VolumeIndex>(&VolumeIndex::key());
    let class = index.and_then(|index| index.class(&of.claim.class));
    let all: Vec<_> = class.into_iter().flat_map(|class| class.free(Quantity::ZERO)).collect();
    let missed = |volume: &PersistentVolume| {
        let why = matching::misfit(volume, &of.claim);
        let here = matching::reaches(volume, &node.labels);
        (why, here)
    };
    // A volume that only the node keeps away comes first, then volumes for the node that miss something else.
    let elsewhere = all.iter().filter(|volume| missed(volume) == (None, false)).count();
    let near = all.iter().rev().find_map(|volume| match missed(volume) {
        (Some(why), true) => Some(format!("volume {} {why}", volume.metadata.name)),
        _ => None,
    });
    match (all.is_empty(), elsewhere, near) {
        (true, ..) => String::from("none"),
        (_, 0, None) => String::from("none for this node"),
        (_, 0, Some(near)) => near,
        (_, count, None) => format!("{count} for other nodes"),
        (_, count, Some(near)) => format!("{near}; {count} for other nodes"),
    }
}

/// What the affinity of a volume asks for, and what the node has.
fn wish(affinity: &NodeSelector, node: &Node) -> (String, String) {
    let requirements: Vec<_> = affinity.terms.iter().flat_map(|term| term.expressions.iter()).collect();
    let failing = requirements.iter().find(|requirement| !requirement.matches(&node.labels));
    let Some(requirement) = failing else { return (String::from("a term that can match"), String::new()) };
    let values: Vec<&str> = requirement.values.iter().map(|value| value.as_str()).collect();
    let values = values.join(", ");
    let need = match requirement.operator {
        SelectorOperator::In => format!("{}={values}", requirement.key),
        other => format!("{} {} {values}", requirement.key, other.name()).trim_end().to_owned(),
    };
    let have = node.labels.get(&requirement.key);
    (need, have.map(|value| value.to_string()).unwrap_or_else(|| String::from("absent")))
}

/// The first topology that the class allows, and what the node has.
fn topologies(of: &DelayedClaim, node: &Node) -> (String, String) {
    let requirements = of.class.allowed_topologies.iter().flat_map(|term| term.requirements.iter());
    let mut failing = requirements
        .filter(|(key, values)| !node.labels.get(key).is_some_and(|value| values.contains(value)));
    let Some((key, values)) = failing.next() else { return Default::default() };
    let values: Vec<&str> = values.iter().map(|value| value.as_str()).collect();
    let have = node.labels.get(key).map(|value| value.to_string()).unwrap_or_else(|| String::from("absent"));
    (format!("{key}={}", values.join(", ")), have)
}

/// The largest volume that the node can get of the class.
fn capacity(snapshot: &Snapshot, of: &DelayedClaim, node: &Node) -> String {
    let index = snapshot.index::<VolumeIndex>(&VolumeIndex::key());
    let class = index.and_then(|index| index.class(&of.claim.class));
    let reached = class.into_iter().flat_map(|class| class.capacities.all()).filter(|capacity| {
        let selector = capacity.topology.as_ref().and_then(|selector| selector.as_ref().ok());
        selector.is_some_and(|selector: &LabelSelector| selector.matches(&node.labels))
    });
    match reached.filter_map(|capacity| capacity.limit()).max() {
        Some(limit) => amount("storage", limit),
        None => String::from("no capacity is published for this node"),
    }
}
