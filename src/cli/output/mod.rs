//! How every command writes: text that is escaped (`screen`), styles that are colours only on terminals,
//! tables that align, JSON that holds no raw control characters, errors on stderr.
//!
//! Nothing else in the program writes to stdout or stderr: clippy refuses `print!` and its like, and
//! `tests/architecture.rs` the streams themselves.

mod buffer;
mod screen;
mod status_line;
mod table;

pub(super) use buffer::Buffer;
pub(super) use status_line::StatusLine;
pub use table::{Column, Table};

use super::ColorChoice;
use crate::diag::{Drawn, Look, escape};
use screen::Screen;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

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

/// Where a command writes to.
pub struct Output {
    stdout: Screen,
    stderr: Screen,
    /// Where long work is; removed before anything is written.
    status: Arc<Mutex<StatusLine>>,
    /// Whether stdout takes colours.
    pub colour: bool,
    /// Whether stderr takes colours.
    pub stderr_colour: bool,
    /// Whether stdout and stderr take links.
    links: (bool, bool),
    /// Whether diagnostics are printed as sentences, for screen readers.
    pub narrate: bool,
    /// Whether stderr is a terminal, so that progress may be shown.
    pub progress: bool,
    /// Whether drawn lines may be UTF-8.
    pub unicode: bool,
    /// Columns of the terminal; `None` for pipes, which cut nothing.
    pub width: Option<usize>,
    /// Columns of the terminal that stderr is.
    stderr_width: Option<usize>,
    /// Print the first line only.
    pub quiet: bool,
    /// What people type to start us, for commands that are suggested.
    pub program: &'static str,
}

/// A variable of the environment that is set to something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Columns of a terminal: `COLUMNS`, what the terminal says, or 100. A pipe has none.
fn columns(terminal: bool) -> Option<usize> {
    if !terminal {
        return None;
    }
    let wanted = variable("COLUMNS").and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let real = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    wanted.or_else(real).filter(|columns| *columns > 0).or(Some(100))
}

impl Output {
    /// Stdout and stderr of this process.
    pub fn for_process(choice: ColorChoice, quiet: bool, no_graphics: bool) -> Self {
        let (terminal, stderr_terminal) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
        let no_color = variable("NO_COLOR").is_some();
        let forced = variable("FORCE_COLOR").is_some_and(|value| value != "0" && value != "false");
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(name));
        let colour = |terminal: bool| match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if no_color => false,
            ColorChoice::Auto => forced || terminal && !dumb,
        };
        let links =
            |stream, terminal| terminal && !dumb && colour(terminal) && supports_hyperlinks::on(stream);
        let named = |name| variable(name).is_some_and(|value| value != "0");
        Self {
            stdout: Screen::new(Box::new(std::io::BufWriter::new(std::io::stdout()))),
            stderr: Screen::new(Box::new(std::io::stderr())),
            status: Arc::default(),
            colour: colour(terminal),
            stderr_colour: colour(stderr_terminal),
            links: (
                links(supports_hyperlinks::Stream::Stdout, terminal),
                links(supports_hyperlinks::Stream::Stderr, stderr_terminal),
            ),
            narrate: no_graphics || named("BAYPLAN_NO_GRAPHICS") || named("NO_GRAPHICS"),
            progress: stderr_terminal,
            unicode: locale.is_none_or(|locale| {
                let locale = locale.to_ascii_lowercase();
                locale.contains("utf-8") || locale.contains("utf8") || !terminal
            }),
            width: columns(terminal),
            stderr_width: columns(stderr_terminal),
            quiet,
            program: super::PROGRAM,
        }
    }

    /// What is written goes to the two sinks, without colours.
    pub fn to_sinks(stdout: Box<dyn Write>, stderr: Box<dyn Write>) -> Self {
        Self {
            stdout: Screen::new(stdout),
            stderr: Screen::new(stderr),
            status: Arc::default(),
            colour: false,
            stderr_colour: false,
            links: (false, false),
            narrate: false,
            progress: false,
            unicode: true,
            width: None,
            stderr_width: None,
            quiet: false,
            program: super::PROGRAM,
        }
    }

    /// Data goes here. What is written is escaped, except line ends, tabs and what [`Output::paint`] made.
    pub fn stdout(&mut self) -> &mut dyn Write {
        &mut self.stdout
    }

    /// The line that shows where long work is.
    pub(super) fn status_line(&self) -> Arc<Mutex<StatusLine>> {
        self.status.clone()
    }

    fn clear_status(&self) {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Everything else goes here, escaped in the same way.
    pub fn stderr(&mut self) -> &mut dyn Write {
        self.clear_status();
        &mut self.stderr
    }

    /// `text` in a style, for stdout. It is a part of a line: line ends in it are escaped.
    pub fn paint(&self, style: Style, text: &str) -> String {
        let text = screen::part(text);
        if !self.colour || style == Style::Plain || text.is_empty() {
            return text.into_owned();
        }
        format!("{}{text}{}", screen::mark(style as usize), screen::mark(0))
    }

    /// `text` as a part of a line, without a style: line ends in it are escaped. Everything that an object
    /// or a file holds goes through here, through [`Output::paint`] or into a cell of a [`Table`] before it
    /// is printed on a line.
    pub fn part(&self, text: &str) -> String {
        self.paint(Style::Plain, text)
    }

    /// A JSON document on stdout, with JSON's own escapes for what must not be printed.
    pub fn json(&mut self, value: &serde_json::Value) -> std::io::Result<()> {
        self.stdout.write_raw(json(value).as_bytes())
    }

    /// Drawn diagnostics on stdout, without a line end after them.
    pub fn draw(&mut self, drawn: &Drawn) -> std::io::Result<()> {
        self.stdout.write_raw(drawn.as_str().as_bytes())
    }

    /// Drawn diagnostics on stderr.
    pub fn draw_on_stderr(&mut self, drawn: &Drawn) -> std::io::Result<()> {
        self.clear_status();
        self.stderr.write_raw(drawn.as_str().as_bytes())
    }

    /// A long text for people: on a terminal through `PAGER`, or `less`, which ends at once where the text fits.
    /// Without one, and in a pipe, it is printed.
    pub fn page(&mut self, text: &str) -> std::io::Result<()> {
        let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        let terminal = self.width.is_some() && std::io::stdin().is_terminal();
        let wanted =
            terminal && variable("TERM").is_some_and(|term| term != "dumb") && !pager.trim().is_empty();
        if !wanted || !self.paged(&pager, text)? {
            self.stdout.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Whether a pager took the text.
    fn paged(&mut self, pager: &str, text: &str) -> std::io::Result<bool> {
        self.stdout.flush()?;
        let mut command = std::process::Command::new("sh");
        let program = pager.split_whitespace().next().unwrap_or_default();
        let script = format!("command -v {program} > /dev/null || exit 127; {pager}");
        command.args(["-c", &script]).stdin(std::process::Stdio::piped());
        if variable("LESS").is_none() {
            // It ends where one page is enough, and leaves the text on the screen.
            command.env("LESS", "FRX");
        }
        let Ok(mut child) = command.spawn() else { return Ok(false) };
        if let Some(mut pipe) = child.stdin.take() {
            // Who quits the pager has seen enough.
            let _ = pipe.write_all(screen::written(text).as_bytes());
        }
        // The shell has 127 for a command that is not there.
        Ok(child.wait()?.code() != Some(127))
    }

    /// A text that another program reads, byte by byte: a patch, a converted file. Only a terminal gets it escaped.
    pub fn for_programs(&mut self, text: &str) -> std::io::Result<()> {
        match self.width {
            Some(_) => self.stdout.write_all(text.as_bytes()),
            None => self.stdout.write_raw(text.as_bytes()),
        }
    }

    /// A text that consists of our own words only, such as a completion script.
    pub fn trusted(&mut self, text: &[u8]) -> std::io::Result<()> {
        self.stdout.write_raw(text)
    }

    /// A text that is for programs, such as a file: as it is, but escaped on a terminal.
    pub fn file(&mut self, text: &str) -> std::io::Result<()> {
        match self.width {
            None => self.stdout.write_raw(text.as_bytes()),
            Some(_) => self.stdout.write_all(text.as_bytes()),
        }
    }

    /// A text that consists of our own words only, on stderr.
    pub fn trusted_on_stderr(&mut self, text: &[u8]) -> std::io::Result<()> {
        self.clear_status();
        self.stderr.write_raw(text)
    }

    /// How diagnostics are drawn on stdout.
    pub fn look(&self, limit: Option<usize>) -> Look {
        let (colour, unicode, links) = (self.colour, self.unicode, self.links.0);
        Look { colour, unicode, links, narrate: self.narrate, width: self.width, limit }
    }

    /// How diagnostics are drawn on stderr.
    pub fn stderr_look(&self, limit: Option<usize>) -> Look {
        let (colour, links, width) = (self.stderr_colour, self.links.1, self.stderr_width);
        Look { colour, links, width, ..self.look(limit) }
    }

    /// An error of the command itself, with its causes, on stderr.
    pub fn error(&mut self, error: &anyhow::Error) {
        self.clear_status();
        let _ = self.stdout.flush();
        let text = format!("{error:#}");
        let text = if error.is::<Lines>() { text } else { escape::line(&text).into_owned() };
        let _ = writeln!(self.stderr, "error: {text}");
    }

    /// Writes out what is held back. An error when any of the data could not be written; not when the
    /// reader of a pipe went away.
    pub fn finish(&mut self) -> std::io::Result<()> {
        self.stdout.finish()
    }

    /// Writes out what was written so far, by a command that goes on.
    #[cfg(feature = "cluster")]
    pub fn flush(&mut self) -> std::io::Result<()> {
        std::io::Write::flush(&mut self.stdout)
    }
}

/// An error of several lines that are our own, such as drawn diagnostics. All other errors are printed as
/// one line, so that no name in them can forge another.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Lines(pub String);

impl Drop for Output {
    fn drop(&mut self) {
        let _ = self.stdout.flush();
    }
}

/// A number with a comma for thousands.
pub(super) fn count(number: usize) -> String {
    crate::diag::with_commas(number as u128)
}

/// A JSON document, indented, with a line end.
fn json(value: &serde_json::Value) -> String {
    let text = format!("{value:#}\n");
    match escape::json(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(safe) => safe,
    }
}

/// JSON as YAML. A document with characters that must not be printed is written in YAML's JSON form,
/// which alone can escape them in every place.
pub(super) fn yaml(value: &serde_json::Value) -> anyhow::Result<String> {
    let json = json(value);
    let escapes = json.contains("\\u");
    Ok(if escapes { json } else { serde_saphyr::to_string(value)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_of_hostile_text_is_its_json() {
        let value = serde_json::json!({"a": "\u{202e}x\u{1b}"});
        let text = yaml(&value).unwrap_or_default();
        assert_eq!(text, "{\n  \"a\": \"\\u202ex\\u001b\"\n}\n");
        assert_eq!(yaml(&serde_json::json!({"a": "b"})).unwrap_or_default(), "a: b\n");
    }
}
