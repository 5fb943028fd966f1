//! What a rule reads is registered: random policies that pass objects through defs, records, lists,
//! maps and macros are evaluated before and after a change of one field of one object. If the verdict
//! differs, the reads of the rule name the field. If pods are evicted and a node passes then, the rule
//! says that eviction helps. `BAYPLAN_READS` is the number of policies.

use super::Random;
use crate::support::policies::{NOW, compile, framework_of, snapshot, try_compile};
use bayplan::lang::analysis::clock::next_change;
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::language::functions::{self, Influence, Prepared};
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::lang::typed::Point;
use bayplan::lang::typed::reads::{ReadOf, ReadPath, RuleReads};
use bayplan::lang::types::Ty;
use bayplan::lang::types::value::{Constant, Value};
use bayplan::model::{Change, Node, PodInfo, Snapshot};
use bayplan::testing::{namespace, node, pod};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) const KEYS: [&str; 3] = ["team", "tier", "job"];
pub(super) const VALUES: [&str; 2] = ["a", "b"];

/// Defs and types that hand objects on.
const HELPERS: &str = r#"
type both = {n: node, p: pod}
type maybe = {n: node?, many: list<pod>}
def node_of(x: both) = x.n
def pod_of(x: both) = x.p
def first_of(x: list<node>) = x.first()
def same(n: node) = n
def held(m: map<string, node>) = m["k"]
def lone(x: maybe) = x.n ?? x.many.map(p, p.node).present().first()
def others(x: maybe) = x.many.filter(p, p.priority >= 0)
def team(p: pod) = p.labels["team"]
def less(a: cpu, b: cpu) = a < b
"#;

/// A maker of conditions.
struct Maker<'r> {
    random: &'r mut Random,
    nodes: Vec<String>,
    pods: Vec<String>,
    fresh: usize,
}

impl Maker<'_> {
    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("v{}", self.fresh)
    }

    /// A node, which may be absent.
    fn node(&mut self, d: usize) -> String {
        if d == 0 {
            let known = self.nodes.clone();
            return self.random.of(&known);
        }
        let d = d - 1;
        match self.random.below(13) {
            0 => format!("[{}].first()", self.sure_node(d)),
            1 => format!("[{}, {}][{}]", self.sure_node(d), self.sure_node(d), self.random.below(3)),
            2 => format!("{{\"k\": {}}}[\"k\"]", self.sure_node(d)),
            3 => format!("held({{\"{}\": {}}})", self.random.of(&["k", "l"]), self.sure_node(d)),
            4 => {
                let name = self.name();
                self.nodes.push(name.clone());
                let condition = self.atom(d);
                self.nodes.pop();
                format!("nodes.filter({name}, {condition}).first()")
            }
            5 => format!("({} ? {} : {})", self.atom(d), self.sure_node(d), self.sure_node(d)),
            6 => format!("{}.node", self.sure_pod()),
            7 => format!("first_of([{}, {}])", self.sure_node(d), self.sure_node(d)),
            8 => format!("lone({{\"n\": {}, \"many\": {}}})", self.sure_node(d), self.pods(d)),
            9 => format!("{}.map(p, p.node).present().first()", self.pods(d)),
            10 => String::from("here"),
            11 => format!("[[{}]].flatten()[0]", self.sure_node(d)),
            _ => self.sure_node(d),
        }
    }

    fn sure_node(&mut self, d: usize) -> String {
        if d == 0 {
            return self.node(0);
        }
        match self.random.below(4) {
            0 => format!("node_of({{\"n\": {}, \"p\": {}}})", self.sure_node(d - 1), self.sure_pod()),
            1 => format!("same({})", self.sure_node(d - 1)),
            _ => self.node(0),
        }
    }

    fn sure_pod(&mut self) -> String {
        let known = self.pods.clone();
        let pod = self.random.of(&known);
        match self.random.below(4) {
            0 => format!("pod_of({{\"n\": {}, \"p\": {pod}}})", self.node(0)),
            _ => pod,
        }
    }

    fn pods(&mut self, d: usize) -> String {
        let node = self.node(0);
        let leaf = self.random.of(&["pods", "mates", "NODE.pods"]).replace("NODE", &node);
        if d == 0 {
            return leaf;
        }
        match self.random.below(7) {
            0 => {
                let name = self.name();
                self.pods.push(name.clone());
                let condition = self.atom(d - 1);
                self.pods.pop();
                format!("{leaf}.filter({name}, {condition})")
            }
            1 => format!("[{}, {}]", self.sure_pod(), self.sure_pod()),
            2 => format!("others({{\"many\": {leaf}}})"),
            3 => format!("({leaf} + [{}])", self.sure_pod()),
            4 => "nodes.map(n, n.pods).flatten()".to_owned(),
            5 => format!("({} ? {leaf} : {})", self.atom(d - 1), self.pods(d - 1)),
            _ => leaf,
        }
    }

    /// A truth.
    fn atom(&mut self, d: usize) -> String {
        let key = self.random.of(&KEYS);
        let value = self.random.of(&VALUES);
        match self.random.below(20) {
            0 | 1 => format!("{}.labels[\"{key}\"] == \"{value}\"", self.node(d)),
            2 => format!("({}.unschedulable ?? false)", self.node(d)),
            3 => format!("({}.free.cpu ?? 0cpu) >= {}m", self.node(d), 500 * self.random.below(8)),
            4 => format!("{}.spec.providerID == \"{value}\"", self.node(d)),
            5 => format!("{}.labels[\"{key}\"] == \"{value}\"", self.sure_pod()),
            6 => format!("{}.priority > {}", self.sure_pod(), self.random.below(5)),
            7 => format!("{}.annotations[\"{key}\"] == \"{value}\"", self.sure_pod()),
            8 => format!("[ns].exists(n, n.labels[\"{key}\"] == \"{value}\")"),
            9 => format!("{{\"a\": ns}}[\"a\"].labels[\"{key}\"] == \"{value}\""),
            10 => {
                let name = self.name();
                let pods = self.pods(d);
                self.pods.push(name.clone());
                let condition = self.atom(d.saturating_sub(1));
                self.pods.pop();
                let which = self.random.of(&["exists", "all", "exists_one"]);
                format!("{pods}.{which}({name}, {condition})")
            }
            11 => format!(
                "{}.size() {} {}",
                self.pods(d),
                self.random.of(&["<", ">", "=="]),
                self.random.below(4)
            ),
            12 => format!("{}.map(q, q.priority).sum() > {}", self.pods(d), self.random.below(5)),
            13 => format!("{}.sum(q, q.priority * {}) > 2", self.pods(d), self.random.of(&["1", "(0 - 1)"])),
            14 => format!("team({}) == team({})", self.sure_pod(), self.sure_pod()),
            15 => self.amounts(),
            16 => format!("[{}].exists(n, n.labels[\"{key}\"] == \"{value}\")", self.sure_node(d)),
            17 => format!("!({})", self.atom(d.saturating_sub(1))),
            18 => format!("({} == {} && {})", self.node(d), self.node(d), self.atom(d.saturating_sub(1))),
            _ if d > 0 => {
                format!("({} {} {})", self.atom(d - 1), self.random.of(&["&&", "||"]), self.atom(d - 1))
            }
            _ => format!("{}.labels[\"{key}\"] == \"{value}\"", self.node(0)),
        }
    }

    /// A comparison of amounts that evicting pods changes.
    fn amounts(&mut self) -> String {
        let node = self.node(0);
        let mut amount = || {
            let text = self.random.of(&[
                "NODE.free.cpu",
                "NODE.requested.cpu",
                "(NODE.requested.cpu - NODE.allocatable.cpu)",
                "(0cpu - NODE.allocatable.cpu)",
                "NODE.allocatable.cpu",
                "NODE.pods.sum(q, q.requests.cpu)",
                "(1cpu - NODE.free.cpu)",
                "2cpu",
            ]);
            text.replace("NODE", &node)
        };
        let (a, b) = (amount(), amount());
        let op = self.random.of(&["<", "<=", ">", ">="]);
        match self.random.below(7) {
            0 => format!("share({a}, {b}) {op} 0.5"),
            1 => format!("percent({a}, {b}) {op} 50"),
            2 => format!("{a} {op} {b}"),
            3 => format!("({a} / {b} ?? 0.25) {op} 0.5"),
            4 => format!("{a} / {b} {op} 0.5"),
            5 => format!("less({a}, {b})"),
            _ => format!("sqrt({a} / 1cpu) {op} 1"),
        }
    }
}

fn program(random: &mut Random) -> String {
    let (nodes, pods) = (vec!["node".to_owned()], vec!["pod".to_owned()]);
    let mut maker = Maker { random, nodes, pods, fresh: 0 };
    let here = maker.sure_node(2);
    let check = maker.atom(3);
    let condition = match maker.random.one_in(2) {
        true => format!("require {check} else \"no\""),
        false => format!("reject \"no\" when {check}"),
    };
    format!(
        "{HELPERS}\npolicy random {{\n  applies to all pods\n  group mates = m in pods where m.labels[\"job\"] == pod.labels[\"job\"]\n  filter f {{\n    let here = {here}\n    {condition}\n  }}\n}}\n"
    )
}

/// The objects of a small cluster.
struct World {
    nodes: Vec<Arc<Node>>,
    pods: Vec<Arc<PodInfo>>,
    me: Arc<PodInfo>,
    closed: Vec<(&'static str, &'static str)>,
}

impl World {
    fn new(random: &mut Random) -> Self {
        let labels = |random: &mut Random| {
            let mut all = Vec::new();
            for key in KEYS {
                if random.one_in(2) {
                    all.push((key, random.of(&VALUES)));
                }
            }
            all
        };
        let nodes = (0..2).map(|at| {
            let mut of = node(&format!("n{at}")).cpu(&(1 + random.below(3)).to_string());
            for (key, value) in labels(random) {
                of = of.label(key, value);
            }
            with_provider(&of.build(), random.of(&VALUES))
        });
        let nodes = nodes.collect();
        let pods = (0..1 + random.below(4)).map(|at| {
            let mut of = pod(&format!("p{at}")).priority(random.below(7) as i32 - 2);
            for (key, value) in labels(random) {
                of = of.label(key, value);
            }
            if random.one_in(2) {
                of = of.cpu(&format!("{}m", 500 * random.below(4)));
            }
            if !random.one_in(4) {
                of = of.on(&format!("n{}", random.below(2)));
            }
            of.build()
        });
        let pods = pods.collect();
        let mut me = pod("me").cpu("500m");
        for (key, value) in labels(random) {
            me = me.label(key, value);
        }
        Self { nodes, pods, me: me.build(), closed: labels(random) }
    }

    fn snapshot(&self, framework: &bayplan::framework::Framework) -> Snapshot {
        let mut made = snapshot(framework, self.nodes.clone(), self.pods.clone());
        let mut of = namespace("default");
        for (key, value) in &self.closed {
            of = of.label(key, value);
        }
        made.apply(Change::NamespaceUpserted { namespace: of.build() });
        made
    }
}

fn with_provider(of: &Node, id: &str) -> Arc<Node> {
    let raw = serde_json::json!({"metadata": {}, "spec": {"providerID": id}, "status": {}});
    Arc::new(Node { raw: Some(Arc::new(raw)), ..of.clone() })
}

/// A change of one field of one object.
#[derive(Debug)]
enum Changed {
    Node(usize, &'static str, Option<&'static str>),
    Pod(&'static str, Option<&'static str>),
    Namespace(&'static str),
    /// A pod is gone from a node, or is there.
    Placement,
}

fn change(random: &mut Random, world: &mut World) -> Changed {
    let key = random.of(&KEYS);
    let fresh = |random: &mut Random| bayplan::model::Symbol::new(random.of(&VALUES));
    let labels = |random: &mut Random, of: &bayplan::model::Labels| {
        let kept = of.iter().filter(|(known, _)| known.as_str() != key).map(|(k, v)| (k.clone(), v.clone()));
        let mut all: Vec<_> = kept.collect();
        if !random.one_in(3) {
            all.push((bayplan::model::Symbol::new(key), fresh(random)));
        }
        bayplan::model::Labels::from_iter(all)
    };
    let (at, other) = (random.below(world.nodes.len()), random.below(world.pods.len()));
    let mut node = (*world.nodes[at]).clone();
    let mut pod = (*world.pods[other]).clone();
    let changed = match random.below(9) {
        0 => {
            node.labels = labels(random, &node.labels);
            Changed::Node(at, "labels", Some(key))
        }
        1 => {
            node.unschedulable = !node.unschedulable;
            Changed::Node(at, "unschedulable", None)
        }
        2 => {
            let fresh = bayplan::testing::node("x").cpu(&random.below(5).to_string()).build();
            node.allocatable = fresh.allocatable.clone();
            node.allocatable_written = fresh.allocatable_written.clone();
            Changed::Node(at, "allocatable", None)
        }
        3 => {
            node = (*with_provider(&node, random.of(&["a", "b", "c"]))).clone();
            Changed::Node(at, "spec.providerID", None)
        }
        4 => {
            world.closed.retain(|(known, _)| *known != key);
            world.closed.push((key, random.of(&VALUES)));
            Changed::Namespace(key)
        }
        5 => {
            pod.labels = labels(random, &pod.labels);
            Changed::Pod("labels", Some(key))
        }
        6 => {
            pod.priority = random.below(7) as i32 - 2;
            Changed::Pod("priority", None)
        }
        7 => {
            let fresh = bayplan::testing::pod("x").cpu(&format!("{}m", 500 * random.below(5))).build();
            (pod.requests, pod.nonzero_milli_cpu) = (fresh.requests.clone(), fresh.nonzero_milli_cpu);
            Changed::Pod("requests", None)
        }
        _ => {
            pod.node_name = match pod.node_name {
                Some(_) => None,
                None => Some(bayplan::model::Symbol::new(random.of(&["n0", "n1"]))),
            };
            Changed::Placement
        }
    };
    world.nodes[at] = Arc::new(node);
    world.pods[other] = Arc::new(pod);
    changed
}

/// Whether the reads name a change, for the evaluation of a node.
fn covered(reads: &RuleReads, changed: &Changed, evaluated: usize) -> bool {
    let on_any_pod = |of: ReadOf| {
        matches!(of, ReadOf::NodePods | ReadOf::Pods | ReadOf::Group | ReadOf::Nominated | ReadOf::Pod)
    };
    reads.paths.keys().any(|path| {
        let field = path.field.map(|field| field.def().name);
        let of_key = |wanted: &Option<&str>| path.key.is_none() || path.key.as_deref() == *wanted;
        match changed {
            Changed::Node(at, name, key) => {
                let owned = path.of == ReadOf::Nodes || path.of == ReadOf::Node && *at == evaluated;
                owned
                    && match field {
                        Some(field) => {
                            let same = field == *name && (*name != "labels" || of_key(key));
                            same || *name == "allocatable" && field == "free"
                        }
                        None => path.key.as_deref().is_some_and(|path| name.starts_with(path)),
                    }
            }
            Changed::Pod(name, key) => {
                let of_node = matches!(path.of, ReadOf::Node | ReadOf::Nodes)
                    && matches!(field, Some("free" | "requested"));
                let own = on_any_pod(path.of) && field == Some(name) && (*name != "labels" || of_key(key));
                own || *name == "requests" && of_node
            }
            Changed::Namespace(key) => {
                path.of == ReadOf::Namespace && field == Some("labels") && of_key(&Some(key))
            }
            Changed::Placement => {
                on_any_pod(path.of) && (field.is_none() || field == Some("node") || field == Some("placed"))
                    || matches!(path.of, ReadOf::Node | ReadOf::Nodes)
                        && matches!(field, Some("free" | "requested" | "pods"))
            }
        }
    })
}

fn verdict(compiled: &CompiledPolicy, world: &World, snapshot: &Snapshot, at: usize) -> bool {
    let id = snapshot.node_by_name(&world.nodes[at].name).unwrap();
    let context = EvalContext::new(&world.me, snapshot, NOW).on(snapshot.node(id).unwrap());
    let check = compiled.policy.checks_at(Point::Filter).next().unwrap();
    let value = compiled.evaluator(context).value(check.condition.as_ref().unwrap());
    // A fault refuses the node.
    !value.is_fault() && value.holds() != check.refuses_when
}

#[derive(Default, Debug)]
struct Counts {
    policies: usize,
    refused: usize,
    differ: usize,
    evicted: usize,
}

fn try_one(seed: u64, counts: &mut Counts, program: fn(&mut Random) -> String) {
    let mut random = Random(seed);
    let text = program(&mut random);
    let set = match try_compile(&text) {
        Ok(set) => set,
        Err(_) => {
            counts.refused += 1;
            return;
        }
    };
    counts.policies += 1;
    let compiled = set.iter().next().unwrap();
    let framework = framework_of(&set);
    let check = compiled.policy.checks_at(Point::Filter).next().unwrap();
    let mut world = World::new(&mut random);
    let mut before_snapshot = world.snapshot(&framework);
    for _ in 0..8 {
        let before: Vec<bool> = (0..2).map(|at| verdict(compiled, &world, &before_snapshot, at)).collect();
        for (at, now) in before.iter().copied().enumerate() {
            // Evicting all pods of the node, and each of them.
            let name = world.nodes[at].name.clone();
            let here = |pod: &Arc<PodInfo>| pod.node_name.as_ref() == Some(&name);
            let one = world.pods.iter().position(here);
            let without = |gone: &dyn Fn(usize, &Arc<PodInfo>) -> bool| {
                let kept = world.pods.iter().enumerate().filter(|(at, pod)| !gone(*at, pod));
                World {
                    nodes: world.nodes.clone(),
                    pods: kept.map(|(_, pod)| pod.clone()).collect(),
                    me: world.me.clone(),
                    closed: world.closed.clone(),
                }
            };
            for evicted in [without(&|_, pod| here(pod)), without(&|at, _| Some(at) == one)] {
                let after = verdict(compiled, &world, &evicted.snapshot(&framework), at);
                if after && !now {
                    counts.evicted += 1;
                    assert!(check.reason.derived, "seed {seed}: eviction helps: {:?}\n{text}", check.reads);
                }
            }
        }
        let changed = change(&mut random, &mut world);
        let after_snapshot = world.snapshot(&framework);
        for (at, before) in before.iter().enumerate() {
            if verdict(compiled, &world, &after_snapshot, at) != *before {
                counts.differ += 1;
                assert!(
                    covered(&check.reads, &changed, at),
                    "seed {seed}: {changed:?} changes node {at}: {:?}\n{text}",
                    check.reads
                );
            }
        }
        before_snapshot = after_snapshot;
    }
}

#[test]
fn every_field_that_changes_a_verdict_is_read() {
    let wanted: Option<u64> = std::env::var("BAYPLAN_READS").ok().and_then(|text| text.parse().ok());
    let (mut counts, begin) = (Counts::default(), Instant::now());
    for seed in 0..wanted.unwrap_or(3_000) {
        // The same policies on every machine, but for a slow one.
        if wanted.is_none() && begin.elapsed() > Duration::from_secs(20) {
            break;
        }
        try_one(seed, &mut counts, program);
    }
    println!("{counts:?}");
    assert!(counts.policies > 100 && counts.differ > counts.policies / 5, "{counts:?}");
    assert!(counts.evicted > counts.policies / 20, "{counts:?}");
}

#[test]
fn every_field_that_changes_a_verdict_of_cel_is_read() {
    let wanted: Option<u64> = std::env::var("BAYPLAN_READS").ok().and_then(|text| text.parse().ok());
    let mut counts = Counts::default();
    for seed in 0..wanted.unwrap_or(400) {
        try_one(seed, &mut counts, super::cel_reads::program);
    }
    println!("{counts:?}");
    assert!(counts.policies > 8 * counts.refused && counts.differ > counts.policies / 10, "{counts:?}");
    assert!(counts.evicted > counts.policies / 40, "{counts:?}");
}

/// The reads of the first check of a filter, and whether eviction helps.
fn reads(statements: &str) -> (RuleReads, bool) {
    let set = compile(&format!("policy p {{ applies to all pods\n{statements}\n}}"));
    let check = set.iter().next().unwrap().policy.checks_at(Point::Filter).next().unwrap();
    (check.reads.clone(), check.reason.derived)
}

fn names(reads: &RuleReads) -> Vec<String> {
    let name = |path: &ReadPath| {
        let field = path.field.map_or("", |field| field.def().name);
        format!("{:?} {field} {}", path.of, path.key.as_deref().unwrap_or("")).trim().to_owned()
    };
    reads.paths.keys().map(name).collect()
}

#[test]
fn objects_are_followed_through_values() {
    let record = "type t = {n: node}\n def ok(x: t) = x.n.spec.providerID == \"a\"\n";
    let cases: &[(String, &[&str])] = &[
        (
            format!("{record} filter f {{ require ok({{\"n\": node}}) else \"no\" }}"),
            &["Node  spec.providerID"],
        ),
        (
            String::from("filter f { require [node].exists(n, n.spec.providerID == \"a\") else \"no\" }"),
            &["Node  spec.providerID"],
        ),
        (
            String::from("filter f { require [ns].exists(n, n.labels[\"team\"] == \"a\") else \"no\" }"),
            &["Namespace labels team"],
        ),
        (
            String::from(
                "filter f { let held = {\"a\": node}\n require held[\"a\"].labels[\"x\"] == \"a\" else \"no\" }",
            ),
            &["Node labels x"],
        ),
        (
            String::from(
                "filter f { require nodes.filter(n, n.ready)[0].spec.providerID == node.name else \"no\" }",
            ),
            &["Node name", "Nodes", "Nodes  spec.providerID", "Nodes ready"],
        ),
        (
            String::from("filter f { let s = node.spec\n require s.providerID == \"a\" else \"no\" }"),
            &["Node  spec"],
        ),
    ];
    for (statements, expected) in cases {
        assert_eq!(names(&reads(statements).0), *expected, "{statements}");
    }
}

#[test]
fn what_attempts_change_is_looked_at_again() {
    let (reads, _) = reads("filter f { require pod.attempts >= 1 && node.ready else \"no\" }");
    assert!(reads.clock);
    let set = compile("policy p { gate \"first\" when pod.attempts < 1 }");
    let compiled = set.iter().next().unwrap();
    let condition = compiled.policy.checks_at(Point::PreEnqueue).next().unwrap().condition.as_ref().unwrap();
    let snapshot = Snapshot::default();
    let me = pod("me").build();
    let next = next_change(&compiled.policy, EvalContext::new(&me, &snapshot, NOW), condition, &mut 0);
    assert!(next.is_some_and(|at| at > NOW), "{next:?}");
}

#[test]
fn the_sign_of_a_divisor_decides_whether_eviction_helps() {
    let helps = |condition: &str| reads(&format!("filter f {{ require {condition} else \"no\" }}")).1;
    for condition in [
        "share(node.requested.cpu - node.allocatable.cpu, 0cpu - node.allocatable.cpu) >= 0.5",
        "(node.requested.cpu - node.allocatable.cpu) / (0cpu - node.allocatable.cpu - 1cpu) >= 0.5",
        "percent(pod.requests.cpu, node.free.cpu) > 3",
        "(10 / node.pods.size() ?? 0) >= 5",
        "(sqrt(0 - node.pods.size()) ?? (0 - 1.0)) >= 0",
        "node.pods.map(p, p.priority).sum() > 3",
    ] {
        assert!(helps(condition), "{condition}");
    }
    for condition in [
        "node.requested.cpu >= 1cpu",
        "share(node.requested.cpu, 4cpu) >= 0.5",
        "node.requested.cpu / 4cpu >= 0.5",
        "node.free.cpu / (0 - 2) >= 0cpu",
        "node.pods.size() > 3",
    ] {
        assert!(!helps(condition), "{condition}");
    }
}

#[test]
fn the_digest_of_a_policy_has_the_defs_and_types_of_its_file() {
    let hash = |items: &str| {
        let set = compile(&format!(
            "{items}\npolicy p {{ filter f {{ require ok({{\"n\": node}}) else \"no\" }} }}"
        ));
        set.iter().next().unwrap().hash
    };
    let first = hash("type t = {n: node}\ndef ok(x: t) = x.n.ready");
    assert_eq!(first, hash("type t = {n: node}\ndef ok(x: t) = x.n.ready"));
    assert_ne!(first, hash("type t = {n: node}\ndef ok(x: t) = !x.n.ready"));
    assert_ne!(first, hash("type t = {n: node, m: int?}\ndef ok(x: t) = x.n.ready"));
}

/// A number of a row's type: small, and negative too.
fn number(random: &mut Random, ty: &Ty) -> Option<Constant> {
    let whole = random.below(13) as i64 - 6;
    Some(match ty {
        Ty::Int | Ty::Cpu | Ty::Bytes | Ty::Duration | Ty::Count | Ty::Number(_) | Ty::Ordered(_) => {
            Value::Int(whole)
        }
        Ty::Uint => Value::Uint(random.below(9) as u64),
        Ty::Float => Value::Float(whole as f64 / 2.0),
        _ => return None,
    })
}

/// Functions of numbers change with their arguments as their rows say, where their results are there.
#[test]
fn functions_go_in_the_direction_of_their_rows() {
    let mut random = Random(3);
    let mut tried = 0;
    for def in functions::FUNCTIONS.iter().flat_map(|family| family.iter()) {
        for _ in 0..400 {
            let args: Option<Vec<Constant>> = def.params.iter().map(|ty| number(&mut random, ty)).collect();
            let Some(args) = args.filter(|_| def.prepare.is_none()) else { break };
            for at in 0..args.len() {
                let Some(fresh) = number(&mut random, &def.params[at]) else { continue };
                let mut more = args.clone();
                more[at] = fresh;
                let divisor = (0..args.len()).find(|at| def.influence(*at) == Influence::Divides);
                let sign = |of: &Constant| of.as_float().unwrap_or_default();
                let up = match (def.influence(at), divisor) {
                    (Influence::Raises, Some(by)) if sign(&args[by]) < 0.0 => false,
                    (Influence::Raises, _) => true,
                    (Influence::Lowers, _) => false,
                    (Influence::Divides, _) if sign(&args[at]) * sign(&more[at]) > 0.0 => {
                        sign(&args[0]) < 0.0
                    }
                    _ => continue,
                };
                let (small, large) = match args[at].order(&more[at]).is_lt() {
                    true => (&args, &more),
                    false => (&more, &args),
                };
                let (a, b) = ((def.body)(small, &Prepared::Nothing), (def.body)(large, &Prepared::Nothing));
                if [&a, &b].iter().any(|value| value.is_absent() || value.is_fault()) {
                    continue;
                }
                tried += 1;
                let (lower, upper) = if up { (&a, &b) } else { (&b, &a) };
                assert!(
                    !lower.order(upper).is_gt(),
                    "{}: argument {at} of {small:?} and {large:?} gives {a:?} and {b:?}",
                    def.signature()
                );
            }
        }
    }
    assert!(tried > 5_000, "{tried}");
}
