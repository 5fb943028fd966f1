//! The fewest objects with a verdict, and names with which it stays, on the recorded clusters of every family of kube-scheduler's
//! decisions.

use crate::support::recorded;
use bayplan::config;
use bayplan::diag::SourceMap;
use bayplan::dry_run::Options;
use bayplan::dry_run::anonymous::Named;
use bayplan::engine::TieBreak;
use bayplan::explain::reduce::{Outcome, Reduction};
use bayplan::framework::Features;
use bayplan::model::KubernetesVersion;
use bayplan::plugins;
use bayplan::scheduler::Profiles;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The families that have clusters with pods that wait.
const FAMILIES: [&str; 20] = [
    "attach",
    "basic",
    "capacity",
    "defaults",
    "ephemeral",
    "images",
    "imagevolumes",
    "interpod",
    "mixed",
    "nodeaffinity",
    "ports",
    "preempt",
    "profiles",
    "resized",
    "resources",
    "scale",
    "spread",
    "strategies",
    "taints",
    "volumes",
];

fn profiles(config: &Value, version: KubernetesVersion) -> Arc<Profiles> {
    let mut sources = SourceMap::new();
    let id = sources.add("config.json", config.to_string());
    let (config, said) = config::read(sources.get(id).unwrap());
    assert!(said.is_empty(), "{said:#?}");
    let made = config.frameworks(&plugins::registry_with(Features::of(version)), id);
    let frameworks = made.unwrap_or_else(|said| panic!("{said:#?}")).frameworks;
    Arc::new(Profiles { frameworks, revision: 1 })
}

fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// The names that users chose, which must be gone: those of nodes, pods, claims and so on.
fn names(objects: &[Value]) -> BTreeSet<String> {
    let known = ["default", "kube-system"];
    let own = objects.iter().flat_map(|object| {
        [text(object, "/metadata/name"), text(object, "/metadata/namespace"), text(object, "/spec/nodeName")]
    });
    // Drivers of clouds and classes of Kubernetes are words that say nothing.
    own.filter(|name| !name.is_empty() && !known.contains(name) && !name.contains('.') && !name.contains('/'))
        .map(str::to_owned)
        .collect()
}

/// All texts of objects.
fn texts(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(all.insert(text.clone())),
        Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, all)),
        _ => {}
    }
}

/// A snapshot of each family, reduced and without names, has its verdict and none of its names.
#[test]
fn reduced_and_without_names_each_family_has_its_verdict() {
    let version = KubernetesVersion::V1_37;
    let (mut cases, mut waiting, mut before, mut after) = (0, 0, 0, 0);
    for family in FAMILIES {
        for case in recorded(version, family).iter().step_by(7).take(if family == "scale" { 1 } else { 4 }) {
            let Some(pending) = case["pending"].as_array().filter(|pending| !pending.is_empty()) else {
                continue;
            };
            let profiles = profiles(&case["config"], version);
            let mut objects = case["objects"].as_array().unwrap().clone();
            objects.extend(pending.iter().cloned());
            let pod = &pending[pending.len() / 2];
            let namespace = text(pod, "/metadata/namespace");
            let pod = format!(
                "{}/{}",
                if namespace.is_empty() { "default" } else { namespace },
                text(pod, "/metadata/name")
            );
            let options = Options { tie_break: TieBreak::Name, ..Options::default() };
            let how = Reduction { profiles: &profiles, options: &options, kinds: &[], step: &|_| {} };
            let Ok(all) = how.decision(&objects, &pod) else { continue };
            let place = format!("{} {pod}", text(case, "/name"));
            let reduced = how.reduced(objects.clone(), &pod).unwrap();
            assert_eq!(reduced.verdict, all.verdict, "{place}");
            let again = how.decision(&reduced.objects, &pod).unwrap();
            assert_eq!(again.verdict, all.verdict, "{place}: the reduced objects give another verdict");
            assert_eq!(
                how.reduced(objects.clone(), &pod).unwrap().objects,
                reduced.objects,
                "{place}: not determined"
            );
            let mut named = Named::default();
            named.configuration(&case["config"].to_string());
            let renamed = how.renamed(&reduced.objects, &pod, &all.verdict, &named);
            let renamed = renamed.unwrap_or_else(|| panic!("{place}: no names keep the verdict"));
            assert!(renamed.needed.is_empty(), "{place}: these names stayed: {:?}", renamed.needed);
            let anonymous: Vec<Value> =
                reduced.objects.iter().map(|object| renamed.names.object(object.clone())).collect();
            let decided = how.decision(&anonymous, &renamed.names.full_name(&pod)).unwrap();
            assert!(
                decided.verdict.is_like(&all.verdict),
                "{place}: {:?} {:?}",
                decided.verdict,
                all.verdict
            );
            let mut left = BTreeSet::new();
            anonymous.iter().for_each(|object| texts(object, &mut left));
            let leaked: Vec<String> =
                names(&objects).into_iter().filter(|name| left.contains(name)).collect();
            assert!(leaked.is_empty(), "{place}: {leaked:?}");
            cases += 1;
            waiting += usize::from(matches!(all.verdict.outcome, Outcome::Waits));
            before += objects.len();
            after += anonymous.len();
        }
    }
    println!("{cases} cases, {waiting} wait: {before} objects became {after}");
    assert!(cases > 50 && waiting > 10 && after * 3 < before, "{cases} {waiting} {before} {after}");
}
