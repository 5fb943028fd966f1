//! [`Collections`]: the pods that a policy sees and the members of its groups, made once for all evaluations about one
//! pod on one snapshot. Explanations evaluate a policy on every node; each node would visit all pods to find a group.
//!
//! The policy's plugin keeps one for each attempt. Pods that a simulation moved are not in it.

use super::context::EvalContext;
use crate::typed::GroupId;
use bayplan_model::PodInfo;
use std::sync::{Arc, OnceLock};

type Pods = OnceLock<Arc<[Arc<PodInfo>]>>;

/// The pods that a policy sees, and the members of its groups, each in the order of their keys.
#[derive(Clone, Default, Debug)]
pub struct Collections {
    pods: Pods,
    /// By the number of the group.
    groups: OnceLock<Arc<[Pods]>>,
}

impl Collections {
    /// All pods, which `find` finds the first time.
    pub(super) fn pods(&self, find: impl FnOnce() -> Vec<Arc<PodInfo>>) -> Vec<&PodInfo> {
        self.pods.get_or_init(|| find().into()).iter().map(|pod| &**pod).collect()
    }

    /// The members of a group, one of so many, if they were found before.
    pub(super) fn members(&self, group: GroupId) -> Option<impl Iterator<Item = &PodInfo>> {
        let known = self.groups.get()?.get(group.index())?.get()?;
        Some(known.iter().map(|pod| &**pod))
    }

    /// Remembers the members of a group of a policy with so many groups.
    pub(super) fn remember(&self, group: GroupId, groups: usize, members: &[&PodInfo], of: &EvalContext<'_>) {
        let all = self.groups.get_or_init(|| (0..groups).map(|_| Pods::new()).collect());
        if let Some(place) = all.get(group.index()) {
            let _ = place.set(members.iter().map(|pod| of.shared(pod)).collect());
        }
    }
}
