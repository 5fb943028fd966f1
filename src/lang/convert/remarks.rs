//! Comments with the statement that they are above: each goes with what begins below it, or on its line.

use crate::diag::{Source, Span};
use crate::lang::syntax::ast::*;
use std::collections::BTreeMap;

/// The lines of comments by the first byte of what they belong to.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    by_start: BTreeMap<u32, Vec<String>>,
    /// What is below the last statement.
    pub(super) rest: Vec<String>,
}

impl Remarks {
    pub(super) fn of(source: &Source, file: &File) -> Self {
        let mut starts = Vec::new();
        for item in &file.items {
            starts.push(item.span);
            let ItemKind::Policy(policy) = &item.kind else { continue };
            for statement in &policy.statements {
                starts.push(statement.span);
                let block = statement.kind.block();
                starts.extend(block.into_iter().flat_map(|block| &block.statements).map(|inner| inner.span));
            }
        }
        starts.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut remarks = Remarks::default();
        for comment in &file.comments {
            let lines = lines(source.slice(comment.span));
            match target(source, comment.span, &starts) {
                Some(start) => remarks.by_start.entry(start).or_default().extend(lines),
                None => remarks.rest.extend(lines),
            }
        }
        remarks
    }

    /// The comments of what has this place; they are given once.
    pub(super) fn take(&mut self, span: Span) -> Vec<String> {
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
    body.lines().map(bare).filter(|line| !line.is_empty()).collect()
}
