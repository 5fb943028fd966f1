//! Controllers that make evicted pods anew: no pod evicts twice on a node because a pod that it may evict took the node
//! that it was promised. Pods have random owners and priorities; what rules look up may come late.

use crate::rules::compile;
use bayplan::dry_run::{Api, WatchEvent};
use bayplan::framework::{ApiCall, Framework, Instances, Profile, Ticket};
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::model::objects::projection::Projection;
use bayplan::model::{Duration, KindName, LookedUp, NodeInfo, Object, PodInfo, Symbol, Time};
use bayplan::plugins::policy::{ExemptPods, PolicyPlugin};
use bayplan::scheduler::{Decision, DecisionRecord, Effect, Input, Options, Profiles, Scheduler};
use bayplan::testing::{PodMaker, Random, node, pod};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// Rules by which pods of the shop evict pods of the batch, whatever their priority.
const RULES: &[&str] = &[
    r#"policy greedy { applies when pod.namespace == "shop"
        preempt { victim v when v.namespace == "batch" } }"#,
    r#"policy choosy { applies when pod.namespace == "shop"
        preempt { victim v when v.namespace == "batch" && v.labels["app"] != "db"
                  protect v when v.labels["keep"] == "yes" } }"#,
    r#"policy informed { applies when pod.namespace == "shop"
        preempt { victim v when v.namespace == "batch"
                    && lookup("example.com/v1/Desk", "default", v.labels["app"] ?? "").annotations["open"] == "no" } }"#,
    r#"policy counting { applies when pod.namespace == "shop"
        preempt { victim v when v.namespace == "batch" && v.node.name == node.name
                  guard node.pods.count() >= 1 || pod.labels["app"] == "web" else "too few would be left" } }"#,
];

static COMPILED: LazyLock<Vec<Arc<CompiledPolicy>>> =
    LazyLock::new(|| RULES.iter().map(|text| compile(text)).collect());

/// What a controller makes again.
#[derive(Clone)]
struct Template {
    maker: PodMaker,
    of: String,
}

/// A pod that another one may evict was placed on the node that this one was promised.
type Intrusion = (Symbol, Symbol, Symbol);

struct Shop {
    random: Random,
    /// Whether priorities may contradict the rule.
    circles: bool,
    /// Which of the rules are in service.
    rules: usize,
    /// The desks that the scheduler has seen, and whether they are open.
    desks: BTreeMap<Symbol, &'static str>,
    /// Those that were made, by their place in the log of the server.
    drawn: BTreeMap<usize, (&'static str, &'static str)>,
    api: Api,
    scheduler: Scheduler,
    seen: usize,
    open: Vec<(Ticket, ApiCall)>,
    now: Time,
    templates: BTreeMap<Symbol, Template>,
    made: u64,
    intrusions: BTreeSet<Intrusion>,
    evictions: usize,
    /// Who evicted whom.
    evicted: Vec<String>,
    broken: Option<String>,
}

fn framework(with: usize) -> Arc<Framework> {
    let mut registry = bayplan::plugins::registry();
    let plugin = PolicyPlugin::new(COMPILED[with % COMPILED.len()].clone(), ExemptPods::default());
    registry.add_plugin(Arc::new(plugin)).unwrap();
    Arc::new(Profile::new("default-scheduler").build(&registry, &mut Instances::default()).unwrap())
}

impl Shop {
    fn open(seed: u64) -> Self {
        let mut random = Random(seed);
        let scheduler = Scheduler::new(Options { longest_wait: None, seed, ..Options::default() });
        let rules = random.below(RULES.len());
        let mut shop = Self {
            random,
            circles: seed.is_multiple_of(8),
            rules,
            desks: BTreeMap::new(),
            drawn: BTreeMap::new(),
            api: Api::new(),
            scheduler,
            seen: 0,
            open: Vec::new(),
            now: Time(1_000_000_000_000_000),
            templates: BTreeMap::new(),
            made: 0,
            intrusions: BTreeSet::new(),
            evictions: 0,
            evicted: Vec::new(),
            broken: None,
        };
        shop.step(Input::Profiles(Arc::new(Profiles { frameworks: vec![framework(rules)], revision: 1 })));
        shop.step(Input::Lead(true));
        for at in 0..1 + shop.random.below(3) {
            shop.api.put(node(&format!("n{at}")).cpu("3").pods(8).object());
        }
        for _ in 0..6 {
            shop.add("batch");
        }
        shop.deliver_all();
        shop.step(Input::Synced);
        shop
    }

    fn add(&mut self, namespace: &str) {
        let random = &mut self.random;
        let priority = match (self.circles, namespace) {
            (true, _) => random.of(&[0, 0, 5, 1_000, 100_000]),
            (false, "shop") => random.of(&[0, 5, 1_000]),
            // None outranks one that outranks a pod of the shop.
            (false, _) => random.of(&[0, 0, 100_000]),
        };
        let app = random.of(&["web", "db", "cache"]);
        let mut maker = pod("").namespace(namespace).priority(priority).cpu(random.of(&["500m", "1", "2"]));
        maker = maker.label("app", app);
        if random.one_in(6) {
            maker = maker.label("keep", "yes");
        }
        let owner = random.of(&["ReplicaSet", "Job", "StatefulSet", "DaemonSet"]);
        if namespace == "batch" || random.one_in(2) {
            maker = maker.owner(owner, app);
        }
        if random.one_in(12) {
            maker = maker.annotation("kubernetes.io/config.mirror", "hash");
        }
        let of = format!("{namespace}-{owner}");
        self.make(Template { maker, of });
    }

    fn make(&mut self, template: Template) {
        self.made += 1;
        let (name, uid) =
            (format!("{}-{}", template.of, self.made).to_lowercase(), format!("u{}", self.made));
        self.templates.insert(Symbol::new(&uid), template.clone());
        self.api.put(template.maker.set("metadata.name", json!(name)).uid(&uid).object());
    }

    /// Controllers make a pod again that is gone or is going.
    fn control(&mut self) {
        let here: BTreeSet<Symbol> =
            self.api.pods().filter(|pod| !pod.is_terminating()).map(|pod| pod.uid.clone()).collect();
        let gone: Vec<Symbol> = self.templates.keys().filter(|uid| !here.contains(*uid)).cloned().collect();
        for uid in gone {
            if let Some(template) = self.templates.remove(&uid)
                && !template.of.starts_with("shop")
            {
                self.make(template);
            }
        }
    }

    fn deliver(&mut self) -> bool {
        let Some((_, event)) = self.api.log().get(self.seen).cloned() else { return false };
        if let Some((desk, open)) = self.drawn.remove(&self.seen) {
            // Who may evict whom is another question now.
            self.intrusions.clear();
            self.desks.insert(Symbol::new(desk), open);
        }
        self.seen += 1;
        self.step(match event {
            WatchEvent::Upserted(object) => Input::Upserted(object),
            WatchEvent::Deleted(key) => Input::Deleted(key),
        });
        true
    }

    fn deliver_all(&mut self) {
        while self.deliver() {}
    }

    fn answer(&mut self) -> bool {
        if self.open.is_empty() {
            return false;
        }
        let at = self.random.below(self.open.len());
        let (ticket, call) = self.open.remove(at);
        let answer = self.api.answer(&call, self.now, None);
        self.step(Input::Reply(ticket, answer));
        true
    }

    fn change_desk(&mut self) {
        let name = self.random.of(&["web", "db", "cache"]);
        let open = self.random.of(&["yes", "no", "no"]);
        let desk = json!({
            "metadata": {"name": name, "namespace": "default", "uid": format!("desk-{name}"), "annotations": {"open": open}},
        });
        let kind = KindName::parse("example.com/v1/Desk").unwrap();
        let desk = LookedUp::new(&kind, desk, &Projection::everything()).unwrap();
        self.api.put(Object::Other(Arc::new(desk)));
        self.drawn.insert(self.api.log().len() - 1, (name, open));
    }

    fn step(&mut self, input: Input) {
        let before = self.scheduler.fork();

        let mut effects = Vec::new();
        self.scheduler.step(input, self.now, &mut effects);
        for effect in effects {
            match effect {
                Effect::Call(ticket, call) => self.open.push((ticket, call)),
                Effect::Event(_) => {}
                Effect::Decided(record) => self.decided(&record, &before),
            }
        }
    }

    fn decided(&mut self, record: &DecisionRecord, before: &bayplan::model::Snapshot) {
        let pod =
            |uid: &Symbol| before.pods().find(|entry| entry.pod.uid == *uid).map(|entry| entry.pod.clone());
        if let (Decision::Placed { node, .. }, Some(placed)) = (&record.decision, pod(&record.pod.uid)) {
            let row = before.node_by_name(node);
            let promised = row.map(|row| before.nominated(row).to_vec()).unwrap_or_default();
            if self.may_go(&placed) {
                let free = |node: NodeInfo| node.allocatable().milli_cpu - node.requested().milli_cpu;
                let cpu = row.and_then(|row| before.node(row)).map_or(0, free) - placed.requests.milli_cpu;
                // Beside one for which there is room too, a pod takes nothing from it.
                let loses = |other: &&Arc<PodInfo>| other.uid != placed.uid && other.requests.milli_cpu > cpu;
                for other in promised.iter().filter(loses) {
                    self.intrusions.insert((other.uid.clone(), node.clone(), placed.uid.clone()));
                }
            } else {
                // It may have taken the room that was promised, which no rule keeps from it.
                self.intrusions.retain(|(_, on, _)| on != node);
            }
        }
        let (Some(preemption), Decision::Unschedulable { nominated: Some(node), .. }) =
            (&record.preemption, &record.decision)
        else {
            return;
        };
        self.evictions += usize::from(preemption.evicts);
        let victims: Vec<String> = preemption.victims.iter().map(|victim| victim.name.to_string()).collect();
        let priority = pod(&record.pod.uid).map(|pod| pod.priority);
        self.evicted.push(format!("{} ({priority:?}) evicts {victims:?} from {node}", record.pod.name));
        if record.pod.namespace.as_str() != "shop" {
            return;
        }
        for victim in &preemption.victims {
            if pod(&victim.uid).is_some_and(|victim| is_spared(&victim)) {
                self.broken = Some(format!("{} is spared, and goes for {}", victim.name, record.pod.name));
            }
            let intrusion = (record.pod.uid.clone(), node.clone(), victim.uid.clone());
            if self.intrusions.contains(&intrusion) {
                let (name, by) = (&victim.name, &record.pod.name);
                self.broken =
                    Some(format!("{name} took {node} while {by} was promised it, and is evicted again"));
            }
        }
    }

    /// Whether a pod of the shop may evict a pod.
    fn may_go(&self, pod: &PodInfo) -> bool {
        let label =
            |key: &str| pod.labels.get(&Symbol::new(key)).map(|value| value.to_string()).unwrap_or_default();
        let by_rule = match self.rules {
            1 => label("app") != "db" && label("keep") != "yes",
            2 => self.desks.get(&Symbol::new(&label("app"))).is_some_and(|open| *open == "no"),
            _ => true,
        };
        by_rule && pod.namespace.as_str() == "batch" && !is_spared(pod)
    }

    fn play(&mut self) {
        match self.random.below(24) {
            0 => self.add("shop"),
            1 => self.add(if self.made.is_multiple_of(2) { "batch" } else { "other" }),
            2..=6 => {
                self.deliver();
            }
            7 => self.deliver_all(),
            8..=12 => {
                self.answer();
            }
            13..=18 if self.scheduler.wants_cycle() => self.step(Input::Cycle),
            19 => {
                self.api.end_terminating();
            }
            20 => {
                self.now = self.now + Duration::from_seconds(self.random.below(4) as i64);
                self.step(Input::Tick);
            }
            21 if self.random.one_in(4) => self.change_desk(),
            22 => self.control(),
            _ => {}
        }
    }

    /// Everything is answered and made anew until nothing moves; whether it came to rest.
    fn rest(&mut self) -> Result<bool, String> {
        let steps = if self.circles { 1_000 } else { 4_000 };
        for _ in 0..steps {
            self.control();
            if self.random.one_in(8) {
                self.api.end_terminating();
            }
            self.deliver_all();
            if self.answer() {
            } else if self.scheduler.wants_cycle() {
                self.step(Input::Cycle);
            } else if let Some(next) = self.scheduler.next_wakeup() {
                self.now = self.now.max(next);
                self.step(Input::Tick);
            } else if !self.api.end_terminating() {
                return Ok(true);
            }
            if let Some(broken) = self.broken.take() {
                return Err(broken);
            }
        }
        if self.circles && self.has_a_circle() {
            return Ok(false);
        }
        let last = &self.evicted[self.evicted.len().saturating_sub(12)..];
        Err(format!("no rest after {} evictions: {last:#?}", self.evictions))
    }

    /// Whether the rule and the priorities contradict each other: a pod of the shop may evict one that outranks a third,
    /// which it may not evict and which outranks it. The second evicts the third, the third takes the room of the first,
    /// and so on: the lint `victim-without-bound` tells the author.
    fn has_a_circle(&self) -> bool {
        let pods: Vec<_> = self.api.pods().filter(|pod| !pod.is_terminating()).collect();
        pods.iter().filter(|first| first.namespace.as_str() == "shop").any(|first| {
            pods.iter().filter(|second| self.may_go(second)).any(|second| {
                pods.iter().any(|third| {
                    (first.priority + 1..second.priority).contains(&third.priority) && !self.may_go(third)
                })
            })
        })
    }
}

fn is_spared(pod: &PodInfo) -> bool {
    // Of the DaemonSets that pods name here none is there.
    pod.annotations.get("kubernetes.io/config.mirror").is_some()
}

/// Plays one seed; how often pods were evicted, if that had an end.
fn run(seed: u64) -> Result<Option<usize>, String> {
    let mut shop = Shop::open(seed);
    for _ in 0..250 {
        shop.play();
        if let Some(broken) = shop.broken.take() {
            return Err(format!("seed {seed}: {broken}"));
        }
    }
    let ended = shop.rest().map_err(|broken| format!("seed {seed}: {broken}"))?;
    Ok(ended.then_some(shop.evictions))
}

#[test]
fn evictions_end_where_controllers_make_pods_anew() {
    let (mut evictions, mut ended) = (0, 0);
    for seed in crate::seeds() {
        if let Some(evicted) = run(seed).unwrap_or_else(|broken| panic!("{broken}")) {
            evictions += evicted;
            ended += 1;
        }
    }
    let seeds = crate::seeds().count();
    assert!(seeds < 50 || evictions > seeds, "{evictions} evictions");
    assert!(ended * 8 >= seeds * 7, "{ended} of {seeds} ended");
}
