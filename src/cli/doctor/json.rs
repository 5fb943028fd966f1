//! The findings as JSON; `reference/json.rs` documents the fields.

use super::text::{count, in_order};
use crate::cluster::doctor::checks::Outcome;
use crate::cluster::doctor::facts::{Facts, Installation};
use crate::cluster::doctor::finding::Severity;
use serde_json::{Value, json};

pub(super) fn document(facts: &Facts, outcomes: &[Outcome]) -> Value {
    let all = in_order(outcomes);
    let findings: Vec<Value> = all
        .iter()
        .map(|(check, of)| {
            json!({
                "check": check, "severity": of.severity.word(), "what": of.what, "why": of.why, "command": of.command,
            })
        })
        .collect();
    let checks: Vec<Value> = outcomes.iter().map(state).collect();
    json!({
        "apiVersion": "bayplan.dev/v1", "kind": "Diagnosis",
        "installations": facts.installations.iter().map(installation).collect::<Vec<_>>(),
        "checks": checks,
        "findings": findings,
        "summary": {
            "errors": count(&all, Severity::Error), "warnings": count(&all, Severity::Warning),
            "notes": count(&all, Severity::Note),
        },
    })
}

fn installation(of: &Installation) -> Value {
    let lease = of.wanted.lease.as_ref().map(|(namespace, name)| format!("{namespace}/{name}"));
    json!({
        "namespace": of.workload.namespace, "name": of.workload.name, "account": of.workload.user,
        "schedulerNames": of.names, "lease": lease,
    })
}

fn state(of: &Outcome) -> Value {
    let state = match (of.unread(), of.severity()) {
        (Some(_), _) => "leftOut",
        (None, Some(severity)) => severity.word(),
        (None, None) => "ok",
    };
    json!({
        "name": of.check.name, "about": of.check.about, "state": state,
        "cannotRead": of.unread().map(|unread| &unread.resource),
    })
}
