//! Allocates devices to resource claims, on one node and as pure functions: the structured allocator of Kubernetes.
//!
//! Source: `k8s.io/dynamic-resource-allocation/structured/internal/incubating`, `k8s.io/dynamic-resource-allocation/cel`.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
