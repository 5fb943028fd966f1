//! `resource.k8s.io/v1/DeviceTaintRule`, before 1.37 `v1beta2`, with the fields that are read.

use super::super::metadata::ObjectMeta;
use super::super::read::or_default;
use super::super::slim::Slim;
use super::super::typed::metadata_field;
use super::super::{Kind, ObjectError, Typed};
use super::{DeviceId, DeviceTaint};
use crate::symbol::Symbol;
use serde::Deserialize;

/// A taint of all devices that a selector selects.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceTaintRule {
    /// Name, UID, version.
    pub metadata: ObjectMeta,
    /// `spec.deviceSelector`; `None` selects nothing, in 1.36 everything.
    pub selector: Option<TaintSelector>,
    /// `spec.taint`.
    pub taint: DeviceTaint,
}

/// `resourcev1.DeviceTaintSelector`: what is absent matches everything.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TaintSelector {
    /// `driver`.
    pub driver: Option<Symbol>,
    /// `pool`.
    pub pool: Option<Symbol>,
    /// `device`.
    pub device: Option<Symbol>,
}

/// `resourcev1.DeviceTaintRuleSpec`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// `deviceSelector`.
    pub device_selector: Option<TaintSelector>,
    /// `taint`.
    #[serde(deserialize_with = "or_default")]
    pub taint: DeviceTaint,
}

impl Typed for DeviceTaintRule {
    const KIND: Kind = Kind::DeviceTaintRule;
    type Slim = Slim<Spec>;

    fn from_object(object: &Slim<Spec>) -> Result<Self, ObjectError> {
        Ok(Self {
            metadata: ObjectMeta::name_of(&object.metadata)?,
            selector: object.spec.device_selector.clone(),
            taint: object.spec.taint.clone(),
        })
    }

    metadata_field!();
}

impl DeviceTaintRule {
    /// Whether the rule taints a device. `all`: one without a selector taints every device, as in 1.36; later it taints none.
    pub fn taints(&self, device: &DeviceId, all: bool) -> bool {
        let is = |own: &Option<Symbol>, of: &Symbol| own.as_ref().is_none_or(|own| own == of);
        self.selector.as_ref().map_or(all, |selector| {
            is(&selector.driver, &device.pool.driver)
                && is(&selector.pool, &device.pool.name)
                && is(&selector.device, &device.name)
        })
    }
}
