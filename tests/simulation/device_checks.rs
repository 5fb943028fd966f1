//! What must hold of devices: nothing is given twice, neither by what the API server has (24) nor by what the scheduler was
//! shown or told when it decided (28); bound pods have their claims, prepared (25); no claim is left behind (26); and no pod waits
//! that a scheduler which starts anew would bind (29).

use crate::devices::{CAPACITY, COUNTER, RESOURCE, counters_of, is_foreign, unprepared};
use crate::world::{World, refused_text};
use bayplan::dry_run::WatchEvent;
use bayplan::framework::{Answer, ApiCall, Ticket};
use bayplan::model::objects::devices::{AllocatedDevice, Consumer, DeviceId};
use bayplan::model::{
    ClaimSource, Kind, Labels, Object, ObjectKey, PodInfo, PodKey, Quantity, ResourceClaim, Symbol, downcast,
};
use bayplan::scheduler::{Decision, DecisionRecord, Input, QueuePlace};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the API server says when a call fails.
const FAULTS: [&str; 3] =
    ["the server could not do it", "context deadline exceeded", "the connection was lost"];

/// What a share takes.
fn consumed(result: &AllocatedDevice) -> Quantity {
    result.consumed_capacity.iter().flatten().fold(Quantity::ZERO, |sum, (_, amount)| sum + *amount)
}

/// The devices that a claim takes: administrators take none.
fn taken(claim: &ResourceClaim) -> impl Iterator<Item = &AllocatedDevice> {
    let results = claim.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    results.filter(|result| !result.admin_access)
}

/// The claim that an object is.
fn as_claim(object: &Object) -> Option<&ResourceClaim> {
    match object {
        Object::Other(object) => downcast::<ResourceClaim>(object.as_ref()),
        _ => None,
    }
}

impl World {
    /// The watch shows an event to the scheduler.
    pub(crate) fn claim_shown(&mut self, event: &WatchEvent) {
        match event {
            WatchEvent::Upserted(object) => {
                if let Some(claim) = as_claim(object) {
                    self.claim_known(claim);
                }
            }
            WatchEvent::Deleted(key) if key.kind == Kind::ResourceClaim => {
                let is_it = self.devices.shown.get(&key.name).is_some_and(|of| of.metadata.uid == key.uid);
                if is_it {
                    self.devices.shown.remove(&key.name);
                }
            }
            WatchEvent::Deleted(_) => {}
        }
    }

    /// The watch may be behind what was answered.
    fn claim_known(&mut self, claim: &ResourceClaim) {
        let version = |of: &ResourceClaim| of.metadata.version.parse::<u64>().unwrap_or(0);
        let known = self.devices.shown.get(&claim.metadata.name);
        if known.is_none_or(|known| version(known) < version(claim)) {
            self.devices.shown.insert(claim.metadata.name.clone(), claim.clone());
        }
    }

    /// A write of a claim is sent.
    pub(crate) fn claim_written(&mut self, ticket: Ticket, call: &ApiCall) {
        if let ApiCall::Patch { of, .. } = call
            && of.kind == Kind::ResourceClaim
        {
            self.devices.writes.insert(ticket, of.clone());
        }
    }

    /// A call is answered: a write of a claim says what the scheduler knows from now on.
    pub(crate) fn claim_answered(&mut self, input: &Input) {
        let Input::Reply(ticket, answer) = input else { return };
        let Some(key) = self.devices.writes.remove(ticket) else { return };
        let Ok(Answer::Written { version }) = answer else { return };
        let claim = self.api.get(&key).and_then(as_claim).cloned();
        if let Some(claim) = claim.filter(|claim| claim.metadata.version == *version) {
            self.claim_known(&claim);
        }
    }

    /// A list of claims is shown.
    pub(crate) fn claims_listed(&mut self, all: &[Object]) {
        let claims = all.iter().filter_map(as_claim);
        self.devices.shown = claims.map(|claim| (claim.metadata.name.clone(), claim.clone())).collect();
    }

    /// What was decided takes nothing of what the scheduler knew to be taken, and that still is.
    pub(crate) fn devices_decided(&self, record: &DecisionRecord) -> Result<(), String> {
        if !matches!(record.decision, Decision::Placed { .. }) {
            return Ok(());
        }
        let now = self.claims();
        let still = |claim: &&ResourceClaim| {
            let same = |of: &&ResourceClaim| of.metadata.uid == claim.metadata.uid;
            now.iter().find(same).is_some_and(|of| of.allocation == claim.allocation)
        };
        let known: Vec<&ResourceClaim> = self.devices.shown.values().filter(still).collect();
        let given = self.given(&record.key);
        let of_known = || known.iter().flat_map(|claim| taken(claim));
        for (claim, result) in given.iter().flat_map(|claim| taken(claim).map(move |result| (claim, result)))
        {
            let (id, name) = (result.id(), &claim.metadata.name);
            let holds = |other: &&AllocatedDevice| {
                other.id() == id && (other.share.is_none() || result.share.is_none())
            };
            if of_known().any(|other| holds(&other)) {
                return Err(format!("28: {id} is given to {name}, and was known to be taken"));
            }
            let all = || of_known().chain(given.iter().flat_map(taken));
            let shares = all().filter(|other| other.id() == id && other.share.is_some());
            let sum = shares.fold(Quantity::ZERO, |sum, other| sum + consumed(other));
            if sum > CAPACITY.parse().unwrap() {
                return Err(format!("28: {sum} of {id} are taken once {name} has its share"));
            }
            // Once for each device, although another scheduler may have given it to two claims.
            let of_pool = all().filter(|other| other.pool == result.pool).map(|other| &other.device);
            let counters: i64 = of_pool.collect::<BTreeSet<_>>().into_iter().map(|of| counters_of(of)).sum();
            if counters_of(&result.device) > 0 && counters > COUNTER {
                return Err(format!(
                    "28: {counters} of the counter of {} are consumed by {name}",
                    result.pool
                ));
            }
        }
        Ok(())
    }

    /// The claims that a pod allocates, as it assumes them.
    fn given(&self, pod: &PodKey) -> Vec<ResourceClaim> {
        let s = self.scheduler.snapshot();
        let assumed = s.assumed_by(pod).into_iter().filter(|key| key.kind == Kind::ResourceClaim);
        let own = assumed.filter_map(|key| s.assumptions(&key).iter().find(|of| of.by == *pod));
        let own = own.filter_map(|of| downcast::<ResourceClaim>(of.object().as_ref()).cloned());
        own.filter(|claim| {
            let shown = self.devices.shown.get(&claim.metadata.name);
            shown.is_none_or(|shown| shown.allocation.is_none())
        })
        .collect()
    }

    /// A pod is bound when its devices are prepared.
    pub(crate) fn bound_when_prepared(&self, call: &ApiCall) -> Result<(), String> {
        let ApiCall::Bind { pod: key, .. } = call else { return Ok(()) };
        let Some(pod) = self.api.pods().find(|pod| pod.uid == key.uid) else { return Ok(()) };
        let names = Self::claims_of(pod);
        let claims = self.claims().into_iter().filter(|claim| names.contains(&claim.metadata.name));
        for claim in claims.filter(|claim| claim.is_reserved_for(&pod.uid)) {
            if let Some(result) = unprepared(&claim) {
                let id = result.id();
                return Err(format!("25: {} is bound before {id} is prepared", pod.name));
            }
        }
        Ok(())
    }

    /// At rest no pod waits that a scheduler which starts anew binds. Pods of gangs and those that evict others depend on the
    /// order in which pods are tried, and a scheduler of 1.36 that starts anew does not know the nominations of pods that are
    /// gated until their claims are listed.
    pub(crate) fn a_new_scheduler_binds_no_more(&mut self) -> Result<(), String> {
        let unbound = |pod: &&Arc<PodInfo>| pod.node_name.is_none();
        let waits = |pod: &&Arc<PodInfo>| unbound(pod) && !pod.is_terminating();
        let waiting: BTreeMap<Symbol, (Symbol, Option<QueuePlace>)> = self
            .api
            .pods()
            .filter(waits)
            .map(|pod| (pod.uid.clone(), (pod.name.clone(), self.scheduler.queue_place(&pod.key))))
            .collect();
        let last = self.api.binds().len();
        let forgets =
            self.options.older && self.api.pods().filter(unbound).any(|pod| pod.nominated_node.is_some());
        self.restart(self.options.seed);
        self.rest()?;
        let bound = self.api.binds().iter().skip(last).map(|bind| &bind.pod);
        let of_gangs = |key: &&ObjectKey| {
            let pod = self.api.pods().find(|pod| pod.uid == key.uid);
            pod.is_some_and(|pod| pod.labels.get(&Symbol::new("gang")).is_some())
        };
        let bound: Vec<&ObjectKey> = bound.collect();
        if self.options.preempts || forgets || bound.iter().any(of_gangs) {
            return Ok(());
        }
        match bound.first().and_then(|key| waiting.get(&key.uid)) {
            Some((name, Some(place))) => {
                Err(format!("29: {name} waited ({place:?}), and a scheduler that starts anew bound it"))
            }
            // Profiles change with a restart: no profile served it.
            _ => Ok(()),
        }
    }

    /// Another scheduler bound a pod.
    pub(crate) fn bound_by_others(&mut self, pod: &ObjectKey) {
        self.devices.foreign.insert(pod.uid.clone());
    }

    /// Devices are given as they may be.
    pub(crate) fn check_devices(&self) -> Result<(), String> {
        let claims = self.claims();
        self.no_device_is_given_twice(&claims)?;
        self.bound_pods_have_their_claims(&claims)
    }

    fn no_device_is_given_twice(&self, claims: &[ResourceClaim]) -> Result<(), String> {
        let mut taken: BTreeMap<DeviceId, &Symbol> = BTreeMap::new();
        let mut shared: BTreeMap<DeviceId, Quantity> = BTreeMap::new();
        let mut counted: BTreeMap<&Symbol, i64> = BTreeMap::new();
        for claim in claims.iter().filter(|claim| !is_foreign(claim)) {
            let name = &claim.metadata.name;
            let results = claim.allocation.iter().flat_map(|allocation| &allocation.devices.results);
            for result in results.filter(|result| !result.admin_access) {
                let id = result.id();
                match &result.share {
                    Some(_) => {
                        let sum = shared.entry(id.clone()).or_insert(Quantity::ZERO);
                        *sum = *sum + consumed(result);
                        if *sum > CAPACITY.parse().unwrap() {
                            return Err(format!("24: claims take {sum} of {id:?}, the last is {name}"));
                        }
                    }
                    None => {
                        if let Some(other) = taken.insert(id.clone(), name) {
                            return Err(format!("24: {id:?} is given to {other} and {name}"));
                        }
                    }
                }
                let sum = counted.entry(&result.pool).or_default();
                *sum += counters_of(&result.device);
                if *sum > COUNTER {
                    return Err(format!(
                        "24: {sum} of the counter of {} are consumed, at last by {name}",
                        result.pool
                    ));
                }
            }
        }
        Ok(())
    }

    /// The names of the claims of a pod, as far as they are known; those of templates and of extended resources too.
    fn claims_of(pod: &PodInfo) -> Vec<Symbol> {
        let (made, special) = pod.generated_claims();
        let entries = pod.devices().map_or(&[][..], |devices| &devices.claims).iter();
        let named = entries.filter_map(|entry| match &entry.source {
            ClaimSource::Claim(name) => Some(name.clone()),
            _ => made.iter().find(|(of, _)| *of == entry.name).and_then(|(_, name)| name.clone()),
        });
        named.chain(special.map(|special| special.name.clone())).collect()
    }

    /// Whether the pod gets a claim for extended resources.
    pub(crate) fn wants_gpus(pod: &PodInfo) -> bool {
        pod.requests.scalars.iter().any(|(name, _)| *name == RESOURCE)
    }

    fn bound_pods_have_their_claims(&self, claims: &[ResourceClaim]) -> Result<(), String> {
        for pod in self.api.pods().filter(|pod| !self.devices.foreign.contains(&pod.uid)) {
            let Some(node) = &pod.node_name else { continue };
            if Self::wants_gpus(pod) && pod.generated_claims().1.is_none() {
                return Err(format!("25: {} is bound without a claim for its extended resources", pod.name));
            }
            let entries = pod.devices().map_or(0, |devices| devices.claims.len());
            let names = Self::claims_of(pod);
            if names.len() != entries + usize::from(Self::wants_gpus(pod)) {
                return Err(format!("25: {} is bound and has only {names:?}", pod.name));
            }
            for name in names {
                let Some(claim) = claims.iter().find(|claim| claim.metadata.name == name) else {
                    return Err(format!("25: {} is bound and {name} is gone", pod.name));
                };
                let allocation = claim.allocation.as_ref();
                let nodes = allocation.and_then(|allocation| allocation.node_selector.as_ref());
                let labels = Labels::default();
                let reaches =
                    nodes.is_none_or(|nodes| nodes.selector.matches(node, &labels).unwrap_or(false));
                if allocation.is_none() || !claim.is_reserved_for(&pod.uid) || !reaches {
                    return Err(format!("25: {} is bound to {node} with {claim:?}", pod.name));
                }
            }
        }
        Ok(())
    }

    /// Whether a pod keeps the claim for its extended resources though it is not bound: no profile serves it, it is gated since
    /// the process ended that bound it, or the API server failed when PostFilter deleted the claim. Then the pod waits for the
    /// next event that helps it, as with upstream.
    fn keeps_its_claim(&self, pod: &PodInfo) -> bool {
        let failed = |text: String| {
            let mut faults = FAULTS.iter();
            text.contains("cannot schedule extended resource claim. ")
                && faults.any(|fault| text.contains(fault))
        };
        let key = Object::Pod(Arc::new(pod.clone())).key();
        self.scheduler.profiles().get(&pod.scheduler_name).is_none()
            || self.scheduler.queue_place(&pod.key) == Some(QueuePlace::Gated)
            || refused_text(&self.api, &key).is_some_and(failed)
    }

    /// At rest no claim was left behind.
    pub(crate) fn no_claim_is_left(&self) -> Result<(), String> {
        let mut special: BTreeMap<Symbol, Symbol> = BTreeMap::new();
        for claim in self.claims() {
            let name = &claim.metadata.name;
            if claim.is_of_extended_resources() {
                let owner = claim.metadata.owners.iter().find(|owner| owner.controller);
                let pod = owner.and_then(|owner| self.api.pods().find(|pod| pod.uid == owner.uid));
                let Some(pod) = pod else { return Err(format!("26: {name} is left without its pod")) };
                // That of a pod that is being deleted goes with it.
                if pod.node_name.is_none() && !pod.is_terminating() && !self.keeps_its_claim(pod) {
                    return Err(format!("26: {} is not bound and has {name}", pod.name));
                }
                if let Some(other) = special.insert(pod.uid.clone(), name.clone()) {
                    return Err(format!("26: {} has {other} and {name}", pod.name));
                }
            }
            let lives = |consumer: &&Consumer| self.api.pods().any(|pod| pod.uid == consumer.uid);
            if let Some(gone) = claim.reserved_for.iter().find(|consumer| !lives(consumer)) {
                return Err(format!("26: {name} is reserved for {gone:?}, which is gone"));
            }
        }
        Ok(())
    }
}
