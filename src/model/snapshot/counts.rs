//! What the snapshot keeps on request, and counts of pods.

use super::Snapshot;
use crate::changes::{Change, Delta};
use crate::columns::{DomainColumn, Want};
use crate::labels::Labels;
use crate::node_set::NodeId;
use crate::pod::PodInfo;
use crate::pod_counts::{CarriedTerm, Counts, PodMatch, TermKind, labels_of};
use crate::symbol::Symbol;
use std::sync::Arc;

impl Snapshot {
    /// Counts a holder of each of these; [`Snapshot::unwant`] ends it.
    pub fn want(&mut self, wants: &[Want]) {
        for want in wants {
            match want {
                Want::Label(key) => {
                    let room = self.columns.room();
                    let rows = &self.rows;
                    let value =
                        |row: &super::NodeRow| row.alive.then(|| row.node.labels.get(key).cloned()).flatten();
                    self.columns.labels_mut().want(key, room, || rows.iter().map(|row| value(row)).collect());
                }
                Want::Domain(key) => {
                    let room = self.columns.room();
                    let rows = &self.rows;
                    self.columns.domains_mut().want(key, room, || domains(rows, key, room));
                }
                Want::Count(of) => {
                    if Arc::make_mut(&mut self.counts.matches).hold(of) {
                        let counts = self.counted(of);
                        Arc::make_mut(&mut self.counts.matches).add(of, counts);
                    }
                }
            }
        }
    }

    /// Ends one holder of each of these.
    pub fn unwant(&mut self, wants: &[Want]) {
        for want in wants {
            match want {
                Want::Label(key) => self.columns.labels_mut().unwant(key),
                Want::Domain(key) => self.columns.domains_mut().unwant(key),
                Want::Count(of) => Arc::make_mut(&mut self.counts.matches).release(of),
            }
        }
    }

    /// The domains of a topology key: those of the column when it has a holder ([`Want::Domain`]), else made from the
    /// nodes.
    pub fn domains(&self, key: &Symbol) -> Arc<DomainColumn> {
        match self.columns.domain(key) {
            Some(column) => column.clone(),
            None => Arc::new(domains(&self.rows, key, self.columns.room())),
        }
    }

    /// The living nodes that have pods of a match, each once and in row order, with their numbers of pods. Fast for a
    /// match that has a holder ([`Want::Count`]); else this walks the pods of all nodes that have a pod with a label that
    /// the match requires.
    pub fn matching_pods(&self, of: &PodMatch, mut each: impl FnMut(NodeId, i64)) {
        let alive = self.columns.alive();
        match self.counts.matches.get(of) {
            Some(counts) => counts.on(alive).iter().for_each(|(node, pods)| each(node, pods)),
            None => {
                let counts = self.counted(of);
                counts.on(alive).iter().for_each(|(node, pods)| each(node, pods));
            }
        }
    }

    /// The terms of placed pods that are about `about`, with the living nodes on which pods carry them. Terms come in no
    /// particular order. A term of a list that cannot be parsed is not among them.
    pub fn carried_terms<'s>(
        &'s self,
        kind: TermKind,
        about: &'s PodInfo,
    ) -> impl Iterator<Item = CarriedTerm<'s>> {
        // Upstream looks for the labels of this namespace, and takes it as one without labels if it is not known.
        let namespace = labels_of(&self.namespaces, &about.namespace).unwrap_or(Labels::none());
        self.counts.carriers.about(kind, about, namespace, self.columns.alive())
    }

    /// Counts the pods of a match one by one.
    pub(super) fn counted(&self, of: &PodMatch) -> Counts {
        let passes = |pod: &PodInfo| of.matches_among(pod, &self.namespaces);
        let mut counts = Counts::default();
        let mut count = |node: NodeId| {
            let pods = self.rows.get(node.row()).map_or(&[][..], |row| &row.pods);
            counts.add(node, pods.iter().filter(|pod| passes(pod)).count() as i64);
        };
        match self.counts.labels.rows(of) {
            Some(rows) => rows.into_iter().for_each(count),
            None => (0..self.rows.len()).for_each(|row| count(NodeId::from_row(row))),
        }
        counts
    }

    /// Brings the counts up to date with a change.
    pub(super) fn count_change(&mut self, delta: &Delta<'_>) {
        let now = match delta.change {
            Change::PodPlaced { pod, node, .. } => Some((&**pod, *node)),
            Change::PodPending { .. } | Change::PodUnplaced { .. } | Change::PodRemoved { .. } => None,
            _ => return,
        };
        let before = delta.pod_before.as_ref().and_then(|(pod, node)| Some((&**pod, (*node)?)));
        // A term of placed pods holds the domains of its topology key.
        for (key, moved) in self.counts.pod_moved(before, now, &self.namespaces) {
            let want = [Want::Domain(key)];
            if moved > 0 { self.want(&want) } else { self.unwant(&want) }
        }
    }

    /// The labels of a namespace changed from `before`; `None`: it was not known.
    pub(super) fn recount_namespace(&mut self, name: &Symbol, before: Option<&Labels>) {
        let now = labels_of(&self.namespaces, name);
        if before == now {
            return;
        }
        for of in self.counts.matches.moved_by_namespace(name, before, now) {
            let counts = self.counted(&of);
            Arc::make_mut(&mut self.counts.matches).replace(&of, counts);
        }
    }
}

fn domains(rows: &[Arc<super::NodeRow>], key: &Symbol, room: usize) -> DomainColumn {
    let mut column = DomainColumn::with_room(room);
    for (row, at) in rows.iter().enumerate().filter(|(_, at)| at.alive) {
        column.set(row, at.node.labels.get(key));
    }
    column
}
