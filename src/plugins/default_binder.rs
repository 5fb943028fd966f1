//! Binds a pod by a POST to its `binding` subresource.
//!
//! Source: `pkg/scheduler/framework/plugins/defaultbinder/default_binder.go`.

use crate::framework::{
    ApiCall, ArgsError, Bind, BindOutcome, Features, Handle, Plugin, Reads, Status, Tree,
};
use crate::model::{Kind, NodeId, ObjectKey};
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
    fn bind(&self) -> Option<&dyn Bind> {
        Some(self)
    }
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
        Ok(BindOutcome::Send(ApiCall::Bind { pod, node: node.name().clone(), annotations: Vec::new() }))
    }
}
