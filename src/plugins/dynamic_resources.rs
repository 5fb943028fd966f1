//! Pods without resource claims pass, as with kube-scheduler's plugin: its PostFilter says so in every refusal, and its
//! score is 0. The allocation of devices is not built: a pod with resource claims is refused on every node, by name.
//!
//! Source: `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`.

use bayplan_framework::{
    ActionType, ArgsError, ClusterEvent, Code, EnqueueExtensions, EventRegistration, EventResource, Features,
    Field, Fields, Filter, Handle, Impact, NodeToStatus, Normalize, Plugin, PluginsRunner, PostFilter,
    PostFilterOutcome, PreFilter, PreFilterOutcome, QueueingHint, Reads, Score, StateSlot, Status, Tree,
    Verdicts,
};
use bayplan_model::{ConstraintKinds, Duration, NodeInfo, NodeSet, PodInfo, Symbol, VersionRow};
use std::sync::Arc;

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let mut errors = Vec::new();
    let fields =
        Field::root(args).object(&["apiVersion", "kind", "filterTimeout", "bindingTimeout"], &mut errors);
    check(&fields, "filterTimeout", Duration(0), "must be zero or positive", &mut errors);
    check(&fields, "bindingTimeout", Duration::from_seconds(1), "must be at least 1 second", &mut errors);
    if errors.is_empty() { Ok(Arc::new(DynamicResources)) } else { Err(errors) }
}

/// Checks an argument. Both arguments are about pods with claims, which wait.
fn check(fields: &Fields, name: &str, least: Duration, problem: &str, errors: &mut Vec<ArgsError>) {
    let Some(field) = fields.get(name) else { return };
    let Some(text) = field.string(errors) else { return };
    match Duration::parse(text) {
        Ok(given) if given < least => errors.push(field.error(problem)),
        Ok(_) => {}
        Err(error) => errors.push(field.error(error.to_string())),
    }
}

struct DynamicResources;

/// PreFilter ran: upstream's state of an attempt, without claims.
#[derive(Clone)]
struct Ran;

/// Names of the pod's resource claims.
fn claims(pod: &PodInfo) -> impl Iterator<Item = &Symbol> {
    let all = pod.constraints.iter().flat_map(|constraints| constraints.list.iter());
    all.filter(|constraint| constraint.kind.intersects(ConstraintKinds::RESOURCE_CLAIMS)).map(|of| &of.name)
}

/// The refusal of a pod with claims.
fn refusal(pod: &PodInfo) -> Option<Status> {
    let names: Vec<&str> = claims(pod).map(Symbol::as_str).collect();
    (!names.is_empty()).then(|| Status::unresolvable(format!("node(s) not checked: {}", names.join(", "))))
}

impl Plugin for DynamicResources {
    fn name(&self) -> &str {
        "DynamicResources"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    fn not_checked(&self, h: &Handle) -> Vec<(Impact, Symbol)> {
        claims(h.pod).map(|name| (Impact::Refuse, name.clone())).collect()
    }
    bayplan_framework::serves!(EnqueueExtensions, PreFilter, Filter, PostFilter, Score);
}

impl PreFilter for DynamicResources {
    fn pre_filter(&self, h: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        state.put(Ran);
        Ok(match claims(h.pod).next() {
            Some(_) => PreFilterOutcome::AllNodes,
            None => PreFilterOutcome::Skip,
        })
    }
}

impl Filter for DynamicResources {
    fn filter(&self, h: &Handle, _: NodeInfo) -> Result<(), Status> {
        refusal(h.pod).map_or(Ok(()), Err)
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let Some(status) = refusal(h.pod) else { return };
        let status = out.status(status);
        for (word, rows) in nodes.words().iter().enumerate() {
            out.refuse_rows(word, *rows, status);
        }
    }
}

impl PostFilter for DynamicResources {
    fn post_filter(&self, h: &Handle, _: &NodeToStatus, _: &mut dyn PluginsRunner) -> PostFilterOutcome {
        PostFilterOutcome::not(match h.state::<Ran>() {
            // A PreFilter before this one refused the pod.
            None => Status::error("not found"),
            Some(Ran) if h.snapshot.version_rows().has(VersionRow::NoClaimsText) => {
                Status::with_reasons(Code::Unschedulable, [])
            }
            Some(Ran) if claims(h.pod).next().is_some() => Status::unschedulable("still not schedulable"),
            Some(Ran) => Status::unschedulable("no new claims to deallocate"),
        })
    }
}

impl Score for DynamicResources {
    fn score(&self, _: &Handle, _: NodeInfo) -> Result<i64, Status> {
        Ok(0)
    }
    fn is_zero(&self, _: &Handle) -> bool {
        true
    }
    fn normalize(&self) -> Normalize {
        Normalize::Max
    }
}

impl EnqueueExtensions for DynamicResources {
    fn events(&self) -> Vec<EventRegistration> {
        let nodes =
            ActionType::ADD.with(ActionType::UPDATE_NODE_LABEL).with(ActionType::UPDATE_NODE_ALLOCATABLE);
        let resource = EventResource::TargetPod;
        let claim = EventRegistration { resource, actions: ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM };
        vec![super::nodes(nodes), claim]
    }

    /// No event helps a pod whose claims are not checked.
    fn hint(&self, h: &Handle, _: &ClusterEvent) -> QueueingHint {
        if claims(h.pod).next().is_some() { QueueingHint::Skip } else { QueueingHint::Queue }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map};
    use bayplan_model::testing::{node, pod};
    use serde_json::json;

    #[test]
    fn a_pod_with_claims_waits_and_others_pass() {
        let trial = Trial::of("DynamicResources", vec![node("a").object()]);
        assert_eq!(trial.refused(&pod("p").build()), map::<&str, _>([]));
        assert_eq!(trial.scores(&pod("p").build()), map([("a", 0)]));
        let claims = json!([{"name": "gpu", "resourceClaimName": "gpu"}]);
        let with = pod("p").set("spec.resourceClaims", claims).build();
        let text = "UnschedulableAndUnresolvable: node(s) not checked: resourceClaims";
        assert_eq!(trial.refused(&with), map([("a", text)]));
    }
}
