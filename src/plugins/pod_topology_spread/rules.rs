//! The constraints of an attempt: the pod's own, or the defaults with the selector that Services and controllers give
//! the pod.
//!
//! Source: `podtopologyspread/common.go`; `plugins/helper/spread.go` for the selector.

use super::PodTopologySpread;
use bayplan_model::{
    LabelSelector, Labels, PodInfo, PodMatch, ReplicaSet, ReplicationController, Service, Snapshot,
    SpreadConstraint, SpreadSelector, StatefulSet, Symbol,
};
use smallvec::SmallVec;
use std::sync::Arc;

/// A constraint of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) max_skew: i32,
    /// The node label whose values are the domains.
    pub(super) topology_key: Symbol,
    pub(super) min_domains: i32,
    pub(super) honor_affinity: bool,
    pub(super) honor_taints: bool,
    /// The pods of the namespace that it looks at; a match without selectors matches none.
    pub(super) pods: Arc<PodMatch>,
    /// Whether it looks at the pod of the attempt, which then makes the count of its domain larger.
    pub(super) matches_self: bool,
}

/// Few pods have more than two constraints.
pub(super) type Rules = SmallVec<[Rule; 2]>;

impl Rule {
    fn new(of: &SpreadConstraint, pods: Arc<PodMatch>, pod: &PodInfo) -> Self {
        Self {
            max_skew: of.max_skew,
            topology_key: of.topology_key.clone(),
            min_domains: of.min_domains,
            honor_affinity: of.honor_affinity,
            honor_taints: of.honor_taints,
            matches_self: matches(&pods, &pod.labels),
            pods,
        }
    }

    /// Whether it looks at a pod of the namespace with these labels.
    pub(super) fn matches(&self, labels: &Labels) -> bool {
        matches(&self.pods, labels)
    }

    /// Whether it counts pods that are placed. A selector that matches every pod counts none, though it matches the
    /// pod of the attempt.
    pub(super) fn counts(&self) -> bool {
        !self.pods.selectors.iter().all(LabelSelector::is_empty)
    }
}

fn matches(pods: &PodMatch, labels: &Labels) -> bool {
    !pods.selectors.is_empty() && pods.selectors.iter().all(|selector| selector.matches(labels))
}

impl PodTopologySpread {
    /// The hard or the soft constraints for a pod. The error is that of the first selector among them that cannot be
    /// parsed.
    pub(super) fn rules(&self, pod: &PodInfo, snapshot: &Snapshot, hard: bool) -> Result<Rules, Box<str>> {
        let own = own(pod);
        if own.is_empty() {
            return Ok(self.default_rules(pod, snapshot, |of| of.hard == hard));
        }
        own.iter().filter(|of| of.hard == hard).map(|of| own_rule(of, pod)).collect()
    }

    /// The constraints for a pod whose selectors can be parsed, hard and soft.
    pub(super) fn all_rules(&self, pod: &PodInfo, snapshot: &Snapshot) -> Rules {
        match own(pod) {
            [] => self.default_rules(pod, snapshot, |_| true),
            own => own.iter().filter_map(|of| own_rule(of, pod).ok()).collect(),
        }
    }

    /// The defaults that `which` takes. A pod that no Service and no controller selects has none.
    fn default_rules(
        &self,
        pod: &PodInfo,
        snapshot: &Snapshot,
        which: impl Fn(&SpreadConstraint) -> bool,
    ) -> Rules {
        let mut defaults = self.defaults.constraints.iter().filter(|of| which(of)).peekable();
        if defaults.peek().is_none() {
            return Rules::new();
        }
        let selectors = default_selectors(pod, snapshot);
        if selectors.is_empty() {
            return Rules::new();
        }
        let pods = Arc::new(PodMatch::in_namespace(&pod.namespace, selectors));
        defaults.map(|of| Rule::new(of, pods.clone(), pod)).collect()
    }
}

/// The constraints that the pod has itself. One of either kind switches all defaults off.
pub(super) fn own(pod: &PodInfo) -> &[SpreadConstraint] {
    pod.constraints.as_ref().map_or(&[], |constraints| &constraints.spread)
}

fn own_rule(of: &SpreadConstraint, pod: &PodInfo) -> Result<Rule, Box<str>> {
    let selector = match &of.selector {
        SpreadSelector::None => None,
        SpreadSelector::Of(selector) => Some(selector.clone()),
        SpreadSelector::Invalid(error) => return Err(error.clone()),
    };
    Ok(Rule::new(of, Arc::new(PodMatch::in_namespace(&pod.namespace, selector)), pod))
}

/// The selectors of the Services that select the pod and of the controller that owns it, without those that match
/// everything.
fn default_selectors(pod: &PodInfo, snapshot: &Snapshot) -> SmallVec<[LabelSelector; 2]> {
    let services: SmallVec<[&Labels; 2]> =
        snapshot.selecting::<Service>(pod).map(|service| &service.selector).collect();
    let labels = |of: &Labels| LabelSelector::of_labels(of);
    let mut selectors: SmallVec<[LabelSelector; 2]> = services.iter().map(|of| labels(of)).collect();
    let Some(owner) = pod.owners.iter().find(|owner| owner.controller) else { return selectors };
    let (namespace, name) = (&pod.namespace, &owner.name);
    match (owner.api_version.as_str(), owner.kind.as_str()) {
        ("v1", "ReplicationController") => {
            let Some(controller) = snapshot.object::<ReplicationController>(namespace, name) else {
                return selectors;
            };
            // The controller is found by name and need not match the pod: its values go before those of Services.
            let of_controller = &controller.selector;
            for (selector, of) in selectors.iter_mut().zip(&services) {
                if of.iter().any(|(key, _)| of_controller.get(key).is_some()) {
                    let others = of.iter().filter(|(key, _)| of_controller.get(key).is_none());
                    *selector = labels(&others.map(|(key, value)| (key.clone(), value.clone())).collect());
                }
            }
            selectors.push(labels(of_controller));
        }
        ("apps/v1", "ReplicaSet") => {
            let of = snapshot.object::<ReplicaSet>(namespace, name).and_then(|of| of.selector.clone());
            selectors.extend(of);
        }
        ("apps/v1", "StatefulSet") => {
            let of = snapshot.object::<StatefulSet>(namespace, name).and_then(|of| of.selector.clone());
            selectors.extend(of);
        }
        _ => {}
    }
    selectors.retain(|selector| !selector.is_empty());
    selectors
}
