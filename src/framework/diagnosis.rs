//! [`Diagnosis`]: why no node fits, and [`FitError`]: the text that says it as kube-scheduler does.

use super::plugin::{PluginId, PluginSet};
use super::status::{Code, Status};
use crate::model::NodeId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The first refusal of each node. Nodes that nobody asked have the absent status.
#[derive(Clone, Debug, Default)]
pub struct NodeToStatus {
    statuses: Vec<Status>,
    numbers: FxHashMap<Status, u32>,
    refused: Vec<(NodeId, u32)>,
    absent: Option<Status>,
}

impl NodeToStatus {
    /// Writes the status of a node; each node is written once.
    pub fn set(&mut self, node: NodeId, status: &Status) {
        let number = match self.numbers.get(status) {
            Some(number) => *number,
            None => {
                let number = self.statuses.len() as u32;
                self.statuses.push(status.clone());
                self.numbers.insert(status.clone(), number);
                number
            }
        };
        self.refused.push((node, number));
    }

    /// Writes the status of all nodes that have none of their own.
    pub fn set_absent(&mut self, status: Status) {
        self.absent = Some(status);
    }

    /// The status of nodes that have none of their own.
    pub fn absent(&self) -> Option<&Status> {
        self.absent.as_ref()
    }

    /// The nodes with a status of their own, in the order they were refused.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Status)> {
        self.refused.iter().map(|(node, number)| (*node, &self.statuses[*number as usize]))
    }

    /// The status of one node. Walks the list: not for loops over nodes.
    pub fn get(&self, node: NodeId) -> Option<&Status> {
        self.iter().find(|(id, _)| *id == node).map(|(_, status)| status).or(self.absent.as_ref())
    }

    /// How many nodes have a status of their own.
    pub fn len(&self) -> usize {
        self.refused.len()
    }

    /// Whether no node has a status of its own.
    pub fn is_empty(&self) -> bool {
        self.refused.is_empty()
    }

    /// Each distinct status with the number of nodes that have it, in the order they first appeared.
    pub fn histogram(&self) -> Vec<(&Status, usize)> {
        let mut counts = vec![0; self.statuses.len()];
        for (_, number) in &self.refused {
            counts[*number as usize] += 1;
        }
        self.statuses.iter().zip(counts).collect()
    }
}

/// What an attempt found out.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// The first refusal of each node.
    pub nodes: NodeToStatus,
    /// The plugins that refused, or narrowed the nodes; they say which events may help.
    pub unschedulable_plugins: PluginSet,
    /// Those of them that said `Pending`.
    pub pending_plugins: PluginSet,
    /// The message of a PreFilter that refused the pod.
    pub pre_filter_message: Option<String>,
    /// The messages of PostFilter plugins, joined.
    pub post_filter_message: Option<String>,
    /// How many nodes were asked.
    pub evaluated: usize,
}

impl Diagnosis {
    /// Notes who refused.
    pub fn add_plugin(&mut self, status: &Status) {
        if status.plugin == PluginId::NONE {
            return;
        }
        match status.code {
            Code::Pending => self.pending_plugins.insert(status.plugin),
            Code::Unschedulable | Code::UnschedulableAndUnresolvable => {
                self.unschedulable_plugins.insert(status.plugin);
            }
            Code::Error => {}
        }
    }
}

/// No node fits.
#[derive(Clone, Debug)]
pub struct FitError<'a> {
    /// How many nodes there are. 1 when the pod was refused at Reserve or Permit.
    pub all_nodes: usize,
    /// Why.
    pub diagnosis: &'a Diagnosis,
}

impl std::fmt::Display for FitError<'_> {
    /// The text of kube-scheduler 1.36 (`pkg/scheduler/framework/types.go`, `FitError.Error`).
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0/{} nodes are available:", self.all_nodes)?;
        match &self.diagnosis.pre_filter_message {
            Some(message) => write!(f, " {message}.")?,
            None => {
                let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
                for (status, count) in self.diagnosis.nodes.histogram() {
                    for reason in status.reasons() {
                        *reasons.entry(reason).or_default() += count;
                    }
                }
                let absent = self.all_nodes.saturating_sub(self.diagnosis.nodes.len());
                if let (Some(status), true) = (self.diagnosis.nodes.absent(), absent > 0) {
                    for reason in status.reasons() {
                        *reasons.entry(reason).or_default() += absent;
                    }
                }
                let mut parts: Vec<String> =
                    reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
                parts.sort();
                if !parts.is_empty() {
                    write!(f, " {}.", parts.join(", "))?;
                }
            }
        }
        match &self.diagnosis.post_filter_message {
            Some(message) if !message.is_empty() => write!(f, " {message}"),
            _ => Ok(()),
        }
    }
}
