//! A document that makes the pods of a policy wait, for a policy that cannot be in service.

use crate::language::documents::{API_VERSION, KIND};
use crate::syntax::mentions::mentioned;
use bayplan_diag::Source;
use bayplan_yaml::{self as yaml, Tree};
use serde_json::{Value, json};

/// What a stand-in keeps of its policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// The condition and what it needs, the mode, and what the policy leaves alone.
    Definitions,
    /// The condition, and a mode without one.
    Condition,
    /// The params, for which profiles may have arguments, and no condition: it is about all pods. A mode without a condition
    /// stays.
    Nothing,
}

/// A document with the name and `appliesWhen` of a policy of a text, and rules with a reason that always refuse.
/// It keeps `onError` and what `kept` says, and `appliesToAllPods` where `to_all_pods` says so. `None` if the text has no
/// such policy, or the policy no condition to keep.
pub fn stand_in(
    source: &Source,
    policy: &str,
    reason: &str,
    kept: Kept,
    to_all_pods: bool,
) -> Option<String> {
    let (trees, _) = yaml::limited_documents(source.text());
    let mut found = Vec::new();
    trees.iter().for_each(|tree| super::documents(tree, &mut found));
    let named = |tree: &&&Tree| {
        let name = tree.get("metadata").and_then(|metadata| metadata.get("name"));
        name.and_then(Tree::as_str) == Some(policy)
    };
    let spec = found.iter().find(named)?.get("spec")?;
    let applies = spec.get("appliesWhen");
    if applies.is_none() && kept != Kept::Nothing {
        return None;
    }
    let reason = reason.replace('{', "{{").replace('}', "}}");
    let refusal = json!({ "reason": reason, "when": true });
    let mut held = json!({ "gates": [refusal], "prefilter": [{ "reject": reason, "when": true }] });
    if let Some(map) = held.as_object_mut() {
        let mut fields = vec!["onError"];
        if to_all_pods {
            fields.push("appliesToAllPods");
        }
        if kept != Kept::Nothing {
            fields.push("appliesWhen");
        }
        if kept == Kept::Definitions {
            fields.extend(["enforceWhen", "exceptions", "variables"]);
        }
        if kept != Kept::Condition {
            fields.push("params");
        }
        if kept == Kept::Definitions || spec.get("enforceWhen").is_none() {
            fields.extend(["mode", "modeUntil"]);
        }
        for field in fields {
            if let Some(tree) = spec.get(field) {
                map.insert(field.to_owned(), tree.to_json());
            }
        }
        if let Some(Value::Array(exceptions)) = map.get_mut("exceptions") {
            exceptions.retain(|exception| exception.get("rule").is_none());
        }
        let conditions = json!([map.get("appliesWhen"), map.get("enforceWhen"), map.get("exceptions")]);
        if let Some(Value::Array(variables)) = map.get_mut("variables") {
            keep_needed(&conditions, variables);
        }
    }
    let document: Value =
        json!({ "apiVersion": API_VERSION, "kind": KIND, "metadata": { "name": policy }, "spec": held });
    Some(document.to_string())
}

/// Keeps the variables that conditions need: others may look up what is not there.
fn keep_needed(conditions: &Value, variables: &mut Vec<Value>) {
    let name = |it: &Value| it.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let defined: Vec<(String, String)> = variables.iter().map(|it| (name(it), texts(it))).collect();
    let defined: Vec<(&str, &str)> = defined.iter().map(|(name, text)| (&**name, &**text)).collect();
    let mut needed = mentioned(&texts(conditions), &defined).into_iter();
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
