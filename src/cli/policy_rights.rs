//! The rights that policies need: those of the scheduler, to read what they look up, and those of the account in whose name
//! they write. `plan` prints them for each policy, `rbac` adds them to the roles.

use crate::lang::syntax::ast::WriteVerb;
use crate::lang::typed::{self, Policy};
use crate::lang::types::ObjectKind;
use crate::model::metrics::GROUP;

/// Verbs on a resource in the whole cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PolicyRight {
    /// The API group.
    pub group: String,
    /// The plural name, with the subresource after a slash; a placeholder where nothing tells the name.
    pub resource: String,
    /// The verbs.
    pub verbs: &'static [&'static str],
}

impl PolicyRight {
    fn new(group: &str, resource: &str, verbs: &'static [&'static str]) -> Self {
        Self { group: group.to_owned(), resource: resource.to_owned(), verbs }
    }

    /// The rule of a role.
    pub(super) fn rule(&self) -> String {
        let verbs: Vec<String> = self.verbs.iter().map(|verb| format!("\"{verb}\"")).collect();
        format!(
            "{{apiGroups: [\"{}\"], resources: [\"{}\"], verbs: [{}]}}",
            self.group,
            self.resource,
            verbs.join(", ")
        )
    }

    /// The kind whose resource nothing tells, if it is one.
    #[cfg(feature = "cluster")]
    pub(super) fn unknown(&self) -> Option<&str> {
        self.resource.strip_prefix(UNKNOWN)?.strip_suffix('>')
    }
}

/// What precedes the kind whose resource nothing tells.
const UNKNOWN: &str = "<the resource of ";

/// The resource of a kind. The API server tells it of a kind that nothing describes.
fn resource_of(kind: &ObjectKind) -> String {
    let unknown = || format!("{UNKNOWN}{}>", kind.name.kind());
    kind.plural.as_deref().map_or_else(unknown, str::to_owned)
}

/// What the scheduler reads for a policy: the kinds that it looks up, and what nodes use.
pub(super) fn to_read(policy: &Policy) -> Vec<PolicyRight> {
    let kinds = policy.kinds.iter();
    let looked_up =
        kinds.map(|kind| PolicyRight::new(kind.name.group(), &resource_of(kind), &["list", "watch"]));
    let metrics = (!policy.sources.is_empty()).then(|| PolicyRight::new(GROUP, "nodes", &["list"]));
    looked_up.chain(metrics).collect()
}

/// What the account of policies writes for a policy, and its events about what it looks up, each once.
pub(super) fn to_write(policy: &Policy) -> Vec<PolicyRight> {
    let mut rights: Vec<PolicyRight> = Vec::new();
    let mut add = |group: &str, plural: &str, verbs: &'static [&'static str]| {
        let right = PolicyRight::new(group, plural, verbs);
        if !rights.contains(&right) {
            rights.push(right);
        }
    };
    for act in policy.acts().flat_map(|acts| &acts.acts) {
        if let typed::Does::Event(typed::Target::Object(..), _) = &act.does {
            add("events.k8s.io", "events", &["create", "patch"]);
        }
        let typed::Does::Write(target, verb, entries) = &act.does else { continue };
        let (group, plural) = match target {
            typed::Target::Pod => ("", "pods".to_owned()),
            typed::Target::Node => ("", "nodes".to_owned()),
            typed::Target::Object(_, kind) => (kind.name.group(), resource_of(kind)),
        };
        let of_status = |entry: &typed::WriteEntry| *verb == WriteVerb::Patch && entry.is_status();
        if entries.iter().any(|entry| !of_status(entry)) {
            add(group, &plural, &["patch"]);
        }
        if entries.iter().any(of_status) {
            add(group, &format!("{plural}/status"), &["patch"]);
        }
    }
    rights
}
