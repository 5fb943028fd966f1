//! [`Suggestions`]: the changes that help, in words and in the order in which they should be
//! considered.

use super::attempt::Attempt;
use super::changes::{NODES_ALONE, NODES_COUNTED, Opened, Question};
use super::{Explanation, NodeExplanation};
use bayplan_framework::{Edit, EditOwner};
use bayplan_lang::types::value::named_resources;
use bayplan_model::{Change, Node, NodeId, Symbol, amount_beside, rounded_down};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One of the changes that help together.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Who can make the change.
    #[serde(rename = "whose")]
    pub owner: EditOwner,
    /// What to do, as a person says it.
    pub what: String,
}

/// Changes after which the pod fits: one, or two that do not help alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// Who can make the change; of several changes the last in the order of [`EditOwner`].
    #[serde(rename = "whose")]
    pub owner: EditOwner,
    /// What to do, as a person says it.
    pub what: String,
    /// The nodes on which the pod then fits; a change of a node was tried on each of them alone.
    pub nodes: Vec<String>,
    /// Not every node was tried: the changes may open more nodes than these.
    pub at_least: bool,
    /// Why none of the nodes should be used, if so: `cordoned`, `not ready`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// The plugins for which the pod then waits at Permit, where other pods decide whether it is bound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// The changes one by one.
    pub steps: Vec<Step>,
    /// The steps as data, in their order.
    #[serde(skip)]
    pub edits: Vec<Edit>,
}

/// What the search found.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Suggestions {
    /// The changes that help: usable nodes first, then the owner's, a quota that comes free before an exception from it,
    /// then those that open the most nodes.
    pub helps: Vec<Suggestion>,
    /// How many changes were tried alone.
    pub tried: usize,
    /// The search ended before everything was tried.
    pub cut_short: bool,
}

/// Words and order of what was found.
pub(super) fn ranked(
    explanation: &Explanation,
    question: &Question,
    found: Vec<Opened>,
    tried: usize,
    cut_short: bool,
) -> Suggestions {
    let mut helps: Vec<Suggestion> =
        found.into_iter().map(|opened| suggestion(explanation, question, opened)).collect();
    helps.sort_by(|a, b| {
        let caution = a.caution.is_some().cmp(&b.caution.is_some());
        let nodes = b.nodes.len().cmp(&a.nodes.len());
        let spelling = respells(b).cmp(&respells(a));
        let devices = takes_devices(question, a).cmp(&takes_devices(question, b));
        let removes = removes_mark(a).cmp(&removes_mark(b));
        let order = caution.then(devices).then(turn(a).cmp(&turn(b))).then(spelling).then(removes);
        order.then(nodes).then(a.what.cmp(&b.what))
    });
    helps.dedup_by(|a, b| a.what == b.what);
    let mut helps = without_wider_exceptions(helps);
    let mut spellings = 0;
    helps.retain(|help| {
        spellings += usize::from(respells(help));
        !respells(help) || spellings <= SPELLINGS
    });
    Suggestions { helps: without_lesser_values(helps), tried, cut_short }
}

/// Whose turn it is: that of the owner, but a quota is waited for before its author makes an exception from it.
fn turn(of: &Suggestion) -> (EditOwner, bool) {
    let frees = of.edits.iter().all(|edit| matches!(edit, Edit::ComesFree { .. }));
    if frees { (EditOwner::Node, true) } else { (of.owner, false) }
}

/// Whether a suggestion corrects a misspelt name: it is most likely what the owner meant.
fn respells(of: &Suggestion) -> bool {
    of.edits.iter().any(|edit| edit.respelling().is_some())
}

/// Whether a suggestion takes a label or annotation from the pod: another value says more of what the owner wants.
fn removes_mark(of: &Suggestion) -> bool {
    let removes = |edit: &Edit| {
        matches!(edit, Edit::PodLabel { value: None, .. } | Edit::PodAnnotation { value: None, .. })
    };
    of.edits.iter().any(removes)
}

/// Whether a suggestion opens, by a taint, nothing but nodes with devices that the pod does not request: the taint keeps
/// them for pods that do.
fn takes_devices(question: &Question, of: &Suggestion) -> bool {
    let taint = |edit: &Edit| matches!(edit, Edit::Tolerate(_) | Edit::RemoveTaint(_));
    let idle = |name: &String| {
        let node =
            question.snapshot.node_by_name(&Symbol::new(name)).and_then(|id| question.snapshot.node(id));
        let devices = node.map(|node| named_resources(node.allocatable())).unwrap_or_default();
        let mut devices = devices.into_iter().filter(|(name, all)| name.contains('/') && *all > 0).peekable();
        devices.peek().is_some() && devices.all(|(name, _)| question.pod.requests.get(&name) == 0)
    };
    of.edits.iter().any(taint) && !of.nodes.is_empty() && of.nodes.iter().all(idle)
}

/// How many corrections of a spelling are reported.
const SPELLINGS: usize = 2;

/// Several values of one label or annotation of the pod may help: a value that opens no node beyond
/// those of a better one is left out.
fn without_lesser_values(helps: Vec<Suggestion>) -> Vec<Suggestion> {
    let mut kept: Vec<Suggestion> = Vec::new();
    for help in helps {
        let valued = |edit: &Edit| matches!(edit, Edit::PodLabel { .. } | Edit::PodAnnotation { .. });
        let same = |known: &Suggestion| {
            known.edits.len() == help.edits.len()
                && known.edits.iter().zip(&help.edits).all(|(a, b)| a == b || valued(a) && a.overlaps(b))
                && help.nodes.iter().all(|node| known.nodes.contains(node))
        };
        if !help.edits.iter().any(valued) || !kept.iter().any(same) {
            kept.push(help);
        }
    }
    kept
}

/// An exception from a whole policy that opens no node beyond those of an exception from one of its rules is left out.
fn without_wider_exceptions(helps: Vec<Suggestion>) -> Vec<Suggestion> {
    let is_wider = |wide: &Suggestion| {
        let mut opened: BTreeMap<&Symbol, Vec<&String>> = BTreeMap::new();
        for narrow in &helps {
            if let Some(rule) = narrower(&wide.edits, &narrow.edits) {
                opened.entry(rule).or_default().extend(&narrow.nodes);
            }
        }
        opened.values().any(|nodes| wide.nodes.iter().all(|node| nodes.contains(&node)))
    };
    let kept: Vec<bool> = helps.iter().map(|help| !is_wider(help)).collect();
    helps.into_iter().zip(kept).filter_map(|(help, kept)| kept.then_some(help)).collect()
}

/// The rule from which the second edits except the pod where the first ones do so from its whole policy, if that is all
/// in which they differ.
fn narrower<'e>(wide: &[Edit], narrow: &'e [Edit]) -> Option<&'e Symbol> {
    let mut rule = None;
    for (wide, narrow) in wide.iter().zip(narrow) {
        match (wide.exempted(), narrow.exempted()) {
            (Some(policy), Some(of)) if policy.rule.is_none() && policy.policy == of.policy => {
                rule = of.rule.as_ref();
            }
            _ if wide.kind() == narrow.kind() || wide.overlaps(narrow) => {}
            _ => return None,
        }
    }
    rule.filter(|_| wide.len() == narrow.len())
}

/// Edits as they are reported.
fn suggestion(explanation: &Explanation, question: &Question, opened: Opened) -> Suggestion {
    let Opened { mut edits, nodes, waits } = opened;
    let name = |node: &NodeId| question.snapshot.node(*node).map(|info| info.name().to_string());
    let names: Vec<String> = nodes.iter().filter_map(name).collect();
    let tried = if edits.len() == 1 { NODES_ALONE } else { NODES_COUNTED };
    let at_least = edits.iter().any(Edit::changes_node) && explanation.nodes > tried;
    let which = match &names[..] {
        [one] => one.clone(),
        many if at_least => format!("one of at least {} nodes", many.len()),
        many => format!("one of {} nodes", many.len()),
    };
    edits.sort_by_key(Edit::owner);
    let mut steps: Vec<Step> = edits
        .iter()
        .map(|edit| Step { owner: edit.owner(), what: edit.describe(question.pod, &which) })
        .collect();
    if let ([Edit::PodsEnd], [step]) = (&edits[..], &mut steps[..])
        && let Some(what) = room_that_comes_free(explanation, question, &names, at_least)
    {
        step.what = what;
    }
    Suggestion {
        owner: edits.iter().map(Edit::owner).max().unwrap_or(EditOwner::Wait),
        what: steps.iter().map(|step| step.what.as_str()).collect::<Vec<_>>().join(", and "),
        caution: caution(explanation, &names),
        waits_for: waits.iter().map(Symbol::to_string).collect(),
        at_least,
        nodes: names,
        steps,
        edits,
    }
}

/// What is wrong with all of the nodes, the most frequent first.
fn caution(explanation: &Explanation, nodes: &[String]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in nodes {
        let node = explanation.per_node.iter().find(|node| node.name == *name)?;
        *counts.entry(node.trouble.as_deref()?).or_default() += 1;
    }
    let mut troubles: Vec<(&str, usize)> = counts.into_iter().collect();
    troubles.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let troubles: Vec<&str> = troubles.into_iter().map(|(trouble, _)| trouble).collect();
    (!troubles.is_empty()).then(|| troubles.join(" or "))
}

/// `until 1 nvidia.com/gpu comes free on one of 27 nodes, or 2 on one of 283`: where one resource
/// is all that is missing on the nodes. That the pod fits when this much comes free was tried, with
/// as much less of the request.
fn room_that_comes_free(
    explanation: &Explanation,
    question: &Question,
    nodes: &[String],
    at_least: bool,
) -> Option<String> {
    let mut by_amount: BTreeMap<i64, usize> = BTreeMap::new();
    let mut of: Option<Symbol> = None;
    for name in nodes {
        let node = explanation.per_node.iter().find(|node| node.name == *name)?;
        let (resource, missing) = missing_alone(node)?;
        if resource.as_str() == "pods" || of.as_ref().is_some_and(|of| of != resource) {
            return None;
        }
        let id = question.snapshot.node_by_name(&Symbol::new(name))?;
        let mut fork = question.snapshot.fork();
        fork.apply(Change::NodeUpserted {
            node: Arc::new(with_more(fork.node(id)?.node(), resource, missing)),
        });
        if !Attempt::new(question.framework, &fork, question.pod, question.now).fits(id) {
            return None;
        }
        *by_amount.entry(missing).or_default() += 1;
        of = Some(resource.clone());
    }
    let resource = of?;
    let on = |count: usize| match (count, nodes) {
        (1, [one]) => one.clone(),
        (1, _) => "one node".to_owned(),
        (many, _) if at_least => format!("one of at least {many} nodes"),
        (many, _) => format!("one of {many} nodes"),
    };
    let most = by_amount.keys().max().copied().unwrap_or_default();
    let mut amounts = by_amount.into_iter();
    let (least, count) = amounts.next()?;
    let shown = amount_beside(&resource, least, most);
    let comes = if shown == "1" { "comes" } else { "come" };
    let mut text = format!("until {shown} {resource} {comes} free on {}", on(count));
    match &amounts.collect::<Vec<_>>()[..] {
        [] => {}
        [(more, count)] => {
            let more = amount_beside(&resource, *more, most);
            text.push_str(&format!(", or {more} on {}", on(*count).trim_end_matches(" nodes")));
        }
        more => {
            let count: usize = more.iter().map(|(_, count)| count).sum();
            text.push_str(&format!(", or more on {}", on(count).trim_end_matches(" nodes")));
        }
    }
    Some(text)
}

/// A node that has more of a resource, as much as would come free.
fn with_more(node: &Node, resource: &Symbol, more: i64) -> Node {
    let mut node = node.clone();
    let amount = node.allocatable.get(resource).saturating_add(more);
    match resource.as_str() {
        "cpu" => node.allocatable.milli_cpu = amount,
        "memory" => node.allocatable.memory = amount,
        "ephemeral-storage" => node.allocatable.ephemeral_storage = amount,
        _ => node.allocatable.set_scalar(resource.clone(), amount),
    }
    node
}

/// The resource that alone is missing on a node, and how much of it, rounded up to what is written
/// with few digits.
fn missing_alone(node: &NodeExplanation) -> Option<(&Symbol, i64)> {
    let [refusal] = &node.refusals[..] else { return None };
    let shortage = refusal.shortage.as_ref()?;
    let free = rounded_down(&shortage.resource, shortage.free);
    Some((&shortage.resource, shortage.needed - free))
}
