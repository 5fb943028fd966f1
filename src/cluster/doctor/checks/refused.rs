//! Pods that kubelets refused after they were bound: the room was given away twice, or a kubelet checks what no scheduler
//! knows.

use crate::doctor::facts::{Facts, Part, failed_at, is_static, node_of, pod_name, scheduler_of, some};
use crate::doctor::finding::Finding;
use crate::doctor::gather::RECENT;
use bayplan_model::lacking_resource;
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeMap;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let refused = facts.refused.as_ref().map_err(Clone::clone)?;
    if facts.installations.is_empty() {
        return Ok(Vec::new());
    }
    let since = facts.server_now() - RECENT;
    let mut recent: Vec<&Pod> =
        refused.pods.iter().filter(|pod| failed_at(pod).is_some_and(|at| at >= since)).collect();
    recent.sort_by_key(|pod| std::cmp::Reverse(failed_at(pod)));
    let Some(last) = recent.first() else { return Ok(Vec::new()) };
    let hours = RECENT.as_hours();
    let by = |key: fn(&Pod) -> &str| counted(recent.iter().map(|pod| key(pod)));
    let limit = if refused.more { "; of the first pods that failed" } else { "" };
    let what = format!(
        "kubelets refused {} in the last {hours} h, placed by {}: {}, on {}{limit}",
        pods(recent.len()),
        by(scheduler_of),
        by(reason),
        by(node_of)
    );
    let lacks_room = recent.iter().any(|pod| lacking_resource(reason(pod)).is_some());
    let others = counted(refused.beside.iter().map(placed_by));
    let why = match (lacks_room, others.is_empty()) {
        (true, false) => format!(
            "others have pods on these nodes: {others}; each sees the other's pods only after they are bound, so that both \
             promise the same room: give Bayplan nodes of its own with `--nodes` and a taint"
        ),
        (true, true) => {
            "no other scheduler has pods on these nodes now: the kubelets have less than the nodes say, or \
                         clients set `spec.nodeName`"
                .to_owned()
        }
        (false, _) => {
            "the kubelets checked what no scheduler knows, and wrote what into the status of each pod"
                .to_owned()
        }
    };
    Ok(vec![Finding::warning(what).because(why).then(format!("bayplan explain {}", pod_name(last)))])
}

fn reason(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.reason.as_deref()).unwrap_or_default()
}

fn placed_by(pod: &Pod) -> &str {
    if is_static(pod) { "files of the kubelet" } else { scheduler_of(pod) }
}

fn pods(number: usize) -> String {
    if number == 1 { "a pod".to_owned() } else { format!("{number} pods") }
}

/// Words with how often each occurs, the most frequent first.
fn counted<'t>(words: impl Iterator<Item = &'t str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += 1);
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), *word));
    let all: Vec<String> = counts.into_iter().map(|(word, count)| format!("{word} ({count})")).collect();
    some(all.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::Refused;
    use crate::doctor::facts::testing::{installed, nothing, pod};

    fn refused(name: &str, minutes: i64, reason: &str, node: &str) -> Pod {
        let mut pod = pod(name, "bayplan", minutes);
        pod.spec.get_or_insert_default().node_name = Some(node.into());
        let status = pod.status.get_or_insert_default();
        (status.phase, status.reason) = (Some("Failed".into()), Some(reason.into()));
        pod
    }

    fn said(pods: Vec<Pod>, beside: Vec<Pod>) -> Option<Finding> {
        let facts = Facts {
            installations: vec![installed("bayplan")],
            refused: Ok(Refused { pods, more: false, beside }),
            ..nothing()
        };
        check(&facts).unwrap().pop()
    }

    #[test]
    fn recent_refusals_are_counted_with_nodes_and_others() {
        let pods = vec![
            refused("a", 9, "OutOfcpu", "n1"),
            refused("b", 3, "OutOfcpu", "n1"),
            refused("c", 5, "OutOfpods", "n2"),
            refused("old", 24 * 60, "OutOfcpu", "n3"),
        ];
        let beside = vec![pod("x", "default-scheduler", 1), pod("y", "default-scheduler", 1)];
        let found = said(pods, beside).unwrap();
        assert_eq!(
            found.what,
            "kubelets refused 3 pods in the last 6 h, placed by bayplan (3): OutOfcpu (2), OutOfpods (1), on n1 (2), n2 (1)"
        );
        assert!(found.why.contains("others have pods on these nodes: default-scheduler (2)"), "{found:?}");
        assert_eq!(found.command, "bayplan explain shop/b");
    }

    #[test]
    fn what_others_did_not_take_is_not_laid_to_them() {
        let found = said(vec![refused("a", 1, "OutOfcpu", "n1")], Vec::new()).unwrap();
        assert!(found.what.starts_with("kubelets refused a pod in the last 6 h"), "{found:?}");
        assert!(found.why.starts_with("no other scheduler has pods on these nodes now"), "{found:?}");
        let found = said(vec![refused("a", 1, "SysctlForbidden", "n1")], vec![pod("x", "other", 1)]).unwrap();
        assert!(found.why.starts_with("the kubelets checked what no scheduler knows"), "{found:?}");
        assert_eq!(said(vec![refused("old", 24 * 60, "OutOfcpu", "n3")], Vec::new()), None);
    }
}
