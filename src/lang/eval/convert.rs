//! Values as explanations show them, with the names of nodes and pods.

use super::context::EvalContext;
use crate::lang::types::Type;
use crate::lang::types::value::Value;

pub use crate::lang::types::convert::{can_be_kept, field, fit, interned, keep};
pub use crate::lang::types::show::{plain_text, quantity, resource};

/// The value as a person writes it, with its unit: texts in quotes, absent values as `absent`.
pub fn show(value: &Value<'_>, ty: &Type, context: &EvalContext<'_>) -> String {
    match value {
        Value::Node(node) => match context.node_info(*node) {
            Some(node) => node.name().to_string(),
            None => String::from("absent"),
        },
        Value::Pod(pod) => format!("{}/{}", pod.namespace, pod.name),
        Value::List(items) => {
            let element = ty.present().element().unwrap_or(Type::Unknown);
            let shown: Vec<String> = items.iter().take(8).map(|item| show(item, &element, context)).collect();
            let more = if items.len() > 8 { format!(", … {} in all", items.len()) } else { String::new() };
            format!("[{}{more}]", shown.join(", "))
        }
        other => quantity(other, ty).unwrap_or_else(|| other.to_string()),
    }
}
