//! A guard means what it would mean if it were written into the conditions of its rule: this test writes it there, and
//! compares both policies. Exceptions and `enforce when` of every kind of rule, on random clusters: the same answers, the same
//! events and instants that wake a pod, and bounds that differ by the joining operators alone.

use super::Random;
use super::evaluators::cluster;
use super::programs::{Programs, Ty};
use crate::support::policies::{NOW, framework_of, snapshot};
use bayplan::diag::SourceMap;
use bayplan::framework::{Cycle, PluginId};
use bayplan::lang;
use bayplan::lang::analysis::cost::{Costs, Size};
use bayplan::lang::codegen::{ColumnScan, CompiledCheck, CompiledPrefilter, Env, compute};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::policy_set::{CompiledPolicy, PolicySet};
use bayplan::lang::typed::{Body, Check, Expr, ExprKind, Give, Policy, PrefilterStatement};
use bayplan::lang::types::Type;
use bayplan::lang::types::range::Range;
use bayplan::model::{PodInfo, Snapshot};
use bayplan::plugins::policy::registrations;
use std::sync::Arc;

/// A rule of each kind, each with a guard now and then.
fn text(random: &mut Random) -> String {
    let mut condition = |node: bool| {
        let mut programs = Programs::new(random);
        if !node {
            programs.nodes.clear();
        }
        programs.expr(Ty::Bool, 2)
    };
    let of_pod: Vec<String> = (0..9).map(|_| condition(false)).collect();
    let of_node: Vec<String> = (0..4).map(|_| condition(true)).collect();
    let mut guard = || {
        let mode = match random.below(3) {
            0 => "mode enforce when pod.labels[\"team\"] == \"a\"\n",
            1 => "mode enforce when pod.priority > 0 else warn\n",
            _ => "",
        };
        let mut guard = mode.to_owned();
        for _ in 0..random.below(3) {
            let day = random.of(&["2026-01-04", "2026-01-05", "2099-01-31"]);
            let pods = random.of(&["", " when pod.labels[\"team\"] == \"a\"", " when pod.priority > 0"]);
            guard.push_str(&format!("    except until {day} because \"it moves\"{pods}\n"));
        }
        guard
    };
    let (guards, of_reserve): (Vec<String>, String) = ((0..5).map(|_| guard()).collect(), guard());
    let of_reserve: String = of_reserve.lines().filter(|line| !line.starts_with("mode")).collect();
    format!(
        "policy random {{
  param limit = 3
  param key = \"team\"
  group mates = m in pods where m.namespace == pod.namespace && m.labels[\"job\"] == pod.labels[\"job\"]
  gate \"g\" when {}
  prefilter {{ {} reject \"p\" when {}
    only nodes [\"node-0\", \"node-1\"] when {} }}
  filter f {{ {} require {} else \"r\"
    reject \"j\" when {} }}
  score s {{ {} give 50 when {}
    give 20 }}
  reserve {{ {of_reserve}
    reject \"s\" when {}
    annotate pod {{\"example.com/a\": \"b\"}} when {} }}
  permit {{ {} reject \"q\" when {}
    wait 5min until {} else \"late\" }}
  preempt {{ {} never \"n\" when {}
    victim v when v.priority < 3 && {}
    protect v when v.labels[\"team\"] == \"a\"
    guard {} else \"no\" }}
}}
",
        of_pod[0],
        guards[0],
        of_pod[1],
        of_pod[2],
        guards[1],
        of_node[0],
        of_node[1],
        guards[2],
        of_node[2],
        of_pod[3],
        of_pod[4],
        guards[3],
        of_pod[5],
        of_pod[6],
        guards[4],
        of_pod[7],
        of_pod[8],
        of_node[3],
    )
}

fn bool_of(kind: ExprKind, of: &Expr) -> Expr {
    Expr { kind, ty: Type::Bool, range: Range::of(&Type::Bool), span: of.span }
}

/// `!alone && condition`
fn and_not(alone: &Expr, condition: Option<Expr>) -> Expr {
    let not = bool_of(ExprKind::Not(Box::new(alone.clone())), alone);
    match condition {
        None => not,
        Some(of) => bool_of(ExprKind::And(Box::new(not), Box::new(of.clone())), &of),
    }
}

/// `alone || condition`
fn or(alone: &Expr, condition: &Expr) -> Expr {
    bool_of(ExprKind::Or(Box::new(alone.clone()), Box::new(condition.clone())), condition)
}

fn rewrite_check(alone: &Expr, check: &mut Check) {
    check.condition = Some(match check.condition.take() {
        Some(condition) if !check.refuses_when => or(alone, &condition),
        condition => and_not(alone, condition),
    });
}

/// The policy with its guards in the conditions of its rules.
fn rewritten(policy: &Policy) -> Policy {
    let mut made = policy.clone();
    for rule in &mut made.rules {
        for leave in std::mem::take(&mut rule.head.guard) {
            let alone = &leave.holds;
            match &mut rule.body {
                Body::Gate(of) | Body::Never(of) | Body::EvictionGuard(of) => rewrite_check(alone, of),
                Body::Filter(of) => of.checks.iter_mut().for_each(|check| rewrite_check(alone, check)),
                Body::Prefilter(of) => {
                    for statement in &mut of.statements {
                        match statement {
                            PrefilterStatement::Check(of) => rewrite_check(alone, of),
                            PrefilterStatement::Only(of) => of.when = Some(and_not(alone, of.when.take())),
                        }
                    }
                }
                Body::Score(of) => {
                    let when = Some(alone.clone());
                    of.gives.insert(0, Give { value: None, when, span: alone.span });
                }
                Body::Reserve(of) => {
                    of.checks.iter_mut().for_each(|check| rewrite_check(alone, check));
                    of.writes.iter_mut().for_each(|of| of.when = Some(and_not(alone, of.when.take())));
                }
                Body::Permit(of) => {
                    of.checks.iter_mut().for_each(|check| rewrite_check(alone, check));
                    of.waits.iter_mut().for_each(|of| of.until = or(alone, &of.until));
                }
                Body::Victim(of) => of.condition = and_not(alone, Some(of.condition.clone())),
                body => panic!("{body:?}"),
            }
        }
    }
    lang::analysis::reads::derive(&mut made, &mut Vec::new());
    made
}

/// Compares the answers of both for a pod; says how many there were.
fn agree_on(guarded: &CompiledPolicy, plain: &CompiledPolicy, snapshot: &Snapshot, pod: &PodInfo) -> usize {
    let context = EvalContext::new(pod, snapshot, NOW);
    let mut compared = 0;
    let [a, b] = [guarded, plain].map(|of| &of.statements);
    let mut same = |what: &str, context: EvalContext<'_>, a: Answer<'_>, b: Answer<'_>| {
        let answers = [(guarded, a), (plain, b)].map(|(of, answer)| {
            let registers = compute(&of.policy, &of.statements.registers, context);
            answer(&mut Env::new(&of.policy, context, &registers))
        });
        assert_eq!(answers[0], answers[1], "{what} of {}", pod.name);
        compared += 1;
    };
    let checks = |a: &[CompiledCheck], b: &[CompiledCheck], what, context, same: &mut Same<'_>| {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            same(what, context, &|env| format!("{}", a.refuses(env)), &|env| format!("{}", b.refuses(env)));
        }
    };
    checks(&a.gates, &b.gates, "gate", context, &mut same);
    assert_eq!(a.prefilters.len(), b.prefilters.len());
    for of in a.prefilters.iter().zip(&b.prefilters) {
        match of {
            (CompiledPrefilter::Check(a), CompiledPrefilter::Check(b)) => {
                let (a, b) = (std::slice::from_ref(&**a), std::slice::from_ref(&**b));
                checks(a, b, "prefilter", context, &mut same);
            }
            (CompiledPrefilter::Only(a), CompiledPrefilter::Only(b)) => {
                let holds = |of: &Option<_>, env: &mut Env<'_, '_>| {
                    let of: &Option<lang::codegen::BoolFn> = of;
                    format!("{}", of.as_ref().is_none_or(|when| when(env)))
                };
                same("only", context, &|env| holds(&a.when, env), &|env| holds(&b.when, env));
            }
            _ => panic!("prefilters differ"),
        }
    }
    for node in snapshot.nodes() {
        let context = context.on(node);
        for (a, b) in a.filters.iter().zip(&b.filters) {
            checks(&a.checks, &b.checks, "filter", context, &mut same);
        }
        for (a, b) in a.scores.iter().zip(&b.scores) {
            same("score", context, &|env| format!("{:?}", a.raw(env)), &|env| format!("{:?}", b.raw(env)));
        }
        for (a, b) in a.reserves.iter().zip(&b.reserves) {
            checks(&a.checks, &b.checks, "reserve", context, &mut same);
            for (a, b) in a.writes.iter().zip(&b.writes) {
                let holds = |of: &Option<lang::codegen::BoolFn>, env: &mut Env<'_, '_>| {
                    format!("{}", of.as_ref().is_none_or(|when| when(env)))
                };
                same("write", context, &|env| holds(&a.when, env), &|env| holds(&b.when, env));
            }
        }
        let of_permits = |of: &lang::codegen::Statements, env: &mut Env<'_, '_>| {
            let checks =
                of.permits.iter().flat_map(|of| &of.checks).map(|of| of.refuses(env)).collect::<Vec<_>>();
            let waits =
                of.permits.iter().flat_map(|of| &of.waits).map(|of| (of.until)(env)).collect::<Vec<_>>();
            format!("{checks:?} {waits:?}")
        };
        same("permit", context, &|env| of_permits(a, env), &|env| of_permits(b, env));
        if let (Some(a), Some(b)) = (&a.preempt, &b.preempt) {
            checks(&a.nevers, &b.nevers, "never", context, &mut same);
            checks(&a.guards, &b.guards, "guard", context, &mut same);
            assert_eq!(a.is_steady, b.is_steady);
            for victim in context.pods() {
                for (a, b) in a.victims.iter().zip(&b.victims).chain(a.protects.iter().zip(&b.protects)) {
                    let holds =
                        |of: &lang::codegen::CompiledVictim, context: EvalContext<'_>, policy: &Policy| {
                            let mut env = Env::new(policy, context, &[]);
                            of.holds(&mut env, victim)
                        };
                    let found = (holds(a, context, &guarded.policy), holds(b, context, &plain.policy));
                    assert_eq!(found.0, found.1, "{} as a victim of {}", victim.name, pod.name);
                }
            }
        }
    }
    compared
}

/// An answer of a statement, as a text.
type Answer<'s> = &'s dyn Fn(&mut Env<'_, '_>) -> String;

/// Compares two answers.
type Same<'s> = dyn FnMut(&str, EvalContext<'_>, Answer<'_>, Answer<'_>) + 's;

/// What columns say of all nodes.
fn columns(of: &CompiledPolicy, snapshot: &Snapshot, pod: &PodInfo) -> Vec<u64> {
    let context = EvalContext::new(pod, snapshot, NOW);
    let registers = compute(&of.policy, &of.statements.registers, context);
    let mut scan = ColumnScan::new(&of.policy, &of.statements.inputs, context, &registers);
    let alive = snapshot.columns().alive().clone();
    let checks = of.statements.filters.iter().flat_map(|filter| &filter.checks);
    let words = alive.words().iter().copied().enumerate();
    checks
        .flat_map(|check| words.clone().map(move |word| (check, word)))
        .map(|(check, (word, mask))| check.refused(&mut scan, word, mask))
        .collect()
}

/// When a decision of a policy changes by the clock alone.
fn next_change(
    of: &Arc<CompiledPolicy>,
    snapshot: &Snapshot,
    pod: &Arc<PodInfo>,
) -> Option<bayplan::model::Time> {
    let framework = framework_of(&PolicySet::new([of.clone()]));
    let cycle = Cycle::new(pod.clone(), framework.clone(), NOW);
    framework.plugins()[0].next_change(&cycle.handle(snapshot).for_plugin(PluginId(0)), &mut 0)
}

#[test]
fn a_guard_means_what_it_would_mean_in_the_conditions() {
    let (mut compiled, mut guards, mut compared, mut changes) = (0, 0, 0, 0);
    for seed in 70_000..70_600 {
        let mut random = Random(seed);
        let (nodes, pods) = cluster(&mut random);
        let text = text(&mut random);
        let mut sources = SourceMap::new();
        let id = sources.add("p.bay", text.as_str());
        let Some(mut policy) = lang::compile(sources.get(id).unwrap()).0.pop() else { continue };
        // Of both once constants are folded.
        lang::analysis::reads::derive(&mut policy, &mut Vec::new());
        compiled += 1;
        guards += policy.rules.iter().map(|rule| rule.head.guard.len()).sum::<usize>();
        let plain = rewritten(&policy);
        bounds(&policy, &plain, Size::of(nodes.len() as u32, pods.len() as u32));
        let [guarded, plain] = [policy, plain].map(|of| Arc::new(CompiledPolicy::new(of, &sources)));
        let [guarded, plain] = [&guarded, &plain].map(|of| of.decides().clone());
        let framework = framework_of(&PolicySet::new([guarded.clone()]));
        let snapshot = snapshot(&framework, nodes, pods.clone());
        let events = |of: &CompiledPolicy| {
            let mut events: Vec<String> =
                registrations(of, of.rules().iter()).iter().map(|of| format!("{of:?}")).collect();
            events.sort();
            events
        };
        assert_eq!(events(&guarded), events(&plain), "{text}");
        for pod in pods.iter().filter(|pod| pod.node_name.is_none()).take(4) {
            compared += agree_on(&guarded, &plain, &snapshot, pod);
            assert_eq!(columns(&guarded, &snapshot, pod), columns(&plain, &snapshot, pod), "{text}");
            let at = [&guarded, &plain].map(|of| next_change(of, &snapshot, pod));
            assert_eq!(at[0], at[1], "seed {seed}, {}\n{text}", pod.name);
            changes += usize::from(at[0].is_some());
        }
    }
    println!("{compiled} policies, {guards} guards, {compared} answers, {changes} instants");
    assert!(compiled > 40 && guards > 5 * compiled && compared > 2_000 && changes > 40);
}

/// The bounds of both differ by what joins guards and conditions.
fn bounds(guarded: &Policy, plain: &Policy, size: Size) {
    for (rule, other) in guarded.rules.iter().zip(&plain.rules) {
        let [own, joined] =
            [(guarded, rule), (plain, other)].map(|(of, rule)| Costs::new(of, size).rule(rule).steps);
        let each = 4 * rule.head.guard.len() as u128 * rule.statements(guarded).count() as u128;
        let most = each * u128::from(size.nodes.max(1)) * u128::from(size.pods.max(1));
        assert!(own.abs_diff(joined) <= most, "{own} and {joined} steps of `{}`", rule.name());
    }
}
