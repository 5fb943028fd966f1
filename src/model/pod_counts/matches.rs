//! [`Matches`]: the registered [`PodMatch`]es with their counts.

use super::directory::Directory;
use super::{Counts, Namespaces, PodMatch};
use crate::held::Held;
use crate::labels::Labels;
use crate::node_set::NodeId;
use crate::pod::PodInfo;
use crate::symbol::Symbol;
use std::sync::Arc;

/// The registered matches. A match is counted while it has a holder; the last 64 without one linger.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matches {
    counts: Held<Arc<PodMatch>, Arc<Counts>>,
    directory: Arc<Directory<Arc<PodMatch>>>,
    /// Entries of all counts together.
    entries: usize,
}

impl Matches {
    /// Entries of all counts together, 8 bytes each: 64 MiB. A match without room is counted by a walk over the pods.
    const MOST_ENTRIES: usize = 8 << 20;

    /// The counts of a match; `None` when it is not registered or had no room.
    pub(crate) fn get(&self, of: &PodMatch) -> Option<&Counts> {
        self.counts.get(of).map(|counts| &**counts)
    }

    /// All matches that are counted, ordered.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn all(&self) -> Vec<(&Arc<PodMatch>, &Counts)> {
        let mut all: Vec<_> = self.counts.iter().map(|(of, counts)| (of, &**counts)).collect();
        all.sort_by_key(|(of, _)| *of);
        all
    }

    /// How many matches have a holder, and how many linger.
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.counts.held(), self.counts.lingering())
    }

    /// Counts a holder. `true`: the match has no counts; give them with [`Matches::add`].
    pub(crate) fn hold(&mut self, of: &Arc<PodMatch>) -> bool {
        self.counts.hold(of)
    }

    /// Gives a held match its counts.
    pub(crate) fn add(&mut self, of: &Arc<PodMatch>, counts: Counts) {
        self.entries += counts.len();
        self.counts.set(of, Arc::new(counts));
        Arc::make_mut(&mut self.directory).add(of.clone(), of.requirements());
        self.make_room(of);
    }

    /// Ends one holder.
    pub(crate) fn release(&mut self, of: &Arc<PodMatch>) {
        let gone = self.counts.release(of);
        self.forget(gone);
    }

    fn forget(&mut self, gone: Option<(Arc<PodMatch>, Arc<Counts>)>) -> bool {
        let Some((of, counts)) = gone else { return false };
        self.entries -= counts.len();
        Arc::make_mut(&mut self.directory).remove(&of, of.requirements());
        true
    }

    /// Keeps the counts within their bound: matches without a holder go first, then `last`, which grew.
    fn make_room(&mut self, last: &Arc<PodMatch>) {
        while self.entries > Self::MOST_ENTRIES {
            let oldest = self.counts.drop_oldest();
            if self.forget(oldest) {
                continue;
            }
            let counts = self.counts.clear(last);
            if !self.forget(counts.map(|counts| (last.clone(), counts))) {
                return;
            }
        }
    }

    /// The matches that count a pod.
    pub(super) fn about(&self, pod: &PodInfo, namespaces: &Namespaces) -> Vec<Arc<PodMatch>> {
        let candidates = self.directory.candidates(&pod.labels);
        candidates.filter(|of| of.matches_among(pod, namespaces)).cloned().collect()
    }

    /// A pod that these matches count came to a node (`by` is 1) or left it (-1).
    pub(super) fn count(&mut self, hit: &[Arc<PodMatch>], node: NodeId, by: i64) {
        for of in hit {
            let Some(counts) = self.counts.get_mut(&**of) else { continue };
            self.entries = self.entries.saturating_add_signed(Arc::make_mut(counts).add(node, by));
            self.make_room(of);
        }
    }

    /// The matches that take or leave a namespace because its labels changed; `None`: it is not known.
    pub(crate) fn moved_by_namespace(
        &self,
        name: &Symbol,
        before: Option<&Labels>,
        now: Option<&Labels>,
    ) -> Vec<Arc<PodMatch>> {
        let with_selector = self.counts.iter().filter(|(of, _)| of.namespace_selector.is_some());
        let moved = with_selector
            .filter(|(of, _)| of.takes_namespace(name, || before) != of.takes_namespace(name, || now));
        moved.map(|(of, _)| of.clone()).collect()
    }

    /// Replaces the counts of a match.
    pub(crate) fn replace(&mut self, of: &Arc<PodMatch>, counts: Counts) {
        let Some(before) = self.counts.get_mut(&**of) else { return };
        self.entries = self.entries + counts.len() - before.len();
        *before = Arc::new(counts);
        self.make_room(of);
    }
}
