//! One line on stderr that is written over itself while long work runs, and the error that ends it. A thread of its own
//! writes it (`cli/progress.rs`), so it has a stream beside that of `Output`. A reader that went away is ignored.

use super::screen::Screen;
use std::io::Write;

/// Back to the first column, and clears the line.
const CLEAR: &[u8] = b"\r\x1b[K";

/// The line. Text is escaped as everywhere.
pub(in crate::cli) struct StatusLine {
    screen: Screen,
    shown: bool,
}

impl StatusLine {
    /// A line on the stderr of this process; it is empty.
    pub(in crate::cli) fn beside_output() -> Self {
        Self { screen: Screen::new(Box::new(std::io::stderr())), shown: false }
    }

    /// Shows a text in place of what the line holds.
    pub(in crate::cli) fn show(&mut self, text: &str) {
        let _ = self.screen.write_raw(CLEAR);
        let _ = write!(self.screen, "{text}");
        self.shown = true;
    }

    /// Removes the line.
    pub(in crate::cli) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = self.screen.write_raw(CLEAR);
        }
    }

    /// Removes the line and writes an error in its place.
    pub(in crate::cli) fn fail(&mut self, message: &str) {
        self.clear();
        let _ = writeln!(self.screen, "error: {message}");
    }
}
