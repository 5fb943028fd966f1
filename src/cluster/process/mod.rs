//! The scheduler process: its tasks, the scheduling thread, the lease, rights, logs, and its end.

pub mod supervisor;
pub(crate) mod term;
pub(crate) mod inbox;
pub mod driver;
pub mod leader;
pub(crate) mod rights_watch;
pub(crate) mod mark_key;
pub(crate) mod stopwatch;
pub mod logs;
pub(crate) mod comparer;
pub(crate) mod debugger;
pub mod published;
pub(crate) mod effect_router;
pub mod run;
