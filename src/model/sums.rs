//! [`Sums`]: what the pods on a node request together, kept up to date as pods come and go. Rows of the snapshot and
//! overlays of simulations have one each.

use super::node::Node;
use super::pod::PodInfo;
use super::resource::Resource;
use std::sync::Arc;

/// What pods on a node request together. Every amount ends at 2^63 - 1, as that of a pod does.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Sums {
    /// What they request.
    pub(super) requested: Resource,
    /// CPU (millicores) and memory (bytes) with upstream's defaults for containers that name none.
    pub(super) nonzero: (i64, i64),
}

impl Sums {
    /// The sums of all pods on a node.
    pub(super) fn of<'a>(node: &Node, pods: impl Iterator<Item = &'a Arc<PodInfo>>) -> Self {
        pods.fold(Self::default(), |mut sums, pod| {
            sums.add(node, pod);
            sums
        })
    }

    /// A pod comes to the node. A pod whose requests cannot be read takes everything.
    pub(super) fn add(&mut self, node: &Node, pod: &PodInfo) {
        self.requested.add(&pod.requests);
        self.nonzero.0 = self.nonzero.0.saturating_add(pod.nonzero_milli_cpu);
        self.nonzero.1 = self.nonzero.1.saturating_add(pod.nonzero_memory);
        if pod.unreadable.is_some() {
            for (name, _) in &node.allocatable.scalars {
                self.requested.set_scalar(name.clone(), i64::MAX);
            }
        }
    }

    /// A pod leaves. `false`: a sum is at the end of its range, so only those of the pods that stay can tell.
    #[must_use]
    pub(super) fn subtract(&mut self, pod: &PodInfo) -> bool {
        if self.is_at_the_end() {
            return false;
        }
        self.requested.sub(&pod.requests);
        self.nonzero.0 = self.nonzero.0.saturating_sub(pod.nonzero_milli_cpu);
        self.nonzero.1 = self.nonzero.1.saturating_sub(pod.nonzero_memory);
        true
    }

    /// Whether a sum is at the end of its range. Sums with a pod that takes everything are.
    pub(super) fn is_at_the_end(&self) -> bool {
        let Resource { milli_cpu, memory, ephemeral_storage, pods: _, scalars } = &self.requested;
        let (cpu, bytes) = self.nonzero;
        let mut all = [*milli_cpu, *memory, *ephemeral_storage, cpu, bytes].into_iter();
        all.any(|amount| amount == i64::MAX) || scalars.iter().any(|(_, amount)| *amount == i64::MAX)
    }
}
