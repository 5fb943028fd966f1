//! Policies from text, and one attempt of one pod with them, for tests.

use bayplan::diag::SourceMap;
use bayplan::framework::{
    Cycle, Feasible, Framework, PartialScore, Plugin, PluginId, Points, PreFilterOutcome, ScorePlugin,
    Status, Verdicts,
};
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::model::{Change, Measured, NodeSet, Placement, PodInfo, Reading, Snapshot, Symbol, Time, Want};
use bayplan::plugins::policy::{ExemptPods, plugins};
use std::sync::Arc;

/// The instant of all cycles of these tests: 2026-01-05 12:00 UTC, a Monday.
pub(crate) const NOW: Time = Time(1_767_614_400_000_000);

/// Compiles a text, or a document that begins with `apiVersion`; panics with its mistakes.
pub(crate) fn compile(text: &str) -> PolicySet {
    match try_compile(text) {
        Ok(set) => set,
        Err(mistakes) => panic!("{mistakes}\n{text}"),
    }
}

/// Compiles a text, or says its mistakes.
pub(crate) fn try_compile(text: &str) -> Result<PolicySet, String> {
    try_compile_with(text, &[])
}

/// The same with the arguments of a profile.
pub(crate) fn try_compile_with(text: &str, given: &[(&str, serde_json::Value)]) -> Result<PolicySet, String> {
    let mut sources = SourceMap::new();
    let name = match text {
        _ if text.starts_with('{') => "test.json",
        _ if text.starts_with("apiVersion") => "test.yaml",
        _ => "test.bay",
    };
    let id = sources.add(name, text);
    let source = sources.get(id).unwrap();
    // Clusters of tests are small, and so are the bounds of their policies.
    let size = bayplan::lang::analysis::cost::Size::of(20, 20);
    let argument = |(name, value): &(&str, serde_json::Value)| bayplan::lang::check::Argument {
        name: (*name).to_owned(),
        value: value.clone(),
        span: source.span(),
    };
    let arguments = |_: &str| given.iter().map(argument).collect();
    let (typed, diagnostics) = bayplan::lang::compile_for(source, size, &arguments);
    let mistakes: Vec<String> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .map(|d| format!("{}: {} at `{}`", d.code.id, d.message, sources.text(d.span)))
        .collect();
    if !mistakes.is_empty() {
        return Err(mistakes.join("\n"));
    }
    Ok(PolicySet::new(typed.into_iter().map(|p| Arc::new(CompiledPolicy::new(p, &sources)))))
}

/// A framework with the policies of a text at all their points.
pub(crate) fn framework(text: &str) -> Arc<Framework> {
    framework_of(&compile(text))
}

/// A framework with the policies of a set at all their points.
pub(crate) fn framework_of(set: &PolicySet) -> Arc<Framework> {
    let all = plugins(set, &ExemptPods::default());
    let at = |has: &dyn Fn(&dyn Plugin) -> bool| -> Vec<PluginId> {
        let with = all.iter().enumerate().filter(|(_, plugin)| has(&***plugin));
        with.map(|(at, _)| PluginId(at as u16)).collect()
    };
    let points = Points {
        pre_enqueue: at(&|p| p.pre_enqueue().is_some()),
        queue_sort: at(&|p| p.queue_sort().is_some()),
        pre_filter: at(&|p| p.pre_filter().is_some()),
        filter: at(&|p| p.filter().is_some()),
        post_filter: at(&|p| p.post_filter().is_some()),
        pre_score: at(&|p| p.pre_score().is_some()),
        score: at(&|p| p.score().is_some())
            .into_iter()
            .map(|plugin| ScorePlugin { plugin, weight: 1 })
            .collect(),
        permit: at(&|p| p.permit().is_some()),
        ..Points::default()
    };
    Arc::new(Framework::new(Symbol::new("bayplan"), all, points))
}

/// A snapshot of nodes, placed pods and pending pods, with the indexes of a framework.
pub(crate) fn snapshot(
    framework: &Framework,
    nodes: Vec<Arc<bayplan::model::Node>>,
    pods: Vec<Arc<PodInfo>>,
) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for node in nodes {
        snapshot.apply(Change::NodeUpserted { node });
    }
    for pod in pods {
        add_pod(&mut snapshot, pod);
    }
    for plugin in framework.plugins() {
        for (key, index) in plugin.indexes() {
            snapshot.add_index(key, index);
        }
        for key in plugin.reads().label_keys {
            snapshot.want(&[Want::Label(key)]);
        }
    }
    snapshot
}

/// What nodes used in the last minutes, for frameworks that read it: some nodes say nothing, and some did long ago.
pub(crate) fn measure(framework: &Framework, snapshot: &mut Snapshot) {
    snapshot.set_metrics_windows(framework.metrics_windows());
    let names: Vec<Symbol> = snapshot.nodes().map(|node| node.name().clone()).collect();
    for poll in 0..6i64 {
        let at = NOW - bayplan::model::Duration::from_seconds(15 * (5 - poll));
        let all = names.iter().zip(0i64..).filter(|(_, row)| (row + poll) % 4 != 3);
        let readings = all.filter(|(_, row)| row % 5 != 4 || poll == 0).map(|(name, row)| {
            let at = if row % 5 == 4 { at - bayplan::model::Duration::from_seconds(600) } else { at };
            let (cpu, memory) = ((row * 700 + poll * 130) % 4_000, (row * 900 + poll * 77) << 20);
            Reading { node: name.clone(), measured: Measured::Sample { at, cpu, memory } }
        });
        let readings = readings.collect();
        snapshot.apply(Change::Metrics { at, readings });
    }
}

/// Adds a pod, bound where it names a node.
pub(crate) fn add_pod(snapshot: &mut Snapshot, pod: Arc<PodInfo>) {
    let node = pod.node_name.as_ref().and_then(|name| snapshot.node_by_name(name));
    snapshot.apply(match node {
        Some(node) => Change::PodPlaced { pod, node, how: Placement::Bound },
        None => Change::PodPending { pod },
    });
}

/// What became of one attempt.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    /// A refusal by PreFilter.
    pub refused: Option<String>,
    /// Nodes that passed, by name, with the sum of the policies' scores.
    pub scores: Vec<(String, i64)>,
    /// Nodes that were refused, by name, with their reason.
    pub reasons: Vec<(String, String)>,
}

/// One attempt of a pod: PreFilter, Filter (per node and as a range, which must agree), PreScore, Score.
pub(crate) fn attempt(framework: &Arc<Framework>, snapshot: &Snapshot, pod: &Arc<PodInfo>) -> Outcome {
    let mut outcome = Outcome { refused: None, scores: Vec::new(), reasons: Vec::new() };
    let (cycle, feasible) = match filtered(framework, snapshot, pod, &mut outcome) {
        Some(done) => done,
        None => return outcome,
    };
    let handle = cycle.handle(snapshot);
    for id in feasible.nodes.iter() {
        let node = snapshot.node(id).unwrap();
        let total = framework
            .scorers(&cycle.state)
            .map(|(entry, score)| score.score(&handle.for_plugin(entry.plugin), node).unwrap())
            .sum();
        outcome.scores.push((node.name().to_string(), total));
    }
    outcome
}

/// The scores of single statements of the policies on one node.
pub(crate) fn parts(
    framework: &Arc<Framework>,
    snapshot: &Snapshot,
    pod: &Arc<PodInfo>,
    node: &str,
) -> Vec<PartialScore> {
    let mut outcome = Outcome { refused: None, scores: Vec::new(), reasons: Vec::new() };
    let (cycle, feasible) = filtered(framework, snapshot, pod, &mut outcome).unwrap();
    let node = snapshot.node(snapshot.node_by_name(&Symbol::new(node)).unwrap()).unwrap();
    let handle = cycle.handle(snapshot);
    framework
        .scorers(&cycle.state)
        .flat_map(|(entry, score)| score.partial_scores(&handle.for_plugin(entry.plugin), &feasible, node))
        .collect()
}

fn filtered(
    framework: &Arc<Framework>,
    snapshot: &Snapshot,
    pod: &Arc<PodInfo>,
    outcome: &mut Outcome,
) -> Option<(Cycle, Feasible)> {
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), NOW);
    let mut nodes = snapshot.columns().alive().clone();
    for (at, plugin) in framework.plugins().iter().enumerate() {
        let id = PluginId(at as u16);
        let Some(point) = plugin.pre_filter() else { continue };
        let mut slot = cycle.state.slot_mut(id).clone();
        let answer = point.pre_filter(&cycle.handle(snapshot).for_plugin(id), &mut slot);
        *cycle.state.slot_mut(id) = slot;
        match answer {
            Ok(PreFilterOutcome::AllNodes) => {}
            Ok(PreFilterOutcome::Skip) => cycle.state.skip_filter.insert(id),
            Ok(PreFilterOutcome::Only(only)) => nodes.intersect(&only),
            Err(status) => {
                outcome.refused = Some(status.message());
                return None;
            }
        }
    }
    let refused = statuses(framework, &cycle, snapshot, &nodes);
    for (row, status) in refused.iter().enumerate() {
        let id = bayplan::model::NodeId::from_row(row);
        let (Some(status), Some(node)) = (status, snapshot.node(id)) else { continue };
        nodes.remove(id);
        outcome.reasons.push((node.name().to_string(), status.message()));
    }
    let feasible = Feasible { nodes };
    framework.run_pre_score(&mut cycle, snapshot, &feasible).unwrap();
    Some((cycle, feasible))
}

/// The status of every node of `nodes` by row, asked per node and per range; the two must agree, and `violations` must
/// be empty exactly where a node passes.
pub(crate) fn statuses(
    framework: &Framework,
    cycle: &Cycle,
    snapshot: &Snapshot,
    nodes: &NodeSet,
) -> Vec<Option<Status>> {
    let mut statuses: Vec<Option<Status>> = vec![None; snapshot.columns().rows()];
    for (at, plugin) in framework.plugins().iter().enumerate() {
        let id = PluginId(at as u16);
        let Some(filter) = plugin.filter() else { continue };
        if cycle.state.skip_filter.contains(id) {
            continue;
        }
        let handle = cycle.handle(snapshot).for_plugin(id);
        let mut verdicts = Verdicts::default();
        filter.filter_range(&handle, nodes, &mut verdicts);
        let mut ranged: Vec<Option<Status>> = vec![None; statuses.len()];
        for (node, number) in verdicts.refused() {
            ranged[node.row()] = Some(verdicts.statuses()[number as usize].clone());
        }
        for node in nodes.iter() {
            let info = snapshot.node(node).unwrap();
            let single = filter.filter(&handle, info).err();
            assert_eq!(ranged[node.row()], single, "range and node differ on {}", info.name());
            let mut violations = Vec::new();
            filter.violations(&handle, info, &mut violations);
            assert_eq!(violations.is_empty(), single.is_none(), "violations on {}", info.name());
            if statuses[node.row()].is_none() {
                statuses[node.row()] = single;
            }
        }
    }
    statuses
}
