//! Where long work is: a line on a terminal while it runs, and what is reported when it ends early: after `--timeout`, or by
//! SIGINT.

use super::ExitStatus;
use super::output::{Output, StatusLine, count};
use signal_hook::consts::SIGINT;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nothing is shown of work that takes no longer.
const QUIET: Duration = Duration::from_secs(1);
/// How often the line is written, and how soon an interruption ends the work.
const PAUSE: Duration = Duration::from_millis(250);

/// The first part of work on a cluster.
const READING: &str = "reading the cluster and the policies";

/// A part of the work.
#[derive(Clone, Copy)]
struct Stage {
    /// `placing pods`.
    what: &'static str,
    /// Of how many; 0 where that is not known.
    of: usize,
}

/// How far the work is.
struct State {
    stage: Mutex<(Stage, bool)>,
    ends: Condvar,
    done: AtomicUsize,
    /// A file that is removed if the work ends early.
    part: Mutex<Option<PathBuf>>,
}

/// Counts the work of one place; without a [`Progress`] it counts nothing.
#[derive(Clone, Default)]
pub(super) struct Steps(Option<Arc<State>>);

impl Steps {
    /// The next part of the work: `what` is done `of` times; 0 where that is not known.
    pub(super) fn stage(&self, what: &'static str, of: usize) {
        if let Some(state) = &self.0 {
            state.done.store(0, Ordering::Relaxed);
            state.stage.lock().unwrap_or_else(PoisonError::into_inner).0 = Stage { what, of };
        }
    }

    /// It was done once.
    pub(super) fn step(&self) {
        self.steps(1);
    }

    /// It was done several times.
    pub(super) fn steps(&self, times: usize) {
        if let Some(state) = &self.0 {
            state.done.fetch_add(times, Ordering::Relaxed);
        }
    }
}

/// Work that is under way, until it is dropped.
pub(super) struct Progress {
    state: Arc<State>,
    line: Option<JoinHandle<()>>,
    /// From now on SIGINT ends the process at once.
    by_default: Arc<AtomicBool>,
}

impl Progress {
    /// Work begins, which reads a cluster first; after `timeout` the process ends with [`ExitStatus::Failure`] and says
    /// where it was. One that SIGINT ends says so too.
    pub(super) fn start(out: &Output, timeout: Option<Duration>) -> Self {
        let stage = Stage { what: READING, of: 0 };
        let state = Arc::new(State {
            stage: Mutex::new((stage, false)),
            ends: Condvar::new(),
            done: AtomicUsize::new(0),
            part: Mutex::default(),
        });
        let (by_default, asked) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        // Without the handlers SIGINT ends the process as ever.
        let _ = signal_hook::flag::register_conditional_default(SIGINT, by_default.clone());
        let _ = signal_hook::flag::register(SIGINT, asked.clone());
        let watch = Watch {
            state: state.clone(),
            line: out.status_line(),
            shown: out.progress && !out.quiet,
            timeout,
            asked,
            began: Instant::now(),
        };
        let line = std::thread::spawn(move || watch.run());
        Self { state, line: Some(line), by_default }
    }

    /// Work of which nothing is shown, and which a signal does not end.
    #[cfg(feature = "cluster")]
    pub(super) fn silent() -> Self {
        let stage = Stage { what: READING, of: 0 };
        let state = State {
            stage: Mutex::new((stage, false)),
            ends: Condvar::new(),
            done: AtomicUsize::new(0),
            part: Mutex::new(None),
        };
        Self { state: Arc::new(state), line: None, by_default: Arc::default() }
    }

    /// What counts this work.
    pub(super) fn steps(&self) -> Steps {
        Steps(Some(self.state.clone()))
    }

    /// The next part of the work: `what` is done `of` times.
    pub(super) fn stage(&self, what: &'static str, of: usize) {
        self.steps().stage(what, of);
    }

    /// It was done once.
    pub(super) fn step(&self) {
        self.state.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Progress {
    /// From now on this file is removed if the work ends early, or none.
    pub(super) fn leaves_nothing_of(&self, part: Option<PathBuf>) {
        *self.state.part.lock().unwrap_or_else(PoisonError::into_inner) = part;
    }
}

impl State {
    fn remove_part(&self) {
        if let Some(part) = self.part.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = std::fs::remove_file(part);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.state.stage.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.state.ends.notify_all();
        if let Some(line) = self.line.take() {
            let _ = line.join();
        }
        self.by_default.store(true, Ordering::SeqCst);
    }
}

/// The thread that shows the work.
struct Watch {
    state: Arc<State>,
    line: Arc<Mutex<StatusLine>>,
    shown: bool,
    timeout: Option<Duration>,
    /// Whether SIGINT came.
    asked: Arc<AtomicBool>,
    began: Instant,
}

impl Watch {
    fn run(self) {
        let mut stage = self.state.stage.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = self.timeout.map(|timeout| timeout.saturating_sub(self.began.elapsed()));
            let pause = left.map_or(PAUSE, |left| left.min(PAUSE));
            stage = self.state.ends.wait_timeout(stage, pause).unwrap_or_else(PoisonError::into_inner).0;
            let (Stage { what, of }, ended) = *stage;
            let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            let place = match (self.state.done.load(Ordering::Relaxed), of) {
                (0, 0) => what.to_owned(),
                (done, 0) => format!("{what}, {} so far", count(done)),
                (done, of) => format!("{what}, {} of {}", count(done.min(of)), count(of)),
            };
            if self.asked.load(Ordering::SeqCst) {
                line.fail(&format!("interrupted while {place}"));
                self.state.remove_part();
                let _ = signal_hook::low_level::emulate_default_handler(SIGINT);
            }
            if ended {
                return line.clear();
            }
            if let Some(after) = self.timeout.filter(|timeout| self.began.elapsed() >= *timeout) {
                line.fail(&format!("stopped after {after:?} (`--timeout`) while {place}"));
                self.state.remove_part();
                std::process::exit(ExitStatus::Failure as i32);
            }
            if self.shown && self.began.elapsed() > QUIET {
                line.show(&format!("{place} …"));
            }
        }
    }
}
