//! What tenants name freely, as often as they like, and the end of it: labels of pods, keys of labels and taints, pods
//! at which an index panics, crews that are given up, and the deletion of everything.

use crate::moves::What;
use crate::world::World;
use bayplan::model::{Effect, Kind, Node, Object, ObjectKey, PodInfo, Symbol, Taint};
use bayplan::scheduler::Input;
use serde_json::{Value, json};
use std::sync::Arc;

/// What is drawn besides when nodes get keys that come and go.
pub(crate) const NAMES: &[(What, u64)] = &[(What::DecorateNode, 4)];

/// A key of many.
pub(crate) fn key(with: u64) -> String {
    format!("key-{}", with % 200)
}

/// Gives a node another label and another taint, or takes them away.
pub(crate) fn decorate(node: &mut Node, with: u64) {
    let kept = node.labels.iter().filter(|(key, _)| !key.starts_with("key-"));
    let kept = kept.map(|(key, value)| (key.clone(), value.clone()));
    let label = (Symbol::from(key(with)), Symbol::from((with / 3 % 4).to_string()));
    node.labels = kept.chain([label].into_iter().filter(|_| !(with / 64).is_multiple_of(4))).collect();
    let kept = node.taints.iter().filter(|taint| !taint.key.starts_with("key-")).cloned();
    let (key, value) = (Symbol::from(key(with / 5)), Symbol::from((with / 7 % 9).to_string()));
    let taint = Taint { key, value, effect: Effect::PreferNoSchedule };
    node.taints = kept.chain([taint].into_iter().filter(|_| !(with / 1_024).is_multiple_of(3))).collect();
}

/// Labels that policies read of pods.
pub(crate) const LABELS: [&str; 8] = ["wants", "crew", "crew-size", "team", "hold", "shy", "pin", "follows"];

/// Some of them, drawn.
pub(crate) fn labels(with: u64) -> Vec<(Symbol, Symbol)> {
    let pick = |of: &[&str], by: u64| of[(with / by) as usize % of.len()].to_owned();
    let mut all: Vec<(&str, String)> = Vec::new();
    match with / 7 % 10 {
        0 | 1 => all.push(("wants", pick(&["gold", "silver"], 80))),
        2..=4 => {
            all.push(("crew", pick(&["red", "blue"], 80)));
            all.push(("crew-size", pick(&["2", "3", "2"], 160)));
        }
        5 | 6 => all.push(("team", pick(&["x", "y"], 80))),
        7 => all.push(("follows", pick(&["x", "y"], 80))),
        8 => all.push(("pin", pick(&["n0", "n1", "n2"], 80))),
        _ => {}
    }
    if (with / 1_000).is_multiple_of(8) {
        all.push(("hold", "yes".to_owned()));
    }
    if (with / 3_000).is_multiple_of(8) {
        all.push(("shy", "yes".to_owned()));
    }
    all.into_iter().map(|(key, value)| (Symbol::new(key), Symbol::from(value))).collect()
}

/// Terms of pod affinity for some pods: the path in the pod and the terms.
pub(crate) fn affinity(with: u64) -> Option<(&'static str, Value)> {
    let of = |list: &[&'static str], by: u64| list[(with / by) as usize % list.len()];
    let path = match with / 17 % 12 {
        0 => "spec.affinity.podAffinity",
        1 | 2 => "spec.affinity.podAntiAffinity",
        _ => return None,
    };
    let term = |by: u64| {
        let key = of(&["tier", "kubernetes.io/hostname", "tier", "rank"], by);
        let mut term =
            json!({"topologyKey": key, "labelSelector": {"matchLabels": {"team": of(&["x", "y"], by * 4)}}});
        match with / (by * 8) % 6 {
            0 => term["namespaceSelector"] = json!({"matchLabels": {"closed": "yes"}}),
            1 => term["labelSelector"] = json!({"matchExpressions": [{"key": "team", "operator": "Exists"}]}),
            _ => {}
        }
        term
    };
    let mut terms = vec![term(204)];
    if (with / 5_000).is_multiple_of(3) {
        terms.push(term(11_000));
    }
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": terms});
    Some((path, required))
}

/// Hard spread constraints for some pods.
pub(crate) fn spread(with: u64) -> Option<Value> {
    if !(with / 19).is_multiple_of(9) {
        return None;
    }
    let of = |list: &[&'static str], by: u64| list[(with / by) as usize % list.len()];
    let mut constraint = json!({
        "maxSkew": 1 + with / 171 % 2, "whenUnsatisfiable": "DoNotSchedule",
        "topologyKey": of(&["tier", "kubernetes.io/hostname", "rank"], 342),
        "labelSelector": {"matchLabels": {"team": of(&["x", "y"], 1_026)}},
    });
    match with / 2_052 % 5 {
        0 => constraint["nodeTaintsPolicy"] = json!("Honor"),
        1 => constraint["matchLabelKeys"] = json!(["crew"]),
        2 => constraint["minDomains"] = json!(2),
        _ => {}
    }
    Some(json!([constraint]))
}

impl World {
    /// Users delete the pods at which an index panics, and an operator reloads the profiles.
    pub(crate) fn defuse(&mut self) {
        for pod in self.names(&Kind::Pod) {
            let explosive = |pod: &Arc<PodInfo>| pod.labels.get(&Symbol::new("explosive")).is_some();
            if self.api.pod(&pod.namespace, &pod.name).is_some_and(explosive) {
                self.api.delete(&pod);
            }
        }
        self.deliver_all();
        let profiles = self.profiles(self.options.seed);
        self.step(Input::Profiles(profiles));
    }

    /// Crews that hold each other up for ever: a user gives one up.
    pub(crate) fn give_up_a_crew(&mut self) -> bool {
        let crew = |pod: &PodInfo| pod.labels.get(&Symbol::new("crew")).cloned();
        let moving = |pod: &&Arc<PodInfo>| pod.node_name.is_none() && crew(pod).is_some();
        let Some(first) = self.api.pods().find(moving).and_then(|pod| crew(pod)) else { return false };
        let all: Vec<ObjectKey> = self
            .api
            .pods()
            .filter(moving)
            .filter(|pod| crew(pod).as_ref() == Some(&first))
            .map(|pod| Object::Pod(pod.clone()).key())
            .collect();
        all.iter().for_each(|key| {
            self.api.delete(key);
        });
        true
    }

    /// Everything is deleted, in any order of the kinds.
    pub(crate) fn delete_everything(&mut self) -> Result<(), String> {
        for at in 0..2 {
            let kind = [Kind::Pod, Kind::Node][(self.options.seed as usize + at) % 2].clone();
            for key in self.names(&kind) {
                self.api.delete(&key);
            }
            self.deliver_all();
        }
        self.delete_budgets();
        let others = crate::objects::others().into_iter().map(|row| row.kind.clone());
        for kind in others.chain([crate::objects::desks()]) {
            for key in self.names(&kind) {
                self.api.delete(&key);
            }
        }
        self.rest()
    }
}
