//! A device where it stands: in a slice of a pool.

use bayplan_model::ResourceSlice;
use bayplan_model::objects::devices::{Device, DeviceId, PoolId};
use std::fmt;
use std::sync::Arc;

/// A device and the slice that offers it.
#[derive(Clone, Copy, Debug)]
pub struct DeviceOf<'a> {
    /// The slice.
    pub slice: &'a Arc<ResourceSlice>,
    /// The device.
    pub device: &'a Arc<Device>,
    /// Its position in the slice.
    pub at: usize,
}

impl<'a> DeviceOf<'a> {
    /// The device at a position of a slice.
    pub fn new(slice: &'a Arc<ResourceSlice>, at: usize) -> Option<Self> {
        Some(Self { slice, device: slice.devices.get(at)?, at })
    }

    /// Its pool.
    pub fn pool(&self) -> &'a PoolId {
        &self.slice.pool
    }

    /// Its name as objects have it.
    pub fn id(&self) -> DeviceId {
        DeviceId { pool: self.pool().clone(), name: self.device.name.clone() }
    }
}

/// `DRIVER/POOL/DEVICE`.
impl fmt::Display for DeviceOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.pool(), self.device.name)
    }
}

/// The place of a device among the pools of a node. The order of places is the order in which devices are tried.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Place {
    /// The pool.
    pub(crate) pool: u32,
    /// The slice in the pool.
    pub(crate) slice: u32,
    /// The device in the slice.
    pub(crate) device: u32,
}

impl Place {
    /// The place after this one in the same slice, whether or not there is a device.
    pub(crate) fn next(self) -> Self {
        Self { device: self.device + 1, ..self }
    }
}
