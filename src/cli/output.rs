//! How every command writes: styles that are colours only on terminals, tables that align, errors on stderr.

use super::ColorChoice;
use std::borrow::Cow;
use std::io::{IsTerminal, Write};

/// What a piece of text is; the colour follows from it, and a word always says the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// Nothing special.
    #[default]
    Plain,
    /// An error, a refusal, `FAIL`: red, bold.
    Bad,
    /// Waits, warnings: yellow.
    Warn,
    /// Placed, passed: green.
    Good,
    /// Names of rules and places: cyan.
    Name,
    /// The answer: bold.
    Strong,
    /// Heads and context: dim.
    Dim,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Bad => "\u{1b}[1;31m",
            Style::Warn => "\u{1b}[33m",
            Style::Good => "\u{1b}[32m",
            Style::Name => "\u{1b}[36m",
            Style::Strong => "\u{1b}[1m",
            Style::Dim => "\u{1b}[2m",
        }
    }
}

/// Where a command writes to.
pub struct Output {
    stdout: Box<dyn Write>,
    stderr: Box<dyn Write>,
    /// Whether stdout takes colours.
    pub colour: bool,
    /// Whether stderr takes colours.
    pub stderr_colour: bool,
    /// Whether stderr is a terminal, so that progress may be shown.
    pub progress: bool,
    /// Whether drawn lines may be UTF-8.
    pub unicode: bool,
    /// Columns of the terminal; `None` for pipes, which cut nothing.
    pub width: Option<usize>,
    /// Print the first line only.
    pub quiet: bool,
    /// What people type to start us, for commands that are suggested.
    pub program: &'static str,
}

impl Output {
    /// Stdout and stderr of this process.
    pub fn for_process(choice: ColorChoice, quiet: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let no_color = std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| {
            let value = std::env::var(name).ok()?;
            (!value.is_empty()).then_some(value)
        });
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        Self {
            stdout: Box::new(std::io::BufWriter::new(std::io::stdout())),
            stderr: Box::new(std::io::stderr()),
            colour: match choice {
                ColorChoice::Always => true,
                ColorChoice::Never => false,
                ColorChoice::Auto => terminal && !no_color,
            },
            stderr_colour: match choice {
                ColorChoice::Always => true,
                ColorChoice::Never => false,
                ColorChoice::Auto => std::io::stderr().is_terminal() && !no_color,
            },
            progress: std::io::stderr().is_terminal(),
            unicode: locale.is_none_or(|locale| {
                let locale = locale.to_ascii_lowercase();
                locale.contains("utf-8") || locale.contains("utf8") || !terminal
            }),
            width: if terminal { columns.or(Some(100)) } else { None },
            quiet,
            program: super::PROGRAM,
        }
    }

    /// For tests: what is written goes to the two sinks, without colours.
    pub fn to_sinks(stdout: Box<dyn Write>, stderr: Box<dyn Write>) -> Self {
        Self {
            stdout,
            stderr,
            colour: false,
            stderr_colour: false,
            progress: false,
            unicode: true,
            width: None,
            quiet: false,
            program: super::PROGRAM,
        }
    }

    /// Data goes here.
    pub fn stdout(&mut self) -> &mut dyn Write {
        &mut *self.stdout
    }

    /// Everything else goes here.
    pub fn stderr(&mut self) -> &mut dyn Write {
        &mut *self.stderr
    }

    /// `text` in a style, for stdout.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if !self.colour || style == Style::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("{}{text}\u{1b}[0m", style.code())
    }

    /// An error of the command itself, with its causes, on stderr.
    pub fn error(&mut self, error: &anyhow::Error) {
        let _ = self.stdout.flush();
        let _ = writeln!(self.stderr, "error: {error:#}");
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = self.stdout.flush();
    }
}

/// Whether the reader went away (`bayplan … | head`): no failure of ours.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The head.
    pub head: Cow<'static, str>,
    /// Numbers stand right, words left.
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
        Self { head: Cow::Owned(name.to_owned()), right: true }
    }
}

/// A table: two blanks between columns, no boxes, numbers right, words left.
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
        self.rows.push(cells.into_iter().collect());
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
            |row: &[(Style, String)], at: usize| row.get(at).map_or(0, |(_, text)| text.chars().count());
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                self.rows
                    .iter()
                    .map(|row| cell(row, at))
                    .chain([column.head.chars().count()])
                    .max()
                    .unwrap_or(0)
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
            let mut cell = cell.clone();
            if let Some(limit) = out.width
                && at == last
                && used + cell.chars().count() > limit
            {
                cell = cell.chars().take(limit.saturating_sub(used + 1)).chain(['…']).collect();
            }
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
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

/// A number with a comma for thousands.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// JSON as YAML.
pub fn yaml(value: &serde_json::Value) -> anyhow::Result<String> {
    Ok(serde_saphyr::to_string(value)?)
}
