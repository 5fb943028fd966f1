//! One line on stderr that is written over itself while long work runs, and the error that ends it. A thread of its own
//! writes it (`cli/progress.rs`), so it has a stream beside that of `Output`, which removes the line before it writes. A
//! reader that went away is ignored.

use super::screen::Screen;
use std::io::Write;
use std::time::{Duration, Instant};

/// Back to the first column, and clears the line.
const CLEAR: &[u8] = b"\r\x1b[K";
/// After `Output` wrote, the line does not come back for this long: a sentence is written in pieces.
const HOLD: Duration = Duration::from_millis(200);

/// The stderr of this process.
fn screen() -> Screen {
    Screen::new(Box::new(std::io::stderr()))
}

/// The line. Text is escaped as everywhere.
#[derive(Default)]
pub(in crate::cli) struct StatusLine {
    shown: bool,
    cleared: Option<Instant>,
}

impl StatusLine {
    /// Shows a text in place of what the line holds.
    pub(in crate::cli) fn show(&mut self, text: &str) {
        if self.cleared.is_some_and(|cleared| cleared.elapsed() < HOLD) {
            return;
        }
        let _ = screen().write_raw(CLEAR);
        let _ = write!(screen(), "{text}");
        self.shown = true;
    }

    /// Removes the line, because something else is written.
    pub(in crate::cli) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = screen().write_raw(CLEAR);
        }
        self.cleared = Some(Instant::now());
    }

    /// Removes the line and writes an error in its place.
    pub(in crate::cli) fn fail(&mut self, message: &str) {
        self.clear();
        let _ = writeln!(screen(), "error: {message}");
    }
}
