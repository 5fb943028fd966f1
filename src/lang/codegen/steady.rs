//! Answers that hold for a whole attempt, for the expressions that `analysis::steady` finds: preemption asks the same of
//! every victim on every node, each time in another simulation.

use super::closures::{ValueFn, as_value};
use super::operators::Sum;
use super::{Env, Lowering, loops};
use crate::lang::analysis::steady::{steady_keys, summed_ledger};
use crate::lang::eval::ledgers::{Key, LedgerIndex};
use crate::lang::typed::{Expr, Macro};
use crate::lang::types::Type;
use crate::lang::types::convert;
use crate::lang::types::value::{Constant, Ordered, Value};
use crate::model::Generation;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Most answers that are kept of an expression. Keys may be as many as there are pods.
const MOST: usize = 4096;

/// What expressions of one policy gave in an attempt, by number and by the values of their keys. They hold for one state
/// of the cluster, as long as nothing but simulations changes it.
#[derive(Default)]
pub struct Answers(Mutex<Known>);

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}

/// Answers of an expression by the hash of its keys, several where hashes are equal.
type ByKeys = FxHashMap<u64, Vec<(Box<[Constant]>, Constant)>>;

#[derive(Default)]
struct Known {
    /// The state of the cluster.
    of: Option<Generation>,
    answers: Vec<ByKeys>,
    sums: Vec<Option<Arc<Summands>>>,
}

impl Answers {
    /// What is known of this state of the cluster.
    fn known<T>(&self, of: Generation, then: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.of != Some(of) {
            *known = Known { of: Some(of), ..Known::default() };
        }
        then(&mut known)
    }
}

/// The place of a number in a list that grows.
fn at<T: Default>(of: &mut Vec<T>, at: usize) -> Option<&mut T> {
    if of.len() <= at {
        of.resize_with(at + 1, T::default);
    }
    of.get_mut(at)
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
    /// An expression of which an attempt keeps the answers; `None` for all others.
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
            let values: SmallVec<[Value<'_>; 2]> = keys.iter().map(|key| key(env)).collect();
            let mut hasher = FxHasher::default();
            values.iter().for_each(|value| value.hash(&mut hasher));
            let hash = hasher.finish();
            let is =
                |keys: &[Constant]| keys.iter().zip(&values).all(|(key, value)| key.order(value).is_eq());
            let found = answers.known(generation, |known| {
                let of = known.answers.get(number)?.get(&hash)?;
                of.iter().find(|(keys, _)| is(keys)).map(|(_, answer)| answer.clone())
            });
            if let Some(answer) = found {
                return answer;
            }
            let answer = compute(env);
            let kept = (values.iter().map(convert::keep).collect(), convert::keep(&answer));
            answers.known(generation, |known| {
                if let Some(of) = at(&mut known.answers, number).filter(|of| of.len() < MOST) {
                    of.entry(hash).or_default().push(kept);
                }
            });
            answer
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
        let (number, slot, ty, index) = (self.sums, of.slot, ty.clone(), policy[ledger].index.clone());
        self.sums += 1;
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
            let known = answers.known(generation, |known| known.sums.get(number).cloned().flatten());
            let known = known.unwrap_or_else(|| {
                let made = summands(env, ledger);
                answers.known(generation, |known| {
                    if let Some(place) = at(&mut known.sums, number) {
                        *place = Some(made.clone());
                    }
                });
                made
            });
            known.sum(&ty, &ledger.moved_sums(context.moved, context.snapshot))
        }))
    }
}
