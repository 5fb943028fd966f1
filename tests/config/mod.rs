//! The scheduler's configuration file.

mod scheduler_configuration;
