//! Diagnostics: what is wrong with a text that a person wrote, where, why, and the way out.
//!
//! Made by `lang` (policies), `config` (configurations) and `dry_run` (cluster files and tests). Printed by
//! `cli`: for people through [`draw`], for programs through [`json`] and [`formats`]. What a cluster refuses
//! is a `framework::Status`; a failure of the machine is an error enum of the room where it happens.

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
pub mod unbroken;
pub mod width;

pub use codes::Code;
pub use commas::with_commas;
pub use draw::{Drawn, Look};
pub use embed::Embedded;
pub use report::Report;
pub use source::{Form, Origin, Place, Source, SourceId, SourceMap, Span};
pub use tally::Tally;

/// How severe a diagnostic is, from the least to the most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; an error only with `--deny notes`.
    Note,
    /// Probably not intended; an error with `--deny warnings`.
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

/// A finding at one place of a text.
///
/// Messages are lower case, without a full stop, with the user's words in backticks. `message` says what is
/// wrong, `help` what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The row in the table of codes.
    pub code: &'static Code,
    /// The severity of the code, unless an option changes it.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// The place that is wrong.
    pub span: Span,
    /// Words under the place, if they add to the message.
    pub label: Option<String>,
    /// Related places, each with its own words.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
    /// What the mistake does in a given cluster (`lint --cluster`), decided on its snapshot.
    pub effect: Option<String>,
    /// Changes that mend it; [`FixClass`] says who may apply them.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// A diagnostic with the severity of its code.
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

    /// Sets the words under the place.
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds a related place with its words.
    pub fn with_place(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Sets what to do.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets what the mistake does in the cluster.
    pub fn with_effect(mut self, effect: impl Into<String>) -> Self {
        self.effect = Some(effect.into());
        self
    }

    /// Adds a fix that replaces the text at `span` by `text`.
    pub fn with_fix(self, message: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        self.with_edits(message, vec![Edit { span, text: text.into() }])
    }

    /// Adds a fix. Of a mistake it is certain, since the text means nothing yet; what is reported for a text that compiles may
    /// change what the text decides, unless [`Diagnostic::keeping_decisions`] says otherwise.
    pub fn with_edits(mut self, message: impl Into<String>, edits: Vec<Edit>) -> Self {
        let class = match () {
            () if edits.iter().any(|edit| has_placeholder(&edit.text)) => FixClass::Placeholders,
            () if self.is_error() => FixClass::Certain,
            () => FixClass::MayChangeDecisions,
        };
        self.fixes.push(Fix { message: message.into(), edits, class });
        self
    }

    /// Says that the last fix leaves every decision as it is.
    pub fn keeping_decisions(mut self) -> Self {
        if let Some(fix) = self.fixes.last_mut() {
            fix.class = FixClass::Certain;
        }
        self
    }

    /// Says that the last fix is one of several that may be meant.
    pub fn guessed(mut self) -> Self {
        if let Some(fix) = self.fixes.last_mut() {
            fix.class = FixClass::MayChangeDecisions;
        }
        self
    }

    /// Sets the severity.
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Whether it keeps a policy from being loaded.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Whether a text has `…` outside of quotes.
fn has_placeholder(text: &str) -> bool {
    text.split(['"', '\'']).step_by(2).any(|part| part.contains('…'))
}

/// A related place with its words.
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
    /// Who may apply it.
    pub class: FixClass,
}

/// Who may apply a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixClass {
    /// `lint --fix`: no decision changes, since the text means the same with it, or means nothing without it.
    Certain,
    /// `lint --fix --unsafe-fixes`: a person decides whether it is meant.
    MayChangeDecisions,
    /// Only editors apply it: a person fills in what `…` stands for.
    Placeholders,
}

impl FixClass {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            FixClass::Certain => "certain",
            FixClass::MayChangeDecisions => "may-change-decisions",
            FixClass::Placeholders => "placeholders",
        }
    }
}

/// One replacement of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; an empty span inserts.
    pub span: Span,
    /// The new text.
    pub text: String,
}
