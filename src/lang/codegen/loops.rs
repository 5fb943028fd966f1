//! Loops: one closure for each kind of macro, over the elements of a collection or over those that
//! a table (`lookups.rs`) or the snapshot finds by value.

use super::closures::{BoolFn, ValueFn, as_value, bind};
use super::lookups::ByValue;
use super::operators::{Extreme, Sum};
use super::{Env, Lowering};
use crate::analysis::index::in_namespace;
use crate::typed::{Macro, MacroKind, SlotId};
use crate::types::Type;
use crate::types::value::Value;
use bayplan_model::KindName;
use std::cmp::Ordering;
use std::sync::Arc;

/// What the variables of a macro are bound to; the second is absent for a macro with one variable.
pub(super) type Element<'a> = (Value<'a>, Value<'a>);

/// What a macro goes over: with one variable the elements of a list or the keys of a map, with two
/// the index and element, or key and value; of CEL's optional what it holds.
pub(super) fn elements<'a>(over: Value<'a>, two: bool) -> Vec<Element<'a>> {
    let indexed = |at: usize, item: Value<'a>| (Value::Int(i64::try_from(at).unwrap_or(i64::MAX)), item);
    let list = |items: &[Value<'a>]| -> Vec<Element<'a>> {
        let items = items.iter().cloned();
        if two {
            items.enumerate().map(|(at, item)| indexed(at, item)).collect()
        } else {
            items.map(|item| (item, Value::Absent)).collect()
        }
    };
    match &over {
        Value::List(items) => list(items),
        Value::Map(entries) => entries.to_vec(),
        Value::Optional(held) => held.iter().map(|held| (Value::clone(held), Value::Absent)).collect(),
        Value::Json(serde_json::Value::Array(items)) => {
            let items = items.iter().map(|item| Value::Json(item).plain());
            list(&items.collect::<Vec<_>>())
        }
        other => other.entries().map(|entries| entries.into_owned()).unwrap_or_default(),
    }
}

/// Where the elements come from.
enum Source {
    /// All of a collection.
    All(ValueFn),
    /// Those of a table that have the wanted values.
    Found(ByValue),
    /// The objects of a kind in a namespace.
    InNamespace { kind: KindName, namespace: ValueFn },
}

/// A loop: its elements, its variables and its condition.
struct Loop {
    source: Source,
    slot: SlotId,
    second: Option<SlotId>,
    condition: Option<BoolFn>,
}

impl Loop {
    /// The elements to visit, and whether these are all elements.
    fn elements<'a>(&self, env: &mut Env<'a, '_>) -> (Vec<Element<'a>>, bool) {
        match &self.source {
            Source::All(over) => (elements(over(env), self.second.is_some()), true),
            Source::Found(table) => {
                let (found, total) = table.candidates(env);
                let all = found.len() == total;
                (found, all)
            }
            Source::InNamespace { kind, namespace } => {
                let namespace = namespace(env);
                let found = namespace.as_str().map(|name| env.context.objects_in(kind, name));
                let found = found.into_iter().flatten();
                (found.map(|object| (Value::LookedUp(object), Value::Absent)).collect(), false)
            }
        }
    }

    /// Whether elements that the table leaves out meet the condition.
    fn others_hold(&self) -> bool {
        matches!(&self.source, Source::Found(table) if table.others_hold)
    }

    /// Binds the variables and evaluates the condition.
    fn holds<'a>(&self, env: &mut Env<'a, '_>, (first, second): &Element<'a>) -> bool {
        bind(env, self.slot, first.clone());
        if let Some(slot) = self.second {
            bind(env, slot, second.clone());
        }
        self.condition.as_ref().is_none_or(|condition| condition(env))
    }

    /// The element itself: the first variable, or the second of two.
    fn element<'a>(&self, (first, second): Element<'a>) -> Value<'a> {
        if self.second.is_some() { second } else { first }
    }

    /// Visits the elements that meet the condition, in their order.
    fn visit<'a, 'e>(&self, env: &mut Env<'a, 'e>, mut visit: impl FnMut(&mut Env<'a, 'e>, Element<'a>)) {
        for element in self.elements(env).0 {
            if self.holds(env, &element) {
                visit(env, element);
            }
        }
    }

    /// The first element that meets the condition.
    fn first<'a>(&self, env: &mut Env<'a, '_>) -> Option<Element<'a>> {
        self.elements(env).0.into_iter().find(|element| self.holds(env, element))
    }

    fn all(&self, env: &mut Env<'_, '_>) -> bool {
        let (elements, complete) = self.elements(env);
        (complete || self.others_hold()) && elements.iter().all(|element| self.holds(env, element))
    }

    fn count(&self, env: &mut Env<'_, '_>) -> usize {
        let (elements, _) = self.elements(env);
        elements.iter().filter(|element| self.holds(env, element)).count()
    }

    /// The closure of a macro that has no body.
    fn without_body(self, kind: MacroKind) -> ValueFn {
        match kind {
            MacroKind::All => as_value(move |env| Value::Bool(self.all(env))),
            MacroKind::Exists => as_value(move |env| Value::Bool(self.first(env).is_some())),
            MacroKind::ExistsOne => as_value(move |env| Value::Bool(self.count(env) == 1)),
            MacroKind::Count => {
                as_value(move |env| Value::Int(i64::try_from(self.count(env)).unwrap_or(i64::MAX)))
            }
            MacroKind::First => {
                as_value(move |env| Value::optional(self.first(env).map(|found| self.element(found))))
            }
            // The others have a body.
            MacroKind::Filter
            | MacroKind::Map
            | MacroKind::TransformMap
            | MacroKind::Sum
            | MacroKind::Min
            | MacroKind::Max
            | MacroKind::SortBy
            | MacroKind::OptMap
            | MacroKind::OptFlatMap
            | MacroKind::TransformMapEntry
            | MacroKind::Bind => as_value(move |env| {
                let mut kept = Vec::new();
                self.visit(env, |_, element| kept.push(self.element(element)));
                Value::List(kept.into())
            }),
        }
    }

    /// The closure of a macro that computes a value for each element.
    fn with_body(self, kind: MacroKind, body: ValueFn, ty: Type) -> ValueFn {
        match kind {
            MacroKind::Sum => as_value(move |env| {
                let mut sum = Sum::of(&ty);
                self.visit(env, |env, _| sum.add(&body(env)));
                sum.value()
            }),
            MacroKind::Min => self.extreme(body, Ordering::Less),
            MacroKind::Max => self.extreme(body, Ordering::Greater),
            MacroKind::SortBy => as_value(move |env| {
                let mut keyed = Vec::new();
                self.visit(env, |env, (first, _)| keyed.push((body(env), first)));
                keyed.sort_by(|(left, _), (right, _)| left.order(right));
                Value::List(keyed.into_iter().map(|(_, element)| element).collect())
            }),
            MacroKind::TransformMap => as_value(move |env| {
                let mut entries = Vec::new();
                self.visit(env, |env, (key, _)| entries.push((key, body(env))));
                Value::map(entries)
            }),
            MacroKind::OptMap => {
                as_value(move |env| Value::Optional(self.first(env).map(|_| Arc::new(body(env)))))
            }
            MacroKind::OptFlatMap => as_value(move |env| match self.first(env) {
                Some(_) => body(env),
                None => Value::Optional(None),
            }),
            // The others have no body, or are those of CEL alone (`faults.rs`).
            MacroKind::Map
            | MacroKind::All
            | MacroKind::Exists
            | MacroKind::ExistsOne
            | MacroKind::Filter
            | MacroKind::Count
            | MacroKind::First
            | MacroKind::TransformMapEntry
            | MacroKind::Bind => as_value(move |env| {
                let mut made = Vec::new();
                self.visit(env, |env, _| made.push(body(env)));
                Value::List(made.into())
            }),
        }
    }

    fn extreme(self, body: ValueFn, which: Ordering) -> ValueFn {
        as_value(move |env| {
            let mut extreme = Extreme::new(which);
            self.visit(env, |env, _| extreme.look(body(env)));
            extreme.value()
        })
    }
}

impl Lowering<'_> {
    /// A macro.
    pub(super) fn macro_value(&mut self, of: &Macro, ty: &Type) -> ValueFn {
        if let Some(sum) = self.ledger_sum(of, ty) {
            return sum;
        }
        let source = match in_namespace(self.policy, of) {
            Some(found) => Source::InNamespace {
                kind: self.policy[found.kind].name.clone(),
                namespace: self.value(found.namespace),
            },
            None => match self.by_value(of) {
                Some(table) => Source::Found(table),
                None => Source::All(self.value(&of.over)),
            },
        };
        let condition = of.condition.as_ref().map(|condition| self.bool(condition));
        let walk = Loop { source, slot: of.slot, second: of.second, condition };
        match &of.body {
            Some(body) => {
                let body = self.value(body);
                walk.with_body(of.kind, body, ty.clone())
            }
            None => walk.without_body(of.kind),
        }
    }
}
