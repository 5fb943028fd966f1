//! What an API server tells of a kind that policies look up: the name of its resource, whether its objects are in
//! namespaces (discovery), and the types of its fields (OpenAPI). Every client may read both, so that no rights on
//! CustomResourceDefinitions are needed. Called by `look_ups`, `policies::source`, `list` and `calls`.

use super::watch::Collection;
use crate::api::client::{Api, ApiError, Request};
use bayplan_lang::language::fields::kinds;
use bayplan_lang::schemas::{Schemas, fields_of_described};
use bayplan_lang::types::ObjectKind;
use bayplan_model::objects::projection::Projection;
use bayplan_model::{KindName, ObjectKey};
use futures::future::join_all;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// How long a description may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// `metav1.APIResourceList`, as far as it is read.
#[derive(Deserialize)]
struct Resources {
    #[serde(default)]
    resources: Vec<Resource>,
}

/// `metav1.APIResource`, as far as it is read.
#[derive(Deserialize)]
struct Resource {
    name: String,
    kind: String,
    #[serde(default)]
    namespaced: bool,
}

/// The resource of a kind, without the types of its fields. `None`: the server has no such kind.
pub(crate) async fn discovered(api: &Api, kind: &KindName) -> Result<Option<ObjectKind>, ApiError> {
    let listed = match api.call::<Resources>(Request::get(kind.root()).within(PATIENCE)).await {
        Ok(listed) => listed,
        Err(error) if error.code() == Some(404) => return Ok(None),
        Err(error) => return Err(error),
    };
    // `pods/status` is of the kind Pod, too.
    let found = listed.resources.into_iter().find(|of| of.kind == kind.kind() && !of.name.contains('/'));
    Ok(found.map(|of| ObjectKind {
        plural: Some(Arc::from(of.name)),
        namespaced: Some(of.namespaced),
        ..ObjectKind::unknown(kind.clone())
    }))
}

/// The resources of kinds that discovery named, for writes. One that turns out to be gone is forgotten.
#[derive(Debug, Default)]
pub(crate) struct KnownResources(RwLock<BTreeMap<KindName, Arc<str>>>);

impl KnownResources {
    /// The path of an object of a kind that policies look up. `None`: the server has no such kind.
    pub(crate) async fn path_of(
        &self,
        api: &Api,
        kind: &KindName,
        of: &ObjectKey,
    ) -> Result<Option<String>, ApiError> {
        let Some(plural) = self.plural(api, kind).await? else { return Ok(None) };
        let (root, name) = (kind.root(), &of.name);
        Ok(Some(match of.namespace.is_empty() {
            true => format!("{root}/{plural}/{name}"),
            false => format!("{root}/namespaces/{}/{plural}/{name}", of.namespace),
        }))
    }

    async fn plural(&self, api: &Api, kind: &KindName) -> Result<Option<Arc<str>>, ApiError> {
        if let Some(known) = kinds::named(kind) {
            return Ok(known.plural.clone());
        }
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(kind).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let found = discovered(api, kind).await?.and_then(|found| found.plural);
        if let Some(plural) = &found {
            self.0.write().unwrap_or_else(PoisonError::into_inner).insert(kind.clone(), plural.clone());
        }
        Ok(found)
    }

    /// Nothing was found below the path of a kind: the server may have it under another name now.
    pub(crate) fn forget(&self, kind: &KindName) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(kind);
    }
}

/// A kind with the types of its fields. `None`: the server has no such kind.
pub(crate) async fn described(api: &Api, kind: &KindName) -> Result<Option<ObjectKind>, ApiError> {
    let Some(found) = discovered(api, kind).await? else { return Ok(None) };
    let path = format!("/openapi/v3{}", kind.root());
    let fields = match api.call::<Value>(Request::get(path).within(PATIENCE)).await {
        Ok(description) => described_fields(kind, &description),
        // Without a description the fields have no known type.
        Err(ApiError::Status { code: 403 | 404 | 406, .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(Some(ObjectKind { fields, ..found }))
}

/// The types of the fields of a kind by the description of its group and version.
fn described_fields(kind: &KindName, description: &Value) -> Option<Arc<bayplan_lang::types::Structure>> {
    let schemas = description.pointer("/components/schemas")?;
    let is_kind = |schema: &&Value| {
        let named = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        named.into_iter().flatten().any(|named| {
            let is = |field: &str, text: &str| named.get(field).and_then(Value::as_str) == Some(text);
            is("group", kind.group()) && is("version", kind.version()) && is("kind", kind.kind())
        })
    };
    let schema = schemas.as_object()?.values().find(is_kind)?;
    fields_of_described(kind, schema, schemas)
}

/// The kinds of these names that the server has; others, and those that it does not describe now, are left out.
pub(crate) async fn all_described(api: &Api, names: &BTreeSet<KindName>) -> Schemas {
    let found = join_all(names.iter().map(|name| described(api, name))).await;
    let mut schemas = Schemas::default();
    for kind in found.into_iter().filter_map(|found| found.ok().flatten()) {
        schemas.add(kind);
    }
    schemas
}

/// The kinds that texts may look up and that are not kinds of Kubernetes: every name of the form `group/version/Kind`.
pub fn named_in<'t>(texts: impl IntoIterator<Item = &'t str>) -> BTreeSet<KindName> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '/');
    let words = texts.into_iter().flat_map(|text| text.split(move |c: char| !is_part(c)));
    let names = words.filter(|word| word.contains('/')).filter_map(KindName::parse);
    names.filter(|name| kinds::named(name).is_none()).collect()
}

/// The collection of the objects of a kind; `None` without the name of its resource.
pub(crate) fn collection(kind: &ObjectKind, keep: Projection) -> Option<Collection> {
    let plural = kind.plural.as_deref()?;
    Some(Collection {
        path: format!("{}/{plural}", kind.name.root()),
        resource: plural.to_owned().into(),
        group: kind.name.group().to_owned().into(),
        selectors: String::new(),
        keep,
        looked_up: Some(kind.name.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_lang::types::Type;
    use serde_json::json;

    #[test]
    fn names_of_kinds_are_found_in_texts() {
        let text = r#"let a = lookup("g.io/v1/Gang", pod.namespace, pod.labels["a.b/c"])
            let b = x.owner('apps/v1/ReplicaSet') // and "h.io/v1beta1/Machine", "v1/Service", not "a/b/C""#;
        let found = named_in([text, "no kinds"]);
        let names: Vec<&str> = found.iter().map(KindName::as_str).collect();
        assert_eq!(names, ["g.io/v1/Gang", "h.io/v1beta1/Machine"]);
    }

    #[test]
    fn a_description_gives_the_types_of_fields() {
        let description = json!({"components": {"schemas": {
            "io.g.v1.Other": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "g.io", "version": "v1", "kind": "Other"}]},
            "io.g.v1.Gang": {
                "type": "object",
                "x-kubernetes-group-version-kind": [{"group": "g.io", "version": "v1", "kind": "Gang"}],
                "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
            },
        }}});
        let kind = KindName::parse("g.io/v1/Gang").unwrap();
        let fields = described_fields(&kind, &description).unwrap();
        assert!(matches!(fields.field("spec").unwrap().ty.present(), Type::Structure(_)));
        assert!(described_fields(&KindName::parse("g.io/v2/Gang").unwrap(), &description).is_none());
    }
}
