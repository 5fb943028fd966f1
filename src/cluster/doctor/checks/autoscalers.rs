//! Node autoscalers: they replay kube-scheduler's plugins and know no policies.

use crate::doctor::facts::{Facts, Part};
use crate::doctor::finding::Finding;

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let signs = facts.autoscalers.as_ref().map_err(Clone::clone)?;
    if signs.is_empty() || facts.policies.iter().flatten().next().is_none() {
        return Ok(Vec::new());
    }
    Ok(vec![
        Finding::note(format!("a node autoscaler runs: {}", signs.join(", ")))
            .because(
                "it knows no policies: for a pod that a policy refuses everywhere it may add nodes that stay empty; `bayplan \
                 plan` says of each rule whether a new node may help and whether autoscalers know it",
            )
            .then("bayplan plan policies/"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::nothing;

    #[test]
    fn without_policies_an_autoscaler_knows_everything() {
        let facts = Facts { autoscalers: Ok(vec!["karpenter.sh".into()]), ..nothing() };
        assert!(check(&facts).unwrap().is_empty());
    }
}
