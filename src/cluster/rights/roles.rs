//! The rights as roles with bindings: a ClusterRole, and a Role for each namespace. `bayplan rbac` prints them.

use super::needed::{Needed, Wanted, needed};
use super::right::Right;
use super::table::Place;
use crate::port::memory;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde_json::Value;

const GROUP: &str = "rbac.authorization.k8s.io";

/// To whom the rights are given, and how the roles are called.
#[derive(Clone, Debug)]
pub struct Grantee {
    /// The name of the roles.
    pub name: String,
    /// The user: `system:serviceaccount:NAMESPACE:NAME` for a service account.
    pub user: String,
}

/// The roles for what is wanted, with bindings. `to_write`: what the account writes in whose name policies write.
pub fn roles(wanted: &Wanted, grantee: &Grantee, to_write: &[Right]) -> Vec<Value> {
    let all = needed(wanted);
    let mut objects = Vec::new();
    let mut namespaces: Vec<&str> = Vec::new();
    for of in &all {
        if !namespaces.contains(&of.right.namespace.as_str()) {
            namespaces.push(&of.right.namespace);
        }
    }
    for namespace in namespaces {
        let here: Vec<&Needed> = all.iter().filter(|of| of.right.namespace == namespace).collect();
        let only = |place: Place| here.iter().all(|of| of.place == place);
        let suffix = match () {
            () if only(Place::Lease) => "-lease",
            () if only(Place::PolicyAccount) => "-policy-account",
            () => "",
        };
        let name = format!("{}{suffix}", grantee.name);
        let rules = rules(here.iter().map(|of| &of.right));
        objects.extend(role(namespace, &name, rules, &grantee.user));
    }
    if !to_write.is_empty() {
        let name = format!("{}-policies", grantee.name);
        objects.extend(role("", &name, rules(to_write.iter()), &wanted.account.user()));
    }
    objects
}

/// The right to read what the scheduler remembers, for a user: a ClusterRole with its binding. No other role has it.
pub fn snapshot_reader(name: &str, user: &str) -> Vec<Value> {
    let rule = PolicyRule {
        non_resource_urls: Some(vec![memory::PATH.to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    role("", &format!("{name}-snapshot-reader"), vec![rule], user)
}

/// A role with its binding; a ClusterRole without a namespace.
fn role(namespace: &str, name: &str, rules: Vec<PolicyRule>, user: &str) -> Vec<Value> {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
        ..ObjectMeta::default()
    };
    let (name, subjects, rules) = (name.to_owned(), Some(vec![subject(user)]), Some(rules));
    let of = |kind: &str| RoleRef { api_group: GROUP.to_owned(), kind: kind.to_owned(), name: name.clone() };
    match namespace.is_empty() {
        true => {
            let binding =
                ClusterRoleBinding { metadata: metadata.clone(), role_ref: of("ClusterRole"), subjects };
            vec![value(&ClusterRole { metadata, rules, aggregation_rule: None }), value(&binding)]
        }
        false => {
            let binding = RoleBinding { metadata: metadata.clone(), role_ref: of("Role"), subjects };
            vec![value(&Role { metadata, rules }), value(&binding)]
        }
    }
}

/// Kubernetes' types always serialize.
fn value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

fn subject(user: &str) -> Subject {
    let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
    match account {
        Some((namespace, name)) => Subject {
            kind: "ServiceAccount".to_owned(),
            name: name.to_owned(),
            namespace: Some(namespace.to_owned()),
            api_group: None,
        },
        None => Subject {
            kind: "User".to_owned(),
            name: user.to_owned(),
            namespace: None,
            api_group: Some(GROUP.to_owned()),
        },
    }
}

/// Rules for these rights: resources of a group with the same verbs share one.
fn rules<'r>(rights: impl Iterator<Item = &'r Right>) -> Vec<PolicyRule> {
    let mut rules: Vec<PolicyRule> = Vec::new();
    for right in rights {
        let names = Some(vec![right.name.clone()]).filter(|_| !right.name.is_empty());
        let verbs: Vec<String> = right.verbs.iter().map(|verb| (*verb).to_owned()).collect();
        let groups = Some(vec![right.group.clone()]);
        let shares = |rule: &&mut PolicyRule| {
            rule.api_groups == groups && rule.resource_names == names && rule.verbs == verbs
        };
        match rules.iter_mut().find(shares).and_then(|rule| rule.resources.as_mut()) {
            Some(resources) if resources.contains(&right.resource) => {}
            Some(resources) => resources.push(right.resource.clone()),
            None => rules.push(PolicyRule {
                api_groups: groups,
                resources: Some(vec![right.resource.clone()]),
                resource_names: names,
                verbs,
                non_resource_urls: None,
            }),
        }
    }
    rules
}
