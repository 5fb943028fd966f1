//! The kinds of Kubernetes that policies may look up by their bare name, with the types of their fields.
//!
//! `tools/api-schema.py` writes the rows, `kinds.txt`, beside `api.txt`, which has the structures. There is no row
//! for pods and nodes: policies read them as `pods` and `nodes`.

use super::api;
use crate::types::{ObjectKind, SchemaField, Structure};
use bayplan_model::KindName;
use std::sync::{Arc, OnceLock};

/// The rows, as text.
static ROWS: &str = include_str!("kinds.txt");

fn table() -> &'static [Arc<ObjectKind>] {
    static TABLE: OnceLock<Vec<Arc<ObjectKind>>> = OnceLock::new();
    TABLE.get_or_init(|| ROWS.lines().filter_map(row).map(Arc::new).collect())
}

/// A kind as a row writes it: name, plural, scope, structure.
fn row(line: &'static str) -> Option<ObjectKind> {
    let mut words = line.split(' ');
    let (name, plural, scope) = (KindName::parse(words.next()?)?, words.next()?, words.next()?);
    let of = api::structure(words.next()?)?;
    let fields = api::fields(of).iter().filter(|field| field.name != "metadata");
    let fields = fields.map(|field| SchemaField {
        name: Arc::from(field.name),
        ty: field.ty.clone(),
        range: field.range,
        values: field.values.iter().map(|value| (*value).to_owned()).collect(),
    });
    let fields = Structure::new(name.kind(), false, fields.collect());
    Some(ObjectKind {
        name,
        plural: Some(Arc::from(plural)),
        namespaced: Some(scope == "namespaced"),
        fields: Some(Arc::new(fields)),
    })
}

/// The kind of a name.
pub fn named(name: &KindName) -> Option<&'static Arc<ObjectKind>> {
    table().iter().find(|kind| kind.name == *name)
}

/// The kinds with a bare name: `PriorityClass`. Versions that may change do not count.
pub fn called(kind: &str) -> Vec<&'static Arc<ObjectKind>> {
    let stable = |of: &&Arc<ObjectKind>| !of.name.version().contains(['a', 'b']);
    let newest = |of: &&Arc<ObjectKind>| {
        of.name.version().len() + of.name.version().bytes().map(usize::from).sum::<usize>()
    };
    let mut found: Vec<_> = table().iter().filter(|of| of.name.kind() == kind).filter(stable).collect();
    // Of several versions of a group the newest.
    found.sort_by_key(|of| (of.name.group(), newest(of)));
    found.reverse();
    found.dedup_by_key(|of| of.name.group());
    found
}

/// Every kind, in the order of groups and versions.
pub fn all() -> impl Iterator<Item = &'static Arc<ObjectKind>> {
    table().iter()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::types::Type;

    #[test]
    fn every_row_is_a_kind_with_fields() {
        assert_eq!(all().count(), ROWS.lines().count());
        for kind in all() {
            assert!(!kind.fields.as_ref().unwrap().fields().is_empty(), "{}", kind.name);
        }
    }

    #[test]
    fn kinds_are_found_by_bare_and_by_full_name() {
        let class = called("PriorityClass");
        assert_eq!(class.len(), 1);
        assert_eq!(class[0].name.as_str(), "scheduling.k8s.io/v1/PriorityClass");
        assert_eq!(class[0].namespaced, Some(false));
        assert_eq!(class[0].fields.as_ref().unwrap().field("value").unwrap().ty, Type::Int.optional());
        assert_eq!(called("HorizontalPodAutoscaler")[0].name.version(), "v2");
        assert!(called("PodGroup").is_empty(), "its version may change");
        assert!(named(&KindName::parse("scheduling.k8s.io/v1alpha2/PodGroup").unwrap()).is_some());
        assert!(named(&KindName::parse("v1/Pod").unwrap()).is_none() && called("Secret").is_empty());
    }
}
