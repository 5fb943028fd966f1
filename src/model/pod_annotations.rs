//! Annotations of pods that the API server checks beyond the form of their keys. It copies those of a Binding to the pod
//! without a look at them, and then refuses every later update of a pod that has a wrong one, also of its status.
//!
//! Source: `pkg/apis/core/validation/validation.go`, `ValidatePodSpecificAnnotations` and
//! `ValidatePodSpecificAnnotationUpdates`.

use super::metadata_change::STATIC_POD;

/// The order in which controllers delete pods: a number of 32 bits.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Keys, or beginnings of keys, that belong to who makes the pod.
const OF_THE_CREATOR: [(&str, &str); 5] = [
    (STATIC_POD, "the kubelet deletes a pod that has it and is not its own"),
    ("scheduler.alpha.kubernetes.io/tolerations", "write tolerations into `spec` when the pod is made"),
    ("seccomp.security.alpha.kubernetes.io/pod", "security profiles are chosen when a pod is made"),
    ("container.seccomp.security.alpha.kubernetes.io/", "security profiles are chosen when a pod is made"),
    ("container.apparmor.security.beta.kubernetes.io/", "security profiles are chosen when a pod is made"),
];

/// Why only the creator of a pod writes this annotation; `None`: others may too.
pub fn of_the_creator(key: &str) -> Option<&'static str> {
    let is = |known: &str| if known.ends_with('/') { key.starts_with(known) } else { key == known };
    OF_THE_CREATOR.iter().find(|(known, _)| is(known)).map(|(_, why)| *why)
}

/// Why the API server would not have this annotation on a pod that gets it after it was made; `None` if it would.
pub fn pod_annotation_problem(key: &str, value: &str) -> Option<String> {
    if let Some(why) = of_the_creator(key) {
        return Some(format!("only the creator of a pod writes {key}: {why}"));
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    // As upstream: no plus sign, and no zero before other digits but after a minus sign.
    let plain = value == "0" || value.starts_with('-') || !value.starts_with('0');
    let is_number = plain && digits.bytes().all(|byte| byte.is_ascii_digit()) && value.parse::<i32>().is_ok();
    (key == DELETION_COST && !is_number).then(|| format!("{value:?} of {key} is not a number of 32 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_that_the_api_server_checks_are_known() {
        let taken = |key: &str, value: &str| pod_annotation_problem(key, value).is_none();
        for value in ["0", "1", "-1", "2147483647", "-2147483648", "-0", "-07"] {
            assert!(taken(DELETION_COST, value), "{value}");
        }
        for value in ["", "x", "+1", "007", "00", "1.0", " 1", "2147483648", "-2147483649", "-", "1e3", "١"]
        {
            assert!(!taken(DELETION_COST, value), "{value}");
        }
        for key in [
            "kubernetes.io/config.mirror",
            "scheduler.alpha.kubernetes.io/tolerations",
            "seccomp.security.alpha.kubernetes.io/pod",
            "container.seccomp.security.alpha.kubernetes.io/main",
            "container.apparmor.security.beta.kubernetes.io/main",
        ] {
            assert!(!taken(key, "") && of_the_creator(key).is_some(), "{key}");
        }
        for key in [
            "kubernetes.io/config.mirrored",
            "seccomp.security.alpha.kubernetes.io/pods",
            "container.apparmor.security.beta.kubernetes.io",
            "controller.kubernetes.io/pod-deletion-costs",
            "example.com/kubernetes.io",
            "cluster-autoscaler.kubernetes.io/safe-to-evict",
        ] {
            assert!(taken(key, "x"), "{key}");
        }
    }
}
