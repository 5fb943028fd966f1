//! Policies in CEL: closures, column scans and the plugin agree with the reference evaluator on values, faults and
//! what `onError` makes of them; what compiles as proved never fails.

use super::Random;
use super::cel_programs::CelPrograms;
use super::evaluators::cluster;
use crate::support::policies::{NOW, framework_of, snapshot, statuses, try_compile};
use bayplan::framework::{Code, Cycle, Feasible, Framework, PluginId, PreFilterOutcome};
use bayplan::lang;
use bayplan::lang::analysis::faults::may_fail;
use bayplan::lang::cel::Environment;
use bayplan::lang::codegen::scores::{Column, Raw};
use bayplan::lang::codegen::{Env, Lowering};
use bayplan::lang::eval::context::EvalContext;
use bayplan::lang::eval::interpret::{Evaluator, Observer};
use bayplan::lang::policy_set::CompiledPolicy;
use bayplan::lang::syntax::ast::OnError;
use bayplan::lang::typed::{Check, Expr, Point, Policy, Score, Statement};
use bayplan::lang::types::Type;
use bayplan::lang::types::value::{Cel, Fault, Value};
use bayplan::model::{NodeSet, PodInfo, Snapshot, Symbol};
use bayplan::testing::pod;
use std::collections::HashMap;
use std::sync::Arc;

/// How many evaluations are made; `BAYPLAN_EVALUATIONS` raises it.
fn wanted(usual: usize) -> usize {
    let asked = std::env::var("BAYPLAN_EVALUATIONS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A refusal: whether it is an error of the attempt, and its text.
type Refused = Option<(bool, String)>;

/// What a statement says, by the reference evaluator.
struct Reference<'p, 'a> {
    compiled: &'p CompiledPolicy,
    policy: &'p Policy,
    evaluator: Evaluator<'p, 'a>,
    faults: usize,
}

impl<'p, 'a> Reference<'p, 'a> {
    fn new(compiled: &'p CompiledPolicy, context: EvalContext<'a>) -> Self {
        let policy = &*compiled.policy;
        Self { compiled, policy, evaluator: Evaluator::new(policy, context), faults: 0 }
    }

    fn ask(&mut self, expr: &Expr) -> Result<Value<'a>, Arc<Fault>> {
        match self.evaluator.value(expr) {
            Value::Cel(Cel::Fault(fault)) => {
                self.faults += 1;
                Err(fault)
            }
            value => Ok(value),
        }
    }

    fn failed(&self, name: &str, on_error: OnError, fault: &Fault) -> Refused {
        let name = format!("{}/{name}", self.policy.name);
        match on_error {
            OnError::Error => Some((true, format!("{name}: {}", self.compiled.described(fault)))),
            OnError::Reject => Some((false, format!("{name}: evaluation error"))),
            OnError::Ignore => None,
        }
    }

    fn check(&mut self, name: &str, check: &Check) -> Refused {
        let Some(condition) = &check.condition else {
            return Some((false, self.evaluator.reason(&check.reason)));
        };
        match self.ask(condition) {
            Err(fault) => self.failed(name, check.on_error, &fault),
            Ok(value) if value.holds() == check.refuses_when => {
                Some((false, self.evaluator.reason(&check.reason)))
            }
            Ok(_) => None,
        }
    }

    /// Whether the policy applies, or how it refuses the pod.
    fn applies(&mut self) -> Result<bool, Refused> {
        let answers: Vec<_> = self.policy.applies().iter().map(|condition| self.ask(condition)).collect();
        if answers.iter().flatten().any(|value| !value.holds()) {
            return Ok(false);
        }
        match answers.into_iter().find_map(Result::err) {
            None => Ok(true),
            Some(_) if self.policy.on_error == OnError::Ignore => Ok(false),
            Some(fault) => Err(self.failed("applies when", self.policy.on_error, &fault)),
        }
    }

    /// The refusal of a prefilter, or the names of the nodes that are left.
    fn prefilter(&mut self) -> Result<Option<Vec<String>>, Refused> {
        let mut left: Option<Vec<String>> = None;
        let policy = self.policy;
        let rules = policy.rules_at(Point::PreFilter);
        for statement in rules.flat_map(|rule| rule.statements(policy)) {
            match statement {
                Statement::Check(check) => {
                    let refused = self.check("prefilter", check);
                    if refused.is_some() {
                        return Err(refused);
                    }
                }
                Statement::Only(only) => {
                    let chosen = only.when.as_ref().map_or(Ok(true), |when| Ok(self.ask(when)?.holds()));
                    let names = chosen.and_then(|chosen| chosen.then(|| self.ask(&only.nodes)).transpose());
                    let names = match names {
                        Ok(names) => names,
                        Err(fault) => match self.failed("prefilter", only.on_error, &fault) {
                            None => None,
                            refused => return Err(refused),
                        },
                    };
                    let Some(names) = names else { continue };
                    let names: Vec<String> =
                        names.elements().unwrap().iter().map(ToString::to_string).collect();
                    left = Some(match left {
                        Some(left) => left.into_iter().filter(|name| names.contains(name)).collect(),
                        None => names,
                    });
                }
                other => unreachable!("{other:?}"),
            }
        }
        Ok(left)
    }

    fn filters(&mut self) -> Refused {
        let policy = self.policy;
        let rules = policy.rules_at(Point::Filter);
        let mut checks = rules.flat_map(|rule| rule.checks().map(move |check| (rule, check)));
        checks.find_map(|(rule, check)| self.check(rule.name(), check))
    }

    fn raw(&mut self, score: &Score, whole: bool) -> Result<Option<Raw>, Arc<Fault>> {
        for give in &score.gives {
            let chosen = match &give.when {
                Some(when) => self.ask(when)?.holds(),
                None => true,
            };
            if chosen {
                let Some(value) = &give.value else { return Ok(None) };
                return Ok(match self.ask(value)? {
                    Value::Int(number) if whole => Some(Raw::Whole(number)),
                    value => value.as_float().map(Raw::Float),
                });
            }
        }
        Ok(None)
    }
}

fn refused(said: Result<(), bayplan::framework::Status>) -> Refused {
    said.err().map(|status| (status.code == Code::Error, status.message()))
}

/// What was tried, and on how much of it.
#[derive(Default, Debug)]
pub(super) struct Tried {
    evaluations: usize,
    faults: usize,
    refused_by_error: usize,
    ended_by_error: usize,
    scored: usize,
    permitted: usize,
    faults_of_permit: usize,
    keys: usize,
}

/// One attempt of a pod by the plugin, beside what the reference evaluator says of it.
fn attempt(
    compiled: &CompiledPolicy,
    framework: &Arc<Framework>,
    snapshot: &Snapshot,
    pod: &Arc<PodInfo>,
    tried: &mut Tried,
    seed: u64,
) {
    let (policy, plugin, id) = (&compiled.policy, &framework.plugins()[0], PluginId(0));
    let context = EvalContext::new(pod, snapshot, NOW);
    let mut once = Reference::new(compiled, context);
    let applies = once.applies();
    let mut cycle = Cycle::new(pod.clone(), framework.clone(), NOW);
    let mut seen = |said: &Refused| {
        tried.evaluations += 1;
        tried.refused_by_error +=
            usize::from(said.as_ref().is_some_and(|(_, text)| text.ends_with("evaluation error")));
        tried.ended_by_error += usize::from(said.as_ref().is_some_and(|(error, _)| *error));
    };

    if let Some(gate) = plugin.pre_enqueue() {
        let said = refused(gate.pre_enqueue(&cycle.handle(snapshot).for_plugin(id)));
        // PreFilter says that `appliesWhen` failed.
        let wanted = match &applies {
            Ok(false) => None,
            _ => policy.checks_at(Point::PreEnqueue).find_map(|gate| once.check("gate", gate)),
        };
        assert_eq!(said, wanted, "gate, pod {}, seed {seed}", pod.name);
        seen(&said);
    }
    let mut slot = cycle.state.slot_mut(id).clone();
    let said = plugin.pre_filter().unwrap().pre_filter(&cycle.handle(snapshot).for_plugin(id), &mut slot);
    *cycle.state.slot_mut(id) = slot;
    let wanted = match &applies {
        Ok(true) => once.prefilter(),
        Ok(false) => Ok(None),
        Err(refused) => Err(refused.clone()),
    };
    let mut nodes = snapshot.columns().alive().clone();
    match (said, &wanted) {
        (Err(status), Err(wanted)) => {
            let said = refused(Err(status));
            assert_eq!(said, *wanted, "prefilter, pod {}, seed {seed}", pod.name);
            seen(&said);
            return;
        }
        (Ok(PreFilterOutcome::Only(only)), Ok(Some(names))) => {
            let named = names.iter().filter_map(|name| snapshot.node_by_name(&Symbol::new(name)));
            let named: NodeSet = named.collect();
            assert!(only.iter().eq(named.iter()), "only nodes, pod {}, seed {seed}", pod.name);
            nodes.intersect(&only);
        }
        (Ok(PreFilterOutcome::AllNodes | PreFilterOutcome::Skip), Ok(None)) => {}
        (said, wanted) => panic!("{said:?}, {wanted:?}, prefilter, pod {}, seed {seed}", pod.name),
    }
    tried.faults += once.faults;
    if !matches!(applies, Ok(true)) {
        return;
    }
    let said = statuses(framework, &cycle, snapshot, &nodes);
    let mut feasible = Feasible { nodes: NodeSet::with_rows(said.len()) };
    for node in nodes.iter() {
        let info = snapshot.node(node).unwrap();
        let mut reference = Reference::new(compiled, context.on(info));
        let wanted = reference.filters();
        let said = refused(said[node.row()].clone().map_or(Ok(()), Err));
        assert_eq!(said, wanted, "filter, pod {}, node {}, seed {seed}", pod.name, info.name());
        seen(&said);
        tried.faults += reference.faults;
        if said.is_none() {
            feasible.nodes.insert(node);
        }
    }
    score(compiled, framework, snapshot, &mut cycle, &feasible, tried, seed);
}

fn score(
    compiled: &CompiledPolicy,
    framework: &Arc<Framework>,
    snapshot: &Snapshot,
    cycle: &mut Cycle,
    feasible: &Feasible,
    tried: &mut Tried,
    seed: u64,
) {
    let (policy, id) = (&compiled.policy, PluginId(0));
    let pod = cycle.pod.clone();
    let context = EvalContext::new(&pod, snapshot, NOW);
    let rows = feasible.nodes.words().len() * 64;
    let mut totals = vec![0i64; rows];
    let mut error: Option<String> = None;
    for (score, (_, typed)) in compiled.statements.scores.iter().zip(policy.scores()) {
        let mut column = Column::new(score.whole, rows);
        let mut failed = None;
        for node in feasible.nodes.iter() {
            let mut reference = Reference::new(compiled, context.on(snapshot.node(node).unwrap()));
            match reference.raw(typed, score.whole) {
                Ok(Some(raw)) => column.put(node, raw),
                Ok(None) => {}
                Err(fault) => failed = failed.or(Some(fault)),
            }
            tried.faults += reference.faults;
            tried.evaluations += 1;
        }
        if let (Some(fault), OnError::Error, None) = (failed, score.on_error, &error) {
            let of = format!("{}/{}: {}", policy.name, score.name, compiled.described(&fault));
            error = Some(format!("running PreScore plugin \"{}\": {of}", policy.name));
        }
        for (total, of_node) in totals.iter_mut().zip(column.normalized(score.normalize, score.reversed)) {
            *total = total.saturating_add(score.weight.saturating_mul(of_node));
        }
    }
    let said = framework.run_pre_score(cycle, snapshot, feasible).err().map(|status| status.message());
    assert_eq!(said, error, "scores, pod {}, seed {seed}", pod.name);
    if error.is_some() || policy.scores().next().is_none() {
        return;
    }
    let handle = cycle.handle(snapshot).for_plugin(id);
    let scorer = framework.plugins()[0].score().unwrap();
    let mut ranged = vec![0; rows];
    scorer.score_range(&handle, &feasible.nodes, &mut ranged).unwrap();
    for node in feasible.nodes.iter() {
        let said = scorer.score(&handle, snapshot.node(node).unwrap()).unwrap();
        let wanted = totals[node.row()];
        assert_eq!((said, ranged[node.row()]), (wanted, wanted), "score, pod {}, seed {seed}", pod.name);
        tried.scored += 1;
    }
}

fn written<'t>(text: &'t str, expr: &Expr) -> &'t str {
    text.get(expr.span.range()).unwrap_or("")
}

/// Every expression of the statements of a policy.
fn expressions(policy: &Policy) -> Vec<&Expr> {
    let of = policy
        .statements()
        .flat_map(|statement: Statement<'_>| statement.condition().into_iter().chain(statement.value()));
    of.chain(policy.lets.iter().map(|of| &of.value)).collect()
}

/// The value or the fault of the closure of each expression is that of the reference evaluator, in one environment for
/// all of them, as a statement has it.
fn expressions_agree(policy: &Policy, context: EvalContext<'_>, text: &str, seed: u64, tried: &mut Tried) {
    let mut lowering = Lowering::new(policy);
    let all = expressions(policy);
    let closures: Vec<_> = all.iter().map(|expr| lowering.value(expr)).collect();
    assert!(lowering.finish().is_empty());
    for node in context.snapshot.columns().alive().iter() {
        let context = context.on(context.snapshot.node(node).unwrap());
        let (mut evaluator, mut env) = (Evaluator::new(policy, context), Env::new(policy, context, &[]));
        for (expr, closure) in all.iter().zip(&closures) {
            let defined = evaluator.value(expr);
            let value = closure(&mut env);
            let closed = env.take_fault().map_or(value, |fault| Value::Cel(Cel::Fault(fault)));
            assert_eq!(
                closed,
                defined,
                "closure, reference, seed {seed}: {} of\n{text}",
                written(text, expr)
            );
            tried.evaluations += 1;
            tried.faults += usize::from(defined.is_fault());
        }
    }
}

/// A statement that may fail, by its closure and by the reference evaluator: the answer, and the fault that made it.
fn statement_agrees(
    env: &mut Env<'_, '_>,
    closure: impl FnOnce(&mut Env<'_, '_>) -> bool,
    defined: Result<Value<'_>, Arc<Fault>>,
    (holds, failed, on_error): (bool, bool, OnError),
    seed: u64,
) {
    let said = closure(env);
    let as_value = |fault: Arc<Fault>| Value::Cel(Cel::Fault(fault));
    let (fault, ignored) = (env.failed.take().map(as_value), env.ignored.take().map(as_value));
    match defined {
        Ok(value) => assert_eq!((said, fault, ignored), (value.holds() == holds, None, None), "seed {seed}"),
        Err(of) if on_error == OnError::Ignore => {
            assert_eq!((said, fault, ignored), (false, None, Some(as_value(of))), "seed {seed}");
        }
        Err(of) => assert_eq!((said, fault, ignored), (failed, Some(as_value(of)), None), "seed {seed}"),
    }
}

/// The statements of `permit`, and the keys of the queue, which never fail.
fn permits_agree(compiled: &CompiledPolicy, context: EvalContext<'_>, tried: &mut Tried, seed: u64) {
    let policy = &compiled.policy;
    for node in context.snapshot.columns().alive().iter() {
        let context = context.on(context.snapshot.node(node).unwrap());
        for (permit, typed) in compiled.statements.permits.iter().zip(policy.rules_at(Point::Permit)) {
            let mut reference = Reference::new(compiled, context);
            for (check, typed) in permit.checks.iter().zip(typed.checks()) {
                let Some(condition) = &typed.condition else { continue };
                let mut env = Env::new(policy, context, &[]);
                let how = (typed.refuses_when, true, typed.on_error);
                let defined = reference.ask(condition);
                statement_agrees(&mut env, |env| check.refuses(env), defined, how, seed);
                tried.permitted += 1;
            }
            for (wait, typed) in permit.waits.iter().zip(typed.waits()) {
                let mut env = Env::new(policy, context, &[]);
                let defined = reference.ask(&typed.until);
                statement_agrees(
                    &mut env,
                    |env| (wait.until)(env),
                    defined,
                    (true, false, typed.on_error),
                    seed,
                );
                tried.permitted += 1;
            }
            tried.faults_of_permit += reference.faults;
        }
    }
    let keys = compiled.statements.queue.iter().flatten();
    for (key, typed) in keys.zip(policy.queue().iter().flat_map(|(_, queue)| &queue.keys)) {
        let defined = Evaluator::new(policy, context).value(&typed.value);
        let mut env = Env::new(policy, context, &[]);
        assert_eq!((key.value)(&mut env), defined, "a key of the queue, seed {seed}");
        assert!(!defined.is_fault() && env.take_fault().is_none(), "seed {seed}");
        tried.keys += 1;
    }
}

/// Both evaluators on a random cluster and policy; says why the policy was refused.
pub(super) fn agree_on_seed(seed: u64, careful: bool, tried: &mut Tried) -> Result<(), String> {
    let mut random = Random(seed);
    let (nodes, pods) = cluster(&mut random);
    let text = CelPrograms::new(&mut random, careful).policy();
    let set = try_compile(&text)?;
    let compiled = set.iter().next().unwrap();
    let framework = framework_of(&set);
    let mut snapshot = snapshot(&framework, nodes, pods.clone());
    if random.one_in(2) {
        // Without columns of labels, and without indexes of groups.
        let keys: Vec<_> = snapshot.index_keys().cloned().collect();
        keys.iter().for_each(|key| snapshot.remove_index(key));
    }
    let fresh = pod("fresh").label("team", "a").cpu("500m").build();
    let mut subjects: Vec<_> = pods.into_iter().filter(|pod| pod.node_name.is_none()).take(2).collect();
    subjects.push(fresh);
    for subject in subjects {
        expressions_agree(&compiled.policy, EvalContext::new(&subject, &snapshot, NOW), &text, seed, tried);
        permits_agree(compiled, EvalContext::new(&subject, &snapshot, NOW), tried, seed);
        attempt(compiled, &framework, &snapshot, &subject, tried, seed);
    }
    Ok(())
}

#[test]
fn closures_scans_and_plugins_agree_with_the_reference_evaluator() {
    let wanted = wanted(120_000);
    let (mut tried, mut compiled, mut why) = (Tried::default(), 0, Vec::new());
    let mut seed = 0;
    while tried.evaluations < wanted {
        seed += 1;
        match agree_on_seed(seed, false, &mut tried) {
            Ok(()) => compiled += 1,
            Err(mistakes) => why.push(mistakes),
        }
    }
    println!("{tried:?}; {compiled} programs, {} programs refused", why.len());
    for mistake in why.iter().take(10) {
        println!("  {mistake}");
    }
    assert!(compiled > why.len(), "{} programs refused: {:#?}", why.len(), &why[..20]);
    assert!(tried.faults > wanted / 10, "{tried:?}");
    assert!(tried.refused_by_error > wanted / 100 && tried.ended_by_error > wanted / 400, "{tried:?}");
    assert!(tried.scored > wanted / 400, "{tried:?}");
    assert!(tried.permitted > wanted / 100 && tried.faults_of_permit > wanted / 1000, "{tried:?}");
    assert!(tried.keys > wanted / 1000, "{tried:?}");
}

/// What the lint `may-fail` does not name has a value: programs in which most is tested first, each expression of
/// which that is proved is evaluated.
#[test]
fn what_is_proved_never_fails() {
    let wanted = wanted(60_000);
    let (mut proved, mut compiled, mut refused) = (0, 0, Vec::new());
    let mut seed = 70_000_000;
    while proved < wanted {
        seed += 1;
        let mut random = Random(seed);
        let (nodes, pods) = cluster(&mut random);
        let text = CelPrograms::new(&mut random, seed % 3 != 0).policy();
        let set = match try_compile(&text) {
            Ok(set) => set,
            Err(why) => {
                refused.push(why);
                continue;
            }
        };
        compiled += 1;
        let policy = &set.iter().next().unwrap().policy;
        let snapshot = snapshot(&framework_of(&set), nodes, pods.clone());
        let all = expressions(policy);
        let mut observer = Proved { policy, known: HashMap::new(), proved: 0, text: &text, seed };
        let subjects = pods.iter().filter(|pod| pod.node_name.is_none()).take(2);
        for (pod, node) in subjects.flat_map(|pod| snapshot.nodes().map(move |node| (pod, node))) {
            let context = EvalContext::new(pod, &snapshot, NOW).on(node);
            let mut evaluator = Evaluator::new(policy, context).observed(&mut observer);
            all.iter().for_each(|expr| drop(evaluator.value(expr)));
        }
        proved += observer.proved;
    }
    println!("{proved} values of {compiled} programs, {} programs refused", refused.len());
    assert!(compiled > 3 * refused.len(), "{:#?}", &refused[..20]);
}

/// Whether what is evaluated is proved, by its address.
struct Proved<'p> {
    policy: &'p Policy,
    known: HashMap<*const Expr, bool>,
    proved: usize,
    text: &'p str,
    seed: u64,
}

impl Observer for Proved<'_> {
    fn leave(&mut self, expr: &Expr, value: &Value<'_>) {
        let is_proved = *self.known.entry(expr).or_insert_with(|| !may_fail(self.policy, expr));
        self.proved += usize::from(is_proved);
        let (seed, place) = (self.seed, written(self.text, expr));
        assert!(!is_proved || !value.is_fault(), "seed {seed}: {value}: {place} of\n{}", self.text);
    }
}

/// A fault is no proof: what stands beside it is evaluated too, and must not take a value for given that only the
/// truth of the other side would show.
#[test]
fn a_fault_proves_nothing() {
    let environment = Environment::kubernetes([("l", Type::String.list()), ("n", Type::Int)]);
    for expression in [
        "size(l) > 2 + 1 / n && l[0] == 'a'",
        "2 + 1 / n < size(l) && l[0] == 'a'",
        "string(1 / n) in l && l[0] == 'a'",
        "!(size(l) <= 2 + 1 / n || n != 0) && l[0] == 'a'",
        "[1, 2].all(x, size(l) > 2 + 1 / n && l[0] == 'a')",
        "size(l) == 2 + 1 / n && l[0] == 'a'",
    ] {
        let program = lang::cel::compile(expression, &environment).unwrap();
        let none = Value::list(std::iter::empty());
        let value = program.run(&[none, Value::Int(0)]);
        assert!(value.is_fault(), "{expression} is {value}");
    }
}
