//! Edits that may help against a policy's refusal: labels of the node and labels and annotations of
//! the pod that the refusing conditions read, and exceptions. `explain` tries them.

use super::PolicyPlugin;
use crate::framework::{Edit, Exempted, Handle};
use crate::lang::eval::context::EvalContext;
use crate::lang::eval::interpret::Evaluator;
use crate::lang::typed::reads::{ReadOf, ReadPath};
use crate::lang::typed::walk;
use crate::lang::typed::{Check, ExprKind, PrefilterStatement};
use crate::lang::types::value::Value;
use crate::model::{NodeInfo, Symbol};
use std::sync::Arc;

/// How many values of a key are proposed.
const VALUES: usize = 16;

/// Maximum number of nodes whose label values are tried.
const NODES: usize = 1_000;

impl PolicyPlugin {
    /// Edits against the refusal of a node, or of the pod before nodes are evaluated.
    pub(super) fn edits(&self, h: &Handle<'_>, node: Option<NodeInfo<'_>>) -> Vec<Edit> {
        let mut context = self.context(h, None);
        if let Some(node) = node {
            context = context.on(node);
        }
        let mut evaluator = Evaluator::new(&self.compiled.policy, context);
        let (mut edits, mut from) = (Vec::new(), Vec::new());
        for (rule, check) in self.checks_at(node.is_some()) {
            let holds = check.condition.as_ref().map(|condition| evaluator.holds(condition));
            if holds.unwrap_or(check.refuses_when) == check.refuses_when {
                self.edits_for(check, &context, &mut edits);
                let rule = rule.map(Symbol::new);
                if !from.contains(&rule) {
                    from.push(rule);
                }
            }
        }
        if !from.contains(&None) {
            from.push(None);
        }
        let policy = Symbol::new(self.compiled.name());
        let except = |rule| Edit::Except(Exempted { policy: policy.clone(), rule });
        edits.extend(from.into_iter().map(except));
        edits
    }

    /// The checks of filters with the names of these, or the checks that refuse a pod before nodes are evaluated.
    fn checks_at(&self, of_nodes: bool) -> Vec<(Option<&str>, &Check)> {
        let policy = &self.compiled.policy;
        if of_nodes {
            let filters = policy.filters.iter();
            return filters
                .flat_map(|filter| filter.checks.iter().map(|check| (Some(&*filter.name), check)))
                .collect();
        }
        let statements = policy.prefilters.iter().flat_map(|prefilter| &prefilter.statements);
        let checks = statements.filter_map(|statement| match statement {
            PrefilterStatement::Check(check) => Some(check),
            PrefilterStatement::Only(_) => None,
        });
        policy.gates.iter().chain(checks).map(|check| (None, check)).collect()
    }

    /// Another value for each label or annotation that a refusing check reads.
    fn edits_for(&self, check: &Check, context: &EvalContext<'_>, edits: &mut Vec<Edit>) {
        let constants = self.constants(check);
        for path in check.reads.paths.keys() {
            let (Some(field), Some(key)) = (path.field, path.key.as_deref()) else { continue };
            let key = Symbol::new(key);
            match (path.of, field.def().name) {
                (ReadOf::Node, "labels") => {
                    let Some(node) = context.node else { continue };
                    let has = node.label(&key).cloned();
                    let values = node_values(&constants, context, &key).into_iter().map(Some);
                    let values = [None].into_iter().chain(values).filter(|value| *value != has);
                    edits.extend(values.map(|value| Edit::NodeLabel { key: key.clone(), value }));
                }
                (ReadOf::Pod, "labels") => {
                    let has = context.pod.labels.get(&key).cloned();
                    let values = pod_values(&constants, check.reads.paths.keys(), context);
                    let values = [None].into_iter().chain(values.into_iter().map(Some));
                    let values = values.filter(|value| *value != has);
                    edits.extend(values.map(|value| Edit::PodLabel { key: key.clone(), value }));
                }
                (ReadOf::Pod, "annotations") => {
                    let has = context.pod.annotations.get(&key).map(Symbol::new);
                    let values = pod_values(&constants, check.reads.paths.keys(), context);
                    let values = [None].into_iter().chain(values.into_iter().map(Some));
                    let values = values.filter(|value| *value != has);
                    edits.extend(values.map(|value| Edit::PodAnnotation {
                        key: key.clone(),
                        value: value.map(|value| Arc::from(value.as_str())),
                    }));
                }
                _ => {}
            }
        }
    }

    /// The texts that the condition of a check names, without the keys that it reads.
    fn constants(&self, check: &Check) -> Vec<Symbol> {
        let mut found = Vec::new();
        if let Some(condition) = &check.condition {
            walk::any(&self.compiled.policy, condition, &mut |part| {
                if let ExprKind::Constant(constant) = &part.kind {
                    texts(constant, &mut found);
                }
                false
            });
        }
        let key =
            |text: &Symbol| check.reads.paths.keys().any(|path| path.key.as_deref() == Some(text.as_str()));
        found.retain(|text| !key(text));
        found
    }
}

fn texts(value: &Value<'_>, found: &mut Vec<Symbol>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| texts(item, found)),
        other => found.extend(other.as_str().map(Symbol::new)),
    }
}

/// Values for a label of the node: what the condition names, what the pod and other nodes have, and
/// the usual ones.
fn node_values(constants: &[Symbol], context: &EvalContext<'_>, key: &Symbol) -> Vec<Symbol> {
    let own = context.pod.labels.get(key).into_iter();
    let of_nodes = context.snapshot.nodes().take(NODES).filter_map(|info| info.label(key));
    let of_pod = context.pod.labels.iter().map(|(_, value)| value);
    distinct(own.chain(constants).chain(of_nodes).chain(of_pod))
}

/// Values for a label or annotation of the pod: what the condition names, what the node has under
/// the labels that the condition reads, and the usual ones.
fn pod_values<'r>(
    constants: &[Symbol],
    reads: impl Iterator<Item = &'r ReadPath>,
    context: &EvalContext<'_>,
) -> Vec<Symbol> {
    let labels = reads.filter(|path| {
        path.of == ReadOf::Node && path.field.is_some_and(|field| field.def().name == "labels")
    });
    let of_node = labels
        .filter_map(|path| path.key.as_deref())
        .filter_map(|key| context.node.and_then(|node| node.label(&Symbol::new(key))));
    distinct(constants.iter().chain(of_node))
}

/// The first distinct values, followed by the usual ones.
fn distinct<'v>(values: impl Iterator<Item = &'v Symbol>) -> Vec<Symbol> {
    let usual = [Symbol::new("1"), Symbol::new("true")];
    let mut found: Vec<Symbol> = Vec::new();
    for value in values.cloned().chain(usual) {
        if found.len() < VALUES && !found.contains(&value) {
            found.push(value);
        }
    }
    found
}
