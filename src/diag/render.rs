//! Diagnostics as drawings for people. Nothing is decided here.
//!
//! Called by every command that prints diagnostics. The look is our own: the place stands in the first line
//! of the frame with the object and key that the text came from, labels stand under their marks, and help,
//! effect and fix hang at the end. The form for programs is in `json`.

use super::{Diagnostic, Fix, Severity, Source, SourceMap, Span};
use std::fmt::Write;

/// How to draw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// With colours of the eight-colour palette.
    pub colour: bool,
    /// With `╭ │ ╰ →`; else `+ | ->`.
    pub unicode: bool,
    /// How many diagnostics are drawn; the others are counted.
    pub limit: Option<usize>,
}

/// How many of each severity there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
    /// Diagnostics of any severity that have a fix.
    pub fixable: usize,
}

impl Tally {
    /// Counts a list.
    pub fn of(diagnostics: &[Diagnostic]) -> Self {
        let count = |severity| diagnostics.iter().filter(|d| d.severity == severity).count();
        Tally {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
            fixable: diagnostics.iter().filter(|d| !d.fixes.is_empty()).count(),
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

/// All diagnostics, a blank line between two; ends with a line end unless there are none.
pub fn human(sources: &SourceMap, diagnostics: &[Diagnostic], look: Look) -> String {
    let shown = look.limit.unwrap_or(usize::MAX).min(diagnostics.len());
    let mut out = String::new();
    for (index, diagnostic) in diagnostics.iter().take(shown).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        Drawing { sources, look, out: &mut out, gutter: 0 }.draw(diagnostic);
    }
    if shown < diagnostics.len() {
        let _ = writeln!(out, "\n{} more (--all)", diagnostics.len() - shown);
    }
    out
}

/// A place in one word: `gpu.bay:5:10`; for a text of a ConfigMap that of its YAML file.
pub fn place(sources: &SourceMap, span: Span) -> String {
    let (start, _) = sources.places(span);
    let name = sources.file(span).map_or("", Source::name);
    format!("{name}:{}:{}", start.line, start.column)
}

#[derive(Clone, Copy)]
enum Ink {
    Red,
    Yellow,
    Green,
    Cyan,
    Blue,
    Strong,
    Dim,
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Ink::Red => "\u{1b}[1;31m",
            Ink::Yellow => "\u{1b}[33m",
            Ink::Green => "\u{1b}[32m",
            Ink::Cyan => "\u{1b}[36m",
            Ink::Blue => "\u{1b}[34m",
            Ink::Strong => "\u{1b}[1m",
            Ink::Dim => "\u{1b}[2m",
        }
    }
}

/// A place, whether it is the primary one, and its words.
type Placed<'a> = (Span, bool, &'a str);

/// A mark under a line of text.
struct Mark {
    /// Line of the file, from 1.
    line: usize,
    /// Width of the text before it.
    column: usize,
    width: usize,
    primary: bool,
    text: String,
}

struct Drawing<'a> {
    sources: &'a SourceMap,
    look: Look,
    out: &'a mut String,
    /// Digits of the largest line number.
    gutter: usize,
}

/// Columns of a line that are drawn; longer lines are cut around the place.
const WIDEST: usize = 160;

impl Drawing<'_> {
    fn draw(&mut self, diagnostic: &Diagnostic) {
        let word = diagnostic.severity.word();
        let ink = match diagnostic.severity {
            Severity::Error => Ink::Red,
            Severity::Warning => Ink::Yellow,
            Severity::Note => Ink::Cyan,
        };
        let head = self.paint(ink, &format!("{word}[{}]", diagnostic.code.id));
        let message = self.paint(Ink::Strong, &one_line(&diagnostic.message));
        let _ = writeln!(self.out, "{head}: {message}");

        // labels by file, the primary's file first
        let mut files: Vec<(Span, Vec<Placed<'_>>)> = Vec::new();
        let primary = (diagnostic.span, true, diagnostic.label.as_deref().unwrap_or(""));
        let others = diagnostic.labels.iter().map(|label| (label.span, false, label.message.as_str()));
        for (span, primary, text) in std::iter::once(primary).chain(others) {
            let file = self.sources.in_file(span).source;
            match files.iter_mut().find(|(first, _)| self.sources.in_file(*first).source == file) {
                Some((_, marks)) => marks.push((span, primary, text)),
                None => files.push((span, vec![(span, primary, text)])),
            }
        }
        let last_line = |(span, _, _): &Placed<'_>| self.sources.places(*span).0.line;
        let widest = files.iter().flat_map(|(_, marks)| marks).map(last_line).max().unwrap_or(1);
        self.gutter = widest.to_string().len().max(2);
        for (index, (first, marks)) in files.iter().enumerate() {
            self.header(*first, index == 0);
            self.lines(*first, marks, ink);
        }
        self.tail(diagnostic);
    }

    /// `╭─ file:line:column   namespace/name, key:line`
    fn header(&mut self, span: Span, first: bool) {
        let (start, _) = self.sources.places(span);
        let source = self.sources.source(span);
        let file = self.sources.file(span).map_or("", Source::name);
        let corner = match (self.look.unicode, first) {
            (true, true) => "╭─",
            (true, false) => "├─",
            (false, _) => "+-",
        };
        let place = format!("{file}:{}:{}", start.line, start.column);
        let origin = source.and_then(|source| Some((source.origin()?, source)));
        let origin = origin.map(|(origin, source)| match source.host() {
            Some(_) => {
                let line = source.own_place(span.start as usize).line;
                format!("   {}, {}:{line}", origin.object, origin.key)
            }
            None => String::new(),
        });
        let corner = self.paint(Ink::Blue, corner);
        let place = self.paint(Ink::Cyan, &place);
        let origin = self.paint(Ink::Cyan, &origin.unwrap_or_default());
        let gutter = " ".repeat(self.gutter);
        let _ = writeln!(self.out, "{gutter} {corner} {place}{origin}");
    }

    fn lines(&mut self, first: Span, marks: &[Placed<'_>], ink: Ink) {
        let Some(file) = self.sources.file(first) else { return };
        let mut all: Vec<Mark> =
            marks.iter().map(|(span, primary, text)| self.mark(file, *span, *primary, text)).collect();
        all.sort_by_key(|mark| (mark.line, mark.column, !mark.primary));
        let mut numbers: Vec<usize> = all.iter().map(|mark| mark.line).collect();
        numbers.dedup();
        self.bar("");
        let mut before = None;
        for number in numbers {
            if before.is_some_and(|before: usize| before + 1 < number) {
                let dots = if self.look.unicode { "·" } else { "." };
                let pad = " ".repeat(self.gutter);
                let dots = self.paint(Ink::Blue, dots);
                let _ = writeln!(self.out, "{pad} {dots}");
            }
            before = Some(number);
            let here: Vec<&Mark> = all.iter().filter(|mark| mark.line == number).collect();
            self.line(file, number, &here, ink);
        }
        self.bar("");
    }

    fn mark(&self, file: &Source, span: Span, primary: bool, text: &str) -> Mark {
        let (start, end) = self.sources.places(span);
        let line = file.line(start.line);
        // byte of the file at which the line begins
        let first = start.offset.saturating_sub(line_offset(line, start.column));
        let before = start.offset.saturating_sub(first);
        // a span of several lines is marked to the end of its first one
        let until = if end.line == start.line { end.offset.saturating_sub(first) } else { line.len() };
        let column = width(line.get(..before).unwrap_or(line));
        let marked = width(line.get(..until.max(before)).unwrap_or(line)) - column;
        Mark { line: start.line, column, width: marked.max(1), primary, text: one_line(text) }
    }

    /// A line of text with the marks under it.
    fn line(&mut self, file: &Source, number: usize, marks: &[&Mark], ink: Ink) {
        let full = shown(file.line(number));
        let letters: Vec<char> = full.chars().collect();
        let first = marks.first().map_or(0, |mark| mark.column);
        let cut = if letters.len() > WIDEST { first.saturating_sub(WIDEST / 2) } else { 0 };
        let dots = if self.look.unicode { "…" } else { "..." };
        let mut text: String = letters.iter().skip(cut).take(WIDEST).collect();
        if cut > 0 {
            text = format!("{dots}{text}");
        }
        if letters.len() > cut + WIDEST {
            text.push_str(dots);
        }
        let shift = if cut > 0 { dots.chars().count() } else { 0 };
        let place = |mark: &Mark| (mark.column - cut.min(mark.column) + shift).min(WIDEST + shift);
        let label = format!("{number:>width$}", width = self.gutter);
        let label = self.paint(Ink::Blue, &label);
        let bar = self.vertical();
        let _ = writeln!(self.out, "{label} {bar} {}", text.trim_end());

        // one row of marks; the text of the last one stands behind it, those of the others below
        let mut row: Vec<(char, bool)> = Vec::new();
        for mark in marks.iter().filter(|mark| !mark.primary).chain(marks.iter().filter(|mark| mark.primary))
        {
            let start = place(mark);
            let end = (start + mark.width).min(WIDEST + shift + 1);
            if row.len() < end {
                row.resize(end, (' ', false));
            }
            for cell in row.iter_mut().take(end).skip(start) {
                *cell = (if mark.primary { '^' } else { '-' }, mark.primary);
            }
        }
        let mut drawn = self.row(&row, ink);
        let rightmost = marks.iter().max_by_key(|mark| (place(mark), !mark.primary)).copied();
        if let Some(mark) = rightmost.filter(|mark| !mark.text.is_empty()) {
            let words = self.paint(if mark.primary { ink } else { Ink::Blue }, &mark.text);
            let _ = write!(drawn, " {words}");
        }
        self.bar(&drawn);
        for mark in marks.iter().rev() {
            let said = rightmost.is_some_and(|last| std::ptr::eq(last, *mark));
            if said || mark.text.is_empty() {
                continue;
            }
            let words = self.paint(if mark.primary { ink } else { Ink::Blue }, &mark.text);
            let row = format!("{}{words}", " ".repeat(place(mark)));
            self.bar(&row);
        }
    }

    /// Marks with their colours, runs of one colour together.
    fn row(&self, cells: &[(char, bool)], ink: Ink) -> String {
        let mut out = String::new();
        let mut rest = cells;
        while let Some(&(c, primary)) = rest.first() {
            let long = rest.iter().take_while(|cell| **cell == (c, primary)).count();
            let run: String = rest.iter().take(long).map(|(c, _)| *c).collect();
            match c {
                ' ' => out.push_str(&run),
                _ => out.push_str(&self.paint(if primary { ink } else { Ink::Blue }, &run)),
            }
            rest = rest.get(long..).unwrap_or(&[]);
        }
        out
    }

    /// Effect, help and fix, the last with the closing corner.
    fn tail(&mut self, diagnostic: &Diagnostic) {
        let arrow = if self.look.unicode { "→" } else { "->" };
        let mut rows: Vec<(&str, String, Ink)> = Vec::new();
        if let Some(effect) = &diagnostic.effect {
            rows.push(("effect:", effect.clone(), Ink::Yellow));
        }
        let said = |help: &String| diagnostic.fixes.iter().any(|fix| fix.message == *help);
        if let Some(help) = diagnostic.help.as_ref().filter(|help| !said(help)) {
            rows.push(("help:", help.clone(), Ink::Strong));
        }
        for fix in &diagnostic.fixes {
            rows.push(("fix:", self.fix(fix, arrow), Ink::Green));
        }
        if rows.is_empty() {
            // the frame ends with its own corner
            if let Some(start) = self.out.trim_end_matches('\n').rfind('\n') {
                self.out.truncate(start + 1);
            }
            let corner = self.paint(Ink::Blue, if self.look.unicode { "╰" } else { "+" });
            let pad = " ".repeat(self.gutter);
            let _ = writeln!(self.out, "{pad} {corner}");
            return;
        }
        let last = rows.len() - 1;
        for (index, (word, text, ink)) in rows.into_iter().enumerate() {
            let corner = match (self.look.unicode, index == last) {
                (true, true) => "╰",
                (true, false) => "├",
                (false, _) => "+",
            };
            let mut lines = text.lines();
            let pad = " ".repeat(self.gutter);
            let corner = self.paint(Ink::Blue, corner);
            let gap = " ".repeat(8 - word.len());
            let word = self.paint(if matches!(ink, Ink::Strong) { Ink::Dim } else { ink }, word);
            let _ = writeln!(self.out, "{pad} {corner} {word}{gap}{}", lines.next().unwrap_or(""));
            for line in lines {
                let bar = if index == last { " ".to_owned() } else { self.vertical() };
                let _ = writeln!(self.out, "{pad} {bar}         {line}");
            }
        }
    }

    /// `old → new` for a short edit, else the message.
    fn fix(&self, fix: &Fix, arrow: &str) -> String {
        if let [edit] = fix.edits.as_slice() {
            let old = self.sources.text(edit.span);
            let short = |text: &str| text.chars().count() <= 60 && !text.contains('\n');
            if !old.is_empty() && !edit.text.is_empty() && short(old) && short(&edit.text) {
                return format!("{old} {arrow} {}", edit.text);
            }
        }
        fix.message.clone()
    }

    fn bar(&mut self, text: &str) {
        let pad = " ".repeat(self.gutter);
        let bar = self.vertical();
        let line = format!("{pad} {bar} {text}");
        let _ = writeln!(self.out, "{}", line.trim_end());
    }

    fn vertical(&self) -> String {
        self.paint(Ink::Blue, if self.look.unicode { "│" } else { "|" })
    }

    fn paint(&self, ink: Ink, text: &str) -> String {
        match self.look.colour && !text.is_empty() {
            true => format!("{}{text}\u{1b}[0m", ink.code()),
            false => text.to_owned(),
        }
    }
}

/// Byte of a line at a column from 1.
fn line_offset(line: &str, column: usize) -> usize {
    line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(at, _)| at)
}

/// A text as it is drawn: a tab is four blanks, a control character a replacement.
fn shown(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\t' => out.push_str("    "),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn one_line(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Columns that a text takes on a terminal.
fn width(text: &str) -> usize {
    text.chars().map(letter_width).sum()
}

fn letter_width(c: char) -> usize {
    match c {
        '\t' => 4,
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}
