//! [`Cel`]: the values that only CEL has: exact durations and instants, the values of Kubernetes' libraries,
//! and [`Fault`], what an operation gives that has no value.
//!
//! The policy language counts time in microseconds and has no faults; none of these values is ever in it.

use super::value::Constant;
use bayplan_diag::Span;
use bayplan_model::{Quantity, QuantityError};
use std::cmp::Ordering;
use std::net::IpAddr;
use std::sync::Arc;

/// A type that only CEL has, of values without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CelType {
    /// `google.protobuf.Duration`
    Duration,
    /// `google.protobuf.Timestamp`
    Timestamp,
    /// `net.IP`
    Ip,
    /// `net.CIDR`
    Cidr,
    /// `kubernetes.URL`
    Url,
    /// `kubernetes.Semver`
    Semver,
    /// `kubernetes.NamedFormat`
    Format,
}

impl CelType {
    /// Its name in CEL.
    pub fn name(self) -> &'static str {
        match self {
            CelType::Duration => "google.protobuf.Duration",
            CelType::Timestamp => "google.protobuf.Timestamp",
            CelType::Ip => "net.IP",
            CelType::Cidr => "net.CIDR",
            CelType::Url => "kubernetes.URL",
            CelType::Semver => "kubernetes.Semver",
            CelType::Format => "kubernetes.NamedFormat",
        }
    }
}

/// A value that only CEL has.
#[derive(Clone, Debug)]
pub enum Cel {
    /// No value: the operation failed.
    Fault(Arc<Fault>),
    /// Nanoseconds.
    Duration(i64),
    /// A point in time.
    Instant(Arc<Instant>),
    /// An address without a zone.
    Ip(Arc<IpAddr>),
    /// A network.
    Cidr(Arc<Cidr>),
    /// A URL as Go's `net/url` reads it.
    Url(Arc<Url>),
    /// A semantic version.
    Semver(Arc<Semver>),
    /// A format of Kubernetes, by its name.
    Format(&'static str),
    /// The attributes or capacities of a device by domain: a domain without any is an empty map.
    Domains(Arc<Vec<(Constant, Constant)>>),
}

/// A quantity of Kubernetes with what cel-go shows of it beside the amount, which decides equality and order.
#[derive(Clone, Debug)]
pub struct ExactQuantity {
    /// The amount.
    pub amount: Quantity,
    /// The text that it was read from, where that is how it is printed.
    text: Option<Box<str>>,
    /// `add` or `sub` made it.
    pub is_sum: bool,
}

impl ExactQuantity {
    /// Reads a quantity.
    ///
    /// # Errors
    /// Those of [`Quantity::parse`].
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let (amount, kept) = (Quantity::parse(text)?, Quantity::reprint(text)?);
        let text = (*kept == *text && amount.to_string() != text).then(|| text.into());
        Ok(ExactQuantity { amount, text, is_sum: false })
    }

    /// An amount that is printed as Kubernetes prints it.
    pub fn of(amount: Quantity) -> Self {
        ExactQuantity { amount, text: None, is_sum: false }
    }

    /// What `add` or `sub` made.
    pub fn sum(amount: Quantity) -> Self {
        ExactQuantity { amount, text: None, is_sum: true }
    }
}

impl std::ops::Deref for ExactQuantity {
    type Target = Quantity;
    fn deref(&self) -> &Quantity {
        &self.amount
    }
}

/// As upstream prints it.
impl std::fmt::Display for ExactQuantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => self.amount.fmt(f),
        }
    }
}

/// A point in time with nanoseconds, from the year 1 to the year 9999.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    /// Whole seconds since 1970, rounded down.
    pub seconds: i64,
    /// Nanoseconds of the second: 0 to 999,999,999.
    pub nanoseconds: u32,
    /// Seconds east of UTC of the text that it was read from. It says how the instant is written again, and takes
    /// no part in comparisons.
    pub offset: i32,
}

impl Instant {
    /// An instant that is written in UTC.
    pub fn utc(seconds: i64, nanoseconds: u32) -> Self {
        Instant { seconds, nanoseconds, offset: 0 }
    }

    fn point(&self) -> (i64, u32) {
        (self.seconds, self.nanoseconds)
    }
}

impl PartialEq for Instant {
    fn eq(&self, other: &Self) -> bool {
        self.point() == other.point()
    }
}

impl Eq for Instant {}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Self) -> Ordering {
        self.point().cmp(&other.point())
    }
}

impl std::hash::Hash for Instant {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.point().hash(state);
    }
}

/// A network: the address as it was written, and how many bits of it name the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr {
    /// The address.
    pub address: IpAddr,
    /// The length of the prefix in bits.
    pub prefix: u8,
}

/// A URL in the parts that Kubernetes' library gives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Url {
    /// As Go writes it again.
    pub text: String,
    /// `https`; empty for a path.
    pub scheme: String,
    /// The name or address without port.
    pub hostname: String,
    /// The host with its port, as it was written.
    pub host: String,
    /// The port; empty without one.
    pub port: String,
    /// The path with its escapes.
    pub escaped_path: String,
    /// Names and values of the query in the order of the names.
    pub query: Vec<(String, Vec<String>)>,
}

/// A semantic version; the build metadata takes no part in comparisons.
#[derive(Clone, Debug, Default)]
pub struct Semver {
    /// `X` of `X.Y.Z`
    pub major: u64,
    /// `Y` of `X.Y.Z`
    pub minor: u64,
    /// `Z` of `X.Y.Z`
    pub patch: u64,
    /// The identifiers after `-`.
    pub pre_release: Vec<PreRelease>,
    /// The identifiers after `+`.
    pub build: Vec<String>,
}

/// An identifier of a pre-release: numbers come before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PreRelease {
    /// Digits only.
    Number(u64),
    /// Anything else.
    Text(String),
}

impl Semver {
    /// The order of versions: without a pre-release is the greater one.
    pub fn order(&self, other: &Semver) -> Ordering {
        let numbers = |of: &Semver| (of.major, of.minor, of.patch);
        numbers(self)
            .cmp(&numbers(other))
            .then_with(|| self.pre_release.is_empty().cmp(&other.pre_release.is_empty()))
            .then_with(|| self.pre_release.cmp(&other.pre_release))
    }
}

/// Why an operation has no value.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// What went wrong, with the values, for people.
    pub message: Arc<str>,
    /// The operation.
    pub span: Span,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A map has no such key.
    NoSuchKey,
    /// An object has no such field.
    NoSuchField,
    /// The operation is not defined for values of these types.
    NoSuchOverload,
    /// A list has no such element.
    IndexOutOfBounds,
    /// `/` or `%` by 0.
    DivisionByZero,
    /// A number, duration or instant leaves its range.
    Overflow,
    /// A text is not what it is converted to.
    BadConversion,
    /// An argument that the function refuses.
    BadArgument,
    /// The evaluation took more steps than it may.
    TooManySteps,
    /// The evaluation stops: nothing absorbs it.
    Stopped,
}

impl Fault {
    /// A fault whose place the evaluator fills in.
    pub fn new(kind: FaultKind, message: impl Into<Arc<str>>) -> Self {
        Fault { kind, message: message.into(), span: Span::default() }
    }
}

impl Cel {
    /// The type; `None` for a fault.
    pub fn ty(&self) -> Option<CelType> {
        Some(match self {
            Cel::Fault(_) | Cel::Domains(_) => return None,
            Cel::Duration(_) => CelType::Duration,
            Cel::Instant(_) => CelType::Timestamp,
            Cel::Ip(_) => CelType::Ip,
            Cel::Cidr(_) => CelType::Cidr,
            Cel::Url(_) => CelType::Url,
            Cel::Semver(_) => CelType::Semver,
            Cel::Format(_) => CelType::Format,
        })
    }

    fn rank(&self) -> u8 {
        match self {
            Cel::Fault(_) => 0,
            Cel::Duration(_) => 1,
            Cel::Instant(_) => 2,
            Cel::Ip(_) => 3,
            Cel::Cidr(_) => 4,
            Cel::Url(_) => 5,
            Cel::Semver(_) => 6,
            Cel::Format(_) => 7,
            Cel::Domains(_) => 8,
        }
    }

    /// A total order; the same are the values that CEL's `==` calls equal.
    pub fn order(&self, other: &Cel) -> Ordering {
        match (self, other) {
            (Cel::Duration(left), Cel::Duration(right)) => left.cmp(right),
            (Cel::Instant(left), Cel::Instant(right)) => left.cmp(right),
            (Cel::Ip(left), Cel::Ip(right)) => left.cmp(right),
            (Cel::Cidr(left), Cel::Cidr(right)) => left.cmp(right),
            (Cel::Url(left), Cel::Url(right)) => left.cmp(right),
            (Cel::Semver(left), Cel::Semver(right)) => left.order(right),
            (Cel::Format(left), Cel::Format(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// Values that [`Cel::order`] calls the same have the same hash.
impl std::hash::Hash for Cel {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Cel::Fault(_) | Cel::Domains(_) => {}
            Cel::Duration(nanoseconds) => nanoseconds.hash(state),
            Cel::Instant(instant) => instant.hash(state),
            Cel::Ip(address) => address.hash(state),
            Cel::Cidr(network) => network.hash(state),
            Cel::Url(url) => url.text.hash(state),
            Cel::Semver(version) => (version.major, version.minor, version.patch).hash(state),
            Cel::Format(name) => name.hash(state),
        }
    }
}
