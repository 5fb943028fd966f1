//! `lint --cluster`: names that a policy reads and that nothing in the cluster has, where something has
//! nearly the same name: keys and values of labels, annotations, resources, namespaces.
//!
//! The check reads only the objects of the cluster file. `effect` counts the pods that a wrong name affects.

use crate::diag::suggest::Effort;
use crate::diag::{Code, Diagnostic, SourceMap, Span, codes};
use crate::dry_run::World;
use crate::lang::language::fields::ObjectType;
use crate::lang::typed::{Expr, ExprKind, Policy, walk};
use crate::lang::types::value::Value;
use crate::model::Object;
use std::collections::BTreeMap;

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
                ("node", &node.labels, &node.annotations)
            }
            Object::Pod(pod) => {
                *self.namespaces.entry(pod.namespace.to_string()).or_default() += 1;
                for (resource, _) in &pod.requests.scalars {
                    self.resources.entry(resource.to_string()).or_default();
                }
                ("pod", &pod.labels, &pod.annotations)
            }
            Object::Namespace(namespace) => {
                self.namespaces.entry(namespace.name.to_string()).or_default();
                ("namespace", &namespace.labels, &namespace.annotations)
            }
            // Policies read none.
            Object::Other(_) => return,
        };
        let pairs = labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        self.keys.entry((kind, "labels")).or_default().add(pairs);
        let pairs = annotations.iter().map(|(key, value)| (key.as_str(), value.as_ref()));
        self.keys.entry((kind, "annotations")).or_default().add(pairs);
    }
}

/// Diagnostics about the names that a policy reads.
pub(super) fn check(policy: &Policy, names: &Names, sources: &SourceMap) -> Vec<Diagnostic> {
    let mut found = Found { names, sources, said: Vec::new(), suggestions: Effort::default() };
    policy.for_each_expr(&mut |expr| found.visit(expr));
    found.said.sort_by_key(|said| (said.span.source, said.span.start));
    found.said.dedup_by_key(|said| said.span);
    found.said
}

struct Found<'a> {
    names: &'a Names,
    sources: &'a SourceMap,
    said: Vec<Diagnostic>,
    suggestions: Effort,
}

/// A field whose keys or values are names: of which kind of object, and which.
#[derive(Clone, Copy)]
struct Place {
    kind: &'static str,
    field: &'static str,
}

/// The text of a constant.
fn text(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Constant(Value::String(text)) => Some(text.as_str()),
        ExprKind::Present(inner) => text(inner),
        _ => None,
    }
}

/// Labels or annotations of an object.
fn keyed(expr: &Expr) -> Option<Place> {
    let ExprKind::Field(_, id) = &expr.kind else { return None };
    let row = id.def();
    let kind = match row.owner {
        ObjectType::Pod => "pod",
        ObjectType::Node => "node",
        ObjectType::Namespace => "namespace",
        _ => return None,
    };
    ["labels", "annotations"].into_iter().find(|field| *field == row.name).map(|field| Place { kind, field })
}

/// Labels of an object with the key that is read: `node.labels["zone"]`, also with a default.
fn entry(expr: &Expr) -> Option<(Place, &str)> {
    match &expr.kind {
        ExprKind::Index(base, key) => Some((keyed(base)?, text(key)?)),
        ExprKind::Present(inner) | ExprKind::Coalesce(inner, _) => entry(inner),
        ExprKind::Field(_, id) if id.def().owner == ObjectType::Node && id.def().name == "zone" => {
            Some((Place { kind: "node", field: "labels" }, "topology.kubernetes.io/zone"))
        }
        _ => None,
    }
}

fn is_namespace(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Field(_, id) => {
            let row = id.def();
            row.owner == ObjectType::Pod && row.name == "namespace"
                || row.owner == ObjectType::Namespace && row.name == "name"
        }
        _ => false,
    }
}

impl Found<'_> {
    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Index(base, key) => self.key(base, key),
            ExprKind::In(key, base) if keyed(base).is_some() => self.key(base, key),
            ExprKind::Equal(left, right) => {
                self.value(left, right);
                self.value(right, left);
            }
            ExprKind::In(item, list) => match &list.kind {
                ExprKind::List(values) => values.iter().for_each(|(value, _)| self.value(item, value)),
                ExprKind::Constant(Value::List(values)) => {
                    for value in values.iter() {
                        if let Value::String(wanted) = value {
                            self.compare(item, wanted.as_str(), self.literal(list.span, wanted.as_str()));
                        }
                    }
                }
                _ => {}
            },
            ExprKind::Resource(_, name) => self.resource(name),
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

    fn value(&mut self, read: &Expr, value: &Expr) {
        if let Some(wanted) = text(value) {
            self.compare(read, wanted, value.span);
        }
    }

    /// Compares a constant with the values that `read` can have.
    fn compare(&mut self, read: &Expr, wanted: &str, value: Span) {
        if is_namespace(read) {
            return self.namespace(value, wanted);
        }
        let Some((place, key)) = entry(read) else { return };
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
        let known = self.names.resources.keys().map(String::as_str);
        let Some(near) = self.suggestions.nearest(wanted, known) else { return };
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
