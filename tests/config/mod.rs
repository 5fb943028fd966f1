//! The scheduler's configuration file.

mod documented;
mod extenders;
mod scheduler_configuration;
