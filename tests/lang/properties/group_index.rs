//! An index of a group that followed every change equals a rebuilt one, and agrees with the definition
//! of the group.

use super::Random;
use crate::support::policies::{NOW, compile, framework_of, snapshot};
use bayplan::lang::codegen::groups::{GroupIndex, Lookup, index_key};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::interpret::Evaluator;
use bayplan::lang::typed::{Expr, ExprKind, GroupId};
use bayplan::lang::types::value::Value;
use bayplan::model::{Change, Placement};
use bayplan::testing::{node, pod};

const TEXT: &str = r#"
    policy grouped {
      group mates = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"] && !p.gated
      score s normalize max { give mates.count() }
    }
"#;

#[test]
fn a_group_index_is_what_a_rebuild_makes() {
    let set = compile(TEXT);
    let framework = framework_of(&set);
    let policy = set.iter().next().unwrap();
    let key = index_key(&policy.policy, GroupId(0));
    for seed in 0..60 {
        let mut random = Random(seed);
        let mut kept = snapshot(&framework, vec![node("a").build(), node("b").build()], vec![]);
        let rows: Vec<_> = kept.columns().alive().iter().collect();
        for _ in 0..40 {
            let name = format!("p{}", random.below(6));
            let mut of = pod(&name);
            if random.one_in(3) {
                of = of.namespace("other");
            }
            if !random.one_in(4) {
                of = of.label("job", random.of(&["x", "y"]));
            }
            if random.one_in(5) {
                of = of.phase("Failed");
            }
            if random.one_in(5) {
                of = of.gate("g");
            }
            let of = of.build();
            kept.apply(match random.below(5) {
                0 => Change::PodRemoved { pod: of.key.clone() },
                1 => Change::PodUnplaced { pod: of.key.clone() },
                2 => Change::PodPending { pod: of.clone() },
                _ => Change::PodPlaced { pod: of.clone(), node: random.of(&rows), how: Placement::Assumed },
            });
            let mut made = kept.clone();
            made.rebuild_indexes();
            let index = kept.index::<GroupIndex>(&key).unwrap();
            assert_eq!(Some(index), made.index::<GroupIndex>(&key), "seed {seed}");
            // The definition: every pod, every conjunct.
            let context = EvalContext::new(&of, &kept, NOW);
            let group = &policy.policy.groups[0];
            let expr = Expr {
                kind: ExprKind::Group(GroupId(0)),
                ty: bayplan::lang::types::Type::Unknown,
                range: bayplan::lang::types::range::Range::None,
                span: group.span,
            };
            let mut evaluator = Evaluator::new(&policy.policy, context);
            let wanted: Vec<Value<'_>> = group.keys.iter().map(|key| evaluator.value(&key.pod)).collect();
            let defined = evaluator.value(&expr);
            let (candidates, by_key) = Lookup::new(&policy.policy, GroupId(0)).candidates(&context, &wanted);
            let by_index: Vec<_> = candidates
                .into_iter()
                .filter(|pod| pod.scheduling_gates.is_empty())
                .map(Value::Pod)
                .collect();
            if by_key {
                assert_eq!(defined, Value::list(by_index), "seed {seed}");
            }
        }
    }
}
