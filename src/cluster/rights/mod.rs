//! The rights of the process in the cluster. `table` has each call with the right that it needs; `needed` the rights that a
//! configuration with its policies and flags needs, `roles` the same as roles of RBAC, `review` asks the API server which
//! are there. Read by `run` and `extender` (`--check-rights`, readiness), `rbac`, `doctor` and the page `docs/rights.md`.

pub mod needed;
pub mod review;
pub mod right;
pub mod roles;
pub mod table;
