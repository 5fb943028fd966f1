//! Policies whose present text is not in service.

use crate::doctor::facts::{Facts, Part};
use crate::doctor::finding::Finding;
use crate::policies::listing::{PolicyObject, State};

pub(super) fn check(facts: &Facts) -> Part<Vec<Finding>> {
    let policies = facts.policies.as_ref().map_err(Clone::clone)?;
    let runs = facts.published.iter().flatten().any(|of| of.is_fresh(facts.server_now()));
    Ok(policies.iter().filter_map(|object| of_object(object, runs)).collect())
}

fn of_object(object: &PolicyObject, runs: bool) -> Option<Finding> {
    let (namespace, name) = object.name.split_once('/').unwrap_or(("", &object.name));
    let shown = format!("kubectl --namespace {namespace} get configmap {name} --output yaml");
    match &object.state {
        State::Refused { problems, holds } => {
            let what = format!("the policy of ConfigMap {} is not in service", object.name);
            let instead = match (holds.is_empty(), object.serving.is_empty()) {
                (false, _) => "no earlier text is known, so the pods that it selects wait",
                (true, true) => "no earlier text is known, so it has no effect",
                (true, false) => "an earlier text serves",
            };
            let problem = problems.first().map(ToString::to_string).unwrap_or_default();
            let undo = match object.serving.first() {
                Some(serving) if holds.is_empty() => format!("bayplan policies show {}", serving.name),
                _ => shown,
            };
            Some(Finding::error(what).because(format!("{problem}; {instead}")).then(undo))
        }
        State::Waiting { why } => Some(
            Finding::warning(format!("the policy of ConfigMap {} waits", object.name))
                .because(why.clone())
                .then("bayplan policies"),
        ),
        State::Overridden { why } => Some(
            Finding::note(format!("the policy of ConfigMap {} is overridden", object.name))
                .because(why.clone())
                .then("bayplan policies"),
        ),
        State::Serving if runs && object.written.is_empty() => Some(
            Finding::warning(format!("no scheduler has judged the policy of ConfigMap {}", object.name))
                .because(format!(
                    "its object has no verdict: the scheduler does not read the namespace {namespace} \
                     (`--policy-namespaces`), or may not write there"
                ))
                .then(shown),
        ),
        State::Serving => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::testing::nothing;
    use crate::doctor::finding::Severity;

    #[test]
    fn what_is_not_in_service_says_what_serves_instead() {
        let said = |state: State| {
            let object = PolicyObject {
                name: "bayplan-policies/gpu".into(),
                present: Default::default(),
                serving: Vec::new(),
                state,
                written: "Invalid".into(),
            };
            check(&Facts { policies: Ok(vec![object]), ..nothing() }).unwrap().pop()
        };
        let refused = said(State::Refused { problems: Vec::new(), holds: vec!["gpu".into()] }).unwrap();
        assert_eq!(refused.severity, Severity::Error);
        assert!(refused.why.ends_with("the pods that it selects wait"), "{refused:?}");
        assert_eq!(said(State::Waiting { why: "of another".into() }).unwrap().why, "of another");
        assert_eq!(said(State::Serving), None);
    }
}
