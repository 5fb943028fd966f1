use bayplan_devices::{DeviceOf, SelectError, Selects};
use std::sync::Arc;
pub(super) struct Stub;
impl Selects for Stub {
    fn selects(&self, _: &Arc<str>, _: &DeviceOf<'_>) -> Result<bool, SelectError> {
        Ok(true)
    }
}
