//! [`Args`]: the arguments of the plugin.
//!
//! Source: `pkg/scheduler/apis/config/types.go`, `DynamicResourcesArgs`.

use bayplan_framework::{ArgsError, Field, Fields, Tree};
use bayplan_model::Duration;

/// The arguments of the plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Args {
    /// How long the search for devices on one node may take; zero: as long as it needs.
    pub(super) filter_timeout: Duration,
    /// How long the preparation of devices may take before a pod is bound.
    pub(super) binding_timeout: Duration,
}

impl Default for Args {
    fn default() -> Self {
        let (filter_timeout, binding_timeout) = (Duration::from_seconds(10), Duration::from_seconds(600));
        Self { filter_timeout, binding_timeout }
    }
}

impl Args {
    pub(super) fn read(args: &Tree) -> Result<Self, Vec<ArgsError>> {
        let mut errors = Vec::new();
        let known = ["apiVersion", "kind", "filterTimeout", "bindingTimeout"];
        let fields = Field::root(args).object(&known, &mut errors);
        let mut read = Self::default();
        let (no, second) = (Duration::ZERO, Duration::from_seconds(1));
        let filter = duration(&fields, "filterTimeout", no, "must be zero or positive", &mut errors);
        let binding = duration(&fields, "bindingTimeout", second, "must be at least 1 second", &mut errors);
        read.filter_timeout = filter.unwrap_or(read.filter_timeout);
        read.binding_timeout = binding.unwrap_or(read.binding_timeout);
        if errors.is_empty() { Ok(read) } else { Err(errors) }
    }
}

/// A duration; `problem` says what is wrong with one that is shorter than `least`.
fn duration(
    fields: &Fields,
    name: &str,
    least: Duration,
    problem: &str,
    errors: &mut Vec<ArgsError>,
) -> Option<Duration> {
    let field = fields.get(name)?;
    match Duration::parse(field.string(errors)?) {
        Ok(given) if given < least => errors.push(field.error(problem)),
        Ok(given) => return Some(given),
        Err(error) => errors.push(field.error(error.to_string())),
    }
    None
}
