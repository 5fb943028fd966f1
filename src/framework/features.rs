//! Kubernetes' feature gates that change what a plugin decides and that may be turned. Read from the command line by
//! `cli::run`, handed to plugins by the registry. Gates with one possible value here are refused there.

/// The gates, off unless said, as upstream has them in 1.36.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features {
    /// `TaintTolerationComparisonOperators` (alpha): tolerations with `Gt` and `Lt`. Source: KEP-5471.
    pub taint_toleration_comparison_operators: bool,
}
