//! Feature gates of Kubernetes that change what a plugin decides and that users may set. `cli::run` reads them from
//! the command line and refuses gates that have only one value here; the registry passes them to plugins.

/// The gates, off unless said, as upstream has them in 1.36.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features {
    /// `TaintTolerationComparisonOperators` (alpha): tolerations with `Gt` and `Lt`. Source: KEP-5471.
    pub taint_toleration_comparison_operators: bool,
}
