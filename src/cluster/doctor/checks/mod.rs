//! [`CHECKS`]: the checks of `bayplan doctor`, one file each. A check is a function of the facts; without a part that it needs
//! it says nothing, and `access` reports the part once.

mod access;
mod autoscalers;
mod clocks;
mod foreign;
mod leases;
mod names;
mod nodes;
mod own_pods;
mod policies;
mod refused;
mod remains;
mod replicas;
mod rights;
mod takeover;
mod templates;
mod unserved;
mod version;
mod waiting;
mod watches;

use super::facts::{Facts, Part, Unread};
use super::finding::{Finding, Severity};

/// A check.
#[derive(Debug)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What it looks at.
    pub about: &'static str,
    /// Whether it only runs with `--before-removal`.
    pub before_removal: bool,
    run: fn(&Facts) -> Part<Vec<Finding>>,
}

const fn check(name: &'static str, about: &'static str, run: fn(&Facts) -> Part<Vec<Finding>>) -> Check {
    Check { name, about, before_removal: false, run }
}

const fn before_removal(
    name: &'static str,
    about: &'static str,
    run: fn(&Facts) -> Part<Vec<Finding>>,
) -> Check {
    Check { name, about, before_removal: true, run }
}

/// All checks, in the order in which they are printed.
pub static CHECKS: &[Check] = &[
    check("version", "the API server has a version that this one works with", version::check),
    check(
        "replicas",
        "there is an installation, its replicas are ready, and all have one version",
        replicas::check,
    ),
    check(
        "rights",
        "each right that configuration, flags and policies need is there, asked one by one",
        rights::check,
    ),
    check("leases", "a replica holds the lease and renews it", leases::check),
    check("names", "each scheduler name is served by one scheduler", names::check),
    check("policies", "each policy is in service as it is written", policies::check),
    check("watches", "replicas see changes of the cluster", watches::check),
    check("clocks", "this machine, the API server and the leader agree on the time", clocks::check),
    check("own-pods", "another scheduler than itself places its pods", own_pods::check),
    check("unserved", "no pod waits for a scheduler that does not run", unserved::check),
    check("nodes", "`--nodes` leaves nodes that take pods", nodes::check),
    check("refused", "no kubelet has refused a bound pod in the last hours", refused::check),
    check("foreign", "which other schedulers bind pods to the nodes", foreign::check),
    check("autoscalers", "whether a node autoscaler runs, which knows no policies", autoscalers::check),
    before_removal("waiting", "pods that wait for a scheduler name of ours", waiting::check),
    before_removal("templates", "objects that make pods with a scheduler name of ours", templates::check),
    before_removal("takeover", "what places pods afterwards", takeover::check),
    before_removal("remains", "what stays in the cluster, and what holds pods there", remains::check),
    check("access", "what the checks read may be read", access::check),
];

/// How a check ended.
#[derive(Debug)]
pub struct Outcome {
    /// The check.
    pub check: &'static Check,
    /// What it found; or what it could not read.
    pub result: Part<Vec<Finding>>,
}

impl Outcome {
    /// The severest finding.
    pub fn severity(&self) -> Option<Severity> {
        self.result.iter().flatten().map(|finding| finding.severity).max()
    }

    /// What it could not read.
    pub fn unread(&self) -> Option<&Unread> {
        self.result.as_ref().err()
    }
}

/// Runs the checks on the facts; those before a removal only if its facts are there.
pub fn run(facts: &Facts) -> Vec<Outcome> {
    let wanted = CHECKS.iter().filter(|check| !check.before_removal || facts.removal.is_some());
    wanted.map(|check| Outcome { check, result: (check.run)(facts) }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::facts::Why;
    use super::super::facts::testing::nothing;
    use super::*;
    use crate::rights::right::Right;

    #[test]
    fn what_cannot_be_read_is_reported_once_and_leaves_out_what_needs_it() {
        let mut facts = nothing();
        let forbidden = |resource: &str| Unread {
            resource: resource.to_owned(),
            why: Why::Forbidden(Box::new(Right::new(&["list"], "", resource))),
        };
        (facts.own_pods, facts.unbound, facts.foreign) =
            (Err(forbidden("pods")), Err(forbidden("pods")), Err(forbidden("pods")));
        let outcomes = run(&facts);
        let left_out: Vec<&str> =
            outcomes.iter().filter(|of| of.unread().is_some()).map(|of| of.check.name).collect();
        assert!(left_out.contains(&"unserved") && !left_out.contains(&"version"), "{left_out:?}");
        let access = outcomes.iter().find(|of| of.check.name == "access").unwrap();
        let found = access.result.as_ref().unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].command.contains("kubectl create clusterrole"), "{found:?}");
    }
}
