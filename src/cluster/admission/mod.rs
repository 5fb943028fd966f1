//! Validating admission of ConfigMaps with policies: what a change means and does is known before it acts.
//!
//! `judge` gives the verdict of the loader and what a change means, `impact` counts the pods it is about on a fork of the
//! cluster, `server` speaks with the API server. A webhook that does not answer in two seconds stops no change: the loader
//! decides then.

pub(crate) mod impact;
pub(crate) mod judge;
pub mod server;

#[cfg(test)]
mod tests;
