//! A change of policies as JSON: `kind: PolicyDiff`.

use super::effect::{Effect, Outcome, Pending};
use super::text::{pod_name, unknown};
use super::{Change, Reading};
use crate::compare::{Effect as Shown, NodeLoad, RuleDiff, Verdict, Witness};
use serde_json::{Value, json};

fn witness(effect: Shown, of: &Witness, rule: &RuleDiff) -> Value {
    let objects = of.made_of.as_ref();
    json!({
        "effect": match effect {
            Shown::Refused => "refused",
            Shown::Passes => "passes",
            Shown::Scored => "scored",
        },
        "invented": of.made_of.is_some(),
        "pod": format!("{}/{}", of.pod.namespace, of.pod.name),
        "node": of.node.to_string(),
        "because": objects.map(|objects| objects.because.clone()).unwrap_or_default(),
        "objects": objects.map(|objects| json!({
            "pod": objects.pod, "node": objects.node, "namespace": objects.namespace,
            "victim": of.victim.as_ref().map(|_| &objects.victim), "podsOnNode": objects.pods_on_node,
            "load": objects.load.as_ref().and_then(NodeLoad::in_test),
        })),
        "scoreBefore": rule.scores.as_ref().map(|(old, _)| old),
        "scoreAfter": rule.scores.as_ref().map(|(_, new)| new),
    })
}

fn rule(change: &Change, of: &RuleDiff) -> Value {
    let why = match &of.verdict {
        Verdict::Unknown(why) => Some(unknown(change, why)),
        _ => None,
    };
    json!({
        "policy": of.policy,
        "rule": of.name,
        "renamedFrom": of.renamed_from,
        "place": change.place(of),
        "verdict": of.verdict.word(),
        "textChanged": change.reading(of) != Reading::Untouched,
        "onlyCounts": of.only_counts(),
        "witnesses": of.verdict.witnesses().into_iter().map(|(effect, it)| witness(effect, it, of)).collect::<Vec<_>>(),
        "unknownBecause": why,
        "notes": of.notes,
        "wakesOnBefore": change.wakes(of).map(|of| &of.before),
        "wakesOn": change.wakes(of).map(|of| &of.after),
    })
}

fn outcome(of: &Outcome) -> Value {
    json!({
        "node": of.node.as_ref().map(ToString::to_string), "score": of.score, "message": of.message,
        "evicts": of.evicts,
    })
}

fn effect(of: &Effect) -> Value {
    let number = |test: fn(&Pending) -> bool| of.pending_that(test).count();
    let pods = of.pending.iter().filter(|pod| pod.old.node != pod.new.node).map(|pod| {
        json!({
            "pod": pod_name(&pod.pod), "before": outcome(&pod.old), "after": outcome(&pod.new), "rules": pod.rules,
        })
    });
    let refused = of.refused.iter().map(|refused| {
        json!({
            "pod": pod_name(&refused.pod), "node": refused.node.to_string(), "rule": refused.rule,
            "restartedOn": refused.restarted_on.as_ref().map(ToString::to_string),
        })
    });
    json!({
        "nodes": of.nodes,
        "running": of.running,
        "pending": of.pending.len(),
        "wait": number(Pending::waits),
        "placed": number(Pending::is_placed),
        "moved": number(Pending::moves),
        "beginToWait": number(Pending::begins_to_wait),
        "beginToRun": number(Pending::begins_to_run),
        "appliesToRunning": of.asked,
        "mayStay": of.may_stay(),
        "refusedAsBefore": of.as_before,
        "pods": pods.collect::<Vec<_>>(),
        "refusedWhereTheyAre": refused.collect::<Vec<_>>(),
    })
}

/// As JSON.
pub(super) fn report(change: &Change) -> Value {
    json!({
        "apiVersion": "bayplan.dev/v1",
        "kind": "PolicyDiff",
        "old": change.paths.first(),
        "new": change.paths.last(),
        "rules": change.rules.iter().map(|of| rule(change, of)).collect::<Vec<_>>(),
        "effect": change.effect.as_ref().map(effect),
    })
}
