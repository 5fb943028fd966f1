//! `score` and `prefer`: raw values of the feasible nodes, normalised per statement, weighted and
//! summed.
//!
//! PreScore, which knows the feasible nodes, computes everything; Score reads the sums.

use super::PolicyPlugin;
use super::attempt::Attempt;
use bayplan_framework::{
    Feasible, Handle, MAX_SCORE, PartialScore, PreScore, PreScoreOutcome, RuleFault, Score, StateSlot,
    Status, TimedPoint,
};
use bayplan_lang::codegen::ColumnScan;
use bayplan_lang::syntax::ast::OnError;
use bayplan_model::{NodeInfo, NodeSet, Symbol, block, blocks_mut};
use std::sync::Arc;

/// The scores of the feasible nodes, by row.
pub(super) struct Scores {
    totals: Vec<i64>,
    statements: Vec<Statement>,
    /// The first fault of each statement that left nodes out.
    faults: Vec<Arc<RuleFault>>,
}

struct Statement {
    name: Symbol,
    weight: i64,
    /// 0 to 100.
    scores: Vec<i64>,
}

impl PolicyPlugin {
    fn scores(&self, h: &Handle<'_>, attempt: &Attempt, nodes: &NodeSet) -> Result<Scores, Status> {
        let inputs = &self.compiled.statements.inputs;
        // Scores never see a simulation.
        let context = self.context(h, None);
        let mut scan = ColumnScan::new(&self.compiled.policy, inputs, context, &attempt.registers);
        let mut totals = vec![0i64; nodes.words().len() * 64];
        let mut faults = Vec::new();
        let statements = self.compiled.statements.scores.iter().enumerate().map(|(at, score)| {
            let rule = self.number_of_score(at);
            let raw = self.timed(h, TimedPoint::PreScore, rule, || score.raw_range(&mut scan, nodes));
            // Without `error` the node is left out.
            let failed = std::mem::take(&mut scan.failed);
            if let Some((_, fault)) = failed.first() {
                if score.on_error == OnError::Error {
                    return Err(self.failed(rule, score.on_error, fault, false));
                }
                faults.push(self.fault_of(rule, fault));
            }
            let scores = raw.normalized(score.normalize, score.reversed);
            for (total, score_of_node) in totals.iter_mut().zip(&scores) {
                *total = total.saturating_add(score.weight.saturating_mul(*score_of_node));
            }
            Ok(Statement { name: score.name.clone(), weight: score.weight, scores })
        });
        let statements = statements.collect::<Result<_, _>>()?;
        Ok(Scores { totals, statements, faults })
    }
}

impl PreScore for PolicyPlugin {
    fn pre_score(
        &self,
        h: &Handle,
        feasible: &Feasible,
        state: &mut StateSlot,
    ) -> Result<PreScoreOutcome, Status> {
        if state.get::<Attempt>().is_none() {
            let begun = self.begin(h);
            begun.left?;
            state.put(begun.attempt);
        }
        let Some(attempt) = state.get_mut::<Attempt>() else { return Ok(PreScoreOutcome::Skip) };
        if !attempt.applies {
            return Ok(PreScoreOutcome::Skip);
        }
        let scores = self.scores(h, attempt, &feasible.nodes)?;
        let faults = scores.faults.clone();
        attempt.scores = Some(Arc::new(scores));
        faults.into_iter().for_each(|fault| state.note_fault(fault));
        Ok(PreScoreOutcome::Score)
    }
}

impl Score for PolicyPlugin {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        let scores = h.state::<Attempt>().and_then(|attempt| attempt.scores.as_ref());
        Ok(scores.and_then(|scores| scores.totals.get(node.id().row())).copied().unwrap_or(0))
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        let scores = h.state::<Attempt>().and_then(|attempt| attempt.scores.as_ref());
        for (word, _, out) in blocks_mut(nodes, out) {
            *out = scores.and_then(|scores| block(&scores.totals, word)).copied().unwrap_or([0; 64]);
        }
        Ok(())
    }

    fn largest(&self) -> i64 {
        let scores = &self.compiled.statements.scores;
        scores.iter().fold(0, |sum: i64, score| sum.saturating_add(score.weight.saturating_mul(MAX_SCORE)))
    }

    fn partial_scores(&self, h: &Handle, feasible: &Feasible, node: NodeInfo) -> Vec<PartialScore> {
        let Some(attempt) = h.state::<Attempt>().filter(|attempt| attempt.applies) else { return Vec::new() };
        let scores = match &attempt.scores {
            Some(scores) => scores.clone(),
            None => match self.scores(h, attempt, &feasible.nodes) {
                Ok(scores) => Arc::new(scores),
                Err(_) => return Vec::new(),
            },
        };
        let row = node.id().row();
        scores
            .statements
            .iter()
            .map(|of| PartialScore {
                name: of.name.clone(),
                score: of.scores.get(row).copied().unwrap_or(0),
                weight: of.weight,
            })
            .collect()
    }
}
