//! Runs both deciders and compares them after each phase. An attempt on which they disagree fails.

use bayplan_engine::{Decider, Memory, Plain, Scan, Selected, TieBreak};
use bayplan_framework::{Cycle, Feasible, Recorder, Silent, Status};
use bayplan_model::{NodeId, NodeSet, Snapshot};

/// Both deciders at once.
#[derive(Default)]
pub(super) struct Verified {
    scan: Scan,
    plain: Plain,
    /// The cycle as the definition left it.
    other: Option<Cycle>,
}

fn differ(what: &str, scan: &dyn std::fmt::Debug, plain: &dyn std::fmt::Debug) -> Status {
    Status::error(format!("the deciders disagree on {what}: {scan:?} and {plain:?}"))
}

/// The methods below run both deciders and never only one.
impl Decider for Verified {
    fn memory(&self) -> &Memory {
        self.scan.memory()
    }

    fn memory_mut(&mut self) -> &mut Memory {
        self.scan.memory_mut()
    }

    fn filter_nodes(&mut self, c: &mut Cycle, s: &Snapshot, nodes: NodeSet) -> Result<NodeSet, Status> {
        self.scan.filter_nodes(c, s, nodes)
    }

    fn score_nodes(
        &mut self,
        c: &Cycle,
        s: &Snapshot,
        on: &NodeSet,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status> {
        self.scan.score_nodes(c, s, on, rec)
    }

    fn set_next_start(&mut self, next: usize) {
        self.scan.set_next_start(next);
        self.plain.set_next_start(next);
    }

    fn filter(&mut self, c: &mut Cycle, s: &Snapshot, rec: &mut dyn Recorder) -> Result<Feasible, Status> {
        let mut other = c.clone();
        let found = self.scan.filter(c, s, rec);
        let defined = self.plain.filter(&mut other, s, &mut Silent);
        let statuses = |cycle: &Cycle| {
            let mut all: Vec<_> =
                cycle.diagnosis.nodes.iter().map(|(node, status)| (node, status.clone())).collect();
            all.sort_by_key(|(node, _)| *node);
            all
        };
        if found != defined {
            return Err(differ("the feasible nodes", &found, &defined));
        }
        // An error ends the attempt, on whichever node it comes first.
        if found.is_ok() && statuses(c) != statuses(&other) {
            return Err(differ("refusals", &statuses(c), &statuses(&other)));
        }
        self.other = Some(other);
        found
    }

    fn score(
        &mut self,
        c: &mut Cycle,
        on: &Feasible,
        s: &Snapshot,
        rec: &mut dyn Recorder,
    ) -> Result<(), Status> {
        let found = self.scan.score(c, on, s, rec);
        let Some(other) = &mut self.other else { return found };
        let defined = self.plain.score(other, on, s, &mut Silent);
        if found != defined {
            return Err(differ("the scores", &found, &defined));
        }
        found
    }

    fn select(
        &mut self,
        c: &Cycle,
        on: &Feasible,
        s: &Snapshot,
        extra: &[(NodeId, i64)],
        tie: TieBreak,
        draw: u64,
        rec: &mut dyn Recorder,
    ) -> Option<Selected> {
        let found = self.scan.select(c, on, s, extra, tie, draw, rec);
        // A clone that was made while an attempt waited for extenders has only one side.
        let Some(other) = &self.other else { return found };
        let defined = self.plain.select(other, on, s, extra, tie, draw, &mut Silent);
        let same = found == defined && self.scan.best() == self.plain.best();
        assert!(same, "the deciders disagree on the choice: {found:?} and {defined:?}");
        found
    }
}
