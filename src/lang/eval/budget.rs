//! [`Budget`]: what compiling a text may take, counted and never timed, so that the same text is refused
//! on every machine.
//!
//! `lang::compile` makes one for a text, the checker and `constant` count, and [`Budget::report`] names
//! the place that took most when a limit is exceeded.

use crate::language::limits::{MOST_CHECKS, MOST_CONSTANT_EFFORT, MOST_PATTERN_BYTES_OF_ALL};
use crate::types::value::Value;
use bayplan_diag::suggest::Effort;
use bayplan_diag::{Diagnostic, Span, codes, with_commas};
use std::cell::Cell;

/// What a value counts for beside its bytes: what it takes in memory.
pub(super) const ELEMENT: u64 = 32;

/// What compiling a text may take.
#[derive(Debug)]
pub struct Budget {
    /// Expressions and declarations that are checked.
    pub checks: Counter,
    /// Computing constants.
    pub constants: Counter,
    /// Bytes of compiled patterns.
    pub patterns: Counter,
    /// Suggestions in diagnostics. Beyond it there are no more of them, and the text is not refused for that.
    pub suggestions: Effort,
}

impl Default for Budget {
    fn default() -> Self {
        let patterns = u64::try_from(MOST_PATTERN_BYTES_OF_ALL).unwrap_or(u64::MAX);
        Self {
            checks: Counter::new(MOST_CHECKS),
            constants: Counter::new(MOST_CONSTANT_EFFORT),
            patterns: Counter::new(patterns),
            suggestions: Effort::default(),
        }
    }
}

impl Budget {
    /// Whether a limit is exceeded; then the text is refused.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.counters().iter().any(|(counter, _, _)| counter.is_exceeded())
    }

    /// Says which limits are exceeded, at the place that took most.
    pub fn report(&self, diagnostics: &mut Vec<Diagnostic>) {
        for (counter, what, help) in self.counters() {
            if let Some(span) = counter.is_exceeded().then(|| counter.heaviest.get().1) {
                let limit = with_commas(counter.limit.into());
                let message = format!("{what} of this text are more than the limit of {limit}");
                let said = Diagnostic::new(&codes::TOO_LARGE, span, message);
                diagnostics.push(said.with_label("most of them are here").with_help(help));
            }
        }
    }

    fn counters(&self) -> [(&Counter, &'static str, &'static str); 3] {
        [
            (&self.checks, "the steps of checking the policies", "make several files of it"),
            (
                &self.constants,
                "the steps of computing the constants",
                "write shorter texts and lists, or name them less often",
            ),
            (
                &self.patterns,
                "the bytes of the compiled patterns",
                "write shorter patterns: a class or a repetition such as `{100}` counts as often as it is repeated",
            ),
        ]
    }
}

/// A number that may grow up to a limit, and the place that made most of it.
#[derive(Debug)]
pub struct Counter {
    limit: u64,
    spent: Cell<u64>,
    heaviest: Cell<(u64, Span)>,
}

impl Counter {
    /// A number that may grow up to a limit.
    pub fn new(limit: u64) -> Self {
        Self { limit, spent: Cell::new(0), heaviest: Cell::new((0, Span::default())) }
    }

    /// Adds to the number; whether it is within the limit.
    pub fn spend(&self, number: u64) -> bool {
        self.spent.set(self.spent.get().saturating_add(number));
        !self.is_exceeded()
    }

    /// Whether the number is beyond the limit.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.spent.get() > self.limit
    }

    /// The number.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// What is left.
    fn left(&self) -> u64 {
        self.limit.saturating_sub(self.spent.get())
    }

    /// Notes the place at which the number grew since it was `before`.
    pub fn note(&self, before: u64, span: Span) {
        let here = self.spent.get().saturating_sub(before);
        if here > self.heaviest.get().0 {
            self.heaviest.set((here, span));
        }
    }

    /// Counts reading or making values: their bytes, and a few for each element. `false`: there is too
    /// little left.
    pub fn values<'v>(&self, values: impl IntoIterator<Item = &'v Value<'v>>) -> bool {
        let left = self.left();
        let mut bytes = 0u64;
        for value in values {
            measure(value, left, &mut bytes);
        }
        self.spend(bytes)
    }
}

/// Adds the size of a value, as far as a limit.
fn measure(value: &Value<'_>, limit: u64, bytes: &mut u64) {
    *bytes += ELEMENT;
    if *bytes > limit {
        return;
    }
    if let Some(text) = value.as_str() {
        *bytes += text.len() as u64;
    } else if let Some(items) = value.elements() {
        for item in items.iter() {
            measure(item, limit, bytes);
            if *bytes > limit {
                return;
            }
        }
    } else if let Some(entries) = value.entries() {
        for (key, item) in entries.iter() {
            measure(key, limit, bytes);
            measure(item, limit, bytes);
            if *bytes > limit {
                return;
            }
        }
    } else if let Value::Blob(blob) = value {
        *bytes += blob.len() as u64;
    }
}
