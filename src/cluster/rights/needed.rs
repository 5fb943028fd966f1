//! The rights that a configuration with its policies and flags needs: what its plugins watch, the rows of the table whose
//! calls it makes, and what its policies look up.

use super::right::Right;
use super::table::{Named, Place, ROWS, Row};
use crate::inputs::informers::watched;
use crate::policies::account::PolicyAccount;
use crate::process::mark_key;
use crate::writes::statuses;
use bayplan_framework::Need;

/// What decides which rights are needed.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Whether it answers as an extender, and schedules nothing.
    pub extends: bool,
    /// Whether an extender binds pods.
    pub binds: bool,
    /// The kinds that plugins need.
    pub needs: Vec<Need>,
    /// The names of the plugins of all profiles.
    pub plugins: Vec<String>,
    /// The namespaces of policies.
    pub policies: Vec<String>,
    /// Whether a policy of a file may preempt.
    pub preempts: bool,
    /// What policies look up that is known of them.
    pub looked_up: Vec<Right>,
    /// Namespace and name of the lease.
    pub lease: Option<(String, String)>,
    /// The namespace of the scheduler.
    pub namespace: String,
    /// The account in whose name policies write.
    pub account: PolicyAccount,
    /// The statuses that are written.
    pub statuses: statuses::Settings,
    /// Whether tokens of users of the secure port are reviewed with this account.
    pub reviews_tokens: bool,
    /// Whether their rights are.
    pub reviews_access: bool,
}

impl Wanted {
    /// What an extender needs that reads policies of these namespaces.
    pub fn of_extender(binds: bool, policies: Vec<String>) -> Self {
        Self {
            extends: true,
            binds,
            needs: Vec::new(),
            plugins: Vec::new(),
            policies,
            preempts: false,
            looked_up: Vec::new(),
            lease: None,
            namespace: String::new(),
            account: PolicyAccount::beside(""),
            statuses: statuses::Settings::default(),
            reviews_tokens: false,
            reviews_access: false,
        }
    }

    /// Whether a policy or a plugin may evict pods. Policies of a namespace may begin to at any time.
    pub(super) fn evicts(&self) -> bool {
        let preempts = self.plugins.iter().any(|plugin| plugin == "DefaultPreemption");
        preempts || self.preempts || !self.policies.is_empty()
    }
}

/// A right that is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Needed {
    /// The right.
    pub right: Right,
    /// Where it is needed.
    pub place: Place,
    /// What it is for.
    pub call: String,
    /// What happens without it.
    pub without: &'static str,
    /// Whether no pod is scheduled without it.
    pub stops: bool,
}

/// All rights that are needed.
pub fn needed(wanted: &Wanted) -> Vec<Needed> {
    let mut all: Vec<Needed> = watched(&wanted.needs)
        .map(|(row, always)| Needed {
            right: Right::new(&["list", "watch"], row.group, row.plural),
            place: Place::Cluster,
            call: format!("watches {}", row.plural),
            without: if always {
                "no pod is scheduled: decisions would be guesses"
            } else {
                "what reads them decides as if there were none, or waits"
            },
            stops: always,
        })
        .collect();
    all.extend(wanted.looked_up.iter().map(|right| Needed {
        right: right.clone(),
        place: Place::Cluster,
        call: format!("reads {}, which policies look up", right.resource),
        without: "policies that look them up do not go into service",
        stops: false,
    }));
    let rows = ROWS.iter().filter(|row| row.when.holds(wanted));
    all.extend(rows.flat_map(|row| of_row(row, wanted)));
    all
}

/// The rights of a row, one for each resource and namespace.
fn of_row(row: &'static Row, wanted: &Wanted) -> Vec<Needed> {
    let (lease_namespace, lease) = wanted.lease.clone().unwrap_or_default();
    let (account_namespace, account) = wanted.account.parts();
    let namespaces = match row.place {
        Place::Cluster => vec![String::new()],
        Place::Own => vec![wanted.namespace.clone()],
        Place::Policies => wanted.policies.clone(),
        Place::Lease => vec![lease_namespace],
        Place::PolicyAccount => vec![account_namespace.to_owned()],
    };
    let name = match row.object {
        Named::All => "",
        Named::Lease => &lease,
        Named::Marks => mark_key::SECRET,
        Named::PolicyAccount => account,
    };
    let right = |resource: &str, namespace: &str| Needed {
        right: Right::new(row.verbs, row.group, resource).in_namespace(namespace).of(name),
        place: row.place,
        call: row.call.to_owned(),
        without: row.without,
        stops: row.stops,
    };
    let of = |namespace: &String| row.resources.iter().map(|of| right(of, namespace)).collect::<Vec<_>>();
    namespaces.iter().flat_map(of).collect()
}

/// The rights without which no pod is scheduled.
pub(crate) fn without_which_nothing_is_scheduled(wanted: &Wanted) -> Vec<Right> {
    needed(wanted).into_iter().filter(|needed| needed.stops).map(|needed| needed.right).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::Kind;

    #[test]
    fn the_rights_without_which_nothing_is_scheduled_are_few() {
        let wanted = Wanted {
            extends: false,
            needs: vec![
                Need { kind: Kind::PersistentVolume, optional: false },
                Need { kind: Kind::CsiStorageCapacity, optional: true },
            ],
            lease: Some(("bayplan".into(), "mine".into())),
            ..Wanted::of_extender(false, vec!["p".to_owned()])
        };
        let mut all: Vec<String> =
            without_which_nothing_is_scheduled(&wanted).iter().map(ToString::to_string).collect();
        let mut expected = [
            "list, watch pods",
            "list, watch nodes",
            "list, watch persistentvolumes",
            "list, watch configmaps in the namespace `p`",
            "create leases.coordination.k8s.io in the namespace `bayplan`",
            "get, update leases.coordination.k8s.io `mine` in the namespace `bayplan`",
            "create pods/binding",
        ];
        all.sort();
        expected.sort_unstable();
        assert_eq!(all, expected);
    }

    #[test]
    fn an_extender_reads_and_binds_only_where_it_is_asked_to() {
        let words = |binds: bool| {
            let wanted = Wanted::of_extender(binds, vec!["p".to_owned()]);
            needed(&wanted).iter().map(|of| of.right.to_string()).collect::<Vec<_>>()
        };
        let reads = [
            "list, watch pods",
            "list, watch nodes",
            "list, watch namespaces",
            "list, watch daemonsets.apps",
            "list, watch configmaps in the namespace `p`",
        ];
        assert_eq!(words(false), reads);
        assert_eq!(words(true), [&reads[..], &["create pods/binding", "get pods"]].concat());
    }
}
