//! A document that makes the pods of a policy wait, for a policy that cannot be in service.

use crate::diag::Source;
use crate::lang::language::documents::{API_VERSION, KIND};
use crate::lang::syntax::mentions::mentioned;
use crate::yaml::{self, Tree};
use serde_json::{Value, json};

/// A document with the name and `appliesWhen` of a policy of a text, and a gate with a reason that always holds.
/// It keeps `onError`; with `definitions` it also has the params of the policy, and the variables that the condition
/// needs. `None` if the text has no such policy, or the policy no `appliesWhen`.
pub fn stand_in(source: &Source, policy: &str, reason: &str, definitions: bool) -> Option<String> {
    let (trees, _) = yaml::limited_documents(source.text());
    let mut found = Vec::new();
    trees.iter().for_each(|tree| super::documents(tree, &mut found));
    let named = |tree: &&&Tree| {
        let name = tree.get("metadata").and_then(|metadata| metadata.get("name"));
        name.and_then(Tree::as_str) == Some(policy)
    };
    let spec = found.iter().find(named)?.get("spec")?;
    let applies = spec.get("appliesWhen")?;
    let reason = reason.replace('{', "{{").replace('}', "}}");
    let mut held = json!({ "appliesWhen": applies.to_json(), "gates": [{ "reason": reason, "when": true }] });
    if let Some(map) = held.as_object_mut() {
        // What an error in `appliesWhen` does stays what the policy says.
        let kept = ["onError", "params", "variables"];
        for field in kept.into_iter().take(if definitions { kept.len() } else { 1 }) {
            if let Some(tree) = spec.get(field) {
                let mut value = tree.to_json();
                if let (true, Value::Array(variables)) = (field == "variables", &mut value) {
                    keep_needed(&applies.to_json(), variables);
                }
                map.insert(field.to_owned(), value);
            }
        }
    }
    let document: Value =
        json!({ "apiVersion": API_VERSION, "kind": KIND, "metadata": { "name": policy }, "spec": held });
    Some(document.to_string())
}

/// Keeps the variables that a condition needs: others may look up what is not there.
fn keep_needed(condition: &Value, variables: &mut Vec<Value>) {
    let name = |it: &Value| it.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let defined: Vec<(String, String)> = variables.iter().map(|it| (name(it), texts(it))).collect();
    let defined: Vec<(&str, &str)> = defined.iter().map(|(name, text)| (&**name, &**text)).collect();
    let mut needed = mentioned(&texts(condition), &defined).into_iter();
    variables.retain(|_| needed.next() == Some(true));
}

/// All strings of a value, a line each.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(fields) => fields.values().map(texts).collect(),
        _ => String::new(),
    }
}
