//! Comments to the tree: `///` to the item or statement below it, `// bayplan: allow(…)` to its target.
//!
//! Called once by `syntax::parse`, after the tree is built; `document::comments` does the same for YAML.

use crate::syntax::ast::*;
use crate::syntax::tokens::{Remark, Scan};
use bayplan_diag::{Diagnostic, Source, Span, codes};

/// How comments are marked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// `//` and `///`
    Language,
    /// `#`; a `-` separates a comment from the item of a list below it.
    Yaml,
}

impl Marks {
    fn letter(self) -> char {
        if self == Marks::Yaml { '#' } else { '/' }
    }

    fn words(self) -> &'static str {
        if self == Marks::Yaml { "#" } else { "//" }
    }
}

pub(super) fn comments(source: &Source, scan: &Scan, file: &mut File, diagnostics: &mut Vec<Diagnostic>) {
    attach(source, &scan.comments, Marks::Language, file, diagnostics);
}

/// Adds comments to a tree.
pub(super) fn attach(
    source: &Source,
    comments: &[Remark],
    marks: Marks,
    file: &mut File,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if comments.is_empty() {
        return;
    }
    let at = |remark: &Remark| Span::new(source.id(), remark.start, remark.end);
    file.comments = comments.iter().map(|remark| Comment { kind: remark.kind, span: at(remark) }).collect();
    let docs = Docs { source, comments, marks };
    if comments.iter().any(|remark| remark.kind == CommentKind::Doc) {
        for item in &mut file.items {
            item.doc = item.doc.take().or_else(|| docs.above(item.span));
            let ItemKind::Policy(policy) = &mut item.kind else { continue };
            for statement in &mut policy.statements {
                let outer = statement.span;
                statement.doc = docs.above(outer);
                for inner in statement.kind.block_mut().into_iter().flat_map(|block| &mut block.statements) {
                    // What begins with its statement has no comment of its own.
                    inner.doc = if inner.span.start == outer.start { None } else { docs.above(inner.span) };
                }
            }
        }
    }
    let mut spans = None;
    for remark in comments {
        let text = source.slice(at(remark));
        let body = text.trim_start_matches(marks.letter()).trim_start();
        let Some(rest) = body.strip_prefix("bayplan:") else { continue };
        let spans = spans.get_or_insert_with(|| places(file));
        match allow(source, remark, rest) {
            Ok(mut allow) => {
                allow.target = target(source, remark, spans);
                file.allows.push(allow);
            }
            Err(message) => diagnostics.push(
                Diagnostic::new(&codes::BAD_ALLOW, at(remark), message)
                    .with_help(format!("write `{} bayplan: allow(slug) because …`", marks.words())),
            ),
        }
    }
}

struct Docs<'a> {
    source: &'a Source,
    comments: &'a [Remark],
    marks: Marks,
}

impl Docs<'_> {
    /// The `///` lines above a place; other comments may be among them.
    fn above(&self, span: Span) -> Option<Doc> {
        let mut index = self.comments.partition_point(|remark| remark.end <= span.start as usize);
        let mut until = span.start as usize;
        let mut lines = Vec::new();
        let mut place: Option<Span> = None;
        while let Some(remark) = index.checked_sub(1).and_then(|index| self.comments.get(index)) {
            let gap = self.source.text().get(remark.end..until).unwrap_or("x");
            let inner = gap.trim();
            let inner =
                if self.marks == Marks::Yaml && lines.is_empty() { inner.trim_matches('-') } else { inner };
            if !remark.first || !inner.trim().is_empty() {
                break;
            }
            // A comment before a blank line is a note about the file, such as its licence. The gap is blank here: looking
            // for the line in any gap would read the text once for each item.
            if self.marks == Marks::Yaml && has_blank_line(gap) {
                break;
            }
            if remark.kind == CommentKind::Doc {
                let here = Span::new(self.source.id(), remark.start, remark.end);
                place = Some(place.map_or(here, |place| here.to(place)));
                let line = self.source.slice(here).trim_start_matches(self.marks.letter());
                lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end());
            }
            until = remark.start;
            index -= 1;
        }
        lines.reverse();
        place.map(|span| Doc { text: Text::from(lines.join("\n")), span })
    }
}

/// Whether there is a blank line between the line that a text begins on and the one that it ends on.
fn has_blank_line(between: &str) -> bool {
    let lines = between.split('\n').count();
    between.split('\n').take(lines.saturating_sub(1)).skip(1).any(|line| line.trim().is_empty())
}

/// `allow(slug, …) because …` after `bayplan:`.
fn allow(source: &Source, remark: &Remark, rest: &str) -> Result<Allow, String> {
    let rest = rest.trim();
    let inner = rest.strip_prefix("allow").map(str::trim_start).and_then(|rest| rest.strip_prefix('('));
    let inner = inner.and_then(|rest| rest.split_once(')'));
    let Some((list, behind)) = inner else {
        return Err("a comment for the linter that it does not understand".to_owned());
    };
    let text = source.text();
    let mut slugs = Vec::new();
    for slug in list.split(',').map(str::trim).filter(|slug| !slug.is_empty()) {
        let within = text.get(remark.start..remark.end).and_then(|comment| comment.find(slug)).unwrap_or(0);
        let start = remark.start + within;
        slugs.push(Name { text: Text::from(slug), span: Span::new(source.id(), start, start + slug.len()) });
    }
    if slugs.is_empty() {
        return Err("`allow()` names nothing".to_owned());
    }
    let because = behind.trim().strip_prefix("because").map(str::trim).filter(|text| !text.is_empty());
    let span = Span::new(source.id(), remark.start, remark.end);
    Ok(Allow { slugs, because: because.map(Text::from), span, target: None })
}

/// The places of all items and statements, in the order of their beginnings, outer before inner.
fn places(file: &File) -> Vec<Span> {
    let mut spans = Vec::new();
    for item in &file.items {
        spans.push(item.span);
        let ItemKind::Policy(policy) = &item.kind else { continue };
        for statement in &policy.statements {
            spans.push(statement.span);
            let block = statement.kind.block();
            spans.extend(block.into_iter().flat_map(|block| &block.statements).map(|inner| inner.span));
        }
    }
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    spans
}

/// The target of a comment: the last thing that begins on its own line, else the next one below.
fn target(source: &Source, remark: &Remark, spans: &[Span]) -> Option<Span> {
    let below = spans.partition_point(|span| (span.start as usize) < remark.start);
    if remark.first {
        return spans.get(below).copied();
    }
    let line = source.own_place(remark.start).line;
    let before = spans.get(..below).unwrap_or(&[]);
    let same = |span: &&Span| source.own_place(span.start as usize).line == line;
    let ends_here = |span: &&Span| source.own_place(span.end as usize).line == line;
    before.iter().rev().find(same).or_else(|| before.iter().rev().find(ends_here)).copied()
}
