//! Where long work is: a line on a terminal while it runs, and its end after `--timeout`.

use super::ExitStatus;
use super::output::{Output, StatusLine, count};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nothing is shown of work that takes no longer.
const QUIET: Duration = Duration::from_secs(1);
/// How often the line is written.
const PAUSE: Duration = Duration::from_millis(250);

/// The first part, which may have warnings to write.
const READING: &str = "reading the cluster and the policies";

/// A part of the work.
#[derive(Clone, Copy)]
struct Stage {
    /// `placing pods`.
    what: &'static str,
    /// Of how many; 0 where that is not known.
    of: usize,
}

struct State {
    stage: Mutex<(Stage, bool)>,
    ends: Condvar,
    done: AtomicUsize,
}

/// Work that is under way, until it is dropped.
pub(super) struct Progress {
    state: Arc<State>,
    line: Option<JoinHandle<()>>,
}

impl Progress {
    /// Work begins; after `timeout` the process ends with [`ExitStatus::Failure`] and says where it was.
    pub(super) fn start(out: &Output, timeout: Option<Duration>) -> Self {
        let stage = Stage { what: READING, of: 0 };
        let state = Arc::new(State {
            stage: Mutex::new((stage, false)),
            ends: Condvar::new(),
            done: AtomicUsize::new(0),
        });
        let shown = out.progress && !out.quiet;
        let watched = state.clone();
        let line = (shown || timeout.is_some())
            .then(|| std::thread::spawn(move || watched.watch(shown, timeout, Instant::now())));
        Self { state, line }
    }

    /// The next part of the work: `what` is done `of` times.
    pub(super) fn stage(&self, what: &'static str, of: usize) {
        self.state.done.store(0, Ordering::Relaxed);
        self.state.stage.lock().unwrap_or_else(PoisonError::into_inner).0 = Stage { what, of };
    }

    /// It was done once.
    pub(super) fn step(&self) {
        self.state.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.state.stage.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.state.ends.notify_all();
        if let Some(line) = self.line.take() {
            let _ = line.join();
        }
    }
}

impl State {
    fn watch(&self, shown: bool, timeout: Option<Duration>, began: Instant) {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = StatusLine::beside_output();
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
            let pause = left.map_or(PAUSE, |left| left.min(PAUSE));
            stage = self.ends.wait_timeout(stage, pause).unwrap_or_else(PoisonError::into_inner).0;
            let (Stage { what, of }, ended) = *stage;
            let place = match (self.done.load(Ordering::Relaxed), of) {
                (_, 0) => what.to_owned(),
                (done, of) => format!("{what}, {} of {}", count(done.min(of)), count(of)),
            };
            if ended {
                line.clear();
                return;
            }
            if let Some(after) = timeout.filter(|timeout| began.elapsed() >= *timeout) {
                line.fail(&format!("stopped after {after:?} (`--timeout`) while {place}"));
                std::process::exit(ExitStatus::Failure as i32);
            }
            if shown && what != READING && began.elapsed() > QUIET {
                line.show(&format!("{place} …"));
            }
        }
    }
}
