//! PreFilter of plugins that 1.37 lists there for pods that are resized in place, which is behind a gate that is off.
//!
//! Source: `pkg/scheduler/apis/config/v1/default_plugins.go`.

use bayplan_framework::{Handle, PreFilter, PreFilterOutcome, StateSlot, Status};

/// Lets every pod pass, and Filter run.
pub(super) struct Listed;

impl PreFilter for Listed {
    fn pre_filter(&self, _: &Handle, _: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        Ok(PreFilterOutcome::AllNodes)
    }
}
