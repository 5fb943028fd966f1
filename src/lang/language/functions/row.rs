//! [`FunctionDef`]: the row of a function, and what analyses ask of it.

use super::{
    Pattern, Windows, cel, collections, conversions, format, math, optionals, patterns, quantities,
    resources, sample, strings, times,
};
use crate::types::range::Range;
use crate::types::value::{Constant, Value};
use crate::types::{CelType, Ty, Type};
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// Every row, family by family. Overloads of CEL are in the order of cel-go, which takes the first where the type of
/// an argument is open: those of lists before those of strings.
pub static FUNCTIONS: &[&[FunctionDef]] = &[
    math::FUNCTIONS,
    optionals::FUNCTIONS,
    conversions::FUNCTIONS,
    cel::sizes::FUNCTIONS,
    cel::lists::FUNCTIONS,
    strings::FUNCTIONS,
    patterns::FUNCTIONS,
    format::FUNCTIONS,
    collections::FUNCTIONS,
    quantities::FUNCTIONS,
    resources::FUNCTIONS,
    times::PARTS,
    times::FUNCTIONS,
    cel::conversions::FUNCTIONS,
    cel::times::PARTS,
    cel::times::FUNCTIONS,
    cel::format::FUNCTIONS,
    cel::lists::IS_SORTED,
    cel::lists::MIN,
    cel::lists::MAX,
    cel::sets::FUNCTIONS,
    cel::quantities::FUNCTIONS,
    cel::net::FUNCTIONS,
    cel::url::FUNCTIONS,
    cel::semver::FUNCTIONS,
    cel::formats::FUNCTIONS,
    cel::devices::FUNCTIONS,
    sample::FUNCTIONS,
];

/// Functions of CEL in Kubernetes that this release does not have, for messages.
pub static NOT_BUILT: &[&str] = &[
    "cidr",
    "ip",
    "isCIDR",
    "isIP",
    "isSemver",
    "isURL",
    "metrics",
    "numa.fits",
    "numa.zones_needed",
    "semver",
    "url",
];

/// A row: family, and row of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u8, pub u8);

impl FunctionId {
    /// Its row.
    pub fn def(self) -> &'static FunctionDef {
        &FUNCTIONS[self.0 as usize][self.1 as usize]
    }
}

/// One overload of a function or method.
#[derive(Debug)]
pub struct FunctionDef {
    /// Its name; with its namespace in front where it has one (`math.greatest`).
    pub name: &'static str,
    /// Called as `x.name(…)`: the object is the first parameter.
    pub method: bool,
    /// The languages that have it.
    pub dialects: Dialects,
    /// Types of the parameters.
    pub params: &'static [Ty],
    /// Names of the parameters, for messages and docs.
    pub names: &'static [&'static str],
    /// The last parameter may be given any number of times, at least once.
    pub repeats: bool,
    /// The type of the result, without the `?` that `absent` may add.
    pub result: Ty,
    /// The range of a numeric result from those of the arguments; `None` where nothing is known.
    pub range: Option<fn(&[Range]) -> Range>,
    /// When the result is absent.
    pub absent: Absence,
    /// Which arguments must be constants, and how they are prepared.
    pub prepare: Option<Prepare>,
    /// What the ranges of the arguments must prove; the error is the position of an argument and a
    /// message.
    pub demand: Option<Demand>,
    /// What more of each argument does to the result; the last one counts for all that follow.
    pub influence: &'static [Influence],
    /// How a scan of columns computes it for 64 nodes at once; `None` if it is called node by node.
    pub vector: Option<Vector>,
    /// The result is the sum of the elements of its only argument. In the policy language the body is given
    /// [`Prepared::Zero`]: the sum of nothing is the 0 of its type.
    pub sums: bool,
    /// The result is the number of elements of its only argument: a bound on it shows which
    /// elements exist.
    pub counts_elements: bool,
    /// What it has to do with values that may be absent, and with optionals of CEL; `None` where that shows in its
    /// types.
    pub presence: Option<Presence>,
    /// Where it looks for the text of its last argument in its first one, if that is all it does.
    pub looks_for: Option<LooksFor>,
    /// It makes a value of the type of its result, which it is called after, of its only argument: `int`, `quantity`.
    pub converts: bool,
    /// The argument by whose size cel-go counts what a call costs, where it can tell the overload; it stops where that
    /// argument is of another type.
    pub counted_by: Option<usize>,
    /// The body tells itself that an element of a list has the wrong type: in CEL an overload fits whatever elements its
    /// list has.
    pub checks_elements: bool,
    /// How long it takes, from the sizes of its arguments.
    pub work: Work,
    /// How large its result is, from the sizes of its arguments.
    pub grows: Grows,
    /// What it means, in a sentence or two.
    pub doc: &'static str,
    /// Expressions and their values, as the language writes them; they run as tests.
    pub examples: Examples,
    /// Computes the value. The arguments have the parameters' types and are absent only if the
    /// parameter is `T?`. Total: a call without a result gives `Value::Absent`.
    pub body: Body,
}

/// The languages that have a function.
///
/// In CEL the body is called with values whose types fit the row, which may be chosen while the expression is
/// evaluated; `Value::Absent` becomes a fault, and a row of CEL alone may give a fault itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialects {
    /// The policy language.
    pub policy: bool,
    /// CEL in Kubernetes, and in policies.
    pub kubernetes: bool,
    /// Selectors of devices.
    pub devices: bool,
    /// Selectors of devices with the libraries of Kubernetes 1.37.
    pub newer: bool,
}

impl Dialects {
    /// The policy language alone.
    pub const POLICY: Dialects = Dialects { policy: true, kubernetes: false, devices: false, newer: false };
    /// The policy language and CEL.
    pub const ALL: Dialects = Dialects { policy: true, kubernetes: true, devices: true, newer: true };
    /// Selectors of devices of Kubernetes 1.36 alone.
    pub(crate) const DEVICES: Dialects =
        Dialects { policy: false, kubernetes: false, devices: true, newer: false };
    /// Selectors of devices of Kubernetes 1.37 alone.
    pub(crate) const NEWER_DEVICES: Dialects =
        Dialects { policy: false, kubernetes: false, devices: false, newer: true };
    /// CEL alone, but for selectors of devices of Kubernetes 1.37.
    pub(crate) const OLDER_CEL: Dialects =
        Dialects { policy: false, kubernetes: true, devices: true, newer: false };
    /// CEL alone.
    pub const CEL: Dialects = Dialects { policy: false, kubernetes: true, devices: true, newer: true };
}

/// Expressions and their values, as the language writes them.
pub type Examples = &'static [(&'static str, &'static str)];

/// The function itself.
pub type Body = for<'a> fn(&[Value<'a>], &Prepared) -> Value<'a>;

/// What must be known of the ranges of arguments.
pub type Demand = fn(&[Range]) -> Result<(), (usize, &'static str)>;

/// What more of an argument does to the result of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Influence {
    /// The result grows or stays.
    Raises,
    /// The result shrinks or stays.
    Lowers,
    /// It divides the first argument: the result moves away from the sign of that one.
    Divides,
    /// Nothing is known.
    Unknown,
}

/// What a function has to do with values that may be absent (`T?`), and with optionals of CEL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Makes an optional of what may be absent: an empty one where that is absent.
    Wraps,
    /// Makes an optional of a value: an empty one where that is absent or, in CEL, a fault.
    Catches,
    /// Makes an optional that holds its argument.
    Holds,
    /// Makes an optional that holds its argument unless that is 0 or empty.
    HoldsNonZero,
    /// Makes an empty optional.
    HoldsNothing,
    /// True if the optional holds something.
    Tests,
    /// What the optional holds; it has no value where that is empty.
    Takes,
    /// What the optional holds, or the other argument.
    TakesOr,
    /// The first optional that holds something.
    Or,
    /// What the optionals of a list hold; empty ones are left out.
    TakesAll,
    /// The elements of a list that are not absent.
    Compacts,
}

/// What a conversion makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// A number without a unit.
    Number,
    /// A length of time.
    Duration,
    /// An instant.
    Time,
    /// A Kubernetes quantity, or an amount, which is written as one.
    Quantity,
    /// A value of another type.
    Other,
}

/// The functions that a scan of columns computes from whole amounts, without a call for each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vector {
    /// `arithmetic::percent`
    Percent,
    /// `arithmetic::share`
    Share,
}

/// Where a text is looked for in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooksFor {
    /// At its beginning.
    Beginning,
    /// At its end.
    End,
    /// Anywhere.
    Anywhere,
}

/// How long a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It walks over each argument once.
    Walks,
    /// It puts elements in order, or into a set.
    Sorts,
    /// It matches a pattern: each byte of the text visits each state of the compiled pattern.
    Matches,
    /// It matches a pattern again and again, after each match.
    MatchesAll,
    /// It sums up so many steps' worth of terms of a series.
    Series(u8),
    /// It finds a day and hour of the calendar in a time zone.
    Calendar,
}

/// How large the text or list is that a function makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grows {
    /// No larger than its largest argument.
    Never,
    /// No larger than its largest argument, and no longer than the argument at this place.
    Takes(usize),
    /// As large as all arguments together.
    Adds,
    /// Parts of a text: as many as it has bytes, and one.
    Parts,
    /// The texts of a list, with another between them.
    Joins,
    /// A text with another in the place of a third.
    Replaces,
    /// The elements of all lists of a list.
    Flattens,
    /// As many elements as the value of its argument.
    Counts,
    /// A text with escapes in it.
    Escapes,
    /// A text with the values of a list in it.
    Formats,
}

/// When the result of a function is absent although its arguments are present.
#[derive(Clone, Copy, Debug)]
pub enum Absence {
    /// Never.
    Never,
    /// It may be: the result is `T?`.
    Maybe,
    /// Never, even if an argument is absent.
    Taken,
    /// It may be, unless the ranges of the arguments prove otherwise.
    Unless(fn(&[Range]) -> bool),
}

/// How constant arguments are prepared when the policy is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Prepare {
    /// Positions of the arguments that must be constants.
    pub constants: &'static [usize],
    /// Prepares them.
    pub make: Make,
}

/// Prepares constant arguments; the error is the position of an argument and a message.
pub type Make = fn(&[Option<Constant>]) -> Result<Prepared, (usize, String)>;

impl Prepared {
    /// Bytes that it takes in memory beside a constant size.
    pub fn bytes(&self) -> u64 {
        match self {
            Prepared::Pattern(pattern) => pattern.bytes,
            Prepared::Nothing
            | Prepared::Windows(_)
            | Prepared::Zone(_)
            | Prepared::Zero(_)
            | Prepared::Format(..) => 0,
        }
    }
}

/// Prepared constant arguments.
#[derive(Clone, Debug)]
pub enum Prepared {
    /// Nothing.
    Nothing,
    /// A pattern.
    Pattern(Arc<Pattern>),
    /// Weekly windows with their time zone.
    Windows(Arc<Windows>),
    /// A time zone.
    Zone(jiff::tz::TimeZone),
    /// The 0 of the result's type.
    Zero(Constant),
    /// A format string, and the types of the values for its verbs.
    Format(Arc<[format::Piece]>, Arc<[Type]>),
}

impl FunctionDef {
    /// A row to take the rest of a row from.
    pub(super) const BASE: FunctionDef = FunctionDef {
        name: "",
        method: false,
        dialects: Dialects::POLICY,
        params: &[],
        names: &[],
        repeats: false,
        result: Ty::Bool,
        range: None,
        absent: Absence::Never,
        prepare: None,
        demand: None,
        influence: &[],
        vector: None,
        sums: false,
        counts_elements: false,
        presence: None,
        looks_for: None,
        converts: false,
        counted_by: None,
        checks_elements: false,
        work: Work::Walks,
        grows: Grows::Never,
        doc: "",
        examples: &[],
        body: |_, _| Value::Absent,
    };

    /// The row of CEL for one of the policy language, whose values CEL compares or refuses in its own way.
    pub(super) const fn in_cel(self, body: Body) -> FunctionDef {
        FunctionDef { dialects: Dialects::CEL, body, ..self }
    }

    /// What it makes, if it is a conversion.
    pub fn conversion(&self) -> Option<Conversion> {
        self.converts.then_some(match self.result {
            Ty::Int | Ty::Uint | Ty::Float => Conversion::Number,
            Ty::Duration | Ty::Cel(CelType::Duration) => Conversion::Duration,
            Ty::Time | Ty::Cel(CelType::Timestamp) => Conversion::Time,
            Ty::Cpu | Ty::Bytes | Ty::Count | Ty::Quantity => Conversion::Quantity,
            _ => Conversion::Other,
        })
    }

    /// Whether it makes a float of a number or of a text: `float`, `double`.
    pub(crate) fn makes_float(&self) -> bool {
        self.converts && self.result == Ty::Float
    }

    /// Whether its argument 1 is a pattern.
    pub(crate) fn matches_pattern(&self) -> bool {
        matches!(self.work, Work::Matches | Work::MatchesAll)
    }

    /// Whether its result is the type of its argument.
    pub(crate) fn is_type_of(&self) -> bool {
        self.result == Ty::TypeName
    }

    /// What more of the argument at this place does to the result.
    pub fn influence(&self, at: usize) -> Influence {
        self.influence.get(at).or(self.influence.last()).copied().unwrap_or(Influence::Unknown)
    }

    /// How it is written, as in `clamp(x: T, low: T, high: T): T`.
    pub fn signature(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        let parameter = |at: usize| {
            format!("{}: {}", self.names.get(at).copied().unwrap_or("x"), ty_text(&self.params[at]))
        };
        let first = usize::from(self.method);
        if self.method {
            let _ = write!(text, "{}.", self.params.first().map(ty_text).unwrap_or_default());
        }
        let rest: Vec<String> = (first..self.params.len()).map(parameter).collect();
        let more = if self.repeats { ", …" } else { "" };
        let absent = if matches!(self.absent, Absence::Never | Absence::Taken) { "" } else { "?" };
        let _ = write!(text, "{}({}{more}): {}{absent}", self.name, rest.join(", "), ty_text(&self.result));
        text
    }
}

/// A type of a row, as it is written.
pub fn ty_text(ty: &Ty) -> String {
    match ty {
        Ty::Var(letter) | Ty::Number(letter) | Ty::Ordered(letter) => letter.to_uppercase().to_string(),
        Ty::List(t) => format!("list<{}>", ty_text(t)),
        Ty::Map(k, v) => format!("map<{}, {}>", ty_text(k), ty_text(v)),
        Ty::Optional(t) => format!("{}?", ty_text(t)),
        Ty::CelOptional(t) => format!("optional<{}>", ty_text(t)),
        Ty::TypeName => "type".to_owned(),
        Ty::Object(object) => object.name().to_owned(),
        Ty::Api(name) => (*name).to_owned(),
        Ty::Amount => "amount".to_owned(),
        Ty::Cel(of) => of.name().to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// The rows of a name in the policy language, methods or functions.
pub fn named(name: &str, method: bool) -> &'static [FunctionId] {
    indexed(&POLICY_INDEX, name, method, |dialects| dialects.policy)
}

/// The rows of a name in CEL as Kubernetes has it, methods or functions.
pub fn named_in_kubernetes(name: &str, method: bool) -> &'static [FunctionId] {
    indexed(&KUBERNETES_INDEX, name, method, |dialects| dialects.kubernetes)
}

/// The rows of a name in selectors of devices, methods or functions.
pub(crate) fn named_in_devices(name: &str, method: bool) -> &'static [FunctionId] {
    indexed(&DEVICES_INDEX, name, method, |dialects| dialects.devices)
}

/// The rows of a name in selectors of devices of Kubernetes 1.37, methods or functions.
pub(crate) fn named_in_newer_devices(name: &str, method: bool) -> &'static [FunctionId] {
    indexed(&NEWER_DEVICES_INDEX, name, method, |dialects| dialects.newer)
}

/// Whether one of the rows of a name has a property. The rows of a name share what their types do not tell.
pub fn any(rows: &[FunctionId], has: impl Fn(&FunctionDef) -> bool) -> bool {
    rows.iter().any(|id| has(id.def()))
}

/// The first row of the policy language with this meaning for optionals.
pub(crate) fn with_presence(presence: Presence) -> Option<FunctionId> {
    FUNCTIONS.iter().enumerate().find_map(|(family, rows)| {
        let has = |row: &FunctionDef| row.dialects.policy && row.presence == Some(presence);
        rows.iter().position(has).map(|row| FunctionId(family as u8, row as u8))
    })
}

/// Rows by name: functions, and methods.
pub(super) type Index = OnceLock<[FxHashMap<&'static str, Vec<FunctionId>>; 2]>;

pub(super) static POLICY_INDEX: Index = OnceLock::new();

pub(super) static KUBERNETES_INDEX: Index = OnceLock::new();

pub(super) static DEVICES_INDEX: Index = OnceLock::new();

pub(super) static NEWER_DEVICES_INDEX: Index = OnceLock::new();

pub(super) fn indexed(
    index: &'static Index,
    name: &str,
    method: bool,
    has: fn(Dialects) -> bool,
) -> &'static [FunctionId] {
    let index = index.get_or_init(|| {
        let mut index: [FxHashMap<&'static str, Vec<FunctionId>>; 2] = Default::default();
        for (family, rows) in FUNCTIONS.iter().enumerate() {
            for (row, def) in rows.iter().enumerate().filter(|(_, def)| has(def.dialects)) {
                let id = FunctionId(family as u8, row as u8);
                index[usize::from(def.method)].entry(def.name).or_default().push(id);
            }
        }
        index
    });
    index[usize::from(method)].get(name).map_or(&[], Vec::as_slice)
}

/// Every row of the policy language.
pub fn of_policies() -> impl Iterator<Item = &'static FunctionDef> {
    FUNCTIONS.iter().flat_map(|family| family.iter()).filter(|row| row.dialects.policy)
}

/// Every name of the policy language, for suggestions.
pub fn names(method: bool) -> impl Iterator<Item = &'static str> {
    of_policies().filter(move |row| row.method == method).map(|row| row.name)
}
