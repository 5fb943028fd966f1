//! Conditions of policies over all test files. Several files may test one policy, and each reads its
//! text again, so a condition is identified by file and place.

use crate::cli::explain::tree::one_line;
use crate::diag::SourceMap;
use crate::lang::analysis::coverage::Coverage;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A condition with its place.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// The file as the tests name it, and the line.
    pub(super) place: String,
    /// The condition, on one line.
    pub(super) text: String,
    pub(super) seen_true: bool,
    pub(super) seen_false: bool,
    pub(super) seen_error: bool,
}

impl Placed {
    /// The outcome that no test has seen; `None` when tests have seen both.
    pub(super) fn missing(&self) -> Option<&'static str> {
        match (self.seen_true, self.seen_false) {
            (true, true) => None,
            (true, false) => Some("never false"),
            (false, true) => Some("never true"),
            (false, false) if self.seen_error => Some("never without an error"),
            (false, false) => Some("never evaluated"),
        }
    }
}

/// All conditions, in the order of files and places.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    known: BTreeMap<(PathBuf, usize, usize), Placed>,
}

impl Conditions {
    /// Adds the coverage of one test file.
    pub(super) fn add(&mut self, sources: &SourceMap, coverage: &Coverage) {
        for condition in coverage.conditions() {
            let Some(file) = sources.file(condition.span) else { continue };
            let (start, end) = sources.places(condition.span);
            let path = Path::new(file.name());
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let known = self.known.entry((path, start.offset, end.offset)).or_insert_with(|| Placed {
                place: format!("{}:{}", plain(file.name()), start.line),
                text: one_line(sources.text(condition.span)),
                seen_true: false,
                seen_false: false,
                seen_error: false,
            });
            known.seen_true |= condition.seen_true;
            known.seen_false |= condition.seen_false;
            known.seen_error |= condition.seen_error;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The conditions that were not seen both true and false.
    pub(super) fn uncovered(&self) -> Vec<&Placed> {
        self.known.values().filter(|condition| condition.missing().is_some()).collect()
    }
}

/// A path without `a/../` in it.
fn plain(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match (part, parts.last()) {
            ("..", Some(last)) if !matches!(*last, ".." | "" | ".") => {
                parts.pop();
            }
            (".", Some(_)) => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}
