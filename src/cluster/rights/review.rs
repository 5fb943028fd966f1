//! Asks the API server which rights an account has: its own by SelfSubjectAccessReview, those of another one by
//! SubjectAccessReview, one verb after the other.

use super::right::Right;
use crate::api::client::{Api, ApiError, JSON, Request};
use http::Method;
use serde_json::{Value, json};

/// Whose rights are reviewed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// Those of the connection.
    Ourselves,
    /// Those of this user.
    User(String),
}

/// A right that is missing, with the line that grants it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// The right: the verbs that are missing.
    pub right: Right,
    /// The rule of a role that allows it.
    pub rule: String,
    /// The line for a shell.
    pub grant: String,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; grant it: {}", self.right, self.grant)
    }
}

/// What is missing of a right, if anything.
pub(crate) async fn lacks(api: &Api, right: &Right, who: &Who) -> Result<Option<Right>, ApiError> {
    let mut verbs = Vec::new();
    for verb in &right.verbs {
        let attributes = right.attributes(verb);
        let answer = match who {
            Who::Ourselves => {
                let spec = json!({ "resourceAttributes": attributes });
                review(api, "authorization.k8s.io", "SelfSubjectAccessReview", spec).await?
            }
            Who::User(user) => {
                let spec = json!({ "resourceAttributes": attributes, "user": user, "groups": groups(user) });
                review(api, "authorization.k8s.io", "SubjectAccessReview", spec).await?
            }
        };
        if answer["status"]["allowed"] == false {
            verbs.push(*verb);
        }
    }
    Ok((!verbs.is_empty()).then(|| Right { verbs, ..right.clone() }))
}

/// The groups of a user as the API server authenticates it.
fn groups(user: &str) -> Vec<String> {
    let mut groups = vec!["system:authenticated".to_owned()];
    let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
    if let Some((namespace, _)) = account {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups
}

/// The missing ones of these rights of the connection's account. A right that cannot be reviewed counts as there.
pub(crate) async fn missing(api: &Api, needed: &[Right]) -> Vec<Missing> {
    let mut found = Vec::new();
    for right in needed {
        match lacks(api, right, &Who::Ourselves).await {
            Ok(lacks) => found.extend(lacks),
            Err(error) => tracing::debug!(%error, %right, "the account's rights cannot be reviewed"),
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let user = user(api).await.unwrap_or_else(|| "system:serviceaccount:NAMESPACE:NAME".to_owned());
    let with_lines = |right: Right| Missing { rule: right.rule(), grant: right.grant(&user), right };
    found.into_iter().map(with_lines).collect()
}

/// The name of the connection's user, as the API server knows it.
pub(crate) async fn user(api: &Api) -> Option<String> {
    let answer = review(api, "authentication.k8s.io", "SelfSubjectReview", json!({})).await;
    let answer =
        answer.inspect_err(|error| tracing::debug!(%error, "the own user cannot be reviewed")).ok()?;
    Some(answer["status"]["userInfo"]["username"].as_str()?.to_owned())
}

async fn review(api: &Api, group: &str, kind: &str, spec: Value) -> Result<Value, ApiError> {
    let path = format!("/apis/{group}/v1/{}s", kind.to_lowercase());
    let body = json!({ "apiVersion": format!("{group}/v1"), "kind": kind, "spec": spec });
    api.call::<Value>(Request::with_body(Method::POST, path, JSON, &body)).await
}
