//! What is said to people about what they wrote: plain data, no drawing.
//!
//! Made by `lang` (policies), `config` (configuration) and `dry_run` (cluster files and tests), printed by
//! `cli` through [`render`]. What a cluster refused is a `framework::Status`, not a diagnostic; what the
//! machine could not do is an error enum of the room where it happened.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod codes;
mod commas;
pub mod draw;
mod embed;
pub mod escape;
mod excerpt;
pub mod fix;
pub mod formats;
pub mod json;
pub mod report;
pub mod source;
pub mod suggest;
mod tally;
pub mod width;

pub use codes::Code;
pub use commas::with_commas;
pub use draw::{Drawn, Look};
pub use report::Report;
pub use source::{Origin, Place, Source, SourceId, SourceMap, Span};
pub use tally::Tally;

/// How much a diagnostic weighs. Ordered from the lightest to the heaviest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; changes no exit status.
    Note,
    /// Probably not what was meant; an error with `--deny warnings`.
    Warning,
    /// The policy is not loaded.
    Error,
}

impl Severity {
    /// The word in texts and JSON: `error`, `warning` or `note`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Something said about one place of a text.
///
/// Messages are lower case, without a full stop, with the user's words in backticks; what to do about it is
/// in `help`, never in `message`.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The row of the table of codes that this is a case of.
    pub code: &'static Code,
    /// Usually the severity of the code; a linter may lift or lower it.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// The place that is wrong.
    pub span: Span,
    /// What stands under the primary place, if the message does not say it already.
    pub label: Option<String>,
    /// Other places that take part, each with its own words.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
    /// What the mistake does in the cluster that was given; only when it was decided on its snapshot.
    pub effect: Option<String>,
    /// Changes that are certain enough to be applied by `lint --fix`.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// A diagnostic of the code's own severity.
    pub fn new(code: &'static Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: code.severity,
            message: message.into(),
            span,
            label: None,
            labels: Vec::new(),
            help: None,
            effect: None,
            fixes: Vec::new(),
        }
    }

    /// Words under the primary place.
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Another place that takes part, with its words.
    pub fn with_place(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// What to do.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What the mistake does in the cluster.
    pub fn with_effect(mut self, effect: impl Into<String>) -> Self {
        self.effect = Some(effect.into());
        self
    }

    /// A fix of one edit: the text at `span` becomes `text`.
    pub fn with_fix(mut self, message: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        self.fixes.push(Fix { message: message.into(), edits: vec![Edit { span, text: text.into() }] });
        self
    }

    /// The same with another severity.
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Whether this keeps a policy from being loaded.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// A secondary place with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there.
    pub message: String,
}

/// A change that removes the cause of a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the change does, as in "write `5min`".
    pub message: String,
    /// The edits, which do not overlap; all of them together are the fix.
    pub edits: Vec<Edit>,
}

/// One replacement of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; an empty span inserts.
    pub span: Span,
    /// What stands there afterwards.
    pub text: String,
}
