//! [`Finding`]: what a check says.

/// How much it matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Good to know; nothing has to be done.
    Note,
    /// Something is worse than it could be, or will be.
    Warning,
    /// Pods wait, or policies do not hold.
    Error,
}

impl Severity {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What is the case, as one sentence without a full stop.
    pub what: String,
    /// Why it matters, or how it came about; a sentence without a full stop.
    pub why: String,
    /// What to type; empty if there is nothing to do.
    pub command: String,
}

impl Finding {
    fn new(severity: Severity, what: impl Into<String>) -> Self {
        Self { severity, what: what.into(), why: String::new(), command: String::new() }
    }

    pub(super) fn error(what: impl Into<String>) -> Self {
        Self::new(Severity::Error, what)
    }

    pub(super) fn warning(what: impl Into<String>) -> Self {
        Self::new(Severity::Warning, what)
    }

    pub(super) fn note(what: impl Into<String>) -> Self {
        Self::new(Severity::Note, what)
    }

    pub(super) fn because(self, why: impl Into<String>) -> Self {
        Self { why: why.into(), ..self }
    }

    pub(super) fn then(self, command: impl Into<String>) -> Self {
        Self { command: command.into(), ..self }
    }
}
