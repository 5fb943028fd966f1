//! What happens in the world: the moves of one run. Every move is total: where it cannot be made, nothing happens, so that
//! moves can be left out of a log.

use crate::world::{Late, Options, TIMEOUT, World};
use crate::{devices, objects, tenants, volumes};
use bayplan::dry_run::Fault;
use bayplan::framework::{ApiCall, CallError};
use bayplan::model::{
    Duration, Effect as TaintEffect, Kind, Labels, Namespace, Node, Object, PodInfo, Symbol, Taint,
};
use bayplan::scheduler::Input;
use bayplan::testing::{node, pod};
use std::sync::Arc;

/// Who acts, with numbers that say on what and how.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub what: What,
    pub with: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    AddNode,
    DeleteNode,
    RelabelNode,
    ResizeNode,
    AddPod,
    DeletePod,
    RecreatePod,
    TerminatePod,
    TerminateBinding,
    Storm,
    UpdatePod,
    Ungate,
    ForeignBind,
    Deliver,
    DeliverAll,
    SkipVersion,
    Relist,
    Cycle,
    Answer,
    LateAnswer,
    LateArrival,
    Advance,
    Kill,
    SecondLeader,
    Reload,
    TaintNode,
    CordonNode,
    AnnotateNode,
    RelabelPod,
    RelabelNamespace,
    StepClock,
    DecorateNode,
    PutObject,
    DeleteObject,
    EndPod,
    HoldPod,
    PutBudget,
    PutClaim,
    PutVolume,
    DeleteClaim,
    DeleteVolume,
    Control,
    Miscontrol,
    LimitNode,
    PutCapacity,
    PutSlice,
    DeleteSlice,
    PutDeviceClass,
    PutDeviceClaim,
    DeleteDeviceClaim,
    ControlClaims,
    ForeignAllocate,
    ForeignDeallocate,
    PutTaintRule,
    DeleteTaintRule,
    ChangeDesk,
    PollMetrics,
}

const WEIGHTS: &[(What, u64)] = &[
    (What::AddNode, 5),
    (What::DeleteNode, 1),
    (What::RelabelNode, 4),
    (What::ResizeNode, 2),
    (What::AddPod, 14),
    (What::DeletePod, 4),
    (What::RecreatePod, 2),
    (What::TerminatePod, 1),
    (What::TerminateBinding, 2),
    (What::Storm, 1),
    (What::UpdatePod, 3),
    (What::Ungate, 2),
    (What::ForeignBind, 1),
    (What::Deliver, 30),
    (What::DeliverAll, 6),
    (What::SkipVersion, 3),
    (What::Relist, 2),
    (What::Cycle, 34),
    (What::Answer, 34),
    (What::LateAnswer, 2),
    (What::LateArrival, 2),
    (What::Advance, 12),
    (What::Kill, 1),
    (What::SecondLeader, 1),
    (What::Reload, 2),
];

/// What is drawn besides when policies decide.
const MORE: &[(What, u64)] = &[
    (What::TaintNode, 3),
    (What::CordonNode, 2),
    (What::AnnotateNode, 2),
    (What::RelabelPod, 8),
    (What::RelabelNamespace, 2),
    (What::RelabelNode, 4),
    (What::Reload, 1),
    (What::ChangeDesk, 4),
    (What::PollMetrics, 5),
];

/// What is drawn besides when pods preempt others.
const PREEMPTION: &[(What, u64)] = &[(What::EndPod, 6), (What::HoldPod, 1), (What::PutBudget, 1)];

/// What is drawn besides when the wall clock is stepped.
const STEPS: &[(What, u64)] = &[(What::StepClock, 4)];

impl Move {
    pub(crate) fn draw(what: u64, with: u64, options: &Options) -> Self {
        let more = || MORE.iter().filter(|_| options.policies);
        let names = || tenants::NAMES.iter().filter(|_| options.names);
        let steps = || STEPS.iter().filter(|_| options.clock_steps);
        let others = || objects::OBJECTS.iter().filter(|_| options.objects);
        let preempts = || PREEMPTION.iter().filter(|_| options.preempts);
        let weights = || WEIGHTS.iter().chain(more()).chain(steps()).chain(names()).chain(others());
        let volumes = || volumes::VOLUMES.iter().filter(|_| options.volumes);
        let late = |what: &What| options.scarce && matches!(what, What::Deliver);
        let devices = || devices::DEVICES.iter().filter(|(what, _)| options.devices && !late(what));
        let weights = || weights().chain(preempts()).chain(volumes()).chain(devices());
        let all: u64 = weights().map(|(_, weight)| weight).sum();
        let mut at = what % all;
        for (what, weight) in weights() {
            if at < *weight {
                return Self { what: *what, with };
            }
            at -= weight;
        }
        unreachable!("the weights add up")
    }
}

impl World {
    fn change_pod(&mut self, with: u64, change: impl FnOnce(&mut PodInfo)) {
        let key = self.pick(&Kind::Pod, with);
        if let Some(Object::Pod(pod)) = key.and_then(|key| self.api.get(&key).cloned()) {
            let mut pod = (*pod).clone();
            change(&mut pod);
            self.api.put(Object::Pod(Arc::new(pod)));
        }
    }

    fn change_node(&mut self, with: u64, change: impl FnOnce(&mut Node)) {
        let key = self.pick(&Kind::Node, with);
        if let Some(Object::Node(node)) = key.and_then(|key| self.api.get(&key).cloned()) {
            let mut node = (*node).clone();
            change(&mut node);
            self.api.put(Object::Node(Arc::new(node)));
        }
    }

    fn delete_one(&mut self, kind: &Kind, with: u64) {
        if let Some(key) = self.pick(kind, with) {
            self.api.delete(&key);
        }
    }

    fn add_pod(&mut self, name: &str, with: u64) {
        self.pods_made += 1;
        let mut maker = pod(name).uid(&format!("uid-{}", self.pods_made));
        maker = maker.cpu(["200m", "400m", "700m", "1"][with as usize % 4]).priority((with / 4 % 3) as i32);
        match with / 16 % 8 {
            0 | 1 => {
                let size = ["2", "3"][(with / 128 % 2) as usize];
                maker =
                    maker.label("gang", ["red", "blue"][(with / 256 % 2) as usize]).label("gang-size", size);
            }
            2 => maker = maker.label("slow", "yes"),
            3 => maker = maker.gate("wait"),
            4 | 5 => maker = maker.scheduler("labelled"),
            6 if (with / 128).is_multiple_of(4) => maker = maker.scheduler("other"),
            _ => {}
        }
        // Which label of nodes it reads: many keys come and go.
        if (with / 7).is_multiple_of(2) {
            maker = maker.label("reads", &tenants::key(with / 11));
        }
        if self.options.fragile && (with / 5).is_multiple_of(6) {
            maker = maker.label("explosive", "yes");
        }
        if self.options.volumes
            && let Some(volumes) = Self::claims_of_pod(with)
        {
            maker = maker.set("spec.volumes", volumes);
        }
        if self.options.devices {
            if let Some(claims) = Self::devices_of_pod(with) {
                maker = maker.set("spec.resourceClaims", claims);
            }
            if let Some(gpus) = Self::gpus_of_pod(with) {
                maker = maker.request("e.ex/gpu", gpus);
            }
        }
        if self.options.policies {
            maker = maker.created("2001-09-09T01:46:40Z");
            if let Some((path, terms)) = tenants::affinity(with) {
                maker = maker.set(path, terms);
            }
            if let Some(constraints) = tenants::spread(with) {
                maker = maker.set("spec.topologySpreadConstraints", constraints);
            }
        }
        self.api.put(maker.object());
        if self.options.policies {
            let name = name.to_owned();
            let created = self.now + self.wall;
            let labels = tenants::labels(with);
            if let Some(found) = self.api.pod("default", &name) {
                let mut pod = (**found).clone();
                pod.created = Some(created);
                pod.labels = pod.labels.iter().map(|(k, v)| (k.clone(), v.clone())).chain(labels).collect();
                self.api.put(Object::Pod(Arc::new(pod)));
            }
        }
    }

    /// Makes a move; the disruption controller follows it.
    pub(crate) fn play(&mut self, one: &Move) {
        self.make(one);
        self.control_budgets();
    }

    fn make(&mut self, one: &Move) {
        let with = one.with;
        match one.what {
            What::AddNode => {
                let (names, cpu) = if self.options.scarce { (2, ["4", "8"]) } else { (5, ["1", "2"]) };
                let name = format!("n{}", with % names);
                let key = node(&name).build();
                let exists = self.api.get(&Object::Node(key).key()).is_some();
                if !exists {
                    let cpu = cpu[(with / 8 % 2) as usize];
                    let mut maker = node(&name).cpu(cpu).pods(4 + (with / 16 % 3) as i64);
                    if (with / 64).is_multiple_of(2) {
                        maker = maker.label("priority.lixueduan.com", "10");
                    }
                    self.api.put(maker.object());
                }
            }
            What::DeleteNode => {
                if let Some(key) = self.pick(&Kind::Node, with) {
                    // Its pods stay, and what comes back under its name may be smaller.
                    self.not_ours_alone.insert(key.name.clone());
                    self.api.delete(&key);
                }
            }
            What::RelabelNode if self.options.policies => self.change_node(with, |node| {
                let tier = ["gold", "silver", "ice", "gold"][(with % 4) as usize];
                let rank = ["1", "2", "3"][(with / 4 % 3) as usize];
                let name = node.name.clone();
                node.labels = [("tier", tier), ("rank", rank), ("kubernetes.io/hostname", name.as_str())]
                    .iter()
                    .filter(|(key, _)| *key != "rank" || (with / 64).is_multiple_of(2))
                    .map(|(key, value)| (Symbol::new(key), Symbol::new(value)))
                    .collect();
            }),
            What::TaintNode => self.change_node(with, |node| {
                let effect =
                    [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule][(with / 2 % 2) as usize];
                let taint = Taint { key: Symbol::new("dirty"), value: Symbol::default(), effect };
                node.taints = if with.is_multiple_of(3) { Arc::from([taint]) } else { Arc::from([]) };
            }),
            What::DecorateNode => self.change_node(with, |node| tenants::decorate(node, with)),
            What::CordonNode => self.change_node(with, |node| node.unschedulable = with.is_multiple_of(3)),
            What::AnnotateNode => {
                let seconds = [5, 30, 90][(with % 3) as usize];
                let opens = jiff::Timestamp::from_microsecond((self.now + self.wall).0 + seconds * 1_000_000)
                    .unwrap();
                self.change_node(with, |node| {
                    let opens = (Symbol::new("opens"), Arc::from(opens.to_string()));
                    node.annotations =
                        std::iter::once(opens).filter(|_| !(with / 8).is_multiple_of(3)).collect();
                });
            }
            What::RelabelPod => self.change_pod(with, |pod| {
                let kept = pod.labels.iter().filter(|(key, _)| !tenants::LABELS.contains(&key.as_str()));
                pod.labels =
                    kept.map(|(k, v)| (k.clone(), v.clone())).chain(tenants::labels(with / 64)).collect();
            }),
            What::ChangeDesk => self.change_desk(with),
            What::RelabelNamespace => {
                let closed = (Symbol::new("closed"), Symbol::new("yes"));
                self.api.put(Object::Namespace(Arc::new(Namespace {
                    name: Symbol::new("default"),
                    labels: std::iter::once(closed).filter(|_| with.is_multiple_of(3)).collect(),
                    annotations: Default::default(),
                    raw: None,
                })));
            }
            What::RelabelNode => self.change_node(with, |node| {
                let label =
                    (Symbol::new("priority.lixueduan.com"), Symbol::new(["10", "20"][(with % 2) as usize]));
                node.labels =
                    if (with / 2).is_multiple_of(3) { Labels::default() } else { Labels::from_iter([label]) };
            }),
            What::ResizeNode => {
                if let Some(key) = self.pick(&Kind::Node, with)
                    && with.is_multiple_of(3)
                {
                    self.not_ours_alone.insert(key.name.clone());
                }
                self.change_node(with, |node| {
                    node.allocatable.milli_cpu =
                        if with.is_multiple_of(3) { 500 } else { node.allocatable.milli_cpu + 500 };
                    let written =
                        bayplan::testing::node("written").cpu(&format!("{}m", node.allocatable.milli_cpu));
                    node.allocatable_written = written.build().allocatable_written.clone();
                });
            }
            What::AddPod => {
                let name = format!("p{}", with / 1024 % 24);
                if self.api.pod("default", &name).is_none() {
                    self.add_pod(&name, with);
                }
            }
            What::DeletePod => {
                if let Some(key) = self.pick(&Kind::Pod, with) {
                    self.api.delete(&key);
                }
            }
            What::RecreatePod => {
                if let Some(key) = self.pick(&Kind::Pod, with) {
                    self.api.delete(&key);
                    self.add_pod(&key.name, with);
                }
            }
            What::TerminatePod => {
                let now = self.now;
                self.change_pod(with, |pod| pod.deleted = Some(now));
            }
            What::TerminateBinding => self.terminate_binding(with / 64),
            What::Storm => {
                self.storm = self.now + Duration::from_seconds([2, 10, 60][(with % 3) as usize]);
            }
            What::UpdatePod => self.change_pod(with, |pod| {
                let touched = (Symbol::new("touched"), Symbol::new(["a", "b"][(with % 2) as usize]));
                let kept = pod.labels.iter().filter(|(key, _)| key.as_str() != "touched");
                pod.labels = kept.map(|(k, v)| (k.clone(), v.clone())).chain([touched]).collect();
            }),
            What::Ungate => self.change_pod(with, |pod| pod.scheduling_gates = Box::default()),
            What::ForeignBind => {
                let (pod, node) = (self.pick(&Kind::Pod, with), self.pick(&Kind::Node, with / 64));
                if let (Some(pod), Some(node)) = (pod, node) {
                    let call = ApiCall::Bind {
                        pod: pod.clone(),
                        node: node.name.clone(),
                        marks: Default::default(),
                    };
                    if self.api.answer(&call, self.now, None).is_ok() {
                        self.bound_by_others(&pod);
                        self.not_ours_alone.insert(node.name);
                    }
                }
            }
            What::Deliver => {
                let kind = self.kind(with);
                for _ in 0..1 + with / 4 % 3 {
                    self.deliver(&kind, (with / 16).is_multiple_of(8));
                }
            }
            What::DeliverAll if self.options.scarce => self.deliver_all_but_claims(),
            What::DeliverAll => self.deliver_all(),
            What::SkipVersion => self.skip_version(&self.kind(with)),
            What::Relist => self.relist(&self.kind(with)),
            What::PutObject => self.put_object(with / 64),
            What::DeleteObject => self.delete_object(with / 64),
            What::Cycle => {
                if self.scheduler.wants_cycle() {
                    self.step(Input::Cycle);
                }
                if self.options.twin && self.twin.is_none() && with.is_multiple_of(4) {
                    self.twin = Some(self.scheduler.clone());
                }
            }
            What::Answer => {
                if !self.open.is_empty() {
                    let open = self.open.remove(with as usize % self.open.len());
                    let fault = match with / 64 % 16 {
                        0 => Some(Fault::LoseAnswer),
                        1 => Some(Fault::LoseCall),
                        2 => Some(Fault::Refuse(
                            [409, 404, 410, 429, 500, 503, 504, 403][(with / 1024 % 8) as usize],
                        )),
                        3 if self.options.scarce => Some(Fault::Refuse(403)),
                        4..=12 if self.now < self.storm => Some(Fault::Refuse(429)),
                        _ => None,
                    };
                    let answer = self.answer(&open.call, fault);
                    self.step(Input::Reply(open.ticket, answer));
                }
            }
            What::LateAnswer => {
                // The sender gives up; the call may still arrive.
                if !self.open.is_empty() {
                    let open = self.open.remove(with as usize % self.open.len());
                    self.late.push(Late { call: open.call, until: self.now + TIMEOUT });
                    let error = CallError::Unknown("the connection was lost".to_owned());
                    self.step(Input::Reply(open.ticket, Err(error)));
                }
            }
            What::LateArrival => {
                if !self.late.is_empty() {
                    let late = self.late.remove(with as usize % self.late.len());
                    let _ = self.answer(&late.call, None);
                }
            }
            What::PollMetrics => self.poll_metrics(with),
            What::StepClock => {
                self.wall = Duration::from_seconds([-90, -20, 0, 20, 40, 90][(with % 6) as usize]);
                self.step(Input::WallClock(self.wall));
            }
            What::Advance => {
                let by = [50, 200, 1_000, 2_500, 12_000, 40_000][(with % 6) as usize];
                self.advance(self.now + Duration::from_millis(by));
            }
            What::Kill => {
                self.calls_of_the_dead(with);
                self.restart(with);
            }
            What::SecondLeader => {
                self.step(Input::Lead(false));
                let before = self.open.len();
                self.deliver_all();
                self.step(Input::Cycle);
                self.step(Input::Tick);
                for _ in 0..before {
                    let open = self.open.remove(0);
                    let answer = self.answer(&open.call, None);
                    self.step(Input::Reply(open.ticket, answer));
                }
                if !self.open.is_empty() || before > self.tickets.len() {
                    self.break_(format!("sent after the lead was lost: {:?}", self.open));
                }
                self.late.clear();
                self.restart(with);
            }
            What::EndPod => self.end_pod(with),
            What::HoldPod => self.hold_pod(with),
            What::PutBudget => self.put_budget(with),
            What::PutClaim => self.put_claim(with),
            What::PutVolume => self.put_volume(with),
            What::DeleteClaim => self.delete_one(&Kind::PersistentVolumeClaim, with),
            What::DeleteVolume => self.delete_one(&Kind::PersistentVolume, with),
            What::Control => self.control(with),
            What::Miscontrol => self.miscontrol(with),
            What::LimitNode => self.limit_node(with),
            What::PutCapacity => self.put_capacity(with),
            What::PutSlice => self.put_slice(with),
            What::DeleteSlice => self.delete_one(&Kind::ResourceSlice, with),
            What::PutDeviceClass => self.put_device_class(with),
            What::PutDeviceClaim => self.put_device_claim(with),
            What::DeleteDeviceClaim => self.delete_device_claim(with),
            What::ControlClaims => self.control_claims(with),
            What::ForeignAllocate => self.foreign_allocate(with),
            What::ForeignDeallocate => self.foreign_deallocate(with),
            What::PutTaintRule => self.put_taint_rule(with),
            What::DeleteTaintRule => self.delete_one(&Kind::DeviceTaintRule, with),
            What::Reload => {
                let profiles = self.profiles(with);
                self.step(Input::Profiles(profiles));
            }
        }
    }

    /// A dead leader's calls arrive before the next one leads, or never.
    fn calls_of_the_dead(&mut self, with: u64) {
        let open = std::mem::take(&mut self.open);
        let late = std::mem::take(&mut self.late);
        let calls = open.into_iter().map(|open| open.call).chain(late.into_iter().map(|late| late.call));
        for (at, call) in calls.enumerate() {
            if with >> (at % 60) & 1 == 0 {
                let _ = self.answer(&call, None);
            }
        }
    }
}
