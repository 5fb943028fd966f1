//! The fewest objects of a cluster with which a pod has the same verdict for the same reasons. Each step is tried by deciding
//! again; what does not change the verdict stays out.
//!
//! - `verdict.rs`: what must stay the same
//! - `minimize.rs`: leaving out
//! - `anonymous.rs`: names with which it stays

mod anonymous;
mod minimize;
mod verdict;

pub use anonymous::Renamed;
pub use verdict::{Decided, Outcome, Verdict};

use bayplan_dry_run::items::Item;
use bayplan_dry_run::{Options, World};
use bayplan_lang::types::ObjectKind;
use bayplan_model::{PodInfo, PodKey};
use bayplan_scheduler::Profiles;
use minimize::minimized;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use verdict::decided;

/// How decisions are made, and who hears of them.
pub struct Reduction<'a> {
    /// The profiles with their policies.
    pub profiles: &'a Arc<Profiles>,
    /// How to run.
    pub options: &'a Options,
    /// The kinds that policies look up.
    pub kinds: &'a [Arc<ObjectKind>],
    /// Receives what is left out, before each decision.
    pub step: &'a dyn Fn(Stage),
}

/// What is being left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Nodes, with the pods on them.
    Nodes,
    /// Pods.
    Pods,
    /// Objects of other kinds.
    Others,
    /// Labels and annotations.
    Labels,
}

/// What is left.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The objects, in their order.
    pub objects: Vec<Value>,
    /// The verdict, which is that of all objects.
    pub verdict: Verdict,
}

/// Why there is nothing to reduce.
#[derive(Debug, thiserror::Error)]
pub enum ReduceError {
    /// No pod has the name.
    #[error("no pod that waits or runs is called `{0}`")]
    NoPod(String),
    /// Another scheduler decides on the pod, or it is being deleted.
    #[error("nothing is decided on `{0}`: it is left to another scheduler, or it is being deleted")]
    NotDecided(String),
}

impl Reduction<'_> {
    /// What a decision on a pod of these objects comes to. A pod that runs is decided on as if it had no node yet.
    pub fn decision(&self, objects: &[Value], pod: &str) -> Result<Decided, ReduceError> {
        let items: Vec<Item> = objects.iter().map(|object| Item::of(object.clone(), self.kinds)).collect();
        let (items, own) = self.with_pending(items, pod)?;
        let world = Item::world(&items);
        self.decided(&world, &own).ok_or_else(|| ReduceError::NotDecided(pod.to_owned()))
    }

    /// The fewest of these objects with the verdict that all of them give.
    pub fn reduced(&self, objects: Vec<Value>, pod: &str) -> Result<Reduced, ReduceError> {
        let items: Vec<Item> = objects.into_iter().map(|object| Item::of(object, self.kinds)).collect();
        let (items, own) = self.with_pending(items, pod)?;
        let not_decided = || ReduceError::NotDecided(pod.to_owned());
        let all = self.decided(&Item::world(&items), &own).ok_or_else(not_decided)?;
        let trial = Trial { of: self, own, wanted: all.verdict.clone() };
        let mut items = trial.at_its_turn(items, &all);
        items = trial.without_nodes(items, &all);
        items = trial.without(items, Stage::Pods, |item| item.pod().is_some());
        items = trial.without(items, Stage::Others, |item| item.pod().is_none() && item.node().is_none());
        items = trial.without(items, Stage::Nodes, |item| item.node().is_some());
        trial.without_labels(&mut items);
        let objects = items.into_iter().map(|item| item.value).collect();
        Ok(Reduced { objects, verdict: all.verdict })
    }

    /// The items with the pod as one that waits, and the pod.
    fn with_pending(
        &self,
        mut items: Vec<Item>,
        name: &str,
    ) -> Result<(Vec<Item>, Arc<PodInfo>), ReduceError> {
        let (namespace, bare) = name.split_once('/').unwrap_or(("default", name));
        let named = |pod: &PodInfo| pod.name.as_str() == bare && pod.namespace.as_str() == namespace;
        let item = items.iter_mut().find(|item| item.pod().is_some_and(|pod| named(pod)));
        let item = item.ok_or_else(|| ReduceError::NoPod(name.to_owned()))?;
        if item.pod().is_some_and(|pod| pod.node_name.is_some()) {
            let mut value = std::mem::take(&mut item.value);
            if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
                spec.shift_remove("nodeName");
            }
            value["status"] = json!({"phase": "Pending"});
            *item = Item::of(value, self.kinds);
        }
        let pod = item.pod().cloned().ok_or_else(|| ReduceError::NoPod(name.to_owned()))?;
        Ok((items, pod))
    }

    fn decided(&self, world: &World, pod: &PodInfo) -> Option<Decided> {
        decided(world, self.profiles, self.options, pod)
    }
}

/// A verdict that must stay.
struct Trial<'a> {
    of: &'a Reduction<'a>,
    own: Arc<PodInfo>,
    wanted: Verdict,
}

impl Trial<'_> {
    /// Whether some items give the verdict.
    fn holds<'i>(&self, stage: Stage, items: impl IntoIterator<Item = &'i Item>) -> bool {
        (self.of.step)(stage);
        let decided = self.of.decided(&Item::world(items), &self.own);
        decided.is_some_and(|decided| decided.verdict == self.wanted)
    }

    fn is_own(&self, item: &Item) -> bool {
        item.pod().is_some_and(|pod| pod.key == self.own.key)
    }

    /// The items as they are at the pod's turn: pods that were placed before it have their nodes, others that wait are gone.
    fn at_its_turn(&self, items: Vec<Item>, all: &Decided) -> Vec<Item> {
        let placed = |key: &PodKey| all.placed_before.iter().find(|(of, _)| of == key).map(|(_, node)| node);
        let settled = items.iter().filter_map(|item| {
            let Some(pod) = item.pod().filter(|pod| pod.node_name.is_none() && !self.is_own(item)) else {
                return Some(item.clone());
            };
            let node = placed(&pod.key)?;
            let mut value = item.value.clone();
            value["spec"]["nodeName"] = json!(node.as_str());
            Some(Item::of(value, self.of.kinds))
        });
        let settled: Vec<Item> = settled.collect();
        if self.holds(Stage::Pods, &settled) { settled } else { items }
    }

    /// The items without the nodes that are not needed, and without the pods on those. The nodes that have each reason first
    /// are tried alone.
    fn without_nodes(&self, items: Vec<Item>, all: &Decided) -> Vec<Item> {
        let of_nodes = |items: &[Item], left: &[usize]| -> Vec<usize> {
            let names: Vec<&str> = left.iter().filter_map(|at| items.get(*at)?.node()).collect();
            let stays = |at: &usize| {
                let Some(item) = items.get(*at) else { return false };
                let on = item.pod().and_then(|pod| pod.node_name.as_ref());
                match item.node() {
                    Some(name) => names.contains(&name),
                    None => on.is_none_or(|node| names.contains(&node.as_str())),
                }
            };
            (0..items.len()).filter(stays).collect()
        };
        let nodes: Vec<usize> =
            (0..items.len()).filter(|at| items.get(*at).is_some_and(|it| it.node().is_some())).collect();
        let some = |places: &[usize]| places.iter().filter_map(|at| items.get(*at)).collect::<Vec<&Item>>();
        let witness =
            |at: &usize| items.get(*at).and_then(Item::node).is_some_and(|name| all.witnesses.contains(name));
        let few: Vec<usize> = nodes.iter().copied().filter(witness).collect();
        let few_hold = few.len() < nodes.len() && self.holds(Stage::Nodes, some(&of_nodes(&items, &few)));
        let from = if few_hold { few } else { nodes };
        let left = minimized(from, |left| self.holds(Stage::Nodes, some(&of_nodes(&items, left))));
        let left = of_nodes(&items, &left);
        some(&left).into_iter().cloned().collect()
    }

    /// The items without those of a stage that are not needed.
    fn without(&self, items: Vec<Item>, stage: Stage, is_of: impl Fn(&Item) -> bool) -> Vec<Item> {
        let may_go = |item: &Item| is_of(item) && !self.is_own(item);
        let places: Vec<usize> = (0..items.len()).filter(|at| items.get(*at).is_some_and(&may_go)).collect();
        let some = |left: &[usize]| -> Vec<&Item> {
            let stays = |at: usize, item: &Item| !may_go(item) || left.binary_search(&at).is_ok();
            items.iter().enumerate().filter(|(at, item)| stays(*at, item)).map(|(_, item)| item).collect()
        };
        let left = minimized(places, |left| self.holds(stage, some(left)));
        some(&left).into_iter().cloned().collect()
    }

    /// Takes out labels and annotations, one by one.
    fn without_labels(&self, items: &mut [Item]) {
        for at in 0..items.len() {
            for field in ["labels", "annotations"] {
                let path = format!("/metadata/{field}");
                let pairs =
                    items.get(at).and_then(|item| item.value.pointer(&path)).and_then(Value::as_object);
                let pairs: Vec<(String, Value)> =
                    pairs.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
                let with = |left: &[(String, Value)]| -> Option<Item> {
                    let mut value = items.get(at)?.value.clone();
                    let metadata = value.get_mut("metadata")?.as_object_mut()?;
                    let kept: Map<String, Value> = left.iter().cloned().collect();
                    match kept.is_empty() {
                        true => drop(metadata.shift_remove(field)),
                        false => drop(metadata.insert(field.to_owned(), Value::Object(kept))),
                    }
                    Some(Item::of(value, self.of.kinds))
                };
                let holds = |left: &[(String, Value)]| {
                    let Some(changed) = with(left) else { return false };
                    let all = items
                        .iter()
                        .enumerate()
                        .map(|(place, item)| if place == at { &changed } else { item });
                    self.holds(Stage::Labels, all)
                };
                let count = pairs.len();
                let left = minimized(pairs, holds);
                if left.len() < count
                    && let (Some(changed), Some(item)) = (with(&left), items.get_mut(at))
                {
                    *item = changed;
                }
            }
        }
    }
}
