//! Answers that hold for a whole attempt, for the expressions that `analysis::steady` finds: preemption asks the same of
//! every victim on every node, each time in another simulation.
//!
//! A sum of a ledger over a list keeps its summands, and a simulation changes those whose keys it moved.

use super::closures::{ValueFn, as_value};
use super::operators::Sum;
use super::{Env, Lowering, loops};
use crate::analysis::steady::{steady_keys, summed_ledger};
use crate::eval::ledgers::{Key, LedgerIndex};
use crate::typed::{Expr, Macro};
use crate::types::Type;
use crate::types::convert;
use crate::types::value::{Constant, Ordered, Value};
use bayplan_model::Generation;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// In how many lists the answers are.
const LISTS: usize = 256;
/// Most answers of a list. Keys may be as many as there are pods.
const MOST: usize = 16;

/// What expressions of one policy gave in an attempt, by number and by the values of their keys. They hold for one state
/// of the cluster, as long as nothing but simulations changes it. Simulations share them, and add to the ends of lists.
#[derive(Default)]
pub struct Answers(OnceLock<Lists>);

struct Lists {
    /// The state of the cluster.
    of: Generation,
    lists: Box<[List]>,
}

type List = OnceLock<Box<Known>>;

/// An answer of the expression with a number, for one combination of keys.
struct Known {
    number: usize,
    keys: Box<[Constant]>,
    answer: Answer,
    next: List,
}

#[derive(Clone)]
enum Answer {
    Value(Constant),
    Sum(Arc<Summands>),
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}

impl Answers {
    /// The answer of an expression for these keys in a state of the cluster; else `compute`, which is kept.
    fn get(
        &self,
        of: Generation,
        (number, keys): (usize, &[Value<'_>]),
        compute: impl FnOnce() -> Answer,
    ) -> Answer {
        let new = || Lists { of, lists: (0..LISTS).map(|_| List::default()).collect() };
        let known = self.0.get_or_init(new);
        let mut hasher = FxHasher::default();
        number.hash(&mut hasher);
        keys.iter().for_each(|key| key.hash(&mut hasher));
        let list = known.lists.get((hasher.finish() >> 32) as usize % LISTS).filter(|_| known.of == of);
        let Some(mut at) = list else { return compute() };
        let is = |known: &Known| {
            known.number == number && known.keys.iter().zip(keys).all(|(key, other)| key.order(other).is_eq())
        };
        for _ in 0..MOST {
            let Some(known) = at.get() else {
                let answer = compute();
                let keys = keys.iter().map(convert::keep).collect();
                at.get_or_init(|| {
                    Box::new(Known { number, keys, answer: answer.clone(), next: List::default() })
                });
                return answer;
            };
            if is(known) {
                return known.answer.clone();
            }
            at = &known.next;
        }
        compute()
    }
}

/// What a ledger has under the key of each element of a list, without a simulation.
struct Summands {
    values: Vec<Constant>,
    /// The places of each key.
    places: FxHashMap<Key, Vec<usize>>,
}

impl Summands {
    /// The sum with the pods that a simulation moved, from left to right as without it.
    fn sum(&self, ty: &Type, moved: &[(Key, Constant)]) -> Constant {
        let mut others: SmallVec<[(usize, &Constant); 16]> = SmallVec::new();
        for (key, value) in moved {
            let places = self.places.get(key).into_iter().flatten();
            others.extend(places.map(|place| (*place, value)));
        }
        others.sort_unstable_by_key(|(place, _)| *place);
        let mut others = others.into_iter().peekable();
        let mut sum = Sum::of(ty);
        for (place, value) in self.values.iter().enumerate() {
            match others.next_if(|(other, _)| *other == place) {
                Some((_, other)) => sum.add(other),
                None => sum.add(value),
            }
        }
        sum.value()
    }
}

impl Lowering<'_> {
    /// An expression whose answers an attempt keeps; `None` for all others.
    pub(super) fn steady(&mut self, expr: &Expr) -> Option<ValueFn> {
        if !self.remembers_steady {
            return None;
        }
        let policy = self.policy;
        let keys = steady_keys(policy, expr)?;
        self.remembers_steady = false;
        let keys: Vec<ValueFn> = keys.into_iter().map(|key| self.value(key)).collect();
        let compute = self.value(expr);
        self.remembers_steady = true;
        let number = self.steady;
        self.steady += 1;
        Some(as_value(move |env| {
            let Some(answers) = env.answers else { return compute(env) };
            let generation = env.context.snapshot.generation();
            let keys: SmallVec<[Value<'_>; 2]> = keys.iter().map(|key| key(env)).collect();
            let answer =
                answers.get(generation, (number, &keys), || Answer::Value(convert::keep(&compute(env))));
            match answer {
                Answer::Value(value) => value,
                Answer::Sum(_) => Value::Absent,
            }
        }))
    }

    /// A sum of what a ledger has under the keys of a list: an attempt makes it once, and a simulation changes the
    /// summands whose sums it moved. `None` for all other macros.
    pub(super) fn ledger_sum(&mut self, of: &Macro, ty: &Type) -> Option<ValueFn> {
        if !self.remembers_steady {
            return None;
        }
        let policy = self.policy;
        let (ledger, key) = summed_ledger(policy, of)?;
        self.remembers_steady = false;
        let (over, key, plain) = (self.value(&of.over), self.value(key), self.macro_value(of, ty));
        self.remembers_steady = true;
        let (number, slot, ty, index) = (self.steady, of.slot, ty.clone(), policy[ledger].index.clone());
        self.steady += 1;
        let summands = move |env: &mut Env<'_, '_>, ledger: &LedgerIndex| {
            let mut made = Summands { values: Vec::new(), places: FxHashMap::default() };
            for (element, _) in loops::elements(over(env), false) {
                env.bind(slot, element);
                let key = Ordered(convert::keep(&key(env)));
                made.places.entry(key.clone()).or_default().push(made.values.len());
                made.values.push(ledger.sum(&key));
            }
            Arc::new(made)
        };
        Some(as_value(move |env| {
            let (context, Some(answers)) = (env.context, env.answers) else { return plain(env) };
            let Some(ledger) = context.snapshot.index::<LedgerIndex>(&index) else { return plain(env) };
            let generation = context.snapshot.generation();
            match answers.get(generation, (number, &[]), || Answer::Sum(summands(env, ledger))) {
                Answer::Sum(known) => known.sum(&ty, &ledger.moved_sums(context.moved, context.snapshot)),
                Answer::Value(_) => Value::Absent,
            }
        }))
    }
}
