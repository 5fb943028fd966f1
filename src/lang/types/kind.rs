//! [`ObjectKind`]: a kind of object that policies look up, with the types of its fields; [`Structure`]: a structure whose
//! fields a schema names.

use super::Type;
use super::range::Range;
use bayplan_model::KindName;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A kind of object that policies look up. Two are equal when they have the same name and the same fields.
#[derive(Clone, Debug)]
pub struct ObjectKind {
    /// Group, version and kind.
    pub name: KindName,
    /// The name of the resource: `podgroups`. `None`: only the API server knows.
    pub plural: Option<Arc<str>>,
    /// Whether objects are in namespaces. `None`: only the API server knows.
    pub namespaced: Option<bool>,
    /// The fields beside `metadata`. `None`: nothing says which there are.
    pub fields: Option<Arc<Structure>>,
}

impl PartialEq for ObjectKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.fields == other.fields
            && (&self.plural, self.namespaced) == (&other.plural, other.namespaced)
    }
}

impl Eq for ObjectKind {}

impl Hash for ObjectKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ObjectKind {
    /// A kind known by its name alone.
    pub fn unknown(name: KindName) -> Self {
        Self { name, plural: None, namespaced: None, fields: None }
    }
}

/// A structure whose fields a schema names.
#[derive(Clone, Debug)]
pub struct Structure {
    /// The path by which messages name it: `PodGroup.spec`.
    pub name: Arc<str>,
    /// Whether there may be fields that the schema does not name.
    pub open: bool,
    fields: Box<[SchemaField]>,
    /// A hash of the fields.
    digest: u64,
}

/// A field of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaField {
    /// Its name.
    pub name: Arc<str>,
    /// Its type; `T?` where it may be missing.
    pub ty: Type,
    /// The range of a number.
    pub range: Range,
    /// All values of a text, or of the texts in a list, where the schema declares them; else empty. A lint reads them;
    /// the type does not have them.
    pub values: Vec<String>,
}

impl Structure {
    /// A structure with these fields.
    pub fn new(name: impl Into<Arc<str>>, open: bool, mut fields: Vec<SchemaField>) -> Self {
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        let name = name.into();
        let mut hasher = FxHasher::default();
        (&name, open).hash(&mut hasher);
        for field in &fields {
            (&field.name, &field.ty).hash(&mut hasher);
            hasher.write(format!("{:?}", field.range).as_bytes());
        }
        let digest = hasher.finish();
        Self { name, open, fields: fields.into(), digest }
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&SchemaField> {
        let at = self.fields.binary_search_by(|field| (*field.name).cmp(name)).ok()?;
        self.fields.get(at)
    }

    /// The fields, in the order of their names.
    pub fn fields(&self) -> &[SchemaField] {
        &self.fields
    }
}

impl PartialEq for Structure {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.name == other.name
    }
}

impl Eq for Structure {}

impl Hash for Structure {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}
