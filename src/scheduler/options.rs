//! Options of a scheduler.

use super::io::RecordLevel;
use crate::engine::{Decider, Plain, Scan, TieBreak};
use crate::model::{Duration, PodKey};

/// Which decider asks the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeciderKind {
    /// Ranges over columns.
    #[default]
    Scan,
    /// The definition.
    Plain,
    /// Both; an attempt on which they disagree fails with `Error`.
    Verified,
}

impl DeciderKind {
    pub(super) fn make(self) -> Box<dyn Decider> {
        match self {
            DeciderKind::Scan => Box::new(Scan::default()),
            DeciderKind::Plain => Box::new(Plain::default()),
            DeciderKind::Verified => Box::new(super::verify::Verified::default()),
        }
    }
}

/// How a scheduler is set up. The defaults are kube-scheduler's.
#[derive(Clone, Debug)]
pub struct Options {
    /// The first penalty of a refused pod.
    pub initial_backoff: Duration,
    /// The longest penalty.
    pub max_backoff: Duration,
    /// A refused pod is tried again after this time even if nothing happened; `None`: never.
    pub longest_wait: Option<Duration>,
    /// How many binds may be on their way at once; beyond, no attempt is begun.
    pub window: usize,
    /// How long the driver waits for an answer of the API server. A bind that may have happened is given up after
    /// twice this time.
    pub request_timeout: Duration,
    /// Draws among equal nodes.
    pub seed: u64,
    /// How ties are broken.
    pub tie_break: TieBreak,
    /// How much decisions record.
    pub records: RecordLevel,
    /// The one pod whose decisions record that much; the others' record the outcome. `None`: all pods.
    pub recorded_pod: Option<PodKey>,
    /// Which decider asks the nodes.
    pub decider: DeciderKind,
}

impl Options {
    /// How much the decisions on a pod record.
    pub(super) fn records_of(&self, pod: &PodKey) -> RecordLevel {
        match &self.recorded_pod {
            Some(recorded) if recorded != pod => RecordLevel::Outcome,
            _ => self.records,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            initial_backoff: Duration::from_seconds(1),
            max_backoff: Duration::from_seconds(10),
            longest_wait: Some(Duration::from_seconds(5 * 60)),
            window: 400,
            request_timeout: Duration::from_seconds(30),
            seed: 0,
            tie_break: TieBreak::default(),
            records: RecordLevel::default(),
            recorded_pod: None,
            decider: DeciderKind::default(),
        }
    }
}
