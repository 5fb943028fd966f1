//! The value of an attribute of a device.

use super::super::read::or_default;
use serde::Deserialize;
use std::sync::Arc;

/// The value of an attribute of a device. Lists are behind a feature gate that is off.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(from = "Written")]
pub enum AttributeValue {
    /// `int`.
    Int(i64),
    /// `bool`.
    Bool(bool),
    /// `string`.
    String(Arc<str>),
    /// `version`: a semantic version, as text.
    Version(Arc<str>),
    /// `ints`.
    Ints(Arc<[i64]>),
    /// `bools`.
    Bools(Arc<[bool]>),
    /// `strings`.
    Strings(Arc<[Arc<str>]>),
    /// `versions`.
    Versions(Arc<[Arc<str>]>),
    /// None of these: a type of a later Kubernetes.
    Unknown,
}

/// `resourcev1.DeviceAttribute`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    int: Option<i64>,
    bool: Option<bool>,
    string: Option<Arc<str>>,
    version: Option<Arc<str>>,
    #[serde(deserialize_with = "or_default")]
    ints: Vec<i64>,
    #[serde(deserialize_with = "or_default")]
    bools: Vec<bool>,
    #[serde(deserialize_with = "or_default")]
    strings: Vec<Arc<str>>,
    #[serde(deserialize_with = "or_default")]
    versions: Vec<Arc<str>>,
}

impl From<Written> for AttributeValue {
    fn from(written: Written) -> Self {
        match written {
            Written { int: Some(int), .. } => Self::Int(int),
            Written { bool: Some(bool), .. } => Self::Bool(bool),
            Written { string: Some(string), .. } => Self::String(string),
            Written { version: Some(version), .. } => Self::Version(version),
            Written { ints, .. } if !ints.is_empty() => Self::Ints(ints.into()),
            Written { bools, .. } if !bools.is_empty() => Self::Bools(bools.into()),
            Written { strings, .. } if !strings.is_empty() => Self::Strings(strings.into()),
            Written { versions, .. } if !versions.is_empty() => Self::Versions(versions.into()),
            _ => Self::Unknown,
        }
    }
}
