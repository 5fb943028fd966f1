//! [`ROWS`]: the calls of the process, each with the right that it needs, when it is made, and what is lost without it.
//! What is watched of the core's kinds has no row here: `needed` takes it from the plugins.

use super::needed::Wanted;

/// A call, and the right that it needs.
#[derive(Debug)]
pub struct Row {
    /// What the process does.
    pub call: &'static str,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resources, with the subresource after a slash.
    pub resources: &'static [&'static str],
    /// Where the right is needed.
    pub place: Place,
    /// To which object.
    pub object: Named,
    /// When the call is made.
    pub when: When,
    /// What happens without the right.
    pub without: &'static str,
    /// Whether no pod is scheduled without it.
    pub stops: bool,
}

/// Where a right is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the whole cluster.
    Cluster,
    /// In the namespace of the scheduler.
    Own,
    /// In each namespace of policies.
    Policies,
    /// In the namespace of the lease.
    Lease,
    /// In the namespace of the account in whose name policies write.
    PolicyAccount,
}

impl Place {
    /// In words, for the page.
    pub fn words(self) -> &'static str {
        match self {
            Self::Cluster => "the cluster",
            Self::Own => "its own",
            Self::Policies => "each of policies",
            Self::Lease => "that of the lease",
            Self::PolicyAccount => "that of the policies' account",
        }
    }
}

/// The object that a right is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// Every object of the resource.
    All,
    /// The lease.
    Lease,
    /// The Secret with the key of marks.
    Marks,
    /// The account in whose name policies write.
    PolicyAccount,
}

/// When a call is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// `run` and `extender`.
    Always,
    /// `run`.
    Schedules,
    /// `run`, and `extender --bind`.
    Binds,
    /// `run` that takes a lease.
    Elects,
    /// A plugin of a profile.
    Plugin(&'static str),
    /// A profile that preempts, or a policy that may.
    Evicts,
    /// A status that is written.
    Status(&'static str),
    /// A secure port whose tokens are reviewed.
    ReviewsTokens,
    /// A secure port whose users' rights are reviewed.
    ReviewsAccess,
}

impl When {
    /// Whether the call is made.
    pub(super) fn holds(self, wanted: &Wanted) -> bool {
        let schedules = !wanted.extends;
        match self {
            Self::Always => true,
            Self::Schedules => schedules,
            Self::Binds => schedules || wanted.binds,
            Self::Elects => wanted.lease.is_some(),
            Self::Plugin(name) => schedules && wanted.plugins.iter().any(|plugin| plugin == name),
            Self::Evicts => schedules && wanted.evicts(),
            Self::Status(kind) => wanted.statuses.kinds().contains(&kind),
            Self::ReviewsTokens => wanted.reviews_tokens,
            Self::ReviewsAccess => wanted.reviews_access,
        }
    }

    /// In words, for the page.
    pub fn words(self) -> String {
        match self {
            Self::Always => "always".to_owned(),
            Self::Schedules => "`run`".to_owned(),
            Self::Binds => "`run`, `extender --bind`".to_owned(),
            Self::Elects => "`run`, unless `--leader-elect=false`".to_owned(),
            Self::Plugin(name) => format!("`run` with the plugin {name} in a profile"),
            Self::Evicts => {
                "`run` with the plugin DefaultPreemption in a profile, or with policies that may `preempt`"
                    .to_owned()
            }
            Self::Status(kind) => format!("`run --write-status={kind}`"),
            Self::ReviewsTokens => "a secure port without `--authentication-kubeconfig`".to_owned(),
            Self::ReviewsAccess => "a secure port without `--authorization-kubeconfig`".to_owned(),
        }
    }
}

/// A row for the whole cluster, without which pods are scheduled all the same.
const fn row(
    call: &'static str,
    verbs: &'static [&'static str],
    group: &'static str,
    resources: &'static [&'static str],
    when: When,
    without: &'static str,
) -> Row {
    let (place, object, stops) = (Place::Cluster, Named::All, false);
    Row { call, verbs, group, resources, place, object, when, without, stops }
}

impl Row {
    const fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    const fn of(mut self, object: Named) -> Self {
        self.object = object;
        self
    }

    const fn without_which_nothing_is_scheduled(mut self) -> Self {
        self.stops = true;
        self
    }
}

const LEASES: &str = "coordination.k8s.io";
const STATUSES: &str = "scheduling.x-k8s.io";
const DEVICES: &str = "resource.k8s.io";

/// The calls.
pub static ROWS: &[Row] = &[
    row(
        "reads policies, their histories and overrides",
        &["list", "watch"],
        "",
        &["configmaps"],
        When::Always,
        "no pod is scheduled: a policy could refuse it",
    )
    .at(Place::Policies)
    .without_which_nothing_is_scheduled(),
    row(
        "takes the lease that does not exist yet; RBAC cannot restrict `create` by name",
        &["create"],
        LEASES,
        &["leases"],
        When::Elects,
        "no replica leads",
    )
    .at(Place::Lease)
    .without_which_nothing_is_scheduled(),
    row("takes and renews the lease", &["get", "update"], LEASES, &["leases"], When::Elects, "no replica leads")
        .at(Place::Lease)
        .of(Named::Lease)
        .without_which_nothing_is_scheduled(),
    row("binds a pod", &["create"], "", &["pods/binding"], When::Binds, "no pod is bound")
        .without_which_nothing_is_scheduled(),
    row(
        "looks whether a pod is bound after a binding that got no answer",
        &["get"],
        "",
        &["pods"],
        When::Binds,
        "such a pod counts as not bound until the watch shows it",
    ),
    row(
        "chooses the claim of a volume, and the node for which a volume is provisioned",
        &["patch"],
        "",
        &["persistentvolumes", "persistentvolumeclaims"],
        When::Plugin("VolumeBinding"),
        "pods with claims that wait for their first consumer are not bound",
    ),
    row(
        "takes devices for a claim and gives them back, and notes for which pods a claim is reserved",
        &["patch", "update"],
        DEVICES,
        &["resourceclaims", "resourceclaims/status", "resourceclaims/binding"],
        When::Plugin("DynamicResources"),
        "pods with resource claims are not bound",
    ),
    row(
        "looks at a claim after a write that got no answer or came too late",
        &["get"],
        DEVICES,
        &["resourceclaims"],
        When::Plugin("DynamicResources"),
        "such a claim counts as it was until the watch shows it",
    ),
    row(
        "makes the claim of a pod whose extended resources a DeviceClass backs, and removes it",
        &["create", "delete"],
        DEVICES,
        &["resourceclaims"],
        When::Plugin("DynamicResources"),
        "pods with such extended resources are not bound",
    ),
    row("evicts victims", &["delete"], "", &["pods"], When::Evicts, "preemption fails"),
    row(
        "writes why a pod waits, the node that is nominated for it, the claim of its extended resources, and the condition of victims",
        &["patch"],
        "",
        &["pods/status"],
        When::Schedules,
        "pods wait without a reason in their status, and autoscalers do not see them",
    ),
    row(
        "writes events",
        &["create", "patch"],
        "events.k8s.io",
        &["events"],
        When::Schedules,
        "decisions and refusals have no events",
    ),
    row(
        "writes verdicts into the annotations of policies, their histories, and the configuration for commands",
        &["create", "patch"],
        "",
        &["configmaps"],
        When::Schedules,
        "objects of policies say nothing; a restart knows no earlier text; commands do not find the configuration",
    )
    .at(Place::Policies),
    row(
        "removes histories of policies that are gone",
        &["delete"],
        "",
        &["configmaps"],
        When::Schedules,
        "they stay",
    )
    .at(Place::Policies),
    row(
        "makes the Secret with the key of marks",
        &["create"],
        "",
        &["secrets"],
        When::Schedules,
        "unless it exists, a new leader leaves as it is what `after bind` had to write for pods of the leader before",
    )
    .at(Place::Own),
    row(
        "reads the key of marks",
        &["get"],
        "",
        &["secrets"],
        When::Schedules,
        "a new leader leaves as it is what `after bind` had to write for pods of the leader before",
    )
    .at(Place::Own)
    .of(Named::Marks),
    row(
        "writes what policies write in the name of their account",
        &["impersonate"],
        "",
        &["serviceaccounts"],
        When::Schedules,
        "labels, annotations and fields of policies are not written, nor their events about other objects",
    )
    .at(Place::PolicyAccount)
    .of(Named::PolicyAccount),
    row(
        "reads PodGroups",
        &["list", "watch"],
        STATUSES,
        &["podgroups"],
        When::Status("PodGroup"),
        "their status is not written",
    ),
    row(
        "writes the status of PodGroups",
        &["patch"],
        STATUSES,
        &["podgroups/status"],
        When::Status("PodGroup"),
        "their status is not written",
    ),
    row(
        "reads ElasticQuotas",
        &["list", "watch"],
        STATUSES,
        &["elasticquotas"],
        When::Status("ElasticQuota"),
        "their status is not written",
    ),
    row(
        "writes the status of ElasticQuotas",
        &["patch"],
        STATUSES,
        &["elasticquotas/status"],
        When::Status("ElasticQuota"),
        "their status is not written",
    ),
    row(
        "asks who a user of the secure port is",
        &["create"],
        "authentication.k8s.io",
        &["tokenreviews"],
        When::ReviewsTokens,
        "only client certificates identify users of `/metrics`, `/configz` and `/snapshot`",
    ),
    row(
        "asks what a user of the secure port may read",
        &["create"],
        "authorization.k8s.io",
        &["subjectaccessreviews"],
        When::ReviewsAccess,
        "`/metrics`, `/configz` and `/snapshot` are refused",
    ),
];
