//! The steps of calls, and how large their results are, by what the table of functions says of each.

use super::extent::{BYTES_PER_STEP, Extent, NUMBER_TEXT};
use super::steps::Steps;
use crate::lang::functions::{FunctionDef, Grows, Work};
use crate::lang::lower::shape::constant_text;
use crate::lang::typed::{Expr, Policy};
use crate::lang::types::Type;

/// Steps per element of putting so many elements in order.
pub fn sorting(count: u128) -> Steps {
    Steps::new(u128::from(count.checked_ilog2().unwrap_or(0)) + 2)
}

/// The steps of a call beside those of its arguments, and how large its result is.
pub fn call(
    policy: &Policy,
    def: &FunctionDef,
    args: &[Expr],
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
        Work::Sorts => {
            for extent in extents {
                steps.add(&extent.walk().times(&sorting(number(&extent.count()))));
            }
        }
        Work::Matches => {
            let pattern = args
                .get(1)
                .and_then(|arg| constant_text(policy, arg))
                .map_or(0, |text| text.as_str().len() as u64);
            let text = match extents.first() {
                Some(Extent::Text { share, .. }) => *share,
                _ => NUMBER_TEXT,
            };
            steps.add(&Steps::new(u128::from(text) * u128::from(pattern) / u128::from(BYTES_PER_STEP)));
        }
    }
    let first = extents.first().cloned().unwrap_or(Extent::Plain);
    let largest = || extents.iter().fold(Extent::Plain, |all, one| all.or(one));
    let extent = match def.grows {
        Grows::Adds => extents.iter().skip(1).fold(first, |all, one| joined(&all, one)),
        Grows::Parts => {
            // As many as it has bytes; together no longer than it.
            let most = first.bytes();
            let part = Extent::Text { most, share: 1 };
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
        Grows::Never => match ty.present() {
            Type::String | Type::Blob => match largest() {
                Extent::Text { most, share } => Extent::Text { most: most.max(NUMBER_TEXT), share },
                other => Extent::text(other.bytes().max(NUMBER_TEXT)),
            },
            Type::List(_) | Type::Set(_) | Type::Map(..) => extents
                .iter()
                .find(|extent| matches!(extent, Extent::Many { .. }))
                .cloned()
                .unwrap_or_else(|| Extent::of_type(ty)),
            // An element of a list, or one of several values.
            Type::Record(_) | Type::Dyn => first.element(),
            Type::Resources | Type::CelOptional(_) => largest(),
            _ => Extent::Plain,
        },
    };
    (steps, extent)
}

/// The bytes of a text that `join` and `replace` make, for a list of `count` texts.
pub fn bytes_made(policy: &Policy, grows: Grows, args: &[Expr], extents: &[Extent], count: u128) -> u128 {
    let bytes = |at: usize| extents.get(at).map_or(0, |extent| u128::from(extent.bytes()));
    match grows {
        Grows::Joins => count.saturating_mul(extents.first().map_or(0, list_share) + bytes(1)),
        Grows::Replaces => {
            let old = args
                .get(1)
                .and_then(|arg| constant_text(policy, arg))
                .map_or(0, |text| text.as_str().len() as u128);
            // A part of no bytes stands before and behind every letter.
            let places = bytes(0).checked_div(old).unwrap_or_else(|| bytes(0) + 1);
            places.saturating_mul(bytes(2)).saturating_add(bytes(0))
        }
        // `\\u0000` at most.
        Grows::Escapes => 6 * bytes(0) + 2,
        // Values are written with a precision of their own.
        Grows::Formats => bytes(0).saturating_add(count.saturating_mul(bytes(1) + FORMATTED)),
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

/// Bytes that `format` may add to a value: the digits of a float, and those that its precision asks for.
const FORMATTED: u128 = 1024;

/// Two texts or lists, one behind the other.
pub fn joined(a: &Extent, b: &Extent) -> Extent {
    match (a, b) {
        (Extent::Many { count, of, key, .. }, Extent::Many { count: more, of: other, .. }) => Extent::Many {
            count: count.clone().plus(more),
            of: std::sync::Arc::new(of.or(other)),
            key: key.clone(),
            nodes: false,
        },
        (Extent::Text { most, share }, Extent::Text { most: more, share: other }) => {
            Extent::Text { most: most.saturating_add(*more), share: share.saturating_add(*other) }
        }
        _ => a.or(b),
    }
}
