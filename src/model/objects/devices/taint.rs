//! Taints of devices and the tolerations of requests.

use super::super::read::or_default;
use crate::symbol::Symbol;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A taint of a device.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeviceTaint {
    /// `key`.
    #[serde(deserialize_with = "or_default")]
    pub key: Symbol,
    /// `value`; empty when absent.
    #[serde(deserialize_with = "or_default")]
    pub value: Symbol,
    /// `effect`: `None`, `NoSchedule`, `NoExecute`, or one that this program does not know.
    #[serde(deserialize_with = "or_default")]
    pub effect: Symbol,
}

/// A toleration of a request, as it is copied into what is allocated.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DeviceToleration {
    /// `key`; empty: any key.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Symbol::is_empty")]
    pub key: Symbol,
    /// `operator`: `Exists`, `Equal`, or empty for `Equal`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Symbol::is_empty")]
    pub operator: Symbol,
    /// `value`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Symbol::is_empty")]
    pub value: Symbol,
    /// `effect`; empty: any effect.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Symbol::is_empty")]
    pub effect: Symbol,
    /// `tolerationSeconds`: plays no part in scheduling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

impl DeviceTaint {
    /// Whether the taint keeps new allocations away.
    pub fn refuses(&self) -> bool {
        self.effect == "NoSchedule" || self.effect == "NoExecute"
    }
}

impl DeviceToleration {
    /// Whether it tolerates a taint.
    ///
    /// Source: `dynamic-resource-allocation/resourceclaim`, `ToleratesTaint`.
    pub fn tolerates(&self, taint: &DeviceTaint) -> bool {
        let is = |own: &Symbol, of: &Symbol| own.is_empty() || own == of;
        is(&self.effect, &taint.effect)
            && is(&self.key, &taint.key)
            && match self.operator.as_str() {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                _ => false,
            }
    }
}

/// `key=value:effect`
impl fmt::Display for DeviceTaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, effect } = self;
        match value.is_empty() {
            true => write!(f, "{key}:{effect}"),
            false => write!(f, "{key}={value}:{effect}"),
        }
    }
}
