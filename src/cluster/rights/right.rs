//! [`Right`]: verbs on a resource, as a sentence, as a rule of a role, and as the line that grants it.

use crate::inputs::watch::rule;
use serde_json::{Value, json};

/// A right on a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Right {
    /// The verbs.
    pub verbs: Vec<&'static str>,
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural name, with the subresource after a slash.
    pub resource: String,
    /// Empty: in the whole cluster.
    pub namespace: String,
    /// Empty: of all names.
    pub name: String,
}

impl Right {
    /// A right in the whole cluster, to objects of all names.
    pub fn new(verbs: &[&'static str], group: &str, resource: &str) -> Self {
        let (group, resource) = (group.to_owned(), resource.to_owned());
        Self { verbs: verbs.to_vec(), group, resource, namespace: String::new(), name: String::new() }
    }

    pub(crate) fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..self }
    }

    pub(crate) fn of(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// The attributes of a review of one of its verbs.
    pub(super) fn attributes(&self, verb: &str) -> Value {
        let (resource, subresource) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        json!({
            "verb": verb, "group": self.group, "resource": resource, "subresource": subresource,
            "namespace": self.namespace, "name": self.name,
        })
    }

    /// The rule of a role that allows it.
    pub fn rule(&self) -> String {
        let rule = rule(&self.group, &[&self.resource], &self.verbs);
        match self.name.is_empty() {
            true => rule,
            false => rule.replace("verbs: ", &format!("resourceNames: [\"{}\"], verbs: ", self.name)),
        }
    }

    /// The line for a shell that grants it to a user.
    pub fn grant(&self, user: &str) -> String {
        let subject = match user.strip_prefix("system:serviceaccount:") {
            Some(account) => format!("--serviceaccount={}", quoted(account)),
            None => format!("--user={}", quoted(user)),
        };
        let verbs = self.verbs.join(",");
        let (resource, sub) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        let dotted =
            |mark: char, part: &str| if part.is_empty() { String::new() } else { format!("{mark}{part}") };
        let what = format!("{resource}{}{}", dotted('.', &self.group), dotted('/', sub));
        let first = self.verbs.first().copied().unwrap_or_default();
        let role = format!("bayplan-{first}-{}", self.resource.replace('/', "-"));
        let named = if self.name.is_empty() {
            String::new()
        } else {
            format!(" --resource-name={}", quoted(&self.name))
        };
        let (kind, place) = match self.namespace.is_empty() {
            true => ("clusterrole", String::new()),
            false => ("role", format!(" --namespace={}", quoted(&self.namespace))),
        };
        format!(
            "kubectl create {kind} {role}{place} --verb={verbs} --resource={what}{named} && \
             kubectl create {kind}binding {role}{place} --{kind}={role} {subject}"
        )
    }
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (resource, name) = (&self.resource, &self.name);
        let resource =
            if self.group.is_empty() { resource.clone() } else { format!("{resource}.{}", self.group) };
        write!(f, "{} {resource}", self.verbs.join(", "))?;
        if !name.is_empty() {
            write!(f, " `{name}`")?;
        }
        match self.namespace.is_empty() {
            true => Ok(()),
            false => write!(f, " in the namespace `{}`", self.namespace),
        }
    }
}

/// A word quoted for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@/".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_has_a_line_that_grants_it() {
        assert_eq!(
            Right::new(&["create"], "", "pods/binding").grant("system:serviceaccount:a:b"),
            "kubectl create clusterrole bayplan-create-pods-binding --verb=create --resource=pods/binding && kubectl \
             create clusterrolebinding bayplan-create-pods-binding --clusterrole=bayplan-create-pods-binding \
             --serviceaccount=a:b"
        );
        let lease = Right::new(&["get", "update"], "coordination.k8s.io", "leases");
        let lease = lease.in_namespace("bayplan").of("mine");
        assert_eq!(
            lease.grant("it's me"),
            "kubectl create role bayplan-get-leases --namespace=bayplan --verb=get,update \
             --resource=leases.coordination.k8s.io --resource-name=mine && kubectl create rolebinding bayplan-get-leases \
             --namespace=bayplan --role=bayplan-get-leases --user='it'\\''s me'"
        );
        assert_eq!(
            lease.rule(),
            "{apiGroups: [\"coordination.k8s.io\"], resources: [\"leases\"], resourceNames: [\"mine\"], verbs: \
             [\"get\", \"update\"]}"
        );
    }
}
