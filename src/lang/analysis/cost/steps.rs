//! [`Steps`]: a number of steps, as a sum of products of the numbers of nodes and pods.
//!
//! A step is a bounded piece of work: one expression, one element, one KiB of text. The numbers of
//! nodes and pods stay symbols until the end, so that a bound shows how it grows. Parts that add up
//! over all nodes (the pods on each node) are then counted once and not once per node.

use super::Size;
use smallvec::SmallVec;

/// Something that each node, or each element of a macro, has a part of: see [`Share`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShareId(pub u32);

impl ShareId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Parts of one whole.
#[derive(Clone, Debug)]
pub(super) struct Share {
    /// All parts together.
    pub total: Steps,
    /// The largest part there may be.
    pub most: Steps,
    /// What has a part each.
    pub of: PartitionBy,
}

/// What a share is partitioned by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartitionBy {
    /// The node for which a rule is evaluated.
    Node,
    /// The element of a macro, by its slot.
    Slot(u32),
}

/// Whether the parts of a whole add up when nodes or elements are visited.
#[derive(Clone, Copy, Debug)]
pub(super) enum Summation<'s> {
    /// Each is visited once.
    AddUp,
    /// Some are visited, each once: their parts add up to this.
    AddUpTo(&'s Steps),
    /// One may be visited several times.
    Repeat,
}

/// A product: a factor, powers of the numbers of nodes and of pods, and shares.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    factor: u128,
    nodes: u8,
    pods: u8,
    shares: SmallVec<[ShareId; 2]>,
}

/// A sum of products; its terms differ.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Steps(Vec<Term>);

impl Steps {
    /// A plain number.
    pub(super) fn new(factor: u128) -> Self {
        Self::term(Term { factor, nodes: 0, pods: 0, shares: SmallVec::new() })
    }

    /// As many as there are nodes.
    pub(super) fn nodes() -> Self {
        Self::term(Term { factor: 1, nodes: 1, pods: 0, shares: SmallVec::new() })
    }

    /// As many as there are pods.
    pub(super) fn pods() -> Self {
        Self::term(Term { factor: 1, nodes: 0, pods: 1, shares: SmallVec::new() })
    }

    /// A part of something.
    pub(super) fn share(id: ShareId) -> Self {
        Self::term(Term { factor: 1, nodes: 0, pods: 0, shares: SmallVec::from_elem(id, 1) })
    }

    fn term(term: Term) -> Self {
        if term.factor == 0 { Self::default() } else { Self(vec![term]) }
    }

    /// Adds a term, or joins its factor with that of the term which is the same otherwise.
    fn join_term(&mut self, term: Term, join: fn(u128, u128) -> u128) {
        let same = |known: &&mut Term| {
            known.nodes == term.nodes && known.pods == term.pods && known.shares == term.shares
        };
        match self.0.iter_mut().find(same) {
            Some(known) => known.factor = join(known.factor, term.factor),
            None => self.0.push(term),
        }
    }

    fn add_term(&mut self, term: Term) {
        self.join_term(term, u128::saturating_add);
    }

    /// Adds to it.
    pub(super) fn add(&mut self, other: &Steps) {
        other.0.iter().for_each(|term| self.add_term(term.clone()));
    }

    /// The sum.
    pub(super) fn plus(mut self, other: &Steps) -> Self {
        self.add(other);
        self
    }

    /// The sum with a number.
    pub(super) fn plus_number(self, number: u128) -> Self {
        self.plus(&Steps::new(number))
    }

    /// The product.
    pub(super) fn times(&self, other: &Steps) -> Self {
        let mut product = Steps::default();
        for a in &self.0 {
            for b in &other.0 {
                let mut shares = a.shares.clone();
                shares.extend(b.shares.iter().copied());
                shares.sort_unstable();
                product.add_term(Term {
                    factor: a.factor.saturating_mul(b.factor),
                    nodes: a.nodes.saturating_add(b.nodes),
                    pods: a.pods.saturating_add(b.pods),
                    shares,
                });
            }
        }
        product
    }

    /// Both and more: never below either.
    pub(super) fn or(&self, other: &Steps) -> Self {
        let mut most = self.clone();
        other.0.iter().for_each(|term| most.join_term(term.clone(), u128::max));
        most
    }

    /// So many times this, where `each` has parts of shares: of the first share of a product the
    /// parts may add up, of further parts each counts with its maximum.
    pub(super) fn for_each(
        &self,
        times: &Steps,
        each: PartitionBy,
        parts: Summation<'_>,
        shares: &[Share],
    ) -> Self {
        let mut all = Steps::default();
        for term in &self.0 {
            let mut rest = Steps::term(Term { shares: SmallVec::new(), ..term.clone() });
            let mut whole = None;
            for id in &term.shares {
                match shares.get(id.index()) {
                    Some(share) if share.of == each => match (parts, whole) {
                        (Summation::AddUp, None) => whole = Some(&share.total),
                        (Summation::AddUpTo(all), None) => whole = Some(all),
                        _ => rest = rest.times(&share.most),
                    },
                    _ => rest = rest.times(&Steps::share(*id)),
                }
            }
            all.add(&rest.times(whole.unwrap_or(times)));
        }
        all
    }

    /// The number for a cluster; every part that is left is as large as it may be.
    pub(super) fn at(&self, size: Size, shares: &[Share]) -> u128 {
        let of = |term: &Term| {
            let mut number = term.factor;
            number = number.saturating_mul(u128::from(size.nodes).saturating_pow(u32::from(term.nodes)));
            number = number.saturating_mul(u128::from(size.pods).saturating_pow(u32::from(term.pods)));
            term.shares.iter().fold(number, |number, id| match shares.get(id.index()) {
                Some(share) => number.saturating_mul(share.most.at(size, shares)),
                None => u128::MAX,
            })
        };
        self.0.iter().map(of).fold(0, u128::saturating_add)
    }

    /// Whether it has a share that is partitioned by `each`.
    pub(super) fn has_part_of(&self, each: PartitionBy, shares: &[Share]) -> bool {
        let is_part = |id: &ShareId| shares.get(id.index()).is_some_and(|share| share.of == each);
        self.0.iter().any(|term| term.shares.iter().any(is_part))
    }

    /// How it grows with the cluster: 2 with nodes times nodes, nodes times pods or pods times
    /// pods.
    pub(super) fn degree(&self) -> u8 {
        self.0.iter().map(|term| term.nodes.saturating_add(term.pods)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size::of(10, 100);

    #[test]
    fn parts_add_up_once() {
        let shares = [Share { total: Steps::pods(), most: Steps::new(50), of: PartitionBy::Node }];
        let one = Steps::share(ShareId(0)).times(&Steps::new(3));
        assert_eq!(
            one.for_each(&Steps::nodes(), PartitionBy::Node, Summation::AddUp, &shares).at(SIZE, &shares),
            300
        );
        assert_eq!(
            one.for_each(&Steps::nodes(), PartitionBy::Node, Summation::Repeat, &shares).at(SIZE, &shares),
            1500
        );
        let two = one.times(&Steps::share(ShareId(0)));
        assert_eq!(
            two.for_each(&Steps::nodes(), PartitionBy::Node, Summation::AddUp, &shares).at(SIZE, &shares),
            15_000
        );
        assert_eq!(
            one.for_each(&Steps::nodes(), PartitionBy::Slot(1), Summation::AddUp, &shares).at(SIZE, &shares),
            1500
        );
    }

    #[test]
    fn sums_and_products() {
        let line = Steps::nodes().times(&Steps::new(2)).plus_number(5);
        assert_eq!(line.at(SIZE, &[]), 25);
        assert_eq!(line.degree(), 1);
        let square = line.times(&line);
        assert_eq!((square.at(SIZE, &[]), square.degree()), (625, 2));
        assert_eq!(line.or(&Steps::new(9)).at(SIZE, &[]), 29);
        assert_eq!(Steps::new(u128::MAX).times(&Steps::pods()).at(SIZE, &[]), u128::MAX);
    }
}
