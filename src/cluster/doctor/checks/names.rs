//! Two schedulers under one name: both bind the same pods, and neither knows what the other one has given away.

use crate::doctor::facts::{Facts, Part, some};
use crate::doctor::finding::Finding;
use jiff::Timestamp;
use std::collections::BTreeMap;

/// How often processes that bind pods of one name take turns until they serve at once: a replica takes over now and then.
const TURNS: usize = 5;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let published = facts.published.as_ref().map_err(Clone::clone)?;
    let events = facts.scheduled.as_ref().map_err(Clone::clone)?;
    // By name: which processes serve it.
    let mut servers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for of in published.iter().filter(|of| of.is_fresh(facts.server_now())) {
        for name in of.names() {
            servers.entry(name).or_default().push(format!("{} (ConfigMap {})", of.by, of.object));
        }
    }
    let mut configured: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    let mut bound: BTreeMap<&str, Vec<(Timestamp, &str)>> = BTreeMap::new();
    for event in events {
        if let (Some(name), Some(instance), Some(at)) =
            (&event.reporting_controller, &event.reporting_instance, &event.event_time)
        {
            bound.entry(name).or_default().push((at.0, instance));
        }
    }
    for (name, mut events) in bound {
        events.sort_unstable();
        let turns = events.windows(2).filter(|pair| matches!(pair, [(_, a), (_, b)] if a != b)).count();
        let known = servers.entry(name).or_default();
        if turns >= TURNS && known.len() < 2 {
            known.clear();
            for (_, instance) in events {
                if !known.iter().any(|known| known == instance) {
                    known.push(instance.to_owned());
                }
            }
        }
    }
    // Those that publish nothing, since they read policies from files.
    for of in &facts.installations {
        let lease = of.wanted.lease.as_ref().map(|(namespace, name)| format!("{namespace}/{name}"));
        let lease = lease.unwrap_or_else(|| "none".to_owned());
        for name in &of.names {
            let who = format!("{}/{} with the lease {lease}", of.workload.namespace, of.workload.name);
            configured.entry(name).or_default().insert(lease.clone(), who);
        }
    }
    for (name, by_lease) in configured {
        let known = servers.entry(name).or_default();
        if known.len() < 2 && by_lease.len() > 1 {
            *known = by_lease.into_values().collect();
        }
    }
    let twice = servers.into_iter().filter(|(_, by)| by.len() > 1);
    let all = twice.map(|(name, by)| {
        Finding::error(format!(
            "{} schedulers serve the name `{name}`: {}",
            by.len(),
            some(by.iter().map(String::as_str))
        ))
        .because(
            "schedulers of one name must share one lease; these have several, so that pods are bound twice and nodes are \
             overfilled: end one of them, or give it another name",
        )
        .then("kubectl get leases --all-namespaces | grep --extended-regexp 'bayplan|scheduler'")
    });
    Ok(all.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{installed, nothing, now, object};
    use jiff::SignedDuration;
    use k8s_openapi::api::events::v1::Event;
    use serde_json::json;

    #[test]
    fn two_installations_of_a_name_need_one_lease() {
        let said = |leases: [&str; 2]| {
            let installations = leases.map(|lease| {
                let mut of = installed("bayplan");
                of.wanted.lease = Some((lease.to_owned(), "bayplan".to_owned()));
                of.workload.namespace = lease.to_owned();
                of
            });
            check(&Facts { installations: installations.to_vec(), ..nothing() }).unwrap()
        };
        assert!(said(["a", "a"]).is_empty());
        assert_eq!(
            said(["a", "b"])[0].what,
            "2 schedulers serve the name `bayplan`: a/deploy/bayplan with the lease a/bayplan, b/deploy/bayplan with the lease \
             b/bayplan"
        );
    }

    fn event(instance: &str, second: i64) -> Event {
        let at = now() + SignedDuration::from_secs(second);
        object(json!({
            "metadata": {"name": "e"}, "eventTime": at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
            "reportingController": "bayplan", "reportingInstance": instance, "reason": "Scheduled",
        }))
    }

    #[test]
    fn two_that_bind_in_turns_serve_at_once_and_a_replica_that_takes_over_does_not() {
        let said = |events: Vec<Event>| check(&Facts { scheduled: Ok(events), ..nothing() }).unwrap();
        assert!(said(vec![event("a", 1), event("a", 2), event("b", 3), event("b", 4)]).is_empty());
        // Back to the first replica.
        assert!(said(vec![event("a", 1), event("b", 3), event("b", 4), event("a", 5)]).is_empty());
        let both = said((0..8).map(|at| event(if at % 2 == 0 { "a" } else { "b" }, at)).collect());
        assert_eq!(both[0].what, "2 schedulers serve the name `bayplan`: a, b");
    }
}
