//! [`Source`]: the metrics of the nodes over a window.

use crate::syntax::ast::Text;
use bayplan_diag::Span;
use bayplan_model::Duration;

/// `source NAME = metrics(window: D, max_age: D)`
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// The length of the window, which ends with the newest sample of a node.
    pub window: Duration,
    /// A node whose newest sample is older than this has no metrics.
    pub max_age: Duration,
    /// Its name in the text.
    pub span: Span,
}
