//! Plugins through the whole scheduler: those that are made from policies, and those that act beyond Filter and Score.

mod evictions;
mod exempt;
mod fields;
mod look_ups;
mod policies;
mod sources;
mod volume_binding;
