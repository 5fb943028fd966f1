//! The allocator against a search that tries everything in order, and looks at all devices picked so far each time. It reads
//! the JSON of the cluster, and knows nothing of the allocator. As 1.37.

use super::{Cluster, request, selectors};
use bayplan_model::KubernetesVersion;
use bayplan_model::testing::Random;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct World {
    /// Pool and device, in the order in which they are tried: pools with binding conditions are last.
    devices: Vec<(String, Value)>,
    /// Whether the devices of the pool `q` name their nodes, which may be others.
    spread: bool,
    /// Devices by name that a claim has, and whether it is a share that takes 1.
    allocated: Vec<(String, bool)>,
    claims: Vec<(String, Value)>,
}

/// A device for a request: claim, name of the request, alternative, request, device.
#[derive(Clone, Debug)]
struct Pick<'w> {
    claim: usize,
    request: &'w str,
    alternative: Option<&'w str>,
    of: &'w Value,
    pool: &'w str,
    device: &'w Value,
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

impl Pick<'_> {
    fn name(&self) -> &str {
        text(self.device, "name")
    }
    fn shared(&self) -> bool {
        self.device["allowMultipleAllocations"] == json!(true)
    }
    fn admin(&self) -> bool {
        self.of["adminAccess"] == json!(true)
    }
    fn full(&self) -> String {
        let of = self.alternative.map(|of| format!("/{of}")).unwrap_or_default();
        format!("{}{of}", self.request)
    }
    fn concerned(&self, constraint: &Value) -> bool {
        let Some(names) = constraint["requests"].as_array() else { return true };
        names.iter().any(|name| *name == json!(self.request) || *name == json!(self.full()))
    }
    fn takes(&self) -> i64 {
        takes(self.of, self.device).unwrap_or(0)
    }
}

fn number(value: &Value) -> Option<i64> {
    value.as_str().map(|value| value.parse().unwrap())
}

fn capacity(device: &Value) -> Option<i64> {
    number(&device["capacity"]["mem"]["value"])
}

/// What the request takes of a device that it does not fill; `None`: the device has no such part.
fn takes(of: &Value, device: &Value) -> Option<i64> {
    let policy = &device["capacity"]["mem"]["requestPolicy"];
    let (default, requested) = (number(&policy["default"]), number(&of["capacity"]["requests"]["mem"]));
    let Some(requested) = requested else { return Some(default.or(capacity(device)).unwrap_or(0)) };
    let range = &policy["validRange"];
    if let (Some(min), Some(max), Some(step)) =
        (number(&range["min"]), number(&range["max"]), number(&range["step"]))
    {
        let rounded = (min..).step_by(step as usize).find(|part| *part >= requested).unwrap();
        return (rounded <= max).then_some(rounded);
    }
    match policy["validValues"].as_array() {
        Some(values) => values.iter().filter_map(number).find(|part| *part >= requested),
        None => Some(requested),
    }
}

/// The counters that pools have, with what there is of each.
const COUNTERS: [(&str, i64); 2] = [("n", 6), ("m", 3)];

/// What a device consumes of each.
fn counters(device: &Value) -> [i64; 2] {
    COUNTERS.map(|(name, _)| number(&device["consumesCounters"][0]["counters"][name]["value"]).unwrap_or(0))
}

/// Whether the device is for the node.
fn is_reached(device: &Value) -> bool {
    device["nodeName"].as_str().is_none_or(|node| node == "N1")
}

enum Verdict {
    Good,
    Bad,
    Broken,
}

impl World {
    /// Whether the last pick is allowed after the others.
    ///
    /// `all`: it is one of the devices of `All`, whose capacities are evaluated last.
    fn judge(&self, picks: &[Pick<'_>], all: bool) -> Verdict {
        let (last, before) = picks.split_last().unwrap();
        let name = last.name();
        let held = self.allocated.iter().filter(|(of, _)| of == name);
        let dedicated = held.clone().any(|(_, share)| !share);
        let same = before.iter().filter(|pick| pick.name() == name && pick.pool == last.pool);
        let taken = match last.admin() {
            true => same.clone().any(|pick| pick.claim == last.claim && !pick.shared()),
            false => dedicated || same.clone().any(|pick| !pick.shared()),
        };
        if taken || !self.selects(last.of, last.device) {
            return Verdict::Bad;
        }
        let has_capacity = match (capacity(last.device), takes(last.of, last.device)) {
            (None, _) => !last.of["capacity"].is_object(),
            (Some(_), None) => false,
            (Some(value), Some(part)) => {
                let shares = held.clone().filter(|(_, share)| *share).count() as i64;
                let picked: i64 = same.clone().filter(|pick| pick.shared()).map(Pick::takes).sum();
                shares + picked + part <= value
            }
        };
        if !all && !has_capacity {
            return Verdict::Bad;
        }
        // The first share of a device takes its counters.
        let accounted =
            last.shared() && (held.clone().any(|(_, share)| *share) || same.clone().next().is_some());
        if counters(last.device) != [0, 0] && !accounted && !self.counters_suffice(picks) {
            return Verdict::Bad;
        }
        let tolerates = last.of["tolerations"].is_array();
        if last.device["taints"].is_array() && !tolerates {
            return Verdict::Bad;
        }
        let constraints = self.claims[last.claim].1["constraints"].as_array();
        for constraint in constraints.into_iter().flatten().filter(|of| last.concerned(of)) {
            let of_claim = picks.iter().filter(|pick| pick.claim == last.claim && pick.concerned(constraint));
            let values = of_claim.map(|pick| &pick.device["attributes"]["color"]["string"]);
            let values: Vec<&Value> = values.collect();
            let same = values.iter().all(|value| *value == values[0]);
            let mut all = values.iter().map(|value| value.to_string()).collect::<Vec<_>>();
            all.sort();
            all.dedup();
            let holds = match constraint["matchAttribute"].is_string() {
                true => same,
                false => all.len() == values.len(),
            };
            if !holds || values.iter().any(|value| value.is_null()) {
                return Verdict::Broken;
            }
        }
        if has_capacity { Verdict::Good } else { Verdict::Bad }
    }

    fn selects(&self, of: &Value, device: &Value) -> bool {
        let size = &device["attributes"]["size"]["string"];
        let expression = of["selectors"][0]["cel"]["expression"].as_str();
        let wanted = expression.and_then(|expression| expression.strip_prefix("size="));
        let of_class = of["deviceClassName"] != json!("big") || *size == json!("big");
        of_class && wanted.is_none_or(|wanted| *size == json!(wanted)) && is_reached(device)
    }

    /// Whether the counters suffice for the devices that are allocated or picked.
    fn counters_suffice(&self, picks: &[Pick<'_>]) -> bool {
        let pool = picks.last().unwrap().pool;
        let of_pool = self.devices.iter().filter(|(of, _)| of == pool).map(|(_, device)| device);
        let is_held = |device: &Value| self.allocated.iter().any(|(of, _)| of == text(device, "name"));
        let mut taken: Vec<[i64; 2]> = of_pool.filter(|device| is_held(device)).map(counters).collect();
        let mut shared = BTreeMap::new();
        for pick in picks.iter().filter(|pick| pick.pool == pool) {
            match pick.shared() {
                false => taken.push(counters(pick.device)),
                true if self.allocated.iter().any(|(of, share)| of == pick.name() && *share) => {}
                true => drop(shared.insert(pick.name().to_owned(), counters(pick.device))),
            }
        }
        taken.extend(shared.into_values());
        (0..COUNTERS.len()).all(|at| taken.iter().map(|all| all[at]).sum::<i64>() <= COUNTERS[at].1)
    }

    /// The devices that `All` means.
    fn all(&self, of: &Value) -> Vec<usize> {
        let fits = |device: &Value| match (capacity(device), takes(of, device)) {
            (None, _) => !of["capacity"].is_object(),
            (Some(value), part) => part.is_some_and(|part| part <= value),
        };
        let selected = |at: &usize| self.selects(of, &self.devices[*at].1) && fits(&self.devices[*at].1);
        (0..self.devices.len()).filter(selected).collect()
    }

    /// All slots of the claim from a request on, one after the other. `Err`: an error.
    fn solve<'w>(&'w self, claim: usize, request: usize, picks: &mut Vec<Pick<'w>>) -> Result<bool, ()> {
        let Some((_, spec)) = self.claims.get(claim) else { return Ok(true) };
        let Some(of) = spec["requests"].get(request) else { return self.solve(claim + 1, 0, picks) };
        let name = text(of, "name");
        match of["firstAvailable"].as_array() {
            None => self.fill((claim, request, name, None, &of["exactly"]), 0, 0, picks),
            Some(alternatives) => {
                for of in alternatives {
                    if self.fill((claim, request, name, Some(text(of, "name")), of), 0, 0, picks)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    fn fill<'w>(
        &'w self,
        slot: (usize, usize, &'w str, Option<&'w str>, &'w Value),
        have: usize,
        from: usize,
        picks: &mut Vec<Pick<'w>>,
    ) -> Result<bool, ()> {
        let (claim, request, name, alternative, of) = slot;
        let all = (of["allocationMode"] == json!("All")).then(|| self.all(of));
        let count = all.as_ref().map_or(of["count"].as_u64().unwrap_or(1) as usize, Vec::len);
        if count == 0 {
            return Ok(false);
        }
        if have == count {
            return self.solve(claim, request + 1, picks);
        }
        let choices = match &all {
            Some(all) => vec![all[have]],
            None => (from..self.devices.len()).collect(),
        };
        for at in choices {
            let (pool, device) = &self.devices[at];
            picks.push(Pick { claim, request: name, alternative, of, pool, device });
            match self.judge(picks, all.is_some()) {
                Verdict::Good if self.fill(slot, have + 1, at + 1, picks)? => return Ok(true),
                Verdict::Broken if all.is_some() => return Err(()),
                _ => {}
            }
            picks.pop();
        }
        Ok(false)
    }

    fn says(&self) -> Option<String> {
        let mut picks = Vec::new();
        Some(match self.solve(0, 0, &mut picks) {
            Err(()) => return None,
            Ok(false) => String::from("fails"),
            Ok(true) => {
                let word = |pick: &Pick<'_>| {
                    let claim = &self.claims[pick.claim].0;
                    format!("{claim} {} {}/{}", pick.full(), pick.pool, pick.name())
                };
                picks.iter().map(word).collect::<Vec<_>>().join(", ")
            }
        })
    }

    fn cluster(&self) -> Cluster {
        let mut cluster = Cluster::new(KubernetesVersion::V1_37);
        for pool in ["p", "q"] {
            let of = self.devices.iter().filter(|(of, _)| of == pool).map(|(_, device)| device.clone());
            let two = json!({"resourceSliceCount": 2});
            let [(n, all_n), (m, all_m)] =
                COUNTERS.map(|(name, all)| (name, json!({"value": all.to_string()})));
            let counters = json!([{"name": "cs", "counters": {n: all_n, m: all_m}}]);
            let (mut shared, mut own) =
                (json!({"sharedCounters": counters, "pool": two}), json!({"pool": two}));
            if self.spread && pool == "q" {
                shared["allNodes"] = json!(true);
                own["perDeviceNodeSelection"] = json!(true);
            }
            cluster = cluster.slice(&format!("{pool}0"), pool, vec![], shared).slice(
                &format!("{pool}1"),
                pool,
                of.collect(),
                own,
            );
        }
        cluster = cluster.class("big", selectors(&["size=big"]));
        for (number, (name, share)) in self.allocated.iter().enumerate() {
            let pool = &self.devices.iter().find(|(_, device)| text(device, "name") == name).unwrap().0;
            let more = match share {
                true => json!({"shareID": "s", "consumedCapacity": {"mem": "1"}}),
                false => json!({}),
            };
            cluster = cluster.allocated(&format!("held{number}"), &[&format!("{pool}/{name}")], more);
        }
        self.claims.iter().fold(cluster, |cluster, (name, spec)| cluster.claim(name, spec.clone()))
    }

    fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut pick = |count: usize| random.below(count);
        let mut devices: Vec<(String, Value)> = Vec::new();
        let mut allocated = Vec::new();
        let spread = pick(3) == 0;
        for at in 0..2 + pick(5) {
            let pool = if at < 3 { "p" } else { "q" };
            let name = format!("d{at}");
            let mut device = json!({"name": name, "attributes": {
                "size": {"string": (["big", "small"][pick(2)])},
                "color": {"string": (["red", "blue", "green"][pick(3)])},
            }});
            if pick(8) == 0 {
                device["attributes"].as_object_mut().unwrap().remove("color");
            }
            if pick(2) == 0 {
                device["capacity"] = json!({"mem": {"value": (1 + pick(4)).to_string()}});
            }
            let shared = pick(3) == 0;
            if shared {
                device["allowMultipleAllocations"] = json!(true);
                // Drivers set policies on shared devices alone.
                if device["capacity"].is_object() && pick(2) == 0 {
                    device["capacity"]["mem"]["requestPolicy"] = match pick(2) {
                        0 => json!({"default": "1", "validRange": {"min": "1", "max": "3", "step": "2"}}),
                        _ => json!({"default": "2", "validValues": ["2", "4"]}),
                    };
                }
            }
            if pick(2) == 0 {
                let mut counters = json!({"n": {"value": (1 + pick(4)).to_string()}});
                if pick(2) == 0 {
                    counters["m"] = json!({"value": (1 + pick(2)).to_string()});
                }
                device["consumesCounters"] = json!([{"counterSet": "cs", "counters": counters}]);
            }
            if pick(6) == 0 {
                device["bindingConditions"] = json!(["ready"]);
            }
            match pick(3) {
                _ if !spread || pool == "p" => {}
                0 => device["allNodes"] = json!(true),
                at => device["nodeName"] = json!(["N1", "N2"][at - 1]),
            }
            if pick(6) == 0 {
                device["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
            }
            if pick(6) == 0 {
                allocated.push((name, shared));
            }
            devices.push((pool.to_owned(), device));
        }
        let prepares = |pool: &str| {
            let mut of_pool = devices.iter().filter(|(of, _)| of == pool);
            of_pool.any(|(_, device)| device["bindingConditions"].is_array())
        };
        if prepares("p") && !prepares("q") {
            devices.sort_by_key(|(pool, _)| pool == "p");
        }
        let mut claims = Vec::new();
        for claim in 0..1 + pick(2) {
            let mut requests = Vec::new();
            for number in 0..1 + pick(2) {
                let mut of = |in_list: bool| {
                    let mut of = match pick(3) {
                        0 => selectors(&[["size=big", "size=small"][pick(2)]]),
                        _ => json!({}),
                    };
                    match pick(6) {
                        0 => of["allocationMode"] = json!("All"),
                        _ => of["count"] = json!(1 + pick(3)),
                    }
                    if pick(4) == 0 {
                        of["capacity"] = json!({"requests": {"mem": (1 + pick(2)).to_string()}});
                    }
                    if pick(4) == 0 {
                        of["tolerations"] = json!([{"operator": "Exists"}]);
                    }
                    if pick(8) == 0 && !in_list {
                        of["adminAccess"] = json!(true);
                    }
                    of["deviceClassName"] = json!((["c", "c", "big"][pick(3)]));
                    of
                };
                let exactly = of(false);
                let list = [("a", of(true)), ("b", of(true))];
                let name = format!("r{number}");
                requests.push(match pick(3) {
                    0 => {
                        let list = list.map(|(name, mut of)| {
                            of["name"] = json!(name);
                            of
                        });
                        json!({"name": name, "firstAvailable": list})
                    }
                    _ => request(&name, exactly),
                });
            }
            let mut spec = json!({"requests": requests});
            let constraints = (0..[0, 0, 1, 1, 2][pick(5)]).map(|_| {
                let mut constraint = match pick(2) {
                    0 => json!({"matchAttribute": "d.ex/color"}),
                    _ => json!({"distinctAttribute": "d.ex/color"}),
                };
                if pick(2) == 0 {
                    constraint["requests"] = json!([(["r0", "r0/a", "r1"][pick(3)])]);
                }
                constraint
            });
            spec["constraints"] = constraints.collect();
            claims.push((format!("c{claim}"), spec));
        }
        Self { devices, spread, allocated, claims }
    }
}

#[test]
fn the_first_solution_is_that_of_a_slow_search() {
    let mut outcomes = BTreeMap::new();
    for seed in 0..800 {
        let world = World::random(seed);
        let cluster = world.cluster();
        let said = cluster.on("N1");
        let outcome = match world.says() {
            Some(expected) => {
                assert_eq!(said, expected, "seed {seed}: {world:#?}");
                if expected == "fails" { "fails" } else { "found" }
            }
            None => {
                assert!(said.contains("constraint would not be satisfied"), "seed {seed}: {said} {world:#?}");
                "error"
            }
        };
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    assert!(outcomes.len() == 3 && outcomes.values().all(|count| *count > 25), "{outcomes:?}");
}
