//! Watches that bring nothing: what the secure ports say; where none answers, what the API server shows of a leader.

use crate::doctor::facts::{Facts, Part};
use crate::doctor::finding::Finding;

/// The checks of `/readyz` that are about watches.
const OF_WATCHES: [&str; 2] = ["watch-age", "sched-handler-sync"];

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let mut found = Vec::new();
    for port in &facts.ports {
        let Ok(failing) = &port.failing else { continue };
        let stale: Vec<&str> =
            failing.iter().map(String::as_str).filter(|of| OF_WATCHES.contains(of)).collect();
        if stale.is_empty() {
            continue;
        }
        let what = match stale.contains(&"watch-age") {
            true => format!("a watch of {} is stale", port.of),
            false => format!("{} has not read the cluster yet", port.of),
        };
        found.push(
            Finding::error(what)
                .because(format!(
                    "its port says that {} fails: it schedules nothing until the watch is up to date; a connection that \
                     hangs, a proxy in between or an overloaded API server are the usual causes",
                    stale.join(", ")
                ))
                .then("kubectl get --raw /readyz?verbose"),
        );
    }
    if facts.ports.iter().any(|port| port.failing.is_ok()) {
        return Ok(found);
    }
    if let Some(port) = facts.ports.first()
        && let Err(why) = &port.failing
    {
        found.push(
            Finding::note(format!("the secure port of {} does not answer here", port.of))
                .because(format!(
                    "{why}; whether its watches are stale is judged by what the API server shows"
                ))
                .then(forward(&port.of)),
        );
    }
    for of in facts.published.iter().flatten().filter(|of| !of.is_fresh(facts.server_now())) {
        let seen = of.seen.map_or_else(|| "never".to_owned(), |seen| format!("at {seen}"));
        found.push(
            Finding::warning(format!("{} confirmed its configuration last {seen}", of.by))
                .because(format!(
                    "a leader confirms the ConfigMap {} every five minutes: it ended, it does not lead, or it does not \
                     reach the API server (seen at the API server, not at its port)",
                    of.object
                ))
                .then("bayplan policies"),
        );
    }
    Ok(found)
}

/// The lines that open the port of a pod here, and ask it.
fn forward(of: &str) -> String {
    let Some((namespace, name)) = of.strip_prefix("pod ").and_then(|pod| pod.split_once('/')) else {
        return String::new();
    };
    format!(
        "kubectl --namespace {namespace} port-forward pod/{name} 10259 & sleep 2; bayplan doctor --port https://127.0.0.1:10259"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::PortAnswer;
    use crate::doctor::facts::testing::nothing;

    #[test]
    fn a_stale_watch_is_seen_at_the_port() {
        let said = |failing: Result<Vec<String>, String>| {
            let port = PortAnswer { of: "https://127.0.0.1:10259".into(), failing };
            check(&Facts { ports: vec![port], ..nothing() }).unwrap()
        };
        assert!(said(Ok(Vec::new())).is_empty());
        assert!(said(Ok(vec!["rights".into()])).is_empty());
        let stale = said(Ok(vec!["watch-age".into()]));
        assert_eq!(stale[0].what, "a watch of https://127.0.0.1:10259 is stale");
        assert!(said(Err("refused".into()))[0].why.contains("what the API server shows"));
        assert!(forward("pod a/b").starts_with("kubectl --namespace a port-forward pod/b 10259 "));
    }
}
