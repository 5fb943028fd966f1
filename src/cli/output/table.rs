//! Tables: two blanks between columns, no boxes, numbers right, words left.
//!
//! A cell is one line of text and nothing else: what it holds is escaped when it is added, so that no
//! name can forge a row or a column.

use super::{Output, Style, screen};
use crate::diag::width;
use std::borrow::Cow;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The head.
    pub head: Cow<'static, str>,
    /// Numbers are right-aligned, words left-aligned.
    pub right: bool,
}

impl Column {
    /// A column of words.
    pub const fn words(head: &'static str) -> Self {
        Self { head: Cow::Borrowed(head), right: false }
    }

    /// A column of numbers.
    pub const fn numbers(head: &'static str) -> Self {
        Self { head: Cow::Borrowed(head), right: true }
    }

    /// A column of numbers about something that has a name.
    pub fn numbers_of(name: &str) -> Self {
        Self { head: Cow::Owned(screen::part(name).into_owned()), right: true }
    }
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<(Style, String)>>,
    /// Blanks before each line.
    pub indent: usize,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new(), indent: 0 }
    }

    /// Adds a row; missing cells stay empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = (Style, String)>) {
        let safe = cells.into_iter().map(|(style, text)| match screen::part(&text) {
            Cow::Borrowed(_) => (style, text),
            Cow::Owned(safe) => (style, safe),
        });
        self.rows.push(safe.collect());
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Draws the table. Where the terminal is narrower than a line, the widest columns of words are shortened in the
    /// middle of their cells, until the last column has room, whose cells are folded.
    pub fn draw(&self, out: &Output) -> String {
        let heads = !self.columns.iter().all(|column| column.head.is_empty());
        let cell =
            |row: &[(Style, String)], at: usize| row.get(at).map_or(0, |(_, text)| screen::width(text));
        let columns = self.columns.iter().enumerate();
        let mut widths: Vec<usize> = columns
            .map(|(at, column)| {
                let cells = self.rows.iter().map(|row| cell(row, at));
                cells.chain([width::width(&column.head)]).max().unwrap_or(0)
            })
            .collect();
        self.fit(&mut widths, out.width);
        let mut text = String::new();
        if heads {
            let head: Vec<_> =
                self.columns.iter().map(|column| (Style::Dim, column.head.to_string())).collect();
            self.draw_row(&head, &widths, out, &mut text);
        }
        for row in &self.rows {
            self.draw_row(row, &widths, out, &mut text);
        }
        text
    }

    /// Takes columns from the widest columns of words, so that the last one has as many as it needs, or two fifths.
    fn fit(&self, widths: &mut [usize], limit: Option<usize>) {
        let Some(limit) = limit else { return };
        let Some((last, before)) = widths.split_last_mut() else { return };
        let needs = (*last).min(limit * 2 / 5);
        let used = |before: &[usize]| self.indent + before.iter().map(|width| width + 2).sum::<usize>();
        while used(before) + needs > limit {
            let words = before.iter_mut().zip(&self.columns).filter(|(_, column)| !column.right);
            let Some((widest, _)) =
                words.max_by_key(|(width, _)| **width).filter(|(width, _)| **width > LEAST)
            else {
                return;
            };
            *widest -= 1;
        }
    }

    fn draw_row(&self, row: &[(Style, String)], widths: &[usize], out: &Output, text: &mut String) {
        let mut line = " ".repeat(self.indent);
        let mut used = self.indent;
        let mut below: Vec<String> = Vec::new();
        let last = row.iter().rposition(|(_, cell)| !cell.is_empty()).unwrap_or(0);
        for (at, (style, cell)) in row.iter().enumerate().take(last + 1) {
            let (Some(column), Some(width)) = (self.columns.get(at), widths.get(at)) else { break };
            if at > 0 {
                line.push_str("  ");
                used += 2;
            }
            let mut cell = Cow::Borrowed(cell);
            let dots = if out.unicode { "…" } else { "..." };
            if let Some(limit) = out.width
                && at == last
                && used + screen::width(&cell) > limit
            {
                let room = limit.saturating_sub(used);
                let mut lines = folded(&cell, room, dots).into_iter();
                cell = Cow::Owned(lines.next().unwrap_or_default());
                below =
                    lines.map(|line| format!("{}{}", " ".repeat(used), out.paint(*style, &line))).collect();
            } else if at < last && screen::width(&cell) > *width {
                cell = Cow::Owned(width::cut_middle(&cell, *width, dots));
            }
            let blanks = " ".repeat(width.saturating_sub(screen::width(&cell)));
            used += width;
            if column.right {
                line.push_str(&blanks);
                line.push_str(&out.paint(*style, &cell));
            } else {
                line.push_str(&out.paint(*style, &cell));
                if at < last {
                    line.push_str(&blanks);
                }
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
        for line in below {
            text.push_str(&line);
            text.push('\n');
        }
    }
}

/// The fewest columns that a column of words is shortened to.
const LEAST: usize = 8;

/// A cell in lines of at most `room` columns; a word that is longer is cut.
fn folded(cell: &str, room: usize, dots: &str) -> Vec<String> {
    let options = textwrap::Options::new(room.max(1))
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(cell, options).iter().map(|line| width::cut(line, room, dots)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_forges_no_row_and_wide_characters_align() {
        let out = Output::to_sinks(Box::new(std::io::sink()), Box::new(std::io::sink()));
        let mut table = Table::new(&[Column::words("A"), Column::words("B")]);
        table.row([(Style::Plain, "x\ny  placed".to_owned()), (Style::Plain, "1".to_owned())]);
        table.row([(Style::Plain, "数据".to_owned()), (Style::Plain, "\u{1b}[2J".to_owned())]);
        let expected = "A             B\nx\\ny  placed  1\n数据          \\u{1b}[2J\n";
        assert_eq!(table.draw(&out), expected);
    }

    #[test]
    fn a_narrow_terminal_folds_the_last_column_and_shortens_names() {
        let mut out = Output::to_sinks(Box::new(std::io::sink()), Box::new(std::io::sink()));
        out.width = Some(40);
        let mut table = Table::new(&[Column::words("POD"), Column::words("NODE"), Column::words("WHY")]);
        let cells = [
            "checkout-api-7f8d9c6b5-x2z4q",
            "ip-10-0-1-23.ec2.internal",
            "2 Insufficient cpu, 1 node of another zone",
        ];
        table.row(cells.map(|cell| (Style::Plain, cell.to_owned())));
        assert_eq!(
            table.draw(&out),
            "POD         NODE        WHY\ncheck…2z4q  ip-10…rnal  2 Insufficient\n                        cpu, 1 node of\n                        another zone\n"
        );
    }

    #[test]
    fn a_narrow_terminal_cuts_a_long_word() {
        let mut out = Output::to_sinks(Box::new(std::io::sink()), Box::new(std::io::sink()));
        out.width = Some(10);
        let mut table = Table::new(&[Column::words("A"), Column::words("B")]);
        table.row([(Style::Plain, "ab".to_owned()), (Style::Plain, "数据数据".to_owned())]);
        assert_eq!(table.draw(&out), "A   B\nab  数据…\n");
    }
}
