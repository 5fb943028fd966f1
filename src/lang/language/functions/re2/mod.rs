//! Regular expressions of RE2, as Kubernetes' CEL has them, in the syntax of the crate `regex`.
//!
//! Both engines find the same matches; their syntaxes differ: classes and word boundaries are ASCII
//! in RE2, `[a&&b]` and `[[a]b]` are plain sets of characters, and some escapes exist on one side
//! only. [`translate`] reads RE2's syntax (of Go's package `regexp/syntax`) and writes every
//! construct so that the crate cannot read it otherwise. `patterns` calls it. What a pattern may
//! cost is not decided here.

mod class;
mod escape;
mod names;

use std::fmt::Write;

/// Groups within each other. RE2 takes more; the crate's compiler is recursive.
const DEEPEST: usize = 200;

/// RE2's limit of repetitions, those within each other multiplied.
const MOST_REPEATS: u64 = 1000;

/// The pattern in the crate's syntax; the text says why RE2 refuses it.
pub(super) fn translate(source: &str) -> Result<String, String> {
    let mut parser = Parser {
        rest: source,
        out: String::with_capacity(source.len() * 2),
        flags: Flags::default(),
        written_fold: false,
        groups: Vec::new(),
        last: None,
        repeats: 0,
        after_repeat: false,
    };
    while let Some(first) = parser.rest.chars().next() {
        parser.token(first)?;
    }
    if parser.groups.is_empty() { Ok(parser.out) } else { Err("a `)` is missing".to_owned()) }
}

/// What flags say, in RE2's letters.
#[derive(Clone, Copy, Default)]
struct Flags {
    /// `i`
    fold: bool,
    /// `m`
    lines: bool,
    /// `s`
    dot_all: bool,
    /// `U`
    lazy: bool,
}

/// What the next repetition repeats.
#[derive(Clone, Copy)]
struct Item {
    /// Where it begins in the output.
    start: usize,
    /// It is a repetition itself.
    repeated: bool,
    /// How often it repeats its innermost part.
    repeats: u64,
}

/// An open group, and what holds again after it.
struct Group {
    start: usize,
    flags: Flags,
    written_fold: bool,
    repeats: u64,
}

struct Parser<'s> {
    rest: &'s str,
    out: String,
    flags: Flags,
    /// Whether the output ignores case at its end.
    written_fold: bool,
    groups: Vec<Group>,
    last: Option<Item>,
    /// The most repetitions of an item of the open group.
    repeats: u64,
    /// The token before was a repetition.
    after_repeat: bool,
}

impl<'s> Parser<'s> {
    /// Reads one token, which begins with `first`.
    fn token(&mut self, first: char) -> Result<(), String> {
        let before = self.rest;
        let after = before.get(first.len_utf8()..).unwrap_or("");
        let after_repeat = std::mem::take(&mut self.after_repeat);
        match first {
            '(' if after.starts_with('?') => return self.special_group(before),
            '(' => {
                self.rest = after;
                return self.open();
            }
            ')' => {
                self.rest = after;
                return self.close();
            }
            '|' => {
                self.rest = after;
                self.out.push('|');
                self.last = None;
            }
            '^' => self.item(after, |out, of| out.push_str(if of.lines { "(?m:^)" } else { "\\A" })),
            '$' => self.item(after, |out, of| out.push_str(if of.lines { "(?m:$)" } else { "\\z" })),
            '.' => self.item(after, |out, of| out.push_str(if of.dot_all { class::ANY } else { "[^\\n]" })),
            '[' => {
                let (set, rest) = class::bracketed(before)?;
                self.item(rest, |out, _| out.push_str(&set));
            }
            '*' | '+' | '?' => return self.repeat(after, None, after_repeat),
            '{' => match counts(after) {
                Some((counts, rest)) => return self.repeat(rest, Some(counts), after_repeat),
                None => self.item(after, |out, _| write_literal(out, '{')),
            },
            '\\' => return self.escape(before),
            other => self.item(after, |out, _| write_literal(out, other)),
        }
        Ok(())
    }

    /// Writes what a repetition may follow. Letters match both cases if the flag `i` is set.
    fn item(&mut self, rest: &'s str, write: impl FnOnce(&mut String, Flags)) {
        self.rest = rest;
        if self.written_fold != self.flags.fold {
            self.out.push_str(if self.flags.fold { "(?i)" } else { "(?-i)" });
            self.written_fold = self.flags.fold;
        }
        self.last = Some(Item { start: self.out.len(), repeated: false, repeats: 0 });
        write(&mut self.out, self.flags);
    }

    fn escape(&mut self, before: &'s str) -> Result<(), String> {
        if let Some(literal) = before.strip_prefix("\\Q") {
            let (literal, rest) = literal.split_once("\\E").unwrap_or((literal, ""));
            for character in literal.chars() {
                self.item(rest, |out, _| write_literal(out, character));
            }
            self.rest = rest;
            return Ok(());
        }
        for (escape, written) in [("\\A", "\\A"), ("\\z", "\\z"), ("\\b", "(?-u:\\b)"), ("\\B", "(?-u:\\B)")]
        {
            if let Some(rest) = before.strip_prefix(escape) {
                self.item(rest, |out, _| out.push_str(written));
                return Ok(());
            }
        }
        if let Some((set, rest)) = class::escaped(before)? {
            self.item(rest, |out, _| {
                out.push('[');
                out.push_str(&set);
                out.push(']');
            });
            return Ok(());
        }
        let (number, rest) = escape::character(before)?;
        self.item(rest, |out, _| match char::from_u32(number) {
            Some(character) => write_literal(out, character),
            // Half of a surrogate pair: no text has it.
            None => out.push_str(class::NONE),
        });
        Ok(())
    }

    // ---- groups

    fn open(&mut self) -> Result<(), String> {
        if self.groups.len() >= DEEPEST {
            return Err(format!("it has more than {DEEPEST} groups within each other"));
        }
        let repeats = std::mem::take(&mut self.repeats);
        self.groups.push(Group {
            start: self.out.len(),
            flags: self.flags,
            written_fold: self.written_fold,
            repeats,
        });
        self.out.push_str("(?:");
        self.last = None;
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let group = self.groups.pop().ok_or("a `)` has no `(` before it")?;
        self.out.push(')');
        self.flags = group.flags;
        self.written_fold = group.written_fold;
        self.last = Some(Item { start: group.start, repeated: false, repeats: self.repeats });
        self.repeats = self.repeats.max(group.repeats);
        Ok(())
    }

    /// `(?flags)`, `(?flags:…)`, `(?P<name>…)`, `(?<name>…)`.
    fn special_group(&mut self, before: &'s str) -> Result<(), String> {
        let name = before.strip_prefix("(?P<").or_else(|| before.strip_prefix("(?<"));
        if let Some(name) = name {
            let (name, rest) = name.split_once('>').ok_or("the name of a group has no `>`")?;
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(format!("`{name}` is not a name of a group, which has letters, digits and `_`"));
            }
            self.rest = rest;
            return self.open();
        }
        let (mut flags, mut on, mut seen) = (self.flags, true, true);
        for (at, character) in before.char_indices().skip(2) {
            match character {
                'i' => flags.fold = on,
                'm' => flags.lines = on,
                's' => flags.dot_all = on,
                'U' => flags.lazy = on,
                '-' if on => {
                    (on, seen) = (false, false);
                    continue;
                }
                ':' | ')' if seen => {
                    self.rest = before.get(at + 1..).unwrap_or("");
                    if character == ':' {
                        self.open()?;
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => {
                    let written = before.get(..at + character.len_utf8()).unwrap_or(before);
                    return Err(format!("`{written}` is not a group of RE2, whose flags are i, m, s and U"));
                }
            }
            seen = true;
        }
        Err(format!("`{before}` has no `)`"))
    }

    // ---- repetitions

    /// `counts`: how often at least and at most; the other operators have none.
    fn repeat(&mut self, rest: &'s str, counts: Option<Counts>, after_repeat: bool) -> Result<(), String> {
        let operator = self.rest.get(..self.rest.len() - rest.len()).unwrap_or("");
        if let Some((least, most)) = counts {
            if least > MOST_REPEATS || most.is_some_and(|most| most > MOST_REPEATS) {
                return Err(format!("`{operator}` repeats more than {MOST_REPEATS} times"));
            }
            if most.is_some_and(|most| most < least) {
                return Err(format!("`{operator}` has the larger number first"));
            }
        }
        let (rest, fewest) = match rest.strip_prefix('?') {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        if after_repeat {
            return Err(format!("`{operator}` repeats a repetition; put that into `(…)`"));
        }
        let item = self.last.ok_or_else(|| format!("`{operator}` has nothing to repeat"))?;
        let repeats = match counts {
            None => item.repeats,
            Some((_, Some(0))) => 0,
            Some((least, most)) => match most.unwrap_or(least) {
                0 => item.repeats,
                times => times.saturating_mul(item.repeats.max(1)),
            },
        };
        let checked = counts.is_some_and(|(least, most)| least.max(most.unwrap_or(0)) >= 2);
        if checked && repeats > MOST_REPEATS {
            return Err(format!(
                "with `{operator}` a part is repeated more than {MOST_REPEATS} times, repetitions \
                 within each other multiplied"
            ));
        }
        if item.repeated {
            self.out.insert_str(item.start, "(?:");
            self.out.push(')');
        }
        match counts {
            None => self.out.push_str(operator),
            Some((least, most)) => {
                let _ = match most {
                    Some(most) => write!(self.out, "{{{least},{most}}}"),
                    None => write!(self.out, "{{{least},}}"),
                };
            }
        }
        if fewest != self.flags.lazy {
            self.out.push('?');
        }
        self.rest = rest;
        self.repeats = self.repeats.max(repeats);
        self.last = Some(Item { start: item.start, repeated: true, repeats });
        self.after_repeat = true;
        Ok(())
    }
}

/// How often at least, and at most if there is a limit.
type Counts = (u64, Option<u64>);

/// `n}`, `n,}` or `n,m}` after a `{`, and what follows. What has another form is text.
fn counts(text: &str) -> Option<(Counts, &str)> {
    let (least, rest) = number(text)?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some(((least, Some(least)), rest));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some(((least, None), rest));
    }
    let (most, rest) = number(rest)?;
    Some(((least, Some(most)), rest.strip_prefix('}')?))
}

/// Digits without a leading 0; a number too large for 64 bits is the largest.
fn number(text: &str) -> Option<(u64, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(length)?;
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().unwrap_or(u64::MAX), rest))
}

/// A character that stands for itself in the crate's syntax, in brackets too.
fn write_literal(out: &mut String, character: char) {
    if character.is_ascii() && !character.is_ascii_alphanumeric() {
        let _ = write!(out, "\\x{{{:X}}}", u32::from(character));
    } else {
        out.push(character);
    }
}
