//! The data that a policy reads, in the framework's terms, and the events that it registers for. Both follow
//! from the reads of its statements; `hints.rs` says whether an event helps a pod.

use super::ledger_reads::{LedgerRead, read_by};
use bayplan_framework::{ActionType, EventRegistration, EventResource, Interest, Reads};
use bayplan_lang::analysis::index::can_be_indexed;
use bayplan_lang::codegen::groups::index_key;
use bayplan_lang::language::fields::{Eviction, FieldDef, Meaning, ObjectType};
use bayplan_lang::policy_set::CompiledPolicy;
use bayplan_lang::typed::reads::{Polarity, ReadOf, ReadPath, RuleReads};
use bayplan_lang::typed::{
    Body, Expr, GroupId, KindId, Ledger, MemoId, Point, Policy, Rule, Rules, Statement,
};
use bayplan_model::{IndexKey, Kinds, Symbol};
use std::collections::BTreeSet;

/// Reads and registrations of a policy.
pub(super) struct Events {
    reads: Reads,
    pub(super) registrations: Vec<EventRegistration>,
    /// Rules that refuse before a node is chosen: gates, prefilters, filters, and those about evictions.
    pub(super) early: HintReads,
    /// Rules that refuse afterwards: permit.
    pub(super) late: HintReads,
    /// What can change the decision of the permits about a waiting pod.
    pub(super) at_permit: RuleInterest,
    /// What can change the keys of `queue by`.
    pub(super) of_queue: RuleInterest,
}

/// What can change the result of rules for one pod, beside the pod itself and time.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleInterest {
    /// Kinds of change, of any node or pod.
    pub(super) kinds: Kinds,
    /// Groups with the indexes that follow them: only changes of their members matter.
    pub(super) groups: Vec<(GroupId, IndexKey)>,
    /// Ledgers. Of those whose keys depend on the pod alone only these sums matter; `kinds` has what moves the others,
    /// but for the end of an exception.
    pub(super) ledgers: Vec<LedgerRead>,
    /// Memos: only what is remembered under the pod's key matters.
    pub(super) memos: Vec<MemoId>,
}

/// The groups of some reads, with the keys of their indexes.
fn indexed(policy: &Policy, reads: &RuleReads) -> Vec<(GroupId, IndexKey)> {
    reads.groups.iter().map(|group| (*group, index_key(policy, *group))).collect()
}

impl RuleInterest {
    /// Of expressions with these reads.
    pub(super) fn of<'p>(
        policy: &'p Policy,
        parts: impl IntoIterator<Item = &'p Expr>,
        reads: &RuleReads,
    ) -> Self {
        let of_nodes = life_of_their_nodes(reads).with(devices_of_any(reads));
        let mut apart = reads.clone();
        let memos = reads.memos.iter().copied().collect();
        let ledgers = read_by(policy, parts, reads);
        // Any key: every pod that is placed may move the sum.
        let keyed = |ledger| ledgers.iter().any(|read| read.ledger == ledger && read.keys.is_some());
        apart.ledgers.retain(|ledger, _| !keyed(*ledger));
        if !reads.groups.iter().all(|group| can_be_indexed(policy, *group)) {
            let kinds = Interest::of(&framework_reads(policy, &apart)).kinds;
            return Self { kinds: kinds.with(of_nodes), groups: Vec::new(), ledgers, memos };
        }
        let kinds = Interest::of(&framework_reads(policy, &without_groups(apart))).kinds;
        Self { kinds: kinds.with(of_nodes), groups: indexed(policy, reads), ledgers, memos }
    }
}

/// What rules read that refuse before, or after, the node is chosen.
pub(super) struct HintReads {
    /// They read the pod, its namespace, and the evaluated node with its pods, and nothing else.
    pub(super) local: bool,
    /// The kinds of change that may help, beside those of groups and ledgers.
    pub(super) kinds: Kinds,
    /// The groups that they read.
    pub(super) groups: BTreeSet<GroupId>,
    /// The ledgers that they read.
    pub(super) ledgers: Vec<LedgerRead>,
    /// The kinds of change, of nodes and namespaces, that move these ledgers.
    pub(super) of_ledgers: Kinds,
    /// The memos that they read.
    pub(super) memos: Vec<MemoId>,
    /// Whether more members, and higher values of their fields, help or hurt the pod.
    pub(super) more: Option<Polarity>,
    /// The kinds of objects that they, or the entries of their ledgers, look up.
    pub(super) objects: BTreeSet<KindId>,
    /// Anything may help.
    pub(super) anything: bool,
}

impl HintReads {
    fn of(policy: &Policy, reads: &RuleReads, parts: &[&Expr], named: bool) -> Self {
        let of = |wanted: &[ReadOf]| reads.paths.keys().any(|path| wanted.contains(&path.of));
        let ledgers = read_by(policy, parts.iter().copied(), reads);
        let any = |of: fn(&Ledger) -> bool| ledgers.iter().any(|read| of(&policy[read.ledger]));
        let mut apart = without_groups(reads.clone());
        apart.ledgers.clear();
        let named = if named { Kinds::LIFE } else { Kinds::NONE };
        let kinds = framework_reads(policy, &apart)
            .kinds
            .with(life_of_their_nodes(reads))
            .with(devices_of_any(reads))
            .with(named);
        let of_ledgers =
            [(Kinds::LIFE, any(|of| of.reads_node)), (Kinds::NAMESPACES, any(|of| of.reads_namespace))];
        let of_ledgers = of_ledgers.iter().filter(|(_, moves)| *moves).map(|(kinds, _)| *kinds);
        let of_ledgers = of_ledgers.fold(Kinds::NONE, Kinds::with);
        let mut more = None;
        for (path, polarity) in reads.paths.iter().filter(|(path, _)| path.of == ReadOf::Group) {
            let polarity = match reads.keys.contains(path) {
                false => *polarity,
                // A pod that is placed joins the group, or leaves it.
                true if is_placement(path) => Polarity::Any,
                true => continue,
            };
            more = Some(more.map_or(polarity, |known: Polarity| known.join(polarity)));
        }
        Self {
            local: reads.groups.is_empty()
                && reads.ledgers.is_empty()
                && reads.memos.is_empty()
                && !of(&[
                    ReadOf::Nodes,
                    ReadOf::Pods,
                    ReadOf::Nominated,
                    ReadOf::Group,
                    ReadOf::Objects,
                    ReadOf::Metrics,
                ]),
            kinds,
            groups: reads.groups.clone(),
            objects: {
                let of_ledgers = ledgers.iter().flat_map(|read| &policy[read.ledger].reads.objects);
                reads.objects.iter().chain(of_ledgers).copied().collect()
            },
            of_ledgers,
            ledgers,
            memos: reads.memos.iter().copied().collect(),
            more,
            anything: false,
        }
    }
}

/// The arrival and end of nodes, where rules read the nodes of other pods.
fn life_of_their_nodes(reads: &RuleReads) -> Kinds {
    if reads.paths.keys().any(is_node_of_pod) { Kinds::LIFE } else { Kinds::NONE }
}

/// Devices and claims, where rules read those of any pod or node: the index of a group does not follow the claims of its
/// members.
fn devices_of_any(reads: &RuleReads) -> Kinds {
    if reads.of_devices() { Kinds::DEVICES } else { Kinds::NONE }
}

/// The reads beside members of groups.
fn without_groups(mut reads: RuleReads) -> RuleReads {
    reads.groups.clear();
    reads.paths.retain(|path, _| path.of != ReadOf::Group);
    reads
}

/// Whether the path is the node of another pod, which changes when nodes are added or deleted.
fn is_node_of_pod(path: &ReadPath) -> bool {
    path.field.is_some_and(|field| field.def().objects() == Some(ObjectType::Node))
}

/// Whether the path changes when a pod is placed or loses its node.
fn is_placement(path: &ReadPath) -> bool {
    path.field.is_some_and(|field| field.def().changed_by == Kinds::PLACEMENT)
}

/// Whether the path is of another pod, and what this scheduler decides about a pod moves it beside the pod's node.
fn is_decided(path: &ReadPath) -> bool {
    let meaning = path.field.and_then(|field| field.def().meaning);
    match path.of {
        ReadOf::Nominated => true,
        ReadOf::NodePods | ReadOf::Pods | ReadOf::Group => {
            matches!(meaning, Some(Meaning::Binding | Meaning::Nomination))
        }
        _ => false,
    }
}

impl Events {
    pub(super) fn of(compiled: &CompiledPolicy) -> Self {
        let mut reads = framework_reads(&compiled.policy, &compiled.reads);
        reads.label_keys.extend(compiled.statements.inputs.label_keys().iter().cloned());
        let rules = compiled.rules();
        let (registrations, early, late) = registered(compiled, rules.iter());
        let policy = &compiled.policy;
        if !policy.to_all_pods {
            // Whether the policy may refuse a pod that names a DaemonSet.
            reads.kinds |= Kinds::DAEMON_SETS;
        }
        let at = |point: Point, mut all: RuleReads| {
            rules.at(point).flat_map(|rule| rule.reads(policy)).for_each(|more| all.merge(more));
            let of_point = rules.at(Point::Applies).chain(rules.at(point));
            RuleInterest::of(policy, parts_of(rules, of_point), &all)
        };
        let at_permit = at(Point::Permit, compiled.deciding.clone());
        let of_queue = at(Point::QueueSort, RuleReads::default());
        Self { reads, registrations, early, late, at_permit, of_queue }
    }

    pub(super) fn reads(&self) -> &Reads {
        &self.reads
    }
}

/// The events that may help a pod which one of these rules refused.
pub fn registrations<'p>(
    compiled: &'p CompiledPolicy,
    rules: impl IntoIterator<Item = &'p Rule>,
) -> Vec<EventRegistration> {
    registered(compiled, rules).0
}

/// What statements of rules evaluate before they decide.
fn parts_of<'p>(part: Rules<'p>, rules: impl Iterator<Item = &'p Rule>) -> impl Iterator<Item = &'p Expr> {
    rules.flat_map(move |rule| {
        let guard = part.guard(rule).map(|leave| &leave.holds);
        let statements = part.statements(rule);
        guard.chain(statements.flat_map(|of| of.condition().into_iter().chain(of.value())))
    })
}

fn registered<'p>(
    compiled: &'p CompiledPolicy,
    rules: impl IntoIterator<Item = &'p Rule>,
) -> (Vec<EventRegistration>, HintReads, HintReads) {
    let (policy, deciding, part) = (&*compiled.policy, &compiled.deciding, compiled.rules());
    let (mut before, mut after) = (deciding.clone(), deciding.clone());
    let deciding: Vec<&Expr> = parts_of(part, part.at(Point::Applies)).collect();
    let mut parts = [deciding.clone(), deciding];
    let (mut named, mut preempts) = (false, false);
    for rule in rules {
        preempts |= rule.point() == Point::PostFilter;
        let (side, parts) = match (rule.point(), &mut parts) {
            (Point::PreEnqueue | Point::PreFilter | Point::Filter | Point::PostFilter, [early, _]) => {
                (&mut before, early)
            }
            (Point::Reserve | Point::Permit, [_, late]) => (&mut after, late),
            // Members of a group that were released wait for what the release reads.
            (Point::Failure, [_, late]) if matches!(&rule.body, Body::Acts(of) if of.releases()) => {
                (&mut after, late)
            }
            // These refuse no pod; `deciding` has the reads of `applies when`.
            (
                Point::Applies
                | Point::Ledger
                | Point::QueueSort
                | Point::Score
                | Point::PreBind
                | Point::PostBind
                | Point::Failure,
                _,
            ) => {
                continue;
            }
        };
        parts.extend(parts_of(part, std::iter::once(rule)));
        rule.reads(policy).for_each(|reads| side.merge(reads));
        named |= rule.statements(policy).any(|statement| matches!(statement, Statement::Only(_)));
    }
    let [of_early, of_late] = parts;
    let early = HintReads::of(policy, &before, &of_early, named);
    let mut late = HintReads::of(policy, &after, &of_late, false);
    // Any event that leads to another node may help a pod whose permit reads the chosen one.
    let on_chosen = |path: &ReadPath| matches!(path.of, ReadOf::Node | ReadOf::NodePods);
    late.anything = after.paths.keys().any(on_chosen);

    let mut registrations = Vec::new();
    // `applies when` and every statement may read the pod itself.
    register(&mut registrations, EventResource::TargetPod, ActionType::UPDATE);
    if named {
        register(&mut registrations, EventResource::Node, ActionType::ADD);
    }
    if preempts {
        // A pod that was held while its victims were evicted may be tried again.
        register(&mut registrations, EventResource::Pod, ActionType::DELETE);
    }
    if late.anything {
        register(&mut registrations, EventResource::Node, ActionType::ALL);
        register(&mut registrations, EventResource::Pod, ActionType::ALL);
    }
    for (side, reads) in [(&early, &before), (&late, &after)] {
        for (path, polarity) in &reads.paths {
            register_path(&mut registrations, path, *polarity);
        }
        for read in &side.ledgers {
            register(&mut registrations, EventResource::AssignedPod, read.actions(policy));
            for path in read.moved_by(policy) {
                register_path(&mut registrations, &path, Polarity::Any);
            }
        }
        let ends = !side.ledgers.is_empty() && !policy.ends().is_empty();
        if ends || !side.memos.is_empty() {
            register(&mut registrations, EventResource::Memo, ActionType::UPDATE);
        }
        if !side.groups.is_empty() {
            let actions = match side.more {
                Some(Polarity::Up) => ActionType::ADD.with(ActionType::UPDATE),
                Some(Polarity::Down) => ActionType::DELETE.with(ActionType::UPDATE),
                _ => ActionType::ALL,
            };
            register_all_pods(&mut registrations, actions);
        }
    }
    (registrations, early, late)
}

fn register(all: &mut Vec<EventRegistration>, resource: EventResource, actions: ActionType) {
    // To rules a pod is placed, and has its marks, before a watch shows it.
    let decided = ActionType(actions.0 & DECIDED.0);
    if matches!(resource, EventResource::Pod | EventResource::AssignedPod) && decided != ActionType::default()
    {
        register(all, EventResource::DecidedPod, decided);
    }
    match all.iter_mut().find(|known| known.resource == resource) {
        Some(known) => known.actions = known.actions.with(actions),
        None => all.push(EventRegistration { resource, actions }),
    }
}

/// What this scheduler decides about a pod is what a watch shows later: it is placed, and it has other labels and
/// annotations.
const DECIDED: ActionType = ActionType::ADD.with(ActionType::UPDATE_POD_LABEL);

/// Pods with and without a node.
fn register_all_pods(all: &mut Vec<EventRegistration>, actions: ActionType) {
    register(all, EventResource::Pod, actions);
    register(all, EventResource::UnschedulablePod, actions);
}

fn register_path(all: &mut Vec<EventRegistration>, path: &ReadPath, polarity: Polarity) {
    let def = path.field.map(|field| field.def());
    let changed_by = def.map_or(Kinds::NONE, |def| def.changed_by);
    match path.of {
        ReadOf::Pod => {}
        ReadOf::Namespace => register(all, EventResource::Namespace, ActionType::ALL),
        ReadOf::Node | ReadOf::Nodes => {
            register(all, EventResource::Node, ActionType::ADD);
            if path.of == ReadOf::Nodes {
                register(all, EventResource::Node, ActionType::DELETE);
            }
            if def.is_none() && path.key.is_some() {
                // A path below `spec`, `status` or `metadata`.
                register(all, EventResource::Node, ActionType::UPDATE);
            }
            if def.is_some_and(FieldDef::is_left) {
                register(all, EventResource::Node, ActionType::UPDATE_NODE_ALLOCATABLE);
            }
            let by_node = ActionType::on_node(changed_by);
            if by_node != ActionType::default() {
                register(all, EventResource::Node, by_node);
            }
            let fewer_requests_help = match def.map_or(Eviction::Changes, |def| def.eviction) {
                Eviction::Raises => polarity == Polarity::Up,
                Eviction::Lowers => polarity == Polarity::Down,
                Eviction::None | Eviction::Changes => false,
            };
            if changed_by == Kinds::PODS_REQUESTS && fewer_requests_help {
                let actions = ActionType::DELETE.with(ActionType::UPDATE_POD_SCALE_DOWN);
                register(all, EventResource::AssignedPod, actions);
            } else if changed_by.intersects(Kinds::OF_PODS.with(Kinds::PLACEMENT)) {
                register(all, EventResource::AssignedPod, ActionType::ALL);
            }
        }
        ReadOf::NodePods => {
            register(all, EventResource::AssignedPod, ActionType::ALL);
            // A new node has other pods, or none.
            register(all, EventResource::Node, ActionType::ADD);
        }
        ReadOf::Pods | ReadOf::Nominated => register_all_pods(all, ActionType::ALL),
        // Registered by direction, when all paths are known.
        ReadOf::Group => {}
        ReadOf::Objects => register(all, EventResource::LookedUp, ActionType::ALL),
        ReadOf::Metrics => {
            register(all, EventResource::NodeMetrics, ActionType::UPDATE);
            // Its metrics go with the node.
            register(all, EventResource::Node, ActionType::DELETE);
        }
    }
    if is_node_of_pod(path) {
        register(all, EventResource::Node, ActionType::ADD.with(ActionType::DELETE));
    }
    if changed_by == Kinds::DEVICES {
        register(all, EventResource::ResourceClaim, ActionType::ALL);
        if matches!(path.of, ReadOf::Node | ReadOf::Nodes) {
            register(all, EventResource::ResourceSlice, ActionType::ALL);
            // Slices select nodes.
            register(all, EventResource::Node, ActionType::UPDATE_NODE_LABEL);
        }
    }
    if is_decided(path) {
        register(all, EventResource::DecidedPod, ActionType::UPDATE_OTHER);
    }
}

/// The reads of a policy in the framework's terms.
fn framework_reads(policy: &Policy, of: &RuleReads) -> Reads {
    let mut reads = Reads { clock: of.clock, ..Reads::default() };
    for ledger in of.ledgers.keys() {
        // Its entries change with placed pods, and with what they read of nodes and namespaces.
        let own = framework_reads(policy, &policy[*ledger].reads);
        reads.other_pods = true;
        reads.kinds |= own.kinds.with(Kinds::PODS_OTHER).with(Kinds::PODS_REQUESTS);
        reads.label_keys.extend(own.label_keys);
        reads.any_label |= own.any_label;
    }
    if !of.groups.is_empty() {
        reads.other_pods = true;
        reads.kinds |= Kinds::PODS_OTHER.with(Kinds::PENDING_PODS);
    }
    for path in of.paths.keys() {
        let def = path.field.map(|field| field.def());
        let changed_by = def.map_or(Kinds::NONE, |def| def.changed_by);
        if changed_by == Kinds::DEVICES {
            reads.kinds |= Kinds::DEVICES;
        }
        match path.of {
            ReadOf::Pod => {}
            ReadOf::Namespace => reads.kinds |= Kinds::NAMESPACES,
            ReadOf::Objects => reads.kinds |= Kinds::OBJECTS,
            ReadOf::Metrics => reads.kinds |= Kinds::METRICS,
            ReadOf::NodePods => {
                reads.kinds |= Kinds::LIFE.with(Kinds::PODS_OTHER).with(Kinds::PODS_REQUESTS);
            }
            ReadOf::Pods | ReadOf::Group => {
                reads.other_pods = true;
                reads.kinds |= Kinds::PODS_OTHER.with(Kinds::PENDING_PODS);
            }
            ReadOf::Nominated => {
                reads.other_pods = true;
                reads.kinds |= Kinds::NOMINATED;
            }
            ReadOf::Node | ReadOf::Nodes => {
                reads.kinds |= Kinds::LIFE;
                if def.is_none() && path.key.is_some() {
                    reads.kinds |= Kinds::OTHER;
                }
                if path.of == ReadOf::Nodes {
                    reads.kinds |= Kinds::NODES;
                    reads.all = true;
                }
                if def.is_some_and(FieldDef::is_left) {
                    reads.kinds |= Kinds::ALLOCATABLE;
                }
                reads.kinds |= changed_by.in_records_of_node();
                if changed_by == Kinds::DEVICES {
                    reads.kinds |= Kinds::LABELS;
                    reads.any_label = true;
                }
                match &path.key {
                    Some(key) if changed_by == Kinds::LABELS => {
                        reads.label_keys.insert(Symbol::new(key));
                    }
                    _ => reads.any_label |= changed_by == Kinds::LABELS,
                }
            }
        }
    }
    reads
}
