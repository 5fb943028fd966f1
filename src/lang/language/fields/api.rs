//! The structures of the Kubernetes API below `spec`, `status` and `metadata`: names and types of
//! their fields.
//!
//! `tools/api-schema.py` writes the rows, `api.txt`, from Kubernetes' OpenAPI description (1.36).
//! They are parsed once, when they are first needed. A field that the API requires has a value; all
//! others are `T?`. What a field means is not repeated here: [`reference`] names the command that
//! tells it.

use super::ObjectType;
use crate::types::range::Range;
use crate::types::{ApiType, Type};
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// The rows, as text.
static ROWS: &str = include_str!("api.txt");

struct Table {
    names: FxHashMap<&'static str, ApiType>,
    rows: Vec<Row>,
}

struct Row {
    #[cfg(test)]
    name: &'static str,
    /// In the order of their names.
    fields: Vec<ApiField>,
}

/// A field of a structure.
#[derive(Clone, Debug)]
pub struct ApiField {
    /// Its name, as JSON has it.
    pub name: &'static str,
    /// Its type; `T?` where the field may be missing.
    pub ty: Type,
    /// The range of a number.
    pub range: Range,
    /// All values of a text, or of the texts in a list, where the API declares them; else empty.
    pub values: Vec<&'static str>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let lines: Vec<Vec<&'static str>> = ROWS.lines().map(|line| line.split(' ').collect()).collect();
        let mut names = FxHashMap::default();
        for (at, words) in lines.iter().enumerate() {
            let name = words.first().copied().unwrap_or("");
            names.insert(name, ApiType { row: at as u16, name });
        }
        let rows = lines
            .iter()
            .map(|words| Row {
                #[cfg(test)]
                name: words.first().copied().unwrap_or(""),
                fields: words
                    .iter()
                    .skip(1)
                    .filter_map(|word| word.split_once('='))
                    .map(|(name, kind)| {
                        let (ty, range) = read(kind, &names);
                        ApiField { name, ty, range, values: values(kind) }
                    })
                    .collect(),
            })
            .collect();
        Table { names, rows }
    })
}

/// A type as the rows write it.
fn read(kind: &'static str, names: &FxHashMap<&'static str, ApiType>) -> (Type, Range) {
    if let Some(inner) = kind.strip_suffix('?') {
        let (ty, range) = read(inner, names);
        return (ty.optional(), range);
    }
    if let Some(inner) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
        return (read(inner, names).0.list(), Range::None);
    }
    if let Some(inner) = kind.strip_prefix('{').and_then(|kind| kind.strip_suffix('}')) {
        let value = read(inner, names).0;
        return (Type::Map(Arc::new(Type::String), Arc::new(value)), Range::None);
    }
    let ty = match kind {
        "s" => Type::String,
        _ if kind.starts_with('(') => Type::String,
        "i" => Type::Int,
        "I" => return (Type::Int, Range::whole(i128::from(i32::MIN), i128::from(i32::MAX))),
        "b" => Type::Bool,
        "f" => Type::Float,
        "t" => Type::Time,
        name => names.get(name).map_or(Type::Dyn, |api| Type::Api(*api)),
    };
    let range = Range::of(&ty);
    (ty, range)
}

/// The texts that a type allows, as the rows write them; in a list, its elements.
fn values(kind: &'static str) -> Vec<&'static str> {
    let inner = kind.trim_end_matches('?').trim_start_matches('[').trim_end_matches(']');
    let listed = inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
    listed.map(|listed| listed.split('|').collect()).unwrap_or_default()
}

/// The structure of a name.
pub fn structure(name: &str) -> Option<ApiType> {
    table().names.get(name).copied()
}

fn row(of: ApiType) -> Option<&'static Row> {
    table().rows.get(usize::from(of.row))
}

/// `spec`, `status` or `metadata` of an object.
pub fn root(owner: ObjectType, name: &str) -> Option<(Type, Range)> {
    let structure = match (owner, name) {
        (ObjectType::Pod | ObjectType::Node | ObjectType::Namespace, "metadata") => "ObjectMeta",
        (ObjectType::Pod, "spec") => "PodSpec",
        (ObjectType::Pod, "status") => "PodStatus",
        (ObjectType::Node, "spec") => "NodeSpec",
        (ObjectType::Node, "status") => "NodeStatus",
        (ObjectType::Namespace, "spec") => "NamespaceSpec",
        (ObjectType::Namespace, "status") => "NamespaceStatus",
        _ => return None,
    };
    table().names.get(structure).map(|api| (Type::Api(*api), Range::None))
}

/// The names that [`root`] knows.
pub fn roots(owner: ObjectType) -> impl Iterator<Item = &'static str> {
    let has = matches!(owner, ObjectType::Pod | ObjectType::Node | ObjectType::Namespace);
    ["spec", "status", "metadata"].into_iter().filter(move |_| has)
}

/// The fields of a structure, in the order of their names.
pub fn fields(of: ApiType) -> &'static [ApiField] {
    row(of).map_or(&[], |row| &row.fields)
}

/// The type and range of a field of a structure; `T?` where the field may be missing.
pub fn field(of: ApiType, name: &str) -> Option<(Type, Range)> {
    fields(of).iter().find(|field| field.name == name).map(|field| (field.ty.clone(), field.range))
}

/// The numbers that the API declares for a field of an object or structure of this type.
pub fn declared(of: &Type, name: &str) -> Range {
    match of.present() {
        Type::Api(api) => field(*api, name).map_or(Range::None, |(_, range)| range),
        Type::Structure(of) => of.field(name).map_or(Range::None, |field| field.range),
        Type::Kind(of) => {
            let field = of.fields.as_ref().and_then(|fields| fields.field(name));
            field.map_or(Range::None, |field| field.range)
        }
        _ => Range::None,
    }
}

/// All values that a text, or the texts of a list, of an object or structure of this type may have; empty where any text
/// may be.
pub(crate) fn declared_values(of: &Type, name: &str) -> Vec<String> {
    match of.present() {
        Type::Api(api) => {
            let field = fields(*api).iter().find(|field| field.name == name);
            field.map(|field| field.values.iter().map(|value| (*value).to_owned()).collect())
        }
        Type::Structure(of) => of.field(name).map(|field| field.values.clone()),
        Type::Kind(of) => of.fields.as_ref().and_then(|of| of.field(name)).map(|field| field.values.clone()),
        _ => None,
    }
    .unwrap_or_default()
}

/// The type and range of the field at a path such as `spec.tolerations.key`, and the structure that
/// has it. A path goes through lists and maps to their elements, as `kubectl explain` does.
pub fn at_path(owner: ObjectType, path: &str) -> Option<(Type, Range, Option<ApiType>)> {
    let mut words = path.split('.');
    let (mut ty, mut range) = root(owner, words.next()?)?;
    let mut structure = None;
    for word in words {
        structure = Some(structure_of(&ty)?);
        (ty, range) = field(structure?, word)?;
    }
    Some((ty, range, structure))
}

/// The structure that a type holds, in a list or map too.
pub(crate) fn structure_of(ty: &Type) -> Option<ApiType> {
    match ty.present() {
        Type::Api(api) => Some(*api),
        Type::List(of) | Type::Map(_, of) => structure_of(of),
        _ => None,
    }
}

/// The command that tells what the field at a path means, in Kubernetes' own words.
pub fn reference(owner: ObjectType, path: &str) -> String {
    let kind = if owner == ObjectType::Namespace { "namespace" } else { owner.name() };
    format!("kubectl explain {kind}.{path}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_a_row_names_is_a_row() {
        for row in &table().rows {
            for ApiField { name: field, ty, .. } in &row.fields {
                let mut ty = ty.present().clone();
                while let Type::List(inner) | Type::Map(_, inner) = &ty {
                    ty = inner.present().clone();
                }
                // What has no type is written so.
                let line = ROWS.lines().find(|line| line.starts_with(&format!("{} ", row.name)));
                let written =
                    line.unwrap().split(' ').find_map(|word| word.strip_prefix(&format!("{field}=")));
                assert!(ty != Type::Dyn || written.unwrap().contains('d'), "{field} has no type");
            }
        }
    }

    #[test]
    fn fields_are_typed_as_the_api_has_them() {
        let (Type::Api(spec), _) = root(ObjectType::Pod, "spec").unwrap() else { return };
        assert_eq!(spec.name, "PodSpec");
        assert_eq!(field(spec, "hostNetwork").unwrap().0, Type::Bool.optional());
        assert_eq!(field(spec, "priority").unwrap().1, Range::whole(-2_147_483_648, 2_147_483_647));
        assert!(matches!(field(spec, "containers").unwrap().0, Type::List(_)));
        assert!(field(spec, "hostnetwork").is_none());
    }

    #[test]
    fn paths_go_through_lists_and_maps() {
        let (ty, ..) = at_path(ObjectType::Pod, "spec.tolerations.key").unwrap();
        assert_eq!(ty, Type::String.optional());
        assert!(at_path(ObjectType::Pod, "spec.tolerations.nokey").is_none());
        assert!(at_path(ObjectType::Pod, "spec.hostNetwork.x").is_none());
        assert_eq!(reference(ObjectType::Namespace, "spec"), "kubectl explain namespace.spec");
    }
}
