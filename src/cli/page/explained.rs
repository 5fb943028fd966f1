//! One pod of the document: everything that keeps it away from every node, what would help with the patches, and the values
//! of rules.

use crate::cli::explain::fix::{Asked, Fix, has_patch};
use crate::cli::explain::node::{Subject, policy_rules};
use crate::cli::explain::refusals::Refusals;
use crate::cli::explain::text::{because, opens};
use crate::dry_run::Report;
use crate::explain::Suggestions;
use crate::model::{Snapshot, Symbol};
use crate::page::{Explained, Help, NodeValues, RuleReasons, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// Of how many nodes the values of rules are shown.
const VALUES: usize = 40;

/// The pod of a row. `helps`: what would help, and whether a gate keeps the pod out of the queue.
pub(super) fn of(
    subject: &Subject,
    report: &Report,
    (row, verdict): (usize, &str),
    (helps, gated): (&Suggestions, bool),
) -> Explained {
    let snapshot = report.scheduler.snapshot();
    let rows: FxHashMap<&Symbol, i64> = snapshot.nodes().map(|node| node.name()).zip(0..).collect();
    let mut made = explained(subject.explanation, snapshot, row);
    verdict.clone_into(&mut made.verdict);
    let rules = subject.explanation.rules.iter();
    made.rules = rules
        .map(|of| RuleReasons {
            rule: of.rule.clone(),
            place: of.place.clone(),
            refuses: of.refuses,
            alone: of.alone,
            because: because(of),
        })
        .collect();
    let own = report.pods.iter().find(|of| of.pod.key == subject.pod.key);
    let statements = Refusals::of(subject, own, report).json(&subject.setup.policies.sources);
    if let Some((told, members)) = statements {
        (made.refused_by, made.group) = (told, members);
    }
    made.would_help = helps
        .helps
        .iter()
        .enumerate()
        .map(|(at, help)| Help {
            whose: help.owner.word().to_owned(),
            what: help.what.clone(),
            effect: opens(help, 0),
            nodes: help.nodes.iter().filter_map(|name| rows.get(&Symbol::new(name)).copied()).collect(),
            patch: has_patch(&help.edits).then(|| patch(subject, helps, at, gated)).flatten(),
        })
        .collect();
    made.values = values(subject, snapshot, &made);
    made
}

/// The patch of a suggestion; `None` where it cannot be written.
fn patch(subject: &Subject, helps: &Suggestions, at: usize, gated: bool) -> Option<String> {
    let Subject { setup, pod, now, .. } = *subject;
    let chosen = helps.helps.get(at)?;
    let asked = Asked { setup, pod, until: None, because: None, now, number: at + 1, chosen, gated };
    Fix::of(&asked).ok().map(|fix| fix.to_text())
}

/// The values of rules on all nodes of a small cluster, else on the first node that the same rules refuse.
fn values(subject: &Subject, snapshot: &Snapshot, made: &Explained) -> Vec<NodeValues> {
    let all = snapshot.node_count() <= VALUES;
    let mut seen: FxHashSet<Vec<&str>> = FxHashSet::default();
    let mut found = Vec::new();
    for (row, node) in snapshot.nodes().enumerate() {
        if found.len() == VALUES {
            break;
        }
        let reasons = made.per_node.get(row).and_then(|at| made.reasons.get(usize::try_from(*at).ok()?));
        let Some(reasons) = reasons else { continue };
        let rules =
            reasons.iter().filter_map(|at| made.refusals.get(*at)).map(|of| of.rule.as_str()).collect();
        if !seen.insert(rules) && !all {
            continue;
        }
        let info = subject.snapshot.node_by_name(node.name()).and_then(|id| subject.snapshot.node(id));
        let Some(info) = info else { continue };
        let rules = policy_rules(subject, info);
        if rules.as_array().is_some_and(|rules| !rules.is_empty()) {
            found.push(NodeValues { node: i64::try_from(row).unwrap_or(-1), rules });
        }
    }
    found
}
