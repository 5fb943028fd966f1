//! Conditions between fields, with upstream's messages.
//!
//! Source: `pkg/scheduler/apis/config/validation/validation.go`.

use super::SchedulerConfig;
use bayplan_framework::{ArgsError, Field, Fields};
use bayplan_model::Duration;

/// Checks a configuration read from `fields`.
pub(super) fn check(config: &SchedulerConfig, fields: &Fields, errors: &mut Vec<ArgsError>) {
    if config.parallelism <= 0 {
        errors.push(fields.place("parallelism").error("should be an integer value greater than zero"));
    }
    if config.client_connection.burst < 0 {
        errors.push(fields.place("clientConnection").error("burst must be non-negative"));
    }
    if config.pod_initial_backoff <= Duration::ZERO {
        errors.push(fields.place("podInitialBackoffSeconds").error("must be greater than 0"));
    }
    if config.pod_max_backoff < config.pod_initial_backoff {
        let place = fields.place("podMaxBackoffSeconds");
        errors.push(place.error("must be greater than or equal to PodInitialBackoffSeconds"));
    }
    check_election(config, fields, errors);
    for (at, profile) in config.profiles.iter().enumerate() {
        let earlier = config.profiles.get(..at).unwrap_or_default();
        if earlier.iter().any(|other| other.scheduler_name == profile.scheduler_name) {
            errors.push(ArgsError {
                path: format!("profiles[{at}].schedulerName"),
                at: profile.at,
                message: format!("duplicate value `{}`", profile.scheduler_name),
                help: None,
            });
        }
    }
}

fn check_election(config: &SchedulerConfig, fields: &Fields, errors: &mut Vec<ArgsError>) {
    let election = &config.leader_election;
    if !election.leader_elect {
        return;
    }
    let place = fields.place("leaderElection");
    let durations = [
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ];
    for (name, duration) in durations {
        if duration <= Duration::ZERO {
            errors.push(place.error(format!("{name} must be greater than zero")));
        }
    }
    if election.lease_duration < election.renew_deadline {
        errors.push(place.error("leaseDuration must be greater than `RenewDeadline`"));
    }
}

/// Checks `apiVersion` and `kind` of a plugin's arguments, if given.
pub(super) fn args_header(plugin: &str, args: &Field, errors: &mut Vec<ArgsError>) {
    let text = |name: &str| {
        let tree = args.tree.get(name)?;
        let field = Field { tree, path: format!("{}.{name}", args.path) };
        match &tree.value {
            bayplan_framework::TreeValue::String(text) => Some((text.clone(), field)),
            _ => None,
        }
    };
    if let Some((kind, field)) = text("kind").filter(|(kind, _)| *kind != format!("{plugin}Args")) {
        let error = field.error(format!("has to match plugin args of `{plugin}`, found `{kind}`"));
        errors.push(error.with_help(format!("write `kind: {plugin}Args`")));
    }
    if let Some((version, field)) = text("apiVersion").filter(|(v, _)| v != "kubescheduler.config.k8s.io/v1")
    {
        let error = field.error(format!("`{version}` is not supported"));
        errors.push(error.with_help("write `kubescheduler.config.k8s.io/v1`"));
    }
}
