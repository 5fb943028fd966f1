//! The queue of outgoing API calls. Calls about one object are sent one after another. A newer status patch replaces
//! an unsent older one; a bind or delete drops it. Answers are assigned to the owner of their call. An instance that
//! does not lead sends nothing.
//!
//! A call that was answered with [`CallError::Retry`] is unsent again: it goes back to the front of its line, keeps its
//! ticket, and waits for the end of the pause. Its owner does not notice, and may withdraw it like any unsent call. A
//! call whose owner asked to withdraw it while it was open is not sent again.

use super::io::Effect;
use bayplan_framework::{Answer, ApiCall, CallError, ConditionPatch, ExtenderAsk, Ticket};
use bayplan_model::{Duration, ObjectKey, PodInfo, PodKey, Symbol, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// Maximum number of attempts to send a patch.
const PATCH_TRIES: u32 = 5;
/// Maximum number of open patches. The others wait here, where a bind or delete still drops them.
const PATCHES: usize = 32;
/// Minimum pause before a failed patch is sent again.
const PATCH_PAUSE: Duration = Duration::from_seconds(1);
/// Minimum pause before a call that was answered with `Retry` is sent again.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The owner of a call, which handles the reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// The status patch of a pod.
    Patch(PodKey),
    /// A pod's binding cycle.
    Binding(PodKey),
    /// The evictions for this preemptor.
    Eviction(PodKey),
    /// What a plugin writes for a bound pod.
    Mark(PodKey, Symbol),
    /// A pod that was bound and is gone: how it ended.
    Ended(PodKey),
    /// The attempt that waits for calls of a PostFilter plugin.
    PostFilter,
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

/// A call that was not sent.
#[derive(Clone, Debug)]
struct Unsent {
    ticket: Ticket,
    call: ApiCall,
    /// Earliest instant at which it may be sent.
    after: Option<Time>,
}

/// The calls about one object.
#[derive(Clone, Debug, Default)]
struct Line {
    open: Option<Ticket>,
    /// The open call, unless it is a status patch.
    sent: Option<ApiCall>,
    /// The open status patch.
    sent_wish: Option<Wish>,
    unsent: VecDeque<Unsent>,
    wish: Option<Wish>,
    /// Whether the object is in `Outbox::crowded`.
    crowded: bool,
}

impl Line {
    /// Whether a call that makes status patches pointless waits.
    fn drops_patches(&self) -> bool {
        self.unsent.iter().any(|unsent| drops_patches(&unsent.call))
    }
}

/// The owner of a call that has no reply yet.
#[derive(Clone, Debug)]
struct Owned {
    owner: Owner,
    object: ObjectKey,
    /// The owner asked to withdraw the call when it was open already.
    unwanted: bool,
}

/// The outgoing calls, grouped by object.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    lines: FxHashMap<ObjectKey, Line>,
    owners: FxHashMap<Ticket, Owned>,
    /// Objects that may have a call to send.
    ready: BTreeSet<ObjectKey>,
    /// Objects whose next call waits for the end of a pause.
    paused: BTreeSet<(Time, ObjectKey)>,
    /// Objects whose patch waits until fewer patches are open, in the order in which they wanted to send it.
    crowded: VecDeque<ObjectKey>,
    patches_open: usize,
    tickets: Tickets,
}

/// Gives out tickets: the number of the next one.
#[derive(Clone, Debug)]
struct Tickets(u64);

impl Default for Tickets {
    fn default() -> Self {
        Self(1)
    }
}

impl Tickets {
    fn next(&mut self) -> Ticket {
        let ticket = Ticket(self.0);
        self.0 += 1;
        ticket
    }
}

/// Whether an unsent status patch of the pod is pointless before this call.
fn drops_patches(call: &ApiCall) -> bool {
    matches!(
        call,
        ApiCall::Bind { .. }
            | ApiCall::Delete { .. }
            | ApiCall::Extender { ask: ExtenderAsk::Bind { .. }, .. }
    )
}

/// The newer patch, with what only the older one sets.
fn merged(newer: ConditionPatch, older: ConditionPatch) -> ConditionPatch {
    ConditionPatch {
        nominated_node: newer.nominated_node.or(older.nominated_node),
        generation: if newer.reason.is_some() { newer.generation } else { older.generation },
        message: if newer.reason.is_some() { newer.message } else { older.message },
        reason: newer.reason.or(older.reason),
        resource_version: Box::default(),
    }
}

/// Whether the patch changes the known version of the pod.
fn changes(patch: &ConditionPatch, pod: &PodInfo) -> bool {
    let nominated = patch
        .nominated_node
        .as_ref()
        .is_some_and(|node| node.as_str() != pod.nominated_node.as_deref().unwrap_or_default());
    // A condition is removed also when the watch has not shown it yet.
    let condition = patch.reason.is_some_and(|reason| {
        reason.is_empty()
            || pod.scheduled_condition.as_ref().is_none_or(|condition| {
                let (status, old_reason, message, _) = &**condition;
                status.as_str() != "False" || old_reason.as_str() != reason || **message != *patch.message
            })
    });
    nominated || condition
}

impl Outbox {
    /// The ticket of a call that does not wait for others.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.tickets.next()
    }

    /// The number of the next ticket, for plugins that call.
    pub(super) fn next_ticket(&mut self) -> &mut u64 {
        &mut self.tickets.0
    }

    /// Sends a call, which gets the next ticket, after the replies to all earlier calls about the same object.
    pub(super) fn send(&mut self, call: ApiCall, owner: Owner) -> Ticket {
        let ticket = self.tickets.next();
        self.call(ticket, call, owner);
        ticket
    }

    /// Sends a call that has a ticket after the replies to all earlier calls about the same object.
    pub(super) fn call(&mut self, ticket: Ticket, call: ApiCall, owner: Owner) {
        let object = call.object().clone();
        let line = self.lines.entry(object.clone()).or_default();
        if drops_patches(&call) {
            line.wish = None;
        }
        line.unsent.push_back(Unsent { ticket, call, after: None });
        self.owners.insert(ticket, Owned { owner, object: object.clone(), unwanted: false });
        self.ready.insert(object);
    }

    /// Queues a status patch of a pod; merges it with an unsent older one.
    pub(super) fn patch(&mut self, object: ObjectKey, key: PodKey, patch: ConditionPatch) {
        let line = self.lines.entry(object.clone()).or_default();
        let patch = match line.wish.take() {
            Some(old) => merged(patch, old.patch),
            None => patch,
        };
        line.wish = Some(Wish { key, patch, tries: 0, after: None, stale: None });
        self.ready.insert(object);
    }

    /// Withdraws the condition with this reason from the patches of a pod. A patch that was sent already is not sent
    /// again with it.
    pub(super) fn withdraw_condition(&mut self, object: &ObjectKey, reason: &str) {
        let Some(line) = self.lines.get_mut(object) else { return };
        for wish in [&mut line.wish, &mut line.sent_wish].into_iter().flatten() {
            if wish.patch.reason == Some(reason) {
                wish.patch.reason = None;
                wish.patch.message.clear();
            }
        }
    }

    /// Withdraws a call. Returns whether it was unsent; the reply to an open call still comes, and the call is not
    /// sent again.
    pub(super) fn withdraw(&mut self, ticket: Ticket) -> bool {
        let Some(owned) = self.owners.get_mut(&ticket) else { return false };
        let Some(line) = self.lines.get_mut(&owned.object) else { return false };
        let before = line.unsent.len();
        line.unsent.retain(|unsent| unsent.ticket != ticket);
        if line.unsent.len() == before {
            owned.unwanted = true;
            return false;
        }
        self.ready.insert(owned.object.clone());
        self.owners.remove(&ticket);
        true
    }

    /// A call that was sent and has no reply yet, unless it is a status patch.
    pub(super) fn sent(&self, ticket: Ticket) -> Option<&ApiCall> {
        let line = self.lines.get(&self.owners.get(&ticket)?.object)?;
        line.sent.as_ref().filter(|_| line.open == Some(ticket))
    }

    /// Handles a reply and returns the owner of the call; `Owner::Nobody` for an unknown ticket, and for a call that
    /// is to be sent again.
    pub(super) fn answered(
        &mut self,
        ticket: Ticket,
        answer: &Result<Answer, CallError>,
        now: Time,
    ) -> Owner {
        let object = self.owners.get(&ticket).map(|owned| &owned.object);
        let line = object.and_then(|object| self.lines.get_mut(object));
        let Some(line) = line.filter(|line| line.open == Some(ticket)) else { return Owner::Nobody };
        let Some(Owned { owner, object, unwanted }) = self.owners.remove(&ticket) else {
            return Owner::Nobody;
        };
        line.open = None;
        self.ready.insert(object.clone());
        let (sent, sent_wish) = (line.sent.take(), line.sent_wish.take());
        self.patches_open -= usize::from(sent_wish.is_some());
        let Err(error) = answer else { return owner };
        if let Some(wish) = sent_wish {
            self.patch_failed(object, wish, error, now);
            return owner;
        }
        if let (CallError::Retry { after, .. }, Some(call), false) = (error, sent, unwanted) {
            let after = now + (*after).max(RETRY_PAUSE);
            line.unsent.push_front(Unsent { ticket, call, after: Some(after) });
            self.paused.insert((after, object.clone()));
            self.owners.insert(ticket, Owned { owner, object, unwanted });
            return Owner::Nobody;
        }
        owner
    }

    /// Keeps a status patch that failed, unless the pod is lost or a bind or delete follows.
    fn patch_failed(&mut self, object: ObjectKey, mut wish: Wish, error: &CallError, now: Time) {
        let Some(line) = self.lines.get_mut(&object) else { return };
        if line.drops_patches() {
            return;
        }
        let pause = match error {
            CallError::Refused { code: 404 | 403 | 422, .. } => return,
            CallError::Retry { after, .. } => Some((*after).max(RETRY_PAUSE)),
            CallError::Refused { code: 409, .. } => None,
            CallError::Refused { .. } | CallError::Unknown(_) => Some(PATCH_PAUSE),
        };
        if !matches!(error, CallError::Retry { .. }) {
            wish.tries += 1;
        }
        if wish.tries >= PATCH_TRIES {
            return;
        }
        let version = std::mem::take(&mut wish.patch.resource_version);
        if let Some(newer) = line.wish.take() {
            wish.patch = merged(newer.patch, wish.patch);
            wish.tries = newer.tries;
        }
        match pause {
            Some(pause) => {
                let after = now + pause;
                wish.after = Some(after);
                self.paused.insert((after, object));
            }
            None => wish.stale = Some(version),
        }
        line.wish = Some(wish);
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

    /// What is kept for calls: objects, tickets and pauses.
    pub(super) fn kept(&self) -> usize {
        self.lines.len() + self.owners.len() + self.ready.len() + self.paused.len()
    }

    /// Whether a ticket is open or unsent.
    pub(super) fn is_known(&self, ticket: Ticket) -> bool {
        self.owners.contains_key(&ticket)
    }

    /// The next object that may have a call to send, and whether it is the turn of its patch.
    fn next_object(&mut self) -> Option<(ObjectKey, bool)> {
        if let Some(object) = self.ready.pop_first() {
            return Some((object, false));
        }
        if self.patches_open >= PATCHES {
            return None;
        }
        let object = self.crowded.pop_front()?;
        if let Some(line) = self.lines.get_mut(&object) {
            line.crowded = false;
        }
        Some((object, true))
    }

    /// Sends all calls that need not wait. `pod` returns the newest version of a known, unbound pod.
    pub(super) fn flush<'p>(
        &mut self,
        now: Time,
        pod: impl Fn(&PodKey) -> Option<&'p PodInfo>,
        out: &mut Vec<Effect>,
    ) {
        while let Some((at, object)) = self.paused.first().cloned().filter(|(at, _)| *at <= now) {
            self.paused.remove(&(at, object.clone()));
            self.ready.insert(object);
        }
        while let Some((object, in_turn)) = self.next_object() {
            let Some(line) = self.lines.get_mut(&object) else { continue };
            if line.open.is_some() {
                continue;
            }
            if let Some(unsent) = line.unsent.pop_front() {
                if unsent.after.is_some_and(|after| after > now) {
                    line.unsent.push_front(unsent);
                    continue;
                }
                line.open = Some(unsent.ticket);
                line.sent = Some(unsent.call.clone());
                out.push(Effect::Call(unsent.ticket, unsent.call));
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
                if !in_turn && (self.patches_open >= PATCHES || !self.crowded.is_empty()) {
                    line.wish = Some(wish);
                    if !std::mem::replace(&mut line.crowded, true) {
                        self.crowded.push_back(object);
                    }
                    continue;
                }
                self.patches_open += 1;
                wish.after = None;
                wish.stale = None;
                wish.patch.resource_version = pod.resource_version.clone();
                let ticket = self.tickets.next();
                line.open = Some(ticket);
                let owner = Owner::Patch(wish.key.clone());
                self.owners.insert(ticket, Owned { owner, object: object.clone(), unwanted: false });
                let patch = wish.patch.clone();
                line.sent_wish = Some(wish);
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
        kind: bayplan_model::Kind::Pod,
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        uid: pod.uid.clone(),
    }
}
