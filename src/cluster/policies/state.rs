//! What the scheduler serves of each policy object, shared with health checks, metrics and
//! `/configz`. Written by `source`.

use super::choice::Origin;
use super::verdict::{ObjectName, Verdict};
use bayplan_model::{KindName, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A policy in service.
#[derive(Clone, Debug)]
pub(crate) struct PolicyInService {
    /// Its name.
    pub name: String,
    /// The revision of its text.
    pub revision: String,
    /// How it came into service.
    pub origin: Origin,
    /// The word of its mode.
    pub mode: &'static str,
    /// The first instant at which a day is over until which a mode of it is meant.
    pub mode_until: Option<Time>,
    /// When its exceptions end, each with its rule and reason.
    pub exceptions: Vec<(String, Time)>,
    /// The kinds that it looks up.
    pub looks_up: Vec<KindName>,
}

/// One policy object.
#[derive(Clone, Debug)]
pub(crate) struct ObjectState {
    /// `namespace/name`, or a path.
    pub object: ObjectName,
    /// The verdict on the present text.
    pub verdict: Verdict,
    /// The hash of the text in service; empty if none is.
    pub revision: String,
    /// The policies in service from it.
    pub policies: Vec<PolicyInService>,
    /// Since when this text is in service here, in seconds since the Unix epoch.
    pub since: i64,
}

/// The state of all policies. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyState {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    loaded: bool,
    trouble: Option<String>,
    revision: u64,
    objects: Vec<ObjectState>,
}

impl PolicyState {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the first set of policies is in service; otherwise the reason.
    pub(crate) fn loaded(&self) -> Result<(), String> {
        let inner = self.inner();
        match (&inner.trouble, inner.loaded) {
            (_, true) => Ok(()),
            (Some(trouble), false) => Err(trouble.clone()),
            (None, false) => Err("policies are not loaded yet".into()),
        }
    }

    /// The revision in service and the policy objects.
    pub(crate) fn objects(&self) -> (u64, Vec<ObjectState>) {
        let inner = self.inner();
        (inner.revision, inner.objects.clone())
    }

    /// Records why policies cannot be read; whether the reason is a new one.
    pub(super) fn note_trouble(&self, trouble: String) -> bool {
        let mut inner = self.inner();
        let new = inner.trouble.as_ref() != Some(&trouble);
        inner.trouble = Some(trouble);
        new
    }

    /// Records the set that is in service from now on.
    pub(crate) fn serve(&self, revision: u64, objects: Vec<ObjectState>) {
        *self.inner() = Inner { loaded: true, trouble: None, revision, objects };
    }
}
