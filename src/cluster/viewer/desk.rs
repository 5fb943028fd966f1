//! [`Desk`]: where tabs wait for what they are shown and leave what they ask, and where the one thread that computes takes
//! its work. It computes nothing while no tab is open, one document for all tabs, and a document at most once a second.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// The shortest time between the beginnings of two documents.
const PACE: Duration = Duration::from_secs(1);
/// Changes that come together are in one document.
const SETTLE: Duration = Duration::from_millis(30);
/// After how long a document is made anew although nothing changed: pods grow older, and policies may read the clock.
const OLD: Duration = Duration::from_secs(30);
/// How long a tab that asks no more counts as open: it asks again as soon as it has drawn an answer.
const LINGERS: Duration = Duration::from_secs(5);
/// How many questions may wait.
const QUESTIONS: usize = 8;

/// Shared by the server, the watches and the thread that computes.
#[derive(Clone)]
pub struct Desk(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    work: Condvar,
    /// Counts what tabs have to learn.
    news: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// Tabs that wait for news.
    waiting: usize,
    /// When the last of them ceased to wait.
    waited: Option<Instant>,
    /// Since when the cluster has changed that the document shows.
    changed: Option<Instant>,
    /// When the last document was begun, and how long it took.
    began: Option<Instant>,
    took: Duration,
    shown: Shown,
    questions: VecDeque<Question>,
    ready: bool,
    ended: bool,
}

/// What tabs are shown.
#[derive(Clone, Default)]
pub(super) struct Shown {
    /// The number of the document among the news; 0: there is none.
    pub at: u64,
    /// The document, packed.
    pub document: Arc<[u8]>,
    /// Why there is no newer one; empty: there is.
    pub problem: String,
    /// Warnings about it.
    pub notes: String,
}

/// What a tab asks.
pub struct Question {
    /// The body of its request.
    pub body: Vec<u8>,
    reply: oneshot::Sender<Answer>,
}

impl Question {
    /// Answers it; a tab that is gone does not hear it.
    pub fn answer(self, answer: Answer) {
        let _ = self.reply.send(answer);
    }
}

/// What a tab is answered: a line of JSON, and a packed document, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The line.
    pub head: serde_json::Value,
    /// The document.
    pub document: Vec<u8>,
}

/// Work of the thread that computes.
pub enum Work {
    /// A document is to be made and published.
    Document,
    /// A question is to be answered.
    Question(Question),
    /// The process ends.
    End,
}

impl Desk {
    pub(super) fn new() -> Self {
        let state = State { changed: Some(Instant::now()), ..State::default() };
        Self(Arc::new(Inner { state: Mutex::new(state), work: Condvar::new(), news: watch::Sender::new(0) }))
    }

    /// Waits for work. Questions come first: a person waits for the answer.
    pub fn next(&self) -> Work {
        let mut state = self.state();
        loop {
            if state.ended {
                return Work::End;
            }
            // A tab may be gone, or have asked something newer.
            state.questions.retain(|question| !question.reply.is_closed());
            if let Some(question) = state.questions.pop_front() {
                return Work::Question(question);
            }
            let now = Instant::now();
            let Some(due) = state.due(now) else {
                state = self.0.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if due <= now {
                (state.changed, state.began) = (None, Some(now));
                return Work::Document;
            }
            state = self.0.work.wait_timeout(state, due - now).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Shows a document with warnings about it; or why there is none.
    pub fn publish(&self, made: Result<Vec<u8>, String>, notes: String) {
        let mut state = self.state();
        state.took = state.began.map(|began| began.elapsed()).unwrap_or_default();
        let at = *self.0.news.borrow() + 1;
        match made {
            Ok(document) => {
                state.shown = Shown { at, document: document.into(), problem: String::new(), notes }
            }
            Err(problem) => state.shown = Shown { problem, notes, ..state.shown.clone() },
        }
        drop(state);
        self.news();
    }

    /// The thread that computes has read everything once.
    pub fn ready(&self) {
        self.state().ready = true;
        self.news();
    }

    /// Whether that is so; `None`: not yet.
    pub(super) fn is_ready(&self) -> Option<bool> {
        let state = self.state();
        (state.ready || state.ended).then_some(!state.ended)
    }

    /// The thread that computes ends, and with it the process.
    pub fn close(&self) {
        self.state().ended = true;
        self.0.work.notify_all();
        self.news();
    }

    /// Whether it was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.state().ended
    }

    /// The cluster changed.
    pub(super) fn changed(&self) {
        let mut state = self.state();
        state.changed.get_or_insert_with(Instant::now);
        drop(state);
        self.0.work.notify_all();
    }

    /// Tabs have to learn something.
    pub(super) fn news(&self) {
        self.0.news.send_modify(|news| *news += 1);
    }

    /// The number of the last news; it changes with the next ones.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.news.subscribe()
    }

    pub(super) fn shown(&self) -> Shown {
        self.state().shown.clone()
    }

    /// Counts a tab as open until the result is dropped, and a moment longer.
    pub(super) fn open_tab(&self) -> Tab {
        self.state().waiting += 1;
        self.0.work.notify_all();
        Tab(self.clone())
    }

    /// Asks; `None`: too many questions wait already.
    pub(super) fn ask(&self, body: Vec<u8>) -> Option<oneshot::Receiver<Answer>> {
        let mut state = self.state();
        state.questions.retain(|question| !question.reply.is_closed());
        if state.questions.len() >= QUESTIONS {
            return None;
        }
        let (reply, answer) = oneshot::channel();
        state.questions.push_back(Question { body, reply });
        drop(state);
        self.0.work.notify_all();
        Some(answer)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// When the next document is to be made; `None`: not before something happens.
    fn due(&self, now: Instant) -> Option<Instant> {
        let open = self.waiting > 0 || self.waited.is_some_and(|at| now.duration_since(at) < LINGERS);
        if !open {
            return None;
        }
        let Some(began) = self.began else { return Some(now) };
        // One that takes long leaves the machine half of the time to others.
        let earliest = began + PACE.max(self.took * 2);
        Some(match self.changed {
            Some(at) => earliest.max(at + SETTLE),
            None => earliest.max(began + OLD),
        })
    }
}

/// A tab that is open.
pub(super) struct Tab(Desk);

impl Drop for Tab {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting -= 1;
        state.waited = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_document(work: &Work) -> bool {
        matches!(work, Work::Document)
    }

    #[test]
    fn nothing_is_computed_without_a_tab_and_questions_come_first() {
        let desk = Desk::new();
        assert_eq!(desk.state().due(Instant::now()), None);
        let _tab = desk.open_tab();
        let answer = desk.ask(b"what if".to_vec()).unwrap();
        let Work::Question(question) = desk.next() else { panic!("no question") };
        assert_eq!(question.body, b"what if");
        assert!(is_document(&desk.next()));
        drop(answer);
        desk.close();
        assert!(matches!(desk.next(), Work::End));
    }

    #[test]
    fn a_busy_cluster_costs_one_document_a_second_and_a_slow_one_half_of_the_time() {
        let desk = Desk::new();
        let _tab = desk.open_tab();
        assert!(is_document(&desk.next()));
        desk.publish(Ok(vec![1]), String::new());
        let mut state = desk.state();
        let now = Instant::now();
        let began = state.began.unwrap();
        assert_eq!(state.due(now), Some(began + OLD), "nothing changed");
        state.changed = Some(now);
        assert_eq!(state.due(now), Some(began + PACE));
        state.took = PACE * 3;
        assert_eq!(state.due(now), Some(began + PACE * 6));
        state.took = Duration::ZERO;
        state.began = Some(now - PACE * 5);
        assert_eq!(state.due(now), Some(now + SETTLE), "in a quiet cluster at once");
    }

    #[test]
    fn a_question_of_a_tab_that_is_gone_is_dropped_and_there_are_not_too_many() {
        let desk = Desk::new();
        drop(desk.ask(Vec::new()));
        let waiting: Vec<_> = (0..QUESTIONS).map(|_| desk.ask(vec![7]).unwrap()).collect();
        assert!(desk.ask(Vec::new()).is_none());
        let Work::Question(question) = desk.next() else { panic!("no question") };
        assert_eq!(question.body, [7]);
        drop(waiting);
    }

    #[test]
    fn a_problem_leaves_the_last_document_in_sight() {
        let desk = Desk::new();
        let _tab = desk.open_tab();
        assert!(is_document(&desk.next()));
        desk.publish(Ok(vec![1]), "a warning".into());
        desk.publish(Err("does not compile".into()), String::new());
        let shown = desk.shown();
        assert_eq!((shown.at, &*shown.document, shown.problem.as_str()), (1, &[1][..], "does not compile"));
    }
}
