//! Why a pod is refused other than by filters: before nodes are evaluated, and once a node is chosen; and what it waits for
//! at permit, with the other pods of its group. Each statement with its place and values.

use super::node::Subject;
use super::tree;
use crate::cli::dry_run::{standing, why};
use crate::cli::output::{Column, Output, Style, Table};
use crate::diag::SourceMap;
use crate::dry_run::told::{Told, applying, refused_before_nodes, refused_late, told};
use crate::dry_run::{PodReport, Report, Standing};
use crate::lang::codegen::Env;
use crate::lang::eval::context::EvalContext;
use crate::lang::policy_set::CompiledPolicy;
use crate::lang::typed::Point;
use crate::lang::types::value::Value as Evaluated;
use crate::model::{Change, NodeId, Placement, PodKey, Snapshot, Symbol};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// The statements that refuse a pod, or make it wait.
#[derive(Default)]
pub(crate) struct Refusals {
    told: Vec<(Option<String>, Told)>,
    /// The other pods of the groups that it waits with, with their states.
    members: Vec<(String, String)>,
    /// The keys of these pods.
    pub(super) group: Vec<PodKey>,
}

impl Refusals {
    pub(crate) fn of(subject: &Subject, report: Option<&PodReport>, all: &Report) -> Self {
        let mut found = Self::default();
        let explanation = subject.explanation;
        if let Some((plugin, _)) = &explanation.refused_before_nodes {
            let policy = subject.policies.get(plugin);
            let told = policy.and_then(|policy| refused_before_nodes(policy, subject.context()));
            found.told.extend(told.map(|told| (None, told)));
        } else if explanation.fits.is_empty() {
            found.told.extend(narrowing(subject).into_iter().map(|told| (None, told)));
        } else if let Some(late) = &explanation.refused_late {
            let node = Symbol::new(&late.node);
            found.on(subject, &node, &late.plugin, &mut |policy, context| {
                refused_late(policy, context).into_iter().collect()
            });
        } else if let Some((node, plugins)) = report.and_then(waits_at) {
            for plugin in plugins {
                found.on(subject, &node, &plugin, &mut |policy, context| {
                    let all = told(policy, Point::Permit, context).into_iter();
                    all.filter(|told| told.waits.is_some()).collect()
                });
                found.add_members(subject, (&node, &plugin), all);
            }
        }
        found
    }

    /// What a policy says of the pod on a node that was chosen.
    fn on(
        &mut self,
        subject: &Subject,
        node: &Symbol,
        plugin: &str,
        ask: &mut dyn FnMut(&CompiledPolicy, EvalContext<'_>) -> Vec<Told>,
    ) {
        let Some(policy) = subject.policies.get(plugin) else { return };
        let Some(id) = subject.snapshot.node_by_name(node) else { return };
        let world = placed(subject, id);
        let Some(info) = world.node(id) else { return };
        let context = EvalContext::new(subject.pod, &world, subject.now).on(info);
        self.told.extend(ask(policy, context).into_iter().map(|told| (Some(node.to_string()), told)));
    }

    /// The other members of the groups for which a policy makes the pod wait.
    fn add_members(&mut self, subject: &Subject, (node, plugin): (&Symbol, &str), all: &Report) {
        let Some(policy) = subject.policies.get(plugin).map(|policy| policy.decides()) else { return };
        let Some(id) = subject.snapshot.node_by_name(node) else { return };
        let world = placed(subject, id);
        let Some(info) = world.node(id) else { return };
        let context = EvalContext::new(subject.pod, &world, subject.now).on(info);
        let waits = policy.statements.permits.iter().flat_map(|permit| &permit.waits);
        for members in waits.filter_map(|wait| wait.members.as_ref()) {
            let mut env = Env::new(&policy.policy, context, &[]);
            let members = members(&mut env);
            for member in members.elements().unwrap_or_default().iter() {
                let Evaluated::Pod(member) = member else { continue };
                if member.key == subject.pod.key {
                    continue;
                }
                let report = all.pods.iter().find(|report| report.pod.key == member.key);
                let state = match report {
                    Some(report) => state(report),
                    None => runs(&world, &member.key),
                };
                let of = (member.full_name(), state);
                if !self.members.contains(&of) {
                    self.members.push(of);
                    self.group.push(member.key.clone());
                }
            }
        }
    }

    /// Whether it has no statement.
    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The lines below the verdict.
    pub(super) fn text(&self, sources: &SourceMap, out: &Output) -> String {
        let mut text = String::new();
        for (node, told) in &self.told {
            heading(told, node.as_deref(), out, &mut text);
            body(told, sources, out, &mut text);
        }
        if !self.members.is_empty() {
            let mut table = Table::new(&[Column::words("ALSO IN THE GROUP"), Column::words("STATE")]);
            table.indent = 2;
            for (member, state) in &self.members {
                table.row([(Style::Plain, member.clone()), (Style::Plain, state.clone())]);
            }
            let _ = write!(text, "\n{}", table.draw(out));
        }
        text
    }

    /// The refusals as JSON: the statements, and the members of the group.
    pub(crate) fn json(&self, sources: &SourceMap) -> Option<(Value, Value)> {
        let told: Vec<Value> =
            self.told.iter().map(|(node, told)| to_json(told, node.as_deref(), sources)).collect();
        let members: Vec<Value> =
            self.members.iter().map(|(pod, state)| json!({"pod": pod, "state": state})).collect();
        (!told.is_empty() || !members.is_empty()).then_some((told.into(), members.into()))
    }
}

/// The statements of prefilters that leave out every node, or all that would fit.
fn narrowing(subject: &Subject) -> Vec<Told> {
    let rules: Vec<&str> = subject.explanation.rules.iter().map(|rule| rule.rule.as_str()).collect();
    let leaves_out = |policy: &&Arc<CompiledPolicy>| {
        rules.iter().flat_map(|rule| rule.split(", ")).any(|rule| rule == policy.name())
    };
    let policies = applying(subject.policies, subject.context()).into_iter().filter(leaves_out);
    let statements = policies.flat_map(|policy| told(policy, Point::PreFilter, subject.context()));
    statements.filter(|told| told.nodes.is_some()).collect()
}

/// The cluster with the pod on a node, as Reserve and Permit see it.
pub(super) fn placed(subject: &Subject, node: NodeId) -> Snapshot {
    let mut world = subject.snapshot.fork();
    let pod = Arc::new(subject.pod.clone());
    world.apply(Change::PodPlaced { pod, node, how: Placement::Assumed });
    world
}

/// Where a pod waits, or waited until it was refused, and for which plugins.
fn waits_at(report: &PodReport) -> Option<(Symbol, Vec<String>)> {
    if let Some(waited) = &report.waited {
        let plugins = waited.plugins.iter().map(|(plugin, _)| plugin.to_string()).collect();
        let refused = !matches!(standing(report), Standing::Bound(_));
        return refused.then(|| (waited.node.clone(), plugins));
    }
    match standing(report) {
        Standing::AtPermit { node, plugins } => Some((node, plugins.iter().map(Symbol::to_string).collect())),
        _ => None,
    }
}

/// The state of a pending pod.
fn state(report: &PodReport) -> String {
    match standing(report) {
        Standing::Bound(node) => format!("is placed on {node}"),
        Standing::AtPermit { node, .. } => format!("has {node} and waits"),
        Standing::Waiting { message } => match &report.waited {
            Some(waited) => format!("had {}", waited.node),
            None => format!("waits: {}", why::reasons(&message)),
        },
        Standing::Gated { by } => format!("is kept out of the queue by {by}"),
        Standing::Failing { message } => format!("error: {message}"),
        Standing::NotOurs => "is left to another scheduler".to_owned(),
        Standing::Terminating => "ends".to_owned(),
    }
}

/// The state of a pod that is not pending.
fn runs(world: &Snapshot, pod: &PodKey) -> String {
    let node = world.pod(pod).and_then(|entry| entry.placed).and_then(|(node, _)| world.node(node));
    node.map_or_else(|| "has no node".to_owned(), |node| format!("is on {}", node.name()))
}

/// The name of the rule, and its place.
pub(super) fn heading(told: &Told, node: Option<&str>, out: &Output, text: &mut String) {
    let (rule, place) = (out.paint(Style::Name, &told.rule), out.paint(Style::Name, &told.place));
    let on = node.map_or_else(String::new, |node| format!(" on {}", out.part(node)));
    let _ = writeln!(text, "\n  {rule}{on}   {place}");
}

/// What the statement says, with its values.
pub(super) fn body(told: &Told, sources: &SourceMap, out: &Output, text: &mut String) {
    for line in told.doc.iter().flat_map(|doc| doc.lines()) {
        let _ = writeln!(text, "    {}", out.paint(Style::Dim, line));
    }
    if let Some(how) = told.waits {
        let _ = writeln!(text, "    {how}");
    } else if let Some(reason) = &told.reason {
        let _ = writeln!(text, "    {}", out.part(reason));
    } else if let Some(nodes) = &told.nodes {
        let _ = writeln!(text, "    {}", out.part(&format!("leaves the nodes {nodes}")));
    }
    for (name, value) in &told.details {
        let _ = writeln!(text, "    {}", out.part(&format!("{name}: {value}")));
    }
    if let Some(error) = &told.error {
        let _ = writeln!(text, "    {}", out.part(error));
    }
    if let Some(condition) = &told.condition {
        let _ = write!(text, "\n{}", tree::draw(sources, condition, 4, out));
    }
}

/// A statement for programs.
pub(super) fn to_json(told: &Told, node: Option<&str>, sources: &SourceMap) -> Value {
    json!({
        "rule": told.rule, "place": told.place, "node": node, "reason": told.reason, "nodes": told.nodes,
        "error": told.error,
        "details": told.details.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "condition": told.condition.as_ref().map(|shown| tree::to_json(sources, shown)),
    })
}
