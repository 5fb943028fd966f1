//! [`Type`], [`Ty`] and the types of records.

use super::{ApiType, CelType, ObjectKind, ObjectType, Structure};
use std::fmt;
use std::sync::Arc;

/// The type of an expression.
///
/// Amounts with a unit are whole numbers of a base unit, kept in 64 bits: millicores, bytes,
/// microseconds, pieces. `==` is identity of types; [`Type::accepts`] tells which type may be used
/// for which.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Not known, because of a mistake that has been reported; silences what follows from it.
    Unknown,
    /// No value at all: what `none` is an optional of, and the element of `[]`. Fits every type.
    Never,
    /// `true` or `false`.
    Bool,
    /// 64-bit whole number.
    Int,
    /// CEL's unsigned whole number.
    Uint,
    /// Finite 64-bit float; shares too.
    Float,
    /// Text.
    String,
    /// CEL's byte strings.
    Blob,
    /// CEL's `null`.
    Null,
    /// Millicores.
    Cpu,
    /// Bytes.
    Bytes,
    /// Microseconds; may be negative.
    Duration,
    /// Pieces (GPUs, pods): an int that divides exactly.
    Count,
    /// Base units of a resource whose name is computed: of no known unit, and the same only where the name is.
    Amount(ComputedName),
    /// An instant, in microseconds since 1970.
    Time,
    /// Amounts by resource name.
    Resources,
    /// `list<T>`
    List(Arc<Type>),
    /// `set<T>`
    Set(Arc<Type>),
    /// `map<K, V>`
    Map(Arc<Type>, Arc<Type>),
    /// `{f: T, …}`, perhaps named.
    Record(Arc<RecordType>),
    /// An object with rows in the field table.
    Object(ObjectType),
    /// A structure of the API below `spec`, `status` or `metadata`: a row of `fields::api`.
    Api(ApiType),
    /// An object of a kind that is looked up.
    Kind(Arc<ObjectKind>),
    /// A structure below `spec`, `status` and so on of such an object, whose schema names its fields.
    Structure(Arc<Structure>),
    /// JSON without a known type.
    Dyn,
    /// CEL's `google.protobuf.Any`: a `dyn` that macros do not take, and that literals do not mix with other types.
    Any,
    /// CEL's name of a type, as `type(x)` gives it.
    TypeName,
    /// One of Kubernetes' quantities, as CEL has them: exact, without a unit.
    Quantity,
    /// CEL's `optional`: a value of its own that holds a T or nothing. No `T?`: it has `hasValue`,
    /// `orValue`, and an equality in which nothing equals nothing.
    CelOptional(Arc<Type>),
    /// `T?`: T, or absent. Never nested.
    Optional(Arc<Type>),
    /// A type without parts that only CEL has.
    Cel(CelType),
    /// CEL's type of the name of a type: `type(int)`.
    TypeOf(Arc<Type>),
    /// A type of CEL that is inferred from its uses, by the number that the checker gave it.
    Variable(u32),
}

/// The name of a resource that is not a constant. Two are the same when they have the same value in one
/// evaluation, not when they are written alike.
#[derive(Clone, Debug)]
pub struct ComputedName {
    /// The number of the name's value, which the checker of the policy gives.
    pub id: u32,
    /// As it is written, for messages.
    pub text: Arc<str>,
}

impl ComputedName {
    /// Stands for every name, in the rows of functions.
    pub fn any() -> Self {
        ComputedName { id: u32::MAX, text: Arc::from("") }
    }
}

impl PartialEq for ComputedName {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for ComputedName {}

impl std::hash::Hash for ComputedName {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// A record type: its fields in the order of the declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordType {
    /// The name of its declaration, for messages; records are equal by fields and name.
    pub name: Option<Arc<str>>,
    /// Names and types.
    pub fields: Box<[(Arc<str>, Type)]>,
}

impl Type {
    /// `T?`; of a `T?` itself, and of what is unknown, the same.
    pub fn optional(self) -> Type {
        match self {
            Type::Optional(_) | Type::Unknown | Type::Dyn => self,
            other => Type::Optional(Arc::new(other)),
        }
    }

    /// `list<T>`
    pub fn list(self) -> Type {
        Type::List(Arc::new(self))
    }

    /// The type without its `?`.
    pub fn present(&self) -> &Type {
        match self {
            Type::Optional(inner) => inner,
            other => other,
        }
    }

    /// Whether the value may be absent.
    pub fn is_optional(&self) -> bool {
        matches!(self, Type::Optional(_))
    }

    /// Whether it is unknown, or made of something unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        match self {
            Type::Unknown => true,
            Type::List(t) | Type::Set(t) | Type::Optional(t) | Type::CelOptional(t) => t.is_unknown(),
            Type::Map(k, v) => k.is_unknown() || v.is_unknown(),
            _ => false,
        }
    }

    /// Whether it is an amount with a unit, `count` included.
    pub fn is_unit(&self) -> bool {
        matches!(self, Type::Cpu | Type::Bytes | Type::Duration | Type::Count | Type::Amount(_))
    }

    /// Whether it is a number or an amount with a unit. `time` is neither.
    pub(crate) fn is_numeric(&self) -> bool {
        self.is_unit() || matches!(self, Type::Int | Type::Uint | Type::Float)
    }

    /// Whether its values are whole numbers of 64 bits (`Value::Int`).
    pub fn is_whole(&self) -> bool {
        self.is_unit() || matches!(self, Type::Int)
    }

    /// Whether its values have an order for `<`.
    pub(crate) fn is_ordered(&self) -> bool {
        self.is_numeric() || matches!(self, Type::Bool | Type::String | Type::Blob | Type::Time)
    }

    /// What a macro iterates over: the element of a list or set, the key of a map, the name of a
    /// resource.
    pub fn element(&self) -> Option<Type> {
        match self {
            Type::List(t) | Type::Set(t) => Some((**t).clone()),
            Type::Map(k, _) => Some((**k).clone()),
            Type::Resources => Some(Type::String),
            Type::Unknown => Some(Type::Unknown),
            _ => None,
        }
    }

    /// Whether every value of `given` is one of `self` as it is: elements that are there where absent ones
    /// may be, and `[]` where a list is.
    pub fn covers(&self, given: &Type) -> bool {
        match (self, given) {
            (_, Type::Never) => true,
            (Type::Optional(want), given) => want.covers(given.present()),
            (Type::List(want), Type::List(given)) | (Type::Set(want), Type::Set(given)) => want.covers(given),
            (Type::Map(key, want), Type::Map(of, given)) => key.covers(of) && want.covers(given),
            (want, given) => want == given,
        }
    }

    /// Whether it is a list, a set or a map.
    pub(crate) fn has_elements(&self) -> bool {
        matches!(self, Type::List(_) | Type::Set(_) | Type::Map(..))
    }

    /// Whether a value of `given` can be used where `self` is expected, as it is or after a
    /// lossless conversion: `int` for `float` and `count`, `count` for `int` and `float`, `T` for
    /// `T?`.
    pub fn accepts(&self, given: &Type) -> bool {
        match (self, given) {
            (Type::Unknown, _) | (_, Type::Unknown | Type::Never) => true,
            (Type::Optional(want), Type::Optional(given)) => want.accepts(given),
            (Type::Optional(want), given) => want.accepts(given),
            (want, given) if want.has_elements() && want.covers(given) => true,
            (Type::Float, Type::Int | Type::Count) => true,
            (Type::Count, Type::Int) | (Type::Int, Type::Count) => true,
            (Type::List(want), Type::List(given))
            | (Type::Set(want), Type::Set(given))
            | (Type::CelOptional(want), Type::CelOptional(given)) => {
                want == given || want.is_unknown() || given.is_unknown() || **given == Type::Never
            }
            (Type::Map(k, v), Type::Map(k2, v2)) => {
                **k2 == Type::Never
                    || (k == k2 || k.is_unknown() || k2.is_unknown())
                        && (v == v2 || v.is_unknown() || v2.is_unknown())
            }
            (want, given) => want == given,
        }
    }
}

impl fmt::Display for Type {
    /// As the type is written in a policy; what cannot be written is described.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Unknown => f.write_str("unknown"),
            Type::Never => f.write_str("none"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Float => f.write_str("float"),
            Type::String => f.write_str("string"),
            Type::Blob => f.write_str("blob"),
            Type::Null => f.write_str("null"),
            Type::Cpu => f.write_str("cpu"),
            Type::Bytes => f.write_str("bytes"),
            Type::Duration => f.write_str("duration"),
            Type::Count => f.write_str("count"),
            Type::Amount(name) => write!(f, "amount of {}", name.text),
            Type::Time => f.write_str("time"),
            Type::Resources => f.write_str("resources"),
            Type::List(t) => write!(f, "list<{t}>"),
            Type::Set(t) => write!(f, "set<{t}>"),
            Type::Map(k, v) => write!(f, "map<{k}, {v}>"),
            Type::Record(record) => match &record.name {
                Some(name) => f.write_str(name),
                None => {
                    f.write_str("{")?;
                    for (i, (name, t)) in record.fields.iter().enumerate() {
                        write!(f, "{}{name}: {t}", if i == 0 { "" } else { ", " })?;
                    }
                    f.write_str("}")
                }
            },
            Type::Object(object) => f.write_str(object.name()),
            Type::Api(api) => f.write_str(api.name),
            Type::Kind(kind) => write!(f, "\"{}\"", kind.name),
            Type::Structure(structure) => f.write_str(&structure.name),
            Type::Dyn => f.write_str("dyn"),
            Type::Any => f.write_str("google.protobuf.Any"),
            Type::TypeName => f.write_str("type"),
            Type::Quantity => f.write_str("quantity"),
            Type::CelOptional(t) => write!(f, "optional<{t}>"),
            Type::Optional(t) => write!(f, "{t}?"),
            Type::Cel(of) => f.write_str(of.name()),
            Type::TypeOf(t) => write!(f, "type({t})"),
            Type::Variable(_) => f.write_str("dyn"),
        }
    }
}

/// A type as a table row writes it: the constant form of [`Type`], with variables for functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `uint`
    Uint,
    /// `float`
    Float,
    /// `string`
    String,
    /// `blob`
    Blob,
    /// `null`
    Null,
    /// `cpu`
    Cpu,
    /// `bytes`
    Bytes,
    /// `duration`
    Duration,
    /// `count`
    Count,
    /// `amount` of any name
    Amount,
    /// `time`
    Time,
    /// `resources`
    Resources,
    /// `dyn`
    Dyn,
    /// CEL's name of a type
    TypeName,
    /// CEL's quantity
    Quantity,
    /// CEL's `optional`
    CelOptional(&'static Ty),
    /// A type that only CEL has
    Cel(CelType),
    /// An object with rows in the field table.
    Object(ObjectType),
    /// A structure of the API, by its name in `fields::api`.
    Api(&'static str),
    /// `list<T>`
    List(&'static Ty),
    /// `map<K, V>`
    Map(&'static Ty, &'static Ty),
    /// `T?`
    Optional(&'static Ty),
    /// Any type, the same wherever the row has this letter.
    Var(char),
    /// Any number or amount with a unit, the same wherever the row has this letter.
    Number(char),
    /// Any ordered type, the same wherever the row has this letter.
    Ordered(char),
}
