//! The clusters, profiles and pods that benches share.
#![allow(dead_code)] // each bench uses a part

pub(crate) mod cpu;
pub(crate) mod crowd;
pub(crate) mod devices;
pub(crate) mod library;
pub(crate) mod preemption;
pub(crate) mod rules;
pub(crate) mod volumes;

use bayplan::diag::{SourceMap, Span};
use bayplan::engine::{Decider, Scan, TieBreak};
use bayplan::framework::{
    Cycle, Framework, Instances, Plugin, PluginId, Points, Profile, ScorePlugin, Silent,
};
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::check::Argument;
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::lang::schemas::Schemas;
use bayplan::lang::{Given, compile, compile_given};
use bayplan::model::{Change, Node, Placement, PodInfo, PodKey, Snapshot, Symbol, Time};
use bayplan::plugins;
use bayplan::plugins::policy::{ExemptPods, PolicyPlugin};
use bayplan::testing::{node, pod};
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;

/// The default profile.
pub(crate) fn framework() -> Arc<Framework> {
    let profile = Profile::new("default-scheduler");
    Arc::new(profile.build(&plugins::registry(), &mut Instances::default()).unwrap())
}

/// A cluster of mixed nodes with up to ten pods each.
pub(crate) fn cluster(nodes: usize, framework: &Framework) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (key, index) in framework.plugins().iter().flat_map(|plugin| plugin.indexes()) {
        snapshot.add_index(key, index);
    }
    let shapes: Vec<Arc<Node>> = (0..60)
        .map(|i: usize| {
            let mut maker = node("shape")
                .cpu(["8", "16", "32", "64"][i % 4])
                .memory(["32Gi", "64Gi", "128Gi"][i % 3])
                .zone(["a", "b", "c"][i % 3])
                .label("tier", ["gold", "silver"][i % 2]);
            if i.is_multiple_of(10) {
                maker = maker.taint("dedicated", "batch", "NoSchedule");
            }
            if i.is_multiple_of(7) {
                maker = maker.taint("busy", "", "PreferNoSchedule");
            }
            let images: Vec<_> = (0..20)
                .map(|image| json!({"names": [format!("image-{}:1", image + i % 5)], "sizeBytes": 200_000_000}))
                .collect();
            maker.set("status.images", json!(images)).build()
        })
        .collect();
    let running: Vec<Arc<PodInfo>> = (0..20)
        .map(|i| {
            pod("running").cpu(&format!("{}m", 100 + 37 * i)).memory(&format!("{}Mi", 100 + 61 * i)).build()
        })
        .collect();
    for at in 0..nodes {
        let mut one = (*shapes[at * 31 % shapes.len()]).clone();
        one.name = Symbol::from(format!("node-{at:06}"));
        snapshot.apply(Change::NodeUpserted { node: Arc::new(one) });
        let row = snapshot.row_by_name(&Symbol::from(format!("node-{at:06}"))).unwrap();
        for which in 0..at % 11 {
            let mut one = (*running[(at * 7 + which * 3) % running.len()]).clone();
            one.key = PodKey(Symbol::from(format!("{at}/{which}")));
            snapshot.apply(Change::PodPlaced { pod: Arc::new(one), node: row, how: Placement::Bound });
        }
    }
    snapshot
}

/// One decision, from PreFilter to the chosen node.
pub(crate) fn decide(scan: &mut Scan, pod: &Arc<PodInfo>, framework: &Arc<Framework>, snapshot: &Snapshot) {
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), Time(0));
    let feasible = scan.filter(&mut cycle, snapshot, &mut Silent).unwrap();
    scan.score(&mut cycle, &feasible, snapshot, &mut Silent).unwrap();
    let chosen = scan.select(&cycle, &feasible, snapshot, &[], TieBreak::Seeded, 7, &mut Silent);
    black_box(chosen);
}

/// A rule of four terms: a label compared with the pod's, a constant label, and two amounts.
pub(crate) const FOUR_TERMS: &str = r#"
/// Pods of a tier stay on its nodes, where there is room to spare.
policy tiers {
  filter fits {
    require node.labels["tier"] == pod.labels["tier"] && node.labels["topology.kubernetes.io/zone"] != "c"
         && node.free.cpu >= pod.requests.cpu && node.free.memory > 2 * pod.requests.memory
      else "node(s) of another tier"
  }
}
"#;

/// The policy as a plugin.
pub(crate) fn policy(text: &str) -> PolicyPlugin {
    policy_in("bench.bay", text)
}

/// The policy of a file as a plugin.
pub(crate) fn policy_in(file: &str, text: &str) -> PolicyPlugin {
    policy_given(file, text, &Schemas::default(), &[])
}

/// The same of a policy that looks up objects of these kinds, with arguments.
pub(crate) fn policy_given(
    file: &str,
    text: &str,
    schemas: &Schemas,
    arguments: &[(&str, Value)],
) -> PolicyPlugin {
    let mut sources = SourceMap::new();
    let id = sources.add(file, text);
    let arguments = |_: &str| -> Vec<Argument> {
        let of = |(name, value): &(&str, Value)| Argument {
            name: (*name).to_owned(),
            value: value.clone(),
            span: Span::new(id, 0, 0),
        };
        arguments.iter().map(of).collect()
    };
    let given =
        Given { size: Size::default(), schemas, arguments: &arguments, sources: None, exceptions: None };
    let (policies, diagnostics) = compile_given(sources.get(id).unwrap(), given);
    assert!(diagnostics.iter().all(|diagnostic| !diagnostic.is_error()), "{diagnostics:?}");
    let compiled = Arc::new(CompiledPolicy::new(policies.into_iter().next().unwrap(), &sources));
    PolicyPlugin::new(compiled, ExemptPods::default())
}

/// Policies of one filter with four terms, a file each; each applies to the pods of one value of
/// `tier`, the first to gold ones.
pub(crate) fn folder(policies: usize) -> PolicySet {
    let mut sources = SourceMap::new();
    let mut compiled = Vec::new();
    for at in 0..policies {
        let tier = if at == 0 { "gold".to_owned() } else { format!("tier-{at}") };
        let text = FOUR_TERMS.replace(
            "policy tiers {",
            &format!("policy p{at} {{\n  applies when pod.labels[\"tier\"] == \"{tier}\""),
        );
        let id = sources.add(format!("p{at}.bay"), text);
        let (found, diagnostics) = compile(sources.get(id).unwrap());
        assert!(diagnostics.iter().all(|diagnostic| !diagnostic.is_error()), "{diagnostics:?}");
        compiled.extend(found.into_iter().map(|policy| Arc::new(CompiledPolicy::new(policy, &sources))));
    }
    PolicySet::new(compiled)
}

/// A framework of these policies at their filters.
pub(crate) fn at_filter(set: PolicySet) -> Arc<Framework> {
    let plugins = plugins::policy::plugins(&set, &ExemptPods::default());
    let ids: Vec<PluginId> = (0..plugins.len() as u16).map(PluginId).collect();
    let points = Points { pre_filter: ids.clone(), filter: ids, ..Points::default() };
    Arc::new(Framework::new(Symbol::new("bench"), plugins, points))
}

/// A framework of this plugin alone, at its filter. It is named as a scorer too, so that all nodes are filtered: without
/// scorers the first node that fits is enough.
pub(crate) fn only(plugin: PolicyPlugin) -> Arc<Framework> {
    let own = vec![PluginId(0)];
    let score = own.iter().map(|id| ScorePlugin { plugin: *id, weight: 1 }).collect();
    let points = Points { pre_filter: own.clone(), filter: own, score, ..Points::default() };
    let plugins: Vec<Arc<dyn Plugin>> = vec![Arc::new(plugin)];
    Arc::new(Framework::new(Symbol::new("bench"), plugins, points))
}

/// The same at all points of a decision.
pub(crate) fn scoring(plugin: PolicyPlugin) -> Arc<Framework> {
    let own = vec![PluginId(0)];
    let points = Points {
        pre_filter: own.clone(),
        filter: if plugin.filter().is_some() { own.clone() } else { Vec::new() },
        pre_score: if plugin.pre_score().is_some() { own.clone() } else { Vec::new() },
        score: vec![ScorePlugin { plugin: PluginId(0), weight: 1 }],
        ..Points::default()
    };
    let plugins: Vec<Arc<dyn Plugin>> = vec![Arc::new(plugin)];
    Arc::new(Framework::new(Symbol::new("bench"), plugins, points))
}

/// A pod with small requests.
pub(crate) fn small_pod(number: usize) -> Arc<PodInfo> {
    pod("new")
        .cpu(&format!("{}m", 250 + 10 * number))
        .memory(&format!("{}Mi", 300 + 7 * number))
        .label("tier", "gold")
        .set("spec.containers.0.image", json!("image-7:1"))
        .build()
}

/// The sizes in `BAYPLAN_BENCH_NODES`, or these.
pub(crate) fn sizes(default: &str) -> Vec<usize> {
    let sizes = std::env::var("BAYPLAN_BENCH_NODES").unwrap_or_else(|_| default.to_owned());
    sizes.split(',').filter_map(|size| size.trim().parse().ok()).collect()
}

/// Resident memory in kB; 0 where the system does not tell.
pub(crate) fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
