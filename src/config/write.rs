//! A configuration as a file: every scalar with its value in force, plugins and arguments as the configuration has them
//! (`complete` fills in defaults).
//! For `--write-config-to` and `/configz`; reading the file gives the same configuration.

use super::{GROUPS, SchedulerConfig, UNBUILT_POINTS, extenders};
use bayplan_framework::{At, Named, Point, Profile, Selection, Tree, TreeEntry, TreeValue};
use bayplan_model::{Duration, VersionRow, VersionRows};
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
            "kubeconfig": client.kubeconfig, "acceptContentTypes": client.accept_content_types,
            "contentType": client.content_type, "qps": number(client.qps), "burst": client.burst,
        },
        "enableProfiling": config.enable_profiling,
        "enableContentionProfiling": config.enable_contention_profiling,
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
        "profiles": config.profiles.iter().map(|of| profile(of, config.version)).collect::<Vec<_>>(),
    });
    if !config.extenders.is_empty() {
        all["extenders"] = config.extenders.iter().map(extenders::value).collect();
    }
    if config.delay_cache_until_active {
        all["delayCacheUntilActive"] = json!(true);
    }
    // A configuration that leaves it out looks at all nodes; a written 0 would be upstream's adaptive share.
    all["percentageOfNodesToScore"] = json!(config.percentage_of_nodes_to_score.unwrap_or(100));
    all
}

/// The configuration as an object for others to see: without the keys of certificates.
pub fn shown(config: &SchedulerConfig) -> Value {
    let mut all = value(config);
    extenders::without_keys(&mut all);
    all
}

/// The flags of kube-scheduler whose values the configuration has, with these values.
pub fn as_flags(config: &SchedulerConfig) -> Vec<(&'static str, String)> {
    let (lease, client) = (&config.leader_election, &config.client_connection);
    // Without election the configuration names no lease.
    let named =
        |name: &str, default: &str| if name.is_empty() { default.to_owned() } else { name.to_owned() };
    vec![
        ("kube-api-burst", client.burst.to_string()),
        ("kube-api-content-type", client.content_type.clone()),
        ("kube-api-qps", client.qps.to_string()),
        ("kubeconfig", client.kubeconfig.clone()),
        ("leader-elect", lease.leader_elect.to_string()),
        ("leader-elect-lease-duration", seconds(lease.lease_duration)),
        ("leader-elect-renew-deadline", seconds(lease.renew_deadline)),
        ("leader-elect-retry-period", seconds(lease.retry_period)),
        ("leader-elect-resource-lock", "leases".to_owned()),
        ("leader-elect-resource-name", named(&lease.resource_name, "kube-scheduler")),
        ("leader-elect-resource-namespace", named(&lease.resource_namespace, "kube-system")),
    ]
}

/// The configuration as YAML; `Err` is the writer's message.
pub fn yaml(config: &SchedulerConfig) -> Result<String, String> {
    serde_saphyr::to_string(&value(config)).map_err(|error| error.to_string())
}

/// A duration as Go writes it: `10m0s`, `1m30s`, `1.5s`, `500ms`.
pub(super) fn seconds(of: Duration) -> String {
    let microseconds = of.0.unsigned_abs();
    let (hours, minutes) = (microseconds / 3_600_000_000, microseconds / 60_000_000 % 60);
    let fraction = |amount: u64, unit: u64| {
        let (whole, rest) = (amount / unit, amount % unit);
        let digits = unit.ilog10() as usize;
        let text = format!("{whole}.{rest:0digits$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let sign = if of.0 < 0 { "-" } else { "" };
    match microseconds {
        0 => String::from("0s"),
        1..1_000 => format!("{sign}{microseconds}µs"),
        1_000..1_000_000 => format!("{sign}{}ms", fraction(microseconds, 1_000)),
        _ => {
            let seconds = fraction(microseconds % 60_000_000, 1_000_000);
            match (hours, minutes) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, _) => format!("{sign}{minutes}m{seconds}s"),
                _ => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

fn profile(of: &Profile, version: VersionRows) -> Value {
    let mut all = Map::new();
    all.insert("schedulerName".into(), json!(of.scheduler_name.as_str()));
    if let Some(share) = of.percentage_of_nodes_to_score {
        all.insert("percentageOfNodesToScore".into(), json!(share));
    }
    let mut plugins = Map::new();
    for point in Point::ALL {
        let list = of.points.iter().find(|(at, _)| *at == point).map(|(_, list)| list);
        plugins.insert(point.field().into(), list.map_or(json!({}), selection));
    }
    let written = |name: &&str| *name != GROUPS || version.has(VersionRow::GroupPostFilter);
    for unbuilt in UNBUILT_POINTS.into_iter().filter(written) {
        plugins.insert(unbuilt.into(), json!({}));
    }
    plugins.insert("multiPoint".into(), selection(&of.multi_point));
    all.insert("plugins".into(), Value::Object(plugins));
    let arguments = |of: &bayplan_framework::PluginConfig| json!({"name": of.name, "args": tree(&of.args)});
    if !of.plugin_config.is_empty() {
        all.insert("pluginConfig".into(), of.plugin_config.iter().map(arguments).collect());
    }
    Value::Object(all)
}

fn selection(of: &Selection) -> Value {
    let named = |of: &Named| json!({"name": of.name, "weight": of.weight});
    let mut all = Map::new();
    for (field, list) in [("enabled", &of.enabled), ("disabled", &of.disabled)] {
        if !list.is_empty() {
            all.insert(field.into(), list.iter().map(named).collect());
        }
    }
    Value::Object(all)
}

/// A tree as JSON.
pub(super) fn tree(of: &Tree) -> Value {
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

/// JSON as a tree, all of it at one place.
pub(super) fn json_tree(of: &Value, at: At) -> Tree {
    let value = match of {
        Value::Null => TreeValue::Null,
        Value::Bool(value) => TreeValue::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => TreeValue::Int(whole),
            None => TreeValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => TreeValue::String(text.clone()),
        Value::Array(all) => TreeValue::List(all.iter().map(|of| json_tree(of, at)).collect()),
        Value::Object(all) => {
            let entry = |(key, of): (&String, &Value)| TreeEntry {
                key: key.clone(),
                key_at: at,
                value: json_tree(of, at),
            };
            TreeValue::Map(all.iter().map(entry).collect())
        }
    };
    Tree { at, value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_diag::{Diagnostic, SourceMap};

    fn read(text: &str) -> SchedulerConfig {
        let mut sources = SourceMap::new();
        let source = sources.add("config.yaml", text);
        let (config, said) = crate::read(sources.get(source).unwrap());
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
        assert_eq!(shown["leaderElection"]["leaseDuration"], "1m30s");
        assert_eq!(shown["profiles"][0]["pluginConfig"][0]["args"]["ignoredResources"][0], "example.com/a");
        assert_eq!(shown["profiles"][0]["schedulerName"], "true");
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        let texts = [
            "0s",
            "7µs",
            "1.5ms",
            "200ms",
            "1s",
            "1.000001s",
            "10.5s",
            "1m0s",
            "1m30s",
            "10m0s",
            "1h0m0.25s",
        ];
        for text in texts {
            assert_eq!(seconds(Duration::parse(text).unwrap()), text);
        }
    }
}
