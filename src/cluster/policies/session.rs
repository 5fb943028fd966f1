//! A look at the policies of a live cluster, and the writing of overrides, for `bayplan policies`.
//! The scheduler acts on what is written here within a second.

use super::config_maps::{OVERRIDES, path_of};
use super::listing::{self, PolicyObjects};
use super::overrides::Entry;
use crate::api::client::{Api, ApiError, JSON, MERGE_PATCH, Request, Target};
use crate::inputs::list::{ListError, Refused, WantedPolicies, reach};
use crate::inputs::watch::rule;
use bayplan_lang::analysis::cost::Size;
use http::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::runtime::Runtime;

/// A connection to a cluster whose policies were read.
pub struct PolicySession {
    runtime: Runtime,
    api: Api,
    /// The policies.
    pub found: PolicyObjects,
}

/// Why an override cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{OVERRIDES}` in namespace {namespace}: {why}{help}")]
pub struct WriteError {
    namespace: String,
    why: ApiError,
    help: String,
}

/// The error of a command that reads no policies from files.
fn without_files(error: ListError) -> ListError {
    match error {
        ListError::Forbidden { message, rule, .. } => {
            let otherwise = "; or name the namespaces you may read with `--policy-namespaces`";
            ListError::Forbidden { message, rule, otherwise }
        }
        other => other,
    }
}

impl PolicySession {
    /// Reads the policies of these namespaces.
    pub fn open(target: &Target, namespaces: Vec<String>, size: Size) -> Result<Self, ListError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ListError::System)?;
        let (api, found) = runtime.block_on(async {
            let api = Api::new(target).await?;
            reach(&api).await?;
            let found =
                match listing::read(&api, &WantedPolicies::In(namespaces), size, &BTreeSet::new()).await {
                    Ok(found) => found,
                    Err((collection, why)) => {
                        let mut refused = Refused::default();
                        refused.add(collection, why, true)?;
                        refused.judge().map_err(without_files)?;
                        PolicyObjects::default()
                    }
                };
            Ok::<_, ListError>((api, found))
        })?;
        Ok(Self { runtime, api, found })
    }

    /// The name of the user as the API server knows it; empty if it does not tell.
    pub fn user(&self) -> String {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let request = Request::with_body(Method::POST, path, JSON, &review);
        let answer = self.runtime.block_on(self.api.call::<Value>(request)).unwrap_or_default();
        answer["status"]["userInfo"]["username"].as_str().unwrap_or_default().to_owned()
    }

    /// Writes the entry of a policy, or removes it.
    pub fn write(&self, namespace: &str, policy: &str, entry: Option<&Entry>) -> Result<(), WriteError> {
        let failed = |why: ApiError| {
            let help = match why.code() {
                Some(403) => {
                    let rule = rule("", &["configmaps"], &["create", "patch"]);
                    format!("; add this rule to your role in that namespace: {rule}")
                }
                _ => String::new(),
            };
            WriteError { namespace: namespace.to_owned(), why, help }
        };
        let text = entry.map(Entry::text).transpose().map_err(|said| failed(ApiError::NotSent(said)))?;
        let path = path_of(&format!("{namespace}/{OVERRIDES}"));
        let patch = json!({"data": {policy: text}});
        let patched = self.runtime.block_on(self.api.send(Request::with_body(
            Method::PATCH,
            path,
            MERGE_PATCH,
            &patch,
        )));
        match (patched, text) {
            (Ok(_), _) => Ok(()),
            // Nothing to remove.
            (Err(error), None) if error.code() == Some(404) => Ok(()),
            (Err(error), Some(text)) if error.code() == Some(404) => {
                let object = json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": OVERRIDES, "namespace": namespace}, "data": {policy: text},
                });
                let path = format!("/api/v1/namespaces/{namespace}/configmaps");
                let request = Request::with_body(Method::POST, path, JSON, &object);
                self.runtime.block_on(self.api.send(request)).map(drop).map_err(failed)
            }
            (Err(error), _) => Err(failed(error)),
        }
    }
}
