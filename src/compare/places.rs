//! [`Place`]: where the value of an expression is in the objects of a witness, so that it can be given a value.

use crate::node_load::LoadPart;
use bayplan_lang::analysis::shape::{constant, is_count_of_node_pods};
use bayplan_lang::language::fields::Meaning;
use bayplan_lang::typed::{Expr, ExprKind, Operation, Policy, Root, SlotId};
use bayplan_lang::types::Type;
use bayplan_lang::types::value::Constant;
use serde_json::{Value, json};

/// An object of a witness.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Of {
    Pod,
    Node,
    Namespace,
    /// The pod that may be evicted.
    Victim,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// As JSON has it.
    Plain,
    /// A quantity of millicores.
    Millicores,
    /// A quantity of bytes or pieces.
    Whole,
    /// A text that the policy reads as a value of another type.
    Text,
    /// A text that the policy reads as a duration.
    Duration,
}

/// Where a value is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A field of an object.
    Field(Of, Vec<String>, Form),
    /// The instant of the evaluation.
    Now,
    /// How many pods are on the node.
    PodsOnNode,
    /// What the node used.
    Load(LoadPart),
}

impl Place {
    /// Of an expression; `None`: it is computed of more than one field, or it is not known where it comes from.
    pub(crate) fn of(policy: &Policy, expr: &Expr, victim: Option<SlotId>) -> Option<Self> {
        if let Some(part) = LoadPart::of(policy, expr) {
            return Some(Self::Load(part));
        }
        match &expr.kind {
            ExprKind::Now => Some(Self::Now),
            _ if is_count_of_node_pods(policy, expr) => Some(Self::PodsOnNode),
            // A text that is read as another type: `int(pod.labels["n"])`.
            ExprKind::Call(_, args, _) => match args.as_slice() {
                [text] if *text.ty.present() == Type::String => {
                    let (of, path) = path(policy, text, victim)?;
                    let is_duration = *expr.ty.present() == Type::Duration;
                    Some(Self::Field(of, path, if is_duration { Form::Duration } else { Form::Text }))
                }
                _ => None,
            },
            _ => {
                let (of, path) = path(policy, expr, victim)?;
                let quantities = ["requests", "limits", "allocatable", "capacity"];
                let form = match path.iter().any(|step| quantities.contains(&step.as_str())) {
                    true if *expr.ty.present() == Type::Cpu => Form::Millicores,
                    true => Form::Whole,
                    false => Form::Plain,
                };
                Some(Self::Field(of, path, form))
            }
        }
    }

    /// A value as it is written there; `None`: it cannot be.
    pub(crate) fn written(&self, value: &Constant) -> Option<Value> {
        let Self::Field(_, _, form) = self else { return None };
        Some(match (value, form) {
            (Constant::Int(of), Form::Millicores) => json!(format!("{of}m")),
            (Constant::Int(of), Form::Whole | Form::Text) => json!(of.to_string()),
            (Constant::Int(of), Form::Plain) => json!(of),
            (Constant::Int(of), Form::Duration) => json!(format!("{}s", of / 1_000_000)),
            (Constant::Uint(of), Form::Text) => json!(of.to_string()),
            (Constant::Uint(of), _) => json!(of),
            (Constant::Float(of), Form::Text) => json!(of.to_string()),
            (Constant::Float(of), _) => json!(of),
            (Constant::Bool(of), Form::Text) => json!(of.to_string()),
            (Constant::Bool(of), _) => json!(of),
            (Constant::Time(at), _) => json!(at.to_rfc3339_exactly()),
            (Constant::String(text), _) => json!(text.as_str()),
            _ => return None,
        })
    }
}

fn resolved<'p>(policy: &'p Policy, expr: &'p Expr) -> &'p Expr {
    bayplan_lang::analysis::shape::resolve_alias(policy, expr)
}

/// The object, and the names on the way to the value in it.
fn path(policy: &Policy, expr: &Expr, victim: Option<SlotId>) -> Option<(Of, Vec<String>)> {
    let expr = resolved(policy, expr);
    let joined = |inner: &Expr, steps: Vec<String>| {
        let (of, mut path) = path(policy, inner, victim)?;
        path.extend(steps);
        Some((of, path))
    };
    match &expr.kind {
        ExprKind::Root(Root::Pod) => Some((Of::Pod, Vec::new())),
        ExprKind::Root(Root::Node) => Some((Of::Node, Vec::new())),
        ExprKind::Root(Root::Namespace) => Some((Of::Namespace, Vec::new())),
        ExprKind::Slot(slot) if Some(*slot) == victim => Some((Of::Victim, Vec::new())),
        ExprKind::ApiField(inner, name) => joined(inner, vec![name.to_string()]),
        ExprKind::Field(inner, field) => {
            let def = field.def();
            if let Some(label) = def.label() {
                return joined(inner, vec!["metadata".into(), "labels".into(), label.into()]);
            }
            let source = match def.meaning {
                Some(Meaning::Requests) => "spec.containers[].resources.requests",
                // On a node without pods all is free.
                Some(Meaning::Free | Meaning::Allocatable) => "status.allocatable",
                _ => def.source,
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || ".[]".contains(c);
            if !source.chars().all(plain) {
                return None;
            }
            // A field of the owner of a pod is found from the pod.
            let (of, above) = path(policy, inner, victim)?;
            let steps: Vec<String> = source.replace("[]", ".0").split('.').map(str::to_owned).collect();
            let below = above.len() <= steps.len() && steps.starts_with(&above);
            let nested = above.is_empty() || above.as_slice() == ["metadata", "ownerReferences"];
            (below && nested).then_some((of, steps))
        }
        ExprKind::Dynamic(Operation::Demand(_), args) => path(policy, args.first()?, victim),
        ExprKind::Index(inner, key) | ExprKind::Resource(inner, key) => {
            let key = constant(policy, key)?;
            joined(inner, vec![key.as_str()?.to_owned()])
        }
        _ => None,
    }
}

/// A path as a policy writes it: `.spec.containers[0].name`.
pub(crate) fn written_path(path: &[String]) -> String {
    let plain = |step: &str| step.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let step = |step: &String| match step.as_str() {
        "0" => "[0]".to_owned(),
        name if plain(name) => format!(".{name}"),
        name => format!("[{name:?}]"),
    };
    path.iter().map(step).collect()
}

/// Sets a value at a path of an object, or removes it.
pub(crate) fn set(object: &mut Value, path: &[String], value: Option<Value>) {
    let Some((last, above)) = path.split_last() else { return };
    let mut at = object;
    for (depth, step) in above.iter().enumerate() {
        if at.is_null() {
            *at = json!({});
        }
        let next_is_index = path.get(depth + 1).is_some_and(|next| next == "0");
        at = match at {
            Value::Array(list) => {
                if list.is_empty() {
                    list.push(json!({}));
                }
                let Some(first) = list.first_mut() else { return };
                first
            }
            Value::Object(map) => {
                map.entry(step.clone()).or_insert_with(|| if next_is_index { json!([]) } else { json!({}) })
            }
            _ => return,
        };
    }
    if at.is_null() {
        *at = json!({});
    }
    if let Value::Object(map) = at {
        match value {
            Some(value) => drop(map.insert(last.clone(), value)),
            None => drop(map.remove(last)),
        }
    }
}
