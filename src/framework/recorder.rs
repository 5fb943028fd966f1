//! [`Recorder`]: observes what plugins answer. Ordinary attempts use [`Silent`], which records nothing.

use super::diagnosis::NodeToStatus;
use super::plugin_id::PluginId;
use super::points::PreFilterOutcome;
use super::scale::Scale;
use super::status::Status;
use bayplan_model::{NodeId, NodeSet};

/// Observes what plugins answer.
pub trait Recorder {
    /// Whether to score even a single feasible node.
    fn wants_scores(&self) -> bool {
        false
    }
    /// A PreFilter plugin returned.
    fn pre_filter(&mut self, plugin: PluginId, outcome: &Result<PreFilterOutcome, Status>) {
        let _ = (plugin, outcome);
    }
    /// All filters have run.
    fn filtered(&mut self, feasible: &NodeSet, refused: &NodeToStatus) {
        let _ = (feasible, refused);
    }
    /// A scorer answered for all feasible nodes: raw scores by row, how they are normalised, and the weight that is to be
    /// applied then.
    fn scored(&mut self, plugin: PluginId, weight: i64, on: &NodeSet, raw: &[i64], scale: Scale) {
        let _ = (plugin, weight, on, raw, scale);
    }
    /// The totals, by row.
    fn totals(&mut self, on: &NodeSet, totals: &[i64]) {
        let _ = (on, totals);
    }
    /// The choice: the node, and all nodes that share the highest total.
    fn selected(&mut self, node: NodeId, best: &NodeSet) {
        let _ = (node, best);
    }
}

/// Records nothing.
pub struct Silent;

impl Recorder for Silent {}
