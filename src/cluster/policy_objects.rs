//! ConfigMaps that hold policies: their labels, names and texts. The same rules serve the scheduler
//! (`policy_source`) and the commands that read a live cluster (`policy_list`).

use super::policy_store::{ObjectName, Texts};
use super::watch::{self, Collection, Watched};
use crate::model::objects::projection::Projection;
use crate::policy_files::ENDING;
use k8s_openapi::api::core::v1::ConfigMap;

pub use crate::policy_files::LABEL;

/// The label of ConfigMaps that keep the texts that served.
pub(super) const HISTORY: &str = "bayplan.dev/history";
/// The annotation of those that names their policy object.
const HISTORY_OF: &str = "bayplan.dev/history-of";
/// The prefix of their names.
const HISTORY_PREFIX: &str = "bayplan-history-";

impl Watched for ConfigMap {
    fn resource_version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }
}

/// The ConfigMaps with a label, in one namespace or in all.
pub(super) fn with_label(namespace: Option<&str>, label: &str) -> Collection {
    let path = match namespace {
        Some(namespace) => format!("/api/v1/namespaces/{namespace}/configmaps"),
        None => "/api/v1/configmaps".to_owned(),
    };
    let selectors = format!("labelSelector={}", watch::encode(label));
    Collection { path, resource: "configmaps", group: "", selectors, keep: Projection::everything() }
}

/// Sorts policy objects by age: creation time, then UID.
pub(super) fn age_of(object: &ConfigMap) -> String {
    let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    format!("{} {}", created.unwrap_or_default(), object.metadata.uid.as_deref().unwrap_or_default())
}

/// `namespace/name`.
pub(super) fn name_of(object: &ConfigMap) -> ObjectName {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    format!("{}/{}", text(&object.metadata.namespace), text(&object.metadata.name))
}

/// The path of the ConfigMap with this `namespace/name`.
pub(super) fn path_of(name: &str) -> String {
    let (namespace, name) = name.split_once('/').unwrap_or_default();
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}

/// The policy texts of a ConfigMap: its keys that end in `.bay`.
pub(super) fn texts_of(object: &ConfigMap) -> Texts {
    let data = object.data.iter().flatten().filter(|(key, _)| key.ends_with(ENDING));
    data.map(|(key, text)| (key.clone(), text.clone())).collect()
}

/// Namespace and name of the history of a policy object.
pub(super) fn history_of(name: &str) -> (String, String) {
    let (namespace, object) = name.split_once('/').unwrap_or_default();
    (namespace.to_owned(), format!("{HISTORY_PREFIX}{object}"))
}

/// The labels and annotations by which a history is found again.
pub(super) fn mark_history(history: &mut ConfigMap, name: &str) {
    history.metadata.labels.get_or_insert_default().insert(HISTORY.to_owned(), String::new());
    history.metadata.annotations.get_or_insert_default().insert(HISTORY_OF.to_owned(), name.to_owned());
}

/// The policy object whose history a ConfigMap is, and the newest texts of it. Both are in the same
/// namespace: no namespace can keep texts for another one.
pub(super) fn kept_by(history: &ConfigMap) -> Option<(ObjectName, Texts)> {
    let of = history.metadata.annotations.as_ref()?.get(HISTORY_OF)?;
    let (namespace, _) = of.split_once('/')?;
    (history.metadata.namespace.as_deref() == Some(namespace)).then(|| (of.clone(), texts_of(history)))
}
