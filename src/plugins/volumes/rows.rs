//! [`LabelRows`]: the nodes on which a requirement on a label holds, a word of 64 rows at a time.
//!
//! Affinities of bound volumes are compared over columns of topology domains, not node by node.

use bayplan_model::{DomainColumn, Requirement, SelectorOperator, Symbol, rows_where};
use smallvec::SmallVec;
use std::sync::Arc;

/// With more values than this a table is faster than comparisons with each.
const FEW: usize = 4;

/// Where a requirement on a node label holds.
pub(crate) struct LabelRows {
    column: Arc<DomainColumn>,
    holds: Holds,
}

enum Holds {
    /// In these domains.
    In(SmallVec<[u32; FEW]>),
    /// By the number of the domain; the last is that of nodes without the label.
    Table(Vec<bool>),
}

impl LabelRows {
    /// The nodes whose label, whose domains are given, has one of some values.
    pub(crate) fn one_of(column: Arc<DomainColumn>, values: &[Symbol]) -> Self {
        let numbers = values.iter().filter_map(|value| column.number(value));
        if values.len() <= FEW {
            let holds = Holds::In(numbers.map(|number| number as u32).collect());
            return Self { column, holds };
        }
        let mut table = vec![false; column.len() + 1];
        numbers.for_each(|number| table[number] = true);
        Self { column, holds: Holds::Table(table) }
    }

    /// The nodes on which a requirement holds; `column` is that of its key.
    pub(crate) fn of(column: Arc<DomainColumn>, requirement: &Requirement) -> Self {
        if requirement.operator == SelectorOperator::In {
            return Self::one_of(column, &requirement.values);
        }
        let holds = |number| requirement.holds(column.value(number));
        let table = (0..=column.len()).map(holds).collect();
        Self { column, holds: Holds::Table(table) }
    }

    /// The rows of a word.
    pub(crate) fn word(&self, word: usize) -> u64 {
        let of_row = self.column.of_row();
        match &self.holds {
            Holds::In(numbers) => numbers
                .iter()
                .fold(0, |rows, number| rows | rows_where(of_row, word, |domain| domain == number)),
            Holds::Table(table) => {
                let absent = table.last().copied().unwrap_or_default();
                rows_where(of_row, word, |domain| table.get(*domain as usize).copied().unwrap_or(absent))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_model::testing::node;
    use bayplan_model::{Change, Snapshot};

    #[test]
    fn every_operator_holds_where_it_holds_for_the_label() {
        let mut snapshot = Snapshot::default();
        for at in 0..130usize {
            let made = node(&format!("n{at}"));
            let labelled = if at % 7 == 0 { made } else { made.label("k", &(at % 12).to_string()) };
            snapshot.apply(Change::NodeUpserted { node: labelled.build() });
        }
        let key = Symbol::new("k");
        let column = snapshot.domains(&key);
        let values =
            |count: usize| (0..count).map(|at| Symbol::from((at * 2).to_string())).collect::<Vec<_>>();
        let of = |operator, values: Vec<Symbol>, number| Requirement {
            key: key.clone(),
            operator,
            values: values.into(),
            number,
        };
        use SelectorOperator as Op;
        for requirement in [
            of(Op::In, values(0), 0),
            of(Op::In, values(1), 0),
            of(Op::In, values(4), 0),
            of(Op::In, values(9), 0),
            of(Op::NotIn, values(3), 0),
            of(Op::Exists, values(0), 0),
            of(Op::DoesNotExist, values(0), 0),
            of(Op::Gt, values(0), 5),
            of(Op::Lt, values(0), 5),
        ] {
            let rows = LabelRows::of(column.clone(), &requirement);
            for node in snapshot.nodes() {
                let (word, bit) = (node.id().row() / 64, node.id().row() % 64);
                let holds = rows.word(word) >> bit & 1 == 1;
                assert_eq!(holds, requirement.holds(node.label(&key)), "{requirement:?}");
            }
        }
    }
}
