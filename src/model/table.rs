//! [`Table`]: values ordered by namespace and name, in blocks, so that a write after a fork copies one block and not the
//! whole table.

use crate::symbol::Symbol;
use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Something with a place in a [`Table`].
pub(super) trait Placed {
    fn place(&self) -> (&Symbol, &Symbol);
}

/// A value, and a hash of its place: who looks for one value compares these words, which lie side by side, and not the
/// texts of the values.
#[derive(Debug)]
struct Entry<T> {
    hash: u64,
    value: Arc<T>,
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self { hash: self.hash, value: self.value.clone() }
    }
}

fn hash(namespace: &Symbol, name: &Symbol) -> u64 {
    rustc_hash::FxBuildHasher.hash_one((namespace, name))
}

/// Values ordered by namespace and name.
#[derive(Debug)]
pub(super) struct Table<T> {
    /// No block is empty.
    blocks: Vec<Arc<Vec<Entry<T>>>>,
    len: usize,
}

impl<T> Clone for Table<T> {
    fn clone(&self) -> Self {
        Self { blocks: self.blocks.clone(), len: self.len }
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), len: 0 }
    }
}

/// Equal values, whatever the blocks.
impl<T: Placed + Clone + PartialEq> PartialEq for Table<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.all().eq(other.all())
    }
}

/// A block of twice this size is split.
const HALF: usize = 64;

impl<T: Placed> Entry<T> {
    fn order(&self, namespace: &Symbol, name: &Symbol) -> Ordering {
        let (of, named) = self.value.place();
        of.cmp(namespace).then_with(|| named.cmp(name))
    }
}

impl<T: Placed + Clone> Table<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The block that a place belongs to.
    fn block(&self, namespace: &Symbol, name: &Symbol) -> usize {
        let is_before = |block: &Arc<Vec<Entry<T>>>| {
            block.first().is_some_and(|first| first.order(namespace, name).is_le())
        };
        self.blocks.partition_point(is_before).saturating_sub(1)
    }

    /// The block that a place belongs to, and the position in it: of the value, or where it would be.
    fn find(&self, namespace: &Symbol, name: &Symbol) -> (usize, Result<usize, usize>) {
        let at = self.block(namespace, name);
        let order = |entry: &Entry<T>| entry.order(namespace, name);
        (at, self.blocks.get(at).map_or(Err(0), |block| block.binary_search_by(order)))
    }

    pub(super) fn get(&self, namespace: &Symbol, name: &Symbol) -> Option<&T> {
        let (block, hash) = (self.blocks.get(self.block(namespace, name))?, hash(namespace, name));
        let mut like = block.iter().filter(|entry| entry.hash == hash);
        let found = like.find(|entry| entry.value.place() == (namespace, name))?;
        Some(&*found.value)
    }

    /// The value, to be changed but for its place. Where a fork has it too, it is copied.
    pub(super) fn get_mut(&mut self, namespace: &Symbol, name: &Symbol) -> Option<&mut T> {
        let (block, at) = self.find(namespace, name);
        let block = Arc::make_mut(self.blocks.get_mut(block)?);
        Some(Arc::make_mut(&mut block.get_mut(at.ok()?)?.value))
    }

    /// Puts a value into its place; returns the value that was there.
    pub(super) fn put(&mut self, value: T) -> Option<Arc<T>> {
        let (namespace, name) = value.place();
        let (at, place) = self.find(namespace, name);
        let value = Entry { hash: hash(namespace, name), value: Arc::new(value) };
        let Some(block) = self.blocks.get_mut(at).map(Arc::make_mut) else {
            self.blocks.push(Arc::new(vec![value]));
            self.len += 1;
            return None;
        };
        match place {
            Ok(place) => block.get_mut(place).map(|old| std::mem::replace(old, value).value),
            Err(place) => {
                block.insert(place, value);
                self.len += 1;
                if block.len() == 2 * HALF {
                    let right = block.split_off(HALF);
                    self.blocks.insert(at + 1, Arc::new(right));
                }
                None
            }
        }
    }

    pub(super) fn remove(&mut self, namespace: &Symbol, name: &Symbol) -> Option<Arc<T>> {
        let (at, place) = self.find(namespace, name);
        let place = place.ok()?;
        let block = Arc::make_mut(self.blocks.get_mut(at)?);
        let value = block.remove(place).value;
        let left = block.len();
        self.len -= 1;
        if left == 0 {
            self.blocks.remove(at);
        } else if left < HALF / 2 {
            self.join(at);
        }
        Some(value)
    }

    /// Joins a small block with a neighbour, when both fit into one.
    fn join(&mut self, at: usize) {
        let length = |at: usize| self.blocks.get(at).map_or(HALF, |block| block.len());
        let left = [Some(at), at.checked_sub(1)].into_iter().flatten();
        let Some(left) = left.into_iter().find(|left| length(*left) + length(left + 1) < HALF) else {
            return;
        };
        let right = self.blocks.remove(left + 1);
        if let Some(left) = self.blocks.get_mut(left) {
            Arc::make_mut(left).extend(right.iter().cloned());
        }
    }

    /// All values, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flat_map(|block| block.iter()).map(|entry| &*entry.value)
    }

    /// The values of a namespace, by name.
    pub(super) fn within<'t>(&'t self, namespace: &Symbol) -> impl Iterator<Item = &'t T> + use<'t, T> {
        let (block, at) = self.find(namespace, &Symbol::default());
        let (Ok(at) | Err(at)) = at;
        let rest = self.blocks.iter().skip(block).flat_map(|block| block.iter()).skip(at);
        let namespace = namespace.clone();
        rest.map(|entry| &*entry.value).take_while(move |value| *value.place().0 == namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug, PartialEq)]
    struct Value {
        namespace: Symbol,
        name: Symbol,
        value: u32,
    }

    impl Placed for Value {
        fn place(&self) -> (&Symbol, &Symbol) {
            (&self.namespace, &self.name)
        }
    }

    #[derive(Clone, Debug)]
    enum Act {
        Put(u8, u16, u32),
        Remove(u8, u16),
        Fork,
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let (space, name) = (0..3u8, 0..400u16);
        let act = prop_oneof![
            6 => (space.clone(), name.clone(), any::<u32>()).prop_map(|(s, n, v)| Act::Put(s, n, v)),
            4 => (space, name).prop_map(|(s, n)| Act::Remove(s, n)),
            1 => Just(Act::Fork),
        ];
        proptest::collection::vec(act, 0..2_000)
    }

    fn symbols(namespace: u8, name: u16) -> (Symbol, Symbol) {
        (Symbol::new(&format!("ns-{namespace}")), Symbol::new(&format!("name-of-{name:04}")))
    }

    fn check(table: &Table<Value>, model: &BTreeMap<(Symbol, Symbol), u32>) {
        let of = |value: &Value| ((value.namespace.clone(), value.name.clone()), value.value);
        let all: Vec<_> = table.all().map(of).collect();
        assert_eq!(all, model.iter().map(|(key, value)| (key.clone(), *value)).collect::<Vec<_>>());
        assert_eq!(table.len(), model.len());
        for name in (0..400).step_by(7) {
            let (space, name) = symbols((name % 3) as u8, name);
            let found = table.get(&space, &name).map(|value| value.value);
            assert_eq!(found, model.get(&(space, name)).copied());
        }
        for space in 0..4 {
            let (namespace, _) = symbols(space, 0);
            let within: Vec<_> = table.within(&namespace).map(of).collect();
            assert_eq!(within, all.iter().filter(|(key, _)| key.0 == namespace).cloned().collect::<Vec<_>>());
        }
        assert!(table.blocks.iter().all(|block| !block.is_empty() && block.len() < 2 * HALF));
        assert!(table.blocks.len() <= 1 + model.len() / (HALF / 4), "small blocks are joined");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_table_is_an_ordered_map_whose_forks_are_independent(acts in acts()) {
            let (mut table, mut model) = (Table::<Value>::default(), BTreeMap::new());
            let mut fork = (table.clone(), model.clone());
            for act in acts {
                match act {
                    Act::Put(space, name, value) => {
                        let (namespace, name) = symbols(space, name);
                        let old = table.put(Value { namespace: namespace.clone(), name: name.clone(), value });
                        prop_assert_eq!(old.map(|old| old.value), model.insert((namespace, name), value));
                    }
                    Act::Remove(space, name) => {
                        let (namespace, name) = symbols(space, name);
                        let old = table.remove(&namespace, &name);
                        prop_assert_eq!(old.map(|old| old.value), model.remove(&(namespace, name)));
                    }
                    Act::Fork => {
                        check(&fork.0, &fork.1);
                        fork = (table.clone(), model.clone());
                    }
                }
            }
            check(&table, &model);
            check(&fork.0, &fork.1);
        }
    }
}
