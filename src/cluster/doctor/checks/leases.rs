//! Who holds the lease of an installation. A kube-scheduler on standby of the same lease takes over when no replica renews, and
//! keeps it.

use crate::doctor::facts::{Facts, Installation, Part, holder};
use crate::doctor::finding::Finding;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    facts.leases.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    for of in &facts.installations {
        let Some((namespace, name)) = &of.wanted.lease else { continue };
        found.extend(of_lease(facts, of, facts.lease(namespace, name), (namespace, name)));
    }
    Ok(found)
}

fn of_lease(
    facts: &Facts,
    of: &Installation,
    lease: Option<&Lease>,
    (namespace, name): (&str, &str),
) -> Option<Finding> {
    let logs = format!("kubectl --namespace {} logs {}", of.workload.namespace, of.workload.name);
    let who = format!("{}/{}", of.workload.namespace, of.workload.name);
    let Some(lease) = lease else {
        return Some(
            Finding::error(format!("the lease {namespace}/{name} of {who} does not exist"))
                .because("no replica has ever led: the log says what it waits for")
                .then(logs),
        );
    };
    let Some(holder) = holder(lease) else {
        return Some(
            Finding::error(format!("no process holds the lease {namespace}/{name} of {who}"))
                .because("the last leader gave it back, and no other replica took it")
                .then(logs),
        );
    };
    let late = facts.unrenewed_for(lease).unwrap_or_default();
    if !late.is_zero() {
        return Some(
            Finding::error(format!(
                "the lease {namespace}/{name} of {who} is stale: {holder} should have renewed it {} s ago",
                late.as_secs()
            ))
            .because("the leader is gone or does not reach the API server, and no other replica takes over")
            .then(format!(
                "kubectl --namespace {} rollout restart {}",
                of.workload.namespace, of.workload.name
            )),
        );
    }
    if is_ours(facts, holder) {
        return None;
    }
    match on_host(facts, holder) {
        OnHost::Ours => return None,
        OnHost::Either => {
            return Some(
                Finding::note(format!("{holder} holds the lease {namespace}/{name} of {who}"))
                    .because("a replica and a kube-scheduler are on that host, and both would have this name: which of them leads is not seen")
                    .then(logs),
            );
        }
        OnHost::Other => {}
    }
    let error =
        Finding::error(format!("{holder} holds the lease {namespace}/{name} and is not a replica of {who}"));
    Some(if (namespace, name) == ("kube-system", "kube-scheduler") {
        error
            .because(
                "kube-scheduler was on standby of the lease and took over when no replica renewed it; pods are placed \
                 without policies until you take it back: end kube-scheduler on its host until a replica leads",
            )
            .then(
                "mv /etc/kubernetes/manifests/kube-scheduler.yaml /etc/kubernetes/; until kubectl --namespace kube-system get lease \
                 kube-scheduler --output jsonpath='{.spec.holderIdentity}' | grep ^bayplan; do sleep 1; done; mv \
                 /etc/kubernetes/kube-scheduler.yaml /etc/kubernetes/manifests/",
            )
    } else {
        error
            .because("another process uses the same lease: end it, or give it another `leaderElection.resourceName`")
            .then(format!("kubectl --namespace {namespace} get lease {name} --output yaml"))
    })
}

/// Whether a holder is a replica: its identity begins with the name of a pod of ours, or published our configuration.
fn is_ours(facts: &Facts, holder: &str) -> bool {
    let host = holder.rsplit_once('_').map_or(holder, |(host, _)| host);
    let mut pods = facts.own_pods.iter().flatten();
    let is_pod = pods.any(|pod| pod.metadata.name.as_deref() == Some(host));
    is_pod || facts.published.iter().flatten().any(|of| of.by == holder && of.is_fresh(facts.server_now()))
}

/// Which processes have the name of a holder that is a host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnHost {
    Ours,
    Either,
    Other,
}

/// A pod in the network of its host has the name of the host. One that published its configuration is known by that.
fn on_host(facts: &Facts, holder: &str) -> OnHost {
    let host = holder.rsplit_once('_').map_or(holder, |(host, _)| host);
    let is_there = |pods: &Part<Vec<Pod>>| {
        let specs = pods.iter().flatten().filter_map(|pod| pod.spec.as_ref());
        specs
            .filter(|spec| spec.host_network == Some(true))
            .any(|spec| spec.node_name.as_deref() == Some(host))
    };
    let publishes = facts.published.iter().flatten().any(|of| of.is_fresh(facts.server_now()));
    match (is_there(&facts.own_pods) && !publishes, is_there(&facts.kube_schedulers)) {
        (true, false) => OnHost::Ours,
        (true, true) => OnHost::Either,
        (false, _) => OnHost::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{installed, lease, nothing, pod};

    fn said(name: &str, leases: Vec<crate::doctor::facts::NamedLease>) -> Option<Finding> {
        let own = pod("bayplan-1", "default-scheduler", 9);
        let facts = Facts {
            installations: vec![installed(name)],
            leases: Ok(leases),
            own_pods: Ok(vec![own]),
            ..nothing()
        };
        check(&facts).unwrap().pop()
    }

    #[test]
    fn a_lease_is_held_by_a_replica_or_it_is_said_who_has_it() {
        assert_eq!(said("bayplan", vec![lease("bayplan", "bayplan", "bayplan-1_id", 3)]), None);
        let stale = said("bayplan", vec![lease("bayplan", "bayplan", "bayplan-1_id", 100)]).unwrap();
        assert!(stale.what.contains("bayplan-1_id should have renewed it 85 s ago"), "{stale:?}");
        assert!(
            said("bayplan", vec![lease("bayplan", "bayplan", "", 3)])
                .unwrap()
                .what
                .starts_with("no process holds")
        );
        assert!(said("bayplan", Vec::new()).unwrap().what.ends_with("does not exist"));
        let taken = said("default-scheduler", vec![lease("kube-system", "kube-scheduler", "master-1_id", 3)])
            .unwrap();
        assert!(
            taken.why.contains("kube-scheduler was on standby") && taken.command.contains("mv "),
            "{taken:?}"
        );
        let other = said("bayplan", vec![lease("bayplan", "bayplan", "stranger_id", 3)]).unwrap();
        assert!(other.what.starts_with("stranger_id holds the lease"), "{other:?}");
        assert!(other.why.contains("another process uses the same lease"), "{other:?}");
    }

    #[test]
    fn a_static_pod_has_the_name_of_its_host() {
        let on = |name: &str| {
            let mut pod = pod(name, "default-scheduler", 9);
            let spec = pod.spec.get_or_insert_default();
            (spec.host_network, spec.node_name) = (Some(true), Some("master-1".into()));
            pod
        };
        let said = |standby: Vec<Pod>| {
            let facts = Facts {
                installations: vec![installed("default-scheduler")],
                leases: Ok(vec![lease("kube-system", "kube-scheduler", "master-1_id", 3)]),
                own_pods: Ok(vec![on("bayplan-master-1")]),
                kube_schedulers: Ok(standby),
                ..nothing()
            };
            check(&facts).unwrap().pop().map(|finding| finding.severity)
        };
        assert_eq!(said(Vec::new()), None);
        assert_eq!(said(vec![on("kube-scheduler-master-1")]), Some(crate::doctor::finding::Severity::Note));
    }
}
