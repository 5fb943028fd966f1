//! One pass over a text before the grammar: counts brackets, keeps comments, and cuts tokens of four kinds.
//!
//! Called by `syntax::parse` for every file; `recovery` cuts a broken file by these tokens. It agrees with
//! `bay.pest` on where strings and comments end, and knows nothing else of the grammar.

use crate::syntax::ast::CommentKind;

/// What a token is, as far as a splitter needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and `_`, beginning with no digit.
    Word,
    /// With its quotes and prefix. A quote without an end ends at the line.
    String,
    /// Beginning with a digit, with every letter that touches it.
    Number,
    /// Anything else; operators of two letters are one mark.
    Mark,
}

/// A token; comments are none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Only white space and comments precede it on its line.
    pub(super) first: bool,
}

/// A comment, without its line end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remark {
    pub(super) kind: CommentKind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) first: bool,
}

/// A quote or comment without an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) comment: bool,
}

/// What one run finds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) tokens: Vec<Token>,
    pub(super) comments: Vec<Remark>,
    pub(super) open: Vec<Open>,
    /// The first bracket beyond the limit.
    pub(super) too_deep: Option<usize>,
}

/// Levels of brackets that a text may have.
pub(super) const MAX_DEPTH: usize = 100;

/// Runs over the text once.
pub(super) fn scan(text: &str) -> Scan {
    let bytes = text.as_bytes();
    let mut out = Scan { tokens: Vec::with_capacity(bytes.len() / 4), ..Scan::default() };
    let mut at = 0;
    let mut first = true;
    let mut depth = 0usize;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'\n' => {
                first = true;
                at += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = line_end(bytes, at);
                let third = bytes.get(start + 2) == Some(&b'/') && bytes.get(start + 3) != Some(&b'/');
                let kind = if third { CommentKind::Doc } else { CommentKind::Line };
                let end = if bytes.get(at.wrapping_sub(1)) == Some(&b'\r') { at - 1 } else { at };
                out.comments.push(Remark { kind, start, end, first });
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = text.get(at + 2..).and_then(|rest| rest.find("*/"));
                at = end.map_or(bytes.len(), |end| at + 2 + end + 2);
                if end.is_none() {
                    out.open.push(Open { start, end: at, comment: true });
                }
                out.comments.push(Remark { kind: CommentKind::Block, start, end: at, first });
                // text after a comment of several lines is not first on its line, but nothing that
                // is read by that needs to know
                continue;
            }
            b'"' | b'\'' => at = string(bytes, at, false, &mut out.open, start),
            b'r' | b'R' | b'b' | b'B' if prefix(bytes, at) > 0 => {
                let long = prefix(bytes, at);
                let raw = bytes.iter().skip(at).take(long).any(|b| b.eq_ignore_ascii_case(&b'r'));
                at = string(bytes, at + long, raw, &mut out.open, start);
            }
            b'0'..=b'9' => at = number(bytes, at),
            _ if byte == b'_' || byte.is_ascii_alphabetic() => at = word(bytes, at),
            _ => {
                match byte {
                    b'(' | b'[' | b'{' => {
                        depth += 1;
                        if depth > MAX_DEPTH && out.too_deep.is_none() {
                            out.too_deep = Some(at);
                        }
                    }
                    b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                at += mark(text, at);
            }
        }
        let kind = match byte {
            b'"' | b'\'' => Kind::String,
            b'0'..=b'9' => Kind::Number,
            _ if bytes.get(at.wrapping_sub(1)).is_some_and(|b| matches!(b, b'"' | b'\'')) => Kind::String,
            _ if byte == b'_' || byte.is_ascii_alphabetic() => Kind::Word,
            _ => Kind::Mark,
        };
        out.tokens.push(Token { kind, start, end: at, first });
        first = false;
    }
    out
}

/// The byte of the line end at or after `at`.
fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes.iter().skip(at).position(|&b| b == b'\n').map_or(bytes.len(), |long| at + long)
}

fn word(bytes: &[u8], at: usize) -> usize {
    let long = bytes.iter().skip(at).take_while(|b| **b == b'_' || b.is_ascii_alphanumeric()).count();
    at + long
}

/// A number takes every letter and dot that touches it, so that `500Mb` is one token; `1..9` are three.
fn number(bytes: &[u8], at: usize) -> usize {
    let mut end = word(bytes, at);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = word(bytes, end + 1);
    }
    let exponent = bytes.get(end.wrapping_sub(1)).is_some_and(|b| b.eq_ignore_ascii_case(&b'e'));
    let signed = bytes.get(end).is_some_and(|b| matches!(b, b'+' | b'-'));
    if exponent && signed && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = word(bytes, end + 1);
    }
    end
}

/// How many letters of `r`, `b`, `rb`, `br` precede a quote here; 0 when it is a word.
fn prefix(bytes: &[u8], at: usize) -> usize {
    let letter = |i: usize| bytes.get(at + i).map(u8::to_ascii_lowercase);
    let quote = |i: usize| matches!(letter(i), Some(b'"' | b'\''));
    match (letter(0), letter(1)) {
        (Some(b'r'), Some(b'b')) | (Some(b'b'), Some(b'r')) if quote(2) => 2,
        (Some(b'r' | b'b'), _) if quote(1) => 1,
        _ => 0,
    }
}

/// The end of the string whose first quote is at `at`.
fn string(bytes: &[u8], at: usize, raw: bool, open: &mut Vec<Open>, start: usize) -> usize {
    let quote = bytes.get(at).copied().unwrap_or(b'"');
    let long = bytes.get(at + 1) == Some(&quote) && bytes.get(at + 2) == Some(&quote);
    let mut i = at + if long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' if !raw && bytes.get(i + 1).is_some_and(|&b| b != b'\n') => i += 2,
            b'\n' if !long => break,
            _ if byte == quote && !long => return i + 1,
            _ if byte == quote && bytes.get(i + 1) == Some(&quote) && bytes.get(i + 2) == Some(&quote) => {
                return i + 3;
            }
            _ => i += 1,
        }
    }
    let mut end = i.min(bytes.len());
    // a backslash before a letter of several bytes may have stepped into it
    while end > at && bytes.get(end).is_some_and(|b| (0x80..0xc0).contains(b)) {
        end -= 1;
    }
    if long {
        // without its end it is a string of one line, so that the rest of the file is still read
        end = line_end(bytes, at);
    }
    while end > at + 1 && bytes.get(end - 1).is_some_and(|b| matches!(b, b'\r' | b' ')) {
        end -= 1;
    }
    open.push(Open { start, end, comment: false });
    end
}

/// The length of the mark at `at`; a letter beyond ASCII is a mark of its own.
fn mark(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let (first, second) = (bytes.get(at).copied(), bytes.get(at + 1).copied());
    match (first, second) {
        (Some(b'=' | b'!' | b'<' | b'>'), Some(b'='))
        | (Some(b'&'), Some(b'&'))
        | (Some(b'|'), Some(b'|'))
        | (Some(b'?'), Some(b'?'))
        | (Some(b'.'), Some(b'.'))
        | (Some(b'-'), Some(b'>')) => 2,
        (Some(0..=0x7f), _) => 1,
        _ => text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn tokens(text: &str) -> Vec<&str> {
        scan(text).tokens.iter().map(|t| &text[t.start..t.end]).collect()
    }

    #[test]
    fn tokens_end_where_the_grammar_ends_them() {
        assert_eq!(
            tokens(r#"a.b["x\"y"]>=1..99"#),
            ["a", ".", "b", "[", r#""x\"y""#, "]", ">=", "1", "..", "99"]
        );
        assert_eq!(
            tokens(r#"r"\" b'x' rb"" 500Mb 1e-3 0.5cpu"#),
            [r#"r"\""#, "b'x'", "rb\"\"", "500Mb", "1e-3", "0.5cpu"]
        );
        assert_eq!(tokens("a // \" (\n/* [ \n */ b"), ["a", "b"]);
    }

    #[test]
    fn a_quote_without_an_end_ends_at_its_line() {
        let found = scan("let a = \"x \nlet b = 1");
        assert_eq!(found.open.len(), 1);
        assert_eq!(found.tokens.len(), 8);
        assert!(found.tokens[4].first);
    }

    #[test]
    fn brackets_beyond_the_limit_are_named() {
        assert_eq!(scan(&"(".repeat(100)).too_deep, None);
        assert_eq!(scan(&"(".repeat(101)).too_deep, Some(100));
    }
}
