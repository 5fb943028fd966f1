//! The queue of outgoing API calls. Calls about one object are sent one after another. A newer status patch replaces
//! an unsent older one; a bind or delete drops it. Answers are assigned to the owner of their call. An instance that
//! does not lead sends nothing.

use super::io::Effect;
use crate::framework::{Answer, ApiCall, CallError, ConditionPatch, Ticket};
use crate::model::{Duration, ObjectKey, PodInfo, PodKey, Symbol, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// Maximum number of attempts to send a patch.
const PATCH_TRIES: u32 = 5;
/// Minimum pause before a failed patch is sent again.
const PATCH_PAUSE: Duration = Duration::from_seconds(1);

/// The owner of a call, which handles the reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// The status patch of a pod.
    Patch(PodKey),
    /// A pod's binding cycle.
    Binding(PodKey),
    /// No owner: the reply is dropped.
    Nobody,
}

/// A status patch that is to be sent for a pod, with the number of attempts.
#[derive(Clone, Debug)]
struct Wish {
    key: PodKey,
    patch: ConditionPatch,
    tries: u32,
    /// Earliest instant at which it may be sent.
    after: Option<Time>,
    /// The resource version at which the API server refused it; wait for a newer one.
    stale: Option<Box<str>>,
}

#[derive(Clone, Debug, Default)]
struct Line {
    open: Option<Ticket>,
    unsent: VecDeque<(Ticket, ApiCall)>,
    wish: Option<Wish>,
}

/// The outgoing calls, grouped by object.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    lines: FxHashMap<ObjectKey, Line>,
    owners: FxHashMap<Ticket, (Owner, ObjectKey)>,
    /// Objects that may have a call to send.
    ready: BTreeSet<ObjectKey>,
    /// Patches that wait for the end of a pause.
    paused: BTreeSet<(Time, ObjectKey)>,
    /// Sent patches, until the watch shows the patched pod.
    sent: FxHashMap<ObjectKey, Wish>,
}

fn object_of(call: &ApiCall) -> &ObjectKey {
    match call {
        ApiCall::Bind { pod, .. } | ApiCall::PatchStatus { pod, .. } | ApiCall::Delete { pod } => pod,
        ApiCall::Read(object) => object,
    }
}

/// Whether the patch changes the known version of the pod.
fn changes(patch: &ConditionPatch, pod: &PodInfo) -> bool {
    let nominated = patch
        .nominated_node
        .as_ref()
        .is_some_and(|node| node.as_str() != pod.nominated_node.as_deref().unwrap_or_default());
    let condition = patch.reason.is_some_and(|reason| {
        pod.scheduled_condition.as_ref().is_none_or(|condition| {
            let (status, old_reason, message, _) = &**condition;
            status.as_str() != "False" || old_reason.as_str() != reason || **message != *patch.message
        })
    });
    nominated || condition
}

impl Outbox {
    /// Sends a call after the replies to all earlier calls about the same object.
    pub(super) fn call(&mut self, ticket: Ticket, call: ApiCall, owner: Owner) {
        let object = object_of(&call).clone();
        let line = self.lines.entry(object.clone()).or_default();
        if matches!(call, ApiCall::Bind { .. } | ApiCall::Delete { .. }) {
            line.wish = None;
        }
        line.unsent.push_back((ticket, call));
        self.owners.insert(ticket, (owner, object.clone()));
        self.ready.insert(object);
    }

    /// Queues a status patch of a pod; merges it with an unsent older one.
    pub(super) fn patch(&mut self, object: ObjectKey, key: PodKey, patch: ConditionPatch) {
        let line = self.lines.entry(object.clone()).or_default();
        let patch = match line.wish.take() {
            // A patch of only the nomination keeps the older condition, and the reverse.
            Some(old) => ConditionPatch {
                nominated_node: patch.nominated_node.or(old.patch.nominated_node),
                generation: if patch.reason.is_some() { patch.generation } else { old.patch.generation },
                message: if patch.reason.is_some() { patch.message } else { old.patch.message },
                reason: patch.reason.or(old.patch.reason),
                resource_version: Box::default(),
            },
            None => patch,
        };
        line.wish = Some(Wish { key, patch, tries: 0, after: None, stale: None });
        self.ready.insert(object);
    }

    /// Withdraws a call. Returns whether it was still unsent.
    pub(super) fn withdraw(&mut self, ticket: Ticket) -> bool {
        let Some((_, object)) = self.owners.get(&ticket) else { return false };
        let Some(line) = self.lines.get_mut(object) else { return false };
        let before = line.unsent.len();
        line.unsent.retain(|(other, _)| *other != ticket);
        let here = line.unsent.len() < before;
        if here {
            self.owners.remove(&ticket);
        }
        here
    }

    /// Handles a reply and returns its owner; `Owner::Nobody` for an unknown ticket.
    pub(super) fn answered(
        &mut self,
        ticket: Ticket,
        answer: &Result<Answer, CallError>,
        now: Time,
    ) -> Owner {
        let Some((owner, object)) = self.owners.remove(&ticket) else { return Owner::Nobody };
        let Some(line) = self.lines.get_mut(&object) else { return owner };
        if line.open == Some(ticket) {
            line.open = None;
        }
        if let (Owner::Patch(_), Some(mut wish)) = (&owner, self.sent.remove(&object))
            && let Err(error) = answer
        {
            wish.tries += 1;
            let lost = matches!(error, CallError::Refused { code: 404 | 403 | 422, .. });
            let replaced = line.wish.is_some() || !line.unsent.is_empty();
            if !lost && !replaced && wish.tries < PATCH_TRIES {
                match error {
                    CallError::Refused { code: 409, .. } => {
                        wish.stale = Some(wish.patch.resource_version.clone())
                    }
                    _ => {
                        let after = now + PATCH_PAUSE;
                        wish.after = Some(after);
                        self.paused.insert((after, object.clone()));
                    }
                }
                line.wish = Some(wish);
            }
        }
        self.ready.insert(object);
        owner
    }

    /// Notes a new version of the pod, for which a refused patch may wait.
    pub(super) fn seen(&mut self, object: &ObjectKey) {
        if self.lines.contains_key(object) {
            self.ready.insert(object.clone());
        }
    }

    /// Drops the patch of a deleted pod.
    pub(super) fn gone(&mut self, object: &ObjectKey) {
        if let Some(line) = self.lines.get_mut(object) {
            line.wish = None;
            self.ready.insert(object.clone());
        }
    }

    /// The earliest end of a pause.
    pub(super) fn next_wakeup(&self) -> Option<Time> {
        self.paused.first().map(|(at, _)| *at)
    }

    /// The number of calls without a reply yet.
    pub(super) fn open(&self) -> usize {
        self.lines.values().filter(|line| line.open.is_some()).count()
    }

    /// Whether a ticket is open or unsent.
    pub(super) fn is_known(&self, ticket: Ticket) -> bool {
        self.owners.contains_key(&ticket)
    }

    /// Sends all calls that need not wait. `pod` returns the newest version of a known, unbound pod.
    pub(super) fn flush<'p>(
        &mut self,
        now: Time,
        next_ticket: &mut u64,
        pod: impl Fn(&PodKey) -> Option<&'p PodInfo>,
        out: &mut Vec<Effect>,
    ) {
        while let Some((at, object)) = self.paused.first().cloned().filter(|(at, _)| *at <= now) {
            self.paused.remove(&(at, object.clone()));
            self.ready.insert(object);
        }
        while let Some(object) = self.ready.pop_first() {
            let Some(line) = self.lines.get_mut(&object) else { continue };
            if line.open.is_some() {
                continue;
            }
            if let Some((ticket, call)) = line.unsent.pop_front() {
                line.open = Some(ticket);
                out.push(Effect::Call(ticket, call));
                continue;
            }
            if let Some(mut wish) = line.wish.take()
                && let Some(pod) = pod(&wish.key)
                && changes(&wish.patch, pod)
            {
                let early = wish.after.is_some_and(|after| after > now);
                if early || wish.stale.as_ref() == Some(&pod.resource_version) {
                    line.wish = Some(wish);
                    continue;
                }
                wish.after = None;
                wish.stale = None;
                wish.patch.resource_version = pod.resource_version.clone();
                let ticket = Ticket(*next_ticket);
                *next_ticket += 1;
                line.open = Some(ticket);
                self.owners.insert(ticket, (Owner::Patch(wish.key.clone()), object.clone()));
                let patch = wish.patch.clone();
                self.sent.insert(object.clone(), wish);
                out.push(Effect::Call(ticket, ApiCall::PatchStatus { pod: object, patch }));
                continue;
            }
            self.lines.remove(&object);
        }
    }
}

/// Names a pod for calls and events.
pub(super) fn object_key(pod: &PodInfo) -> ObjectKey {
    ObjectKey {
        kind: crate::model::Kind::Pod,
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        uid: pod.uid.clone(),
    }
}

/// A condition patch about the nomination alone.
pub(super) fn nomination(node: Symbol) -> ConditionPatch {
    ConditionPatch {
        reason: None,
        message: String::new(),
        generation: 0,
        nominated_node: Some(node),
        resource_version: Box::default(),
    }
}
