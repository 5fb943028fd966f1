//! [`Carriers`]: how many pods carry each distinct term of pod affinity on which node.

use super::directory::Directory;
use super::{Counts, NodeCounts};
use crate::constraints::{PodAffinity, PodAffinityTerm};
use crate::labels::{Labels, Requirement};
use crate::node_set::{NodeId, NodeSet};
use crate::pod::PodInfo;
use crate::symbol::Symbol;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The list of a pod that holds a term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TermKind {
    /// Required terms of `podAffinity`.
    Required,
    /// Required terms of `podAntiAffinity`.
    RequiredAnti,
    /// Preferred terms of both; those of anti-affinity have negative weights.
    Preferred,
}

/// A term with its weight, which is 0 for required ones.
type Weighted = (i32, Arc<PodAffinityTerm>);

/// A term of placed pods that is about a pod.
#[derive(Clone, Copy, Debug)]
pub struct CarriedTerm<'s> {
    /// The term.
    pub term: &'s Arc<PodAffinityTerm>,
    /// Its weight: 0 for required terms, negative for preferred anti-affinity.
    pub weight: i32,
    /// How many pods carry it on which living node.
    pub nodes: NodeCounts<'s>,
}

#[derive(Clone, Debug, Default)]
struct Terms {
    counts: FxHashMap<Weighted, Arc<Counts>>,
    directory: Arc<Directory<Weighted>>,
}

fn requirements(term: &PodAffinityTerm) -> impl Iterator<Item = &Requirement> {
    term.selector.iter().flat_map(|selector| &selector.requirements)
}

impl Terms {
    /// Returns 1 for a term that is new, -1 for one that its last pod left.
    fn count(&mut self, weight: i32, term: &Arc<PodAffinityTerm>, node: NodeId, by: i64) -> i64 {
        // A term without a selector is about no pod.
        if term.selector.is_none() {
            return 0;
        }
        let key = (weight, term.clone());
        if let Some(counts) = self.counts.get_mut(&key) {
            let counts = Arc::make_mut(counts);
            counts.add(node, by);
            if !counts.is_empty() {
                return 0;
            }
            self.counts.remove(&key);
            Arc::make_mut(&mut self.directory).remove(&key, requirements(term));
            if self.counts.capacity() > 1_024.max(8 * self.counts.len()) {
                self.counts.shrink_to_fit();
            }
            return -1;
        }
        let mut counts = Counts::default();
        if counts.add(node, by) <= 0 {
            return 0;
        }
        self.counts.insert(key.clone(), Arc::new(counts));
        Arc::make_mut(&mut self.directory).add(key, requirements(term));
        1
    }
}

/// The distinct terms of placed pods, by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carriers([Terms; 3]);

impl Carriers {
    fn terms(&self, kind: TermKind) -> &Terms {
        &self.0[kind as usize]
    }

    /// A pod with these terms came to a node (`by` is 1) or left it (-1). The topology keys of terms that came (1) and
    /// went (-1) are added to `keys`.
    pub(super) fn count(
        &mut self,
        affinity: &PodAffinity,
        node: NodeId,
        by: i64,
        keys: &mut Vec<(Symbol, i64)>,
    ) {
        let required = affinity.required.iter().map(|term| (TermKind::Required, 0, term));
        let anti = affinity.required_anti.iter().map(|term| (TermKind::RequiredAnti, 0, term));
        let preferred = affinity.preferred.iter().map(|of| (TermKind::Preferred, of.weight, &of.term));
        for (kind, weight, term) in required.chain(anti).chain(preferred) {
            match self.0[kind as usize].count(weight, term, node, by) {
                0 => {}
                moved => keys.push((term.topology_key.clone(), moved)),
            }
        }
    }

    /// The terms of a kind that are about `pod`, whose namespace has these labels, in no particular order.
    pub(crate) fn about<'s>(
        &'s self,
        kind: TermKind,
        pod: &'s PodInfo,
        namespace: &'s Labels,
        alive: &'s NodeSet,
    ) -> impl Iterator<Item = CarriedTerm<'s>> {
        let terms = self.terms(kind);
        let about =
            terms.directory.candidates(&pod.labels).filter(|(_, term)| term.matches(pod, Some(namespace)));
        about.filter_map(|of| {
            let nodes = terms.counts.get(of)?.on(alive);
            Some(CarriedTerm { term: &of.1, weight: of.0, nodes })
        })
    }

    /// How many distinct terms there are.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|terms| terms.counts.len()).sum()
    }

    /// All terms with their counts, as text and in order.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn all(&self) -> Vec<(TermKind, String, &Counts)> {
        let kinds = [TermKind::Required, TermKind::RequiredAnti, TermKind::Preferred];
        let terms = kinds.into_iter().flat_map(|kind| {
            let counts = self.terms(kind).counts.iter();
            counts.map(move |(of, counts)| (kind, format!("{of:?}"), &**counts))
        });
        let mut all: Vec<_> = terms.collect();
        all.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        all
    }
}
