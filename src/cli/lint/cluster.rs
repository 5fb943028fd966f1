//! `lint --cluster`: names that a policy reads and that nothing in the cluster has, where something has
//! nearly the same name: keys and values of labels, annotations, attributes of devices, resources, namespaces, and texts that objects have in
//! a field, such as a priority class or the key of a taint.
//!
//! The check reads only the objects of the cluster file. `effect` counts the pods that a wrong name affects.

use crate::diag::suggest::Effort;
use crate::diag::{Code, Diagnostic, SourceMap, Span, codes};
use crate::dry_run::World;
use crate::lang::analysis::shape::{constant, resolve_alias};
use crate::lang::language::fields::{FieldDef, Meaning, ObjectType};
use crate::lang::typed::{Expr, ExprKind, Operation, Policy, Root, walk};
use crate::lang::types::value::{ReachedDevice, Value};
use crate::model::{Object, ResourceSlice, downcast};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys with their values, and how many objects have each.
#[derive(Debug, Default)]
struct Keys {
    /// How many objects there are.
    objects: usize,
    keys: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Keys {
    fn add<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
        self.objects += 1;
        for (key, value) in pairs {
            *self.keys.entry(key.to_owned()).or_default().entry(value.to_owned()).or_default() += 1;
        }
    }

    /// How many objects have a key.
    fn with(&self, key: &str) -> usize {
        self.keys.get(key).map_or(0, |values| values.values().sum())
    }
}

/// The names that the objects of a cluster have.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By the kind of object and the field: labels or annotations.
    keys: BTreeMap<(&'static str, &'static str), Keys>,
    /// Resources, and how many nodes offer each.
    resources: BTreeMap<String, usize>,
    nodes: usize,
    /// Namespaces, and how many pods each holds.
    namespaces: BTreeMap<String, usize>,
    /// The texts of fields that are names: by what has the field, and the field.
    fields: BTreeMap<(&'static str, &'static str), Values>,
    /// Nodes and pods as they were written, for the fields below `spec` and `status`.
    written: BTreeMap<&'static str, Vec<Arc<serde_json::Value>>>,
}

/// The texts that a field has.
#[derive(Debug, Default)]
struct Values {
    /// How many have the field, with a text or without.
    of: usize,
    /// How many have each text.
    texts: BTreeMap<String, usize>,
}

impl Values {
    fn add(&mut self, text: Option<&str>) {
        self.of += 1;
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            *self.texts.entry(text.to_owned()).or_default() += 1;
        }
    }
}

impl Names {
    /// The names in a cluster.
    pub(super) fn of(world: &World) -> Self {
        let mut names = Names::default();
        let pending = world.pending.iter().cloned().map(Object::Pod);
        for object in world.objects.iter().cloned().chain(pending) {
            names.add(&object);
        }
        names
    }

    fn add(&mut self, object: &Object) {
        let (kind, labels, annotations) = match object {
            Object::Node(node) => {
                self.nodes += 1;
                for (resource, _) in &node.allocatable.scalars {
                    *self.resources.entry(resource.to_string()).or_default() += 1;
                }
                self.text("node", "name", Some(&node.name));
                self.text("node", "region", node.region().map(|region| region.as_str()));
                for taint in node.taints.iter() {
                    self.text("taint", "key", Some(&taint.key));
                    self.text("taint", "value", Some(&taint.value));
                }
                self.written.entry("node").or_default().extend(node.raw.clone());
                ("node", &node.labels, &node.annotations)
            }
            Object::Pod(pod) => {
                *self.namespaces.entry(pod.namespace.to_string()).or_default() += 1;
                for (resource, _) in &pod.requests.scalars {
                    self.resources.entry(resource.to_string()).or_default();
                }
                self.text("pod", "priority_class", pod.priority_class.as_ref().map(|name| name.as_str()));
                self.text("pod", "scheduler", Some(&pod.scheduler_name));
                for toleration in pod.tolerations.iter() {
                    self.text("toleration", "key", Some(&toleration.key));
                    self.text("toleration", "value", Some(&toleration.value));
                }
                self.written.entry("pod").or_default().extend(pod.raw.clone());
                ("pod", &pod.labels, &pod.annotations)
            }
            Object::Namespace(namespace) => {
                self.namespaces.entry(namespace.name.to_string()).or_default();
                ("namespace", &namespace.labels, &namespace.annotations)
            }
            Object::Other(other) => {
                if let Some(slice) = downcast::<ResourceSlice>(&**other) {
                    self.devices(slice);
                }
                return;
            }
        };
        let pairs = labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        self.keys.entry((kind, "labels")).or_default().add(pairs);
        let pairs = annotations.iter().map(|(key, value)| (key.as_str(), value.as_ref()));
        self.keys.entry((kind, "annotations")).or_default().add(pairs);
    }
}

impl Names {
    fn devices(&mut self, slice: &ResourceSlice) {
        for device in slice.devices.iter() {
            self.text("device", "driver", Some(&slice.pool.driver));
            let attributes = ReachedDevice { slice, device }.attributes();
            let attributes = attributes.entries().unwrap_or_default();
            let pairs = attributes.iter().filter_map(|(name, text)| Some((name.as_str()?, text.as_str()?)));
            self.keys.entry(("device", "attributes")).or_default().add(pairs);
        }
    }

    fn text(&mut self, of: &'static str, field: &'static str, text: Option<&str>) {
        self.fields.entry((of, field)).or_default().add(text);
    }
}

/// Diagnostics about the names that a policy reads.
pub(super) fn check(policy: &Policy, names: &Names, sources: &SourceMap) -> Vec<Diagnostic> {
    let mut found = Found { names, sources, policy, said: Vec::new(), suggestions: Effort::default() };
    policy.for_each_expr(&mut |expr| found.visit(expr));
    found.said.sort_by_key(|said| (said.span.source, said.span.start));
    found.said.dedup_by_key(|said| said.span);
    found.said
}

struct Found<'a> {
    names: &'a Names,
    sources: &'a SourceMap,
    policy: &'a Policy,
    said: Vec<Diagnostic>,
    suggestions: Effort,
}

/// A field whose keys or values name objects: the kind of these objects, and the field.
#[derive(Clone, Copy)]
struct Place {
    kind: &'static str,
    field: &'static str,
}

/// The text of a constant.
fn text(expr: &Expr) -> Option<&str> {
    match &plain(expr).kind {
        ExprKind::Constant(Value::String(text)) => Some(text.as_str()),
        _ => None,
    }
}

/// An expression without the marks around it that change no value that is there, and those with which CEL says what
/// happens to one that is not.
fn plain(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Present(inner) => plain(inner),
        ExprKind::Dynamic(_, parts) if let [inner] = parts.as_slice() => plain(inner),
        _ => expr,
    }
}

/// What is compared in an expression, and whether with the elements of a list.
fn compared(expr: &Expr) -> Option<(&Expr, &Expr, bool)> {
    match &expr.kind {
        ExprKind::Equal(left, right) => Some((left, right, false)),
        ExprKind::In(left, right) => Some((left, right, true)),
        ExprKind::Dynamic(operation, parts) if let [left, right] = parts.as_slice() => match operation {
            Operation::Equal | Operation::NotEqual => Some((left, right, false)),
            Operation::In(_) => Some((left, right, true)),
            _ => None,
        },
        _ => None,
    }
}

/// What has a field, in words.
fn owner(row: &FieldDef) -> Option<&'static str> {
    Some(match row.owner {
        ObjectType::Pod => "pod",
        ObjectType::Node => "node",
        ObjectType::Taint => "taint",
        ObjectType::Toleration => "toleration",
        ObjectType::Device => "device",
        _ => return None,
    })
}

/// The path of a field below `spec`, `status` or `metadata` of the pod or a node: of what, and the keys.
fn api_path(expr: &Expr) -> Option<(&'static str, Vec<&str>)> {
    let (base, key) = match &plain(expr).kind {
        ExprKind::ApiField(base, key) => (base, &**key),
        ExprKind::Field(base, id) => (base, id.def().name),
        ExprKind::Coalesce(inner, _) => return api_path(inner),
        _ => return None,
    };
    match &plain(base).kind {
        ExprKind::Root(Root::Pod) => Some(("pod", vec![key])),
        ExprKind::Root(Root::Node) => Some(("node", vec![key])),
        _ => {
            let (of, mut keys) = api_path(base)?;
            keys.push(key);
            Some((of, keys))
        }
    }
}

/// Labels or annotations of an object.
fn keyed(expr: &Expr) -> Option<Place> {
    let ExprKind::Field(_, id) = &plain(expr).kind else { return None };
    let row = id.def();
    let kind = match row.owner {
        ObjectType::Pod => "pod",
        ObjectType::Node => "node",
        ObjectType::Namespace => "namespace",
        ObjectType::Device => "device",
        _ => return None,
    };
    row.meaning?.entry().map(|_| Place { kind, field: row.name })
}

/// Labels of an object with the key that is read: `node.labels["zone"]`, also with a default.
fn entry(expr: &Expr) -> Option<(Place, &str)> {
    match &plain(expr).kind {
        ExprKind::Index(base, key) => Some((keyed(base)?, text(key)?)),
        ExprKind::Dynamic(Operation::Index | Operation::OptionalIndex, parts) => {
            let [base, key] = parts.as_slice() else { return None };
            Some((keyed(base)?, text(key)?))
        }
        ExprKind::Coalesce(inner, _) => entry(inner),
        ExprKind::Dynamic(Operation::OrElse(_), parts) => entry(parts.first()?),
        ExprKind::Field(_, id) if id.def().meaning == Some(Meaning::Zone) => {
            Some((Place { kind: "node", field: "labels" }, id.def().label()?))
        }
        _ => None,
    }
}

/// Whether amounts are those of a device, whose capacities are not resources of nodes.
fn is_of_device(expr: &Expr) -> bool {
    matches!(&plain(expr).kind, ExprKind::Field(_, id) if id.def().owner == ObjectType::Device)
}

fn is_namespace(expr: &Expr) -> bool {
    match &plain(expr).kind {
        ExprKind::Field(_, id) => {
            let row = id.def();
            row.meaning == Some(Meaning::Namespace) && row.owner != ObjectType::LookedUp
        }
        _ => false,
    }
}

impl Found<'_> {
    fn visit(&mut self, expr: &Expr) {
        if let Some((left, right, among)) = compared(expr) {
            self.values(left, right);
            if !among {
                self.values(right, left);
            }
        }
        match &expr.kind {
            ExprKind::Index(base, key) => self.key(base, key),
            ExprKind::In(key, base) if keyed(base).is_some() => self.key(base, key),
            ExprKind::Dynamic(Operation::Index | Operation::OptionalIndex | Operation::In(_), parts)
                if let [first, second] = parts.as_slice() =>
            {
                self.key(first, second);
                self.key(second, first);
            }
            ExprKind::Resource(of, name) if !is_of_device(of) => self.resource(name),
            _ => {}
        }
        walk::each_part(expr, &mut |part| self.visit(part));
    }

    fn key(&mut self, base: &Expr, key: &Expr) {
        let (Some(place), Some(wanted)) = (keyed(base), text(key)) else { return };
        let Some(known) = self.names.keys.get(&(place.kind, place.field)) else { return };
        if known.keys.contains_key(wanted) {
            return;
        }
        let Some(near) = self.suggestions.nearest(wanted, known.keys.keys().map(String::as_str)) else {
            return;
        };
        let (what, kind) = (place.field.trim_end_matches('s'), place.kind);
        let message = format!("no {kind} has the {what} `{wanted}`");
        let label = have(known.with(near), known.objects, kind, near);
        self.say(&codes::NO_SUCH_LABEL, key.span, message, label, near);
    }

    /// The place of a string literal in a constant list, whose elements have no places of their own.
    fn literal(&self, list: Span, wanted: &str) -> Span {
        let literal = format!("\"{wanted}\"");
        let found = self.sources.text(list).find(&literal);
        found.map_or(list, |at| {
            let start = list.start as usize + at;
            Span::new(list.source, start, start + literal.len())
        })
    }

    /// Compares the constant texts of `value`, which may be a list, with what is read.
    fn values(&mut self, read: &Expr, value: &Expr) {
        let policy = self.policy;
        let (read, value) = (resolve_alias(policy, plain(read)), plain(value));
        match (constant(policy, value), &resolve_alias(policy, value).kind) {
            (Some(Value::List(values)), _) => {
                for wanted in values.iter().filter_map(Value::as_str) {
                    self.compare(read, wanted, self.literal(value.span, wanted));
                }
            }
            (Some(wanted), _) => {
                if let Some(wanted) = wanted.as_str() {
                    self.compare(read, wanted, value.span);
                }
            }
            (None, ExprKind::List(items)) => items.iter().for_each(|(item, _)| self.values(read, item)),
            _ => {}
        }
    }

    /// Compares a constant with the values that `read` can have.
    fn compare(&mut self, read: &Expr, wanted: &str, value: Span) {
        if is_namespace(read) {
            return self.namespace(value, wanted);
        }
        let Some((place, key)) = entry(read) else { return self.field(read, wanted, value) };
        let Some(known) = self.names.keys.get(&(place.kind, place.field)) else { return };
        let Some(values) = known.keys.get(key) else { return };
        if values.contains_key(wanted) {
            return;
        }
        let Some(near) = self.suggestions.nearest(wanted, values.keys().map(String::as_str)) else { return };
        let message = format!("no {} has the value `{wanted}` for `{key}`", place.kind);
        let label = have(values.get(near).copied().unwrap_or(0), known.objects, place.kind, near);
        self.say(&codes::NO_SUCH_VALUE, value, message, label, near);
    }

    /// Compares a constant with the texts that a field has.
    fn field(&mut self, read: &Expr, wanted: &str, value: Span) {
        let known = match (&plain(read).kind, api_path(read)) {
            (ExprKind::Coalesce(inner, _), _) => return self.field(inner, wanted, value),
            (ExprKind::Field(_, id), _)
                if let Some(of) = owner(id.def())
                    && let Some(known) = self.names.fields.get(&(of, id.def().name)) =>
            {
                Some((of, format!("the {} `{wanted}`", id.def().name.replace('_', " ")), known))
            }
            _ => None,
        };
        let written;
        let (of, what, known) = match (known, api_path(read)) {
            (Some(known), _) => known,
            (None, Some((of, keys))) => {
                written = self.written(of, &keys);
                let what = match keys.as_slice() {
                    [name] => format!("the {} `{wanted}`", name.replace('_', " ")),
                    path => format!("`{wanted}` in `{}`", path.join(".")),
                };
                (of, what, &written)
            }
            (None, None) => return,
        };
        if known.texts.contains_key(wanted) {
            return;
        }
        let near = self.suggestions.nearest(wanted, known.texts.keys().map(String::as_str));
        let Some(near) = near else { return };
        let message = format!("no {of} has {what}");
        let label = have(known.texts.get(near).copied().unwrap_or(0), known.of, of, near);
        self.say(&codes::NO_SUCH_VALUE, value, message, label, near);
    }

    /// The texts of a field below `spec`, `status` or `metadata`.
    fn written(&self, of: &'static str, keys: &[&str]) -> Values {
        // The account is short for a field of the API.
        let keys = if keys == ["service_account"] { &["spec", "serviceAccountName"] } else { keys };
        let mut values = Values::default();
        for object in self.names.written.get(of).into_iter().flatten() {
            values.add(object.pointer(&format!("/{}", keys.join("/"))).and_then(|found| found.as_str()));
        }
        values
    }

    fn namespace(&mut self, value: Span, wanted: &str) {
        let known = &self.names.namespaces;
        if known.contains_key(wanted) {
            return;
        }
        let Some(near) = self.suggestions.nearest(wanted, known.keys().map(String::as_str)) else { return };
        let pods = known.get(near).copied().unwrap_or(0);
        let label = match pods {
            1 => format!("`{near}` holds 1 pod"),
            many => format!("`{near}` holds {many} pods"),
        };
        let message = format!("no namespace is called `{wanted}`");
        self.say(&codes::NO_SUCH_NAMESPACE, value, message, label, near);
    }

    fn resource(&mut self, name: &Expr) {
        let Some(wanted) = text(name) else { return };
        // Every node has these.
        if !wanted.contains('/') && !wanted.starts_with("hugepages")
            || self.names.resources.contains_key(wanted)
        {
            return;
        }
        let known = || self.names.resources.keys().map(String::as_str);
        let near = self.suggestions.nearest(wanted, known());
        // `nvidia/gpu`: the domain is far from the right one, and the name is right.
        let own = |name: &str| name.rsplit('/').next().unwrap_or("").to_lowercase();
        let Some(near) = near.or_else(|| known().find(|known| own(known) == own(wanted))) else { return };
        let nodes = self.names.resources.get(near).copied().unwrap_or(0);
        let label = have(nodes, self.names.nodes, "node", near);
        let message = format!("no node has the resource `{wanted}`");
        self.say(&codes::NO_SUCH_RESOURCE, name.span, message, label, near);
    }

    fn say(&mut self, code: &'static Code, at: Span, message: String, label: String, near: &str) {
        let said = Diagnostic::new(code, at, message).with_label(label);
        self.said.push(said.with_help(format!("did you mean `{near}`?")));
    }
}

/// `488 of 500 nodes have `team``
fn have(with: usize, of: usize, kind: &str, name: &str) -> String {
    let (plural, verb) = (if of == 1 { "" } else { "s" }, if with == 1 { "has" } else { "have" });
    format!("{with} of {of} {kind}{plural} {verb} `{name}`")
}
