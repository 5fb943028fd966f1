//! The pools of nodes against their definition, which looks at all slices on every node; and an allocator that serves many
//! nodes against one for each node.

use super::{Attributes, Cluster, node, request, selectors};
use crate::gather::Gather;
use crate::node_choice::{chooses, is_made};
use crate::pools::{PoolState, Slice, order};
use crate::{Allocator, AllocatorFeatures, Claims, NotAllocated};
use bayplan_model::objects::devices::Allocation;
use bayplan_model::testing::Random;
use bayplan_model::{DeviceIndex, Duration, KubernetesVersion, Node, VersionRow};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Pool, state, and its slices with devices for the node; with counters also those with devices for other nodes.
type Seen = (String, PoolState, Vec<String>, Vec<String>);

fn names(slices: &[Slice<'_>]) -> Vec<String> {
    slices.iter().map(|slice| slice.metadata.name.to_string()).collect()
}

/// Whether a slice counts on a node.
fn counts(slice: Slice<'_>, node: &Node, features: &AllocatorFeatures) -> Result<bool, String> {
    let shares = !slice.shared_counters.is_empty();
    if !features.partitionable_devices && (slice.per_device.is_some() || shares) || ignored(slice, features) {
        return Ok(false);
    }
    if shares && features.counters_everywhere() {
        return Ok(true);
    }
    let name = &slice.metadata.name;
    if is_made(&slice.nodes) {
        let error = |error| format!("failed to perform node selection for slice {name}: {error}");
        return chooses(&slice.nodes, node).map_err(error);
    }
    let mut counts = false;
    for device in slice.devices.iter().filter(|_| slice.per_device == Some(true)) {
        counts |= chooses(&device.nodes, node)?;
    }
    Ok(counts)
}

fn ignored(slice: Slice<'_>, features: &AllocatorFeatures) -> bool {
    let mut consumed = slice.devices.iter().flat_map(|device| &device.consumes_counters);
    features.has(VersionRow::NewDeviceFields) && consumed.any(|of| !of.compatibility_groups.is_empty())
}

/// The pools of a node. Those that are whole and without devices for it make no difference.
fn defined(index: &DeviceIndex, features: &AllocatorFeatures, node: &Node) -> Result<Vec<Seen>, String> {
    let mut by_pool: BTreeMap<_, Vec<Slice<'_>>> = BTreeMap::new();
    for slice in index.pools().flat_map(|pool| pool.slices()) {
        if counts(slice, node, features)? {
            by_pool.entry(&slice.pool).or_default().push(slice);
        }
    }
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for (id, mut slices) in by_pool {
        slices.sort_by(order);
        let (generation, count) = (slices[0].generation, slices[0].slice_count);
        slices.retain(|slice| slice.generation == generation);
        let mut elsewhere: Vec<Slice<'_>> = Vec::new();
        let mut state = PoolState::Whole;
        if slices.len() as i64 != count {
            let all: Vec<Slice<'_>> = index.pool(id).collect();
            if all.iter().any(|slice| slice.generation > generation) {
                continue;
            }
            let others = all.into_iter().filter(|slice| slice.generation == generation);
            let others = others.filter(|slice| !ignored(slice, features));
            elsewhere = others.filter(|slice| !slices.contains(slice)).collect();
            if (slices.len() + elsewhere.len()) as i64 != count {
                state = PoolState::Incomplete;
            }
        }
        let shares = |slice: &Slice<'_>| features.partitionable_devices && !slice.shared_counters.is_empty();
        let (counters, mut slices): (Vec<_>, Vec<_>) = slices.into_iter().partition(shares);
        let (more, mut elsewhere): (Vec<_>, Vec<_>) = elsewhere.into_iter().partition(shares);
        let mut sets = BTreeMap::new();
        let mut is_valid = true;
        for set in counters.into_iter().chain(more).flat_map(|slice| slice.shared_counters.iter()) {
            is_valid &= sets.insert(&set.name, set).is_none() || !features.partitionable_devices;
        }
        let mut known = BTreeSet::new();
        is_valid &=
            slices.iter().flat_map(|slice| slice.devices.iter()).all(|device| known.insert(&device.name));
        let all = slices.iter().chain(&elsewhere).flat_map(|slice| slice.devices.iter());
        for consumed in all.flat_map(|device| &device.consumes_counters) {
            let has = sets.get(&consumed.counter_set);
            let has =
                has.is_some_and(|set| consumed.counters.keys().all(|name| set.counters.contains_key(name)));
            is_valid &= has || !features.partitionable_devices;
        }
        if state == PoolState::Whole && !is_valid {
            state = PoolState::Invalid;
        }
        if state != PoolState::Whole {
            slices.clear();
        } else if slices.iter().all(|slice| slice.devices.is_empty()) {
            continue;
        }
        if state != PoolState::Whole || sets.is_empty() {
            elsewhere.clear();
        }
        let mut devices = slices.iter().flat_map(|slice| slice.devices.iter());
        let into =
            if devices.any(|device| !device.binding_conditions.is_empty()) { &mut last } else { &mut first };
        into.push((id.to_string(), state, names(&slices), names(&elsewhere)));
    }
    first.extend(last);
    Ok(first)
}

fn found(gather: &mut Gather<'_>, node: &Node) -> Result<Vec<Seen>, String> {
    let pools = gather.pools(node)?;
    let pools = pools.iter().filter(|pool| {
        pool.state != PoolState::Whole || pool.slices.iter().any(|slice| !slice.devices.is_empty())
    });
    let seen = pools.map(|pool| {
        let elsewhere = if pool.counters.is_empty() { Vec::new() } else { names(&pool.elsewhere) };
        (pool.id.to_string(), pool.state, names(&pool.slices), elsewhere)
    });
    Ok(seen.collect())
}

/// What a slice chooses nodes by; `None`: its devices do.
fn choice(random: &mut Random) -> Option<Value> {
    let operator = if random.below(60) == 0 { "Bad" } else { ["In", "NotIn"][random.below(2)] };
    let value = ["a", "b"][random.below(2)];
    let zone = json!({"key": "zone", "operator": operator, "values": [value]});
    Some(match random.below(10) {
        0..4 => json!({"nodeName": format!("N{}", random.below(3))}),
        4..6 => json!({"allNodes": true}),
        6..9 => json!({"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}),
        _ => return None,
    })
}

fn world(random: &mut Random, version: KubernetesVersion) -> Cluster {
    let mut cluster = Cluster::new(version);
    cluster.features.partitionable_devices = random.below(6) > 0;
    let more_pools = 1 + random.below(4);
    for at in 0..1 + random.below(8) {
        let most = 2 + random.below(2);
        let count = 1 + random.below(most);
        let pool = json!({"generation": 1 + random.below(8) / 7, "resourceSliceCount": count});
        let mut more = json!({"pool": pool});
        let chosen = choice(random);
        let by_device = chosen.is_none();
        match chosen {
            Some(chosen) => more.as_object_mut().unwrap().extend(chosen.as_object().unwrap().clone()),
            None => more["perDeviceNodeSelection"] = json!(true),
        }
        if random.below(5) == 0 {
            let name = format!("cs{}", random.below(2));
            more["sharedCounters"] = json!([{"name": name, "counters": {"n": {"value": "6"}}}]);
        }
        let mut devices = Vec::new();
        for number in 0..random.below(5) {
            let number = if random.below(12) == 0 { 0 } else { at * 10 + number };
            let color = ["red", "blue"][random.below(2)];
            let mut device =
                json!({"name": format!("d{number}"), "attributes": {"color": {"string": color}}});
            if random.below(8) == 0 {
                let amount = json!({"n": {"value": "2"}});
                device["consumesCounters"] = json!([{"counterSet": "cs0", "counters": amount}]);
                if random.below(6) == 0 {
                    device["consumesCounters"][0]["compatibilityGroups"] = json!(["g"]);
                }
            }
            if random.below(12) == 0 {
                device["bindingConditions"] = json!(["ready"]);
            }
            if random.below(8) == 0 {
                device["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
            }
            if random.below(8) == 0 {
                device["allowMultipleAllocations"] = json!(true);
            }
            if by_device {
                device["nodeName"] = json!(format!("N{}", random.below(3)));
            }
            devices.push(device);
        }
        let pool = format!("p{}", random.below(more_pools));
        if random.below(3) == 0 && !devices.is_empty() {
            let name = devices[random.below(devices.len())]["name"].as_str().unwrap().to_owned();
            let share = match random.below(4) {
                0 => json!({"shareID": "s"}),
                _ => json!({}),
            };
            cluster = cluster.allocated(&format!("held{at}"), &[&format!("{pool}/{name}")], share);
        }
        cluster = cluster.slice(&format!("s{at}"), &pool, devices, more);
    }
    let mut requests = Vec::new();
    for at in 0..1 + random.below(2) {
        let mut of = match random.below(3) {
            0 => selectors(&[["color=red", "color=blue"][random.below(2)]]),
            _ => json!({}),
        };
        match random.below(8) {
            0 => of["allocationMode"] = json!("All"),
            _ => of["count"] = json!(1 + random.below(3)),
        }
        if random.below(8) == 0 {
            of["adminAccess"] = json!(true);
        }
        requests.push(request(&format!("r{at}"), of));
    }
    let mut spec = json!({"requests": requests});
    if random.below(3) == 0 {
        spec["constraints"] = json!([{"matchAttribute": "d.ex/color"}]);
    }
    cluster.claim("x", spec)
}

fn given<'a>(
    allocator: &mut Allocator<'a>,
    claims: &mut Claims<'a>,
    (node, timeout): (&Node, Duration),
) -> Result<Vec<Allocation>, NotAllocated> {
    allocator.allocate(node, claims, timeout)?.allocations()
}

#[test]
fn nodes_share_what_is_the_same_for_them() {
    let nodes: Vec<Arc<Node>> = (0..3)
        .map(|at| node(&format!("N{at}")).label("zone", ["a", "b", "a"][at]).build())
        .chain([node("elsewhere").label("zone", "b").build(), node("bare").build()])
        .collect();
    let mut outcomes = BTreeMap::new();
    for seed in 0..1_500 {
        let mut random = Random(seed);
        let version = KubernetesVersion::ALL[random.below(2)];
        let cluster = world(&mut random, version);
        let (index, features) = (cluster.index(), cluster.features);
        let mut gather = Gather::new(index, features);
        let new = || Allocator::new(&cluster.snapshot, index, features, &Attributes);
        let (mut allocator, mut claims) = (new(), cluster.wanted());
        for node in &nodes {
            let (said, expected) = (found(&mut gather, node), defined(index, &features, node));
            match (&said, &expected) {
                // Which of several wrong selectors is named depends on the order.
                (Err(_), Err(_)) => {}
                _ => assert_eq!(said, expected, "seed {seed} {version} {}", node.name),
            }
            let alone = given(&mut new(), &mut cluster.wanted(), (node, cluster.timeout));
            let together = given(&mut allocator, &mut claims, (node, cluster.timeout));
            assert_eq!(together, alone, "seed {seed} {version}");
            let outcome = match alone {
                Ok(_) => "found",
                Err(NotAllocated::Error(_)) => "error",
                Err(NotAllocated::InvalidPools) => "invalid",
                Err(_) => "none",
            };
            *outcomes.entry(outcome).or_insert(0) += 1;
        }
    }
    assert!(outcomes.len() == 4 && outcomes.values().all(|count| *count > 25), "{outcomes:?}");
}

/// Steps are counted as if nothing had been learned on the node before.
#[test]
fn what_was_learned_costs_as_many_steps() {
    for version in KubernetesVersion::ALL {
        let names: Vec<String> = (0..3_000).map(|at| format!("d{at:04}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut cluster = Cluster::new(version)
            .slice("s", "p", super::plain(&names), json!({"allNodes": true}))
            .requests(vec![super::some("r", 1)]);
        for (at, held) in names[..2_999].chunks(32).enumerate() {
            let held: Vec<String> = held.iter().map(|name| format!("p/{name}")).collect();
            let held: Vec<&str> = held.iter().map(String::as_str).collect();
            cluster = cluster.allocated(&format!("held{at}"), &held, json!({}));
        }
        let nodes = ["N1", "N2", "N3"].map(|name| node(name).build());
        let mut steps = Vec::new();
        for milliseconds in 0..4 {
            let timeout = Duration::from_millis(milliseconds);
            let mut allocator = cluster.allocator(cluster.index());
            let mut claims = cluster.wanted();
            let said = nodes.each_ref().map(|node| allocator.allocate(node, &mut claims, timeout).is_ok());
            assert!(said.iter().all(|of| *of == said[0]));
            steps.push(said[0]);
        }
        assert_eq!(steps, [true, false, true, true], "{version}: 0 does not limit");
    }
}
