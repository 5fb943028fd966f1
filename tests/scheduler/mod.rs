//! Pods in the queue, in the cycle and in Permit waits.

mod clock;
mod gangs;
mod outbox;
mod pod_lifecycle;
mod retry;
mod steps;
