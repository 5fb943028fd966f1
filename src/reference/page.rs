//! A page of the reference, and its two forms: Markdown for `docs/` and plain text for a terminal.

use super::markdown::without_marks;
use std::fmt::Write;

/// A page: a title and what follows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The title; in a terminal the first line.
    pub title: String,
    /// The content in order.
    pub blocks: Vec<Block>,
}

/// A part of a page. Text may hold `code` in backticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A section; `anchor` is the fragment that links name, where the heading alone does not give it.
    Section {
        /// The words of the heading.
        title: String,
        /// The fragment of links, such as `bp0104`.
        anchor: Option<String>,
        /// It is a part of the section before it.
        part: bool,
    },
    /// A paragraph.
    Text(String),
    /// An item of a list.
    Item(String),
    /// An example: a language for highlighting, and the lines.
    Example {
        /// The line above it, such as `bad`.
        label: Option<&'static str>,
        /// `bay`, `yaml`, `sh` or `text`.
        language: &'static str,
        /// The lines.
        text: String,
    },
    /// A table: heads and rows of as many cells.
    Table {
        /// The heads.
        heads: Vec<String>,
        /// The rows.
        rows: Vec<Vec<String>>,
    },
}

impl Page {
    /// A page without blocks.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Adds a section.
    pub fn section(&mut self, title: impl Into<String>) -> &mut Self {
        self.blocks.push(Block::Section { title: title.into(), anchor: None, part: false });
        self
    }

    /// Adds a part of the section before it, with a heading of its own.
    pub fn part(&mut self, title: impl Into<String>) -> &mut Self {
        self.blocks.push(Block::Section { title: title.into(), anchor: None, part: true });
        self
    }

    /// Adds a section that links can name by `anchor`.
    pub(crate) fn section_at(&mut self, title: impl Into<String>, anchor: impl Into<String>) -> &mut Self {
        self.blocks.push(Block::Section { title: title.into(), anchor: Some(anchor.into()), part: false });
        self
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) -> &mut Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Adds an example.
    pub fn example(&mut self, language: &'static str, text: impl Into<String>) -> &mut Self {
        self.blocks.push(Block::Example { label: None, language, text: text.into() });
        self
    }

    /// Adds an example with a label above it.
    pub fn labelled(
        &mut self,
        label: &'static str,
        language: &'static str,
        text: impl Into<String>,
    ) -> &mut Self {
        self.blocks.push(Block::Example { label: Some(label), language, text: text.into() });
        self
    }

    /// Adds a table.
    pub fn table(
        &mut self,
        heads: &[&'static str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> &mut Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        self.blocks.push(Block::Table { heads, rows: rows.into_iter().collect() });
        self
    }

    /// Adds the blocks of another page; its title becomes a section.
    pub fn append(&mut self, other: Page) -> &mut Self {
        self.section(other.title);
        self.blocks.extend(other.blocks);
        self
    }

    /// The page as a Markdown file, `note` below its title.
    pub fn markdown(&self, note: &str) -> String {
        let mut text = format!("# {}\n", self.title);
        if !note.is_empty() {
            let _ = write!(text, "\n{}\n", wrapped(note, MARKDOWN_WIDTH, ""));
        }
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Section { title, anchor, part } => {
                    if let Some(anchor) = anchor {
                        let _ = writeln!(text, "<a id=\"{anchor}\"></a>");
                    }
                    let _ = writeln!(text, "{} {title}", if *part { "###" } else { "##" });
                }
                Block::Text(paragraph) => {
                    let _ = writeln!(text, "{}", wrapped(paragraph, MARKDOWN_WIDTH, ""));
                }
                Block::Item(item) => {
                    let _ = writeln!(text, "{}", wrapped(item, MARKDOWN_WIDTH, ""));
                }
                Block::Example { label, language, text: lines } => {
                    if let Some(label) = label {
                        let _ = write!(text, "{label}:\n\n");
                    }
                    let _ = writeln!(text, "```{language}\n{}\n```", lines.trim_end());
                }
                Block::Table { heads, rows } => {
                    let cells = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
                    text.push_str(&cells(heads.clone()));
                    text.push_str(&cells(heads.iter().map(|_| "---".to_owned()).collect()));
                    for row in rows {
                        text.push_str(&cells(row.iter().map(|cell| cell.replace('|', "\\|")).collect()));
                    }
                }
            }
        }
        text
    }

    /// The page as plain text of at most `width` columns, as far as words can be broken.
    pub fn plain(&self, width: usize) -> String {
        let mut text = format!("{}\n", without_marks(&self.title));
        let mut in_list = false;
        for block in &self.blocks {
            // No blank line between the items of a list.
            if !(in_list && matches!(block, Block::Item(_))) {
                text.push('\n');
            }
            in_list = matches!(block, Block::Item(_));
            match block {
                Block::Section { title, .. } => {
                    let _ = writeln!(text, "{}", without_marks(title).to_uppercase_outside_code());
                }
                Block::Text(paragraph) => {
                    let _ = writeln!(text, "{}", wrapped(&without_marks(paragraph), width, "  "));
                }
                Block::Item(item) => {
                    let lines = wrapped(&without_marks(item), width, "    ");
                    let _ = writeln!(text, "  {}", lines.trim_start());
                }
                Block::Example { label, text: lines, .. } => {
                    if let Some(label) = label {
                        let _ = writeln!(text, "  {label}:");
                    }
                    for line in lines.trim_end().lines() {
                        let _ = writeln!(text, "{}", format!("    {line}").trim_end());
                    }
                }
                Block::Table { heads, rows } => table(heads, rows, width, &mut text),
            }
        }
        text
    }
}

/// The words of a row as a sentence: a capital and a full stop.
pub(super) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let end = if words.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// Columns of prose in Markdown files.
const MARKDOWN_WIDTH: usize = 100;

/// A paragraph in lines of at most `width` columns, each with `indent` before it.
fn wrapped(paragraph: &str, width: usize, indent: &str) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if used == 0 {
            text.push_str(indent);
            used = indent.len();
        } else if used + 1 + length > width {
            let _ = write!(text, "\n{indent}");
            used = indent.len();
        } else {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text
}

/// A table in plain text: two blanks between columns, no backticks; the last column is wrapped.
fn table(heads: &[String], rows: &[Vec<String>], width: usize, text: &mut String) {
    let shown = |cell: &String| without_marks(cell).replace('`', "");
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let mut widths: Vec<usize> = heads.iter().map(|head| head.chars().count()).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let before: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum::<usize>() + 2;
    // A narrow terminal still gets some words in a line.
    let rest = width.saturating_sub(before).max(30);
    if before + 30 > width.max(60) {
        return folded(heads, &rows, width, text);
    }
    let heads: Vec<String> = heads.iter().map(|head| shown(head).to_uppercase()).collect();
    let head = Some(&heads).filter(|heads| heads.iter().any(|head| !head.is_empty()));
    for row in head.into_iter().chain(&rows) {
        let mut line = String::from("  ");
        let last = row.len().saturating_sub(1);
        for (at, cell) in row.iter().enumerate() {
            if at == last {
                let lines = wrapped(cell, rest, "");
                line.push_str(&lines.replace('\n', &format!("\n{}", " ".repeat(before))));
            } else {
                let blanks = widths.get(at).map_or(0, |width| width + 2 - cell.chars().count());
                let _ = write!(line, "{cell}{}", " ".repeat(blanks));
            }
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// A table that is too wide for its columns: the first cell of a row, and below it the others.
fn folded(heads: &[String], rows: &[Vec<String>], width: usize, text: &mut String) {
    for row in rows {
        let Some((first, others)) = row.split_first() else { continue };
        let _ = writeln!(text, "{}", wrapped(first, width, "  "));
        for (at, cell) in others.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let head = heads.get(at + 1).filter(|head| !head.is_empty());
            let head =
                head.map_or_else(String::new, |head| format!("{}: ", without_marks(head).replace('`', "")));
            let _ = writeln!(text, "{}", wrapped(&format!("{head}{cell}"), width, "      "));
        }
    }
}

/// Headings in capitals.
trait Heading {
    /// Capitals, except in backticks.
    fn to_uppercase_outside_code(&self) -> String;
}

impl Heading for str {
    fn to_uppercase_outside_code(&self) -> String {
        let parts = self.split('`').enumerate();
        parts.map(|(at, part)| if at % 2 == 0 { part.to_uppercase() } else { format!("`{part}`") }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let mut page = Page::new("Units");
        page.text("Amounts have units, and the compiler keeps them apart.")
            .section("`cpu` and bytes")
            .table(&["unit", "meaning"], [vec!["`cpu`".to_owned(), "a | b".to_owned()]])
            .example("bay", "500m + 1cpu\n");
        page
    }

    #[test]
    fn markdown_has_the_note_and_escapes_what_would_end_a_cell() {
        let text = page().markdown("Made from a table.");
        assert!(text.starts_with("# Units\n\nMade from a table.\n\nAmounts"), "{text}");
        assert!(text.contains("| `cpu` | a \\| b |\n"), "{text}");
        assert!(text.ends_with("```bay\n500m + 1cpu\n```\n"), "{text}");
    }

    #[test]
    fn plain_text_wraps_paragraphs_and_the_last_column() {
        let text = page().plain(24);
        assert!(text.starts_with("Units\n\n  Amounts have units,\n  and the compiler keeps\n"), "{text}");
        assert!(text.contains("\n`cpu` AND BYTES\n"), "{text}");
        assert!(text.contains("\n  UNIT  MEANING\n  cpu   a | b\n"), "{text}");
    }
}
