//! The scheduler process: its tasks, the scheduling thread, the lease, rights, logs, and its end.

pub mod supervisor;
pub mod term;
pub mod inbox;
pub mod driver;
pub mod leader;
pub mod rights;
mod mark_key;
pub mod stopwatch;
pub mod logs;
pub mod comparer;
pub mod debugger;
pub mod published;
pub mod effect_router;
pub mod run;
