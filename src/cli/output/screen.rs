//! The only writer to stdout and stderr. It escapes text from untrusted sources (`diag::escape`)
//! and lets through line ends and our own styles.
//!
//! A style is a mark in the text until it is written: [`open`] and [`CLOSE`] make one with a number that
//! is drawn once per process, so that no text that was read can hold one.
//!
//! Line ends are escaped where a text becomes part of a line: in cells of tables, in `Output::paint` and
//! `Output::part`. `tests/cli/escapes.rs` tries every command and format.

use crate::diag::escape;
use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

/// The character that every mark begins with.
const MARK: char = '\u{fdd0}';
/// How many digits follow it; a digit is one of sixteen noncharacters from U+FDE0 on.
const DIGITS: usize = 16;

/// A random number in every mark, so that text from outside of this process cannot contain a mark.
fn secret() -> &'static str {
    static SECRET: OnceLock<String> = OnceLock::new();
    SECRET.get_or_init(|| {
        use std::hash::{BuildHasher, Hasher};
        let drawn = std::hash::RandomState::new().build_hasher().finish();
        let digit = |at: usize| char::from_u32(0xfde0 + (drawn >> (4 * at) & 15) as u32).unwrap_or(MARK);
        (0..DIGITS).map(digit).collect()
    })
}

/// The style of a mark, as the number of an SGR sequence: `1;31`, `0`.
pub(super) const CODES: [&str; 7] = ["0", "1;31", "33", "32", "36", "1", "2"];

/// The mark that begins a style: an index into [`CODES`].
pub(super) fn mark(code: usize) -> String {
    format!("{MARK}{}{}", secret(), char::from_digit(code as u32, 10).unwrap_or('0'))
}

/// The index into [`CODES`] and the rest, if a text begins with one of our marks.
fn strip_mark(text: &str) -> Option<(usize, &str)> {
    let rest = text.strip_prefix(MARK)?.strip_prefix(secret())?;
    let code = rest.chars().next()?.to_digit(10)? as usize;
    CODES.get(code)?;
    Some((code, rest.get(1..)?))
}

/// Pieces of a text: our marks, and what is between them.
enum Piece<'a> {
    Mark(usize),
    Text(&'a str),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((code, after)) = strip_mark(rest) {
            rest = after;
            return Some(Piece::Mark(code));
        }
        let ours =
            rest.match_indices(MARK).find(|(at, _)| rest.get(*at..).is_some_and(|r| strip_mark(r).is_some()));
        let (text, after) = rest.split_at(ours.map_or(rest.len(), |(at, _)| at));
        rest = after;
        Some(Piece::Text(text))
    })
}

/// A text as a part of a line: line ends and tabs are escaped as well; our marks stay.
pub(super) fn part(text: &str) -> Cow<'_, str> {
    if !text.contains(escape::is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Mark(code) => out.push_str(&mark(code)),
            Piece::Text(text) => out.push_str(&escape::line(text)),
        }
    }
    Cow::Owned(out)
}

/// Columns of a text without its marks.
pub(super) fn width(text: &str) -> usize {
    let of = |piece: Piece<'_>| match piece {
        Piece::Mark(_) => 0,
        Piece::Text(text) => crate::diag::width::width(text),
    };
    pieces(text).map(of).sum()
}

/// A text as it is written: marks as styles, everything unsafe but line ends and tabs as escapes.
pub(super) fn written(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| escape::is_unsafe(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 32);
    for piece in pieces(text) {
        match piece {
            Piece::Mark(code) => {
                out.push_str("\u{1b}[");
                out.push_str(CODES.get(code).copied().unwrap_or("0"));
                out.push('m');
            }
            Piece::Text(text) => out.push_str(&escape::lines(text)),
        }
    }
    Cow::Owned(out)
}

/// Stdout or stderr.
pub(super) struct Screen {
    sink: Box<dyn Write>,
    /// The reader went away (`bayplan … | head`): the rest is dropped, and the command ends as it would.
    closed: bool,
    /// The first error of a write, for [`Screen::finish`].
    failed: Option<std::io::Error>,
}

impl Screen {
    pub(super) fn new(sink: Box<dyn Write>) -> Self {
        Screen { sink, closed: false, failed: None }
    }

    /// Writes a text that has been escaped where it was made.
    pub(super) fn write_raw(&mut self, text: &[u8]) -> std::io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let done = self.sink.write_all(text);
        self.judge(done)
    }

    /// Writes out what is held back, and says how all writes went.
    pub(super) fn finish(&mut self) -> std::io::Result<()> {
        if !self.closed {
            let done = self.sink.flush();
            self.judge(done)?;
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    fn judge(&mut self, done: std::io::Result<()>) -> std::io::Result<()> {
        match done {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            Err(error) => {
                let copy = std::io::Error::new(error.kind(), error.to_string());
                self.closed = true;
                self.failed.get_or_insert(error);
                Err(copy)
            }
            done => done,
        }
    }
}

impl Write for Screen {
    /// Writes all of it: a text comes in whole pieces, so that no mark and no character is torn.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.write_raw(written(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let done = self.sink.flush();
        self.judge(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_ours_become_styles_and_forged_ones_escapes() {
        let painted = format!("{}a\u{1b}b{}", mark(1), mark(0));
        assert_eq!(written(&painted), "\u{1b}[1;31ma\\u{1b}b\u{1b}[0m");
        assert_eq!(part(&painted), format!("{}a\\u{{1b}}b{}", mark(1), mark(0)));
        assert_eq!(width(&painted), 3);
        let forged = format!("\u{fdd0}{}1", "\u{fde0}".repeat(DIGITS));
        assert!(written(&forged).starts_with("\\u{fdd0}\\u{fde0}"), "{}", written(&forged));
        assert_eq!(written("a\n\tb"), "a\n\tb");
        assert_eq!(part("a\nb"), "a\\nb");
    }
}
