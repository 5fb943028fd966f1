//! The account in whose name policies write. The scheduler impersonates it, so that RBAC decides about each write of a
//! policy by the rights of this account: those that the scheduler has for its own work are never a policy's.
//!
//! The account writes what a policy writes (`PatchBody::is_of_policy`) and its events about objects that it looked up
//! (`EventRecord::is_of_policy`). Only what a Binding takes along has the rights of the scheduler.

use crate::api::client::ApiError;
use crate::inputs::watch::rule;
use std::str::FromStr;
use std::sync::Arc;

/// A service account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyAccount {
    namespace: Arc<str>,
    name: Arc<str>,
}

impl PolicyAccount {
    /// The name of the account, unless another one is given.
    const NAME: &'static str = "bayplan-policies";

    /// The usual account, in the namespace of the scheduler.
    pub fn beside(namespace: &str) -> Self {
        Self { namespace: namespace.into(), name: Self::NAME.into() }
    }

    /// Its namespace and its name.
    pub(crate) fn parts(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }

    /// Its user name.
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The error of a write in its name; a missing right comes with what to grant. `right`: the rule that allows the write.
    pub(crate) fn explain(&self, error: ApiError, right: &str) -> ApiError {
        let Self { namespace, name } = self;
        match error {
            ApiError::Status { code: 403, reason, message, retry_after } => {
                let way_out = if message.contains("cannot impersonate") {
                    let allowed = rule("", &["serviceaccounts"], &["impersonate"]);
                    let allowed = allowed.replace("verbs", &format!("resourceNames: [\"{name}\"], verbs"));
                    format!(
                        "policies write as this account; the scheduler needs a role in the namespace {namespace} with the rule {allowed}"
                    )
                } else if reason == "Forbidden" && message.contains(&*self.user()) {
                    format!("bind a role with this rule to the service account {namespace}/{name}: {right}")
                } else {
                    // A refusal of admission is not about rights.
                    return ApiError::Status { code: 403, reason, message, retry_after };
                };
                ApiError::Status { code: 403, reason, message: format!("{message}; {way_out}"), retry_after }
            }
            error => error,
        }
    }
}

impl FromStr for PolicyAccount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = text.split_once('/').unwrap_or_default();
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-' | '.'))
        };
        match is_name(namespace) && is_name(name) {
            true => Ok(Self { namespace: namespace.into(), name: name.into() }),
            false => Err("write a service account as NAMESPACE/NAME".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden(message: &str) -> ApiError {
        ApiError::Status { code: 403, reason: "Forbidden".into(), message: message.into(), retry_after: None }
    }

    #[test]
    fn a_missing_right_comes_with_what_to_grant() {
        let account: PolicyAccount = "bayplan/bayplan-policies".parse().unwrap();
        assert_eq!(account, PolicyAccount::beside("bayplan"));
        let right = "{apiGroups: [\"\"], resources: [\"nodes\"], verbs: [\"patch\"]}";
        let said = |message: &str| account.explain(forbidden(message), right).to_string();
        let text =
            format!("nodes \"n1\" is forbidden: User \"{}\" cannot patch resource \"nodes\"", account.user());
        assert_eq!(
            said(&text),
            format!(
                "{text}; bind a role with this rule to the service account bayplan/bayplan-policies: {right}"
            )
        );
        let text =
            "serviceaccounts \"bayplan-policies\" is forbidden: User \"x\" cannot impersonate resource";
        let rule = "{apiGroups: [\"\"], resources: [\"serviceaccounts\"], resourceNames: [\"bayplan-policies\"], \
                    verbs: [\"impersonate\"]}";
        assert!(said(text).ends_with(&format!("needs a role in the namespace bayplan with the rule {rule}")));
        let admission = "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'x' denied request: no";
        assert_eq!(said(admission), admission);
        assert!("bayplan".parse::<PolicyAccount>().is_err() && "a/b c".parse::<PolicyAccount>().is_err());
    }
}
