//! [`Slim`]: an object as the API writes it, with only the fields that are read.

use super::metadata::Metadata;
use super::read::or_default;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// An object with `metadata`, `spec` and `status`, of which the types name the fields that are read. The default
/// skips the status.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, bound = "Spec: DeserializeOwned + Default, Status: DeserializeOwned + Default")]
pub struct Slim<Spec, Status = IgnoredAny> {
    /// `metadata`.
    #[serde(deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// `spec`.
    #[serde(deserialize_with = "or_default")]
    pub spec: Spec,
    /// `status`.
    #[serde(deserialize_with = "or_default")]
    pub status: Status,
}
