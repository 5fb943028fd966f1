//! Configurations of the kinds that Kubernetes' documentation and that of scheduler-plugins show: each loads, or is
//! refused for a stated reason.

use bayplan::config;
use bayplan::diag::{Diagnostic, SourceMap};
use bayplan::plugins;

/// Everything that is said about a configuration; nothing if it loads.
fn said(profiles: &str) -> Vec<String> {
    let header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let text =
        if profiles.starts_with("apiVersion") { profiles.to_owned() } else { format!("{header}{profiles}") };
    let mut sources = SourceMap::new();
    let id = sources.add("config.yaml", text);
    let (config, mut found) = config::read(sources.get(id).unwrap());
    if let Err(more) = config.frameworks(&plugins::registry(), id) {
        found.extend(more);
    }
    found.into_iter().filter(Diagnostic::is_error).map(|error| error.message).collect()
}

/// Kubernetes: profiles, points, and plugins without scores.
const PROFILES: [&str; 6] = [
    "profiles:\n- schedulerName: default-scheduler\n- schedulerName: no-scoring-scheduler\n  plugins:\n    preScore:\n      \
     disabled:\n      - name: '*'\n    score:\n      disabled:\n      - name: '*'\n",
    "profiles:\n- schedulerName: multipoint-scheduler\n  plugins:\n    multiPoint:\n      enabled:\n      - name: NodePorts\n    \
       preFilter:\n      disabled:\n      - name: NodePorts\n",
    "profiles:\n- plugins:\n    multiPoint:\n      disabled: [{name: '*'}]\n      enabled: [{name: PrioritySort}, {name: \
     DefaultBinder}, {name: NodeResourcesFit, weight: 3}]\n",
    "percentageOfNodesToScore: 50\nprofiles:\n- percentageOfNodesToScore: 70\n",
    "clientConnection:\n  kubeconfig: /etc/srv/kubernetes/kube-scheduler/kubeconfig\nleaderElection:\n  leaderElect: false\n",
    "profiles:\n- plugins:\n    score:\n      disabled: [{name: PodTopologySpread}]\n      enabled: [{name: NodeAffinity, weight: \
     5}]\n",
];

/// Kubernetes: arguments of plugins.
const ARGUMENTS: [(&str, &str); 9] = [
    (
        "NodeResourcesFit",
        "{scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: intel.com/foo, weight: 3}, {name: \
         intel.com/bar, weight: 3}], requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, \
         score: 10}]}}}",
    ),
    (
        "NodeResourcesFit",
        "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: intel.com/foo, weight: 3}]}}",
    ),
    ("PodTopologySpread", "{defaultConstraints: [], defaultingType: List}"),
    (
        "PodTopologySpread",
        "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, \
         whenUnsatisfiable: ScheduleAnyway}]}",
    ),
    (
        "NodeAffinity",
        "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: \
         scheduler-profile, operator: In, values: [foo]}]}]}}}",
    ),
    ("InterPodAffinity", "{hardPodAffinityWeight: 100}"),
    ("DefaultPreemption", "{minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100}"),
    ("VolumeBinding", "{bindTimeoutSeconds: 300}"),
    ("DynamicResources", "{filterTimeout: 20s}"),
];

#[test]
fn configurations_of_kubernetes_load() {
    for text in PROFILES {
        assert_eq!(said(text), Vec::<String>::new(), "{text}");
    }
    for (plugin, args) in ARGUMENTS {
        let with_header = args.replacen(
            '{',
            &format!("{{apiVersion: kubescheduler.config.k8s.io/v1, kind: {plugin}Args, "),
            1,
        );
        for args in [args, &with_header] {
            let text = format!("profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]");
            assert_eq!(said(&text), Vec::<String>::new(), "{text}");
        }
    }
    let extenders = "extenders:\n- urlPrefix: http://localhost:8080\n  filterVerb: filter\n  prioritizeVerb: prioritize\n  \
                     weight: 5\n  bindVerb: bind\n  ignorable: true\n  nodeCacheCapable: true\n  managedResources:\n  - name: \
                     example.com/gpu\n    ignoredByScheduler: true\n";
    assert_eq!(said(extenders), Vec::<String>::new());
}

#[test]
fn what_is_refused_says_why() {
    let refused = [
        // Plugins that are compiled into another scheduler.
        (
            "profiles: [{plugins: {multiPoint: {enabled: [{name: Coscheduling}]}, queueSort: {enabled: [{name: \
             Coscheduling}], disabled: [{name: '*'}]}}}]",
            "\"Coscheduling\" does not exist",
        ),
        (
            "profiles: [{pluginConfig: [{name: Coscheduling, args: {permitWaitingTimeSeconds: 10}}]}]",
            "no plugin is called `Coscheduling`",
        ),
        (
            "profiles: [{plugins: {score: {enabled: [{name: NodeResourcesAllocatable, weight: 1}]}}}]",
            "ScorePlugin \"NodeResourcesAllocatable\" does not exist",
        ),
        // Older versions.
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
            "`kubescheduler.config.k8s.io/v1beta3` is not supported",
        ),
        ("algorithmSource: {provider: DefaultProvider}", "unknown field `algorithmSource`"),
        ("healthzBindAddress: 0.0.0.0:10251", "unknown field `healthzBindAddress`"),
        (
            "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
            "FilterPlugin \"EBSLimits\" does not exist",
        ),
        // A gate that is off.
        ("profiles: [{plugins: {multiPoint: {enabled: [{name: GangScheduling}]}}}]", "is not built"),
    ];
    for (text, why) in refused {
        let said = said(text);
        assert!(said.iter().any(|message| message.contains(why)), "{text}: {said:#?}");
    }
}

/// Arguments of plugins that a profile does not have are checked as well.
#[test]
fn arguments_of_plugins_that_are_disabled_are_checked() {
    let text = "profiles: [{plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}, pluginConfig: [{name: \
                InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]";
    let said = said(text);
    assert!(said.iter().any(|message| message.contains("not in valid range [0, 100]")), "{said:#?}");
}
