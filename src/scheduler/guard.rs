//! [`guard`]: plugins that panic.

use bayplan_framework::{Framework, Status};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs plugins that act; a panic of one becomes an `Error`.
pub(super) fn guard<T>(
    framework: &Arc<Framework>,
    work: impl FnOnce() -> Result<T, Status>,
) -> Result<T, Status> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let name = &framework.scheduler_name;
        Err(Status::error(format!("a plugin of profile {name:?} panicked while it acted")))
    })
}
