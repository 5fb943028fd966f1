//! ConfigMaps that hold policies: their labels, names and texts. The same rules serve the scheduler
//! (`source`) and the commands that read a live cluster (`listing`).

use super::history;
use super::verdict::{ObjectName, Texts, hash};
use crate::inputs::watch::{self, Collection, Watched};
use bayplan_model::objects::projection::Projection;
use bayplan_policy_files::{EXCEPTIONS, is_policy_key};
use k8s_openapi::api::core::v1::ConfigMap;

pub(crate) use bayplan_policy_files::LABEL;

/// The namespace of policies, unless others are named. Who may write ConfigMaps in it writes
/// policies, and nothing else of the scheduler lies there.
pub const POLICY_NAMESPACE: &str = "bayplan-policies";
/// The label of ConfigMaps that keep the texts that served.
pub(super) const HISTORY: &str = "bayplan.dev/history";
/// The annotation of those that names their policy.
const HISTORY_OF: &str = "bayplan.dev/history-of";
/// The annotation of those that names the object whose text served last.
pub(super) const SERVED_BY: &str = "bayplan.dev/served-by";
/// The annotation of those that tells since when no object has the policy.
pub(super) const UNUSED_SINCE: &str = "bayplan.dev/unused-since";
/// The prefix of their names.
const HISTORY_PREFIX: &str = "bayplan-history-";

/// Our field manager of server-side apply.
pub(crate) const FIELD_MANAGER: &str = "bayplan-policies";

impl Watched for ConfigMap {
    fn resource_version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }
}

/// The ConfigMaps with a label, in one namespace or in all.
pub(crate) fn with_label(namespace: Option<&str>, label: &str) -> Collection {
    let path = match namespace {
        Some(namespace) => format!("/api/v1/namespaces/{namespace}/configmaps"),
        None => "/api/v1/configmaps".to_owned(),
    };
    let selectors = format!("labelSelector={}", watch::encode(label));
    Collection {
        path,
        resource: "configmaps".into(),
        group: "".into(),
        selectors,
        keep: Projection::everything(),
        looked_up: None,
    }
}

/// Whether an object may hold exceptions alone.
pub(super) fn for_exceptions(object: &ConfigMap) -> bool {
    let labels = object.metadata.labels.as_ref();
    labels.and_then(|all| all.get(LABEL)).is_some_and(|value| value == EXCEPTIONS)
}

/// Sorts policy objects by age: creation time, then UID.
pub(super) fn age_of(object: &ConfigMap) -> String {
    let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    format!("{} {}", created.unwrap_or_default(), object.metadata.uid.as_deref().unwrap_or_default())
}

/// `namespace/name`.
pub(crate) fn name_of(object: &ConfigMap) -> ObjectName {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    format!("{}/{}", text(&object.metadata.namespace), text(&object.metadata.name))
}

/// The path of the ConfigMap with this `namespace/name`.
pub(crate) fn path_of(name: &str) -> String {
    let (namespace, name) = name.split_once('/').unwrap_or_default();
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}

/// The policy texts of a ConfigMap: its keys that end in `.bay`, `.yaml`, `.yml` or `.json`.
pub(crate) fn texts_of(object: &ConfigMap) -> Texts {
    let data = object.data.iter().flatten().filter(|(key, _)| is_policy_key(key) && *key != history::KEY);
    data.map(|(key, text)| (key.clone(), text.clone())).collect()
}

/// The ConfigMap with overrides, in the namespace of the policies.
pub(crate) const OVERRIDES: &str = "bayplan-overrides";

/// The ConfigMap with the overrides of a namespace, as a collection.
pub(super) fn overrides_of(namespace: &str) -> Collection {
    Collection {
        path: format!("/api/v1/namespaces/{namespace}/configmaps"),
        resource: "configmaps".into(),
        group: "".into(),
        selectors: format!("fieldSelector={}", watch::encode(&format!("metadata.name={OVERRIDES}"))),
        keep: Projection::everything(),
        looked_up: None,
    }
}

/// A policy of a namespace, by which histories are found: namespace and name.
pub(super) type PolicyKey = (String, String);

/// The name of the ConfigMap with the history of a policy. Names of policies may have letters that
/// names of objects cannot have.
pub(crate) fn history_of(policy: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if policy.chars().all(plain) && policy.len() <= 200 {
        return format!("{HISTORY_PREFIX}{policy}");
    }
    let letters = policy.chars().take(150).map(|c| c.to_ascii_lowercase());
    let readable: String = letters.map(|c| if plain(c) { c } else { '-' }).collect();
    let unique: String = hash(&[(policy.to_owned(), String::new())].into()).chars().take(12).collect();
    format!("{HISTORY_PREFIX}{readable}-{unique}")
}

/// The labels and annotations by which a history is found again.
pub(super) fn mark_history(history: &mut ConfigMap, policy: &str, object: &str) {
    history.metadata.labels.get_or_insert_default().insert(HISTORY.to_owned(), String::new());
    let annotations = history.metadata.annotations.get_or_insert_default();
    annotations.insert(HISTORY_OF.to_owned(), policy.to_owned());
    annotations.insert(SERVED_BY.to_owned(), object.to_owned());
}

/// The policy whose history a ConfigMap is. It lies in the namespace of the policy: no namespace
/// can keep texts for another one.
pub(super) fn kept_by(history: &ConfigMap) -> Option<PolicyKey> {
    let policy = history.metadata.annotations.as_ref()?.get(HISTORY_OF)?;
    Some((history.metadata.namespace.clone()?, policy.clone()))
}

/// An annotation of an object; empty without it.
pub(crate) fn annotation<'a>(object: &'a ConfigMap, key: &str) -> &'a str {
    let annotations = object.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(key)).map_or("", String::as_str)
}

/// The namespace of an object's name; empty for a path.
pub fn namespace_of(name: &str) -> &str {
    name.split_once('/').map_or("", |(namespace, _)| namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_history_is_a_name_of_an_object() {
        assert_eq!(history_of("keep-spot-free"), "bayplan-history-keep-spot-free");
        let (one, other) = (history_of("Gpu_a"), history_of("gpu-a"));
        assert!(one.starts_with("bayplan-history-gpu-a-") && one != other, "{one}");
        assert!(history_of(&"x".repeat(1000)).len() < 253);
    }
}
