//! Scheduler configurations: defaults, what is refused with which words at which place, and how the lists of a profile
//! become the order of plugins at each point.

use bayplan::config::{self, SchedulerConfig};
use bayplan::diag::{Diagnostic, SourceId, SourceMap};
use bayplan::framework::{Features, Framework, PluginId, Registry};
use bayplan::model::{Duration, KubernetesVersion};
use bayplan::plugins;
use std::sync::Arc;

const HEADER: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn read(text: &str) -> (SchedulerConfig, Vec<Diagnostic>, SourceMap, SourceId) {
    let mut sources = SourceMap::new();
    let id = sources.add("config.yaml", format!("{HEADER}{text}"));
    let (config, complaints) = config::read(sources.get(id).unwrap());
    (config, complaints, sources, id)
}

fn frameworks_of(text: &str, registry: &Registry) -> Result<Vec<Arc<Framework>>, Vec<String>> {
    let (config, complaints, sources, id) = read(text);
    let say = |complaints: Vec<Diagnostic>| -> Vec<String> {
        complaints.iter().map(|d| format!("{}: {}", sources.text(d.span), d.message)).collect()
    };
    if !complaints.is_empty() {
        return Err(say(complaints));
    }
    config.frameworks(registry, id).map(|made| made.frameworks).map_err(say)
}

fn complaints(text: &str) -> Vec<String> {
    frameworks_of(text, &plugins::registry()).err().unwrap_or_default()
}

/// Whether one complaint holds all the words.
fn says(text: &str, words: &[&str]) {
    let all = complaints(text);
    let fits = |complaint: &String| words.iter().all(|word| complaint.contains(word));
    assert!(all.iter().any(fits), "{text}\nshould say {words:?}, says {all:#?}");
}

fn names(framework: &Framework, ids: &[PluginId]) -> Vec<String> {
    ids.iter().map(|id| framework.plugin_name(*id).to_owned()).collect()
}

fn scorers(framework: &Framework) -> Vec<(String, i64)> {
    framework
        .points()
        .score
        .iter()
        .map(|scorer| (framework.plugin_name(scorer.plugin).to_owned(), scorer.weight))
        .collect()
}

fn one(text: &str) -> Arc<Framework> {
    frameworks_of(text, &plugins::registry()).unwrap_or_else(|all| panic!("{all:#?}"))[0].clone()
}

#[test]
fn what_kube_scheduler_writes_of_its_defaults_means_the_defaults() {
    for (version, text) in WRITTEN {
        means_the_defaults(version, text);
    }
}

/// What kube-scheduler of each version writes of its defaults.
const WRITTEN: [(KubernetesVersion, &str); 2] = [
    (KubernetesVersion::V1_36, include_str!("../conformance/kube-scheduler-1.36/written.yaml")),
    (KubernetesVersion::V1_37, include_str!("../conformance/kube-scheduler-1.37/written.yaml")),
];

fn means_the_defaults(version: KubernetesVersion, text: &str) {
    let registry = plugins::registry_with(Features::of(version));
    let mut sources = SourceMap::new();
    let id = sources.add("written.yaml", text);
    let (config, complaints) = config::read(sources.get(id).unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
    let written = config.frameworks(&registry, id).unwrap().frameworks;
    let default = SchedulerConfig::default().frameworks(&registry, id).unwrap().frameworks[0].clone();
    assert_eq!(written.len(), 1);
    assert_eq!(scorers(&written[0]), scorers(&default));
    assert_eq!(names(&written[0], &written[0].points().filter), names(&default, &default.points().filter));
    let asked = text.replace("placementScore: {}", "placementScore: {enabled: [{name: Near}]}");
    let refused = sources.add("asked.yaml", asked);
    let (_, complaints) = config::read(sources.get(refused).unwrap());
    assert_eq!(complaints.len(), 1);
    assert_eq!(sources.text(complaints[0].span), "Near");
}

/// The configuration that kube-scheduler wrote, read and written again.
#[test]
fn a_completed_configuration_is_written_as_kube_scheduler_writes_it() {
    for (version, text) in WRITTEN {
        is_written_as_upstream_writes_it(version, text);
    }
}

fn is_written_as_upstream_writes_it(version: KubernetesVersion, text: &str) {
    let upstream: serde_json::Value = serde_saphyr::from_str(text).unwrap();
    let written = |text: &str| {
        let mut sources = SourceMap::new();
        let id = sources.add("config.yaml", text);
        let (config, complaints) = config::read(sources.get(id).unwrap());
        assert!(complaints.is_empty(), "{complaints:#?}");
        let completed = config::completed(&config, &plugins::registry_with(Features::of(version)));
        serde_saphyr::from_str::<serde_json::Value>(&config::yaml(&completed).unwrap()).unwrap()
    };
    assert_eq!(written(text), upstream);
    // Without a file these values differ, and no others: what we do not do, and what has no limit.
    let mut ours = written(HEADER);
    assert_eq!(ours["clientConnection"]["qps"], -1);
    assert_eq!(ours["clientConnection"]["contentType"], "application/json");
    ours["clientConnection"]["qps"] = 50.into();
    ours["clientConnection"]["contentType"] = "application/vnd.kubernetes.protobuf".into();
    ours["clientConnection"]["kubeconfig"] = upstream["clientConnection"]["kubeconfig"].clone();
    for profiling in ["enableProfiling", "enableContentionProfiling"] {
        assert_eq!(ours[profiling], false);
        ours[profiling] = true.into();
    }
    // All nodes are looked at, and `run` fills in the lease.
    assert_eq!(ours["percentageOfNodesToScore"], 100);
    ours["percentageOfNodesToScore"] = 0.into();
    for name in ["resourceName", "resourceNamespace"] {
        assert_eq!(ours["leaderElection"][name], "");
        ours["leaderElection"][name] = upstream["leaderElection"][name].clone();
    }
    assert_eq!(ours, upstream);
    // Given arguments keep their values beside the defaults of the others.
    let given = format!(
        "{HEADER}profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: VolumeBinding}}]}}}}, pluginConfig: [{{name: \
         NodeResourcesFit, args: {{scoringStrategy: {{type: MostAllocated, resources: [{{name: cpu}}]}}}}}}]}}]\n"
    );
    let ours = written(&given);
    let configs = ours["profiles"][0]["pluginConfig"].as_array().unwrap();
    let strategy = serde_json::json!({"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]});
    assert_eq!(
        (&configs[0]["name"], &configs[0]["args"]["scoringStrategy"]),
        (&"NodeResourcesFit".into(), &strategy)
    );
    assert!(configs.len() == 7 && configs.iter().all(|of| of["name"] != "VolumeBinding"), "{configs:#?}");
}

fn policy(
    name: &'static str,
) -> impl Fn(
    &bayplan::framework::Tree,
) -> Result<Arc<dyn bayplan::framework::Plugin>, Vec<bayplan::framework::ArgsError>> {
    struct Named(&'static str, bool);
    impl bayplan::framework::Plugin for Named {
        fn name(&self) -> &str {
            self.0
        }
        fn reads(&self) -> bayplan::framework::Reads {
            bayplan::framework::Reads::default()
        }
        bayplan::serves!(Filter, Score);
        fn queue_sort(&self) -> Option<&dyn bayplan::framework::QueueSort> {
            self.1.then_some(self)
        }
    }
    impl bayplan::framework::Filter for Named {
        fn filter(
            &self,
            _: &bayplan::framework::Handle,
            _: bayplan::model::NodeInfo,
        ) -> Result<(), bayplan::framework::Status> {
            Ok(())
        }
    }
    impl bayplan::framework::Score for Named {
        fn score(
            &self,
            _: &bayplan::framework::Handle,
            _: bayplan::model::NodeInfo,
        ) -> Result<i64, bayplan::framework::Status> {
            Ok(0)
        }
    }
    impl bayplan::framework::QueueSort for Named {
        fn key(
            &self,
            _: &bayplan::framework::QueuedPodInfo,
            _: &bayplan::model::Snapshot,
        ) -> bayplan::framework::SortKey {
            bayplan::framework::SortKey::default()
        }
    }
    move |_| Ok(Arc::new(Named(name, name.starts_with("queue"))))
}

#[test]
fn an_empty_configuration_has_upstreams_defaults() {
    let (config, complaints, _, id) = read("");
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert_eq!(config.parallelism, 16);
    assert!(config.leader_election.leader_elect);
    assert_eq!(config.leader_election.lease_duration, Duration::from_seconds(15));
    // Not given: `run` names the lease by the profiles (kube-system/kube-scheduler for `default-scheduler`).
    assert_eq!(config.leader_election.resource_name, "");
    assert_eq!(
        (config.client_connection.qps, config.client_connection.burst),
        (-1.0, 100),
        "no limit of ours"
    );
    assert_eq!(config.pod_max_backoff, Duration::from_seconds(10));
    assert_eq!(config.percentage_of_nodes_to_score, None);
    let made = config.frameworks(&plugins::registry(), id).unwrap_or_else(|all| panic!("{all:#?}"));
    let framework = &made.frameworks[0];
    assert_eq!(framework.scheduler_name.as_str(), "default-scheduler");
    let points = framework.points();
    // Upstream's list; plugins that are not built have stand-ins at their places.
    let filters = [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ];
    assert_eq!(names(framework, &points.filter), filters);
    let weights: Vec<(String, i64)> = [
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("VolumeBinding", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
    ]
    .map(|(name, weight)| (name.to_owned(), weight))
    .to_vec();
    assert_eq!(scorers(framework), weights);
    assert_eq!(names(framework, &points.queue_sort), ["PrioritySort"]);
    assert_eq!(names(framework, &points.bind), ["DefaultBinder"]);
    assert_eq!(
        names(framework, &points.pre_enqueue),
        ["SchedulingGates", "DynamicResources", "DefaultPreemption"]
    );
    assert_eq!(names(framework, &points.post_filter), ["DynamicResources", "DefaultPreemption"]);
}

#[test]
fn values_are_read() {
    let (config, complaints, ..) = read(
        "parallelism: 4\nleaderElection: {leaderElect: false, leaseDuration: 1m30s, renewDeadline: 1.5s}\n\
         clientConnection: {kubeconfig: /etc/k, qps: 12.5, burst: 20}\npodInitialBackoffSeconds: 2\n\
         podMaxBackoffSeconds: 60\npercentageOfNodesToScore: 40\ndelayCacheUntilActive: true\nprofiles:\n\
         - schedulerName: a\n- schedulerName: b\n  percentageOfNodesToScore: 70\n",
    );
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert_eq!(config.leader_election.lease_duration, Duration::from_seconds(90));
    assert_eq!(config.leader_election.renew_deadline, Duration::from_millis(1500));
    assert_eq!((config.client_connection.qps, config.client_connection.burst), (12.5, 20));
    assert_eq!(config.pod_max_backoff, Duration::from_seconds(60));
    assert!(config.delay_cache_until_active);
    let made = config.frameworks(&plugins::registry(), SourceId(0)).unwrap_or_else(|all| panic!("{all:#?}"));
    let percentages: Vec<_> = made.frameworks.iter().map(|f| f.percentage_of_nodes_to_score).collect();
    assert_eq!(percentages, [Some(40), Some(70)]);
}

#[test]
fn mistakes_are_named_at_their_place() {
    says("paralelism: 4", &["paralelism: ", "unknown field `paralelism`"]);
    says("parallelism: 0", &["0: `parallelism`: should be an integer value greater than zero"]);
    says("parallelism: many", &["many: `parallelism`: expected a whole number, found a text"]);
    says("percentageOfNodesToScore: 101", &["101: ", "not in valid range [0-100]"]);
    says("podInitialBackoffSeconds: 0", &["must be greater than 0"]);
    says("podMaxBackoffSeconds: 0", &["must be greater than or equal to PodInitialBackoffSeconds"]);
    says("leaderElection: {leaseDuration: 5s}", &["must be greater than `RenewDeadline`"]);
    says("leaderElection: {retryPeriod: soon}", &["`soon` is not a duration"]);
    says("leaderElection: {retryPeriod: 2}", &["2: ", "expected a text, found a whole number"]);
    says("leaderElection: {retryPeriod: '2'}", &["`2` is not a duration"]);
    says("leaderElection: {retryPeriod: 1500ns}", &["`1500ns` is not a duration"]);
    says("leaderElection: {resourceLock: endpoints}", &["resourceLock value must be \"leases\""]);
    says("profiles: []", &["at least one profile is required"]);
    says("profiles: [{schedulerName: a}, {schedulerName: a}]", &["duplicate value `a`"]);
    says("profiles: [{}, {schedulerName: a}]", &["a profile needs a name"]);
    says("parallelism: [", &["the file is not valid YAML"]);
    says("parallelism: 1\nparallelism: 2", &["the file is not valid YAML"]);
    says("profiles: [{plugins: {score: {enabled: [{nam: x}]}}}]", &["unknown field `nam`"]);
    let (_, all, ..) = {
        let mut sources = SourceMap::new();
        let id = sources.add("c", "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: Other\n");
        let (config, all) = config::read(sources.get(id).unwrap());
        (config, all, sources)
    };
    assert_eq!(all.len(), 2, "{all:#?}");
    assert!(all[0].message.contains("`kubescheduler.config.k8s.io/v1beta3` is not supported"));
}

#[test]
fn plugins_that_do_not_exist_or_are_not_built_are_refused() {
    let enable = |point: &str, name: &str| {
        format!("profiles: [{{plugins: {{{point}: {{enabled: [{{name: {name}}}]}}}}}}]")
    };
    says(&enable("filter", "Nonsense"), &["Nonsense: FilterPlugin \"Nonsense\" does not exist"]);
    says(&enable("score", "NodeName"), &["plugin \"NodeName\" does not extend ScorePlugin plugin"]);
    says(&enable("multiPoint", "GangScheduling"), &["plugin `GangScheduling` is not built in this release"]);
    says(&enable("multiPoint", "EBSLimits"), &["\"EBSLimits\" does not exist"]);
    let given = |name: &str| format!("profiles: [{{pluginConfig: [{{name: {name}, args: {{}}}}]}}]");
    for (text, help) in [
        (enable("multiPoint", "NodeRecourcesFit"), Some("did you mean `NodeResourcesFit`?")),
        (given("NodeAffinty"), Some("did you mean `NodeAffinity`?")),
        (given("nodeaffinity"), Some("write `NodeAffinity`")),
        (given("Nonsense"), None),
    ] {
        let (config, _, _, id) = read(&text);
        let said = config.frameworks(&plugins::registry(), id).err().unwrap_or_default();
        assert_eq!(said.first().map(|said| said.help.as_deref()), Some(help), "{text}");
    }
    let twice = "profiles: [{plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}}]";
    says(twice, &["plugin \"NodeName\" already registered as \"FilterPlugin\""]);
    says(
        "profiles: [{plugins: {multiPoint: {disabled: [{name: DefaultBinder}]}}}]",
        &["at least one bind plugin is needed for profile with scheduler name \"default-scheduler\""],
    );
    says(
        "profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]",
        &[
            "only one queue sort plugin required for profile with scheduler name \"default-scheduler\", but got 0",
        ],
    );
    // Points may be named one by one.
    let named = "profiles: [{plugins: {reserve: {enabled: [{name: VolumeBinding}]}, score: {enabled: \
         [{name: InterPodAffinity, weight: 3}]}}}]";
    assert_eq!(complaints(named), Vec::<String>::new());
}

#[test]
fn arguments_are_checked_in_upstreams_words() {
    let args =
        |name: &str, args: &str| format!("profiles: [{{pluginConfig: [{{name: {name}, args: {args}}}]}}]");
    let fit = |strategy: &str| args("NodeResourcesFit", &format!("{{scoringStrategy: {strategy}}}"));
    says(
        &args("VolumeBinding", "{bindTimeoutSeconds: -1}"),
        &["invalid BindTimeoutSeconds, should not be a negative value"],
    );
    let shape = args("VolumeBinding", "{shape: [{utilization: 0, score: 0}]}");
    let older = plugins::registry_with(Features::of(KubernetesVersion::V1_36));
    let said = frameworks_of(&shape, &older).err().unwrap_or_default();
    let text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring";
    assert!(said.len() == 1 && said[0].contains(text), "{said:?}");
    assert_eq!(complaints(&shape), [""; 0]);
    says(
        &args("VolumeBinding", "{shape: [{utilization: 50, score: 0}, {utilization: 50, score: 11}]}"),
        &["values must be sorted in increasing order"],
    );
    says(&fit("{type: Best}"), &["initializing plugin \"NodeResourcesFit\"", "unsupported value `Best`"]);
    says(
        &fit("{resources: [{name: cpu, weight: 101}]}"),
        &["101: ", "resource weight of 101 not in valid range (0, 100]"],
    );
    says(&fit("{resources: [{name: cpu}, {name: cpu}]}"), &["duplicate resource name `cpu`"]);
    says(&fit("{type: RequestedToCapacityRatio}"), &["requestedToCapacityRatio is required"]);
    let ratio = |shape: &str| {
        fit(&format!("{{type: RequestedToCapacityRatio, requestedToCapacityRatio: {{shape: {shape}}}}}"))
    };
    says(&ratio("[]"), &["at least one point must be specified"]);
    says(&ratio("[{utilization: 101, score: 1}]"), &["not in valid range [0, 100]"]);
    says(&ratio("[{utilization: 1, score: 11}]"), &["not in valid range [0, 10]"]);
    says(
        &ratio("[{utilization: 5, score: 1}, {utilization: 5, score: 2}]"),
        &["values must be sorted in increasing order"],
    );
    says(
        &args("NodeResourcesFit", "{ignoredResourceGroups: ['a/b']}"),
        &["resource group name can't contain '/'"],
    );
    says(&args("NodeResourcesFit", "{ignoredResource: [a]}"), &["unknown field `ignoredResource`"]);
    says(&args("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}"), &["must be 1"]);
    says(&args("NodeName", "{x: 1}"), &["unknown field `x`"]);
    let preemption = |args_of: &str| args("DefaultPreemption", args_of);
    says(&preemption("{minCandidateNodesPercentage: 101}"), &["not in valid range [0, 100]"]);
    says(&preemption("{minCandidateNodesAbsolute: -1}"), &["not in valid range [0, inf)"]);
    let zero = complaints(&preemption("{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}"));
    let said =
        |at: usize, name: &str| zero[at].contains(&format!("cannot be zero at the same time as {name}"));
    assert!(said(0, "minCandidateNodesAbsolute") && said(1, "minCandidateNodesPercentage"), "{zero:#?}");
    says(&args("DynamicResources", "{filterTimeout: -1s}"), &["must be zero or positive"]);
    says(&args("DynamicResources", "{bindingTimeout: 10ms}"), &["must be at least 1 second"]);
    says(&args("NodeAffinity", "{kind: NodeResourcesFitArgs}"), &["has to match plugin args"]);
    says(&args("Nonsense", "{}"), &["no plugin is called `Nonsense`"]);
    says(
        "profiles: [{pluginConfig: [{name: NodeName}, {name: NodeName}]}]",
        &["arguments of `NodeName` are given twice"],
    );
    let affinity = "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
                    [{matchExpressions: [{key: disk, operator: Is, values: [ssd]}]}]}}}";
    says(&args("NodeAffinity", affinity), &["addedAffinity", "Is"]);
    says(
        "profiles: [{schedulerName: a}, {schedulerName: b, pluginConfig: [{name: PrioritySort, args: {}}]}]",
        &["must be the same for all profiles"],
    );
}

#[test]
fn lists_of_a_profile_become_the_order_of_plugins() {
    // Named at the point and in multiPoint first, in the point's order; then multiPoint; weights of the point count.
    let framework = one(
        "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}, score: {enabled: \
         [{name: ImageLocality, weight: 5}, {name: TaintToleration}]}, filter: {disabled: [{name: NodeName}]}}}]",
    );
    let weights: Vec<(String, i64)> = [
        ("ImageLocality", 5),
        ("TaintToleration", 1),
        ("NodeAffinity", 7),
        ("NodeResourcesFit", 1),
        ("VolumeBinding", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
    ]
    .map(|(name, weight)| (name.to_owned(), weight))
    .to_vec();
    assert_eq!(scorers(&framework), weights);
    let filters = names(&framework, &framework.points().filter);
    assert_eq!(
        filters[..5],
        ["NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"]
    );

    // `*` at a point leaves what is named there; `*` in multiPoint drops the defaults.
    let framework = one(
        "profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 3}]}}}]",
    );
    assert_eq!(scorers(&framework), [("NodeResourcesFit".to_owned(), 3)]);
    let framework =
        one("profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: DefaultBinder}, \
         {name: PrioritySort}, {name: NodeName}]}, filter: {enabled: [{name: NodeUnschedulable}]}}}]");
    assert_eq!(names(&framework, &framework.points().filter), ["NodeName", "NodeUnschedulable"]);
    assert!(framework.points().score.is_empty());
}

#[test]
fn policies_stand_behind_the_plugins_by_name() {
    let mut registry = plugins::registry();
    for name in ["zoned", "affable", "gpu-placement"] {
        registry.add_policy(name, false, policy(name)).unwrap();
    }
    assert!(registry.add_policy("zoned", false, policy("zoned")).is_err());
    assert!(registry.add_policy("NodeName", false, policy("NodeName")).is_err());
    let text = "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {multiPoint: {disabled: \
                [{name: affable}], enabled: [{name: gpu-placement, weight: 5}]}}}]";
    let made = frameworks_of(text, &registry).unwrap_or_else(|all| panic!("{all:#?}"));
    let last = |framework: &Framework, count: usize| -> Vec<(String, i64)> {
        let all = scorers(framework);
        all[all.len() - count..].to_vec()
    };
    let weights = |of: &[(&str, i64)]| -> Vec<(String, i64)> {
        of.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
    };
    assert_eq!(last(&made[0], 3), weights(&[("affable", 1), ("gpu-placement", 1), ("zoned", 1)]));
    assert_eq!(last(&made[1], 2), weights(&[("gpu-placement", 5), ("zoned", 1)]));
    let zoned = |framework: &Framework| {
        framework.plugins().iter().find(|plugin| plugin.name() == "zoned").unwrap().clone()
    };
    assert!(
        Arc::ptr_eq(&zoned(&made[0]), &zoned(&made[1])),
        "profiles with equal arguments share an instance"
    );

    registry.add_policy("queue-fair", true, policy("queue-fair")).unwrap();
    let made = frameworks_of("", &registry).unwrap_or_else(|all| panic!("{all:#?}"));
    assert_eq!(names(&made[0], &made[0].points().queue_sort), ["queue-fair"]);
    let both = "profiles: [{plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}]";
    let all = frameworks_of(both, &registry).unwrap_err();
    assert!(all.iter().any(|text| text.contains("only one queue sort plugin required")), "{all:#?}");
}
