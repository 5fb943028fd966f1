//! The result of an expression, by both evaluators.

use bayplan::lang::cel::Program;
use bayplan::lang::codegen::{Env, Lowering};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::tagged::tagged;
use bayplan::lang::typed::SlotId;
use bayplan::lang::types::value::{Cel, Fault, Value};
use bayplan::model::{PodInfo, Snapshot, Time};
use std::sync::{Arc, LazyLock};

static NOTHING: LazyLock<(Arc<PodInfo>, Snapshot)> =
    LazyLock::new(|| (bayplan::testing::pod("none").build(), Snapshot::default()));

/// The result for these values of the variables. The closure of the expression gives the same value, or a fault of
/// the same kind at the same place.
pub(super) fn run(program: &Program, values: &[Value<'static>]) -> Value<'static> {
    // What the expression is owned by goes; constants of it are kept.
    let value = bayplan::lang::types::convert::keep(&program.run(values));
    let (policy, expr) = program.parts();
    let closure = Lowering::new(policy).value(expr);
    let (pod, snapshot) = &*NOTHING;
    let mut env = Env::new(policy, EvalContext::new(pod, snapshot, Time(0)), &[]);
    for (at, value) in values.iter().enumerate() {
        env.bind(SlotId(at as u32), value.clone());
    }
    let closed = closure(&mut env);
    let closed = env.take_fault().map_or(closed, |fault| Value::Cel(Cel::Fault(fault)));
    let of = |fault: &Arc<Fault>| (fault.kind, fault.span);
    match (value.as_fault(), closed.as_fault()) {
        (None, None) => assert_eq!(tagged(&closed), tagged(&value), "closure, evaluator of {expr:#?}"),
        (fault, raised) => {
            assert_eq!(raised.map(of), fault.map(of), "closure, evaluator: {value}, {closed} of {expr:#?}")
        }
    }
    value
}
