//! Reads a schema of OpenAPI 3 as types.

use crate::types::range::Range;
use crate::types::{SchemaField, Structure, Type};
use bayplan_model::KindName;
use serde_json::Value;
use std::sync::Arc;

/// Most fields of a kind with a known type.
const MOST_FIELDS: usize = 10_000;
/// Most levels of fields with a known type.
const MOST_LEVELS: usize = 32;
/// Most bytes of the name of a field.
const LONGEST_NAME: usize = 256;

/// The reading of one kind.
pub(super) struct Reading<'s> {
    /// The schemas that references name.
    others: Option<&'s Value>,
    fields: usize,
    levels: usize,
}

impl<'s> Reading<'s> {
    pub(super) fn new(others: Option<&'s Value>) -> Self {
        Self { others, fields: 0, levels: 0 }
    }

    /// The fields of the objects of a kind, `metadata` left out.
    pub(super) fn root(mut self, name: &KindName, schema: &'s Value) -> Option<Arc<Structure>> {
        let schema = self.referred(schema)?;
        let properties = schema.get("properties")?.as_object()?;
        let own = |field: &str| !matches!(field, "apiVersion" | "kind" | "metadata");
        if !properties.keys().any(|field| own(field)) {
            return None;
        }
        match self.structure(name.kind(), schema)? {
            Type::Structure(all) => {
                let fields = all.fields().iter().filter(|field| own(&field.name)).cloned().collect();
                Some(Arc::new(Structure::new(name.kind(), all.open, fields)))
            }
            _ => None,
        }
    }

    /// The schema that is meant, through references.
    fn referred(&self, schema: &'s Value) -> Option<&'s Value> {
        let mut schema = schema;
        for _ in 0..MOST_LEVELS {
            let wrapped = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice);
            let reference = match (schema.get("$ref"), wrapped) {
                (Some(reference), _) => reference,
                (None, Some([one])) if schema.get("properties").is_none() => one.get("$ref")?,
                _ => return Some(schema),
            };
            let name = reference.as_str()?.rsplit('/').next()?;
            schema = self.others?.get(name)?;
        }
        None
    }

    /// The type and range of a value, and whether it may be `null`.
    fn value(&mut self, path: &str, schema: &'s Value) -> (Type, Range) {
        let unknown = (Type::Dyn, Range::None);
        let Some(schema) = self.referred(schema) else { return unknown };
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool) == Some(true);
        if flag("x-kubernetes-int-or-string") || self.levels >= MOST_LEVELS {
            return unknown;
        }
        let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
        self.levels += 1;
        let found = match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
            "string" if format == "date-time" => (Type::Time, Range::None),
            "string" => (Type::String, Range::None),
            "boolean" => (Type::Bool, Range::None),
            "integer" => (Type::Int, whole(schema, format)),
            "number" => (Type::Float, Range::of(&Type::Float)),
            "array" => match schema.get("items") {
                Some(items) => (self.value(path, items).0.list(), Range::None),
                None => unknown,
            },
            "object" => (self.structure(path, schema).unwrap_or(Type::Dyn), Range::None),
            _ => unknown,
        };
        self.levels -= 1;
        found
    }

    /// The texts that `enum` allows for a value, or for the elements of a list.
    fn values(&self, schema: &'s Value) -> Vec<String> {
        let schema = self.referred(schema);
        let of = schema.and_then(|schema| self.referred(schema.get("items").unwrap_or(schema)));
        let listed = of.and_then(|of| of.get("enum")).and_then(Value::as_array);
        listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// An object: a structure, or a map from texts.
    fn structure(&mut self, path: &str, schema: &'s Value) -> Option<Type> {
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool) == Some(true);
        let open = flag("x-kubernetes-preserve-unknown-fields");
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            let values = schema.get("additionalProperties").filter(|values| values.is_object())?;
            let (of, _) = self.value(path, values);
            return Some(Type::Map(Arc::new(Type::String), Arc::new(of)));
        };
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|it| it.as_str() == Some(name)));
        let mut fields = Vec::new();
        let mut cut = false;
        for (name, schema) in properties {
            self.fields += 1;
            if self.fields > MOST_FIELDS || name.len() > LONGEST_NAME {
                cut = true;
                continue;
            }
            let path = format!("{path}.{name}");
            let nullable = schema.get("nullable").and_then(Value::as_bool) == Some(true);
            let (ty, range) = self.value(&path, schema);
            let ty = if is_required(name) && !nullable { ty } else { ty.optional() };
            let values = self.values(schema);
            fields.push(SchemaField { name: Arc::from(name.as_str()), ty, range, values });
        }
        Some(Type::Structure(Arc::new(Structure::new(path, open || cut, fields))))
    }
}

/// The range of a whole number.
fn whole(schema: &Value, format: &str) -> Range {
    let (low, high) = match format {
        "int32" => (i128::from(i32::MIN), i128::from(i32::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64).map(i128::from);
    let low = bound("minimum").map_or(low, |bound| bound.max(low));
    let high = bound("maximum").map_or(high, |bound| bound.min(high));
    if low <= high { Range::whole(low, high) } else { Range::of(&Type::Int) }
}
