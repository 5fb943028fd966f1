//! Policies that read `ns` of pods whose namespaces the cluster file does not hold: without a
//! warning, conditions on their labels would silently see absent values. Called by `cli` after
//! it has read a cluster or a test file.

use super::World;
use bayplan_diag::{Diagnostic, Span, codes};
use bayplan_lang::language::fields::{Meaning, ObjectType};
use bayplan_lang::policy_set::PolicySet;
use bayplan_lang::typed::walk;
use bayplan_lang::typed::{Expr, ExprKind, Policy};
use bayplan_lang::types::Type;
use bayplan_model::{Object, Symbol};
use std::collections::BTreeSet;

/// A warning for each policy that reads namespaces of pods which the cluster does not hold.
/// `help` says how to add them.
pub fn missing(policies: &PolicySet, world: &World, help: &str) -> Vec<Diagnostic> {
    let lacking = lacking(world);
    let Some(first) = lacking.first() else { return Vec::new() };
    let none_given = !world.objects.iter().any(|object| match object {
        Object::Namespace(namespace) => !world.assumed.contains(&namespace.name),
        _ => false,
    });
    let message = match (none_given, lacking.len()) {
        (true, _) => "the policy reads `ns`, and the cluster has no namespaces".to_owned(),
        (false, 1) => format!("the policy reads `ns`, and the cluster has no namespace `{first}`"),
        (false, many) => {
            format!("the policy reads `ns`, and the cluster lacks {many} namespaces, such as `{first}`")
        }
    };
    let reading = policies.iter().filter_map(|policy| reads_namespace(&policy.policy));
    let warning = |span| {
        Diagnostic::new(&codes::NAMESPACES_MISSING, span, message.clone())
            .with_label("labels and annotations of the namespace are absent here")
            .with_help(help)
    };
    reading.map(warning).collect()
}

/// The namespaces that pods name and no file gave: those of pending pods, or of all when none is
/// pending.
fn lacking(world: &World) -> BTreeSet<Symbol> {
    let pending = world.pending.iter().map(|pod| &pod.namespace);
    let pending: BTreeSet<Symbol> = pending.filter(|name| world.assumed.contains(*name)).cloned().collect();
    if world.pending.is_empty() { world.assumed.clone() } else { pending }
}

/// Where a policy first reads something of a namespace other than its name.
fn reads_namespace(policy: &Policy) -> Option<Span> {
    let mut found: Option<Span> = None;
    policy.for_each_expr(&mut |whole: &Expr| found = found.take().or_else(|| namespace_in(whole)));
    found
}

fn namespace_in(expr: &Expr) -> Option<Span> {
    let is_namespace = |expr: &Expr| *expr.ty.present() == Type::Object(ObjectType::Namespace);
    match &expr.kind {
        // Its name is the pod's own.
        ExprKind::Field(of, field) if is_namespace(of) && field.def().meaning == Some(Meaning::Namespace) => {
            return None;
        }
        _ if is_namespace(expr) => return Some(expr.span),
        _ => {}
    }
    let mut found = None;
    walk::each_part(expr, &mut |part| found = found.take().or_else(|| namespace_in(part)));
    found
}
