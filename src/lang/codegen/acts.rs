//! What is done before and after a binding and after a failed attempt, as closures. `plugins::policy` carries it out.

use super::closures::{BoolFn, ValueFn};
use super::{Env, Lowering};
use crate::language::fields::ObjectType;
use crate::syntax::ast::{Text, WriteVerb};
use crate::typed::{
    Act, Body, Does, EventOf, Expr, ExprKind, GroupId, MemoId, Point, Policy, Reason, Rules, Target,
    WriteEntry, WriteForm,
};
use crate::types::Type;
use crate::types::range::Range;
use bayplan_model::Symbol;

/// An act with its condition.
pub struct CompiledAct {
    /// What is done.
    pub does: CompiledDoes,
    /// Evaluated first.
    when: Option<BoolFn>,
}

impl CompiledAct {
    /// Whether it is to be done in this environment.
    pub fn holds(&self, env: &mut Env<'_, '_>) -> bool {
        self.when.as_ref().is_none_or(|when| when(env))
    }
}

/// What an act does.
pub enum CompiledDoes {
    /// Refuses the waiting ones among these pods.
    Release(ValueFn, Reason),
    /// Tries the unschedulable ones among these pods again.
    Activate(ValueFn),
    /// Sets a memo to this value, or forgets it.
    Remember(MemoId, ValueFn),
    /// Writes keys of an object.
    Write(CompiledTarget, WriteVerb, Vec<CompiledEntry>),
    /// Records an event.
    Event(CompiledTarget, EventOf),
}

/// The object that an act is about.
pub enum CompiledTarget {
    /// The pod.
    Pod,
    /// The chosen node.
    Node,
    /// An object that is looked up, or absent.
    Object(ValueFn),
}

/// A key that is written.
pub struct CompiledEntry {
    /// Of `patch`: the fields above the key.
    pub within: Box<[Text]>,
    /// The key.
    pub key: Symbol,
    /// How the value is written.
    pub form: WriteForm,
    /// A text; while it is absent, the key stays as it is. `None`: the key is removed.
    pub value: Option<ValueFn>,
}

/// All acts of a policy, in the order of the text.
#[derive(Default)]
pub struct CompiledActs {
    /// `before bind`
    pub before_bind: Vec<CompiledAct>,
    /// `after bind`
    pub after_bind: Vec<CompiledAct>,
    /// `after failure`
    pub after_failure: Vec<CompiledAct>,
}

/// Lowers all acts of a policy. It was proved that nothing of them fails.
pub(super) fn acts(lowering: &mut Lowering<'_>, rules: Rules<'_>) -> CompiledActs {
    let mut all = CompiledActs::default();
    for rule in rules.iter() {
        let Body::Acts(of) = &rule.body else { continue };
        let acts = of.acts.iter().map(|act| lowered(lowering, rules.policy, act));
        match of.point {
            Point::PreBind => all.before_bind.extend(acts),
            Point::PostBind => all.after_bind.extend(acts),
            Point::Failure => all.after_failure.extend(acts),
            _ => {}
        }
    }
    all
}

fn lowered(lowering: &mut Lowering<'_>, policy: &Policy, act: &Act) -> CompiledAct {
    CompiledAct {
        when: act.when.as_ref().map(|when| lowering.bool(when)),
        does: match &act.does {
            Does::Release(group, reason) => {
                CompiledDoes::Release(members_of(lowering, policy, *group), reason.clone())
            }
            Does::Activate(group) => CompiledDoes::Activate(members_of(lowering, policy, *group)),
            Does::Remember(memo, value) => CompiledDoes::Remember(*memo, lowering.value(value)),
            Does::Write(target, verb, entries) => {
                let value = |lowering: &mut Lowering<'_>, entry: &WriteEntry| {
                    (!entry.removes).then(|| lowering.value(&entry.value))
                };
                let entries = entries.iter().map(|entry| CompiledEntry {
                    within: entry.within.clone(),
                    form: entry.form,
                    key: Symbol::new(&entry.key),
                    value: value(lowering, entry),
                });
                let entries = entries.collect();
                CompiledDoes::Write(lowered_target(lowering, target), *verb, entries)
            }
            Does::Event(target, event) => {
                CompiledDoes::Event(lowered_target(lowering, target), event.clone())
            }
        },
    }
}

fn lowered_target(lowering: &mut Lowering<'_>, target: &Target) -> CompiledTarget {
    match target {
        Target::Pod => CompiledTarget::Pod,
        Target::Node => CompiledTarget::Node,
        Target::Object(object, _) => CompiledTarget::Object(lowering.value(object)),
    }
}

/// The members of a group, as pods.
pub(super) fn members_of(lowering: &mut Lowering<'_>, policy: &Policy, group: GroupId) -> ValueFn {
    lowering.value(&Expr {
        kind: ExprKind::Group(group),
        ty: Type::Object(ObjectType::Pod).list(),
        range: Range::None,
        span: policy[group].span,
    })
}
