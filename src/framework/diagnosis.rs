//! [`Diagnosis`]: why no node fits, and [`FitError`]: the text that says it as kube-scheduler does.

use super::plugin_id::{PluginId, PluginSet};
use super::status::{Code, Status};
use bayplan_model::{NodeId, NodeSet, Symbol, bits};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The first refusal of each node. Nodes that no filter ran on have the absent status.
#[derive(Clone, Debug, Default)]
pub struct NodeToStatus {
    statuses: Vec<Status>,
    counts: Vec<usize>,
    /// Per word of 64 rows: the number of each status and the mask of its rows. Empty until the first refusal.
    by_word: Vec<SmallVec<[(u32, u64); 2]>>,
    len: usize,
    absent: Option<Status>,
}

impl NodeToStatus {
    /// Writes the status of a node.
    pub fn set(&mut self, node: NodeId, status: &Status) {
        let number = self.register(status);
        self.set_rows(node.row() / 64, 1 << (node.row() % 64), number);
    }

    /// The number of a status for [`NodeToStatus::set_rows`]; equal statuses have one.
    pub fn register(&mut self, status: &Status) -> u32 {
        let known = self.statuses.iter().position(|known| known == status);
        known.unwrap_or_else(|| {
            self.statuses.push(status.clone());
            self.counts.push(0);
            self.statuses.len() - 1
        }) as u32
    }

    /// Writes the registered status of nodes of one word of rows.
    #[inline]
    pub fn set_rows(&mut self, word: usize, rows: u64, number: u32) {
        if self.by_word.len() <= word {
            self.by_word.resize(word + 1, SmallVec::new());
        }
        let entries = &mut self.by_word[word];
        for (before, held) in entries.iter_mut() {
            let replaced = (*held & rows).count_ones() as usize;
            *held &= !rows;
            self.counts[*before as usize] -= replaced;
            self.len -= replaced;
        }
        match entries.iter_mut().find(|(of, _)| *of == number) {
            Some((_, held)) => *held |= rows,
            None => entries.push((number, rows)),
        }
        let written = rows.count_ones() as usize;
        self.counts[number as usize] += written;
        self.len += written;
    }

    /// Writes the status of all nodes that have none of their own.
    pub fn set_absent(&mut self, status: Status) {
        self.absent = Some(status);
    }

    /// The status of nodes that have none of their own.
    #[inline]
    pub fn absent(&self) -> Option<&Status> {
        self.absent.as_ref()
    }

    /// The nodes with a status of their own, in row order.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Status)> {
        self.by_word.iter().enumerate().flat_map(move |(word, entries)| {
            let known = entries.iter().fold(0, |all, (_, rows)| all | rows);
            bits(known).filter_map(move |bit| {
                let node = NodeId::from_row(word * 64 + bit);
                self.own(node).map(|status| (node, status))
            })
        })
    }

    #[inline]
    fn own(&self, node: NodeId) -> Option<&Status> {
        let entries = self.by_word.get(node.row() / 64)?;
        let (number, _) = entries.iter().find(|(_, rows)| rows >> (node.row() % 64) & 1 == 1)?;
        self.statuses.get(*number as usize)
    }

    /// The status of one node.
    #[inline]
    pub fn get(&self, node: NodeId) -> Option<&Status> {
        self.own(node).or(self.absent.as_ref())
    }

    /// The nodes among `alive` whose status has this code. A node without any status is unresolvable.
    ///
    /// Source: `pkg/scheduler/framework/types.go`, `NodeToStatus.NodesForStatusCode`.
    pub fn with_code(&self, code: Code, alive: &NodeSet) -> NodeSet {
        let mut found = NodeSet::with_rows(alive.words().len() * 64);
        let absent = self.absent.as_ref().map_or(Code::UnschedulableAndUnresolvable, |status| status.code);
        for (word, alive) in alive.words().iter().enumerate() {
            let (mut known, mut rows) = (0, 0);
            for (number, held) in self.by_word.get(word).into_iter().flatten() {
                known |= held;
                if self.statuses.get(*number as usize).is_some_and(|status| status.code == code) {
                    rows |= held;
                }
            }
            if absent == code {
                rows |= !known;
            }
            for bit in bits(rows & alive) {
                found.insert(NodeId::from_row(word * 64 + bit));
            }
        }
        found
    }

    /// How many nodes have a status of their own.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no node has a status of its own.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the refusal of a node, or of all nodes, is one that no new node could pass. Such a refusal leaves no
    /// node by itself.
    pub fn no_node_helps(&self) -> bool {
        let own = self.statuses.iter().zip(&self.counts).filter(|(_, count)| **count > 0);
        own.map(|(status, _)| status).chain(&self.absent).any(|status| status.no_node_helps)
    }

    /// Each distinct status with the number of nodes that have it, in the order they were registered.
    pub fn histogram(&self) -> Vec<(&Status, usize)> {
        let counted = self.statuses.iter().zip(self.counts.iter().copied());
        counted.filter(|(_, count)| *count > 0).collect()
    }
}

/// Why an attempt refused nodes.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// The first refusal of each node.
    pub nodes: NodeToStatus,
    /// Refusals of nodes that are not known, by name: an extender may name any. They count in the text.
    pub unknown_nodes: BTreeMap<Symbol, Status>,
    /// Plugins that refused or narrowed the nodes; their events may help the pod.
    pub unschedulable_plugins: PluginSet,
    /// Plugins among them that returned `Pending`.
    pub pending_plugins: PluginSet,
    /// The message of a PreFilter that refused the pod.
    pub pre_filter_message: Option<String>,
    /// The messages of PostFilter plugins, joined.
    pub post_filter_message: Option<String>,
    /// The number of nodes that filters ran on.
    pub evaluated: usize,
}

impl Diagnosis {
    /// Notes every plugin that refused a node.
    pub fn note_refusals(&mut self) {
        let refusals: Vec<Status> =
            self.nodes.histogram().into_iter().map(|(status, _)| status.clone()).collect();
        for status in &refusals {
            self.add_plugin(status);
        }
    }

    /// Notes the plugin that refused.
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
                let unknown = &self.diagnosis.unknown_nodes;
                for reason in unknown.values().flat_map(Status::reasons) {
                    *reasons.entry(reason).or_default() += 1;
                }
                let known = self.diagnosis.nodes.len() + unknown.len();
                let absent = self.all_nodes.saturating_sub(known);
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
