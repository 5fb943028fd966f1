//! The scheduler's configuration file.

mod extenders;
mod scheduler_configuration;
