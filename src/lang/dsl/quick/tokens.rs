//! The tokens of the grammar: white space, words, marks, numbers and strings.
//!
//! Called by `quick` and its `statements`; knows no statement.

use super::{Read, Reader};
use crate::lang::dsl::grammar::Rule;

/// CEL's reserved words, and `none`.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "none",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
];

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

impl<'t> Reader<'t> {
    /// The byte so many behind the next.
    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// The next byte that is no white space.
    pub(super) fn next(&mut self) -> Option<u8> {
        self.skip();
        self.peek(0)
    }

    /// White space and comments.
    pub(super) fn skip(&mut self) {
        while let Some(byte) = self.peek(0) {
            match (byte, byte == b'/') {
                (b' ' | b'\t'..=b'\r', _) => self.at += 1,
                (_, true) => match self.comment() {
                    Some(end) => self.at = end,
                    None => return,
                },
                _ => return,
            }
        }
    }

    /// Where the comment that begins here ends.
    fn comment(&self) -> Option<usize> {
        let rest = self.bytes.get(self.at + 2..)?;
        match self.peek(1)? {
            b'/' => Some(self.at + 2 + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())),
            b'*' => Some(self.at + 2 + rest.windows(2).position(|two| two == b"*/")? + 2),
            _ => None,
        }
    }

    /// The letters, digits and `_` that stand here.
    pub(super) fn word(&self) -> &'t str {
        let long = self.bytes[self.at..].iter().take_while(|byte| is_word(**byte)).count();
        self.text.get(self.at..self.at + long).unwrap_or_default()
    }

    /// A quote stands so many bytes ahead.
    pub(super) fn quote_at(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), Some(b'"' | b'\''))
    }

    /// A token of so many bytes.
    pub(super) fn leaf(&mut self, rule: Rule, long: usize) {
        let at = self.open(rule);
        self.at += long;
        self.close(at);
    }

    /// These marks, whatever follows.
    pub(super) fn mark(&mut self, rule: Rule, marks: &str) -> Read {
        self.skip();
        self.bytes[self.at..].starts_with(marks.as_bytes()).then(|| self.leaf(rule, marks.len()))
    }

    /// This word.
    pub(super) fn key(&mut self, rule: Rule, word: &str) -> Read {
        self.skip();
        (self.word() == word).then(|| self.leaf(rule, word.len()))
    }

    /// Whether this word stands next.
    pub(super) fn says(&mut self, word: &str) -> bool {
        self.skip();
        self.word() == word
    }

    /// A `?` that is none of `??`, if there is one.
    pub(super) fn optional(&mut self) {
        if self.next() == Some(b'?') && self.peek(1) != Some(b'?') {
            self.leaf(Rule::opt, 1);
        }
    }

    /// `=` that is none of `==`
    pub(super) fn assign(&mut self) -> Read {
        (self.next() == Some(b'=') && self.peek(1) != Some(b'=')).then(|| self.leaf(Rule::assign, 1))
    }

    pub(super) fn ident(&mut self) -> Read {
        self.skip();
        let word = self.word();
        let first = word.bytes().next()?;
        if first.is_ascii_digit() || self.quote_at(word.len()) || RESERVED.contains(&word) {
            return None;
        }
        self.leaf(Rule::ident, word.len());
        Some(())
    }

    /// After a dot any word is a field.
    pub(super) fn field(&mut self) -> Read {
        self.skip();
        if self.peek(0) == Some(b'`') {
            let inside = |byte: &u8| is_word(*byte) || matches!(byte, b'.' | b'-' | b'/' | b' ');
            let long = self.bytes[self.at + 1..].iter().take_while(|byte| inside(byte)).count();
            return (long > 0 && self.peek(long + 1) == Some(b'`'))
                .then(|| self.leaf(Rule::quoted, long + 2));
        }
        let word = self.word();
        let first = word.bytes().next()?;
        (!first.is_ascii_digit()).then(|| self.leaf(Rule::field, word.len()))
    }

    /// The bytes of a name that begins so many bytes ahead.
    fn name_length(&self, ahead: usize) -> Option<usize> {
        if !self.peek(ahead)?.is_ascii_alphabetic() {
            return None;
        }
        let mut long = 1;
        while let Some(byte) = self.peek(ahead + long) {
            let goes_on = byte == b'-' && self.peek(ahead + long + 1).is_some_and(is_word);
            if !is_word(byte) && !goes_on {
                break;
            }
            long += 1;
        }
        Some(long)
    }

    pub(super) fn name(&mut self) -> Read {
        self.skip();
        let long = self.name_length(0)?;
        self.leaf(Rule::name, long);
        Some(())
    }

    /// `NAME` or `POLICY/NAME`
    pub(super) fn rule_name(&mut self) -> Read {
        if self.says("until") {
            return None;
        }
        let long = self.name_length(0)?;
        let more = match self.peek(long) {
            Some(b'/') => self.name_length(long + 1).map_or(0, |more| more + 1),
            _ => 0,
        };
        self.leaf(Rule::rule_name, long + more);
        Some(())
    }

    /// `2026-07-01`
    pub(super) fn date(&mut self) -> Read {
        self.skip();
        let date = self.bytes.get(self.at..self.at + 10)?;
        let right = date.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
        (right && !self.peek(10).is_some_and(is_word)).then(|| self.leaf(Rule::date, 10))
    }

    // ---- numbers

    fn digits(&self, ahead: usize) -> usize {
        self.bytes
            .get(self.at + ahead..)
            .unwrap_or_default()
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    }

    /// Digits, and a fraction.
    fn decimal(&self, ahead: usize) -> Option<usize> {
        let whole = self.digits(ahead);
        if whole == 0 {
            return None;
        }
        let fraction = match self.peek(ahead + whole) {
            Some(b'.') => self.digits(ahead + whole + 1),
            _ => 0,
        };
        Some(if fraction > 0 { whole + 1 + fraction } else { whole })
    }

    /// A number with or without a unit.
    pub(super) fn number(&mut self) -> Read {
        self.skip();
        let (rule, long) = self
            .duration()
            .or_else(|| self.quantity())
            .or_else(|| self.percent())
            .or_else(|| self.float())
            .or_else(|| self.int_length().map(|long| (Rule::int, long)))?;
        self.leaf(rule, long);
        Some(())
    }

    /// `(dec ~ unit)+`
    fn duration(&self) -> Option<(Rule, usize)> {
        let mut long = 0;
        while let Some(number) = self.decimal(long) {
            let unit = self.bytes.get(self.at + long + number..).unwrap_or_default();
            let units: [&[u8]; 5] = [b"ms", b"min", b"s", b"h", b"d"];
            let Some(unit) = units.into_iter().find(|of| unit.starts_with(of)) else { break };
            long += number + unit.len();
        }
        (long > 0 && !self.peek(long).is_some_and(is_word)).then_some((Rule::duration, long))
    }

    fn quantity(&self) -> Option<(Rule, usize)> {
        let number = self.decimal(0)?;
        let rest = self.bytes.get(self.at + number..)?;
        let unit = rest.iter().take_while(|byte| is_word(**byte)).count();
        let known = matches!(
            &rest[..unit],
            b"cpu"
                | b"m"
                | b"B"
                | b"k"
                | b"Ki"
                | b"Mi"
                | b"Gi"
                | b"Ti"
                | b"Pi"
                | b"Ei"
                | b"M"
                | b"G"
                | b"T"
                | b"P"
                | b"E"
        );
        known.then_some((Rule::quantity, number + unit))
    }

    fn percent(&self) -> Option<(Rule, usize)> {
        let long = self.decimal(0)?;
        if self.peek(long) != Some(b'%') {
            return None;
        }
        let ends = match self.peek(long + 1) {
            None | Some(b' ' | b'\t'..=b'\r' | b')' | b']' | b'}' | b',' | b';' | b':') => true,
            // A comment or a division: the grammar knows.
            Some(b'/') => matches!(self.peek(long + 2), Some(b'/' | b'*')),
            Some(_) => false,
        };
        ends.then_some((Rule::percent, long + 1))
    }

    fn float(&self) -> Option<(Rule, usize)> {
        let whole = self.digits(0);
        let fraction = match self.peek(whole) {
            Some(b'.') => self.digits(whole + 1),
            _ => 0,
        };
        let mut long = if fraction > 0 { whole + 1 + fraction } else { whole };
        let exponent = match (self.peek(long), self.peek(long + 1)) {
            (Some(b'e' | b'E'), Some(b'+' | b'-')) => (2, self.digits(long + 2)),
            (Some(b'e' | b'E'), _) => (1, self.digits(long + 1)),
            _ => (0, 0),
        };
        if exponent.1 > 0 {
            long += exponent.0 + exponent.1;
        } else if fraction == 0 {
            return None;
        }
        (!self.peek(long).is_some_and(is_word)).then_some((Rule::float, long))
    }

    fn int_length(&self) -> Option<usize> {
        let decimal = self.digits(0);
        let hex = match (self.peek(0), self.peek(1)) {
            (Some(b'0'), Some(b'x' | b'X')) => self
                .bytes
                .get(self.at + 2..)
                .unwrap_or_default()
                .iter()
                .take_while(|byte| byte.is_ascii_hexdigit())
                .count(),
            _ => 0,
        };
        let mut long = if hex > 0 { hex + 2 } else { decimal };
        if long == 0 {
            return None;
        }
        if matches!(self.peek(long), Some(b'u' | b'U')) {
            long += 1;
        }
        (!self.peek(long).is_some_and(is_word)).then_some(long)
    }

    pub(super) fn int(&mut self) -> Read {
        self.skip();
        let long = self.int_length()?;
        self.leaf(Rule::int, long);
        Some(())
    }

    // ---- strings

    /// In double quotes, on one line.
    pub(super) fn template(&mut self) -> Read {
        (self.next() == Some(b'"')).then_some(())?;
        let long = self.short(0, false)?;
        self.leaf(Rule::template, long);
        Some(())
    }

    /// `"…"`, `'…'`, `"""…"""`, `'''…'''`, and with `r` before them.
    pub(super) fn string(&mut self) -> Read {
        let long = match self.next()? {
            b'"' | b'\'' => self.quoted(0, false)?,
            b'r' | b'R' if self.quote_at(1) => self.quoted(1, true)?,
            _ => return None,
        };
        self.leaf(Rule::string, long);
        Some(())
    }

    /// `b"…"`, `rb"…"`, `br"…"`
    pub(super) fn blob(&mut self) -> Read {
        self.skip();
        let long = match (self.peek(0)?.to_ascii_lowercase(), self.peek(1)?.to_ascii_lowercase()) {
            (b'b', b'r') | (b'r', b'b') if self.quote_at(2) => self.quoted(2, true)?,
            (b'b', b'"' | b'\'') => self.quoted(1, false)?,
            _ => return None,
        };
        self.leaf(Rule::bytes, long);
        Some(())
    }

    /// The bytes of a string whose first quote stands so many bytes ahead; all bytes from here.
    fn quoted(&self, ahead: usize, raw: bool) -> Option<usize> {
        let quote = self.peek(ahead)?;
        if self.peek(ahead + 1) != Some(quote) || self.peek(ahead + 2) != Some(quote) {
            return self.short(ahead, raw);
        }
        let mut long = ahead + 3;
        loop {
            match self.peek(long)? {
                b'\\' if !raw => {
                    // What an escape at the end of the text escapes is not there.
                    self.peek(long + 1)?;
                    long += 2;
                }
                byte if byte == quote
                    && self.peek(long + 1) == Some(quote)
                    && self.peek(long + 2) == Some(quote) =>
                {
                    return Some(long + 3);
                }
                _ => long += 1,
            }
        }
    }

    /// A string in one pair of quotes, which ends on its line.
    fn short(&self, ahead: usize, raw: bool) -> Option<usize> {
        let quote = self.peek(ahead)?;
        let mut long = ahead + 1;
        loop {
            match self.peek(long)? {
                b'\n' => return None,
                b'\\' if !raw => {
                    if self.peek(long + 1)? == b'\n' {
                        return None;
                    }
                    long += 2;
                }
                byte if byte == quote => return Some(long + 1),
                _ => long += 1,
            }
        }
    }
}
