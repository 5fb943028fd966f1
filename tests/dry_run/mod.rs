//! The cluster in memory: files of policy tests, and PodDisruptionBudgets.

mod budgets;
mod memory;
mod test_files;
