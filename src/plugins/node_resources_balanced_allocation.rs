//! Prefers nodes whose use of resources the pod makes more even.
//!
//! Source: `pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go` of Kubernetes 1.36, which compares the
//! deviation with and without the pod. Only `+ - * / sqrt`, so that every machine computes the same.

use super::resource_allocation::{self as allocation, Amounts, Behind, OfClasses, Weighted};
use bayplan_devices::DeviceSelectors;
use bayplan_framework::{
    ArgsError, Feasible, Features, Field, Handle, Need, Plugin, PreScore, PreScoreOutcome, Reads, Score,
    StateSlot, Status, Tree,
};
use bayplan_model::{Index, IndexKey, Kinds, NodeInfo, NodeSet, bits, blocks_mut};
use smallvec::SmallVec;
use std::sync::Arc;

struct NodeResourcesBalancedAllocation {
    resources: Vec<Weighted>,
    /// Of classes of devices that may stand for some of the resources.
    selectors: Option<Arc<DeviceSelectors>>,
}

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let mut errors = Vec::new();
    let fields = Field::root(args).object(&["apiVersion", "kind", "resources"], &mut errors);
    let weight = |field: &Field, weight: i64| (weight != 1).then(|| field.error("must be 1"));
    let resources = allocation::read(fields.get("resources"), weight, &mut errors);
    let resources = resources.unwrap_or_else(allocation::cpu_and_memory);
    let selectors = allocation::selectors(&resources, features);
    let plugin = NodeResourcesBalancedAllocation { resources, selectors };
    if errors.is_empty() { Ok(Arc::new(plugin)) } else { Err(errors) }
}

/// 100 for even use, down to 50: from the shares of the resources that are used.
#[inline]
fn evenness(shares: &[f64]) -> i64 {
    let deviation = match shares {
        [] | [_] => 0.0,
        [a, b] => ((a - b) / 2.0).abs(),
        _ => {
            let count = shares.len() as f64;
            let mean = shares.iter().sum::<f64>() / count;
            let mut squares = 0.0;
            for share in shares {
                squares += (share - mean) * (share - mean);
            }
            (squares / count).sqrt()
        }
    };
    ((1.0 - deviation) * 100.0) as i64
}

/// The share of a node that is used.
#[inline]
fn share(used: i64, capacity: i64) -> f64 {
    (used as f64 / capacity as f64).min(1.0)
}

/// The score from the evenness with the pod and without it.
#[inline]
fn compare(with: i64, without: i64) -> i64 {
    50 + (50 + with - without) / 2
}

/// The score from capacity, use without the pod, and request of the pod, of each resource that counts.
fn score(parts: impl Iterator<Item = (i64, i64, i64)>) -> i64 {
    let mut with: SmallVec<[f64; 4]> = SmallVec::new();
    let mut without: SmallVec<[f64; 4]> = SmallVec::new();
    for (capacity, used, of_pod) in parts {
        with.push(share(used.saturating_add(of_pod), capacity));
        without.push(share(used, capacity));
    }
    compare(evenness(&with), evenness(&without))
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &str {
        "NodeResourcesBalancedAllocation"
    }
    fn reads(&self) -> Reads {
        let kinds = Kinds::PODS_REQUESTS.with(Kinds::ALLOCATABLE);
        match self.selectors {
            // Slices may choose nodes by labels.
            Some(_) => Reads { any_label: true, ..Reads::of(kinds.with(Kinds::DEVICES).with(Kinds::LABELS)) },
            None => Reads::of(kinds),
        }
    }
    fn kinds(&self) -> &'static [Need] {
        self.behind().kinds()
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        self.behind().indexes()
    }
    bayplan_framework::serves!(PreScore, Score);
}

impl PreScore for NodeResourcesBalancedAllocation {
    fn pre_score(&self, h: &Handle, _: &Feasible, _: &mut StateSlot) -> Result<PreScoreOutcome, Status> {
        let asks = |resource: &Weighted| Amounts::Requested.of_pod(h.pod, &resource.name) != 0;
        Ok(if self.resources.iter().any(asks) { PreScoreOutcome::Score } else { PreScoreOutcome::Skip })
    }
}

impl NodeResourcesBalancedAllocation {
    fn behind(&self) -> Behind {
        if self.selectors.is_some() { Behind::Devices } else { Behind::Nothing }
    }

    fn devices<'a>(&'a self, h: &Handle<'a>) -> Option<OfClasses<'a>> {
        OfClasses::of(h, &self.resources, self.selectors.as_ref())
    }

    fn score_on(&self, h: &Handle, node: NodeInfo, devices: Option<&OfClasses>) -> i64 {
        score(self.resources.iter().filter_map(|Weighted { name, .. }| {
            let of_pod = Amounts::Requested.of_pod(h.pod, name);
            let (capacity, used) = Amounts::Requested.of_node(node, name, of_pod, devices)?;
            Some((capacity, used, of_pod))
        }))
    }
}

impl Score for NodeResourcesBalancedAllocation {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        Ok(self.score_on(h, node, self.devices(h).as_ref()))
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        if let Some(devices) = self.devices(h) {
            allocation::score_each(h, nodes, out, |node| self.score_on(h, node, Some(&devices)));
            return Ok(());
        }
        let columns = allocation::columns(h, Amounts::Requested, &self.resources);
        for (word, rows, out) in blocks_mut(nodes, out) {
            // Two resources are the default and worth a way of their own.
            let two = if columns.len() == 2 { allocation::blocks(&columns, word) } else { None };
            if let Some([a, b]) = two.as_deref() {
                score_two(a, b, out);
                continue;
            }
            for bit in bits(rows) {
                let row = word * 64 + bit;
                out[bit] = score(columns.iter().filter_map(|column| {
                    let (capacity, used) = (*column.allocatable.get(row)?, *column.requested.get(row)?);
                    (capacity != 0).then_some((capacity, used, column.of_pod))
                }));
            }
        }
        Ok(())
    }
}

/// [`score`] of 64 nodes by two resources: the same operations on the same floats, for several nodes at a time.
fn score_two(a: &allocation::Block<'_>, b: &allocation::Block<'_>, out: &mut [i64; 64]) {
    let share = |used: i64, capacity: f64| {
        let share = allocation::float(used) / capacity;
        if share < 1.0 { share } else { 1.0 }
    };
    for (row, out) in out.iter_mut().enumerate() {
        let (has_a, has_b) = (allocation::float(a.allocatable[row]), allocation::float(b.allocatable[row]));
        // A resource that the node does not have does not count, and one alone is even.
        let both = (has_a > 0.0) & (has_b > 0.0);
        let evenness = |a: f64, b: f64| {
            let deviation = ((a - b) / 2.0).abs();
            allocation::floor((1.0 - if both { deviation } else { 0.0 }) * 100.0)
        };
        let (used_a, used_b) = (a.requested[row], b.requested[row]);
        let with = evenness(share(used_a + a.of_pod, has_a), share(used_b + b.of_pod, has_b));
        let without = evenness(share(used_a, has_a), share(used_b, has_b));
        *out = allocation::whole(50.0 + allocation::floor((50.0 + with - without) / 2.0));
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map};
    use bayplan_model::testing::{node, pod};

    #[test]
    fn the_score_says_how_the_pod_changes_the_balance() {
        let trial =
            Trial::of("NodeResourcesBalancedAllocation", vec![node("a").cpu("4").memory("8Gi").object()]);
        // Both at a quarter: the balance stays, 75. CPU alone at a half: the deviation goes from 0 to 0.25.
        assert_eq!(trial.scores(&pod("p").cpu("1").memory("2Gi").build()), map([("a", 75)]));
        assert_eq!(trial.scores(&pod("p").cpu("2").build()), map([("a", 62)]));
        // A pod that requests neither is not scored.
        assert_eq!(trial.scores(&pod("p").build()), map::<i64, i64>([]));
    }
}
