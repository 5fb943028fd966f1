//! Rules about evictions on random clusters, beside a slow and obvious model of preemption: it takes pods off copies of the
//! cluster, judges every pod with the reference evaluator, and tries the preemptor anew on each copy.

use crate::support::policies::{NOW, compile, snapshot};
use bayplan::diag::SourceMap;
use bayplan::framework::*;
use bayplan::lang::analysis::cost::Size;
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::trace::Tracer;
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::lang::typed::{Point as TypedPoint, Statement};
use bayplan::model::*;
use bayplan::plugins::policy::{ExemptPods, plugins};
use bayplan::testing::{PodMaker, Random, node, object_of, pod};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A cluster with a DaemonSet of agents.
fn with_agents(mut cluster: Snapshot) -> Snapshot {
    let set = object_of(json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default", "uid": "DaemonSet/agent"},
        "spec": {"selector": {"matchLabels": {"agent": "yes"}}},
    }));
    if let Object::Other(object) = set {
        cluster.apply(Change::ObjectSeen { object });
    }
    cluster
}

/// A pod of that DaemonSet.
fn of_agents(made: PodMaker) -> PodMaker {
    let by_name = json!({"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["n"]}]}]});
    let required = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    made.owner("DaemonSet", "agent").label("agent", "yes").set(required, by_name)
}

/// Nodes have room for the pods' CPU.
const ROOM: &str =
    "policy a-room { filter room { require node.free.cpu >= pod.requests.cpu else \"Insufficient cpu\" } }";

/// Rules of which each cluster has some. Several read what earlier victims changed.
const RULES: &[&str] = &[
    r#"policy keep { preempt { protect v when v.labels["keep"] == "yes" } }"#,
    r#"policy last { preempt { protect v when node.pods.count(p, p.labels["app"] == v.labels["app"]) <= 1 } }"#,
    r#"policy cheap { preempt { victim v when v.labels["cheap"] == "yes" } }"#,
    r#"policy over {
      def over(n: string) = pods.count(p, p.placed && p.namespace == n) > 3
      preempt { victim v when v.namespace != pod.namespace && over(v.namespace) }
    }"#,
    r#"policy some-left { preempt { guard node.pods.count() >= 2 else "too few pods would be left" } }"#,
    r#"policy quota {
      prefilter { reject "the namespace is full" when pods.count(p, p.placed && p.namespace == pod.namespace) >= 3 }
    }"#,
    r#"policy team {
      group mates = p in pods where p.labels["team"] == pod.labels["team"]
      applies when has(pod.labels["team"])
      preempt {
        protect v when v.labels["team"] == pod.labels["team"] && mates.count(m, m.placed) <= 3
        guard mates.exists(m, m.placed) else "no mate would be left"
      }
    }"#,
    r#"policy meek { preempt { never "meek pods wait" when pod.labels["meek"] == "yes" } }"#,
    r#"policy young {
      preempt { protect v when v.created + 10min > now() }
    }"#,
    r#"policy shares {
      ledger used: int by pod.namespace { add 1 }
      def rank(n: string) = nodes.count(m, m.name != n)
      let all = ["default", "b", "c"].sum(n, used[n])
      prefilter { reject "the shares are used up" when all > nodes.count() * 3 }
      preempt {
        victim v when v.namespace != pod.namespace && used[v.namespace] > used[pod.namespace]
          && v.priority <= rank(v.labels["app"] ?? "")
      }
    }"#,
    r#"policy own-words {
      preempt {
        victim v when v.priority < pod.priority && v.labels["app"] != "a"
        protect v when v.labels["keep"] == "yes" || v.name.endsWith("3")
      }
    }"#,
    r#"policy own-words-and-others {
      preempt {
        victim v when v.priority <= pod.priority && v.labels["cheap"] != "yes"
        protect v when node.pods.count(p, p.priority >= v.priority) <= 1
      }
    }"#,
    r#"policy excused {
      preempt {
        except until 2099-01-31 because "the red team may" when pod.labels["team"] == "red"
        protect v when v.priority >= 2
        guard node.pods.count(p, p.labels["keep"] == "yes") < 3 else "too many are kept"
      }
    }"#,
    r#"policy everyone {
      preempt { victim v to all pods when v.labels["cheap"] == "yes" || v.priority == 0 }
    }"#,
    r#"policy cluster-room {
      prefilter { reject "the cluster is full" when nodes.sum(n, n.free.cpu) < pod.requests.cpu }
    }"#,
];

/// A cluster in which few pods fit.
fn cluster(random: &mut Random) -> (Vec<Arc<Node>>, Vec<Arc<PodInfo>>, Arc<PodInfo>) {
    let nodes: Vec<_> = (0..1 + random.below(4)).map(|at| node(&format!("n{at}")).cpu("4").build()).collect();
    let yes = |random: &mut Random, made: bayplan::testing::PodMaker, key: &str, share: usize| {
        if random.one_in(share) { made.label(key, "yes") } else { made }
    };
    let mut pods = Vec::new();
    for at in 0..4 + random.below(14) {
        // Times differ, so that the order of the pods is known.
        let started = format!("2026-01-05T10:{:02}:{:02}Z", random.below(59), at);
        let mut made = pod(&format!("p{at}"))
            .priority(random.below(4) as i32)
            .cpu(random.of(&["500m", "1", "1500m"]))
            .namespace(random.of(&["default", "b", "c"]))
            .label("app", random.of(&["x", "y", "z"]))
            .created(random.of(&["2026-01-05T11:59:00Z", "2026-01-05T11:00:00Z"]))
            .phase("Running")
            .on(&format!("n{}", random.below(nodes.len())));
        if !random.one_in(5) {
            made = made.set("status.startTime", json!(started));
        }
        if random.one_in(2) {
            made = made.label("team", random.of(&["red", "blue"]));
        }
        made = yes(random, made, "keep", 4);
        made = yes(random, made, "cheap", 3);
        made = match random.below(12) {
            0 => made.namespace("kube-system"),
            1 => of_agents(made),
            // It names a DaemonSet that is there, and is none of its pods.
            3 => made.owner("DaemonSet", "agent"),
            2 => made.annotation("kubernetes.io/config.mirror", "x"),
            _ => made,
        };
        pods.push(made.build());
    }
    let mut me = pod("me").priority(random.below(5) as i32).cpu(random.of(&["1", "2", "3"]));
    if random.one_in(2) {
        me = me.label("team", random.of(&["red", "blue"]));
    }
    me = yes(random, me, "meek", 12);
    (nodes, pods, me.build())
}

/// A profile of these policies, with DefaultPreemption or without.
fn profile(set: &PolicySet, default: bool, judge: fn(Arc<dyn Plugin>) -> Arc<dyn Plugin>) -> Arc<Framework> {
    let mut all: Vec<Arc<dyn Plugin>> = plugins(set, &ExemptPods::default()).into_iter().map(judge).collect();
    if default {
        let registry = bayplan::plugins::registry();
        let made = registry.get("DefaultPreemption").unwrap().make(&Tree::default()).unwrap();
        all.insert(0, made.unwrap_or_else(|_| panic!("DefaultPreemption has defaults")));
    }
    let at = |has: &dyn Fn(&dyn Plugin) -> bool| -> Vec<PluginId> {
        let with = all.iter().enumerate().filter(|(_, plugin)| has(&***plugin));
        with.map(|(at, _)| PluginId(at as u16)).collect()
    };
    let points = Points {
        pre_filter: at(&|p| p.pre_filter().is_some()),
        filter: at(&|p| p.filter().is_some()),
        post_filter: at(&|p| p.post_filter().is_some()),
        ..Points::default()
    };
    Arc::new(Framework::new(Symbol::new("bayplan"), all, points))
}

fn as_it_is(plugin: Arc<dyn Plugin>) -> Arc<dyn Plugin> {
    plugin
}

/// The victims on each node that is a candidate, by name.
type Candidates = BTreeMap<String, Vec<String>>;

fn found(framework: &Arc<Framework>, cluster: &Snapshot, me: &Arc<PodInfo>) -> (Candidates, Vec<NodeId>) {
    let mut cycle = Cycle::new(me.clone(), framework.clone(), NOW);
    if let Ok(left) = framework.run_pre_filter(&mut cycle, cluster, &mut Silent) {
        for node in cluster.nodes().filter(|node| left.as_ref().is_none_or(|left| left.contains(node.id()))) {
            match framework.filter_node(cycle.handle(cluster), node) {
                Ok(()) => return (Candidates::new(), Vec::new()),
                Err(status) => cycle.diagnosis.nodes.set(node.id(), &status),
            }
        }
    }
    let potential = cycle.diagnosis.nodes.with_code(Code::Unschedulable, cluster.columns().alive());
    let answer = framework.run_post_filter(&cycle, cluster);
    let victims = |of: &Candidate| of.victims.iter().map(|pod| pod.name.to_string()).collect();
    let found = answer.candidates.iter().map(|of| (of.name.to_string(), victims(of))).collect();
    (found, potential.iter().collect())
}

/// The model.
struct Model<'m> {
    policies: Vec<&'m CompiledPolicy>,
    framework: &'m Arc<Framework>,
    me: &'m Arc<PodInfo>,
    default: bool,
}

impl Model<'_> {
    /// The policies with `preempt` that apply to the pod.
    fn speaking(&self, cluster: &Snapshot) -> Vec<&CompiledPolicy> {
        let context = EvalContext::new(self.me, cluster, NOW);
        let applies = |policy: &&&CompiledPolicy| {
            let (rules, mut conditions) = (policy.rules(), policy.policy.applies().iter());
            let mut evaluator = policy.evaluator(context);
            let mut of = rules.at(TypedPoint::PostFilter);
            of.any(|rule| !policy.evaluator(context).leaves_alone(rules, rule))
                && conditions.all(|condition| evaluator.holds(condition))
        };
        self.policies.iter().filter(applies).copied().collect()
    }

    fn any(&self, protects: bool, pod: &PodInfo, node: NodeId, cluster: &Snapshot) -> bool {
        let context = EvalContext::new(self.me, cluster, NOW).on(cluster.node(node).unwrap());
        let spared = pod.namespace.as_str() == "kube-system"
            // The DaemonSet of agents is in this namespace: elsewhere its label and its owner say nothing.
            || pod.namespace.as_str() == "default" && pod.labels.get(&Symbol::new("agent")).is_some()
            || pod.annotations.get("kubernetes.io/config.mirror").is_some();
        let names = |statement: &Statement| match statement {
            Statement::Victim(of) => of.protects || of.to_all_pods || !spared,
            _ => true,
        };
        let holds = |policy: &&CompiledPolicy| {
            let mut found = Tracer::of_victim(policy.rules(), protects, pod, context);
            found.any(|found| found.decides && names(&found.statement))
        };
        self.speaking(cluster).iter().any(holds)
    }

    fn guarded(&self, node: NodeId, cluster: &Snapshot) -> bool {
        let context = EvalContext::new(self.me, cluster, NOW).on(cluster.node(node).unwrap());
        let refuses =
            |policy: &&CompiledPolicy| Tracer::of_guards(policy.rules(), context).any(|found| found.decides);
        !self.speaking(cluster).iter().any(refuses)
    }

    /// Whether an attempt on this cluster lets the pod onto the node.
    fn fits(&self, node: NodeId, cluster: &Snapshot) -> bool {
        let mut cycle = Cycle::new(self.me.clone(), self.framework.clone(), NOW);
        let Ok(left) = self.framework.run_pre_filter(&mut cycle, cluster, &mut Silent) else { return false };
        let named = left.is_none_or(|left| left.contains(node));
        named && self.framework.filter_node(cycle.handle(cluster), cluster.node(node).unwrap()).is_ok()
    }

    fn on_node(&self, node: NodeId, cluster: &Snapshot) -> Option<Vec<String>> {
        let mut pods: Vec<Arc<PodInfo>> = cluster.node(node).unwrap().pods().cloned().collect();
        let names = |policy: &&CompiledPolicy| policy.policy.victims().any(|victim| !victim.protects);
        let named = self.speaking(cluster).iter().any(names);
        // Lowest priority first, then youngest; of pods that have not started the last on the node.
        let row: Vec<PodKey> = pods.iter().map(|pod| pod.key.clone()).collect();
        let place = |pod: &Arc<PodInfo>| row.iter().position(|key| *key == pod.key).unwrap();
        let age = |pod: &Arc<PodInfo>| match pod.started {
            Some(started) => (1, -started.0, 0i64),
            None => (0, 0, -(place(pod) as i64)),
        };
        pods.sort_by_key(|pod| (pod.priority, age(pod)));
        let mut world = cluster.clone();
        let mut taken = Vec::new();
        for pod in &pods {
            let candidate = match named {
                true => self.any(false, pod, node, &world),
                false => pod.priority < self.me.priority,
            };
            if candidate && !self.any(true, pod, node, &world) {
                world.apply(Change::PodRemoved { pod: pod.key.clone() });
                taken.push(pod.clone());
            }
        }
        if taken.is_empty() || !self.fits(node, &world) {
            return None;
        }
        let mut victims = Vec::new();
        for pod in taken.iter().rev() {
            let mut with = world.clone();
            with.apply(Change::PodPlaced { pod: pod.clone(), node, how: Placement::Bound });
            let stays = self.guarded(node, &with) || !self.guarded(node, &world);
            if self.fits(node, &with) && stays {
                world = with;
            } else {
                victims.push(pod.name.to_string());
            }
        }
        (self.guarded(node, &world) && !victims.is_empty()).then_some(victims)
    }

    fn candidates(&self, cluster: &Snapshot, potential: &[NodeId]) -> Candidates {
        let speaking = self.speaking(cluster);
        let context = EvalContext::new(self.me, cluster, NOW);
        let never = |policy: &&CompiledPolicy| {
            Tracer::new(policy.rules(), TypedPoint::PostFilter, context).any(|found| found.decides)
        };
        if speaking.is_empty() && !self.default || speaking.iter().any(never) {
            return Candidates::new();
        }
        let names = |node: NodeId| cluster.node(node).unwrap().name().to_string();
        potential.iter().filter_map(|node| Some((names(*node), self.on_node(*node, cluster)?))).collect()
    }
}

/// The text as a document, or the text itself where it has no twin.
fn twin(text: &str) -> String {
    let mut sources = SourceMap::new();
    let id = sources.add("p.bay", text);
    let source = sources.get(id).unwrap();
    bayplan::lang::convert::convert_for(source, Size::of(20, 20)).unwrap_or_else(|_| text.to_owned())
}

/// Tries clusters; the first on which the profile and the model differ.
fn differ(
    seeds: std::ops::Range<u64>,
    judge: fn(Arc<dyn Plugin>) -> Arc<dyn Plugin>,
) -> (usize, Option<String>) {
    let mut evictions = 0;
    for seed in seeds {
        let mut random = Random(seed);
        let (nodes, pods, me) = cluster(&mut random);
        let mut texts = vec![ROOM.to_owned()];
        for rule in RULES {
            if random.one_in(3) {
                texts.push(if random.one_in(2) { twin(rule) } else { (*rule).to_owned() });
            }
        }
        let sets: Vec<PolicySet> = texts.iter().map(|text| compile(text)).collect();
        let set = PolicySet::new(sets.iter().flat_map(|set| set.iter().cloned()));
        let default = random.one_in(2);
        let framework = profile(&set, default, judge);
        let mut all = pods.clone();
        all.push(me.clone());
        let cluster = with_agents(snapshot(&framework, nodes, all));
        let (found, potential) = found(&framework, &cluster, &me);
        let right = profile(&set, default, as_it_is);
        let policies = set.iter().map(|policy| &**policy).collect();
        let model = Model { policies, framework: &right, me: &me, default };
        let wanted = model.candidates(&cluster, &potential);
        evictions += wanted.len();
        if found != wanted {
            let pods: Vec<String> = pods
                .iter()
                .map(|pod| format!("{} {:?} {} {:?}", pod.name, pod.node_name, pod.priority, pod.labels))
                .collect();
            let texts = texts.join("\n");
            let told = format!(
                "seed {seed}, {}: {found:?}, and the model has {wanted:?}\n{texts}\n{}",
                if default { "DefaultPreemption" } else { "a policy stands in" },
                pods.join("\n")
            );
            return (evictions, Some(told));
        }
    }
    (evictions, None)
}

#[test]
fn preemption_with_rules_is_that_of_the_model() {
    let (evictions, wrong) = differ(1..3_000, as_it_is);
    assert_eq!(wrong, None);
    assert!(evictions > 300, "{evictions} nodes are candidates");
}

/// A mutant: every pod is judged on the cluster as it was, those taken before included.
struct OldState(Arc<dyn Plugin>);

impl OldState {
    fn rules(&self) -> &dyn PreemptionRules {
        self.0.rule_plugin().unwrap().preemption().unwrap()
    }

    fn made(plugin: Arc<dyn Plugin>) -> Arc<dyn Plugin> {
        Arc::new(Self(plugin))
    }
}

impl Plugin for OldState {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn reads(&self) -> Reads {
        self.0.reads()
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        self.0.indexes()
    }
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        self.0.pre_filter()
    }
    fn filter(&self) -> Option<&dyn Filter> {
        self.0.filter()
    }
    fn post_filter(&self) -> Option<&dyn PostFilter> {
        self.0.post_filter()
    }
    fn rule_plugin(&self) -> Option<&dyn RulePlugin> {
        Some(self)
    }
}

impl RulePlugin for OldState {
    fn preemption(&self) -> Option<&dyn PreemptionRules> {
        self.0.rule_plugin()?.preemption().map(|_| self as &dyn PreemptionRules)
    }
}

impl PreemptionRules for OldState {
    fn applies(&self, h: &Handle) -> bool {
        self.rules().applies(h)
    }
    fn names_victims(&self, h: &Handle) -> bool {
        self.rules().names_victims(h)
    }
    fn never(&self, h: &Handle, faults: &mut RuleFaults) -> Result<(), Status> {
        self.rules().never(h, faults)
    }
    fn candidate(
        &self,
        h: &Handle,
        on: NodeInfo,
        victim: &PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<bool, Status> {
        let cycle = CycleState::default();
        let (h, on) = (Handle { cycle: &cycle, ..*h }, h.snapshot.node(on.id()).unwrap());
        self.rules().candidate(&h, on, victim, faults)
    }
    fn protects(
        &self,
        h: &Handle,
        on: NodeInfo,
        victim: &PodInfo,
        faults: &mut RuleFaults,
    ) -> Result<bool, Status> {
        let cycle = CycleState::default();
        let (h, on) = (Handle { cycle: &cycle, ..*h }, h.snapshot.node(on.id()).unwrap());
        self.rules().protects(&h, on, victim, faults)
    }
    fn guard(&self, h: &Handle, on: NodeInfo, faults: &mut RuleFaults) -> Result<(), Status> {
        self.rules().guard(h, on, faults)
    }
}

#[test]
fn a_victim_that_is_judged_on_the_old_state_is_noticed() {
    assert!(differ(1..1_500, OldState::made).1.is_some());
}

/// What one attempt of `me` came to: the message, and the victims on each node.
fn attempt(texts: &[&str], pods: Vec<Arc<PodInfo>>, me: &Arc<PodInfo>) -> (PostFilterAnswer, Candidates) {
    let sets: Vec<PolicySet> = texts.iter().map(|text| compile(text)).collect();
    let set = PolicySet::new(sets.iter().flat_map(|set| set.iter().cloned()));
    let framework = profile(&set, true, as_it_is);
    let mut all = pods;
    all.push(me.clone());
    let cluster = with_agents(snapshot(&framework, vec![node("n").cpu("2").build()], all));
    let mut cycle = Cycle::new(me.clone(), framework.clone(), NOW);
    if framework.run_pre_filter(&mut cycle, &cluster, &mut Silent).is_ok() {
        let node = cluster.nodes().next().unwrap();
        let refused = framework.filter_node(cycle.handle(&cluster), node).unwrap_err();
        cycle.diagnosis.nodes.set(node.id(), &refused);
    }
    let answer = framework.run_post_filter(&cycle, &cluster);
    let victims = |of: &Candidate| of.victims.iter().map(|pod| pod.name.to_string()).collect();
    let found = answer.candidates.iter().map(|of| (of.name.to_string(), victims(of))).collect();
    (answer, found)
}

fn on_n(name: &str, priority: i32) -> bayplan::testing::PodMaker {
    pod(name).priority(priority).cpu("1").phase("Running").on("n")
}

#[test]
fn messages_say_which_policy_protects_and_why_a_pod_never_preempts() {
    let me = pod("me").priority(9).cpu("1").label("meek", "yes").build();
    let kept = || vec![on_n("a", 1).label("keep", "yes").build(), on_n("b", 1).label("keep", "yes").build()];
    let (answer, _) = attempt(&[ROOM, RULES[0]], kept(), &me);
    assert_eq!(answer.message, "preemption: 0/1 nodes are available: 1 node(s) with pods protected by keep.");
    // What ends the protection may help the pod.
    assert_eq!(answer.rules.refusing.iter().count(), 1);
    let (answer, _) = attempt(&[ROOM, RULES[7]], kept(), &me);
    assert_eq!(answer.message, "preemption: meek pods wait");
    let (answer, _) = attempt(&[ROOM, RULES[4]], kept(), &me);
    assert_eq!(answer.message, "preemption: 0/1 nodes are available: 1 too few pods would be left.");
    let (answer, _) = attempt(&[ROOM, RULES[2]], kept(), &me);
    assert_eq!(
        answer.message,
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    );
}

#[test]
fn two_policies_add_their_victims_and_each_protects() {
    let me = pod("me").priority(9).cpu("1").build();
    let pods =
        || vec![on_n("a", 50).label("cheap", "yes").label("keep", "yes").build(), on_n("b", 1).build()];
    let low = r#"policy low { preempt { victim v when v.priority < pod.priority } }"#;
    let victims = |texts: &[&str]| attempt(texts, pods(), &me).1.remove("n").unwrap_or_default();
    assert_eq!(victims(&[ROOM]), ["b"]);
    // Whatever its priority.
    assert_eq!(victims(&[ROOM, RULES[2]]), ["a"]);
    // The more important pod is spared first.
    assert_eq!(victims(&[ROOM, RULES[2], low]), ["b"]);
    assert_eq!(victims(&[ROOM, RULES[0], RULES[2]]), [""; 0]);
}

#[test]
fn faults_spare_the_pod_or_end_preemption() {
    let me = pod("me").priority(9).cpu("1").build();
    let document = |rule: &str, on_error: &str| {
        format!(
            "apiVersion: bayplan.dev/v1\nkind: SchedulingPolicy\nmetadata: {{name: faulty}}\nspec:\n  onError: {on_error}\n  \
             preempt:\n  - {rule}\n"
        )
    };
    let pods = || vec![on_n("a", 1).label("size", "3").build(), on_n("b", 2).label("size", "x").build()];
    for on_error in ["reject", "ignore"] {
        // Of `b` nothing is known: it is no victim, and protected.
        let (answer, found) =
            attempt(&[ROOM, &document("{victim: 'int(v.labels[\"size\"]) > 1'}", on_error)], pods(), &me);
        assert_eq!(found["n"], ["a"]);
        assert_eq!(answer.rules.faults.len(), 1, "{on_error}");
        let (_, found) =
            attempt(&[ROOM, &document("{protect: 'int(v.labels[\"size\"]) > 7'}", on_error)], pods(), &me);
        assert_eq!(found["n"], ["a"]);
    }
    let (answer, found) =
        attempt(&[ROOM, &document("{protect: 'int(v.labels[\"size\"]) > 7'}", "error")], pods(), &me);
    assert!(found.is_empty());
    assert!(answer.message.starts_with("preemption: faulty/protect: "), "{}", answer.message);
    assert_eq!(answer.code, "Error");
}

#[test]
fn a_refusal_of_prefilter_is_asked_again_without_the_victims() {
    let quota = r#"policy quota {
      prefilter { reject "over quota" when pods.filter(p, p.placed && p.namespace == pod.namespace).sum(p, p.requests.cpu)
        + pod.requests.cpu > 2cpu }
    }"#;
    let me = pod("me").priority(9).cpu("1").build();
    let pods = vec![on_n("a", 1).build(), on_n("b", 2).build()];
    let (_, found) = attempt(&[quota], pods.clone(), &me);
    assert_eq!(found["n"], ["a"]);
    let final_word = quota.replace("reject \"", "reject unresolvable \"");
    assert!(attempt(&[&final_word], pods, &me).1.is_empty());
}

#[test]
fn pods_that_are_spared_elsewhere_are_victims_only_by_a_rule_to_all_pods() {
    let me = pod("me").priority(0).cpu("2").build();
    let spared = [
        of_agents(on_n("agent", 0)),
        on_n("mirror", 0).annotation("kubernetes.io/config.mirror", "hash"),
        on_n("dns", 0).namespace("kube-system"),
    ];
    let some = r#"policy greedy { preempt { victim v when v.name != "me" } }"#;
    let all = r#"policy greedy { preempt { victim v to all pods when v.name != "me" } }"#;
    let (some_twin, all_twin) = (twin(some), twin(all));
    assert!(all_twin.contains("toAllPods: true"), "{all_twin}");
    for victim in spared {
        let pods = || vec![victim.clone().build()];
        for text in [some, &some_twin] {
            assert_eq!(attempt(&[ROOM, text], pods(), &me).1, Candidates::new(), "{text}");
        }
        for text in [all, &all_twin] {
            let name = victim.clone().build().name.to_string();
            assert_eq!(
                attempt(&[ROOM, text], pods(), &me).1,
                [("n".to_owned(), vec![name])].into(),
                "{text}"
            );
        }
        // Priorities name the victims as kube-scheduler does.
        let high = pod("me").priority(100).cpu("2").build();
        assert_eq!(attempt(&[ROOM], pods(), &high).1.len(), 1);
    }
    let plain = vec![on_n("plain", 9).build()];
    assert_eq!(attempt(&[ROOM, some], plain, &me).1.len(), 1);
}
