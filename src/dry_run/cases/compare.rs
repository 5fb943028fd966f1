//! What was expected of a pod against what happened to it, with the rules that made the difference.

use super::read::{Case, Expectation, What, YesOr};
use super::{Because, DecisionView, Mismatch, PodReport, Report, Seen, Standing, stands};
use bayplan_framework::{Cycle, Silent, Would, WouldEffect};
use bayplan_model::{Object, Symbol};
use bayplan_scheduler::{NodeDetail, PluginScore};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What did not come as expected.
pub(super) fn mismatch(one: &Expectation, seen: &Seen) -> Option<Mismatch> {
    let (expected, got, because) = match &one.what {
        What::On(nodes) => on(nodes, seen),
        What::NotOn(nodes) => not_on(nodes, seen),
        What::RefusedOn { node, by } => refused_on(node, by.as_deref(), seen),
        What::Unschedulable(expected) => unschedulable(*expected, seen),
        What::Refused { reason, nodes } => refused(reason, *nodes, seen),
        What::Score { node, score, value } => score_of(node, score, *value, seen),
        What::Waits(expected) => waits(expected, seen),
        What::Gated(expected) => gated(expected, seen),
        What::Evicts(expected) => evicts(expected, seen),
        What::Would { rule, effect } => would(rule, *effect, seen),
        What::Remembers(given) => given.difference(seen),
        What::Writes { object, fields } => writes(object, fields, seen),
        What::Event { reason, text } => event(reason, text.as_deref(), seen),
    }?;
    Some(Mismatch { expected, got, because, span: one.span })
}

/// Expected, got, because.
pub(super) type Difference = Option<(String, String, Vec<Because>)>;

fn writes(object: &str, fields: &Value, seen: &Seen) -> Difference {
    let written = match object {
        "pod" => seen.writes.of(&Object::Pod(seen.pod.pod.clone()).key()),
        name => seen.writes.named(name),
    };
    let nothing = fields.as_object().is_some_and(Map::is_empty);
    let as_expected = match written {
        None => nothing,
        Some(written) => !nothing && holds(written, fields),
    };
    if as_expected {
        return None;
    }
    let told = |value: Option<&Value>| match value {
        Some(value) if value.as_object().is_some_and(|fields| !fields.is_empty()) => {
            format!("{object}: {value}")
        }
        _ => {
            let others: Vec<String> = seen.writes.iter().map(|(name, _)| name).collect();
            let others = if others.is_empty() {
                String::new()
            } else {
                format!("; written are {}", others.join(", "))
            };
            format!("{object}: nothing is written{others}")
        }
    };
    let expected = if nothing { format!("{object}: nothing is written") } else { told(Some(fields)) };
    Some((expected, told(written), Vec::new()))
}

/// Whether a value has everything of another one.
fn holds(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| value.get(key).is_some_and(|value| holds(value, wanted)))
        }
        // Labels and annotations are texts, and people write numbers without quotes.
        (Value::String(text), Value::Number(number)) => *text == number.to_string(),
        (Value::String(text), Value::Bool(yes)) => *text == yes.to_string(),
        (value, wanted) => value == wanted,
    }
}

fn event(reason: &str, text: Option<&str>, seen: &Seen) -> Difference {
    let of_reason: Vec<&str> =
        seen.pod.events.iter().filter(|event| event.reason == reason).map(|event| &*event.note).collect();
    let as_expected = match text {
        Some(text) => of_reason.iter().any(|note| note.contains(text)),
        None => of_reason.is_empty(),
    };
    if as_expected {
        return None;
    }
    let expected = match text {
        Some(text) => format!("an event {reason}: {text}"),
        None => format!("no event {reason}"),
    };
    let got = match of_reason.last() {
        Some(note) => format!("{reason}: {note}"),
        None => {
            let mut others: Vec<&str> = seen.pod.events.iter().map(|event| &*event.reason).collect();
            others.dedup();
            let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
            format!("no event {reason}; its events are {others}")
        }
    };
    Some((expected, got, Vec::new()))
}

fn bound(pod: &PodReport) -> Option<&Symbol> {
    match &pod.standing {
        Standing::Bound(node) => Some(node),
        _ => None,
    }
}

fn on(nodes: &[String], seen: &Seen) -> Difference {
    let pod = seen.pod;
    let chosen = bound(pod);
    if chosen.is_some_and(|chosen| nodes.iter().any(|node| **node == **chosen)) {
        return None;
    }
    let gated = matches!(pod.standing, Standing::Gated { .. });
    let of_node = |view: &DecisionView, node: &str| {
        let refused = view.refused(node);
        match chosen {
            Some(chosen) if refused.is_empty() => view.outscored(node, chosen),
            None if refused.is_empty() => view.late(false),
            _ => refused,
        }
    };
    let because = match gated {
        true => seen.at_end().map(|view| view.gates()),
        false => {
            seen.at_last().map(|view| nodes.iter().take(3).flat_map(|node| of_node(&view, node)).collect())
        }
    };
    let expected = match nodes {
        [node] => node.clone(),
        nodes => format!("one of {}", nodes.join(", ")),
    };
    Some((expected, stands(pod), because.unwrap_or_default()))
}

fn not_on(nodes: &[String], seen: &Seen) -> Difference {
    let chosen = bound(seen.pod)?;
    if !nodes.iter().any(|node| **node == **chosen) {
        return None;
    }
    let because = seen.at_last().map(|view| view.let_in(chosen)).unwrap_or_default();
    Some((format!("not {}", nodes.join(", ")), chosen.to_string(), because))
}

fn refused_on(node: &str, by: Option<&str>, seen: &Seen) -> Difference {
    let expected = match by {
        Some(by) => format!("{node} refused by {by}"),
        None => format!("{node} refused"),
    };
    let Some(view) = seen.at_first() else {
        let because = seen.at_end().map(|view| view.gates()).unwrap_or_default();
        return Some((expected, stands(seen.pod), because));
    };
    let rules = refusers(&view, node, seen);
    // A policy is meant with all its rules.
    let of_policy = |rule: &str, by: &str| rule.strip_prefix(by).is_some_and(|rest| rest.starts_with('/'));
    let named = |by: &str| rules.iter().any(|rule| rule == by || of_policy(rule, by));
    if by.map_or(!rules.is_empty(), named) {
        return None;
    }
    let (got, because) = if rules.is_empty() {
        (format!("{node} fits"), view.let_in(node))
    } else {
        (format!("{node} refused by {}", rules.join(", ")), view.refused(node))
    };
    Some((expected, got, because))
}

/// The rules that refuse a node, each for itself: `POLICY/RULE`, or the name of a plugin.
fn refusers(view: &DecisionView, node: &str, seen: &Seen) -> Vec<String> {
    let snapshot = &view.moment.snapshot;
    let Some(framework) = seen.profiles.get(&seen.pod.pod.scheduler_name) else { return Vec::new() };
    let mut cycle = Cycle::new(seen.pod.pod.clone(), framework.clone(), view.moment.now);
    let before_nodes = framework.run_pre_filter(&mut cycle, snapshot, &mut Silent);
    let Some(info) = super::super::recorder::named(snapshot, &Symbol::new(node)) else { return Vec::new() };
    let left = match before_nodes {
        Ok(left) => left,
        Err(status) => {
            let plugins = match framework.plugin_name(status.plugin) {
                // Plugins that leave no node together.
                "" => {
                    cycle.diagnosis.unschedulable_plugins.iter().map(|id| framework.plugin_name(id)).collect()
                }
                plugin => vec![plugin],
            };
            return plugins
                .into_iter()
                .flat_map(|plugin| [format!("{plugin}/prefilter"), plugin.to_owned()])
                .collect();
        }
    };
    let mut rules = Vec::new();
    if left.is_some_and(|left| !left.contains(info.id())) {
        let narrowing = cycle.diagnosis.unschedulable_plugins.iter();
        rules.extend(narrowing.map(|id| format!("{}/prefilter", framework.plugin_name(id))));
    }
    for id in framework.points().filter.iter().filter(|id| !cycle.state.skip_filter.contains(**id)) {
        let Some(plugin) = framework.plugin(*id) else { continue };
        let Some(filter) = plugin.filter() else { continue };
        let mut found = Vec::new();
        filter.violations(&cycle.handle(snapshot).for_plugin(*id), info, &mut found);
        rules.extend(found.into_iter().map(|violation| match violation.rule.as_str() {
            "" => plugin.name().to_owned(),
            rule => format!("{}/{rule}", plugin.name()),
        }));
    }
    let mut known = BTreeSet::new();
    rules.retain(|rule| known.insert(rule.clone()));
    rules
}

fn unschedulable(expected: bool, seen: &Seen) -> Difference {
    if matches!(seen.pod.standing, Standing::Waiting { .. }) == expected {
        return None;
    }
    let word = if expected { "waits" } else { "does not wait" };
    let because = seen.at_last().map(|view| match bound(seen.pod) {
        Some(node) => view.let_in(node),
        None => refusals(&view),
    });
    Some((word.to_owned(), stands(seen.pod), because.unwrap_or_default()))
}

/// Why each node refuses the pod; of many nodes the first three.
fn refusals(view: &DecisionView) -> Vec<Because> {
    let mut found = view.late(false);
    for because in view.nodes.iter().flat_map(|node| view.refused(&node.name)) {
        // What refuses the pod before nodes are evaluated refuses all of them.
        if found.len() < 3 && !found.contains(&because) {
            found.push(because);
        }
    }
    found
}

/// Whether the pod was refused for a reason, by as many nodes as expected.
fn refused(reason: &str, expected: Option<usize>, seen: &Seen) -> Difference {
    let pod = seen.pod;
    let detail = pod.decisions.first().and_then(|decision| decision.detail.as_ref());
    let nodes = detail.map(|detail| detail.nodes.as_slice()).unwrap_or_default();
    let gives = |node: &&NodeDetail| {
        let refused = node.refused.as_ref();
        refused.is_some_and(|(_, status)| status.reasons().any(|known| known == reason))
    };
    let count = nodes.iter().filter(gives).count();
    // A refusal after a node was chosen has no nodes, only the message.
    let said = matches!(&pod.standing, Standing::Waiting { message } if message.contains(reason));
    let on = |nodes: usize| if nodes == 1 { "on 1 node".to_owned() } else { format!("on {nodes} nodes") };
    let words = match expected {
        Some(nodes) => format!("waits, {}: {reason}", on(nodes)),
        None => format!("waits: {reason}"),
    };
    if let Some(node) = bound(pod) {
        let because = seen.at_last().map(|view| view.passed(node, reason)).unwrap_or_default();
        return Some((words, stands(pod), because));
    }
    let as_expected = match expected {
        None => said || count > 0,
        Some(nodes) => nodes == count,
    };
    if as_expected {
        return None;
    }
    let because = seen.at_first().map(|view| view.one_without(reason)).unwrap_or_default();
    let got = match (&pod.standing, expected) {
        (Standing::Waiting { message }, Some(_)) => format!("waits, {}: {message}", on(count)),
        _ => stands(pod),
    };
    Some((words, got, because))
}

fn score_of(node: &str, name: &str, expected: i64, seen: &Seen) -> Difference {
    let detail = seen.pod.decisions.first().and_then(|decision| decision.detail.as_ref());
    let of_node = detail.and_then(|detail| detail.nodes.iter().find(|of| *of.name == *node));
    let came = of_node.and_then(|of| of.scores.iter().find_map(|of| single(of, name)));
    if came == Some(expected) {
        return None;
    }
    let because = seen.at_first().map(|view| view.score(node, name)).unwrap_or_default();
    let got = came.map_or_else(|| String::from("none"), |came| came.to_string());
    Some((format!("{name} {expected} on {node}"), got, because))
}

/// The single score of a policy, by `SCORE` or `POLICY/SCORE`.
fn single(of: &PluginScore, name: &str) -> Option<i64> {
    let is = |part: &str| part == name || format!("{}/{part}", of.plugin) == name;
    of.parts.iter().find(|part| is(&part.name)).map(|part| part.score)
}

fn waits(expected: &YesOr, seen: &Seen) -> Difference {
    let pod = seen.pod;
    let plugins = pod.waited.iter().flat_map(|waited| &waited.plugins);
    let by: Vec<&str> = plugins.map(|(name, _)| name.as_str()).collect();
    let (holds, word) = match expected {
        YesOr::Yes(true) => (pod.waited.is_some(), "waits at permit".to_owned()),
        YesOr::Yes(false) => (pod.waited.is_none(), "does not wait at permit".to_owned()),
        YesOr::By(name) => (by.contains(&name.as_str()), format!("waits at permit for {name}")),
    };
    if holds {
        return None;
    }
    let mut got = match &by[..] {
        [] => String::from("does not wait at permit"),
        some => format!("waits at permit for {}", some.join(", ")),
    };
    got.push_str(&match &pod.standing {
        Standing::Bound(node) => format!(", placed on {node}"),
        Standing::AtPermit { .. } => String::new(),
        _ => format!(", {}", stands(pod)),
    });
    let node = pod.waited.as_ref().map(|waited| &waited.node).or(match &pod.standing {
        Standing::Bound(node) | Standing::AtPermit { node, .. } => Some(node),
        _ => None,
    });
    let because = node.and_then(|node| Some(seen.at_end()?.waits(Some(node.as_str()))));
    Some((word, got, because.unwrap_or_default()))
}

fn gated(expected: &YesOr, seen: &Seen) -> Difference {
    let by = match &seen.pod.standing {
        Standing::Gated { by } => Some(by.as_str()),
        _ => None,
    };
    let (holds, word) = match expected {
        YesOr::Yes(true) => (by.is_some(), "is kept out of the queue".to_owned()),
        YesOr::Yes(false) => (by.is_none(), "is let into the queue".to_owned()),
        YesOr::By(name) => (by == Some(name.as_str()), format!("is kept out of the queue by {name}")),
    };
    let because = || seen.at_end().map(|view| view.gates()).unwrap_or_default();
    (!holds).then(|| (word, stands(seen.pod), because()))
}

fn evicts(expected: &[String], seen: &Seen) -> Difference {
    let victims = seen.recorder.evicted.get(&seen.pod.pod.key);
    let got: BTreeSet<&str> = victims.into_iter().flatten().map(|pod| pod.name.as_str()).collect();
    let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    let words = |names: &BTreeSet<&str>| match names.is_empty() {
        true => String::from("evicts no pod"),
        false => format!("evicts {}", names.iter().copied().collect::<Vec<_>>().join(", ")),
    };
    (got != expected).then(|| {
        let stands = match bound(seen.pod) {
            Some(node) => format!("is placed on {node}"),
            None => stands(seen.pod),
        };
        let because = seen.at_first().map(|view| view.evictions()).unwrap_or_default();
        (words(&expected), format!("{}; the pod {stands}", words(&got)), because)
    })
}

fn would(rule: &str, effect: WouldEffect, seen: &Seen) -> Difference {
    let all = seen.pod.would();
    let named = |of: &&Would| *rule == *of.rule || rule == format!("{}/{}", of.policy, of.rule);
    let got = all.iter().filter(named).map(|of| of.effect);
    // Rules of several policies may have the name: one of them is meant.
    if got.clone().any(|got| got == effect) {
        return None;
    }
    let got: BTreeSet<&str> = got.map(WouldEffect::word).collect();
    let got = match got.is_empty() {
        true => format!("{rule} was not asked: {}", stands(seen.pod)),
        false => format!("{rule}: {}", got.into_iter().collect::<Vec<_>>().join(", ")),
    };
    Some((format!("{rule}: {}", effect.word()), got, Vec::new()))
}

/// The order in which the pods of a case were first tried, where it is not the expected one.
pub(super) fn order(case: &Case, report: &Report) -> Option<Mismatch> {
    if case.order.is_empty() {
        return None;
    }
    let tried = report.tried.iter().filter_map(|at| report.pods.get(*at));
    let tried: Vec<&str> = tried
        .map(|pod| pod.pod.name.as_str())
        .filter(|name| case.order.iter().any(|expected| expected == name))
        .collect();
    let words = |names: &[&str]| format!("tried in the order {}", names.join(", "));
    let wanted: Vec<&str> = case.order.iter().map(String::as_str).collect();
    (tried != wanted).then(|| Mismatch {
        expected: words(&wanted),
        got: words(&tried),
        because: Vec::new(),
        span: case.order_span,
    })
}
