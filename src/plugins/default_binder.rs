//! Binds a pod by a POST to its `binding` subresource.
//!
//! Source: `pkg/scheduler/framework/plugins/defaultbinder/default_binder.go`.

use bayplan_framework::{
    ApiCall, ArgsError, Bind, BindOutcome, Features, Handle, Plugin, Reads, Status, Tree,
};
use bayplan_model::{Kind, NodeId, ObjectKey, PodMarks};
use std::sync::Arc;

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    super::without_args(args, DefaultBinder)
}

struct DefaultBinder;

impl Plugin for DefaultBinder {
    fn name(&self) -> &str {
        "DefaultBinder"
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
    bayplan_framework::serves!(Bind);
}

impl Bind for DefaultBinder {
    fn bind(&self, h: &Handle, node: NodeId) -> Result<BindOutcome, Status> {
        let Some(node) = h.snapshot.node(node) else {
            return Err(Status::error("the chosen node is gone"));
        };
        let pod = ObjectKey {
            kind: Kind::Pod,
            namespace: h.pod.namespace.clone(),
            name: h.pod.name.clone(),
            uid: h.pod.uid.clone(),
        };
        Ok(BindOutcome::Send(ApiCall::Bind { pod, node: node.name().clone(), marks: PodMarks::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::Trial;
    use bayplan_framework::ApiCall;
    use bayplan_model::testing::{node, pod};

    #[test]
    fn the_call_names_pod_uid_and_node() {
        let trial = Trial::of("DefaultBinder", vec![node("n1").object()]);
        let ApiCall::Bind { pod, node, marks } = trial.bind(&pod("p").uid("u-1").build(), "n1") else {
            panic!("another call")
        };
        assert_eq!((pod.name.as_str(), pod.uid.as_str(), node.as_str()), ("p", "u-1", "n1"));
        assert!(marks.is_empty());
    }
}
