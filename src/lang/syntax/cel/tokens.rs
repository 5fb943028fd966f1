//! The tokens of a CEL expression with their places, their brackets in pairs, and what is too much of it.
//!
//! The `cel` crate tells one token of each node; this list gives the rest of a node's range. It cuts a text as
//! CEL's own lexer does: the longest token first.

use crate::syntax::MAX_OPERATORS;
use crate::syntax::tokens::{Kind, MAX_DEPTH, Token};

/// The tokens of a text; comments are none.
#[derive(Debug, Default)]
pub(super) struct Tokens<'t> {
    pub(super) text: &'t str,
    pub(super) list: Vec<Token>,
    /// The other bracket of a pair, by token.
    partner: Vec<Option<usize>>,
    /// The innermost open bracket around a token.
    inside: Vec<Option<usize>>,
    /// Strings without an end, by token.
    pub(super) open_strings: Vec<usize>,
    /// Brackets without a partner, by token.
    pub(super) lone_brackets: Vec<usize>,
    /// The first bracket beyond the limit, by token.
    pub(super) too_deep: Option<usize>,
    /// The first operator beyond the limit, by token.
    pub(super) too_many: Option<usize>,
}

impl<'t> Tokens<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut out = Tokens { text, ..Tokens::default() };
        let mut at = 0;
        let mut first = true;
        while let Some(&byte) = text.as_bytes().get(at) {
            match byte {
                b'\n' => first = true,
                b' ' | b'\t' | b'\r' | 0x0c => {}
                b'/' if text.as_bytes().get(at + 1) == Some(&b'/') => {
                    let rest = text.get(at..).unwrap_or("");
                    at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                _ => {
                    let (kind, end, ends) = token(text, at);
                    if !ends {
                        out.open_strings.push(out.list.len());
                    }
                    out.list.push(Token { kind, start: at, end, first });
                    first = false;
                    at = end;
                    continue;
                }
            }
            at += 1;
        }
        out.pair();
        out.count();
        out
    }

    fn pair(&mut self) {
        let mut open: Vec<usize> = Vec::new();
        self.partner = vec![None; self.list.len()];
        self.inside = vec![None; self.list.len()];
        for at in 0..self.list.len() {
            let closes = match self.mark(at) {
                ")" => Some("("),
                "]" => Some("["),
                "}" => Some("{"),
                _ => None,
            };
            if let Some(opening) = closes {
                match open.last().copied().filter(|last| self.mark(*last) == opening) {
                    Some(last) => {
                        open.pop();
                        set(&mut self.partner, last, at);
                        set(&mut self.partner, at, last);
                    }
                    None => self.lone_brackets.push(at),
                }
            }
            if let Some(last) = open.last() {
                set(&mut self.inside, at, *last);
            }
            if matches!(self.mark(at), "(" | "[" | "{") {
                open.push(at);
                if open.len() > MAX_DEPTH && self.too_deep.is_none() {
                    self.too_deep = Some(at);
                }
            }
        }
        self.lone_brackets.extend(open);
        self.lone_brackets.sort_unstable();
    }

    /// Counts what the policy language counts: operators, prefixes, `? :`, calls, `.` and indices.
    fn count(&mut self) {
        let mut operators = 0usize;
        for at in 0..self.list.len() {
            let counts = match self.mark(at) {
                "||" | "&&" | "==" | "!=" | "<=" | ">=" | "<" | ">" | "+" | "-" | "*" | "/" | "%" | "!"
                | "in" | "." => true,
                "?" | "[" => self.ends_operand(at),
                "(" => self.opens_call(at) && at.checked_sub(2).is_none_or(|dot| self.mark(dot) != "."),
                _ => false,
            };
            operators += usize::from(counts);
            if operators > MAX_OPERATORS {
                self.too_many = Some(at);
                return;
            }
        }
    }

    pub(super) fn token(&self, at: usize) -> Option<&Token> {
        self.list.get(at)
    }

    /// The text of a token; empty after the last one.
    pub(super) fn text_of(&self, at: usize) -> &'t str {
        self.token(at).and_then(|token| self.text.get(token.start..token.end)).unwrap_or("")
    }

    /// The text of a mark or of the operator `in`; empty for any other token.
    pub(super) fn mark(&self, at: usize) -> &'t str {
        let text = self.text_of(at);
        let mark = self.token(at).is_some_and(|token| token.kind == Kind::Mark);
        if mark || text == "in" { text } else { "" }
    }

    /// The text of a word other than `in`.
    pub(super) fn word(&self, at: usize) -> Option<&'t str> {
        let token = self.token(at).filter(|token| token.kind == Kind::Word)?;
        self.text.get(token.start..token.end).filter(|text| *text != "in")
    }

    /// The token that begins at a byte.
    pub(super) fn at_byte(&self, start: usize) -> Option<usize> {
        self.list.binary_search_by_key(&start, |token| token.start).ok()
    }

    /// The other bracket of a pair.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.partner.get(at).copied().flatten()
    }

    /// The open bracket around a token.
    pub(super) fn inside(&self, at: usize) -> Option<usize> {
        self.inside.get(at).copied().flatten()
    }

    /// Whether the token before `at` ends an operand, so that an operator may follow it.
    pub(super) fn ends_operand(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).filter(|before| *before < self.list.len()) else { return false };
        match self.list.get(before).map(|token| token.kind) {
            Some(Kind::Mark) => matches!(self.mark(before), ")" | "]" | "}"),
            Some(_) => self.mark(before) != "in",
            None => false,
        }
    }

    /// Whether this `(` holds the arguments of a call.
    pub(super) fn opens_call(&self, at: usize) -> bool {
        self.mark(at) == "(" && at.checked_sub(1).is_some_and(|before| self.word(before).is_some())
    }
}

fn set(list: &mut [Option<usize>], at: usize, value: usize) {
    if let Some(entry) = list.get_mut(at) {
        *entry = Some(value);
    }
}

/// The kind and end of the token at `at`, and whether it ends at all (a string may not).
fn token(text: &str, at: usize) -> (Kind, usize, bool) {
    let bytes = text.as_bytes();
    let byte = |i: usize| bytes.get(at + i).copied().unwrap_or(0);
    let quote = |i: usize| matches!(byte(i), b'"' | b'\'');
    let blob = usize::from(matches!(byte(0), b'b' | b'B'));
    let raw = usize::from(matches!(byte(blob), b'r' | b'R'));
    if quote(blob + raw) {
        let (end, ends) = string(bytes, at + blob + raw, raw == 1);
        // An unended string may stop inside of a letter.
        let end = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
        return (Kind::String, end, ends);
    }
    let letter = |b: u8| b == b'_' || b.is_ascii_alphanumeric();
    match byte(0) {
        b'0'..=b'9' => (Kind::Number, number(bytes, at), true),
        b'.' if byte(1).is_ascii_digit() => (Kind::Number, number(bytes, at), true),
        first if letter(first) => (Kind::Word, run(bytes, at, letter), true),
        b'`' => {
            let end = run(bytes, at + 1, |b| letter(b) || matches!(b, b'.' | b'-' | b'/' | b' '));
            match bytes.get(end) {
                Some(b'`') if end > at + 1 => (Kind::Word, end + 1, true),
                _ => (Kind::Mark, at + 1, true),
            }
        }
        b'=' | b'!' | b'<' | b'>' if byte(1) == b'=' => (Kind::Mark, at + 2, true),
        b'&' | b'|' if byte(1) == byte(0) => (Kind::Mark, at + 2, true),
        _ => {
            let long = text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            (Kind::Mark, at + long, true)
        }
    }
}

fn run(bytes: &[u8], at: usize, takes: impl Fn(u8) -> bool) -> usize {
    at + bytes.iter().skip(at).take_while(|byte| takes(**byte)).count()
}

fn number(bytes: &[u8], at: usize) -> usize {
    let is = |i: usize, set: &[u8]| bytes.get(i).is_some_and(|byte| set.contains(byte));
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    if is(at, b"0") && is(at + 1, b"x") && bytes.get(at + 2).is_some_and(u8::is_ascii_hexdigit) {
        let end = run(bytes, at + 2, |byte| byte.is_ascii_hexdigit());
        return end + usize::from(is(end, b"uU"));
    }
    let whole = run(bytes, at, |byte| byte.is_ascii_digit());
    let mut end = whole;
    if is(end, b".") && digit(end + 1) {
        end = run(bytes, end + 1, |byte| byte.is_ascii_digit());
    }
    let sign = usize::from(is(end + 1, b"+-"));
    if is(end, b"eE") && digit(end + 1 + sign) {
        end = run(bytes, end + 1 + sign, |byte| byte.is_ascii_digit());
    }
    end + usize::from(end == whole && is(end, b"uU"))
}

/// The end of the string whose first quote is at `at`, and whether it has one. Without it the string ends at its
/// line, so that the rest of the text is still read.
fn string(bytes: &[u8], at: usize, raw: bool) -> (usize, bool) {
    let quote = bytes.get(at).copied().unwrap_or(b'"');
    let is = |i: usize| bytes.get(i) == Some(&quote);
    let long = is(at + 1) && is(at + 2);
    let mut i = at + if long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' if !raw => i += 2,
            b'\n' | b'\r' if !long => break,
            _ if byte == quote && !long => return (i + 1, true),
            _ if byte == quote && is(i + 1) && is(i + 2) => return (i + 3, true),
            _ => i += 1,
        }
    }
    let line = bytes.iter().skip(at).position(|byte| *byte == b'\n').map_or(bytes.len(), |long| at + long);
    (line, false)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        let tokens = Tokens::of(text);
        (0..tokens.list.len()).map(|at| tokens.text_of(at)).collect()
    }

    #[test]
    fn tokens_are_those_of_the_lexer_of_cel() {
        assert_eq!(texts("1in [.5, 1.e3, 7u]"), ["1", "in", "[", ".5", ",", "1", ".", "e3", ",", "7u", "]"]);
        assert_eq!(texts("0x1fu"), ["0x1fu"]);
        assert_eq!(texts("a.?b//c\n&&'x\\'y'"), ["a", ".", "?", "b", "&&", "'x\\'y'"]);
        assert_eq!(texts("500m 1e3x 1e 0xg"), ["500", "m", "1e3", "x", "1", "e", "0", "xg"]);
        assert_eq!(texts("br'\\' rb'' '''a'\nb'''"), ["br'\\'", "rb", "''", "'''a'\nb'''"]);
        assert_eq!(texts("é a.`b-c/d`"), ["é", "a", ".", "`b-c/d`"]);
        assert_eq!(Tokens::of("'a\nb").open_strings, [0]);
        assert_eq!(texts("'a\\é").len(), 1);
    }

    #[test]
    fn brackets_are_paired_and_what_is_too_much_is_named() {
        let tokens = Tokens::of("f(a[0]) + (b");
        assert_eq!((tokens.partner(1), tokens.partner(6), tokens.inside(4)), (Some(6), Some(1), Some(3)));
        assert_eq!(tokens.lone_brackets, [8]);
        assert!(tokens.opens_call(1) && !tokens.opens_call(8));
        assert_eq!(Tokens::of("(a]").lone_brackets, [0, 2]);
        assert_eq!(Tokens::of(&"(".repeat(101)).too_deep, Some(100));
        assert_eq!(Tokens::of(&"a+".repeat(1001)).too_many, Some(2001));
        assert_eq!(Tokens::of(&"a.b".repeat(9)).too_many, None);
    }
}
