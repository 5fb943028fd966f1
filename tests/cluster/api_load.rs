//! Many concurrent calls to the API server, for loads that are too much for kubectl. Results are
//! checked with kubectl, so that the client under test never checks itself.

use crate::support::ControlPlane;
use bayplan::cluster::api::client::{
    Api, ApiError, JSON, MERGE_PATCH, Request, STRATEGIC_MERGE_PATCH, Target,
};
use futures::StreamExt;
use http::Method;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// A client with a thread of its own.
pub(crate) struct ApiClient {
    pub runtime: tokio::runtime::Runtime,
    pub api: Api,
}

impl ApiClient {
    pub(crate) fn new(plane: &ControlPlane) -> Self {
        Self::of(&plane.kubeconfig())
    }

    /// With the user of a kubeconfig.
    pub(crate) fn of(kubeconfig: &Path) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let target =
            Target { kubeconfig: Some(kubeconfig.to_owned()), user_agent: "tests", ..Target::default() };
        let api = runtime.block_on(Api::new(&target)).unwrap();
        Self { runtime, api }
    }

    /// Sends all requests, at most `at_once` concurrently.
    ///
    /// # Panics
    ///
    /// If the server refuses one.
    pub(crate) fn all(&self, at_once: usize, requests: impl IntoIterator<Item = Request>) {
        let api = &self.api;
        let calls = futures::stream::iter(requests).for_each_concurrent(at_once, |request| async move {
            let (method, path) = (request.method.clone(), request.path.clone());
            let answer = api.send(request.within(Duration::from_secs(60))).await;
            answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        });
        self.runtime.block_on(calls);
    }

    /// The answer to a GET, if it is successful.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = self.runtime.block_on(self.api.send(Request::get(path))).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// Makes a call; `None` if the object does not exist, exists already, or is another one.
    pub(crate) fn call(&self, request: Request) -> Option<Value> {
        let what = format!("{} {}", request.method, request.path);
        match self.runtime.block_on(self.api.call::<Value>(request)) {
            Ok(answer) => Some(answer),
            Err(ApiError::Status { code: 404 | 409, .. }) => None,
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

pub(crate) fn post(path: impl Into<String>, object: &Value) -> Request {
    Request::with_body(Method::POST, path, JSON, object)
}

pub(crate) fn merge(path: impl Into<String>, patch: &Value) -> Request {
    Request::with_body(Method::PATCH, path, MERGE_PATCH, patch)
}

pub(crate) fn strategic(path: impl Into<String>, patch: &Value) -> Request {
    Request::with_body(Method::PATCH, path, STRATEGIC_MERGE_PATCH, patch)
}

/// A deletion with this grace period, or with the object's own.
pub(crate) fn delete(path: impl Into<String>, grace: Option<u32>) -> Request {
    let mut path = path.into();
    if let Some(grace) = grace {
        path.push_str(&format!("?gracePeriodSeconds={grace}"));
    }
    Request { method: Method::DELETE, ..Request::get(path) }
}
