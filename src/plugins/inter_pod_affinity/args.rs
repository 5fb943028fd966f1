//! `InterPodAffinityArgs`: the arguments of the plugin.
//!
//! Source: `pkg/scheduler/apis/config/validation/validation_pluginargs.go`, `ValidateInterPodAffinityArgs`.

use bayplan_framework::{ArgsError, Field, Tree};

/// The arguments, validated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Args {
    /// The weight of a required affinity term of a running pod that matches the pod, 0 to 100.
    pub(super) hard_pod_affinity_weight: i64,
    /// Whether a pod without preferred terms of its own is scored without the terms of running pods.
    pub(super) ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

impl Args {
    /// Reads and validates the arguments.
    pub(super) fn read(args: &Tree) -> Result<Self, Vec<ArgsError>> {
        let (mut errors, mut read) = (Vec::new(), Self::default());
        let known = ["apiVersion", "kind", "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"];
        let fields = Field::root(args).object(&known, &mut errors);
        if let Some(field) = fields.get("hardPodAffinityWeight")
            && let Some(weight) = field.int(&mut errors)
        {
            if !(0..=100).contains(&weight) {
                errors.push(field.error("not in valid range [0, 100]"));
            }
            read.hard_pod_affinity_weight = weight;
        }
        if let Some(field) = fields.get("ignorePreferredTermsOfExistingPods")
            && let Some(ignore) = field.bool(&mut errors)
        {
            read.ignore_preferred_terms_of_existing_pods = ignore;
        }
        if errors.is_empty() { Ok(read) } else { Err(errors) }
    }
}
