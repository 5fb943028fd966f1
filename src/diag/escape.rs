//! Makes untrusted text safe to print.
//!
//! A name, label, annotation or file name may hold control characters that command a terminal, marks
//! that turn the direction of text, characters that take no room, and line ends that forge a line.
//! Everything that prints text goes through here: the drawing of diagnostics, `cli::Output`, and the
//! log lines of `run`. Machine formats have escapes of their own: [`json`] for JSON and YAML.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character is shown as an escape instead of itself.
///
/// Line ends are escaped too: callers add their own line ends around the escaped text.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || is_bidi(c) || is_invisible(c)
}

/// Whether a character changes the direction of the text around it.
pub fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character takes no room or ends a line: it can hide text or make equal texts differ.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{fdd0}'..='\u{fdef}' | '\u{e0000}'..='\u{e0fff}')
        || (c as u32) & 0xfffe == 0xfffe
}

/// A text as one line: everything unsafe as an escape, line ends and tabs too.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// A text of several lines: everything unsafe as an escape, except line ends and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(|c| is_unsafe(c) && !keep(c)) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    let (safe, rest) = text.split_at(first);
    out.push_str(safe);
    for c in rest.chars() {
        if is_unsafe(c) && !keep(c) {
            push(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Appends the escape of a character, as Rust writes it: `\n`, `\u{1b}`.
pub fn push(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => {
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        }
    }
}

/// A JSON text whose strings hold unsafe characters only as JSON's own escapes. Such characters occur
/// in JSON only inside of strings, so the value stays the same.
pub fn json(text: &str) -> Cow<'_, str> {
    let hostile = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\t' | '\r');
    if !text.contains(hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hostile(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn controls_bidi_marks_and_invisible_characters_become_escapes() {
        assert_eq!(line("plain äöü 数 👍"), "plain äöü 数 👍");
        assert_eq!(line("a\u{1b}[2Jb\u{7}"), "a\\u{1b}[2Jb\\u{7}");
        assert_eq!(line("a\nb\tc\r"), "a\\nb\\tc\\r");
        assert_eq!(lines("a\nb\tc\r"), "a\nb\tc\\r");
        for c in ['\u{0}', '\u{7f}', '\u{80}', '\u{9b}', '\u{9f}', '\u{61c}', '\u{200e}', '\u{200f}']
            .into_iter()
            .chain('\u{202a}'..='\u{202e}')
            .chain('\u{2066}'..='\u{2069}')
            .chain(['\u{200b}', '\u{200c}', '\u{200d}', '\u{2028}', '\u{2029}', '\u{2060}', '\u{feff}'])
            .chain(['\u{ad}', '\u{3164}', '\u{e0041}', '\u{fdd0}', '\u{ffff}', '\u{10ffff}'])
        {
            assert_eq!(lines(&format!("a{c}b")), format!("a\\u{{{:x}}}b", c as u32));
        }
    }

    #[test]
    fn json_keeps_its_values() {
        let value = serde_json::json!({"a\u{202e}": "b\u{7f}\u{e0041}\n\u{1b}"});
        let text = format!("{value:#}");
        let safe = json(&text);
        assert!(!safe.contains(|c| is_unsafe(c) && c != '\n'), "{safe:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
