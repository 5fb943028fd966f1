//! Counters that devices share, and devices that claims share.

use super::{Cluster, both, device, plain, request, same, some};
use bayplan_model::KubernetesVersion;
use serde_json::{Value, json};

/// A device that takes counters: `set`, `mem`.
fn taker(name: &str, set: &str, mem: &str) -> Value {
    device(name, json!({"consumesCounters": [{"counterSet": set, "counters": {"mem": {"value": mem}}}]}))
}

/// A pool with counter sets and devices.
fn partitions(c: Cluster, driver: &str, pool: &str, sets: &[(&str, &str)], devices: Vec<Value>) -> Cluster {
    let set = |(name, mem): &(&str, &str)| json!({"name": name, "counters": {"mem": {"value": mem}}});
    let sets: Vec<Value> = sets.iter().map(set).collect();
    let two = json!({"resourceSliceCount": 2});
    c.slice(
        &format!("{driver}-{pool}-0"),
        pool,
        vec![],
        json!({"driver": driver, "pool": two, "sharedCounters": sets}),
    )
    .slice(&format!("{driver}-{pool}-1"), pool, devices, json!({"driver": driver, "pool": two}))
}

#[test]
fn counters_are_shared_by_the_devices_of_a_pool() {
    let three = || vec![taker("d1", "cs", "5"), taker("d2", "cs", "4"), taker("d3", "cs", "4")];
    for (count, expected) in [(1, "x r p/d1"), (2, "x r p/d2, x r p/d3"), (3, "fails")] {
        same(expected, |c| {
            partitions(c, "d.ex", "p", &[("cs", "8")], three()).requests(vec![some("r", count)])
        });
    }
    let overdrawn = |c: Cluster, used: &str, mut devices: Vec<Value>| {
        devices.insert(0, taker("d1", "s2", "1"));
        let sets = [("s1", "18"), ("s2", "18")];
        partitions(c, "d.ex", "p", &sets, devices)
            .allocated("y", &[used], json!({}))
            .requests(vec![some("r", 1)])
    };
    let big = || taker("d2", "s1", "20");
    same("fails", |c| overdrawn(c, "p/d2", vec![big()]));
    same("x r p/d3", |c| overdrawn(c, "p/d2", vec![big(), device("d3", json!({}))]));
    same("x r p/d1", |c| overdrawn(c, "p/d2", vec![]));
    for version in KubernetesVersion::ALL {
        let mut off = Cluster::new(version);
        off.features.partitionable_devices = false;
        off.pool("p", vec![taker("a", "cs", "1"), device("b", json!({}))])
            .requests(vec![some("r", 1)])
            .says("x r p/b");
    }
}

#[test]
fn pools_of_two_drivers_have_their_own_counters() {
    let drivers = |c: Cluster| {
        let a = partitions(c, "a", "n1", &[("cs", "8")], vec![taker("a1", "cs", "4")]);
        let b = partitions(a, "b", "n1", &[("cs", "2")], vec![taker("b1", "cs", "4")]);
        b.class("a", json!({})).class("b", json!({}))
    };
    let named =
        |name: &str, device: &str| request(name, json!({"selectors": [{"cel": {"expression": device}}]}));
    let with_names = |c: Cluster, requests: Vec<Value>| {
        let mut cluster = drivers(c);
        for (driver, name) in [("a", "a1"), ("b", "b1")] {
            let mut of = taker(name, "cs", "4");
            of["attributes"] = json!({"d": {"string": driver}});
            let two = json!({"resourceSliceCount": 2});
            let more = json!({"driver": driver, "pool": two});
            cluster = cluster.slice(&format!("{driver}-n1-1"), "n1", vec![of], more);
        }
        cluster.requests(requests)
    };
    both(["x r0 n1/a1, x r1 n1/b1", "fails"], |c| {
        with_names(c, vec![named("r0", "d=a"), named("r1", "d=b")])
    });
    same("fails", |c| with_names(c, vec![named("r1", "d=b")]));
}

fn shareable(name: &str, capacity: Value) -> Value {
    device(name, json!({"allowMultipleAllocations": true, "capacity": capacity}))
}

fn of_memory(mem: &str) -> Value {
    json!({"capacity": {"requests": {"mem": mem}}})
}

fn claims(c: Cluster, requests: &[Value]) -> Cluster {
    let numbered = ["x", "y", "z"].into_iter().zip(requests);
    numbered.fold(c, |c, (name, request)| c.claim(name, json!({"requests": [request]})))
}

#[test]
fn claims_share_the_capacity_of_a_device() {
    let pool = |c: Cluster| c.pool("p", vec![shareable("d1", json!({"mem": {"value": "10Gi"}}))]);
    let four = || request("r", of_memory("4Gi"));
    same("fails", |c| claims(pool(c), &[some("r", 1), some("r", 1)]));
    same("x r p/d1, y r p/d1", |c| claims(pool(c), &[four(), four()]));
    same("fails", |c| claims(pool(c), &[four(), four(), four()]));
    let mut two = four();
    two["exactly"]["count"] = json!(2);
    same("fails", |c| claims(pool(c), &[two.clone()]));
    let used = json!({"shareID": "s", "consumedCapacity": {"mem": "7Gi"}});
    same("fails", |c| claims(pool(c).allocated("o", &["p/d1"], used.clone()), &[four()]));
    same("x r p/d1", |c| {
        claims(pool(c).allocated("o", &["p/d1"], used.clone()), &[request("r", of_memory("3Gi"))])
    });
    same("fails", |c| claims(pool(c), &[request("r", json!({"capacity": {"requests": {"cores": "1"}}}))]));
    for version in KubernetesVersion::ALL {
        let cluster = claims(pool(Cluster::new(version)), &[four(), four()]);
        let results = cluster.allocations();
        let result = |at: usize| results[at]["devices"]["results"][0].clone();
        assert_eq!(result(0)["consumedCapacity"], json!({"mem": "4Gi"}));
        let ids = [result(0)["shareID"].clone(), result(1)["shareID"].clone()];
        assert_ne!(ids[0], ids[1]);
        for id in ids {
            let parts: Vec<usize> = id.as_str().unwrap().split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12]);
        }
        let mut off = Cluster::new(version);
        off.features.consumable_capacity = false;
        claims(pool(off), &[four()]).says(
            "claim ns/x, request r: has capacity requests, but the DRAConsumableCapacity feature is disabled",
        );
        let mut off = Cluster::new(version);
        off.features.consumable_capacity = false;
        claims(pool(off).allocated("o", &["p/d1"], used.clone()), &[some("r", 1)]).says("fails");
    }
}

/// What a request of a device with a policy consumes in both versions.
fn consumes(policy: Value, amount: Option<&str>, fractions: bool) -> [String; 2] {
    KubernetesVersion::ALL.map(|version| {
        let capacity = json!({"mem": {"value": "1Ei", "requestPolicy": policy}});
        let mut cluster = Cluster::new(version).pool("p", vec![shareable("d1", capacity)]);
        cluster.features.fractional_capacity = fractions && version == KubernetesVersion::V1_37;
        let request = amount.map_or(some("r", 1), |mem| request("r", of_memory(mem)));
        let cluster = claims(cluster, &[request]);
        match cluster.allocations_on("N1") {
            Ok(allocations) => {
                let results = &allocations[0].devices.results;
                results[0].consumed_capacity.as_ref().unwrap()[&"mem".into()].to_string()
            }
            Err(_) => cluster.on("N1"),
        }
    })
}

#[test]
fn policies_round_up_what_is_requested() {
    let range = json!({"default": "2", "validRange": {"min": "2", "max": "6", "step": "2"}});
    for (amount, expected) in
        [(Some("1"), "2"), (Some("3"), "4"), (None, "2"), (Some("6"), "6"), (Some("7"), "fails")]
    {
        assert_eq!(consumes(range.clone(), amount, false), [expected; 2], "{amount:?}");
    }
    let values = json!({"default": "1", "validValues": ["1", "2", "4"]});
    for (amount, expected) in [("3", "4"), ("5", "fails"), ("2", "2")] {
        assert_eq!(consumes(values.clone(), Some(amount), false), [expected; 2], "{amount}");
    }
    let by_one = json!({"default": "1", "validRange": {"min": "1", "step": "1"}});
    assert_eq!(consumes(by_one.clone(), Some("2000"), false), ["2000", "2k"]);
    assert_eq!(consumes(by_one, Some("1024"), false), ["1Ki", "1024"]);
    let halves = json!({"default": "500m", "validRange": {"min": "500m", "step": "500m"}});
    assert_eq!(consumes(halves.clone(), Some("1200m"), false), ["2", "2"]);
    assert_eq!(consumes(halves.clone(), Some("1200m"), true), ["2", "1500m"]);
    assert_eq!(consumes(halves, Some("2"), true), ["2", "2"]);
}

#[test]
fn amounts_that_cannot_be_computed_are_errors() {
    let by_one = json!({"default": "1", "validRange": {"min": "1", "step": "1"}});
    let at = "claim ns/x, request r: checking capacity for device d.ex/p/d1: capacity \"mem\": ";
    let cannot = "capacity request cannot be represented in the device's range arithmetic: ";
    let said = &consumes(by_one, Some("18446744073709551616"), false)[1];
    assert_eq!(*said, format!("{at}{cannot}request 18446744073709551616 exceeds MaxInt64"));
    let by_two = json!({"default": "0", "validRange": {"min": "0", "step": "2"}});
    let said = &consumes(by_two, Some("9223372036854775807"), false)[1];
    let up = "up to the next step passes MaxInt64";
    assert_eq!(*said, format!("{at}{cannot}rounding request 9223372036854775807 {up}"));
    let tenths = json!({"default": "1", "validRange": {"min": "100m", "step": "100m"}});
    let said = &consumes(tenths, Some("9223372036854775807"), true)[1];
    assert_eq!(*said, format!("{at}{cannot}request 9223372036854775807 is not a representable milli value"));
    let said = consumes(json!({"default": "1"}), Some("-1"), false);
    assert_eq!(said, ["-1".to_owned(), format!("{at}capacity value is negative")]);
    // Steps of nothing do not stop the scheduler.
    let nothing = json!({"default": "1", "validRange": {"min": "1", "step": "0"}});
    assert_eq!(consumes(nothing, Some("5"), false), ["fails", "fails"]);
}

#[test]
fn all_counts_devices_that_are_used_up() {
    let all = |mem: &str| {
        let mut of = request("r", of_memory(mem));
        of["exactly"]["allocationMode"] = json!("All");
        of
    };
    let used = json!({"shareID": "s", "consumedCapacity": {"mem": "1"}});
    let pool = |c: Cluster| {
        let one = json!({"mem": {"value": "1"}});
        let small = json!({"mem": {"value": "500m"}});
        let devices = vec![shareable("d1", one.clone()), shareable("d2", one), shareable("d3", small)];
        c.pool("p", devices)
    };
    both(["x r p/d2", "fails"], |c| claims(pool(c).allocated("o", &["p/d1"], used.clone()), &[all("1")]));
    same("x r p/d1, x r p/d2", |c| claims(pool(c), &[all("1")]));
}

#[test]
fn shares_of_a_device_take_its_counters_once() {
    let mut d1 = taker("d1", "cs", "1");
    d1["allowMultipleAllocations"] = json!(true);
    let pool = |c: Cluster, d1: &Value| partitions(c, "d.ex", "p", &[("cs", "1")], vec![d1.clone()]);
    same("x r p/d1, y r p/d1", |c| claims(pool(c, &d1), &[some("r", 1), some("r", 1)]));
    let earlier = |c: Cluster| c.allocated("o", &["p/d1"], json!({"shareID": "s"}));
    both(["fails", "x r p/d1"], |c| claims(earlier(pool(c, &d1)), &[some("r", 1)]));
    let mut room = d1.clone();
    room["capacity"] = json!({"mem": {"value": "2"}});
    let share = json!({"shareID": "s", "consumedCapacity": {"mem": "1"}});
    same("x r p/d1", |c| {
        claims(pool(c, &room).allocated("o", &["p/d1"], share.clone()), &[request("r", of_memory("1"))])
    });
}

#[test]
fn without_shares_and_conditions_less_is_known() {
    for version in KubernetesVersion::ALL {
        let stable = || {
            let mut cluster = Cluster::new(version);
            cluster.features.consumable_capacity = false;
            cluster.features.binding_conditions = false;
            cluster
        };
        let distinct = json!({"requests": [some("r", 1)], "constraints": [{"distinctAttribute": "d.ex/a"}]});
        let empty = "claim ns/x, constraint #0: empty constraint (unsupported constraint type?)";
        stable().pool("p", plain(&["a"])).claim("x", distinct).says(empty);
        stable().pool("p", plain(&["a"])).requests(vec![request("r", of_memory("4Gi"))]).says("x r p/a");
        let conditions = device("a", json!({"bindingConditions": ["ready"]}));
        stable()
            .pool("p", vec![conditions, device("b", json!({}))])
            .requests(vec![some("r", 1)])
            .says("x r p/b");
    }
}
