//! The comments of YAML: those above an item are its doc comment, `# bayplan: allow(…)` silences a finding.

use crate::syntax::ast::{CommentKind, File};
use crate::syntax::comments::{Marks, attach};
use crate::syntax::tokens::Remark;
use bayplan_diag::{Diagnostic, Source};
use bayplan_yaml::{At, Tree, TreeValue};

/// Finds the comments beside the scalars of documents and adds those inside of policies, or next to them, to the
/// tree.
pub(super) fn comments(
    source: &Source,
    trees: &[Tree],
    policies: &[&Tree],
    file: &mut File,
    said: &mut Vec<Diagnostic>,
) {
    let text = source.text();
    if policies.is_empty() || !text.contains('#') {
        return;
    }
    let mut scalars = Vec::new();
    trees.iter().for_each(|tree| collect(tree, &mut scalars));
    scalars.sort_by_key(|at| (at.start, at.end));
    let remarks = remarks(text, &scalars);
    if !remarks.is_empty() {
        attach(source, &remarks, Marks::Yaml, file, said);
    }
}

fn collect(tree: &Tree, scalars: &mut Vec<At>) {
    match &tree.value {
        TreeValue::List(items) => items.iter().for_each(|item| collect(item, scalars)),
        TreeValue::Map(entries) => {
            for entry in entries {
                scalars.push(entry.key_at);
                collect(&entry.value, scalars);
            }
        }
        _ => scalars.push(tree.at),
    }
}

/// A `#` at the beginning of a line or after white space, outside of scalars, to the end of the line.
fn remarks(text: &str, scalars: &[At]) -> Vec<Remark> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut next = 0;
    while let Some(mark) = text.get(at..).and_then(|rest| rest.find('#')) {
        let start = at + mark;
        while scalars.get(next).is_some_and(|scalar| scalar.end <= start) {
            next += 1;
        }
        if let Some(scalar) = scalars.get(next).filter(|scalar| scalar.start <= start) {
            at = scalar.end.max(start + 1);
            continue;
        }
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        if !before.is_none_or(|byte| byte.is_ascii_whitespace()) {
            at = start + 1;
            continue;
        }
        let line = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        let first = text.get(line..start).is_some_and(|before| before.trim().is_empty());
        let length = text.get(start..).and_then(|rest| rest.find('\n'));
        let end = length.map_or(text.len(), |length| start + length);
        let end = text.get(start..end).map_or(end, |comment| start + comment.trim_end().len());
        let ours =
            text.get(start..end).unwrap_or("").trim_start_matches('#').trim_start().starts_with("bayplan:");
        let kind = if first && !ours { CommentKind::Doc } else { CommentKind::Line };
        found.push(Remark { kind, start, end, first });
        at = end.max(start + 1);
    }
    found
}
