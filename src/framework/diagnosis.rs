//! [`Diagnosis`]: why no node fits, and [`FitError`]: the text that says it as kube-scheduler does.

use super::plugin::{PluginId, PluginSet};
use super::status::{Code, Status};
use crate::model::NodeId;
use std::collections::BTreeMap;

/// The first refusal of each node. Nodes that nobody asked have the absent status.
#[derive(Clone, Debug, Default)]
pub struct NodeToStatus {
    statuses: Vec<Status>,
    counts: Vec<usize>,
    /// By row: 0 for none, else the number of the status plus 1. Empty until the first refusal.
    by_row: Vec<u32>,
    len: usize,
    absent: Option<Status>,
}

impl NodeToStatus {
    /// Writes the status of a node.
    pub fn set(&mut self, node: NodeId, status: &Status) {
        let number = self.register(status);
        self.set_number(node, number);
    }

    /// The number of a status for [`NodeToStatus::set_number`]; equal statuses have one.
    pub fn register(&mut self, status: &Status) -> u32 {
        let known = self.statuses.iter().position(|known| known == status);
        known.unwrap_or_else(|| {
            self.statuses.push(status.clone());
            self.counts.push(0);
            self.statuses.len() - 1
        }) as u32
    }

    /// Writes the registered status of a node.
    pub fn set_number(&mut self, node: NodeId, number: u32) {
        if self.by_row.len() <= node.row() {
            self.by_row.resize((node.row() + 1).next_multiple_of(64), 0);
        }
        let before = std::mem::replace(&mut self.by_row[node.row()], number + 1);
        match before {
            0 => self.len += 1,
            before => self.counts[before as usize - 1] -= 1,
        }
        self.counts[number as usize] += 1;
    }

    /// Writes the status of all nodes that have none of their own.
    pub fn set_absent(&mut self, status: Status) {
        self.absent = Some(status);
    }

    /// The status of nodes that have none of their own.
    pub fn absent(&self) -> Option<&Status> {
        self.absent.as_ref()
    }

    /// The nodes with a status of their own, in row order.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Status)> {
        self.by_row
            .iter()
            .enumerate()
            .filter(|(_, number)| **number > 0)
            .map(|(row, number)| (NodeId::from_row(row), &self.statuses[*number as usize - 1]))
    }

    /// The status of one node.
    pub fn get(&self, node: NodeId) -> Option<&Status> {
        match self.by_row.get(node.row()) {
            Some(number) if *number > 0 => self.statuses.get(*number as usize - 1),
            _ => self.absent.as_ref(),
        }
    }

    /// How many nodes have a status of their own.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no node has a status of its own.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Each distinct status with the number of nodes that have it, in the order they were registered.
    pub fn histogram(&self) -> Vec<(&Status, usize)> {
        let counted = self.statuses.iter().zip(self.counts.iter().copied());
        counted.filter(|(_, count)| *count > 0).collect()
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
