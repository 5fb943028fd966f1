//! The promises of the checker hold, on random programs and random clusters: every evaluated
//! expression has a value of its type, numbers are in their range, and a value is absent only where
//! the type is optional.

use super::Random;
use super::evaluators::cluster;
use super::programs::Programs;
use crate::support::policies::{NOW, framework_of, snapshot, try_compile};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::interpret::{Evaluator, Observer};
use bayplan::lang::typed::{Expr, Point};
use bayplan::lang::types::Type;
use bayplan::lang::types::range::Range;
use bayplan::lang::types::value::Value;

/// Panics when a value contradicts the type or range of its expression.
fn kept(expr: &Expr, value: &Value<'_>) {
    assert!(!value.is_fault(), "{value}: {expr:#?}");
    if value.is_absent() {
        assert!(expr.ty.is_optional() || expr.ty == Type::Dyn, "absent: {expr:#?}");
        return;
    }
    let fits = match expr.ty.present() {
        Type::Bool => matches!(value, Value::Bool(_)),
        Type::Float => matches!(value, Value::Float(x) if x.is_finite()),
        Type::Uint => matches!(value, Value::Uint(_)),
        Type::String => value.as_str().is_some(),
        Type::Time => matches!(value, Value::Time(_)),
        Type::List(_) | Type::Set(_) => value.elements().is_some(),
        Type::Map(..) => value.entries().is_some(),
        Type::CelOptional(_) => matches!(value, Value::Optional(_)),
        Type::TypeName => matches!(value, Value::TypeName(_)),
        Type::Quantity => matches!(value, Value::Quantity(_)),
        Type::Resources => matches!(value, Value::Resources(_)),
        ty if ty.is_whole() => matches!(value, Value::Int(_)),
        _ => true,
    };
    assert!(fits, "{value} is no `{}`: {expr:#?}", expr.ty);
    let inside = match (expr.range, value) {
        (Range::Whole { lo, hi, nonzero }, Value::Int(x)) => {
            (lo..=hi).contains(&i128::from(*x)) && !(nonzero && *x == 0)
        }
        (Range::Whole { lo, hi, .. }, Value::Uint(x)) => (lo..=hi).contains(&i128::from(*x)),
        (Range::Real { lo, hi, nonzero }, Value::Float(x)) => {
            // Ends are computed in floats too, in another order.
            let slack = 1e-9 * x.abs().max(1.0);
            *x >= lo - slack && *x <= hi + slack && !(nonzero && *x == 0.0)
        }
        _ => true,
    };
    assert!(inside, "{value} lies outside of {}: {expr:#?}", expr.range);
}

/// Checks every value against its expression, and counts them.
#[derive(Default)]
pub(super) struct Kept {
    values: u64,
}

impl Observer for Kept {
    fn leave(&mut self, expr: &Expr, value: &Value<'_>) {
        kept(expr, value);
        self.values += 1;
    }
}

#[test]
fn what_is_reached_has_its_type_its_range_and_a_value() {
    // The same number of programs on every machine; `BAYPLAN_PROGRAMS` raises it.
    let asked = std::env::var("BAYPLAN_PROGRAMS").ok();
    let wanted: u64 = asked.and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let (mut programs, mut values) = (0, 0);
    for seed in 900_000..900_000 + wanted {
        let mut random = Random(seed);
        let (nodes, pods) = cluster(&mut random);
        let text = Programs::new(&mut random).policy();
        let Ok(set) = try_compile(&text) else { continue };
        programs += 1;
        let snapshot = snapshot(&framework_of(&set), nodes, pods.clone());
        let Some(policy) = set.iter().next() else { continue };
        let policy = &policy.policy;
        for pod in pods.iter().filter(|pod| pod.node_name.is_none()) {
            let context = EvalContext::new(pod, &snapshot, NOW);
            let mut observer = Kept::default();
            let mut once = Evaluator::new(policy, context).observed(&mut observer);
            if !policy.applies().iter().all(|condition| once.holds(condition)) {
                continue;
            }
            for id in snapshot.columns().alive().iter() {
                let Some(node) = snapshot.node(id) else { continue };
                let mut observer = Kept::default();
                let mut evaluator = Evaluator::new(policy, context.on(node)).observed(&mut observer);
                for filter in policy.rules_at(Point::Filter) {
                    // The first refusal ends the block: later statements are not evaluated.
                    for check in filter.checks() {
                        let holds = check.condition.as_ref().is_none_or(|c| evaluator.holds(c));
                        if holds == check.refuses_when {
                            evaluator.reason(&check.reason);
                            break;
                        }
                    }
                }
                for (_, score) in policy.scores() {
                    for give in &score.gives {
                        if give.when.as_ref().is_none_or(|when| evaluator.holds(when)) {
                            if let Some(value) = &give.value {
                                evaluator.value(value);
                            }
                            break;
                        }
                    }
                }
                values += observer.values;
            }
        }
    }
    println!("{values} values of {programs} programs");
    assert!(programs > wanted / 2, "{programs} programs of {wanted} compile");
}
