//! [`Schemas`]: the kinds that policies look up beside those of Kubernetes, with the types of their fields, from
//! CustomResourceDefinitions (files, clusters in files) and from the OpenAPI description of an API server.
//!
//! A schema comes from outside: it is read up to a number of fields and levels, and what is beyond has no known type.

mod read;
mod write;

use super::types::{ObjectKind, Structure};
use bayplan_model::KindName;
use read::Reading;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kinds that are known beside those of Kubernetes.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct Schemas {
    kinds: BTreeMap<KindName, Arc<ObjectKind>>,
}

impl Schemas {
    /// The kind of a name.
    pub fn get(&self, name: &KindName) -> Option<&Arc<ObjectKind>> {
        self.kinds.get(name)
    }

    /// The names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &KindName> {
        self.kinds.keys()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Adds a kind, or replaces it.
    pub fn add(&mut self, kind: ObjectKind) {
        self.kinds.insert(kind.name.clone(), Arc::new(kind));
    }

    /// Removes a kind; whether it was known.
    pub fn remove(&mut self, name: &KindName) -> bool {
        self.kinds.remove(name).is_some()
    }

    /// Adds the kinds of others.
    pub fn merge(&mut self, others: &Self) {
        self.kinds.extend(others.kinds.iter().map(|(name, kind)| (name.clone(), kind.clone())));
    }

    /// Whether an object is a CustomResourceDefinition.
    pub fn is_definition(object: &Value) -> bool {
        object.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition")
    }

    /// Adds the served versions of a CustomResourceDefinition. Fails where the API server would have refused it.
    pub fn add_definition(&mut self, definition: &Value) -> Result<(), String> {
        let text = |path: &str| {
            let found = definition.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
            found.ok_or_else(|| format!("`{}` is missing", path.trim_start_matches('/').replace('/', ".")))
        };
        let group = text("/spec/group")?;
        let (kind, plural) = (text("/spec/names/kind")?, text("/spec/names/plural")?);
        let namespaced = match text("/spec/scope")? {
            "Namespaced" => true,
            "Cluster" => false,
            other => return Err(format!("`spec.scope` is `{other}`: it is `Namespaced` or `Cluster`")),
        };
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
        let versions =
            versions.ok_or("`spec.versions` is missing: only `apiextensions.k8s.io/v1` is read")?;
        for version in versions {
            let Some(version_name) = version.get("name").and_then(Value::as_str) else {
                return Err("a version has no `name`".to_owned());
            };
            if version.get("served").and_then(Value::as_bool) == Some(false) {
                continue;
            }
            let name = format!("{group}/{version_name}/{kind}");
            let name = KindName::parse(&name).ok_or_else(|| format!("`{name}` names no kind"))?;
            let schema = version.pointer("/schema/openAPIV3Schema");
            self.add(ObjectKind {
                fields: schema.and_then(|schema| fields_of(&name, schema)),
                plural: Some(Arc::from(plural)),
                namespaced: Some(namespaced),
                name,
            });
        }
        Ok(())
    }
}

/// The fields of a kind by the schema of its objects; `None` when the schema names none.
pub fn fields_of(name: &KindName, schema: &Value) -> Option<Arc<Structure>> {
    Reading::new(None).root(name, schema)
}

/// The fields of a kind in a description whose schemas refer to others by `#/components/schemas/NAME`.
pub fn fields_of_described(name: &KindName, schema: &Value, others: &Value) -> Option<Arc<Structure>> {
    Reading::new(Some(others)).root(name, schema)
}

#[cfg(test)]
mod tests;
