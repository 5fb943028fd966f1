//! The marked lines of one file, as miette reads them.
//!
//! miette is never given a whole file. An excerpt holds the lines with marks and nothing else, each cut
//! around its marks to a limit of columns and with unsafe characters escaped. So a drawing costs the
//! same in a file of any size, and nothing in the file reaches the terminal as it is.

use super::{Source, SourceMap, Span, escape, width};
use miette::{LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// A place to mark, with its words.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// A span of the file itself, not of a text inside of it.
    pub(super) span: Span,
    /// Whether this is the place that is wrong, and not one that takes part.
    pub(super) primary: bool,
    /// The words, or none.
    pub(super) text: Option<String>,
}

/// Lines of a file with their marks.
#[derive(Clone, Debug, Default)]
pub(super) struct Excerpt {
    name: String,
    text: String,
    lines: Vec<Line>,
    labels: Vec<Label>,
}

/// A line of the excerpt.
#[derive(Clone, Debug)]
struct Line {
    /// Its first byte in the text of the excerpt.
    start: usize,
    /// Its number in the file, from 1.
    number: usize,
}

/// A mark as a range of the text of the excerpt.
#[derive(Clone, Debug)]
struct Label {
    start: usize,
    end: usize,
    /// The column in the file, from 1.
    column: usize,
    primary: bool,
    text: Option<String>,
}

/// A mark within its line: bytes of that line.
struct InLine<'m> {
    line: usize,
    start: usize,
    end: usize,
    column: usize,
    mark: &'m Mark,
}

impl Excerpt {
    /// The lines of `file` that the marks lie on. `name` is the title above them; `room` is the number
    /// of columns of a line that are shown; `dots` marks where a line is cut.
    pub(super) fn new(file: &Source, name: String, marks: &[Mark], room: usize, dots: &str) -> Self {
        let mut placed: Vec<InLine<'_>> = marks.iter().map(|mark| in_line(file, mark)).collect();
        placed.sort_by_key(|mark| (mark.line, mark.start, mark.end));
        let mut excerpt = Excerpt { name, ..Excerpt::default() };
        let mut rest = placed.as_slice();
        while let Some(first) = rest.first() {
            let number = first.line;
            let many = rest.iter().take_while(|mark| mark.line == number).count();
            let (here, others) = rest.split_at(many);
            excerpt.push_line(file.line(number), number, here, room, dots);
            rest = others;
        }
        excerpt
    }

    fn push_line(&mut self, line: &str, number: usize, marks: &[InLine<'_>], room: usize, dots: &str) {
        self.lines.push(Line { start: self.text.len(), number });
        let anchor = marks.iter().find(|mark| mark.mark.primary).or(marks.first());
        let (from, to) = window(line, anchor.map_or(0, |mark| mark.start), room);
        if from > 0 {
            self.text.push_str(dots);
        }
        // Where each byte of the window is in the text of the excerpt.
        let mut places = Vec::new();
        for (at, c) in line.get(from..to).unwrap_or("").char_indices() {
            places.push((from + at, self.text.len()));
            match c {
                '\t' => self.text.push_str("    "),
                c if escape::is_unsafe(c) => escape::push(&mut self.text, c),
                c => self.text.push(c),
            }
        }
        let last = self.text.len();
        if to < line.len() {
            self.text.push_str(dots);
        }
        self.text.push('\n');
        let place = |byte: usize| {
            let next = places.partition_point(|(at, _)| *at < byte);
            places.get(next).map_or(last, |(_, place)| *place)
        };
        let mut labels: Vec<Label> = Vec::new();
        for InLine { start, end, column, mark, .. } in marks {
            let (start, end) = (place(*start), place(*end));
            labels.push(Label {
                start,
                end,
                column: *column,
                primary: mark.primary,
                text: mark.text.clone(),
            });
        }
        self.labels.extend(apart(labels));
    }

    /// The marks as miette's labels, in the order in which it draws them.
    pub(super) fn labels(&self) -> impl Iterator<Item = LabeledSpan> + '_ {
        self.labels.iter().map(|label| {
            let span = SourceSpan::from(label.start..label.end);
            match label.primary {
                true => LabeledSpan::new_primary_with_span(label.text.clone(), span),
                false => LabeledSpan::new_with_span(label.text.clone(), span),
            }
        })
    }

    /// For each label in that order, whether it is the primary one.
    pub(super) fn primary(&self) -> impl Iterator<Item = bool> + '_ {
        self.labels.iter().map(|label| label.primary)
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        _: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let line_at = |byte: usize| self.lines.partition_point(|line| line.start <= byte).saturating_sub(1);
        let (first, last) = (line_at(span.offset()), line_at(span.offset() + span.len()));
        let line = self.lines.get(first).ok_or(MietteError::OutOfBounds)?;
        let end = self.lines.get(last + 1).map_or(self.text.len(), |line| line.start);
        let data = self.text.get(line.start..end).ok_or(MietteError::OutOfBounds)?;
        let column = self.labels.iter().find(|label| label.start == span.offset());
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            data.as_bytes(),
            SourceSpan::from(line.start..end),
            line.number - 1,
            column.map_or(0, |label| label.column - 1),
            last - first + 1,
        )))
    }
}

/// A mark on the line where it begins. Of a mark of several lines only that part is shown.
fn in_line<'m>(file: &Source, mark: &'m Mark) -> InLine<'m> {
    let begins = file.own_place(mark.span.start as usize);
    let first = file.line_start(begins.line);
    let length = file.line(begins.line).len();
    let byte = |byte: u32| (byte as usize).saturating_sub(first).min(length);
    let (start, end) = (byte(mark.span.start), byte(mark.span.end));
    InLine { line: begins.line, start, end: end.max(start), column: begins.column, mark }
}

/// The bytes of a line that are shown: all of it if it has room, else what is around `anchor`.
fn window(line: &str, anchor: usize, room: usize) -> (usize, usize) {
    // A character without width must not make the window endless.
    let columns = |c: char| match escape::is_unsafe(c) && c != '\t' {
        true => 8,
        false => width::of(c).max(1),
    };
    let reach = |from: usize| {
        let mut used = 0;
        let rest = line.get(from..).unwrap_or("");
        let over = rest.char_indices().find(|(_, c)| {
            used += columns(*c);
            used > room
        });
        over.map_or(line.len(), |(at, _)| from + at)
    };
    let end = reach(0);
    if end == line.len() {
        return (0, end);
    }
    let mut before = 0;
    let start = line.get(..anchor).unwrap_or(line).char_indices().rev().find(|(_, c)| {
        before += columns(*c);
        before > room / 2
    });
    let from = start.map_or(0, |(at, c)| at + c.len_utf8());
    (from, reach(from))
}

/// Labels of one line that do not overlap, since miette draws overlapping ones beside their places. The
/// primary one stays whole, the others lose the part that overlaps it or an earlier label.
fn apart(mut labels: Vec<Label>) -> Vec<Label> {
    labels.sort_by_key(|label| (!label.primary, label.start, label.end));
    let mut kept: Vec<Label> = Vec::new();
    for mut label in labels {
        let mut same = None;
        for (at, other) in kept.iter().enumerate() {
            if label.end <= other.start || other.end <= label.start {
                continue;
            }
            if label.start < other.start {
                label.end = other.start;
            } else if label.end > other.end {
                label.start = other.end;
            } else {
                same = Some(at);
            }
        }
        match same.and_then(|at| kept.get_mut(at)) {
            // One place with two texts has both.
            Some(other) => {
                let texts = [other.text.take(), label.text];
                let texts: Vec<String> = texts.into_iter().flatten().collect();
                other.text = (!texts.is_empty()).then(|| texts.join("\n"));
            }
            None => kept.push(label),
        }
    }
    kept.sort_by_key(|label| (label.start, label.end));
    kept
}

/// The name of the place of a span: the file, after the object and the line in it for a text that
/// lies in an object.
pub(super) fn name(sources: &SourceMap, span: Span) -> String {
    let file = sources.file(span).map_or("", Source::name);
    let inside = sources.source(span).filter(|source| source.host().is_some());
    let named = inside.and_then(|source| Some((source, source.origin()?))).map(|(source, origin)| {
        let line = source.own_place(span.start as usize).line;
        format!("{} {}:{line}, {file}", origin.object, origin.key)
    });
    escape::line(&named.unwrap_or_else(|| file.to_owned())).into_owned()
}
