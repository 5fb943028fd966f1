//! Pods in the queue, in the cycle and in Permit waits.

mod after_bind;
mod assumptions;
mod clock;
mod columns_and_rows;
mod coscheduling;
mod events;
mod exceptions;
mod extenders;
mod failure;
mod gangs;
mod gates;
mod held;
mod marks;
mod memos;
mod modes;
mod outbox;
mod outcomes;
mod pod_lifecycle;
mod preemption;
mod refuser;
mod retry;
mod rule_errors;
mod run;
mod steps;
mod terminating;
mod waiting_causes;
