//! The policies of a run and what must hold with them: the set in force is asked of the reference evaluator over the
//! cluster as it was when a pod was decided on, and a scheduler that starts from nothing is asked at rest.

use crate::world::{World, refused_text};
use bayplan::diag::SourceMap;
use bayplan::framework::{ApiCall, Framework, Instances, Named, Plugin, Profile};
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::lang::typed::{Check, LedgerId, Point, Rule, Statement};
use bayplan::model::{
    Duration, IndexKey, Kind, Measured, NodeInfo, PodInfo, PodKey, Reading, Snapshot, Symbol, Time,
};
use bayplan::plugins::policy::{ExemptPods, PolicyPlugin};
use bayplan::scheduler::{
    self, Decision, DecisionRecord, Effect, Input, Profiles, QueuePlace, Scheduler, Stage,
};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Every policy a set may have; of two with one name a set has one.
pub(crate) const POOL: &[&str] = &[
    r#"policy tier { param least = 1
        applies when has(pod.labels["wants"])
        filter tiered { require node.labels["tier"] == pod.labels["wants"] else "wrong tier" }
        filter ranked { require (int(node.labels["rank"]) ?? 1) >= least else "rank is too low" } }"#,
    r#"policy tier { param least = 2
        applies when has(pod.labels["wants"])
        filter ranked { require (int(node.labels["rank"]) ?? 1) >= least else "rank is too low" } }"#,
    r#"policy crew {
        group mates = p in pods where p.namespace == pod.namespace && p.labels["crew"] == pod.labels["crew"]
        let wanted = int(pod.labels["crew-size"]) ?? 1
        applies when has(pod.labels["crew"])
        permit { wait 20s for mates until mates.count(m, m.placed) >= wanted else "crew is not whole" } }"#,
    r#"policy crew {
        group mates = p in pods where p.namespace == pod.namespace && p.labels["crew"] == pod.labels["crew"]
        applies when has(pod.labels["crew"])
        prefilter { reject "not all of the crew exist" when mates.count() < (int(pod.labels["crew-size"]) ?? 1) }
        permit { wait 7s for mates until mates.count(m, m.placed) >= (int(pod.labels["crew-size"]) ?? 1)
                 else "crew is not whole" } }"#,
    r#"policy few { param most = 2
        group team = p in pods where p.labels["team"] == pod.labels["team"]
        applies when has(pod.labels["team"])
        prefilter { reject "team is full" when team.count(m, m.placed) >= most } }"#,
    r#"policy even {
        group team = p in pods where p.labels["team"] == pod.labels["team"]
        applies when has(pod.labels["team"])
        filter even { require team.count(m, m.placed && m.node.labels["tier"] == node.labels["tier"]) <= 1
                      else "the tier has enough of the team" } }"#,
    r#"policy held { gate "held" when pod.labels["hold"] == "yes"
        gate "the namespace is closed" when ns.labels["closed"] == "yes" }"#,
    r#"policy young { applies when pod.labels["shy"] == "yes"
        gate "too young" when now() - pod.created < 30s }"#,
    r#"policy opening { filter open {
        let opens = time(node.annotations["opens"])
        reject "opens later" when has(opens) ? now() < opens : node.labels["tier"] == "ice" } }"#,
    r#"policy best { prefer 3 when node.labels["tier"] == "gold"
        score roomy weight 2 normalize max { give node.free.cpu } }"#,
    r#"policy order { queue by desc pod.priority, asc pod.labels["team"] ?? "", asc pod.created }"#,
    r#"policy pinned { prefilter { only nodes [pod.labels["pin"]] when has(pod.labels["pin"]) } }"#,
    r#"policy leader {
        group leaders = p in pods where p.namespace == pod.namespace && p.labels["team"] == pod.labels["follows"]
        applies when has(pod.labels["follows"])
        prefilter { reject "no leader" when !leaders.exists(l, l.placed) }
        filter near { require leaders.exists(l, l.node.name == node.name) else "far from the leaders" } }"#,
    r#"policy clean { filter clean { reject "is dirty" when node.taints.exists(t, t.key == "dirty") } }"#,
    r#"policy room { filter room { require node.free.cpu >= pod.requests.cpu + 100m else "keeps some room" } }"#,
    r#"policy alone { applies when has(pod.labels["team"])
        filter alone { reject "a neighbour is of the team"
                       when node.pods.exists(p, p.labels["team"] == pod.labels["team"]) } }"#,
    r#"policy golden { applies when pod.labels["wants"] == "gold"
        prefilter { reject "too little gold" when nodes.count(n, n.labels["tier"] == "gold") < 2 } }"#,
    r#"policy frozen { applies when ns.labels["closed"] != "yes"
        filter frozen { reject "is frozen" when node.labels["tier"] == "ice" } }"#,
    r#"policy desk { applies when has(pod.labels["team"])
        let desk = lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? "")
        prefilter { reject "the desk is closed" when has(desk) && (int(desk.spec.room) ?? 0) < 1 }
        filter at { require !has(desk) || desk.labels["tier"] != "gold" || node.labels["tier"] == "gold" else "far from the desk" } }"#,
    r#"policy desks { applies when has(pod.labels["wants"])
        gate "every desk is closed" when objects("example.com/v1/Desk").exists(d, d.annotations["open"] == "no")
            && !objects("example.com/v1/Desk").exists(d, d.annotations["open"] == "yes") }"#,
    r#"policy quota { param most = 2
        let team = pod.labels["team"]
        applies when team != none
        ledger used: int by team { add 1 when pod.labels["wants"] != "gold" }
        prefilter { reject "the team has its quota" when used[team] >= most } }"#,
    r#"policy crowd { param most = 3
        applies when has(pod.labels["wants"])
        group alike = p in pods where p.namespace == pod.namespace && p.labels["wants"] == pod.labels["wants"]
        ledger placed: int by pod.labels["wants"] { add 1 }
        gate "three of a kind" when placed[pod.labels["wants"]] >= most
        gate "alone" when alike.count() < 2
        prefilter {
          reject "three of a kind" when placed[pod.labels["wants"]] >= most
          reject "alone" when alike.count() < 2 } }"#,
    r#"policy spread {
        applies when has(pod.labels["team"])
        ledger asked: cpu by [pod.labels["team"], node.labels["tier"] ?? ""] { add pod.requests.cpu }
        filter tier { reject "the tier has enough of the team"
                      when asked[[pod.labels["team"], node.labels["tier"] ?? ""]] >= 500m } }"#,
    r#"policy crew {
        applies when has(pod.labels["crew"])
        group mates = p in pods where p.labels["crew"] == pod.labels["crew"]
        ledger placed: int by pod.labels["crew"] { add 1 }
        permit { wait 9s for mates until placed[pod.labels["crew"]] >= 2 else "no second pod of the crew" } }"#,
    r#"policy crew {
        group mates = p in pods where p.namespace == pod.namespace && p.labels["crew"] == pod.labels["crew"]
        applies when has(pod.labels["crew"])
        permit { wait 12s for mates until mates.count(m, m.placed) >= (int(pod.labels["crew-size"]) ?? 1)
                 else "crew is not whole" }
        after failure {
          release mates "a mate found no node" when pod.labels["wants"] != "gold"
          activate mates } }"#,
    r#"policy shared {
        applies when has(pod.labels["wants"])
        ledger kinds: set<string> by ns.labels["closed"] ?? "no" { add pod.labels["team"] ?? "" }
        prefilter { reject "three teams share the namespaces" when kinds[ns.labels["closed"] ?? "no"].size() >= 3 } }"#,
    r#"policy rest {
        applies when has(pod.labels["team"])
        memo resting: bool by pod.labels["team"] ?? "" ttl 7s
        memo failures: int by pod.namespace ttl 40s
        prefilter { reject "the team rests" when resting ?? false }
        after failure {
          remember resting = true when !(resting ?? false) && pod.labels["wants"] != "gold"
          remember failures = (failures ?? 0) + 1
          remember resting = none when failures == 3 } }"#,
    r#"policy cool { source load = metrics(window: 15s, max_age: 1h)
        filter cool { reject "is hot" when (load[node.name].cpu.latest ?? 0m) > 1cpu } }"#,
    r#"policy calm { source load = metrics(window: 5min, max_age: 1h)
        applies when has(pod.labels["team"])
        prefilter { reject "some node is hot" when nodes.exists(n, (load[n.name].cpu.latest ?? 0m) > 1cpu) } }"#,
    r#"policy seats { param most = 2
        applies when has(pod.labels["team"])
        let desk = lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? "")
        ledger taken: int by desk.labels["tier"] ?? "none" { add int(desk.spec.room) ?? 1 when desk.annotations["open"] != "no" }
        prefilter { reject "the seats of the tier are taken" when taken[desk.labels["tier"] ?? "none"] >= most } }"#,
    r#"policy notes { after bind {
        patch pod {"metadata": {"annotations": {"example.com/noted": node.name}}}
        annotate pod {"example.com/seen": "yes", "example.com/gone": none} } }"#,
    r#"policy desk-notes { applies when has(pod.labels["team"])
        let desk = lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? "")
        after bind { patch desk {"status": {"last": pod.name, "node": node.name}} } }"#,
    r#"policy led {
        group leaders = p in pods where p.namespace == pod.namespace && p.labels["team"] == pod.labels["follows"]
        applies when has(pod.labels["follows"])
        gate "no leader has a node" when !leaders.exists(l, l.placed)
        prefilter { reject "no leader has a node" when !leaders.exists(l, l.placed) } }"#,
    r#"policy turns {
        group team = p in pods where p.labels["team"] == pod.labels["team"]
        applies when has(pod.labels["team"])
        gate "one of the team waits" when team.exists(m, m.name != pod.name && m.waiting)
        prefilter { reject "one of the team is being bound" when team.exists(m, m.placed && !m.bound) } }"#,
    r#"policy company { applies when pod.labels["wants"] == "gold"
        filter company { require node.labels["tier"] != "gold" || node.pods.count() >= 1 else "gold is for company" }
        filter after { reject "another is promised the node" when node.pods.exists(p, p.labels["wants"] == "ice" && !p.bound) } }"#,
    r#"policy begun {
        applies when has(pod.labels["follows"])
        ledger begun: int by pod.labels["team"] ?? "" { add 1 }
        gate "nobody of the team began" when pod.labels["team"] != none && begun[pod.labels["follows"] ?? ""] == 0 }"#,
];

/// Orders of the queue that follow sums: of pods and of objects that are looked up; with classes of pods and without.
const ORDERS: &[&str] = &[
    r#"policy order {
        ledger used: cpu by pod.labels["team"] ?? "" { add pod.requests.cpu }
        queue by desc pod.priority, asc used[pod.labels["team"] ?? ""], asc pod.created }"#,
    r#"policy order {
        ledger placed: int by [pod.labels["team"] ?? "", ns.labels["closed"] ?? ""] { add 1 when pod.labels["wants"] != "gold" }
        queue by placed[[pod.labels["team"] ?? "", ns.labels["closed"] ?? ""]] * (pod.priority + 1), desc pod.created }"#,
    r#"policy order {
        let desk = lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? "")
        ledger taken: int by desk.labels["tier"] ?? "none" { add int(desk.spec.room) ?? 1 when ns.labels["closed"] != "yes" }
        queue by desc taken[desk.labels["tier"] ?? "none"], desc pod.priority }"#,
    r#"policy order {
        let desk = lookup("example.com/v1/Desk", "default", pod.labels["team"] ?? "")
        ledger taken: int by pod.labels["team"] ?? "" { add int(desk.spec.room) ?? 1 when desk.annotations["open"] != "no" }
        queue by taken[pod.labels["team"] ?? ""] > taken["a"], desc taken[pod.labels["team"] ?? ""], desc pod.attempts }"#,
];

static COMPILED: LazyLock<Vec<Arc<CompiledPolicy>>> =
    LazyLock::new(|| POOL.iter().map(|text| compile(text)).collect());
static COMPILED_ORDERS: LazyLock<Vec<Arc<CompiledPolicy>>> =
    LazyLock::new(|| ORDERS.iter().map(|text| compile(text)).collect());

/// A policy of a run.
pub(crate) fn compile(text: &str) -> Arc<CompiledPolicy> {
    let mut sources = SourceMap::new();
    let id = sources.add("pool.bay", text);
    let size = Size::of(20, 40);
    let (mut policies, said) = bayplan::lang::compile_for(sources.get(id).unwrap(), size, &|_| Vec::new());
    assert!(!said.iter().any(|said| said.is_error()), "{text}: {said:?}");
    Arc::new(CompiledPolicy::new(policies.remove(0), &sources))
}

/// The ledger whose index has this key.
pub(crate) fn ledger_of(key: &IndexKey) -> Option<(Arc<CompiledPolicy>, LedgerId)> {
    COMPILED.iter().chain(&*COMPILED_ORDERS).find_map(|compiled| {
        let at = compiled.policy.ledgers.iter().position(|ledger| ledger.index == *key)?;
        Some((compiled.clone(), LedgerId(at as u32)))
    })
}

/// A set of policies by bits; about half of the pool.
pub(crate) fn set(bits: u64) -> Vec<Arc<CompiledPolicy>> {
    let mut set: Vec<Arc<CompiledPolicy>> = Vec::new();
    for (at, compiled) in COMPILED.iter().enumerate() {
        if bits >> (at + 8) & 1 == 1 && !set.iter().any(|known| known.name() == compiled.name()) {
            set.push(compiled.clone());
        }
    }
    set
}

/// The profiles that serve with a set: the in-tree plugins, `others`, and the policies; the second profile has one of
/// them disabled.
pub(crate) fn frameworks(
    set: &[Arc<CompiledPolicy>],
    others: &[Arc<dyn Plugin>],
    second: bool,
) -> Vec<Arc<Framework>> {
    let mut registry = bayplan::plugins::registry();
    for plugin in others {
        registry.add_plugin(plugin.clone()).unwrap();
    }
    for compiled in set {
        let plugin = PolicyPlugin::new(compiled.clone(), ExemptPods::default());
        registry.add_plugin(Arc::new(plugin)).unwrap();
    }
    let mut profiles = vec![Profile::new("default-scheduler")];
    if second {
        let mut labelled = Profile::new("labelled");
        let name = String::from("clean");
        labelled.multi_point.disabled.push(Named { name, weight: 0, at: Default::default() });
        profiles.push(labelled);
    }
    let mut instances = Instances::default();
    let made = profiles.iter().map(|profile| profile.build(&registry, &mut instances).map(Arc::new));
    made.collect::<Result<_, _>>().unwrap()
}

/// Why the policies of a set do not let a pod onto a node, by the reference evaluator; gates are asked elsewhere.
fn refusal(
    set: &[Arc<CompiledPolicy>],
    snapshot: &Snapshot,
    pod: &PodInfo,
    node: NodeInfo<'_>,
    now: Time,
) -> Option<String> {
    set.iter().find_map(|compiled| {
        let context = EvalContext::new(pod, snapshot, now);
        let mut of_pod = compiled.evaluator(context);
        if !compiled.policy.applies().iter().all(|condition| of_pod.holds(condition)) {
            return None;
        }
        let rules = compiled.rules();
        let mut of_node = compiled.evaluator(context.on(node));
        let mut refuses = |rule: &Rule, check: &Check, on_node: bool| {
            let evaluator = if on_node { &mut of_node } else { &mut of_pod };
            evaluator
                .refuses(rules, rule, check)
                .then(|| format!("{}: {}", compiled.name(), evaluator.reason(&check.reason)))
        };
        let before = rules.at(Point::PreFilter);
        for (rule, statement) in before.flat_map(|rule| rules.statements(rule).map(move |of| (rule, of))) {
            match statement {
                Statement::Check(check) => {
                    if let Some(reason) = refuses(rule, check, false) {
                        return Some(reason);
                    }
                }
                Statement::Only(only) => {
                    let mut evaluator = compiled.evaluator(context);
                    let narrows = only.when.as_ref().is_none_or(|when| evaluator.holds(when))
                        && !evaluator.leaves_alone(rules, rule);
                    let names = evaluator.value(&only.nodes);
                    let named = |name: &bayplan::lang::types::value::Value<'_>| {
                        name.as_str() == Some(node.name().as_str())
                    };
                    if narrows && !names.elements().unwrap_or_default().iter().any(named) {
                        return Some(format!("{}: other nodes only", compiled.name()));
                    }
                }
                other => unreachable!("{other:?}"),
            }
        }
        let mut filters = rules.at(Point::Filter).flat_map(|rule| rule.checks().map(move |of| (rule, of)));
        filters.find_map(|(rule, check)| refuses(rule, check, true))
    })
}

/// Whether every wait of the policies holds for a pod that has a node.
fn waits_hold(
    set: &[Arc<CompiledPolicy>],
    snapshot: &Snapshot,
    pod: &PodInfo,
    now: Time,
) -> Result<(), String> {
    for compiled in set {
        let context = EvalContext::new(pod, snapshot, now);
        let Some(node) = context.placement(pod).and_then(|(node, _)| snapshot.node(node)) else { continue };
        let mut evaluator = compiled.evaluator(context.on(node));
        if !compiled.policy.applies().iter().all(|condition| evaluator.holds(condition)) {
            continue;
        }
        let rules = compiled.rules();
        for (rule, wait) in
            rules.at(Point::Permit).flat_map(|rule| rule.waits().iter().map(move |of| (rule, of)))
        {
            if !evaluator.leaves_alone(rules, rule) && !evaluator.holds(&wait.until) {
                return Err(format!("{} went on though {} did not hold", pod.name, compiled.name()));
            }
        }
    }
    Ok(())
}

/// Whom a pod waits for: the profile, its namespace and the label.
type Crew = (Symbol, Symbol, Option<Symbol>);

/// What is kept of a run with policies.
#[derive(Default)]
pub(crate) struct Rules {
    /// The set of each revision.
    pub sets: BTreeMap<u64, Vec<Arc<CompiledPolicy>>>,
    /// The revision in force.
    pub revision: u64,
    /// Pods that have passed permit.
    went_on: BTreeMap<PodKey, ()>,
    /// Pods that wait at Permit for their crew, and the revision at that time.
    crews: (u64, BTreeMap<PodKey, Crew>),
    /// Each pod as it was when its last attempt began.
    attempted: BTreeMap<PodKey, Arc<PodInfo>>,
    /// Whether the second profile serves.
    pub second: bool,
}

impl Rules {
    /// The policies that judge a pod under a revision.
    pub(crate) fn set_for(&self, revision: u64, profile: &str) -> Result<Vec<Arc<CompiledPolicy>>, String> {
        let set = self.sets.get(&revision).ok_or_else(|| format!("12: no revision {revision}"))?;
        Ok(set.iter().filter(|of| profile != "labelled" || of.name() != "clean").cloned().collect())
    }

    /// A decision was made on the cluster as it was `before`.
    pub(crate) fn decided(
        &mut self,
        record: &DecisionRecord,
        before: &Snapshot,
        now: Time,
    ) -> Result<(), String> {
        if record.revision != self.revision {
            return Err(format!(
                "12: decided by revision {}, {} is in force",
                record.revision, self.revision
            ));
        }
        let set = self.set_for(record.revision, &record.profile)?;
        let here = |name: &str| {
            set.iter().any(|of| of.name() == name) || !COMPILED.iter().any(|of| of.name() == name)
        };
        if let Some(other) = record.unschedulable_plugins.iter().find(|name| !here(name)) {
            return Err(format!("12: {other} judged {}, which is not in force", record.pod.name));
        }
        let (Decision::Placed { node, .. }, Some(entry)) = (&record.decision, before.pod(&record.key)) else {
            return match &record.decision {
                Decision::Error { message } if message.contains("disagree") => Err(message.clone()),
                _ => Ok(()),
            };
        };
        self.attempted.insert(record.key.clone(), entry.pod.clone());
        let node = before.node_by_name(node).and_then(|node| before.node(node));
        let node = node.ok_or_else(|| format!("13: {} was placed on no node", record.pod.name))?;
        let of_policies = refusal(&set, before, &entry.pod, node, now);
        let of_affinity =
            || crate::affinity::refusal(before, &entry.pod, node).map(|(_, text)| text.to_owned());
        match of_policies.or_else(of_affinity) {
            Some(reason) => {
                Err(format!("13: {} was placed on {} though {reason}", record.pod.name, node.name()))
            }
            None => Ok(()),
        }
    }

    /// After a step: whoever has left Permit towards its bind did so because its waits held.
    pub(crate) fn stepped(&mut self, scheduler: &Scheduler, now: Time) -> Result<(), String> {
        let mut went_on = BTreeMap::new();
        for binding in scheduler.bindings() {
            if !matches!(binding.stage, Stage::PreBind | Stage::Bind(_) | Stage::Resolve) {
                continue;
            }
            if !self.went_on.contains_key(&binding.pod)
                && let Some(pod) = self.attempted.get(&binding.pod)
            {
                // A profile that left keeps nobody waiting.
                let served = scheduler.profiles().get(&pod.scheduler_name).is_some();
                let set = if served { self.set_for(self.revision, &pod.scheduler_name)? } else { Vec::new() };
                waits_hold(&set, scheduler.snapshot(), pod, now).map_err(|text| format!("14: {text}"))?;
            }
            went_on.insert(binding.pod, ());
        }
        self.went_on = went_on;
        Ok(())
    }

    /// After a step: nobody waits on for a crew that a waiting pod has left.
    pub(crate) fn crews_are_left_whole(&mut self, scheduler: &Scheduler) -> Result<(), String> {
        let waits = |stage: &Stage| matches!(stage, Stage::Permit(waits) if waits.iter().any(|(name, _)| name.as_str() == "crew"));
        let bindings = scheduler.bindings();
        let crew = |pod: &PodInfo| {
            let label = pod.labels.get(&Symbol::new("crew")).cloned();
            (pod.scheduler_name.clone(), pod.namespace.clone(), label)
        };
        let waiting = bindings
            .iter()
            .filter(|binding| waits(&binding.stage))
            .filter_map(|binding| Some((binding.pod.clone(), crew(self.attempted.get(&binding.pod)?))));
        let now = (self.revision, waiting.collect::<BTreeMap<PodKey, Crew>>());
        let before = std::mem::replace(&mut self.crews, now);
        let (revision, waiting) = &self.crews;
        if before.0 != *revision {
            return Ok(());
        }
        for (left, crew) in before.1.iter().filter(|(pod, _)| !waiting.contains_key(pod)) {
            let goes_on = bindings.iter().any(|of| of.pod == *left && of.stage != Stage::Leaving);
            let behind = waiting.iter().find(|(pod, of)| *of == crew && before.1.contains_key(*pod));
            if let (false, Some((pod, _))) = (goes_on, behind) {
                return Err(format!("15: {pod:?} waits for a crew that {left:?} has left"));
            }
        }
        Ok(())
    }
}

impl World {
    /// Whoever waits at Permit for a crew is known to the policy as waiting: a crew is released whole.
    pub(crate) fn waits_are_known(&self) -> Result<(), String> {
        let snapshot = self.scheduler.snapshot();
        let Some(framework) = self.scheduler.profiles().frameworks.first() else { return Ok(()) };
        for plugin in framework.plugins().iter().filter(|plugin| plugin.name() == "crew") {
            let Some((key, _)) = plugin.indexes().into_iter().last() else { continue };
            let waits = snapshot.index::<bayplan::plugins::policy::Waits>(&key);
            let known: Vec<&PodKey> = waits.map(|waits| waits.everybody().collect()).unwrap_or_default();
            for binding in self.scheduler.bindings() {
                if let Stage::Permit(waits) = &binding.stage
                    && waits.iter().any(|(name, _)| name.as_str() == "crew")
                    && !known.contains(&&binding.pod)
                {
                    return Err(format!("15: {:?} waits for a crew that was released", binding.pod));
                }
                if let Stage::Permit(waits) = &binding.stage
                    && !waits.is_empty()
                    && waits.iter().all(|(name, _)| name.as_str() == "crew")
                    && let Some(pod) = self.rules.attempted.get(&binding.pod)
                {
                    let set = self.rules.set_for(self.rules.revision, &pod.scheduler_name)?;
                    if waits_hold(&set, snapshot, pod, self.now).is_ok() {
                        return Err(format!("15: {} waits though its crew is whole", pod.name));
                    }
                }
            }
        }
        Ok(())
    }

    /// A scheduler that starts from nothing at this moment, with every answer at once: it places nobody.
    ///
    /// It tries pods again that wait at Permit until their time is over, and others may pass while they do. Such a pod
    /// counts as forgotten if one of those that waited gets its node too: they helped each other.
    pub(crate) fn nobody_is_forgotten(&self) -> Result<(), String> {
        let mut api = self.api.clone();
        let mut scheduler =
            Scheduler::new(scheduler::Options { longest_wait: None, ..scheduler::Options::default() });
        let mut inputs = vec![Input::Profiles(self.scheduler.profiles().clone()), Input::Lead(true)];
        inputs.push(Input::WallClock(self.wall));
        // Gates are evaluated when a pod comes: what they look up is listed before.
        inputs.extend(
            [Kind::Node, Kind::Namespace, crate::objects::desks(), Kind::Pod]
                .map(|kind| Input::Relisted(kind.clone(), api.list(&kind))),
        );
        inputs.extend([Input::Metrics(self.metrics_known()), Input::Synced]);
        let mut cycles = 0;
        let mut now = self.now;
        // Pods that passed while others waited at Permit: those, and what is said of it.
        let mut beside: Vec<(Vec<PodKey>, String)> = Vec::new();
        loop {
            // Work before the bind takes its time, and so do waits at Permit.
            let end = self.now + Duration::from_seconds(if beside.is_empty() { 3 } else { 60 });
            let input = match inputs.is_empty() {
                false => inputs.remove(0),
                true if scheduler.wants_cycle() && cycles < 400 => {
                    cycles += 1;
                    Input::Cycle
                }
                true => match scheduler.next_wakeup() {
                    Some(next) if next <= end && now < next => {
                        now = next;
                        Input::Tick
                    }
                    _ => break,
                },
            };
            let mut effects = Vec::new();
            scheduler.step(input, now, &mut effects);
            for effect in effects {
                let Effect::Call(ticket, call) = effect else { continue };
                if let ApiCall::Bind { pod, node, .. } = &call {
                    let key = PodKey(pod.uid.clone());
                    if let Some((_, said)) = beside.iter().find(|(waited, _)| waited.contains(&key)) {
                        return Err(said.clone());
                    }
                    let place = self.scheduler.queue_place(&key);
                    let why = refused_text(&self.api, pod);
                    let by: Vec<String> = self
                        .scheduler
                        .queued(&key)
                        .map(|queued| {
                            let framework = self.scheduler.profiles().frameworks.first();
                            let name =
                                |id| framework.map_or("", |framework| framework.plugin_name(id)).to_owned();
                            queued.unschedulable_plugins.iter().map(name).collect()
                        })
                        .unwrap_or_default();
                    let gate =
                        (place == Some(QueuePlace::Gated)).then(|| self.scheduler.gate(&key)).flatten();
                    let said = format!(
                        "9: {} stands in {place:?} (gate {gate:?}, by {by:?}, {why:?}), and would be placed on {node}",
                        pod.name
                    );
                    let bindings = scheduler.bindings();
                    let others = bindings.iter().filter(|of| of.pod != key);
                    let waiting =
                        others.filter(|of| matches!(&of.stage, Stage::Permit(waits) if !waits.is_empty()));
                    let waiting: Vec<PodKey> = waiting.map(|of| of.pod.clone()).collect();
                    // Later ones have alarms, or are helped by what comes.
                    let is_now = now <= self.now + Duration::from_seconds(3);
                    match (is_now, waiting.is_empty()) {
                        (true, true) => return Err(said),
                        (true, false) => beside.push((waiting, said)),
                        (false, _) => {}
                    }
                }
                let answer = api.answer(&call, self.now, None);
                inputs.push(Input::Reply(ticket, answer));
            }
        }
        Ok(())
    }

    /// The newest sample of each node, as the scheduler knows it.
    fn metrics_known(&self) -> Arc<[Reading]> {
        let snapshot = self.scheduler.snapshot();
        let Some(window) = snapshot.metrics().windows().first() else { return Arc::default() };
        let newest = snapshot.nodes().filter_map(|node| {
            let load = snapshot.metrics().load(node.name(), *window)?;
            // However old it is, it holds until the next poll.
            let at = snapshot.wall_clock(load.at.max(self.now - Duration::from_seconds(1_800)));
            let cpu = load.cpu.latest;
            Some(Reading { node: node.name().clone(), measured: Measured::Sample { at, cpu, memory: 0 } })
        });
        newest.collect()
    }

    /// What the metrics API says of some nodes, or of none; sometimes of another time.
    pub(crate) fn poll_metrics(&mut self, with: u64) {
        let names: Vec<Symbol> = self.names(&Kind::Node).into_iter().map(|key| key.name).collect();
        let listed = names.into_iter().zip(0u64..).filter(|(_, at)| with >> (at % 20) & 3 != 3);
        let readings = listed.map(|(node, at)| {
            let cpu = if with >> (at + 20) & 1 == 1 { 2_000 } else { 500 };
            let at = self.now + self.wall - Duration::from_seconds((with >> 40 & 15) as i64);
            Reading { node, measured: Measured::Sample { at, cpu, memory: 0 } }
        });
        let readings = readings.collect();
        self.step(Input::Metrics(readings));
    }

    /// The profiles of a set by bits, as a reload brings them.
    pub(crate) fn policies(&mut self, bits: u64) -> Arc<Profiles> {
        let mut set = set(bits);
        if self.options.orders {
            set.retain(|of| of.policy.queue().is_none());
            set.push(COMPILED_ORDERS[bits as usize % ORDERS.len()].clone());
        }
        let second = !bits.is_multiple_of(4);
        let trials = self.options.trials;
        let serving: Vec<_> =
            set.iter().map(|of| trials.served(of)).chain(self.options.trials.set(bits)).collect();
        let frameworks = frameworks(&serving, &self.others, second);
        self.rules.revision = self.revision;
        self.rules.second = second;
        self.rules.sets.insert(self.revision, set);
        self.served(frameworks)
    }
}
