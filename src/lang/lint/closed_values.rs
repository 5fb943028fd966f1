//! The lint `unknown-value`: a field whose values are all known is compared with another value.
//!
//! Called by `lint` for every policy without a mistake. The values are in the rows of the fields.

use crate::analysis::shape::{constant, resolve_alias};
use crate::language::fields::api;
use crate::typed::walk::each_part;
use crate::typed::{Expr, ExprKind, Operation, Policy};
use crate::types::value::Value;
use bayplan_diag::{Diagnostic, codes, suggest};

/// Reports comparisons that are false on every cluster.
pub(super) fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    let suggestions = suggest::Effort::default();
    let mut said = Vec::new();
    policy.for_each_expr(&mut |expr| visit(policy, expr, &suggestions, &mut said));
    for said in said {
        if !diagnostics.iter().any(|known| known.span == said.span && known.code == said.code) {
            diagnostics.push(said);
        }
    }
}

fn visit(policy: &Policy, expr: &Expr, suggestions: &suggest::Effort, said: &mut Vec<Diagnostic>) {
    let pair = match &expr.kind {
        ExprKind::Equal(left, right) | ExprKind::In(left, right) => Some((&**left, &**right)),
        ExprKind::Dynamic(Operation::Equal | Operation::NotEqual | Operation::In(_), parts) => {
            match parts.as_slice() {
                [left, right] => Some((left, right)),
                _ => None,
            }
        }
        _ => None,
    };
    for (field, other) in pair.into_iter().flat_map(|(left, right)| [(left, right), (right, left)]) {
        let Some((name, values)) = values_of(policy, field) else { continue };
        for wrong in texts(policy, other).into_iter().filter(|text| !values.contains(text)) {
            let message = format!("`{name}` is never `{wrong}`");
            let found = Diagnostic::new(&codes::UNKNOWN_VALUE, other.span, message);
            said.push(found.with_help(
                match suggestions.nearest(&wrong, values.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `\"{near}\"`?"),
                    None => {
                        let all: Vec<String> = values.iter().map(|value| format!("`\"{value}\"`")).collect();
                        format!("it is one of {}", all.join(", "))
                    }
                },
            ));
        }
    }
    each_part(expr, &mut |part| visit(policy, part, suggestions, said));
}

/// A field and its values, where all of them are known.
fn values_of(policy: &Policy, expr: &Expr) -> Option<(String, Vec<String>)> {
    match &resolve_alias(policy, expr).kind {
        ExprKind::Field(_, id) => {
            let def = id.def();
            let values: Vec<String> = def.values.iter().map(|value| (*value).to_owned()).collect();
            (!values.is_empty()).then(|| (def.name.to_owned(), values))
        }
        ExprKind::ApiField(object, name) => {
            let values = api::declared_values(&object.ty, name);
            (!values.is_empty()).then(|| (name.to_string(), values))
        }
        // A default is a value, too; one that is not known here may be any text.
        ExprKind::Coalesce(left, default) => {
            let (name, mut values) = values_of(policy, left)?;
            let is_known = match &resolve_alias(policy, default).kind {
                ExprKind::List(elements) => elements.iter().all(|(of, _)| constant(policy, of).is_some()),
                _ => constant(policy, default).is_some(),
            };
            values.extend(texts(policy, default));
            is_known.then_some((name, values))
        }
        ExprKind::Dynamic(_, parts) => match parts.as_slice() {
            [inner] => values_of(policy, inner),
            _ => None,
        },
        _ => None,
    }
}

/// The constant texts that a field is compared with.
fn texts(policy: &Policy, expr: &Expr) -> Vec<String> {
    match constant(policy, expr) {
        Some(Value::List(items)) => {
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        Some(value) => value.as_str().map(str::to_owned).into_iter().collect(),
        None => match &resolve_alias(policy, expr).kind {
            ExprKind::List(elements) => {
                elements.iter().flat_map(|(element, _)| texts(policy, element)).collect()
            }
            _ => Vec::new(),
        },
    }
}
