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

    /// Draws the table. A terminal that is narrower than a line cuts the last column with `…`.
    pub fn draw(&self, out: &Output) -> String {
        let heads = !self.columns.iter().all(|column| column.head.is_empty());
        let cell =
            |row: &[(Style, String)], at: usize| row.get(at).map_or(0, |(_, text)| screen::width(text));
        let columns = self.columns.iter().enumerate();
        let widths: Vec<usize> = columns
            .map(|(at, column)| {
                let cells = self.rows.iter().map(|row| cell(row, at));
                cells.chain([width::width(&column.head)]).max().unwrap_or(0)
            })
            .collect();
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

    fn draw_row(&self, row: &[(Style, String)], widths: &[usize], out: &Output, text: &mut String) {
        let mut line = " ".repeat(self.indent);
        let mut used = self.indent;
        let last = row.iter().rposition(|(_, cell)| !cell.is_empty()).unwrap_or(0);
        for (at, (style, cell)) in row.iter().enumerate().take(last + 1) {
            let (Some(column), Some(width)) = (self.columns.get(at), widths.get(at)) else { break };
            if at > 0 {
                line.push_str("  ");
                used += 2;
            }
            let mut cell = Cow::Borrowed(cell);
            if let Some(limit) = out.width
                && at == last
                && used + screen::width(&cell) > limit
            {
                let dots = if out.unicode { "…" } else { "..." };
                cell = Cow::Owned(width::cut(&cell, limit.saturating_sub(used), dots));
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
    }
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
    fn a_narrow_terminal_cuts_the_last_column() {
        let mut out = Output::to_sinks(Box::new(std::io::sink()), Box::new(std::io::sink()));
        out.width = Some(10);
        let mut table = Table::new(&[Column::words("A"), Column::words("B")]);
        table.row([(Style::Plain, "ab".to_owned()), (Style::Plain, "数据数据".to_owned())]);
        assert_eq!(table.draw(&out), "A   B\nab  数据…\n");
    }
}
