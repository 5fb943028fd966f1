//! What a policy shows or writes out: the fields that its reasons, its events and the values it writes are made of. Readers
//! of events, of conditions and of the objects that are written read them too. `plan` prints those of pods.

use super::reads::reads_of_condition;
use crate::language::fields::ObjectType;
use crate::typed::reads::RuleReads;
use crate::typed::{Act, Does, Expr, ExprKind, Policy, Root, Statement, walk};
use crate::types::Type;
use std::collections::BTreeSet;

/// What a policy shows.
#[derive(Default)]
pub struct Shown {
    /// The fields of the language.
    pub fields: RuleReads,
    /// Paths below `spec`, `status` and `metadata` of pods, as `spec.containers.image`; `true` for the pod being scheduled.
    pub paths: BTreeSet<(bool, String)>,
}

/// Everything that is shown, each field once.
pub fn shown(policy: &Policy) -> Shown {
    let mut all = Shown::default();
    let mut show = |expr: &Expr| {
        all.fields.merge(&reads_of_condition(policy, expr));
        walk::any(policy, expr, &mut |part| {
            all.paths.extend(path(policy, part).map(|(own, names)| (own, names.join("."))));
            false
        });
    };
    for statement in policy.statements() {
        let (event, entries) = match statement {
            Statement::Act(Act { does: Does::Event(_, event), .. }) => (Some(&event.text), &[][..]),
            Statement::Act(Act { does: Does::Write(_, _, entries), .. }) => (None, entries.as_slice()),
            Statement::Write(of) => (None, of.entries.as_slice()),
            _ => (None, &[][..]),
        };
        for reason in statement.reason().into_iter().chain(event) {
            reason.holes().for_each(&mut show);
            reason.details.iter().for_each(|(_, value)| show(value));
        }
        entries.iter().for_each(|entry| show(&entry.value));
    }
    let longer = |of: &(bool, String)| {
        all.paths.iter().any(|(own, path)| {
            *own == of.0 && path.strip_prefix(&*of.1).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    let paths = all.paths.iter().filter(|of| !longer(of)).cloned().collect();
    Shown { paths, ..all }
}

/// The path of a value below a pod, and whether the pod is the one being scheduled.
fn path(policy: &Policy, expr: &Expr) -> Option<(bool, Vec<String>)> {
    match &expr.kind {
        ExprKind::ApiField(object, name) => {
            let (own, mut names) = match object.ty.present() {
                Type::Object(ObjectType::Pod) => (is_own(policy, object), Vec::new()),
                _ => path(policy, object)?,
            };
            names.push(name.to_string());
            Some((own, names))
        }
        ExprKind::Index(list, _) => path(policy, list),
        ExprKind::Present(inner) | ExprKind::Widen(inner) => path(policy, inner),
        ExprKind::Let(id) => path(policy, &policy[*id].value),
        _ => None,
    }
}

/// Whether a pod is the one being scheduled.
fn is_own(policy: &Policy, pod: &Expr) -> bool {
    match &pod.kind {
        ExprKind::Root(Root::Pod) => true,
        ExprKind::Present(inner) | ExprKind::Widen(inner) => is_own(policy, inner),
        ExprKind::Let(id) => is_own(policy, &policy[*id].value),
        _ => false,
    }
}
