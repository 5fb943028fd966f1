//! The value tree of a condition: each sub-expression in the rule's own source text, with its value. Written by
//! `explain --node`, `eval` and `test`.

use crate::cli::output::{Output, Style};
use crate::diag::SourceMap;
use crate::lang::eval::trace::ValueTrace;
use serde_json::{Value, json};

/// Blanks between the word `false` and the text.
const WORD: usize = 9;

/// Draws a condition, each line after `indent` blanks.
pub(crate) fn draw(sources: &SourceMap, shown: &ValueTrace, indent: usize, out: &Output) -> String {
    let mut text = String::new();
    let drawing = Drawing { sources, out, indent };
    drawing.line(shown, "", "", &mut text);
    text
}

/// Draws a condition with each part's values to its right instead of below it: for lists of many conditions.
pub(crate) fn draw_beside(sources: &SourceMap, shown: &ValueTrace, indent: usize, out: &Output) -> String {
    let mut lines = Vec::new();
    let drawing = Drawing { sources, out, indent };
    drawing.collect(shown, "", "", &mut lines);
    let wide = |line: &&Line| !line.values.is_empty();
    let long = |line: &Line| line.lead.chars().count() + line.source.chars().count();
    let widest = lines.iter().filter(wide).map(long).max().unwrap_or(0);
    let mut text = String::new();
    for line in &lines {
        let blanks = " ".repeat(WORD.saturating_sub(line.word.len()));
        let gap = " ".repeat(if line.values.is_empty() { 0 } else { widest - long(line) + 3 });
        let source = if line.reached { line.source.clone() } else { out.paint(Style::Dim, &line.source) };
        let word = out.paint(line.style, line.word);
        let values = out.paint(Style::Strong, &line.values);
        drawing.push(&mut text, &format!("{word}{blanks}{}{source}{gap}{values}", line.lead));
    }
    text
}

/// A line of [`draw_beside`].
struct Line {
    word: &'static str,
    style: Style,
    lead: String,
    source: String,
    values: String,
    reached: bool,
}

/// A condition and its parts as JSON.
pub(crate) fn to_json(sources: &SourceMap, shown: &ValueTrace) -> Value {
    let parts: Vec<Value> = shown.parts.iter().map(|part| to_json(sources, part)).collect();
    json!({
        "text": one_line(sources.text(shown.span)),
        "value": shown.value,
        "truth": shown.truth,
        "reached": shown.reached,
        "parts": parts,
    })
}

/// Source text on one line, without comments' line breaks.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Drawing<'a> {
    sources: &'a SourceMap,
    out: &'a Output,
    indent: usize,
}

impl Drawing<'_> {
    fn line(&self, shown: &ValueTrace, lead: &str, below: &str, text: &mut String) {
        let source = one_line(self.sources.text(shown.span));
        let (word, style) = verdict(shown);
        let blanks = " ".repeat(WORD.saturating_sub(word.len()));
        let shown_source = if shown.reached { source.clone() } else { self.out.paint(Style::Dim, &source) };
        let painted = self.out.paint(style, word);
        self.push(text, &format!("{painted}{blanks}{lead}{shown_source}"));
        let (children, values) = self.split(shown);
        self.values(shown, values.into_iter(), below, text);
        for (child, here, under) in self.branches(children) {
            self.line(child, &format!("{below}{here}"), &format!("{below}{under}"), text);
        }
    }

    /// The lines of a condition and its parts, values beside them.
    fn collect(&self, shown: &ValueTrace, lead: &str, below: &str, lines: &mut Vec<Line>) {
        let (word, style) = verdict(shown);
        let (children, values) = self.split(shown);
        let literal = |value: &&ValueTrace| self.sources.text(value.span) == value.value;
        let mut values: Vec<&str> =
            values.into_iter().filter(|value| !literal(value)).map(|value| value.value.as_str()).collect();
        if shown.parts.is_empty() && (shown.truth.is_none() || shown.failed) {
            values.push(&shown.value);
        }
        lines.push(Line {
            word,
            style,
            lead: lead.to_owned(),
            source: one_line(self.sources.text(shown.span)),
            values: values.join(", "),
            reached: shown.reached,
        });
        for (child, here, under) in self.branches(children) {
            self.collect(child, &format!("{below}{here}"), &format!("{below}{under}"), lines);
        }
    }

    /// The parts that have lines of their own, and the values in the line itself.
    fn split<'s>(&self, shown: &'s ValueTrace) -> (Vec<&'s ValueTrace>, Vec<&'s ValueTrace>) {
        // Beside a condition every other condition has a line, too.
        let conditions = shown.parts.iter().any(is_branch);
        let own_line = |part: &&ValueTrace| is_branch(part) || conditions && is_condition(part);
        let children: Vec<&ValueTrace> = shown.parts.iter().filter(own_line).collect();
        let mut values = Vec::new();
        for part in shown.parts.iter().filter(|part| !own_line(part)) {
            self.leaves(part, &mut values);
        }
        values.retain(|part| {
            part.span.source == shown.span.source
                && part.span.start >= shown.span.start
                && part.span.end <= shown.span.end
        });
        (children, values)
    }

    /// The parts that have no parts: paths, mostly. A call or a macro has its own value before those of its parts.
    fn leaves<'s>(&self, shown: &'s ValueTrace, found: &mut Vec<&'s ValueTrace>) {
        let call = shown.truth.is_none() && !shown.operator && self.sources.text(shown.span).ends_with(')');
        if shown.parts.is_empty() || call {
            found.push(shown);
        }
        // The receiver of a call has no room below the call.
        let below = shown.parts.iter().filter(|part| !call || part.span.start > shown.span.start);
        for part in below {
            self.leaves(part, found);
        }
    }

    /// Children with the lines that lead to them and run on below them.
    fn branches<'s>(
        &self,
        children: Vec<&'s ValueTrace>,
    ) -> Vec<(&'s ValueTrace, &'static str, &'static str)> {
        let count = children.len();
        let drawn = children.into_iter().enumerate().map(|(at, child)| {
            let (here, under) = match (at + 1 == count, self.out.unicode) {
                (false, true) => ("├─ ", "│  "),
                (true, true) => ("└─ ", "   "),
                (false, false) => ("+- ", "|  "),
                (true, false) => ("+- ", "   "),
            };
            (child, here, under)
        });
        drawn.collect()
    }

    /// A line of values, each under its own text.
    fn values<'s>(
        &self,
        of: &ValueTrace,
        values: impl Iterator<Item = &'s ValueTrace>,
        below: &str,
        text: &mut String,
    ) {
        let mut line = String::new();
        let literal = |value: &&ValueTrace| self.sources.text(value.span) == value.value;
        for value in values.filter(|value| !literal(value)) {
            let before = self.sources.text(crate::diag::Span { end: value.span.start, ..of.span });
            let mut column = one_line(before).chars().count();
            if before.ends_with(char::is_whitespace) && column > 0 {
                column += 1;
            }
            let have = line.chars().count();
            let gap = if have == 0 { column } else { column.saturating_sub(have).max(2) };
            line.push_str(&" ".repeat(gap));
            line.push_str(&value.value);
        }
        if !line.is_empty() {
            let blanks = " ".repeat(WORD);
            let start: String = line.chars().take_while(|c| *c == ' ').collect();
            let shown = self.out.paint(Style::Strong, line.trim_start());
            self.push(text, &format!("{blanks}{below}{start}{shown}"));
        }
    }

    fn push(&self, text: &mut String, line: &str) {
        text.push_str(&" ".repeat(self.indent));
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// The word and its colour.
fn verdict(shown: &ValueTrace) -> (&'static str, Style) {
    match shown.truth {
        _ if shown.failed => ("error", if shown.reached { Style::Bad } else { Style::Dim }),
        Some(true) => ("true", if shown.reached { Style::Good } else { Style::Dim }),
        Some(false) => ("false", if shown.reached { Style::Bad } else { Style::Dim }),
        None => ("", if shown.reached { Style::Plain } else { Style::Dim }),
    }
}

/// Whether it is true, false or failed.
fn is_condition(shown: &ValueTrace) -> bool {
    shown.truth.is_some() || shown.failed
}

/// A condition with parts of its own gets a line; everything else is a value under its text.
fn is_branch(shown: &ValueTrace) -> bool {
    is_condition(shown) && !shown.parts.is_empty()
}
