//! [`completed`]: a configuration as kube-scheduler has it after it has filled in its defaults: the plugins of each
//! profile with their weights, and the arguments of every plugin that takes some. `write` writes it.
//!
//! Source: `pkg/scheduler/apis/config/v1/defaults.go`, `default_plugins.go`.

use super::SchedulerConfig;
use super::write::{json_tree, tree};
use bayplan_framework::{At, Features, Gate, PluginConfig, Profile, Registry};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The configuration with everything filled in that it leaves to defaults. It means the same.
pub fn completed(config: &SchedulerConfig, registry: &Registry) -> SchedulerConfig {
    let mut config = config.clone();
    config.version = registry.features().rows();
    for profile in &mut config.profiles {
        complete(profile, registry);
    }
    config
}

fn complete(profile: &mut Profile, registry: &Registry) {
    let features = registry.features();
    let mut plugins = profile.multi_point(registry);
    for plugin in &mut plugins {
        let named = profile.multi_point.enabled.iter().any(|named| named.name == plugin.name);
        if let Some(entry) = registry.get(&plugin.name).filter(|_| !named) {
            plugin.weight = entry.default_weight();
        }
    }
    profile.multi_point.enabled = plugins;
    for config in &mut profile.plugin_config {
        if let Some(kind) = registry.get(&config.name).and_then(|entry| entry.args_kind()) {
            config.args = json_tree(&with_defaults(kind, tree(&config.args), features), config.args.at);
        }
    }
    let at_points = profile.points.iter().flat_map(|(_, selection)| &selection.enabled);
    let all = profile.multi_point.enabled.iter().chain(at_points);
    let mut names: BTreeSet<&str> = all.map(|plugin| plugin.name.as_str()).collect();
    for config in &profile.plugin_config {
        names.remove(config.name.as_str());
    }
    let missing = names.into_iter().filter_map(|name| {
        let kind = registry.get(name)?.args_kind()?;
        let args = json_tree(&with_defaults(kind, Value::Null, features), At::default());
        Some(PluginConfig { name: name.to_owned(), at: At::default(), args })
    });
    let missing: Vec<PluginConfig> = missing.collect();
    profile.plugin_config.extend(missing);
}

/// Arguments of a kind with what is left to defaults.
fn with_defaults(kind: &str, args: Value, features: Features) -> Value {
    let mut args = match args {
        Value::Object(args) => args,
        _ => Map::new(),
    };
    let mut set = |name: &str, value: Value| {
        if args.get(name).is_none_or(Value::is_null) {
            args.insert(name.to_owned(), value);
        }
    };
    set("apiVersion", json!("kubescheduler.config.k8s.io/v1"));
    set("kind", json!(kind));
    match kind {
        "DefaultPreemptionArgs" => {
            set("minCandidateNodesPercentage", json!(10));
            set("minCandidateNodesAbsolute", json!(100));
        }
        "DynamicResourcesArgs" => {
            set("filterTimeout", json!("10s"));
            set("bindingTimeout", json!("10m0s"));
        }
        "InterPodAffinityArgs" => {
            set("hardPodAffinityWeight", json!(1));
            set("ignorePreferredTermsOfExistingPods", json!(false));
        }
        "NodeResourcesBalancedAllocationArgs" => with_resources(&mut args),
        "NodeResourcesFitArgs" => {
            set("scoringStrategy", json!({"type": "LeastAllocated"}));
            if let Some(Value::Object(strategy)) = args.get_mut("scoringStrategy") {
                with_resources(strategy);
            }
        }
        "PodTopologySpreadArgs" => set("defaultingType", json!("System")),
        "VolumeBindingArgs" => {
            set("bindTimeoutSeconds", json!(600));
            if features.on(Gate::StorageCapacityScoring) {
                set("shape", json!([{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]));
            }
        }
        _ => {}
    }
    Value::Object(args)
}

/// Resources with their weights: CPU and memory unless there are others, of weight 1 unless they say otherwise.
fn with_resources(args: &mut Map<String, Value>) {
    let given = args.get("resources").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if !given {
        let resources = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]);
        args.insert("resources".to_owned(), resources);
    }
    for resource in args.get_mut("resources").and_then(Value::as_array_mut).into_iter().flatten() {
        let weighs = resource.get("weight").and_then(Value::as_i64).is_some_and(|weight| weight != 0);
        if let (false, Some(resource)) = (weighs, resource.as_object_mut()) {
            resource.insert("weight".to_owned(), json!(1));
        }
    }
}
