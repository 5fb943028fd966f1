//! The rights without which no pod is scheduled, reviewed at the start and again while the process runs; the log and the
//! readiness say what is missing. Rights whose lack costs less (events, conditions, evictions) are not here: the code that
//! needs one reports it.

use crate::api::client::Api;
use crate::rights::review::{Missing, missing};
use crate::rights::right::Right;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the rights are reviewed while one is missing.
const AGAIN: Duration = Duration::from_secs(5);
/// How often they are reviewed when all are there: a right may be lost.
const LATER: Duration = Duration::from_secs(300);

/// What the account lacks now. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rights {
    missing: Arc<Mutex<Vec<Missing>>>,
}

impl Rights {
    /// Reviews these rights for ever, and says what changed.
    pub(crate) async fn follow(self, api: Api, needed: Vec<Right>) {
        loop {
            let found = missing(&api, &needed).await;
            let pause = if found.is_empty() { LATER } else { AGAIN };
            self.note(found);
            tokio::time::sleep(pause).await;
        }
    }

    fn note(&self, found: Vec<Missing>) {
        let mut known = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == found {
            return;
        }
        for Missing { right, rule, grant } in found.iter().filter(|it| !known.contains(it)) {
            tracing::error!(%right, %rule, "no pod is scheduled until this right is granted: {grant}");
        }
        if found.is_empty() {
            tracing::info!("every right without which no pod is scheduled is there");
        }
        *known = found;
    }

    /// Passes if nothing is missing; else what, with the lines that grant it.
    pub(crate) fn complete(&self) -> Result<(), String> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if missing.is_empty() {
            return Ok(());
        }
        let all: Vec<String> = missing.iter().map(ToString::to_string).collect();
        Err(format!("no pod is scheduled until missing rights are granted: {}", all.join("; ")))
    }
}
