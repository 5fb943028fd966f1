//! Lookups by value, for the shapes that `analysis::index` finds.
//!
//! Tables and answers live in [`Tables`] of an `Env`, as long as one pass over the nodes for one pod,
//! and are built on first use. The whole condition decides whether an element belongs, so a table may
//! hold too many elements and never too few. `values.rs` lowers the expressions themselves.
//!
//! They do not use an `Index` of the snapshot, and the evaluation of a single node iterates.

use super::{Env, Lowering};
use crate::analysis::index::{answer_keys, equalities, is_looked_up};
use crate::analysis::stage::depends;
use crate::codegen::closures::{BoolFn, ValueFn, as_value, bind};
use crate::codegen::loops::elements;
use crate::typed::{Expr, Macro, SlotId};
use crate::types::value::Value;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Elements by the values that they are looked up by.
pub struct Table<'a> {
    elements: Vec<(Value<'a>, Value<'a>)>,
    by_value: FxHashMap<u64, Vec<u32>>,
}

/// Answers for one combination of values, several where their hashes are equal.
type Answers<'a> = FxHashMap<u64, Vec<(Vec<Value<'a>>, Value<'a>)>>;

/// The tables and answers of an environment, by number. They hold for one pod and one state of the
/// cluster.
#[derive(Default)]
pub struct Tables<'a> {
    tables: Vec<Option<(u32, Arc<Table<'a>>)>>,
    answers: Vec<Answers<'a>>,
    /// The number of the node; tables of a list of the node hold for one node.
    turn: u32,
    /// How many elements were visited through tables, including those that built them.
    pub visited: u64,
}

impl<'a> Tables<'a> {
    /// How many answers are remembered.
    pub fn remembered(&self) -> usize {
        self.answers.iter().flat_map(|answers| answers.values()).map(Vec::len).sum()
    }

    /// Turns to another node.
    pub fn turn(&mut self) {
        self.turn = self.turn.wrapping_add(1).max(1);
    }

    /// A table of this turn; turn 0 is for tables that hold for all nodes.
    fn get(&self, at: usize, turn: u32) -> Option<Arc<Table<'a>>> {
        let (built, table) = self.tables.get(at)?.as_ref()?;
        (*built == turn).then(|| table.clone())
    }

    fn put(&mut self, at: usize, turn: u32, table: Arc<Table<'a>>) {
        if self.tables.len() <= at {
            self.tables.resize_with(at + 1, || None);
        }
        if let Some(place) = self.tables.get_mut(at) {
            *place = Some((turn, table));
        }
    }

    fn answer(&self, at: usize, hash: u64, keys: &[Value<'a>]) -> Option<Value<'a>> {
        let known = self.answers.get(at)?.get(&hash)?;
        let (_, answer) =
            known.iter().find(|(of, _)| of.iter().zip(keys).all(|(a, b)| a.order(b).is_eq()))?;
        Some(answer.clone())
    }

    fn remember(&mut self, at: usize, hash: u64, keys: Vec<Value<'a>>, answer: Value<'a>) {
        if self.answers.len() <= at {
            self.answers.resize_with(at + 1, Answers::default);
        }
        if let Some(answers) = self.answers.get_mut(at) {
            answers.entry(hash).or_default().push((keys, answer));
        }
    }
}

/// Adds a value to a hash; false for an absent one, which is not a key.
fn add(value: &Value<'_>, hasher: &mut FxHasher) -> bool {
    value.hash(hasher);
    !value.is_absent()
}

fn hash_of<'v, 'a: 'v>(values: impl IntoIterator<Item = &'v Value<'a>>) -> Option<u64> {
    let mut hasher = FxHasher::default();
    let all = values.into_iter().all(|value| add(value, &mut hasher));
    all.then(|| hasher.finish())
}

/// How the elements of a macro are found in a table.
pub(super) struct ByValue {
    at: usize,
    over: ValueFn,
    mine: Vec<ValueFn>,
    wanted: Vec<ValueFn>,
    slot: SlotId,
    second: Option<SlotId>,
    /// Elements that the table leaves out meet the condition.
    pub others_hold: bool,
}

impl ByValue {
    /// The elements that may have the wanted values, in their order, and how many there are in all.
    pub(crate) fn candidates<'a>(&self, env: &mut Env<'a, '_>) -> (Vec<(Value<'a>, Value<'a>)>, usize) {
        let table = match env.tables.get(self.at, 0) {
            Some(table) => table,
            None => self.build(env),
        };
        let mut hasher = FxHasher::default();
        let total = table.elements.len();
        for wanted in &self.wanted {
            if !add(&wanted(env), &mut hasher) {
                return (Vec::new(), total);
            }
        }
        let places = table.by_value.get(&hasher.finish()).map_or(&[][..], Vec::as_slice);
        let found: Vec<_> =
            places.iter().filter_map(|at| table.elements.get(*at as usize)).cloned().collect();
        env.tables.visited += found.len() as u64;
        (found, total)
    }

    fn build<'a>(&self, env: &mut Env<'a, '_>) -> Arc<Table<'a>> {
        let over = (self.over)(env);
        let elements = elements(over, self.second.is_some());
        let mut by_value: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        for (at, (item, second)) in elements.iter().enumerate() {
            bind(env, self.slot, item.clone());
            if let Some(slot) = self.second {
                bind(env, slot, second.clone());
            }
            let mut hasher = FxHasher::default();
            if self.mine.iter().all(|mine| add(&mine(env), &mut hasher)) {
                by_value.entry(hasher.finish()).or_default().push(at as u32);
            }
        }
        env.tables.visited += elements.len() as u64;
        let table = Arc::new(Table { elements, by_value });
        if env.is_settled() {
            env.tables.put(self.at, 0, table.clone());
        }
        table
    }
}

impl Lowering<'_> {
    /// How the elements of a macro are found in a table; `None` if all are visited.
    pub(super) fn by_value(&mut self, of: &Macro) -> Option<ByValue> {
        let found = equalities(self.policy, of)?;
        let at = self.new_table();
        Some(ByValue {
            at,
            over: self.value(&of.over),
            mine: found.pairs.iter().map(|(mine, _)| self.value(mine)).collect(),
            wanted: found.pairs.iter().map(|(_, other)| self.value(other)).collect(),
            slot: of.slot,
            second: of.second,
            others_hold: found.others_hold,
        })
    }

    /// An expression whose answer is remembered by the values that it reads of the node; `None` for
    /// all others.
    pub(super) fn remembered(&mut self, expr: &Expr) -> Option<ValueFn> {
        if self.remembering || self.policy.slots.is_empty() {
            return None;
        }
        let policy = self.policy;
        let keys = answer_keys(policy, expr)?;
        let keys: Vec<ValueFn> = keys.into_iter().map(|key| self.value(key)).collect();
        self.remembering = true;
        let compute = self.value(expr);
        self.remembering = false;
        let at = self.answers;
        self.answers += 1;
        Some(as_value(move |env| {
            let mut values = Vec::with_capacity(keys.len());
            for key in &keys {
                values.push(key(env));
            }
            let mut hasher = FxHasher::default();
            for value in &values {
                add(value, &mut hasher).hash(&mut hasher);
            }
            let hash = hasher.finish();
            if let Some(answer) = env.tables.answer(at, hash, &values) {
                return answer;
            }
            let answer = compute(env);
            if env.is_settled() {
                env.tables.remember(at, hash, values, answer.clone());
            }
            answer
        }))
    }

    /// `x in list` by a table of the list; `None` if the list is searched.
    pub(super) fn looked_up(&mut self, element: &Expr, list: &Expr) -> Option<BoolFn> {
        if !is_looked_up(self.policy, element, list) {
            return None;
        }
        let of_node = depends(self.policy, list, &mut Vec::new()).node;
        let at = self.new_table();
        let (element, list) = (self.value(element), self.value(list));
        Some(Box::new(move |env| {
            let element = element(env);
            let turn = if of_node { env.tables.turn } else { 0 };
            let table = match env.tables.get(at, turn) {
                Some(table) => table,
                None => {
                    let list = list(env);
                    let elements = elements(list, false);
                    let mut by_value: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
                    for (at, (item, _)) in elements.iter().enumerate() {
                        if let Some(hash) = hash_of([item]) {
                            by_value.entry(hash).or_default().push(at as u32);
                        }
                    }
                    env.tables.visited += elements.len() as u64;
                    let table = Arc::new(Table { elements, by_value });
                    if env.is_settled() {
                        env.tables.put(at, turn, table.clone());
                    }
                    table
                }
            };
            env.tables.visited += 1;
            let places = hash_of([&element]).and_then(|hash| table.by_value.get(&hash));
            places.is_some_and(|places| {
                places
                    .iter()
                    .filter_map(|at| table.elements.get(*at as usize))
                    .any(|(item, _)| item.equals(&element))
            })
        }))
    }

    fn new_table(&mut self) -> usize {
        self.tables += 1;
        self.tables - 1
    }
}
