//! The policies of `policies/gpu` beside slow definitions of their formulas, on nodes and pods of the openb trace
//! (cluster-trace-gpu-v2023, Apache-2.0): `openb-nodes.csv` has its shapes of nodes, `openb-pods.csv` and
//! `openb-pods-with-models.csv` the shapes of its pods, each with how many there are. The formulas are those of "Beware of
//! Fragmentation" (USENIX ATC 2023) and its simulator.

use crate::support::policies::{attempt, framework, snapshot};
use crate::support::repository;
use bayplan::testing::{Random, node, pod};
use std::collections::BTreeMap;

/// A node: free millicores, free thousandths of each GPU, and the model.
#[derive(Clone, Debug)]
struct Machine {
    all_cpu: i64,
    cpu: i64,
    gpus: Vec<i64>,
    model: String,
}

/// A pod: millicores, GPUs, thousandths of each, and the models that will do, with `|` between them.
#[derive(Clone, Debug)]
struct Request {
    cpu: i64,
    count: usize,
    milli: i64,
    models: String,
    /// How many pods of the trace have the shape.
    pods: i64,
}

/// The rows of a table.
fn rows(file: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(repository("tests/library").join(file)).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn number(cell: &str) -> i64 {
    cell.parse().unwrap()
}

fn machines() -> Vec<Machine> {
    let machine = |row: &Vec<String>| Machine {
        all_cpu: number(&row[0]),
        cpu: number(&row[0]),
        gpus: vec![1000; number(&row[2]) as usize],
        model: row[3].clone(),
    };
    rows("openb-nodes.csv").iter().map(machine).collect()
}

fn requests(file: &str) -> Vec<Request> {
    let request = |row: &Vec<String>| Request {
        cpu: number(&row[0]),
        count: number(&row[1]) as usize,
        milli: number(&row[2]),
        models: row[3].clone(),
        pods: number(&row[4]),
    };
    rows(file).iter().map(request).collect()
}

/// The shapes of 95 % of the pods, the most frequent first.
fn typical() -> Vec<Request> {
    let all = requests("openb-pods.csv");
    let enough = all.iter().map(|shape| shape.pods).sum::<i64>() * 95;
    let mut seen = 0;
    all.into_iter()
        .take_while(|shape| {
            let open = seen * 100 < enough;
            seen += shape.pods;
            open
        })
        .collect()
}

fn free(gpus: &[i64]) -> i64 {
    gpus.iter().sum()
}

/// What the free GPUs and the CPU leave unused, for each of the typical shapes, as a mean over pods.
fn fragments(typical: &[Request], cpu: i64, gpus: &[i64]) -> f64 {
    let (mut sum, mut pods) = (0, 0);
    for shape in typical {
        let fitting = gpus.iter().filter(|gpu| **gpu >= shape.milli).count();
        let unused = if shape.count == 0 || shape.cpu > cpu || fitting < shape.count {
            free(gpus)
        } else {
            gpus.iter().filter(|gpu| **gpu < shape.milli).sum()
        };
        sum += shape.pods * unused;
        pods += shape.pods;
    }
    sum as f64 / pods as f64
}

/// Every way to put the pod on the GPUs of a node.
fn placements(gpus: &[i64], pod: &Request) -> Vec<Vec<i64>> {
    fn choose(gpus: &[i64], from: usize, left: usize, milli: i64, found: &mut Vec<Vec<i64>>) {
        if left == 0 {
            found.push(gpus.to_vec());
            return;
        }
        for at in from..gpus.len() {
            if gpus[at] >= milli {
                let mut with = gpus.to_vec();
                with[at] -= milli;
                choose(&with, at + 1, left - 1, milli, found);
            }
        }
    }
    let mut found = Vec::new();
    choose(gpus, 0, pod.count, pod.milli, &mut found);
    found
}

fn descent(typical: &[Request], on: &Machine, pod: &Request) -> f64 {
    let before = fragments(typical, on.cpu, &on.gpus);
    let after = placements(&on.gpus, pod)
        .iter()
        .map(|gpus| fragments(typical, on.cpu - pod.cpu, gpus))
        .fold(f64::INFINITY, f64::min);
    100.0 / (1.0 + (-(before - after) / 1000.0).exp())
}

/// The shares of CPU and GPU that stay free.
fn left(on: &Machine, pod: &Request) -> f64 {
    let gpu = free(&on.gpus) - pod.count as i64 * pod.milli;
    0.5 * (on.cpu - pod.cpu) as f64 / 128_000.0 + 0.5 * gpu as f64 / 8_000.0
}

fn least_alike(on: &Machine, pod: &Request) -> f64 {
    let cpu = on.cpu as f64 / 128_000.0 * (pod.cpu as f64 / 128_000.0);
    let gpu = free(&on.gpus) as f64 / 8_000.0 * ((pod.count as i64 * pod.milli) as f64 / 8_000.0);
    100.0 * (1.0 - 0.5 * (cpu + gpu))
}

fn packed(on: &Machine, pod: &Request) -> i64 {
    let total = on.gpus.len() as i64;
    if pod.count == 0 {
        return 0;
    }
    if on.gpus.iter().all(|gpu| *gpu == 1000) {
        return (33 - total).max(total);
    }
    let used: Vec<i64> = on.gpus.iter().copied().filter(|gpu| *gpu < 1000 && *gpu >= pod.milli).collect();
    if used.len() < pod.count {
        return (50 - (pod.count - used.len()) as i64).max(33);
    }
    (100 - free(&used) / 100).max(50)
}

/// A score as a whole number: the ninth decimal is rounded, then digits are cut off.
fn cut(score: f64) -> i64 {
    ((score * 1e9).round() / 1e9) as i64
}

type Formula = Box<dyn Fn(&Machine, &Request) -> i64>;

fn formulas() -> Vec<(&'static str, Formula)> {
    let shapes = typical();
    vec![
        ("gpu-best-fit", Box::new(|on, pod| cut(100.0 * (1.0 - left(on, pod))))),
        ("gpu-worst-fit", Box::new(|on, pod| cut(100.0 * left(on, pod)))),
        ("gpu-dot-product", Box::new(|on, pod| cut(least_alike(on, pod)))),
        ("gpu-packing", Box::new(packed)),
        ("gpu-fgd", Box::new(move |on, pod| cut(descent(&shapes, on, pod)))),
    ]
}

fn fits(on: &Machine, pod: &Request) -> bool {
    let model = pod.models.is_empty() || pod.models.split('|').any(|model| model == on.model);
    !placements(&on.gpus, pod).is_empty() && (pod.count == 0 || model)
}

fn policy(name: &str) -> String {
    std::fs::read_to_string(repository("policies/gpu").join(format!("{name}.bay"))).unwrap()
}

/// A pod as the trace describes it, on the GPUs with these numbers of a node.
fn pod_of(name: &str, of: &Request, on: Option<(&str, &[usize])>) -> std::sync::Arc<bayplan::model::PodInfo> {
    let mut maker = pod(name).cpu(&format!("{}m", of.cpu));
    if of.count > 0 {
        maker = maker.annotation("alibabacloud.com/gpu-count", &of.count.to_string());
        maker = maker.annotation("alibabacloud.com/gpu-milli", &of.milli.to_string());
    }
    if !of.models.is_empty() {
        maker = maker.annotation("alibabacloud.com/gpu-card-model", &of.models);
    }
    if let Some((node, numbers)) = on {
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        maker = maker.on(node);
        if !numbers.is_empty() {
            maker = maker.annotation("alibabacloud.com/gpu-index", &numbers.join("-"));
        }
    }
    maker.build()
}

/// A shape, as often as pods have it.
fn drawn(random: &mut Random, of: &[Request]) -> Request {
    let all: i64 = of.iter().map(|shape| shape.pods).sum();
    let mut at = random.below(all as usize) as i64;
    let found = of.iter().find(|shape| {
        at -= shape.pods;
        at < 0
    });
    found.unwrap().clone()
}

/// A cluster of the trace in the middle of its work: machines with pods on GPUs that they name.
fn busy(
    random: &mut Random,
    shapes: &[Request],
) -> (Vec<Machine>, Vec<std::sync::Arc<bayplan::model::PodInfo>>) {
    let kinds = machines();
    let mut cluster: Vec<Machine> = (0..12).map(|_| random.of(&kinds)).collect();
    let mut running = Vec::new();
    for at in 0..random.below(60) {
        let (which, wanted) = (random.below(cluster.len()), drawn(random, shapes));
        let machine = &mut cluster[which];
        let fitting: Vec<usize> =
            (0..machine.gpus.len()).filter(|gpu| machine.gpus[*gpu] >= wanted.milli).collect();
        if machine.cpu < wanted.cpu || fitting.len() < wanted.count {
            continue;
        }
        let from = random.below(fitting.len() + 1 - wanted.count);
        let numbers = &fitting[from..from + wanted.count];
        machine.cpu -= wanted.cpu;
        numbers.iter().for_each(|gpu| machine.gpus[*gpu] -= wanted.milli);
        running.push(pod_of(&format!("running-{at}"), &wanted, Some((&format!("n{which:02}"), numbers))));
    }
    (cluster, running)
}

#[test]
fn the_gpu_scores_are_those_of_the_formulas_on_clusters_of_the_openb_trace() {
    let shapes = requests("openb-pods-with-models.csv");
    let mut random = Random(20_231);
    let formulas = formulas();
    let frameworks: Vec<_> = formulas
        .iter()
        .map(|(name, _)| framework(&format!("{}\n{}", policy("gpu-fit"), policy(name))))
        .collect();
    let (mut compared, mut refused, mut values) = (0, 0, BTreeMap::new());
    for _ in 0..30 {
        let (cluster, running) = busy(&mut random, &shapes);
        let nodes: Vec<_> = cluster
            .iter()
            .enumerate()
            .map(|(at, machine)| {
                let mut maker = node(&format!("n{at:02}")).cpu(&format!("{}m", machine.all_cpu));
                if !machine.gpus.is_empty() {
                    maker = maker.resource("alibabacloud.com/gpu-count", &machine.gpus.len().to_string());
                    maker = maker.label("alibabacloud.com/gpu-card-model", &machine.model);
                }
                maker.build()
            })
            .collect();
        for _ in 0..4 {
            let wanted = drawn(&mut random, &shapes);
            let new = pod_of("new", &wanted, None);
            for ((name, formula), framework) in formulas.iter().zip(&frameworks) {
                let snapshot = snapshot(framework, nodes.clone(), running.clone());
                let outcome = attempt(framework, &snapshot, &new);
                for (at, machine) in cluster.iter().enumerate() {
                    let node = format!("n{at:02}");
                    let score = outcome.scores.iter().find(|(of, _)| *of == node).map(|(_, score)| *score);
                    assert_eq!(score.is_some(), fits(machine, &wanted), "gpu-fit: {machine:?} {wanted:?}");
                    refused += usize::from(score.is_none());
                    // Whether the CPU suffices is decided by NodeResourcesFit.
                    if let Some(score) = score.filter(|_| machine.cpu >= wanted.cpu) {
                        assert_eq!(score, formula(machine, &wanted), "{name}: {machine:?} {wanted:?}");
                        compared += 1;
                        *values.entry((*name, score)).or_insert(0) += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 1_500 && refused > 500, "{compared} scores, {refused} refusals");
    for (name, _) in &formulas {
        let different = values.keys().filter(|(of, _)| of == name).count();
        assert!(different > 5, "{name} gave {different} different scores");
    }
}

/// The default of the param `typical` is the rule of the study applied to the trace.
#[test]
fn the_typical_shapes_are_those_of_the_openb_trace() {
    let text = policy("gpu-fgd");
    let shapes = typical();
    assert_eq!(shapes.len(), 35);
    for shape in &shapes {
        let cpu = match shape.cpu % 1000 {
            0 => format!("{}cpu", shape.cpu / 1000),
            _ => format!("{}m", shape.cpu),
        };
        let written = format!(
            "{{\"cpu\": {cpu}, \"gpus\": {}, \"milli\": {}, \"pods\": {}}}",
            shape.count, shape.milli, shape.pods
        );
        assert!(text.contains(&written), "{written}");
    }
    assert_eq!(text.matches("\"milli\":").count(), shapes.len());
}
