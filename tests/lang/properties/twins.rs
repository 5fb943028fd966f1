//! Policies in the policy language, as documents in CEL and back: all three decide alike on random clusters.

use super::Random;
use super::evaluators::cluster;
use super::programs::Programs;
use crate::support::policies::{NOW, framework_of, measure, snapshot, statuses, try_compile};
use bayplan::diag::SourceMap;
use bayplan::framework::{Cycle, Feasible, PluginId, PreFilterOutcome};
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::policy_set::PolicySet;
use bayplan::lang::{self, convert::convert};
use bayplan::model::{Node, NodeSet, PodInfo};
use bayplan::testing::pod;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The text in the other language, or why it has no twin.
fn converted(text: &str) -> Result<String, Vec<String>> {
    let mut sources = SourceMap::new();
    let id = sources.add(if text.starts_with("apiVersion") { "p.yaml" } else { "p.bay" }, text);
    let source = sources.get(id).unwrap();
    let (policies, said) = lang::compile_for(source, Size::of(20, 20), &|_| Vec::new());
    assert!(!said.iter().any(|said| said.is_error()), "{said:?}\n{text}");
    convert(source, &policies).map_err(|without| without.into_iter().map(|of| of.why).collect())
}

/// What a constant beside it keeps from being evaluated has no types: where it says more than its text, `convert` refuses.
const NO_WAY_BACK: &str = "no way back";

/// A text and its twins: as a document, and as a text made of that. `Err` says why there is none.
fn twins(text: &str) -> Result<[PolicySet; 3], String> {
    let first = try_compile(text)?;
    let document = converted(text).map_err(|why| why.join("\n"))?;
    let document = document.get(document.find("apiVersion").unwrap()..).unwrap().to_owned();
    let second = try_compile(&document).map_err(|why| format!("refused: {why}\n{text}\n{document}"))?;
    let back = match converted(&document) {
        Ok(back) => back,
        Err(why) if why.iter().all(|why| why.starts_with("this is never evaluated")) => {
            return Err(NO_WAY_BACK.into());
        }
        Err(why) => panic!("no way back: {why:?}\n{text}\n{document}"),
    };
    match try_compile(&back) {
        Ok(third) => Ok([first, second, third]),
        Err(_) => Err(NO_WAY_BACK.to_owned()),
    }
}

/// Everything that a policy decides about pods on a cluster.
fn decided(
    set: &PolicySet,
    nodes: &[Arc<Node>],
    pods: &[Arc<PodInfo>],
    subjects: &[Arc<PodInfo>],
) -> Vec<String> {
    let framework = framework_of(set);
    let mut snapshot = snapshot(&framework, nodes.to_vec(), pods.to_vec());
    set.iter().for_each(|policy| super::memos::fill(&mut Random(7), &policy.policy, &mut snapshot));
    measure(&framework, &mut snapshot);
    let (plugin, id) = (&framework.plugins()[0], PluginId(0));
    let mut said = Vec::new();
    for subject in subjects {
        let mut cycle = Cycle::new(subject.clone(), framework.clone(), NOW);
        if let Some(gate) = plugin.pre_enqueue() {
            let gated = gate.pre_enqueue(&cycle.handle(&snapshot).for_plugin(id));
            said.push(format!("{} gate {gated:?}", subject.name));
        }
        let mut alive = snapshot.columns().alive().clone();
        if let Some(prefilter) = plugin.pre_filter() {
            let mut slot = cycle.state.slot_mut(id).clone();
            let outcome = prefilter.pre_filter(&cycle.handle(&snapshot).for_plugin(id), &mut slot);
            *cycle.state.slot_mut(id) = slot;
            said.push(format!("{} prefilter {outcome:?}", subject.name));
            match outcome {
                Err(_) | Ok(PreFilterOutcome::Skip) => continue,
                Ok(PreFilterOutcome::Only(only)) => alive.intersect(&only),
                Ok(PreFilterOutcome::AllNodes) => {}
            }
        }
        let filtered = match plugin.filter() {
            Some(_) => statuses(&framework, &cycle, &snapshot, &alive),
            None => Vec::new(),
        };
        let mut feasible = Feasible { nodes: NodeSet::with_rows(alive.words().len() * 64) };
        for node in alive.iter() {
            match filtered.get(node.row()).cloned().flatten() {
                Some(status) => said.push(format!(
                    "{} {} {:?} {}",
                    subject.name,
                    node.row(),
                    status.code,
                    status.message()
                )),
                None => feasible.nodes.insert(node),
            }
        }
        if let Some(scorer) = plugin.score() {
            let scored = framework.run_pre_score(&mut cycle, &snapshot, &feasible);
            said.push(format!("{} scores {scored:?}", subject.name));
            let handle = cycle.handle(&snapshot).for_plugin(id);
            for node in feasible.nodes.iter() {
                let score = scorer.score(&handle, snapshot.node(node).unwrap());
                said.push(format!("{} {} {score:?}", subject.name, node.row()));
            }
        }
    }
    said
}

fn alike(sets: &[PolicySet; 3], random: &mut Random, what: &str) -> usize {
    let (nodes, pods) = cluster(random);
    let mut subjects: Vec<_> = pods.iter().filter(|pod| pod.node_name.is_none()).take(3).cloned().collect();
    subjects.push(pod("fresh").label("team", "a").cpu("500m").build());
    let [first, second, third] = [0, 1, 2].map(|at| decided(&sets[at], &nodes, &pods, &subjects));
    assert_eq!(first, second, "the document decides otherwise: {what}");
    assert_eq!(first, third, "the text made of the document decides otherwise: {what}");
    first.len()
}

/// How many programs are tried, the same on every machine; `BAYPLAN_PROGRAMS` raises it.
fn wanted() -> u64 {
    let asked = std::env::var("BAYPLAN_PROGRAMS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(700)
}

#[test]
fn random_policies_decide_as_their_twins() {
    let (mut programs, mut with_twins, mut decisions) = (0, 0, 0);
    let mut without: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 33_000_000..33_000_000 + wanted() {
        let mut random = Random(seed);
        let text = Programs::for_documents(&mut random).policy();
        if try_compile(&text).is_err() {
            continue;
        }
        programs += 1;
        match twins(&text) {
            Ok(sets) => {
                with_twins += 1;
                decisions +=
                    alike(&sets, &mut random, &format!("seed {seed}\n{text}\n{}", converted(&text).unwrap()));
            }
            Err(why) => *without.entry(why).or_default() += 1,
        }
    }
    println!(
        "{programs} programs, {with_twins} have twins, {decisions} decisions; {} have none",
        programs - with_twins
    );
    let mut without: Vec<_> = without.into_iter().collect();
    without.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (why, count) in without.iter().take(40) {
        println!("  {count}: {why}");
    }
    let no_way_back = without.iter().find(|(why, _)| why == NO_WAY_BACK).map_or(0, |(_, count)| *count);
    assert!(no_way_back * 50 <= with_twins, "{no_way_back} have no way back");
    // Most random programs leave the range of int or multiply durations somewhere, which has no twin.
    assert!(with_twins * 8 > programs, "{with_twins} of {programs} have twins");
    assert!(decisions > 10 * with_twins, "{decisions} decisions");
}

/// Every policy file of the tree.
fn policies() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open: Vec<PathBuf> = ["policies", "examples", "tests/lang/design", "tests/lang/documents/twins"]
        .map(|folder| root.join(folder))
        .into();
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ending| ending == "bay") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn policies_of_the_tree_decide_as_their_twins() {
    let mut with_twins = 0;
    for path in policies() {
        let text = std::fs::read_to_string(&path).unwrap();
        if try_compile(&text).is_err() {
            continue;
        }
        let Ok(sets) = twins(&text) else { continue };
        with_twins += 1;
        for seed in 1..40 {
            alike(&sets, &mut Random(seed), &format!("{}, seed {seed}", path.display()));
        }
    }
    assert!(with_twins >= 24, "{with_twins} policies have twins");
}
