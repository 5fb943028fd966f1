//! Closures that see nothing of a node but some of its labels: `same.count(s, s.node.labels["rack"] ==
//! node.labels["rack"])`. A scan computes them once for each value of these labels, not once for each node.

use super::{ColumnInputs, ColumnScan, LabelColumn, LabelValues};
use crate::analysis::faults::may_fail;
use crate::analysis::index::answer_keys;
use crate::analysis::shape;
use crate::codegen::{Env, Lowering};
use crate::typed::Expr;
use bayplan_model::{NodeId, Symbol};

/// A closure with the labels that it reads of the node.
pub struct ByLabels<F> {
    /// Their places in the inputs.
    labels: Vec<usize>,
    /// Its number among such closures.
    at: usize,
    /// Computes the value for the node of the environment.
    pub of: F,
}

impl Lowering<'_> {
    /// The closure of an expression that reads nothing of the node but labels with constant keys; `None` for others.
    pub(super) fn by_labels<F>(
        &mut self,
        expr: &Expr,
        inputs: &mut ColumnInputs,
        lower: impl FnOnce(&mut Self, &Expr) -> F,
    ) -> Option<ByLabels<F>> {
        // A fault is kept for each node.
        let keys = answer_keys(self.policy, expr).filter(|_| !may_fail(self.policy, expr))?;
        let keys: Vec<Symbol> =
            keys.into_iter().map(|key| shape::node_label(self.policy, key)).collect::<Option<_>>()?;
        let labels = keys.into_iter().map(|key| inputs.label(key)).collect();
        let at = inputs.by_labels;
        inputs.by_labels += 1;
        Some(ByLabels { labels, at, of: lower(self, expr) })
    }
}

impl<F> ByLabels<F> {
    /// The bits of the value for a row; `compute` runs once for each value of the labels.
    pub(super) fn value<'a, 'e>(
        &self,
        scan: &mut ColumnScan<'a, 'e>,
        row: usize,
        compute: impl FnOnce(&F, &mut Env<'a, 'e>) -> u64,
    ) -> u64 {
        let values: LabelValues<'a> = self.labels.iter().map(|label| scan.label_of(*label, row)).collect();
        if let Some(known) = scan.by_labels.get(self.at).and_then(|known| known.get(&values)) {
            return *known;
        }
        if !scan.turn_to(row) {
            return 0;
        }
        let value = compute(&self.of, &mut scan.env);
        if scan.env.is_settled()
            && let Some(known) = scan.by_labels.get_mut(self.at)
        {
            known.insert(values, value);
        }
        value
    }
}

impl<'a> ColumnScan<'a, '_> {
    /// The label of a row.
    fn label_of(&self, at: usize, row: usize) -> Option<&'a Symbol> {
        match self.labels.get(at)? {
            LabelColumn::Kept(column) => column.get(row)?.as_ref(),
            LabelColumn::NotKept(key) => self.env.context.snapshot.node(NodeId::from_row(row))?.label(key),
        }
    }
}
