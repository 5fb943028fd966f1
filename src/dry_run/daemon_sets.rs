//! Pods that name a DaemonSet which the cluster file does not hold: anybody may write an owner reference, so policies
//! apply to them as to any pod. Called by `cli` after it has read a cluster or a test file.

use super::World;
use bayplan_diag::{Diagnostic, codes};
use bayplan_lang::policy_set::PolicySet;
use bayplan_model::{Kind, Object, ObjectKey, OwnerReference, PodInfo, Symbol};
use bayplan_policy::{ExemptPods, daemon_set_named_by};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A warning at the first policy that would leave such a pod alone. `help` says how to add the DaemonSets.
pub fn missing(policies: &PolicySet, world: &World, help: &str) -> Option<Diagnostic> {
    let policy = policies.iter().find(|policy| !policy.policy.to_all_pods)?;
    let exempt = ExemptPods::default();
    let named = world.pending.iter().filter(|pod| !exempt.exempts(pod));
    let mut named = named.filter_map(|pod| Some((pod, daemon_set_named_by(pod)?))).peekable();
    named.peek()?;
    let sets = world.objects.iter().filter_map(|object| match object {
        Object::Other(object) if object.kind() == Kind::DaemonSet => Some(object.key()),
        _ => None,
    });
    let sets: FxHashSet<(Symbol, Symbol)> =
        sets.map(|ObjectKey { namespace, name, .. }| (namespace, name)).collect();
    let lacking = |(pod, owner): &(&Arc<PodInfo>, &OwnerReference)| {
        !sets.contains(&(pod.namespace.clone(), owner.name.clone()))
    };
    let (pod, owner) = named.find(lacking)?;
    let message = format!(
        "policies apply to pod `{}`: the cluster has no DaemonSet `{}/{}`, which it names as its owner",
        pod.full_name(),
        pod.namespace,
        owner.name
    );
    let warning = Diagnostic::new(&codes::DAEMON_SET_MISSING, policy.policy.name_span, message);
    Some(warning.with_label("refuses no pod of a DaemonSet that is there").with_help(help))
}
