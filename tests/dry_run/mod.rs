//! The cluster in memory: files of policy tests, PodDisruptionBudgets, and devices.

mod budgets;
mod devices;
mod memory;
mod test_files;
