//! The policy `coscheduling` in the scheduler itself: groups that each need more than half of the cluster end one after
//! another, whatever the order in which their pods come.

use super::run::{Run, framework_of_set};
use crate::support::repository;
use bayplan::diag::SourceMap;
use bayplan::lang::Given;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::lang::schemas::Schemas;
use bayplan::model::objects::projection::Projection;
use bayplan::model::{KindName, LookedUp, Object};
use bayplan::scheduler::Input;
use bayplan::testing::{Random, node, pod};
use serde_json::json;
use std::sync::Arc;

const KEY: &str = "scheduling.x-k8s.io/pod-group";

/// Pods of one group. Three groups of this size do not fit at once, nor do two.
const SIZE: usize = 3;

fn policy() -> PolicySet {
    let read = |path: &str| std::fs::read_to_string(repository(path)).unwrap();
    let mut schemas = Schemas::default();
    for kind in bayplan::yaml::values(&read("policies/schemas/scheduling.x-k8s.io.yaml"), false).unwrap() {
        schemas.add_definition(&kind).unwrap();
    }
    let mut sources = SourceMap::new();
    let id = sources.add("coscheduling.bay", read("policies/scheduler-plugins/coscheduling.bay"));
    let given = Given {
        size: Size::of(20, 20),
        schemas: &schemas,
        arguments: &|_| Vec::new(),
        sources: None,
        exceptions: None,
    };
    let (mut policies, said) = bayplan::lang::compile_given(sources.get(id).unwrap(), given);
    assert_eq!(policies.len(), 1, "{said:?}");
    PolicySet::new([Arc::new(CompiledPolicy::new(policies.remove(0), &sources))])
}

/// A cluster of four CPUs, and groups of pods with one CPU.
struct Groups(Run);

impl Groups {
    fn new(set: &PolicySet) -> Self {
        Self(Run::on(node("a").cpu("4").pods(9_999), framework_of_set(set, &[])))
    }

    fn create_group(&mut self, name: &str, least: usize) {
        let kind = KindName::parse("scheduling.x-k8s.io/v1alpha1/PodGroup").unwrap();
        let value = json!({
            "metadata": {"name": name, "namespace": "default"}, "spec": {"minMember": least},
        });
        let object = LookedUp::new(&kind, value, &Projection::everything()).unwrap();
        self.0.step(Input::Upserted(Object::Other(Arc::new(object))));
    }

    fn create_pod(&mut self, group: &str, at: usize) {
        self.0.step(Input::Upserted(pod(&format!("{group}{at}")).cpu("1").label(KEY, group).object()));
    }

    /// How many pods of a group were bound, and how many have a node.
    fn of(&self, group: &str) -> (usize, usize) {
        let bound = self.0.bound.iter().filter(|name| name.starts_with(group)).count();
        let placed = self.0.scheduler.snapshot().pods();
        (bound, placed.filter(|entry| entry.pod.name.starts_with(group) && entry.placed.is_some()).count())
    }

    /// Lets time pass until all of these groups have run: each that is whole ends, and its pods are deleted.
    fn all_end(&mut self, mut groups: Vec<&str>, what: &str) {
        while !groups.is_empty() {
            self.0.pass(300);
            let whole: Vec<&str> = groups.iter().copied().filter(|group| self.of(group).0 == SIZE).collect();
            let [ends] = whole[..] else { panic!("{what}: whole are {whole:?} of {groups:?}") };
            for other in groups.iter().filter(|other| **other != ends) {
                assert_eq!(self.of(other).0, 0, "{what}: pods of {other} were bound alone");
            }
            groups.retain(|group| *group != ends);
            for at in 0..SIZE {
                self.0.step(Input::Deleted(pod(&format!("{ends}{at}")).object().key()));
            }
        }
    }
}

/// Every order in which the pods of two groups may come, with and without attempts in between.
#[test]
fn two_groups_that_exclude_each_other_end_for_every_order_of_arrival() {
    let set = policy();
    for order in 0..1u32 << (2 * SIZE) {
        if order.count_ones() as usize != SIZE {
            continue;
        }
        for pauses in [0, u32::MAX, 0b01_0101] {
            let mut run = Groups::new(&set);
            ["x", "y"].iter().for_each(|group| run.create_group(group, SIZE));
            let mut next = [0, 0];
            for step in 0..2 * SIZE {
                let of = (order >> step & 1) as usize;
                run.create_pod(["x", "y"][of], next[of]);
                next[of] += 1;
                if pauses >> step & 1 == 1 {
                    run.0.settle();
                }
            }
            run.all_end(vec!["x", "y"], &format!("order {order:b}, pauses {pauses:b}"));
        }
    }
}

/// Random orders of four groups, some of which are there only after their pods.
#[test]
fn groups_that_exclude_each_other_end_one_after_another() {
    let set = policy();
    for seed in 0..24 {
        let mut random = Random(seed);
        let mut run = Groups::new(&set);
        let names = ["v", "w", "x", "y"];
        let mut arrivals: Vec<(&str, Option<usize>)> = names
            .iter()
            .flat_map(|name| std::iter::once(None).chain((0..SIZE).map(Some)).map(move |at| (*name, at)))
            .collect();
        while !arrivals.is_empty() {
            let (name, at) = arrivals.remove(random.below(arrivals.len()));
            match at {
                Some(at) => run.create_pod(name, at),
                None => run.create_group(name, SIZE),
            }
            match random.below(4) {
                0 => run.0.settle(),
                1 => run.0.pass(random.below(90) as i64),
                _ => {}
            }
        }
        run.all_end(names.to_vec(), &format!("seed {seed}"));
    }
}

/// One pod of ten may be missing: the others wait. When one of these is deleted two are missing, and none waits.
#[test]
fn a_waiting_pod_that_is_deleted_counts_as_missing() {
    let set = policy();
    let mut run = Groups(Run::on(node("a").cpu("20").pods(9_999), framework_of_set(&set, &[])));
    run.create_group("x", 10);
    for at in 0..9 {
        run.create_pod("x", at);
    }
    let large = pod("x9").cpu("50").label(KEY, "x").priority(-1);
    run.0.step(Input::Upserted(large.object()));
    run.0.settle();
    assert_eq!(run.of("x"), (0, 9));
    run.0.step(Input::Deleted(pod("x0").object().key()));
    assert_eq!(run.of("x"), (0, 0));
}
