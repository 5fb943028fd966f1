//! `bayplan diff --kubernetes` on the clusters of recorded decisions: where kube-scheduler 1.36 and 1.37 decided otherwise,
//! the preview names rows, and 1.36 with these rows alone decides as 1.37 was recorded.

use crate::engine::conformance::{FAMILIES, Outcome, add_placed};
use crate::support::command::{Ended, bayplan_in, folder};
use crate::support::recorded;
use bayplan::model::{KubernetesVersion, VersionRow, VersionRows};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A decision of one case that differs: the cluster with the pods that were placed before, the pod, and both decisions.
struct Differs {
    place: String,
    config: Value,
    objects: Value,
    pod: Value,
    decisions: [Value; 2],
}

impl Differs {
    fn outcomes(&self) -> [Outcome; 2] {
        [0, 1].map(|at| Outcome::recorded(&self.decisions[at]))
    }

    fn decided_by(&self, rows: VersionRows) -> Outcome {
        Outcome::decided(&self.config, &self.objects, &self.pod, rows)
    }

    /// Whether the pod names one claim twice. Both versions choose a node for it and fail to bind it, so that it waits.
    fn names_a_claim_twice(&self) -> bool {
        let claims = self.pod["spec"]["volumes"].as_array().into_iter().flatten();
        let mut claims = claims.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
        let mut seen = BTreeSet::new();
        claims.any(|claim| !seen.insert(claim))
    }

    /// What the preview says of the pod, or else of a nominated one, which it decides first; `None`: nothing differs.
    fn preview(&self) -> Option<Value> {
        let mut items = self.objects.as_array().unwrap().clone();
        items.push(self.pod.clone());
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        let here = folder(&[("cluster.json", &list), ("config.json", &self.config.to_string())]);
        let line =
            ["diff", "--kubernetes", "1.36..1.37", "--cluster", "cluster.json", "--config", "config.json"];
        let Ended { out, err, .. } = bayplan_in(&here, &[&line[..], &["-o", "json"]].concat());
        let said: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
        let name = &self.pod["metadata"]["name"];
        let space = self.pod["metadata"]["namespace"].as_str().unwrap_or("default");
        let name = json!(format!("{space}/{}", name.as_str().unwrap()));
        let pods = said["pods"].as_array().unwrap();
        let mut pending = pods.iter().filter(|pod| pod["runs"] == json!(false));
        let nominated = pending.clone().find(|pod| pod["kind"] == json!("decision"));
        pending.find(|pod| pod["pod"] == name).or(nominated).cloned()
    }
}

/// The first decision of a case for which `differs` holds, with what was placed and reserved before.
fn first(older: &Value, newer: &Value, differs: impl Fn(&Value, &Value) -> bool) -> Option<Differs> {
    let decisions = older["decisions"].as_array()?.iter().zip(newer["decisions"].as_array()?);
    let at = decisions.clone().position(|(old, new)| differs(old, new))?;
    if older["objects"] != newer["objects"] {
        return None;
    }
    let mut objects = older["objects"].as_array()?.clone();
    let pending = older["pending"].as_array()?;
    for (pod, (old, _)) in pending.iter().zip(decisions.clone()).take(at) {
        if let Some(chosen) = old["chosen"].as_str() {
            add_placed(&older["config"], &mut objects, pod, chosen, KubernetesVersion::V1_36);
        }
    }
    let (old, new) = decisions.clone().nth(at)?;
    Some(Differs {
        place: format!("{} {}", older["name"], old["pod"]),
        config: older["config"].clone(),
        objects: objects.into(),
        pod: pending.get(at)?.clone(),
        decisions: [old.clone(), new.clone()],
    })
}

/// The rows that the preview names.
fn rows(said: &Value) -> Vec<VersionRow> {
    let ids = said["rows"].as_array().unwrap().iter();
    ids.map(|id| *VersionRow::ALL.iter().find(|row| json!(row.def().id) == *id).unwrap()).collect()
}

/// Whether every pod has a Namespace object. A dry run makes those that are missing, as an API server has them.
fn has_namespaces(case: &Value) -> bool {
    let [objects, pending] = ["objects", "pending"].map(|key| case[key].as_array().unwrap());
    let named = |kind: &str, key: &'static str| {
        let of_kind = objects.iter().chain(pending).filter(move |object| object["kind"] == json!(kind));
        of_kind.map(move |object| object["metadata"][key].clone()).collect::<Vec<_>>()
    };
    let known = named("Namespace", "name");
    named("Pod", "namespace").iter().all(|of| known.contains(of))
}

fn cases() -> impl Iterator<Item = (Value, Value)> {
    FAMILIES.iter().flat_map(|family| {
        let [older, newer] = KubernetesVersion::ALL.map(|version| recorded(version, family));
        older.into_iter().filter(has_namespaces).filter_map(move |old| {
            let new = newer.iter().find(|new| new["name"] == old["name"])?.clone();
            Some((old, new))
        })
    })
}

#[test]
fn every_recorded_difference_has_rows_that_explain_it() {
    let (mut checked, mut unbound) = (0, Vec::new());
    let older = VersionRows::of(KubernetesVersion::V1_36);
    for (old, new) in cases() {
        let differs = |old: &Value, new: &Value| Outcome::recorded(old) != Outcome::recorded(new);
        let Some(of) = first(&old, &new, differs) else { continue };
        let [before, after] = of.outcomes();
        let both = [older, VersionRows::default()].map(|rows| of.decided_by(rows));
        assert_eq!(both, of.outcomes(), "{}", of.place);
        let Some(said) = of.preview() else {
            assert!(of.names_a_claim_twice(), "{}", of.place);
            unbound.push(of.place);
            continue;
        };
        let rows = rows(&said);
        let place = &of.place;
        assert_eq!((&said["kind"], rows.is_empty()), (&json!("decision"), false), "{place}: {said:#}");
        assert_ne!(said["cause"], json!("among"), "{place}");
        let named = rows.iter().fold(older, |all, row| all.with(*row, true));
        assert_eq!(of.decided_by(named), both[1], "{place}: {rows:?}");
        let own = said["pod"].as_str().unwrap().ends_with(of.pod["metadata"]["name"].as_str().unwrap());
        for (side, outcome) in [("before", &before), ("after", &after)].into_iter().filter(|_| own) {
            let best: Vec<_> = outcome.best.iter().map(|name| json!(name)).collect();
            if !best.is_empty() {
                assert_eq!(said[side]["best"], json!(best), "{place} {side}");
            }
        }
        checked += 1;
    }
    println!("{checked} decisions, {} not bound in a cluster: {unbound:?}", unbound.len());
    assert!(checked >= 40 && unbound.len() <= 1, "{checked} {unbound:?}");
}

#[test]
fn other_texts_have_rows_that_explain_them() {
    let mut checked = 0;
    // One case in twelve: there are hundreds, and they have few kinds.
    for (old, new) in cases().step_by(12) {
        let text = |of: &Value| of["message"].as_str().unwrap_or_default().to_owned();
        let differs = |old: &Value, new: &Value| {
            text(old) != text(new) && Outcome::recorded(old) == Outcome::recorded(new)
        };
        let Some(of) = first(&old, &new, differs) else { continue };
        if text(&of.decisions[1]).contains("found a potential placement") {
            // The pod is placed after its victims are gone, and what it says then was not recorded.
            continue;
        }
        let said = of.preview().unwrap_or_else(|| panic!("{}: nothing differs", of.place));
        let rows = rows(&said);
        assert!(!rows.is_empty() && said["cause"] != json!("among"), "{}: {said:#}", of.place);
        checked += 1;
    }
    assert!(checked >= 30, "{checked}");
}
