//! A configuration as a file: every scalar with its value in force, plugins and arguments as given.
//! For `--write-config-to` and `/configz`; reading the file gives the same configuration.

use super::{SchedulerConfig, extenders};
use crate::framework::{Named, Profile, Selection, Tree, TreeValue};
use crate::model::Duration;
use serde_json::{Map, Value, json};

/// A number, as Go writes it: a whole one without a fraction.
fn number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 { json!(number as i64) } else { json!(number) }
}

/// The configuration as an object.
pub fn value(config: &SchedulerConfig) -> Value {
    let lease = &config.leader_election;
    let client = &config.client_connection;
    let mut all = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": config.parallelism,
        "clientConnection": {
            "kubeconfig": client.kubeconfig, "contentType": "application/json", "qps": number(client.qps),
            "burst": client.burst,
        },
        "delayCacheUntilActive": config.delay_cache_until_active,
        "enableProfiling": false,
        "enableContentionProfiling": false,
        "leaderElection": {
            "leaderElect": lease.leader_elect,
            "leaseDuration": seconds(lease.lease_duration),
            "renewDeadline": seconds(lease.renew_deadline),
            "retryPeriod": seconds(lease.retry_period),
            "resourceLock": "leases",
            "resourceName": lease.resource_name,
            "resourceNamespace": lease.resource_namespace,
        },
        "podInitialBackoffSeconds": config.pod_initial_backoff.0 / 1_000_000,
        "podMaxBackoffSeconds": config.pod_max_backoff.0 / 1_000_000,
        "profiles": config.profiles.iter().map(profile).collect::<Vec<_>>(),
    });
    if !config.extenders.is_empty() {
        all["extenders"] = config.extenders.iter().map(extenders::value).collect();
    }
    if let Some(share) = config.percentage_of_nodes_to_score {
        all["percentageOfNodesToScore"] = json!(share);
    }
    all
}

/// The configuration as an object for others to see: without the keys of certificates.
pub fn shown(config: &SchedulerConfig) -> Value {
    let mut all = value(config);
    extenders::without_keys(&mut all);
    all
}

/// The configuration as YAML; `Err` is the writer's message.
pub fn yaml(config: &SchedulerConfig) -> Result<String, String> {
    serde_saphyr::to_string(&value(config)).map_err(|error| error.to_string())
}

pub(super) fn seconds(of: Duration) -> String {
    format!("{}s", of.as_seconds_f64())
}

fn profile(of: &Profile) -> Value {
    let mut all = Map::new();
    all.insert("schedulerName".into(), json!(of.scheduler_name.as_str()));
    if let Some(share) = of.percentage_of_nodes_to_score {
        all.insert("percentageOfNodesToScore".into(), json!(share));
    }
    let mut plugins = Map::new();
    let lists = of.points.iter().map(|(point, list)| (point.field(), list));
    for (field, list) in [("multiPoint", &of.multi_point)].into_iter().chain(lists) {
        if *list != Selection::default() {
            plugins.insert(field.into(), selection(list));
        }
    }
    if !plugins.is_empty() {
        all.insert("plugins".into(), Value::Object(plugins));
    }
    let arguments = |of: &crate::framework::PluginConfig| json!({"name": of.name, "args": tree(&of.args)});
    if !of.plugin_config.is_empty() {
        all.insert("pluginConfig".into(), of.plugin_config.iter().map(arguments).collect());
    }
    Value::Object(all)
}

fn selection(of: &Selection) -> Value {
    let named = |of: &Named| match of.weight {
        0 => json!({"name": of.name}),
        weight => json!({"name": of.name, "weight": weight}),
    };
    let mut all = Map::new();
    for (field, list) in [("enabled", &of.enabled), ("disabled", &of.disabled)] {
        if !list.is_empty() {
            all.insert(field.into(), list.iter().map(named).collect());
        }
    }
    Value::Object(all)
}

fn tree(of: &Tree) -> Value {
    match &of.value {
        TreeValue::Null => Value::Null,
        TreeValue::Bool(value) => json!(value),
        TreeValue::Int(value) => json!(value),
        TreeValue::Float(value) => json!(value),
        TreeValue::String(value) => json!(value),
        TreeValue::List(all) => all.iter().map(tree).collect(),
        TreeValue::Map(all) => {
            Value::Object(all.iter().map(|entry| (entry.key.clone(), tree(&entry.value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Diagnostic, SourceMap};

    fn read(text: &str) -> SchedulerConfig {
        let mut sources = SourceMap::new();
        let source = sources.add("config.yaml", text);
        let (config, said) = crate::config::read(sources.get(source).unwrap());
        assert!(!said.iter().any(Diagnostic::is_error), "{said:?}\n{text}");
        config
    }

    #[test]
    fn what_is_written_reads_back_as_the_same() {
        let given = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
            percentageOfNodesToScore: 40\npodMaxBackoffSeconds: 20\n\
            leaderElection: {leaseDuration: 1m30s, renewDeadline: 10.5s, resourceName: mine, resourceNamespace: here}\n\
            profiles:\n- schedulerName: 'true'\n  plugins:\n    multiPoint: {disabled: [{name: ImageLocality}]}\n    \
            score: {enabled: [{name: NodeResourcesFit, weight: 3}], disabled: [{name: '*'}]}\n  pluginConfig:\n  - name: \
            NodeResourcesFit\n    args:\n      ignoredResources: [example.com/a]\n      scoringStrategy: {type: \
            MostAllocated, resources: [{name: cpu, weight: 2}]}\n- schedulerName: other\n  percentageOfNodesToScore: 7\n";
        for config in [SchedulerConfig::default(), read(given)] {
            let text = yaml(&config).unwrap();
            let again = read(&text);
            assert_eq!(value(&again), value(&config), "{text}");
            assert_eq!(again.profiles.len(), config.profiles.len());
        }
        let config = read(given);
        let shown = value(&config);
        assert_eq!(shown["leaderElection"]["leaseDuration"], "90s");
        assert_eq!(shown["profiles"][0]["pluginConfig"][0]["args"]["ignoredResources"][0], "example.com/a");
        assert_eq!(shown["profiles"][0]["schedulerName"], "true");
    }
}
