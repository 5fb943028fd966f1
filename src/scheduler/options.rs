//! Options of a scheduler.

use super::io::RecordLevel;
use bayplan_engine::{Decider, Plain, Scan, TieBreak};
use bayplan_model::{Duration, MarkKeys, PodKey};

/// The decider to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeciderKind {
    /// [`Scan`](bayplan_engine::Scan): runs plugins on ranges of columns.
    #[default]
    Scan,
    /// [`Plain`](bayplan_engine::Plain): runs plugins node by node.
    Plain,
    /// Both; an attempt in which they disagree fails with `Error`.
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
    /// The initial back-off.
    pub initial_backoff: Duration,
    /// The maximum back-off.
    pub max_backoff: Duration,
    /// A refused pod is tried again after this time even if nothing happened; `None`: never.
    pub longest_wait: Option<Duration>,
    /// Maximum number of bindings in flight; at the limit no attempt begins.
    pub window: usize,
    /// How long the driver waits for a reply of the API server. After twice this time a bind with an unknown outcome
    /// counts as failed.
    pub request_timeout: Duration,
    /// Draws among equal nodes.
    pub seed: u64,
    /// How ties are broken.
    pub tie_break: TieBreak,
    /// How much decisions record.
    pub records: RecordLevel,
    /// The only pod with this record level; other pods record the outcome. `None`: all pods.
    pub recorded_pod: Option<PodKey>,
    /// The decider to use.
    pub decider: DeciderKind,
    /// What proves the marks on bound pods.
    pub mark_keys: MarkKeys,
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
            mark_keys: MarkKeys::default(),
        }
    }
}
