//! The tests that need a real API server. `make test-cluster` runs them, and reports how many did
//! not run on a machine without a control plane. Run without one, each test fails and says how to
//! get it. Needs the feature `cluster`.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a real cluster take real time"
)]

mod support;

// What the tests share.
mod api_load;
mod scheduler_process;
mod workload;
mod zpages;

// The control plane of these tests.
mod control_plane_checks;

// `bayplan run`.
mod after_failure;
mod coscheduling;
mod credentials;
mod exceptions;
mod extenders;
mod faults;
mod gangs;
mod held;
mod leader_election;
mod look_ups;
mod marks;
mod modes;
mod node_metrics;
mod object_kinds;
mod policies;
mod policy_documents;
mod reserve;
mod preemption;
mod quotas;
mod rule_errors;
mod scheduler_memory;
mod secure_port;
mod soak;
mod startup_errors;
mod statuses;
mod sticky_node;
mod supervision;
mod surroundings;
mod throttling;
mod tutorial;
mod unreadable;
mod upstream_metrics;
mod volumes;
mod walk_throughs;
mod watches;
mod webhook;
mod writes;

// The same outcomes as kube-scheduler.
mod scenarios;

// The manifests of `deploy/`.
mod manifests;
mod rights;

// Commands on a live cluster.
mod doctor;
mod live_commands;

// Memory of the list decoder, without an API server.
mod list_memory;

// `make bench-cluster`.
mod bench_workloads;
mod marks_bench;
mod start_bench;
mod throughput_bench;
