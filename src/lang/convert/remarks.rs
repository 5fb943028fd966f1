//! Comments with the statement that they are above: each goes with what begins below it, or on its line. What describes it
//! stays apart from notes: readers of explanations see the one, and not a licence.

use crate::syntax::ast::*;
use bayplan_diag::{Source, Span};
use std::collections::BTreeMap;

/// The comments of an item or a statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Comments {
    /// Lines for readers of the file, and for the linter.
    pub(super) notes: Vec<String>,
    /// The lines of its description.
    pub(super) doc: Vec<String>,
}

impl Comments {
    /// With those of what is written as a part of it.
    pub(super) fn with(mut self, inner: Comments) -> Self {
        self.notes.extend(inner.notes);
        if self.doc.is_empty() {
            self.doc = inner.doc;
        } else {
            self.notes.extend(inner.doc);
        }
        self
    }

    /// All of them as notes, for what has no place for a description.
    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes.into_iter().chain(self.doc).collect()
    }

    /// Whether there are notes that would be taken for a description.
    pub(super) fn has_plain_notes(&self) -> bool {
        self.notes.iter().any(|line| !line.starts_with(FOR_LINTER))
    }
}

/// How a comment for the linter begins. It describes nothing.
pub(super) const FOR_LINTER: &str = "bayplan:";

/// The comments by the first byte of what they belong to.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    by_start: BTreeMap<u32, Comments>,
    /// What is below the last statement.
    pub(super) rest: Vec<String>,
}

impl Remarks {
    pub(super) fn of(source: &Source, file: &File) -> Self {
        let mut described: Vec<(Span, Option<&Doc>)> = Vec::new();
        for item in &file.items {
            described.push((item.span, item.doc.as_ref()));
            let ItemKind::Policy(policy) = &item.kind else { continue };
            for statement in &policy.statements {
                described.push((statement.span, statement.doc.as_ref()));
                let block = statement.kind.block();
                let inner = block.into_iter().flat_map(|block| &block.statements);
                described.extend(inner.map(|inner| (inner.span, inner.doc.as_ref())));
            }
        }
        let mut remarks = Remarks::default();
        for (span, doc) in &described {
            let Some(doc) = doc else { continue };
            let comments = remarks.by_start.entry(span.start).or_default();
            comments.doc = doc.text.lines().map(str::to_owned).collect();
        }
        let docs: Vec<Span> = described.iter().filter_map(|(_, doc)| doc.map(|doc| doc.span)).collect();
        let mut starts: Vec<Span> = described.into_iter().map(|(span, _)| span).collect();
        starts.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        for comment in &file.comments {
            let describes = comment.kind == CommentKind::Doc;
            if describes && docs.iter().any(|doc| doc.contains(comment.span)) {
                continue;
            }
            let lines = lines(source.slice(comment.span));
            match target(source, comment.span, &starts) {
                Some(start) => remarks.by_start.entry(start).or_default().notes.extend(lines),
                None => remarks.rest.extend(lines),
            }
        }
        remarks
    }

    /// The comments of what has this place; they are given once.
    pub(super) fn take(&mut self, span: Span) -> Comments {
        self.by_start.remove(&span.start).unwrap_or_default()
    }
}

fn target(source: &Source, comment: Span, starts: &[Span]) -> Option<u32> {
    let below = starts.partition_point(|span| span.start < comment.start);
    let line = source.own_place(comment.start as usize).line;
    let first =
        source.line(line).trim_start().starts_with(source.slice(comment).lines().next().unwrap_or(""));
    let before = starts.get(..below).unwrap_or(&[]);
    let on_line = |span: &&Span| source.own_place(span.start as usize).line == line;
    let same = before.iter().rev().find(on_line).filter(|_| !first);
    same.or(starts.get(below)).map(|span| span.start)
}

/// The lines of a comment without its marks.
fn lines(comment: &str) -> Vec<String> {
    let body = comment.strip_prefix("/*").and_then(|rest| rest.strip_suffix("*/")).unwrap_or(comment);
    let bare = |line: &str| {
        let line = line.trim().trim_start_matches(['/', '#']);
        line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
    };
    let mut lines: Vec<String> = body.lines().map(bare).collect();
    // A comment of several lines may have its marks on lines of their own.
    if lines.len() > 1 {
        lines.retain(|line| !line.is_empty());
    }
    lines
}
