//! `DefaultPreemptionArgs`.
//!
//! Source: `pkg/scheduler/apis/config/validation/validation_pluginargs.go`, `ValidateDefaultPreemptionArgs`;
//! `pkg/scheduler/apis/config/v1/defaults.go`.

use bayplan_framework::{ArgsError, Field, Tree};

/// The arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Args {
    /// The share of potential nodes among which candidates are sought.
    min_candidate_nodes_percentage: i64,
    /// The least number of candidates.
    min_candidate_nodes_absolute: i64,
}

impl Default for Args {
    fn default() -> Self {
        Self { min_candidate_nodes_percentage: 10, min_candidate_nodes_absolute: 100 }
    }
}

impl Args {
    /// Reads and checks them.
    pub(super) fn read(tree: &Tree, errors: &mut Vec<ArgsError>) -> Self {
        let names = ["minCandidateNodesPercentage", "minCandidateNodesAbsolute"];
        let fields = Field::root(tree).object(&["apiVersion", "kind", names[0], names[1]], errors);
        let mut args = Self::default();
        if let Some(given) = fields.get(names[0])
            && let Some(percentage) = given.int(errors)
        {
            args.min_candidate_nodes_percentage = percentage;
            if !(0..=100).contains(&percentage) {
                errors.push(given.error("not in valid range [0, 100]"));
            }
        }
        if let Some(given) = fields.get(names[1])
            && let Some(absolute) = given.int(errors)
        {
            args.min_candidate_nodes_absolute = absolute;
            if i32::try_from(absolute).is_err() || absolute < 0 {
                errors.push(given.error("not in valid range [0, inf)"));
            }
        }
        if args.min_candidate_nodes_percentage == 0 && args.min_candidate_nodes_absolute == 0 {
            for (name, other) in [(names[0], names[1]), (names[1], names[0])] {
                let text = format!("cannot be zero at the same time as {other}");
                errors.push(fields.place(name).error(text));
            }
        }
        args
    }

    /// The number of candidates to look for among so many potential nodes.
    pub(super) fn candidates(&self, potential: usize) -> usize {
        let share = potential.saturating_mul(self.min_candidate_nodes_percentage.max(0) as usize) / 100;
        share.max(self.min_candidate_nodes_absolute.max(0) as usize).min(potential)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_counts_where_it_is_more_than_the_least_number() {
        let args = Args::default();
        assert_eq!(args.candidates(5_000), 500);
        assert_eq!(args.candidates(600), 100);
        assert_eq!(args.candidates(7), 7);
        let share = Args { min_candidate_nodes_percentage: 50, min_candidate_nodes_absolute: 0 };
        assert_eq!(share.candidates(5), 2);
    }
}
