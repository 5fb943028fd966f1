//! Other schedulers that bind pods to the nodes. That is usual beside kube-scheduler; what they bind is room that goes away
//! between a look at the cluster and a binding.

use crate::doctor::facts::{Facts, Part, scheduler_of};
use crate::doctor::finding::Finding;
use std::collections::BTreeMap;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let (pods, more) = facts.foreign.as_ref().map_err(Clone::clone)?;
    let ours = facts.our_names();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !ours.contains(&scheduler_of(pod))) {
        *counts.entry(scheduler_of(pod)).or_default() += 1;
    }
    if counts.is_empty() || facts.installations.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = counts.iter().map(|(name, pods)| format!("{name} ({pods} pods)")).collect();
    let of = if *more { format!("; of the first {} pods", pods.len()) } else { String::new() };
    Ok(vec![
        Finding::note(format!("other schedulers bind pods to the nodes: {}{of}", names.join(", ")))
            .because(
                "each of them sees a binding of the other one a moment later; a pod that a kubelet refuses for lack of room \
                 is tried again",
            )
            .then(""),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::{installed, nothing, pod};

    #[test]
    fn other_schedulers_are_named_with_their_pods() {
        let pods = vec![pod("a", "default-scheduler", 1), pod("b", "volcano", 1), pod("c", "bayplan", 1)];
        let facts =
            Facts { installations: vec![installed("bayplan")], foreign: Ok((pods, false)), ..nothing() };
        assert_eq!(
            check(&facts).unwrap()[0].what,
            "other schedulers bind pods to the nodes: default-scheduler (1 pods), volcano (1 pods)"
        );
    }
}
