//! How many errors, warnings and notes there are, for the last line of a report.

use super::{Diagnostic, Severity};

/// How many of each severity there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
}

impl Tally {
    /// Counts a list.
    pub fn of(diagnostics: &[Diagnostic]) -> Self {
        let count = |severity| diagnostics.iter().filter(|d| d.severity == severity).count();
        Tally {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
        }
    }

    /// `2 errors, 1 warning`; `no mistakes` when there is nothing.
    pub fn sentence(&self) -> String {
        let parts = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}{}", if *count == 1 { "" } else { "s" }))
            .collect();
        if parts.is_empty() { "no mistakes".to_owned() } else { parts.join(", ") }
    }
}
