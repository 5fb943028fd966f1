//! The inbox of the scheduling thread. It is bounded: a watch waits for room, so that a burst of
//! changes does not fill the memory while an attempt takes long. It joins updates of one object:
//! only the newest state of an object waits, at the place of the first. A list of a kind replaces
//! the updates of that kind that came before it.
//!
//! The order of the states of one object stays, and the states that remain come no later than they
//! would alone, so the scheduler ends in the same state as without joining.

use bayplan_model::{Kind, Object, ObjectKey, Symbol};
use bayplan_scheduler::Input;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Number of waiting updates from which on watches wait.
pub(crate) const ROOM: usize = 8_192;

/// A message to the scheduling thread; `L` is a closure that looks at the scheduler.
pub(crate) enum Message<L> {
    /// An input.
    Input(Input),
    /// Look at the scheduler between two steps.
    Look(L),
    /// End the thread.
    Stop,
}

/// Kind, namespace and name of an object.
type Name = (Kind, Symbol, Symbol);

/// Waiting messages.
pub(crate) struct Queue<L> {
    state: Mutex<State<L>>,
    arrived: Condvar,
    room: Notify,
}

struct State<L> {
    /// In the order of arrival; `None`: replaced by a later list.
    messages: VecDeque<Option<Message<L>>>,
    /// The number of the message at the front.
    first: u64,
    /// The number of the last waiting update of each object.
    latest: FxHashMap<Name, u64>,
    /// Number of waiting messages.
    depth: usize,
    /// Number of waiting updates of objects.
    updates: usize,
    closed: bool,
}

impl<L> Default for Queue<L> {
    fn default() -> Self {
        let state = State {
            messages: VecDeque::new(),
            first: 0,
            latest: FxHashMap::default(),
            depth: 0,
            updates: 0,
            closed: false,
        };
        Self { state: Mutex::new(state), arrived: Condvar::new(), room: Notify::new() }
    }
}

impl<L> Queue<L> {
    fn state(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message; returns whether the queue is open.
    pub(crate) fn put(&self, message: Message<L>) -> bool {
        let mut state = self.state();
        if state.closed {
            return false;
        }
        state.put(message);
        drop(state);
        self.arrived.notify_one();
        true
    }

    /// Waits until an update of an object has room, or the queue is closed.
    pub(crate) async fn room(&self) {
        loop {
            let mut notified = std::pin::pin!(self.room.notified());
            // Register before the check, so that no change is missed.
            notified.as_mut().enable();
            let (full, closed) = {
                let state = self.state();
                (state.updates >= ROOM, state.closed)
            };
            if !full || closed {
                return;
            }
            notified.await;
        }
    }

    /// Moves up to `most` messages to `out`, in order.
    pub(crate) fn take(&self, most: usize, out: &mut VecDeque<Message<L>>) {
        let mut state = self.state();
        let was_full = state.updates >= ROOM;
        while out.len() < most {
            let Some(message) = state.pop() else { break };
            out.push_back(message);
        }
        let has_room = state.updates < ROOM;
        drop(state);
        if was_full && has_room {
            self.room.notify_waiters();
        }
    }

    /// Waits for a message, at most `patience`.
    pub(crate) fn wait(&self, patience: Duration) {
        let state = self.state();
        // Whether it timed out makes no difference.
        let _ = self.arrived.wait_timeout_while(state, patience, |state| state.depth == 0);
    }

    /// Number of waiting messages.
    pub(crate) fn depth(&self) -> usize {
        self.state().depth
    }

    /// Drops all messages and takes no more.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.messages.clear();
        state.latest.clear();
        (state.depth, state.updates) = (0, 0);
        drop(state);
        self.room.notify_waiters();
    }
}

impl<L> State<L> {
    fn put(&mut self, message: Message<L>) {
        let name = match &message {
            Message::Input(Input::Upserted(object)) => Some(name_of(object.key())),
            Message::Input(Input::Deleted(key)) => Some(name_of(key.clone())),
            Message::Input(Input::Relisted(kind, _)) => {
                self.drop_updates(&kind.clone());
                None
            }
            _ => None,
        };
        if let Some(name) = name {
            let number = self.first + self.messages.len() as u64;
            let before = self.latest.get(&name).copied().and_then(|number| self.at(number));
            if let Some(Some(before)) = before
                && joins(before, &message)
            {
                *before = message;
                return;
            }
            self.latest.insert(name, number);
            self.updates += 1;
        }
        self.depth += 1;
        self.messages.push_back(Some(message));
    }

    fn at(&mut self, number: u64) -> Option<&mut Option<Message<L>>> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.messages.get_mut(at)
    }

    /// Drops the waiting updates and lists of a kind, because a later list says everything.
    fn drop_updates(&mut self, kind: &Kind) {
        for slot in &mut self.messages {
            let (of, update) = match slot {
                Some(Message::Input(Input::Upserted(object))) => (object.key().kind, true),
                Some(Message::Input(Input::Deleted(key))) => (key.kind.clone(), true),
                Some(Message::Input(Input::Relisted(of, _))) => (of.clone(), false),
                _ => continue,
            };
            if of == *kind {
                *slot = None;
                self.depth -= 1;
                self.updates -= usize::from(update);
            }
        }
        self.latest.retain(|(of, _, _), _| of != kind);
    }

    fn pop(&mut self) -> Option<Message<L>> {
        loop {
            let slot = self.messages.pop_front()?;
            let number = self.first;
            self.first += 1;
            let Some(message) = slot else { continue };
            let name = match &message {
                Message::Input(Input::Upserted(object)) => Some(name_of(object.key())),
                Message::Input(Input::Deleted(key)) => Some(name_of(key.clone())),
                _ => None,
            };
            if let Some(name) = name {
                self.updates -= 1;
                if self.latest.get(&name) == Some(&number) {
                    self.latest.remove(&name);
                }
            }
            self.depth -= 1;
            return Some(message);
        }
    }
}

fn name_of(key: ObjectKey) -> Name {
    (key.kind, key.namespace, key.name)
}

/// Whether the later update of an object says all that the scheduler must know of the earlier one:
/// the earlier one is a state, not a deletion, of the same object and not of a namesake.
fn joins<L>(before: &Message<L>, later: &Message<L>) -> bool {
    let Message::Input(Input::Upserted(before)) = before else { return false };
    match later {
        Message::Input(Input::Upserted(later)) => uid(before) == uid(later),
        Message::Input(Input::Deleted(key)) => key.uid.is_empty() || uid(before) == key.uid,
        _ => false,
    }
}

fn uid(object: &Object) -> Symbol {
    object.key().uid
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_framework::{Answer, Ticket};
    use bayplan_model::Time;
    use bayplan_model::testing::{Random, node, pod};
    use bayplan_scheduler::{Options, Scheduler};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    type Inbox = Queue<()>;

    fn a_pod(name: &str, uid: usize, version: usize, node: Option<&str>) -> Object {
        let mut pod = pod(name).cpu("100m").build();
        let it = Arc::make_mut(&mut pod);
        it.uid = Symbol::new(&format!("{name}-{uid}"));
        it.key = bayplan_model::PodKey(it.uid.clone());
        it.resource_version = version.to_string().into();
        it.node_name = node.map(Symbol::new);
        Object::Pod(pod)
    }

    /// A cluster that a watch reports.
    #[derive(Default)]
    struct World {
        pods: BTreeMap<String, (usize, Object)>,
        version: usize,
    }

    impl World {
        /// What the watch reports of one random change.
        fn change(&mut self, dice: &mut Random) -> Input {
            self.version += 1;
            let name = format!("p{}", dice.below(6));
            let node = dice.chance(50).then_some(if dice.chance(50) { "n1" } else { "n2" });
            if dice.chance(4) {
                // The watch broke, and meanwhile pods were deleted and made again.
                for _ in 0..3 {
                    let _ = self.change_pod(&format!("p{}", dice.below(6)), dice.chance(50), node);
                }
                let all = self.pods.values().map(|(_, pod)| pod.clone()).collect();
                return Input::Relisted(Kind::Pod, all);
            }
            if dice.chance(4) {
                let cpu = format!("{}", 1 + dice.below(9));
                return Input::Upserted(Object::Node(node_of("n1", &cpu)));
            }
            self.change_pod(&name, dice.chance(30), node)
        }

        fn change_pod(&mut self, name: &str, delete: bool, node: Option<&str>) -> Input {
            match self.pods.get(name).map(|(uid, _)| *uid) {
                Some(uid) if delete => {
                    let (_, pod) = self.pods.remove(name).unwrap();
                    assert_eq!(pod.key().uid, Symbol::new(&format!("{name}-{uid}")));
                    Input::Deleted(pod.key())
                }
                before => {
                    let uid = before.unwrap_or(self.version);
                    let pod = a_pod(name, uid, self.version, node);
                    self.pods.insert(name.to_owned(), (uid, pod.clone()));
                    Input::Upserted(pod)
                }
            }
        }
    }

    fn node_of(name: &str, cpu: &str) -> Arc<bayplan_model::Node> {
        node(name).cpu(cpu).memory("8Gi").build()
    }

    /// Pods and nodes that the scheduler knows.
    fn known(scheduler: &Scheduler) -> Vec<String> {
        let snapshot = scheduler.snapshot();
        let pods = snapshot.pods().map(|entry| {
            let pod = &entry.pod;
            format!("{} {} {} {:?}", pod.name, pod.uid, pod.resource_version, pod.node_name)
        });
        let nodes = snapshot.nodes().map(|node| {
            format!("{} {} {}", node.name(), node.allocatable().milli_cpu, node.requested().milli_cpu)
        });
        let mut all: Vec<String> = pods.chain(nodes).collect();
        all.sort();
        all
    }

    #[test]
    fn joined_updates_lead_to_the_same_state_as_all_updates() {
        let mut joined = 0;
        for seed in 0..300 {
            let mut dice = Random(seed);
            let (mut world, inbox) = (World::default(), Inbox::default());
            let mut with_all = Scheduler::new(Options::default());
            let mut with_joined = Scheduler::new(Options::default());
            let (mut effects, mut now, mut taken) = (Vec::new(), Time(0), VecDeque::new());
            let mut step = |scheduler: &mut Scheduler, input: Input| {
                now.0 += 1;
                scheduler.step(input, now, &mut effects);
            };
            let (mut sent, mut received) = (0, 0);
            for name in ["n1", "n2"] {
                let node = Input::Upserted(Object::Node(node_of(name, "4")));
                inbox.put(Message::Input(node.clone()));
                step(&mut with_all, node);
                sent += 1;
            }
            for _ in 0..dice.below(120) {
                let input = world.change(&mut dice);
                inbox.put(Message::Input(input.clone()));
                step(&mut with_all, input);
                sent += 1;
                if dice.chance(10) {
                    inbox.take(1 + dice.below(8), &mut taken);
                }
                for message in taken.drain(..) {
                    let Message::Input(input) = message else { continue };
                    step(&mut with_joined, input);
                    received += 1;
                }
            }
            inbox.take(usize::MAX, &mut taken);
            for message in taken.drain(..) {
                let Message::Input(input) = message else { continue };
                step(&mut with_joined, input);
                received += 1;
            }
            assert_eq!(known(&with_joined), known(&with_all), "seed {seed}");
            assert_eq!((inbox.depth(), inbox.state().updates), (0, 0), "seed {seed}");
            assert!(inbox.state().latest.is_empty(), "seed {seed}");
            joined += sent - received;
        }
        assert!(joined > 1_000, "only {joined} updates were joined");
    }

    #[test]
    fn only_the_newest_state_of_an_object_waits() {
        let inbox = Inbox::default();
        for version in 0..100_000 {
            inbox.put(Message::Input(Input::Upserted(a_pod("a", 1, version, None))));
        }
        assert_eq!(inbox.depth(), 1);
        inbox.put(Message::Input(Input::Deleted(a_pod("a", 1, 0, None).key())));
        assert_eq!(inbox.depth(), 1, "a deletion replaces the state");
        inbox.put(Message::Input(Input::Upserted(a_pod("a", 2, 0, None))));
        assert_eq!(inbox.depth(), 2, "a namesake does not replace the deletion");
        inbox.put(Message::Input(Input::Relisted(Kind::Pod, Vec::new())));
        assert_eq!(inbox.depth(), 1, "a list replaces everything of its kind");
    }

    #[test]
    fn replies_need_no_room_and_no_list_drops_them() {
        let inbox = Inbox::default();
        let reply = |ticket| Message::Input(Input::Reply(Ticket(ticket), Ok(Answer::Done)));
        for at in 0..ROOM {
            inbox.put(Message::Input(Input::Upserted(a_pod(&format!("p{at}"), 1, 1, None))));
        }
        for ticket in 0..100 {
            assert!(inbox.put(reply(ticket)));
        }
        inbox.put(Message::Input(Input::Relisted(Kind::Pod, Vec::new())));
        inbox.put(reply(100));
        let mut taken = VecDeque::new();
        inbox.take(usize::MAX, &mut taken);
        let tickets = taken.iter().map(|message| match message {
            Message::Input(Input::Reply(ticket, _)) => Some(ticket.0),
            _ => None,
        });
        let expected = (0..100).map(Some).chain([None, Some(100)]);
        assert!(tickets.eq(expected), "all replies, in order, and the list in between");
    }

    #[tokio::test]
    async fn a_full_inbox_makes_its_senders_wait() {
        let inbox = Arc::new(Inbox::default());
        for at in 0..ROOM {
            inbox.room().await;
            inbox.put(Message::Input(Input::Upserted(a_pod(&format!("p{at}"), 1, 1, None))));
        }
        let waits = |inbox: Arc<Inbox>| tokio::spawn(async move { inbox.room().await });
        let waiting = waits(Arc::clone(&inbox));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!waiting.is_finished(), "there is no room");
        inbox.take(1, &mut VecDeque::new());
        tokio::time::timeout(Duration::from_secs(5), waiting).await.unwrap().unwrap();
        inbox.put(Message::Input(Input::Upserted(a_pod("one-more", 1, 1, None))));
        let waiting = waits(Arc::clone(&inbox));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!waiting.is_finished(), "there is no room again");
        inbox.close();
        tokio::time::timeout(Duration::from_secs(5), waiting).await.unwrap().unwrap();
        assert!(!inbox.put(Message::Stop), "it is closed");
    }
}
