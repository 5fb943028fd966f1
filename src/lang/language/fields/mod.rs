//! [`FIELDS`]: every field that a policy may read by a short name, with its type, range, size and
//! meaning.
//!
//! The checker, both evaluators (a getter per row), the analyses, help and docs read the rows. The
//! structures below `spec`, `status` and `metadata` are in `api.rs`.

pub mod api;
pub mod kinds;
mod parts;
mod table;

use bayplan_model::Kinds;
pub use parts::{CountedPart, PARTS, PartDef};
pub use table::FIELDS;

pub use crate::types::ObjectType;

use crate::types::Ty;

/// A row of [`FIELDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub u16);

impl FieldId {
    /// Its row.
    pub fn def(self) -> &'static FieldDef {
        &FIELDS[self.0 as usize]
    }
}

/// A field that a policy may read.
#[derive(Debug)]
pub struct FieldDef {
    /// What has the field.
    pub owner: ObjectType,
    /// Its name.
    pub name: &'static str,
    /// Its type; `Ty::Optional` when it may be absent.
    pub ty: Ty,
    /// Smallest and largest value of a number, in base units.
    pub range: Option<(i64, i64)>,
    /// Most bytes of a text, most elements of a collection; 0 where it has none, and where `part` says how many.
    pub size: u32,
    /// What the elements of a collection are counted with; `None` where `size` tells.
    pub part: Option<CountedPart>,
    /// Most bytes of a text inside a collection; 0 if it holds none. All annotations of an object
    /// together have at most this size.
    pub text: u32,
    /// Which change of the cluster changes it.
    pub changed_by: Kinds,
    /// What evicting a pod from the node does to it.
    pub eviction: Eviction,
    /// What the compiler knows of its value beside the type; `None` where a value of the type is all it is.
    pub meaning: Option<Meaning>,
    /// What it means, in a sentence.
    pub doc: &'static str,
    /// The unit of its numbers where the type does not tell it; empty otherwise.
    unit: &'static str,
    /// Where its value comes from: a field of the Kubernetes object, or a part of the scheduler.
    pub source: &'static str,
    /// The values of a text, where there are no others.
    pub values: &'static [&'static str],
    /// How its value is got.
    pub access: Access,
}

impl FieldDef {
    /// What changes it, in words for people.
    pub fn changes_with(&self) -> &'static str {
        match self.changed_by {
            Kinds::TIME => "time",
            Kinds::LABELS => "its labels",
            Kinds::ANNOTATIONS => "its annotations",
            Kinds::TAINTS => "the taints of the node",
            Kinds::UNSCHEDULABLE => "cordon and uncordon",
            Kinds::ALLOCATABLE => "allocatable or capacity of the node",
            Kinds::IMAGES => "the images of the node",
            Kinds::CONDITIONS => "the conditions of the node",
            Kinds::PODS_REQUESTS => "the requests of the pods on the node",
            Kinds::PODS_OTHER => "the pods on the node",
            Kinds::PLACEMENT => "the placement of the pod",
            Kinds::OTHER => "the object itself",
            Kinds::QUEUE => "the queue",
            Kinds::ATTEMPTS => "each attempt",
            Kinds::METRICS => "each poll of the metrics API",
            Kinds::DEVICES => "devices, claims and their allocation",
            _ => "nothing",
        }
    }

    /// The unit of its numbers; `None` where they have none.
    pub fn unit(&self) -> Option<&'static str> {
        if self.unit.is_empty() { unit_of(&self.ty) } else { Some(self.unit) }
    }

    /// The objects that its value is, or is a list of.
    pub fn objects(&self) -> Option<ObjectType> {
        match &self.ty {
            Ty::Object(of) | Ty::Optional(Ty::Object(of)) | Ty::List(Ty::Object(of)) => Some(*of),
            _ => None,
        }
    }

    /// The key of the label that it is the value of.
    pub fn label(&self) -> Option<&'static str> {
        self.source.strip_prefix("metadata.labels[\"")?.strip_suffix("\"]")
    }

    /// Whether it is what the pods leave of what the node has: it changes with both.
    pub fn is_left(&self) -> bool {
        self.eviction == Eviction::Raises
    }
}

/// The base unit of the numbers of a type, as `value()` returns them; `None` where they have none.
pub fn unit_of(ty: &Ty) -> Option<&'static str> {
    match ty {
        Ty::Cpu => Some("millicores"),
        Ty::Bytes => Some("bytes"),
        Ty::Duration => Some("microseconds"),
        Ty::Resources => {
            Some("millicores for cpu; bytes for memory, ephemeral-storage and hugepages-*; pieces for others")
        }
        Ty::Optional(of) | Ty::List(of) => unit_of(of),
        _ => None,
    }
}

/// What a field is, where analyses and messages need to know more than its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Another one for each object of the kind.
    Identity,
    /// The name of a namespace.
    Namespace,
    /// The zone of a node: the value of a label, as which it is compared.
    Zone,
    /// All labels of an object.
    Labels,
    /// All annotations of an object.
    Annotations,
    /// All attributes of a device.
    Attributes,
    /// What preemption compares: the priority, or the class that gives it.
    Priority,
    /// The node that preemption reserved.
    Nomination,
    /// How far the scheduler has come with the placement of a pod.
    Binding,
    /// The amounts that a node has.
    Capacity,
    /// The amounts of a node that pods may use.
    Allocatable,
    /// The amounts that the pods on a node request.
    Requested,
    /// The amounts of a node that no pod requests.
    Free,
    /// The amounts that a pod requests.
    Requests,
}

impl Meaning {
    /// What an entry is called in messages, without its article; `None` where entries have no name of their own.
    pub fn entry(self) -> Option<&'static str> {
        match self {
            Meaning::Labels => Some("label"),
            Meaning::Annotations => Some("annotation"),
            Meaning::Attributes => Some("attribute"),
            _ => None,
        }
    }
}

/// How the value of a field is got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The object has it: it is as cheap to read again as to remember.
    Stored,
    /// It is made each time it is read.
    Made,
    /// It is read from the JSON of the object at `source`, which is kept for policies that read the field.
    Json,
}

/// What evicting a pod from a node does to a field of the node, or of the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// Nothing.
    None,
    /// It grows.
    Raises,
    /// It shrinks.
    Lowers,
    /// Anything may happen.
    Changes,
}

/// Most bytes of a key of labels, annotations and resources: a prefix of 253, a slash and a name of
/// 63, and one more.
pub(crate) const KEY_SIZE: u32 = 318;
/// Bytes of the longest annotation.
pub(crate) const ANNOTATION_SIZE: u32 = 262_144;
/// Assumed size in bytes of a text below `spec`, `status` and `metadata`. The API server accepts
/// objects of 1.5 MiB; rules read names, phases and messages there.
pub(crate) const API_TEXT_SIZE: u32 = 4096;
/// The row of a field of an object.
pub fn field(owner: ObjectType, name: &str) -> Option<FieldId> {
    FIELDS.iter().position(|row| row.owner == owner && row.name == name).map(|at| FieldId(at as u16))
}

/// All rows of an object, in the order of the table.
pub fn fields_of(owner: ObjectType) -> impl Iterator<Item = &'static FieldDef> {
    FIELDS.iter().filter(move |row| row.owner == owner)
}
