//! The plugins: those of Kubernetes by their names, and the rules of policies.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod policy;
