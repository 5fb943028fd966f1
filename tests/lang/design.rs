//! The policies in `tests/lang/design`, which are those of the language's design, compile;
//! `design.out` records every message about them.

use super::fixtures::{files, golden, said, said_with};
use bayplan::lang::schemas::Schemas;

/// The kinds that the policies of the design look up.
fn kinds() -> Schemas {
    let path = bayplan_folder().join("kinds.json");
    let all: Vec<serde_json::Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut schemas = Schemas::default();
    for kind in &all {
        schemas.add_definition(kind).unwrap();
    }
    schemas
}

fn bayplan_folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang/design")
}

#[test]
fn policies_of_the_design_compile_or_need_what_is_not_built() {
    let kinds = kinds();
    let mut wrong = String::new();
    for path in files("design", "bay") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (policies, diagnostics, lines) = said_with(&name, &text, &kinds);
        let errors: Vec<_> = diagnostics.iter().filter(|d| d.is_error()).collect();
        // The bound refuses some policies as they are written: the design names two, one compares every quota with
        // every nominated pod for each candidate, and two add up the pods of each node again for each pod, where the
        // library has ledgers.
        let costly = [
            "capacity-scheduling.bay",
            "low-risk-over-commitment.bay",
            "network-overhead.bay",
            "sysched.bay",
            "target-load-packing.bay",
        ];
        let costly = costly.contains(&&*name);
        let beyond = |slug: &str| slug == "too-costly" || slug == "value-too-large";
        let only_unbuilt = errors.iter().all(|d| d.code.slug == "not-built" || costly && beyond(d.code.slug));
        if !only_unbuilt || errors.is_empty() == policies.is_empty() {
            wrong.push_str(&format!("---- {name}\n{lines}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is said about every policy of the design, as one text: a change of a message shows here.
#[test]
fn what_is_said_about_the_policies_of_the_design() {
    let kinds = kinds();
    let mut all = String::new();
    for path in files("design", "bay") {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (_, _, lines) = said_with(&name, &text, &kinds);
        all.push_str(&format!("---- {name}\n{lines}"));
    }
    golden("design.out", &all);
}

/// What the design's text writes inline: in a policy, these compile without an error.
#[test]
fn samples_of_the_text_of_the_design_compile() {
    let statements = [
        "applies to all pods when pod.namespace == \"a\"",
        "applies when pod.requests[\"nvidia.com/gpu\"] > 0",
        "gate \"no\" when pod.labels[\"a\"] == \"b\"",
        "gate \"late\" when !within(now(), \"Mon-Fri 08:00-18:00, Sat 08:00-12:00\", \"Europe/Berlin\")",
        "gate \"late\" when now().getHours(\"Europe/Berlin\") > 8",
        "queue by desc pod.priority, asc pod.created",
        "prefilter { reject \"r\" when pod.priority < 0; only nodes [\"a\"] when pod.priority > 1 }",
        "prefilter { reject unresolvable \"r\" with { a: pod.labels[\"x\"] } when pod.priority < 0 }",
        "filter f { require node.ready else \"r {node.name} {{\" }",
        "filter f { reject resolvable \"r\" when node.pods.count() > 3 }",
        "score s { give percent(node.requested.cpu, node.allocatable.cpu) }",
        "score s weight 2 normalize minmax reversed { give none when !node.ready; give node.free.memory }",
        "score s { give 100 * share(node.requested.cpu, node.allocatable.cpu) }",
        "param weights = 5\n  prefer weights when node.ready",
        "param x: int in 1..99 = 40\n  filter f { require node.pods.count() < x else \"r\" }",
        "let a: int? = int(pod.labels[\"a\"])\n  filter f { require node.pods.count() < (a ?? 3) else \"r\" }",
        "let a = pod.labels[\"a\"] missing skip\n  filter f { require node.name == a else \"r\" }",
        "let a = pod.labels[\"a\"] missing reject \"r\"\n  filter f { require node.name == a else \"r\" }",
        "let a = pod.labels[\"a\"] missing error\n  filter f { require node.name == a else \"r\" }",
        "def f(a: node, b: pod?, c: container, d: string?, e: \"Pod\") = a.name == b.name || c.name == d || e.gated\n  \
         filter q { require pod.containers.exists(c, f(node, pod, c, none, pod)) else \"r\" }",
        "type t = {a: int, b: list<string>}\n  param p: t = {\"a\": 1, \"b\": []}\n  filter f { require node.pods.count() < p.a || node.name in p.b else \"r\" }",
        "group g = p in pods where p.namespace == pod.namespace && p.labels[\"a\"] == pod.labels[\"a\"]\n  \
         permit { wait 60s for g until g.count(m, m.placed) > 2 else \"r\" }",
        "permit { reject \"r\" when node.pods.size() > 9; wait 1min until node.pods.size() > 3 else \"r\" }",
    ];
    let conditions = [
        "pod.requests.cpu <= 500m || 2cpu > node.free.cpu || 0.5cpu == pod.requests.cpu",
        "node.free.memory in [4Ki, 4Mi, 4Gi, 4Ti, 4Pi, 4Ei, 5k, 5M, 5G, 5T, 5P, 5E, 100B]",
        "now() - pod.created > 1h30min + 10ms + 5s + 5min + 2h + 1d",
        "pod.requests.fits(node.free) && pod.requests.within(node.capacity)",
        "pod.gpu.count > 0 && node.gpus.exists(g, g.free >= pod.gpu.milli && g.model == \"A100\" && g.capacity == 1000)",
        "node.gpus.sort_by(g, g.free).first().index == 0",
        "has(node.zone) && has(node.region) && node.unschedulable || pod.qos == \"Guaranteed\"",
        "pod.phase == \"Pending\" && pod.attempts > 1 && pod.queued_at < now() && !pod.terminating && !pod.gated",
        "pod.placed || pod.bound || pod.waiting || has(pod.placed_at) || has(pod.nominated) || has(pod.node)",
        "pod.scheduler == \"a\" && pod.uid == \"u\" && node.uid == \"u\" && node.created < now()",
        "(pod.limits.cpu + pod.overhead.cpu) < node.nonzero_requested.cpu && \"cpu\" in pod.requests",
        "has(pod.requests[\"example.com/a\"]) && pod.requests.exists(name, pod.requests[name].value() > 3)",
        "pod.images.union([\"a\"]).minus([\"a\"]).intersect([\"b\"]).take(2).drop(1).size() > 0",
        "node.pods.min(p, p.priority) == 3 || node.pods.max(p, p.priority) == 3 || node.pods.count() == 3",
        "(sqrt(node.pods.count()) + exp(0.5) + abs(-1) + round(1.5) + floor(1.5) + ceil(1.5)) > 3",
        "(ln(pod.priority) ?? 0) + (pow(pod.priority, 0.5) ?? 0) + beta_cdf(0.5, 0.4, 0.1) > 50%",
        "ns.labels[\"a\"] == \"b\" && ns.name == pod.namespace && node.taints.exists(t, t.effect == \"NoSchedule\")",
        "pod.spec.hostNetwork == true && pod.spec.containers[0].name == \"a\" && has(pod.status.startTime)",
        "pod.spec.containers.all(c, c.name.size() > 0) && (node.status.conditions ?? []).all(c, c.type.size() > 0)",
        "as_count(pod.labels[\"n\"]) == 3 && as_cpu(pod.labels[\"n\"]) == 3cpu && as_bytes(pod.labels[\"n\"]) == 3B",
        "pod.metadata.name == pod.name && nodes.size() > 0 && nominated.count(p, p.nominated == node.name) == 0",
    ];
    let mut wrong = String::new();
    let mut ask = |body: &str, sample: &str| {
        let text = format!("/// A policy.\npolicy sample {{\n  {body}\n}}");
        let (policies, _, lines) = said("sample.bay", &text);
        if policies.is_empty() {
            wrong.push_str(&format!("{sample}\n{lines}"));
        }
    };
    for statement in statements {
        ask(statement, statement);
    }
    for condition in conditions {
        ask(&format!("filter f {{ reject \"r\" when {condition} }}"), condition);
    }
    assert!(wrong.is_empty(), "{wrong}");
}
