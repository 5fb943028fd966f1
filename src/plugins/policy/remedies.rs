//! Edits that may help against a policy's refusal: labels of the node and labels and annotations of
//! the pod that the refusing conditions read, and exceptions. `explain` tries them.

use super::PolicyPlugin;
use super::attempt::Absent;
use bayplan_framework::{Edit, Exempted, Handle};
use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::interpret::Evaluator;
use bayplan_lang::language::fields::{FieldDef, Meaning, ObjectType};
use bayplan_lang::typed::reads::{ReadOf, ReadPath};
use bayplan_lang::typed::{Check, Expr, ExprKind, Point};
use bayplan_lang::typed::{Rule, walk};
use bayplan_lang::types::Type;
use bayplan_lang::types::value::{Value, named_resources};
use bayplan_model::{NodeInfo, Symbol, rounded_down, value_problem};
use std::sync::Arc;

/// A request up to which every smaller one is proposed: a number of devices.
const SMALL: i64 = 64;

/// Of larger requests at least this part is proposed.
const SLIVER: i64 = 16;

/// How many values of a key are proposed.
const VALUES: usize = 16;

/// Maximum number of nodes whose label values are tried.
const NODES: usize = 1_000;

impl PolicyPlugin {
    /// Edits against the refusal of a node, or of the pod before nodes are evaluated.
    pub(super) fn edits(&self, h: &Handle<'_>, node: Option<NodeInfo<'_>>) -> Vec<Edit> {
        let mut context = self.explained(h, h.state());
        if let Some(node) = node {
            context = context.on(node);
        }
        let mut evaluator = Evaluator::new(&self.compiled.policy, context);
        let (mut edits, mut from) = (Vec::new(), Vec::new());
        for (rule, check) in self.checks_at(node.is_some()) {
            let holds = check.condition.as_ref().map(|condition| evaluator.holds(condition));
            if holds.unwrap_or(check.refuses_when) == check.refuses_when {
                let sums = !check.reads.ledgers.is_empty();
                if node.is_none() || matches!(rule, Some("reserve" | "permit")) || sums {
                    self.less(check, &context, &mut edits);
                }
                if sums && !edits.iter().any(Edit::is_wait) {
                    edits.push(Edit::ComesFree { resource: Symbol::new("pods"), amount: 1 });
                }
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
        edits.retain(|edit| !self.is_left_by(edit, &context));
        edits.extend(from.into_iter().map(except));
        edits
    }

    /// Whether the policy does not apply to the pod after an edit: that does not follow it.
    fn is_left_by(&self, edit: &Edit, context: &EvalContext<'_>) -> bool {
        let (entries, key) = match edit {
            Edit::PodLabel { key, .. } => (Meaning::Labels, key),
            Edit::PodAnnotation { key, .. } => (Meaning::Annotations, key),
            _ => return false,
        };
        let reads = |path: &ReadPath| {
            let same_key = path.key.as_deref().is_none_or(|of| of == key.as_str());
            path.of == ReadOf::Pod
                && same_key
                && path.field.is_none_or(|of| of.def().meaning == Some(entries))
        };
        if !self.compiled.deciding.paths.keys().any(reads) {
            return false;
        }
        let Some(pod) = Edit::edited_pod(context.pod, std::slice::from_ref(edit)) else { return true };
        let context = EvalContext { pod: &pod, ..*context };
        !self.applies(context) || matches!(self.missing(context), Absent::Skip)
    }

    /// The largest request of each resource that a check lets pass, where it reads requests, and how much must come free
    /// for the whole request.
    fn less(&self, check: &Check, context: &EvalContext<'_>, edits: &mut Vec<Edit>) {
        let of_requests = |path: &ReadPath| {
            path.of == ReadOf::Pod && path.field.is_some_and(|field| holds_requests(field.def()))
        };
        if !check.reads.paths.keys().any(of_requests) {
            return;
        }
        for (resource, requested) in named_resources(&context.pod.requests) {
            let passes = |amount: i64| {
                let edit = Edit::Request { resource: resource.clone(), amount };
                let Some(pod) = Edit::edited_pod(context.pod, &[edit]) else { return false };
                let context = EvalContext { pod: &pod, ..*context };
                let condition = check.condition.as_ref();
                let holds = condition.map(|of| Evaluator::new(&self.compiled.policy, context).holds(of));
                holds.unwrap_or(check.refuses_when) != check.refuses_when
            };
            if resource.as_str() == "pods" || requested < 2 || !passes(0) {
                continue;
            }
            let (mut low, mut high) = (0, requested);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if passes(middle) { low = middle } else { high = middle }
            }
            let amount = rounded_down(&resource, low);
            // A pod has little use for a sliver of its request.
            if amount > 0 && (requested <= SMALL || amount >= requested / SLIVER) {
                edits.push(Edit::Request { resource: resource.clone(), amount });
            }
            // What must come free for a node differs from node to node.
            let counted = !check.reads.ledgers.is_empty() || !check.reads.groups.is_empty();
            if counted && context.node.is_none() {
                edits.push(Edit::ComesFree { resource, amount: requested - amount });
            }
        }
    }

    /// The checks of a node, before and after it is chosen, with the names of their rules, or the checks that refuse a
    /// pod before nodes are evaluated.
    fn checks_at(&self, of_nodes: bool) -> Vec<(Option<&str>, &Check)> {
        let of = self.compiled.rules();
        if of_nodes {
            let rules = [Point::Filter, Point::Reserve, Point::Permit].into_iter();
            return rules
                .flat_map(|point| of.at(point))
                .flat_map(|rule| rule.checks().map(move |check| (Some(rule.name()), check)))
                .collect();
        }
        let before = [Point::PreEnqueue, Point::PreFilter].into_iter().flat_map(|point| of.at(point));
        before.flat_map(Rule::checks).map(|check| (None, check)).collect()
    }

    /// Another value for each label or annotation that a refusing check reads.
    fn edits_for(&self, check: &Check, context: &EvalContext<'_>, edits: &mut Vec<Edit>) {
        let constants = self.constants(check);
        // A label by which a ledger counts says who pays.
        let pays = !check.reads.ledgers.is_empty();
        for path in check.reads.paths.keys().filter(|path| !pays || path.of != ReadOf::Pod) {
            let (Some(field), Some(key)) = (path.field, path.key.as_deref()) else { continue };
            let key = Symbol::new(key);
            match (path.of, field.def().meaning) {
                (ReadOf::Node, Some(Meaning::Labels)) => {
                    let Some(node) = context.node else { continue };
                    let has = node.label(&key).cloned();
                    let values = node_values(&constants, check.reads.paths.keys(), context, &key)
                        .into_iter()
                        .map(Some);
                    let values = [None].into_iter().chain(values).filter(|value| *value != has);
                    edits.extend(values.map(|value| Edit::NodeLabel { key: key.clone(), value }));
                }
                (ReadOf::Pod, Some(Meaning::Labels)) => {
                    let has = context.pod.labels.get(&key).cloned();
                    let values = pod_values(&constants, check.reads.paths.keys(), context);
                    let values = [None].into_iter().chain(values.into_iter().map(Some));
                    let values = values.filter(|value| *value != has);
                    edits.extend(values.map(|value| Edit::PodLabel { key: key.clone(), value }));
                }
                (ReadOf::Pod, Some(Meaning::Annotations)) => {
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
        // What a text is searched for is a part of a value, or a pattern.
        let mut parts = Vec::new();
        if let Some(condition) = &check.condition {
            walk::any(&self.compiled.policy, condition, &mut |part| {
                match &part.kind {
                    ExprKind::Constant(constant) if !parts.contains(&part.span) => {
                        texts(constant, &mut found);
                    }
                    ExprKind::Call(_, args, _) if args.first().is_some_and(is_text) => {
                        parts.extend(args.iter().map(|arg| arg.span));
                    }
                    _ => {}
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

fn is_text(expr: &Expr) -> bool {
    *expr.ty.present() == Type::String
}

fn texts(value: &Value<'_>, found: &mut Vec<Symbol>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| texts(item, found)),
        other => found.extend(other.as_str().map(Symbol::new)),
    }
}

/// Whether a field of a pod holds what it requests.
fn holds_requests(field: &FieldDef) -> bool {
    field.meaning == Some(Meaning::Requests) || field.objects() == Some(ObjectType::GpuRequest)
}

/// Values for a label of the node: what the pod has under the labels that the condition reads, what the condition names,
/// and what other nodes have.
fn node_values<'r>(
    constants: &[Symbol],
    reads: impl Iterator<Item = &'r ReadPath>,
    context: &EvalContext<'_>,
    key: &Symbol,
) -> Vec<Symbol> {
    let of_pod: Vec<Symbol> = reads
        .filter(|path| path.of == ReadOf::Pod)
        .filter_map(|path| {
            let of = path.key.as_deref()?;
            match path.field?.def().meaning? {
                Meaning::Labels => context.pod.labels.get(&Symbol::new(of)).cloned(),
                Meaning::Annotations => context.pod.annotations.get(&Symbol::new(of)).map(Symbol::new),
                _ => None,
            }
        })
        .collect();
    let of_nodes = context.snapshot.nodes().take(NODES).filter_map(|info| info.label(key));
    let values = distinct(of_pod.iter().chain(constants).chain(of_nodes));
    values.into_iter().filter(|value| value_problem(value).is_none()).collect()
}

/// Values for a label or annotation of the pod: what the condition names, what the node has under
/// the labels that the condition reads.
fn pod_values<'r>(
    constants: &[Symbol],
    reads: impl Iterator<Item = &'r ReadPath>,
    context: &EvalContext<'_>,
) -> Vec<Symbol> {
    let labels = reads.filter(|path| path.is_node_labels());
    let of_node = labels
        .filter_map(|path| path.key.as_deref())
        .filter_map(|key| context.node.and_then(|node| node.label(&Symbol::new(key))));
    distinct(constants.iter().chain(of_node))
}

/// The first distinct values.
fn distinct<'v>(values: impl Iterator<Item = &'v Symbol>) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = Vec::new();
    for value in values.cloned() {
        if found.len() < VALUES && !found.contains(&value) {
            found.push(value);
        }
    }
    found
}
