//! The `index` stage over collections: `nodes.filter(n, n.labels[k] == node.labels[k])` without walking all nodes for each.
//!
//! Three shapes, found in the typed tree by the functions at the top, which `cost` reads too:
//!
//! - [`equalities`]: a macro over a collection that is the same for all nodes, whose condition holds an equality between
//!   something of the element and something else. Elements are kept by that value; the condition is asked of those that
//!   have the wanted one only.
//! - [`answer_keys`]: what looks at a node only through values that such macros look up. It is computed once for each
//!   value, not once for each node.
//! - [`is_looked_up`]: `x in list`, where the list changes less often than x.
//!
//! Tables and answers live in [`Tables`] of an `Env`: as long as one pass over the nodes for one pod. They are built on
//! first use. Whether an element belongs is always decided by the whole condition, so a table may hold too much and never
//! too little. The expressions themselves are lowered in `expr.rs`.

use super::{Env, Lowering};
use crate::lang::analysis::stage::depends;
use crate::lang::codegen::closures::{BoolFn, ValueFn};
use crate::lang::codegen::loops::elements;
use crate::lang::typed::walk;
use crate::lang::typed::{Expr, ExprKind, Macro, MacroKind, Policy, Root, SlotId};
use crate::lang::types::Type;
use crate::lang::types::value::Value;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The equalities in a macro's condition by which its elements can be kept.
pub struct Equalities<'p> {
    /// Something of the element, and what it is compared with, which does not mention the element.
    pub pairs: Vec<(&'p Expr, &'p Expr)>,
    /// Elements without the wanted values meet the condition: `all(x, x.a != b || …)`.
    pub others_hold: bool,
}

/// The equalities by which the elements of a macro can be kept; `None` where there is none, or where the macro is
/// computed once per pod anyhow.
pub fn equalities<'p>(policy: &Policy, of: &'p Macro) -> Option<Equalities<'p>> {
    let condition = of.condition.as_ref()?;
    if is_written(policy, &of.over) {
        return None;
    }
    let over = depends(policy, &of.over, &mut Vec::new());
    if over.node || over.free {
        return None;
    }
    let own: Vec<SlotId> = std::iter::once(of.slot).chain(of.second).collect();
    let others_hold = of.kind == MacroKind::All && {
        let mut parts = Vec::new();
        alternatives(condition, &mut parts);
        parts
            .iter()
            .any(|part| matches!(&part.kind, ExprKind::Not(inner) if pair(policy, inner, &own).is_some()))
    };
    let mut parts = Vec::new();
    let pairs: Vec<_> = if others_hold {
        alternatives(condition, &mut parts);
        let negated = parts.into_iter().filter_map(|part| match &part.kind {
            ExprKind::Not(inner) => Some(&**inner),
            _ => None,
        });
        negated.filter_map(|part| pair(policy, part, &own)).collect()
    } else {
        conjuncts(condition, &mut parts);
        parts.into_iter().filter_map(|part| pair(policy, part, &own)).collect()
    };
    let changes = pairs.iter().any(|(_, other)| {
        let of = depends(policy, other, &mut Vec::new());
        of.node || of.free
    });
    changes.then_some(Equalities { pairs, others_hold })
}

/// The parts that `&&` joins.
pub fn conjuncts<'e>(expr: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::And(left, right) => {
            conjuncts(left, parts);
            conjuncts(right, parts);
        }
        _ => parts.push(expr),
    }
}

/// The parts that `||` joins.
pub fn alternatives<'e>(expr: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Or(left, right) => {
            alternatives(left, parts);
            alternatives(right, parts);
        }
        _ => parts.push(expr),
    }
}

/// `A == B` with A of the element alone and B without it, both of a type that tables are kept by.
fn pair<'p>(policy: &Policy, expr: &'p Expr, own: &[SlotId]) -> Option<(&'p Expr, &'p Expr)> {
    let ExprKind::Equal(left, right) = &expr.kind else { return None };
    if !is_key(&left.ty) || !is_key(&right.ty) {
        return None;
    }
    [(left, right), (right, left)].into_iter().map(|(a, b)| (&**a, &**b)).find(|(mine, other)| {
        let mut bound: Vec<u32> = own.iter().map(|slot| slot.0).collect();
        let of = depends(policy, mine, &mut bound);
        !of.node && !of.free && walk::mentions(mine, own) && !walk::mentions(other, own)
    })
}

/// Whether values of a type can be keys of a table. Floats are not: equal ones need not look alike.
pub fn is_key(ty: &Type) -> bool {
    match ty.present() {
        Type::String | Type::Bool | Type::Time => true,
        Type::Object(object) => *object == crate::lang::language::fields::ObjectType::Node,
        ty => ty.is_whole(),
    }
}

/// The paths of `node` through which alone an expression looks at the node, where every macro in it that asks for the
/// node looks its elements up by all of them. Then equal values of the paths give equal answers, and all answers
/// together look at each element once.
pub fn answer_keys<'p>(policy: &'p Policy, expr: &'p Expr) -> Option<Vec<&'p Expr>> {
    if !matches!(
        expr.kind,
        ExprKind::Macro(_) | ExprKind::Call(..) | ExprKind::Coalesce(..) | ExprKind::Field(..)
    ) {
        return None;
    }
    let of = depends(policy, expr, &mut Vec::new());
    if !of.node || of.free {
        return None;
    }
    let mut found = Found { policy, keys: Vec::new(), lookups: Vec::new(), whole: false };
    found.look(expr);
    let covered = |others: &Vec<&Expr>| {
        found.keys.iter().all(|key| others.iter().any(|other| same_path(policy, key, other)))
    };
    let fits = !found.whole && !found.lookups.is_empty() && found.lookups.iter().all(covered);
    fits.then_some(found.keys)
}

/// What [`answer_keys`] finds in an expression.
struct Found<'p> {
    policy: &'p Policy,
    /// Paths of `node`, each once.
    keys: Vec<&'p Expr>,
    /// What the elements of each macro that asks for the node are compared with.
    lookups: Vec<Vec<&'p Expr>>,
    /// The node is looked at otherwise.
    whole: bool,
}

impl<'p> Found<'p> {
    fn look(&mut self, expr: &'p Expr) {
        let policy = self.policy;
        // Variables of macros that stand around this part are no node.
        if self.whole || !depends(policy, expr, &mut Vec::new()).node {
            return;
        }
        if is_node_path(policy, expr) && is_key(&expr.ty) {
            if !self.keys.iter().any(|key| same_path(policy, key, expr)) {
                self.keys.push(expr);
            }
            return;
        }
        match &expr.kind {
            ExprKind::Root(Root::Node) => self.whole = true,
            ExprKind::Let(id) => match policy.lets.get(id.0 as usize) {
                Some(of) => self.look(&of.value),
                None => self.whole = true,
            },
            ExprKind::CallDef(id, args) => match policy.defs.get(id.0 as usize) {
                // A def that reads `node` itself: its body is one more part.
                Some(def) => {
                    args.iter().for_each(|arg| self.look(arg));
                    self.look(&def.body);
                }
                None => self.whole = true,
            },
            ExprKind::Macro(of) => {
                let asks = of
                    .condition
                    .iter()
                    .chain(&of.body)
                    .any(|part| depends(policy, part, &mut Vec::new()).node);
                if asks {
                    match equalities(policy, of) {
                        Some(found) => {
                            self.lookups.push(found.pairs.iter().map(|(_, other)| *other).collect())
                        }
                        None => self.whole = true,
                    }
                }
                walk::each_part(expr, &mut |part| self.look(part));
            }
            _ => walk::each_part(expr, &mut |part| self.look(part)),
        }
    }
}

/// A path that begins at `node`, with keys that are constants.
fn is_node_path(policy: &Policy, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Root(Root::Node) => true,
        ExprKind::Field(inner, _) | ExprKind::ApiField(inner, _) | ExprKind::Present(inner) => {
            is_node_path(policy, inner)
        }
        ExprKind::Index(object, key) | ExprKind::Resource(object, key) => {
            is_node_path(policy, object) && crate::lang::analysis::shape::constant(policy, key).is_some()
        }
        ExprKind::Let(id) => policy.lets.get(id.0 as usize).is_some_and(|of| is_node_path(policy, &of.value)),
        _ => false,
    }
}

/// Whether two paths of `node` are the same.
fn same_path(policy: &Policy, left: &Expr, right: &Expr) -> bool {
    let (left, right) = (
        crate::lang::analysis::shape::resolve_alias(policy, left),
        crate::lang::analysis::shape::resolve_alias(policy, right),
    );
    match (&left.kind, &right.kind) {
        (ExprKind::Root(left), ExprKind::Root(right)) => left == right,
        (ExprKind::Field(a, left), ExprKind::Field(b, right)) => left == right && same_path(policy, a, b),
        (ExprKind::ApiField(a, left), ExprKind::ApiField(b, right)) => {
            left == right && same_path(policy, a, b)
        }
        (ExprKind::Index(a, left), ExprKind::Index(b, right))
        | (ExprKind::Resource(a, left), ExprKind::Resource(b, right)) => {
            let (left, right) = (
                crate::lang::analysis::shape::constant(policy, left),
                crate::lang::analysis::shape::constant(policy, right),
            );
            matches!((left, right), (Some(left), Some(right)) if left.equals(&right))
                && same_path(policy, a, b)
        }
        _ => false,
    }
}

/// Whether a list stands in the text of the policy: it is short, and walked.
fn is_written(policy: &Policy, list: &Expr) -> bool {
    matches!(list.kind, ExprKind::List(_)) || crate::lang::analysis::shape::constant(policy, list).is_some()
}

/// Whether `x in list` is answered by a table of the list: it changes less often than x.
pub fn is_looked_up(policy: &Policy, element: &Expr, list: &Expr) -> bool {
    let (Type::List(of) | Type::Set(of)) = list.ty.present() else { return false };
    if !is_key(of) || !is_key(&element.ty) {
        return false;
    }
    if is_written(policy, list) {
        return false;
    }
    let (x, of) = (depends(policy, element, &mut Vec::new()), depends(policy, list, &mut Vec::new()));
    !of.free && (x.free || x.node && !of.node)
}

/// Elements by the values that they are looked up by.
pub struct Table<'a> {
    elements: Vec<(Value<'a>, Value<'a>)>,
    by_value: FxHashMap<u64, Vec<u32>>,
}

/// Answers for one combination of values, several where their hashes are equal.
type Answers<'a> = FxHashMap<u64, Vec<(Vec<Value<'a>>, Value<'a>)>>;

/// The tables and answers of an environment, by number. They are good for one pod and one state of the cluster.
#[derive(Default)]
pub struct Tables<'a> {
    tables: Vec<Option<(u32, Arc<Table<'a>>)>>,
    answers: Vec<Answers<'a>>,
    /// Which node is looked at, counted; tables of a list of the node are good for one.
    turn: u32,
    /// How many elements were looked at through tables, those that built them included.
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

    /// A table of this turn; 0 for one of all turns.
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
        let (_, answer) = known.iter().find(|(of, _)| of.iter().zip(keys).all(|(a, b)| is_same(a, b)))?;
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

/// Equal, or both absent.
fn is_same(a: &Value<'_>, b: &Value<'_>) -> bool {
    a.equals(b) || a.is_absent() && b.is_absent()
}

/// Adds a value to a hash such that equal values of one type give equal hashes; false for an absent one.
fn add(value: &Value<'_>, hasher: &mut FxHasher) -> bool {
    match value {
        Value::Absent => return false,
        Value::Bool(truth) => truth.hash(hasher),
        Value::Int(number) => number.hash(hasher),
        Value::Time(time) => time.0.hash(hasher),
        Value::Node(node) => node.row().hash(hasher),
        other => {
            if let Some(text) = other.as_str() {
                text.hash(hasher);
            }
        }
    }
    true
}

fn hash_of<'v, 'a: 'v>(values: impl IntoIterator<Item = &'v Value<'a>>) -> Option<u64> {
    let mut hasher = FxHasher::default();
    let all = values.into_iter().all(|value| add(value, &mut hasher));
    all.then(|| hasher.finish())
}

/// How the elements of a macro are looked up.
pub(super) struct ByValue {
    at: usize,
    over: ValueFn,
    mine: Vec<ValueFn>,
    wanted: Vec<ValueFn>,
    slot: SlotId,
    second: Option<SlotId>,
    /// Elements that are not looked up meet the condition.
    pub others_hold: bool,
}

impl ByValue {
    /// The elements that may have the wanted values, in their order, and how many there are in all.
    pub fn candidates<'a>(&self, env: &mut Env<'a, '_>) -> (Vec<(Value<'a>, Value<'a>)>, usize) {
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
            crate::lang::codegen::closures::bind(env, self.slot, item.clone());
            if let Some(slot) = self.second {
                crate::lang::codegen::closures::bind(env, slot, second.clone());
            }
            let mut hasher = FxHasher::default();
            if self.mine.iter().all(|mine| add(&mine(env), &mut hasher)) {
                by_value.entry(hasher.finish()).or_default().push(at as u32);
            }
        }
        env.tables.visited += elements.len() as u64;
        let table = Arc::new(Table { elements, by_value });
        env.tables.put(self.at, 0, table.clone());
        table
    }
}

impl Lowering<'_> {
    /// How the elements of a macro are looked up; `None` where they are walked.
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

    /// An expression whose answer is remembered by what it looks at of the node; `None` for every other.
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
        Some(crate::lang::codegen::closures::as_value(move |env| {
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
            env.tables.remember(at, hash, values, answer.clone());
            answer
        }))
    }

    /// `x in list` by a table of the list; `None` where the list is walked.
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
                    env.tables.put(at, turn, table.clone());
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
