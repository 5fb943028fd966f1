//! The steps of calls, and how large their results are, from the table of functions.

use super::Size;
use super::extent::Extent;
use super::steps::Steps;
use crate::analysis::shape::constant_text;
use crate::language::functions::{FunctionDef, Grows, Prepared, Work};
use crate::language::limits::{FORMATTED, NUMBER_TEXT, STATES_PER_STEP};
use crate::typed::{Expr, Policy};
use crate::types::Type;

/// Steps of finding a day and hour in a time zone.
const CALENDAR: u128 = 4;

/// Steps per element of putting so many elements in order.
pub(super) fn sorting(count: u128) -> Steps {
    Steps::new(u128::from(count.checked_ilog2().unwrap_or(0)) + 2)
}

/// The steps of a call beside those of its arguments, and how large its result is.
pub(super) fn call(
    def: &FunctionDef,
    args: &[Expr],
    prepared: &Prepared,
    extents: &[Extent],
    ty: &Type,
    number: &dyn Fn(&Steps) -> u128,
) -> (Steps, Extent) {
    let mut steps = Steps::new(1);
    for extent in extents {
        steps.add(&extent.walk());
    }
    match def.work {
        Work::Walks => {}
        Work::Series(number) => steps.add(&Steps::new(u128::from(number))),
        Work::Calendar => steps.add(&Steps::new(CALENDAR)),
        Work::Sorts => {
            for extent in extents {
                steps.add(&extent.walk().times(&sorting(number(&extent.count()))));
            }
        }
        Work::Matches | Work::MatchesAll => {
            let text = match extents.first() {
                Some(Extent::Text { share, .. }) => *share,
                _ => NUMBER_TEXT,
            };
            // A pattern is a constant.
            if let Prepared::Pattern(pattern) = prepared {
                let searches = args.get(2).and_then(|arg| arg.range.ends()).map(|(_, most)| most);
                let searches = searches.filter(|most| *most >= 0.0).map(|most| most as u64);
                let visits = pattern.visits(text, def.work == Work::MatchesAll, searches);
                steps.add(&Steps::new(visits / STATES_PER_STEP));
            }
        }
    }
    let first = extents.first().cloned().unwrap_or(Extent::Plain);
    let largest = || extents.iter().fold(Extent::Plain, |all, one| all.or(one));
    let extent = match def.grows {
        Grows::Adds => extents.iter().skip(1).fold(first, |all, one| joined(&all, one)),
        Grows::Parts => {
            // As many as it has bytes; together no longer than it.
            let most = first.bytes();
            let made = matches!(first, Extent::Text { made: true, .. });
            let part = Extent::Text { most, share: 1, made };
            Extent::list(Steps::new(u128::from(most) + 1), part)
        }
        Grows::Joins | Grows::Replaces | Grows::Escapes | Grows::Formats => Extent::Plain,
        Grows::Counts => {
            let most = args.first().and_then(|arg| arg.range.ends()).map_or(0.0, |(_, most)| most.max(0.0));
            Extent::list(Steps::new(most as u128), Extent::Plain)
        }
        Grows::Flattens => {
            let inner = first.element();
            Extent::list(first.count().times(&inner.count()), inner.element())
        }
        Grows::Never | Grows::Takes(_) => match ty.present() {
            Type::String | Type::Blob => match largest() {
                Extent::Text { most, share, made } => {
                    Extent::Text { most: most.max(NUMBER_TEXT), share, made }
                }
                other => other.as_text(),
            },
            Type::List(_) | Type::Set(_) | Type::Map(..) => extents
                .iter()
                .find(|extent| matches!(extent, Extent::Many { .. }))
                .cloned()
                .unwrap_or_else(|| Extent::of_type(ty, Size::default())),
            // An element of a list, or one of several values.
            Type::Record(_) | Type::Dyn => first.element(),
            Type::Resources | Type::CelOptional(_) => largest(),
            _ => Extent::Plain,
        },
    };
    (steps, extent)
}

/// The length of the constant text that is replaced.
pub(super) fn replaced(policy: &Policy, args: &[Expr]) -> u128 {
    let old = args.get(1).and_then(|arg| constant_text(policy, arg));
    old.map_or(0, |text| text.as_str().len() as u128)
}

/// The bytes of a text that a function makes, where texts of `old` bytes are replaced; `number`
/// evaluates steps.
pub(super) fn bytes_made(
    grows: Grows,
    old: u128,
    extents: &[Extent],
    number: &dyn Fn(&Steps) -> u128,
) -> u128 {
    let bytes = |at: usize| extents.get(at).map_or(0, |extent| u128::from(extent.bytes()));
    let count = |at: usize| extents.get(at).map_or(0, |extent| number(&extent.count()));
    let written = |at: usize| extents.get(at).map_or(0, |extent| number(&extent.written()));
    match grows {
        Grows::Joins => {
            count(0).saturating_mul(extents.first().map_or(0, list_share).saturating_add(bytes(1)))
        }
        Grows::Replaces => {
            // An empty part is found before and after every letter.
            let places = bytes(0).checked_div(old).unwrap_or_else(|| bytes(0) + 1);
            places.saturating_mul(bytes(2)).saturating_add(bytes(0))
        }
        Grows::Escapes => written(0),
        // Values are written with a precision of their own.
        Grows::Formats => {
            bytes(0).saturating_add(written(1)).saturating_add(count(1).saturating_mul(FORMATTED))
        }
        _ => 0,
    }
}

/// Bytes of an element that count where all elements are joined.
fn list_share(list: &Extent) -> u128 {
    match list.element() {
        Extent::Text { share, .. } => u128::from(share),
        _ => u128::from(NUMBER_TEXT),
    }
}

/// Two texts or lists, one after the other.
pub(super) fn joined(a: &Extent, b: &Extent) -> Extent {
    match (a, b) {
        (Extent::Many { count, of, key, .. }, Extent::Many { count: more, of: other, .. }) => Extent::Many {
            count: count.clone().plus(more),
            of: std::sync::Arc::new(of.or(other)),
            key: key.clone(),
            nodes: false,
        },
        (Extent::Text { most, share, .. }, Extent::Text { most: more, share: other, .. }) => {
            Extent::Text { most: most.saturating_add(*more), share: share.saturating_add(*other), made: true }
        }
        _ => a.or(b),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::Size;
    use super::super::walk::{EvaluationMode, Walk};
    use super::*;
    use crate::language::functions::{FUNCTIONS, FunctionId};
    use crate::typed::ExprKind;
    use crate::types::Ty;
    use crate::types::range::Range;
    use crate::types::value::ExactQuantity;
    use crate::types::value::{Constant, Value};
    use bayplan_diag::{SourceMap, Span};
    use bayplan_model::Time;
    use std::sync::Arc;

    struct Random(u64);

    impl Random {
        fn below(&mut self, most: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % most
        }

        fn text(&mut self) -> Constant {
            const LETTERS: [char; 9] = ['a', 'b', ',', '"', '\n', 'é', '1', '\\', '\u{1}'];
            let length = self.below(60);
            let letters = (0..length).map(|_| LETTERS[self.below(9) as usize]);
            Value::text(letters.collect::<String>())
        }

        /// A value of a row's type, with texts or numbers in the place of letters.
        fn value(&mut self, ty: &Ty, texts: bool) -> Option<(Constant, Type)> {
            Some(match ty {
                Ty::Bool => (Value::Bool(self.below(2) == 0), Type::Bool),
                Ty::Int => (Value::Int(self.below(70) as i64 - 3), Type::Int),
                Ty::Uint => (Value::Uint(self.below(70)), Type::Uint),
                Ty::Float | Ty::Number(_) => (Value::Float(self.below(70_000) as f64 / 7.0), Type::Float),
                Ty::Cpu => (Value::Int(self.below(7_000) as i64), Type::Cpu),
                Ty::Bytes => (Value::Int(self.below(7_000) as i64), Type::Bytes),
                Ty::Duration => (Value::Int(self.below(7_000) as i64), Type::Duration),
                Ty::Count | Ty::Amount => (Value::Int(self.below(7_000) as i64), Type::Count),
                Ty::Time => (Value::Time(Time(self.below(1 << 50) as i64)), Type::Time),
                Ty::String => (self.text(), Type::String),
                Ty::Blob => (Value::Blob(self.text().as_str()?.as_bytes().into()), Type::Blob),
                Ty::Quantity => {
                    (Value::Quantity(Arc::new(ExactQuantity::parse("1500m").ok()?)), Type::Quantity)
                }
                Ty::Var(_) | Ty::Ordered(_) if texts => (self.text(), Type::String),
                Ty::Var(_) | Ty::Ordered(_) => (Value::Int(self.below(70) as i64), Type::Int),
                Ty::Optional(of) => self.value(of, texts)?,
                Ty::CelOptional(of) => {
                    let (value, ty) = self.value(of, texts)?;
                    (Value::Optional(Some(Arc::new(value))), Type::CelOptional(Arc::new(ty)))
                }
                Ty::List(of) => {
                    let (first, ty) = self.value(of, texts)?;
                    let more: Vec<Constant> =
                        (0..self.below(20)).filter_map(|_| Some(self.value(of, texts)?.0)).collect();
                    (Value::list(std::iter::once(first).chain(more)), ty.list())
                }
                Ty::Map(key, of) => {
                    let (_, key_ty) = self.value(key, true)?;
                    let (_, ty) = self.value(of, texts)?;
                    let pairs: Vec<(Constant, Constant)> = (0..self.below(20))
                        .filter_map(|_| Some((self.value(key, true)?.0, self.value(of, texts)?.0)))
                        .collect();
                    (Value::map(pairs), Type::Map(Arc::new(key_ty), Arc::new(ty)))
                }
                Ty::Resources
                | Ty::Dyn
                | Ty::TypeName
                | Ty::Null
                | Ty::Cel(_)
                | Ty::Object(_)
                | Ty::Api(_) => {
                    return None;
                }
            })
        }
    }

    /// The type of a result, as far as sizes go.
    fn result(ty: &Ty, texts: bool) -> Type {
        match ty {
            Ty::String => Type::String,
            Ty::Blob => Type::Blob,
            Ty::Var(_) | Ty::Ordered(_) if texts => Type::String,
            Ty::List(of) => result(of, texts).list(),
            Ty::Map(key, of) => Type::Map(Arc::new(result(key, true)), Arc::new(result(of, texts))),
            Ty::Optional(of) => result(of, texts),
            Ty::CelOptional(of) => Type::CelOptional(Arc::new(result(of, texts))),
            _ => Type::Int,
        }
    }

    fn has_size(ty: &Ty) -> bool {
        match ty {
            Ty::Optional(of) | Ty::CelOptional(of) => has_size(of),
            Ty::String | Ty::Blob | Ty::List(_) | Ty::Map(..) | Ty::Var(_) | Ty::Ordered(_) | Ty::Dyn => true,
            _ => false,
        }
    }

    /// Whether a value is within its bound.
    fn within(value: &Constant, extent: &Extent) -> bool {
        match value {
            Value::Optional(Some(of)) => within(of, extent),
            Value::Blob(bytes) => bytes.len() as u64 <= extent.bytes(),
            _ => {
                if let Some(text) = value.as_str() {
                    return text.len() as u64 <= extent.bytes();
                }
                let number = extent.count().at(Size::default(), &[]);
                if let Some(items) = value.elements() {
                    let of = extent.element();
                    return items.len() as u128 <= number && items.iter().all(|item| within(item, &of));
                }
                value.entries().is_none_or(|entries| entries.len() as u128 <= number)
            }
        }
    }

    /// Results of random arguments stay within the bounds that the rows of functions declare.
    #[test]
    fn results_are_no_larger_than_their_rows_say() {
        let mut sources = SourceMap::new();
        let id =
            sources.add("p.bay", "/// A.\npolicy p { filter f { require node.ready else \"not ready\" } }");
        let policy = crate::compile(sources.get(id).unwrap()).0.remove(0);
        let mut random = Random(7);
        let mut untried = Vec::new();
        for (family, rows) in FUNCTIONS.iter().enumerate() {
            for (row, def) in
                rows.iter().enumerate().filter(|(_, def)| def.dialects.policy && has_size(&def.result))
            {
                let mut tried = 0;
                for round in 0..400 {
                    let texts = round % 2 == 0;
                    let given: Option<Vec<(Constant, Type)>> =
                        def.params.iter().map(|ty| random.value(ty, texts)).collect();
                    let Some(mut given) = given else { break };
                    if def.name == "format" {
                        given[0].0 = Value::text(if texts { "%s, %x" } else { "%s%.20f%e" });
                        given[1].0 =
                            Value::list(
                                (0..3)
                                    .map(|_| random.value(&Ty::Var('t'), texts).unwrap().0)
                                    .take(if texts { 2 } else { 3 }),
                            );
                    }
                    let args: Vec<Expr> = given
                        .iter()
                        .map(|(value, ty)| {
                            let range =
                                value.as_int().map_or(Range::None, |n| Range::whole(n.into(), n.into()));
                            let kind = ExprKind::Constant(value.clone());
                            Expr { kind, ty: ty.clone(), range, span: Span::default() }
                        })
                        .collect();
                    let values: Vec<Constant> = given.into_iter().map(|(value, _)| value).collect();
                    let prepared = match &def.prepare {
                        None => Prepared::Nothing,
                        Some(prepare) => {
                            let known: Vec<Option<Constant>> = values.iter().cloned().map(Some).collect();
                            match (prepare.make)(&known) {
                                Ok(Prepared::Format(pieces, _)) => {
                                    let ty = result(&Ty::Var('t'), texts);
                                    Prepared::Format(pieces, vec![ty; 3].into())
                                }
                                Ok(prepared) => prepared,
                                Err(_) => continue,
                            }
                        }
                    };
                    let value = (def.body)(&values, &prepared);
                    let id = FunctionId(family as u8, row as u8);
                    let ty = result(&def.result, texts);
                    let kind = ExprKind::Call(id, args, Arc::new(prepared));
                    let call = Expr { kind, ty, range: Range::None, span: Span::default() };
                    let (_, extent) =
                        Walk::new(&policy, Size::default(), EvaluationMode::Reference).expr(&call);
                    assert!(
                        within(&value, &extent),
                        "{}: {values:?} makes {value:?}, not {extent:?}",
                        def.signature()
                    );
                    tried += 1;
                }
                if tried == 0 {
                    untried.push(def.signature());
                }
            }
        }
        // JSON and names of types are not constants.
        untried.retain(|signature| !signature.contains("dyn") && !signature.contains("type"));
        assert!(untried.is_empty(), "{untried:#?}");
    }
}
