//! Before a removal: who places pods of the name `default-scheduler` afterwards.

use crate::doctor::facts::{Facts, Part, holder, pod_name, some};
use crate::doctor::finding::Finding;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let standby = facts.kube_schedulers.as_ref().map_err(Clone::clone)?;
    facts.leases.as_ref().map_err(Clone::clone)?;
    let serves_default = facts.our_names().contains(&"default-scheduler");
    let names: Vec<String> = standby.iter().map(pod_name).collect();
    if serves_default && names.is_empty() {
        return Ok(vec![
            Finding::error("Bayplan serves `default-scheduler`, without a kube-scheduler on standby")
                .because("after the removal no pod of the cluster is placed: start kube-scheduler first; it waits for the lease")
                .then("mv /etc/kubernetes/kube-scheduler.yaml /etc/kubernetes/manifests/"),
        ]);
    }
    if serves_default {
        return Ok(vec![
            Finding::note(format!("kube-scheduler takes over: {}", some(names.iter().map(String::as_str))))
                .because("it takes the lease kube-system/kube-scheduler within 15 s after the last replica ended, and then decides without policies")
                .then("kubectl --namespace kube-system get lease kube-scheduler --output jsonpath='{.spec.holderIdentity}'"),
        ]);
    }
    let lease = facts.lease("kube-system", "kube-scheduler").filter(|lease| facts.is_held(lease));
    Ok(match lease.and_then(holder) {
        Some(holder) => vec![Finding::note(format!("{holder} places pods of the name `default-scheduler`, before and after"))],
        None => vec![
            Finding::warning("no process holds the lease kube-system/kube-scheduler")
                .because("which process places the pods of the name `default-scheduler` is not seen, as usual on a managed control plane")
                .then("kubectl get events --all-namespaces --field-selector reason=Scheduled"),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{installed, lease, nothing, pod};
    use crate::doctor::finding::Severity;

    #[test]
    fn a_scheduler_must_place_pods_afterwards() {
        let said = |served: &str, standby: bool, held: bool| {
            let standby =
                if standby { vec![pod("kube-scheduler-a", "default-scheduler", 1)] } else { Vec::new() };
            let leases =
                if held { vec![lease("kube-system", "kube-scheduler", "a_id", 1)] } else { Vec::new() };
            let facts = Facts {
                installations: vec![installed(served)],
                kube_schedulers: Ok(standby),
                leases: Ok(leases),
                ..nothing()
            };
            check(&facts).unwrap()[0].severity
        };
        assert_eq!(said("default-scheduler", false, true), Severity::Error);
        assert_eq!(said("default-scheduler", true, true), Severity::Note);
        assert_eq!(said("bayplan", false, true), Severity::Note);
        assert_eq!(said("bayplan", false, false), Severity::Warning);
    }
}
