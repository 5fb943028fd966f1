//! The bytes of a YAML scalar beside the bytes of its value, for every style of scalar.
//!
//! Called by `SourceMap::embed` for the texts of ConfigMaps, and by the reader of policy documents for the
//! expressions in them. The two texts are compared: everything except white space and
//! escapes must be the same byte by byte, white space around a line end is matched line by line, and an escape
//! is read. A style that does not come out even is not the scalar's; if none does, the places are the
//! scalar's beginning, never a wrong one.

use std::ops::Range;

/// Bytes that are equal in an embedded text and its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// First byte in the embedded text.
    inner: u32,
    /// First byte in the file.
    outer: u32,
    /// The number of bytes.
    len: u32,
}

/// The value of a YAML scalar beside the bytes of the scalar.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// Runs of bytes that are equal in both texts, ordered by their start in the inner one. Inner bytes
    /// between two runs (an escape, a fold) correspond to the outer bytes between them.
    runs: Vec<Run>,
    /// The byte of the file after the scalar.
    end: u32,
    /// Where the value begins and ends in the file, and how long it is, where quotes are around it.
    quoted: Option<(u32, u32, u32)>,
    pub(super) edits: Edits,
}

impl Embedded {
    /// Lays `value` beside the scalar at a range of a text. If the two cannot be aligned, every place is the
    /// beginning of the scalar.
    pub fn new(file: &str, scalar: Range<usize>, value: &str) -> Self {
        let start = scalar.start as u32;
        let (runs, end, edits) = runs(file, scalar, value);
        let inside = (start + 1, (end as u32).saturating_sub(1), value.len() as u32);
        Embedded {
            runs,
            end: end as u32,
            quoted: matches!(edits, Edits::Double | Edits::Single).then_some(inside),
            edits,
        }
    }

    /// The byte of the file that a byte of the value comes from.
    pub fn outer(&self, inner: u32) -> u32 {
        // An escape may be the first or the last of a value.
        match self.quoted {
            Some((start, ..)) if inner == 0 => return start,
            Some((_, end, len)) if inner >= len => return end,
            _ => {}
        }
        let at = self.runs.partition_point(|run| run.inner <= inner);
        let Some(run) = at.checked_sub(1).and_then(|at| self.runs.get(at)) else {
            return self.runs.first().map_or(self.end, |run| run.outer);
        };
        match (inner - run.inner < run.len, self.runs.get(at)) {
            (true, _) => run.outer + (inner - run.inner),
            // an escape or a fold: it begins where the run before it ends
            (false, Some(_)) => run.outer + run.len,
            (false, None) => (run.outer + run.len).min(self.end),
        }
    }

    /// The byte of the file after a part of the value that ends at `inner`.
    pub(crate) fn outer_end(&self, inner: u32) -> u32 {
        let at = self.runs.partition_point(|run| run.inner < inner);
        let Some(run) = at.checked_sub(1).and_then(|at| self.runs.get(at)) else {
            return self.runs.first().map_or(self.end, |run| run.outer);
        };
        match (inner - run.inner <= run.len, self.runs.get(at)) {
            (true, _) => run.outer + (inner - run.inner),
            (false, Some(next)) => next.outer,
            (false, None) => self.end,
        }
    }

    /// Whether the places of the value are known.
    pub fn is_aligned(&self) -> bool {
        self.edits != Edits::No
    }

    /// Whether the file has the value byte by byte, without an escape or a fold.
    pub fn is_verbatim(&self) -> bool {
        self.is_aligned() && self.runs.len() <= 1
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `|`, `>` and plain scalars: no escapes.
    Bare,
    /// `'…'`
    Single,
    /// `"…"`
    Double,
}

/// How a text may be changed in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edits {
    /// No character needs an escape.
    Verbatim,
    /// Within double quotes: quotes, backslashes and line ends are escaped.
    Double,
    /// Within single quotes: these are doubled.
    Single,
    /// The places are not known.
    No,
}

/// The runs of equal bytes of `text` and `file[scalar]`, the byte of the file after the scalar, and how it
/// may be changed there.
fn runs(file: &str, scalar: Range<usize>, text: &str) -> (Vec<Run>, usize, Edits) {
    let end = scalar.end.min(file.len());
    let start = scalar.start.min(end);
    let outer = file.as_bytes().get(start..end).unwrap_or(&[]);
    let quoted = outer.len() >= 2 && outer.first() == outer.last();
    let styles = match outer.first() {
        Some(b'"') if quoted => [Style::Double, Style::Bare],
        Some(b'\'') if quoted => [Style::Single, Style::Bare],
        _ => [Style::Bare, Style::Bare],
    };
    for style in styles {
        let marks = usize::from(style != Style::Bare);
        let inside = outer.get(marks..outer.len() - marks).unwrap_or(&[]);
        let mut sides =
            Sides { outer: inside, inner: text.as_bytes(), style, base: start + marks, runs: Vec::new() };
        if sides.align() {
            let edits = match style {
                Style::Bare => Edits::Verbatim,
                Style::Single => Edits::Single,
                Style::Double => Edits::Double,
            };
            return (sides.runs, end, edits);
        }
    }
    (vec![Run { inner: 0, outer: start as u32, len: 0 }], end, Edits::No)
}

struct Sides<'a> {
    outer: &'a [u8],
    inner: &'a [u8],
    style: Style,
    /// Byte of the file at which `outer` begins.
    base: usize,
    runs: Vec<Run>,
}

impl Sides<'_> {
    /// Lays the two side by side; false when they are not the same text.
    fn align(&mut self) -> bool {
        let (mut i, mut j) = (0, 0);
        while i < self.outer.len() || j < self.inner.len() {
            let a = self.outer.get(i).copied();
            let b = self.inner.get(j).copied();
            match a {
                Some(b'\\') if self.style == Style::Double => {
                    let Some((long, value)) = self.escape(i) else { return false };
                    if !self.inner.get(j..).is_some_and(|rest| rest.starts_with(&value)) {
                        return false;
                    }
                    i += long;
                    j += value.len();
                }
                Some(b'\'') if self.style == Style::Single => {
                    if self.outer.get(i + 1) != Some(&b'\'') || b != Some(b'\'') {
                        return false;
                    }
                    i += 2;
                    j += 1;
                }
                _ if a.is_none_or(is_white) && (a.is_some() || b.is_some_and(is_white)) => {
                    let Some((next_i, next_j)) = self.white(i, j) else { return false };
                    if (next_i, next_j) == (i, j) {
                        return false;
                    }
                    (i, j) = (next_i, next_j);
                }
                Some(a) if self.style == Style::Bare && i == 0 && b == Some(b'\n') && !is_white(a) => {
                    // the given range excludes the empty lines before the first line of a block scalar
                    j = skip_white(self.inner, j);
                }
                _ if a.is_some() && a == b => {
                    self.equal(i, j, 1);
                    i += 1;
                    j += 1;
                }
                _ => return false,
            }
        }
        true
    }

    /// Bytes that are the same on both sides.
    fn equal(&mut self, i: usize, j: usize, len: usize) {
        let (outer, inner) = ((self.base + i) as u32, j as u32);
        if let Some(last) = self.runs.last_mut()
            && last.inner + last.len == inner
            && last.outer + last.len == outer
        {
            last.len += len as u32;
            return;
        }
        if len > 0 {
            self.runs.push(Run { inner, outer, len: len as u32 });
        }
    }

    /// White space on both sides from here on; gives where it ends.
    fn white(&mut self, i: usize, j: usize) -> Option<(usize, usize)> {
        let to_i = skip_white(self.outer, i);
        let a = self.outer.get(i..to_i)?;
        if !a.contains(&b'\n') && to_i < self.outer.len() && i > 0 {
            let same = self.inner.get(j..j + a.len())? == a;
            if same {
                self.equal(i, j, a.len());
            }
            return same.then_some((to_i, j + a.len()));
        }
        let to_j = match (self.style, a.contains(&b'\n')) {
            (Style::Bare, _) => skip_white(self.inner, j),
            // a fold: one line end is a blank, more are one less
            (_, true) => {
                let ends = a.iter().filter(|byte| **byte == b'\n').count();
                let fold: Vec<u8> = if ends == 1 { vec![b' '] } else { vec![b'\n'; ends - 1] };
                let folded = self.inner.get(j..j + fold.len())? == fold.as_slice();
                if !folded {
                    return None;
                }
                j + fold.len()
            }
            (_, false) => {
                if self.inner.get(j..j + a.len())? != a {
                    return None;
                }
                self.equal(i, j, a.len());
                return Some((to_i, j + a.len()));
            }
        };
        let b = self.inner.get(j..to_j)?;
        let ends = |bytes: &[u8]| -> Vec<usize> {
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect()
        };
        let (ends_a, ends_b) = (ends(a), ends(b));
        let last = to_i == self.outer.len();
        let tail =
            |bytes: &[u8]| bytes.iter().rev().take_while(|byte| matches!(**byte, b' ' | b'\t')).count();
        // blanks before the first line end are the same from the left
        let same = a.iter().zip(b).take_while(|(a, b)| a == b && **a != b'\n').count();
        if !ends_a.is_empty() && !ends_b.is_empty() {
            self.equal(i, j, same);
        }
        if ends_a.len() == ends_b.len() || last {
            for (at_a, at_b) in ends_a.iter().zip(&ends_b) {
                // `\r\n` becomes `\n` as a whole: what ends before it, ends before the `\r`
                let carriage = at_a.checked_sub(1).and_then(|before| a.get(before)) == Some(&b'\r');
                if !carriage || b.get(at_b.saturating_sub(1)) == Some(&b'\r') {
                    self.equal(i + at_a, j + at_b, 1);
                }
            }
        }
        let common = tail(a).min(tail(b));
        let suffix = a.iter().rev().zip(b.iter().rev()).take(common).take_while(|(a, b)| a == b).count();
        let fresh = self.runs.last().is_none_or(|run| {
            (run.inner + run.len) as usize <= to_j - suffix
                && (run.outer + run.len) as usize <= self.base + to_i - suffix
        });
        if fresh && !last {
            self.equal(to_i - suffix, to_j - suffix, suffix);
        }
        Some((to_i, to_j))
    }

    /// The escape at `i`: its length in the file and its value.
    fn escape(&self, i: usize) -> Option<(usize, Vec<u8>)> {
        let letter = *self.outer.get(i + 1)?;
        let simple: &[u8] = match letter {
            b'0' => b"\0",
            b'a' => b"\x07",
            b'b' => b"\x08",
            b't' | b'\t' => b"\t",
            b'n' => b"\n",
            b'v' => b"\x0b",
            b'f' => b"\x0c",
            b'r' => b"\r",
            b'e' => b"\x1b",
            b' ' => b" ",
            b'"' => b"\"",
            b'/' => b"/",
            b'\\' => b"\\",
            b'N' => "\u{85}".as_bytes(),
            b'_' => "\u{a0}".as_bytes(),
            b'L' => "\u{2028}".as_bytes(),
            b'P' => "\u{2029}".as_bytes(),
            b'x' => return self.coded(i, 2),
            b'u' => return self.coded(i, 4),
            b'U' => return self.coded(i, 8),
            b'\n' | b'\r' => {
                let end = i + 1 + usize::from(letter == b'\r') + 1;
                let rest = self.outer.get(end..)?;
                let blanks = rest.iter().take_while(|byte| matches!(**byte, b' ' | b'\t')).count();
                return Some((end - i + blanks, Vec::new()));
            }
            _ => return None,
        };
        Some((2, simple.to_vec()))
    }

    fn coded(&self, i: usize, digits: usize) -> Option<(usize, Vec<u8>)> {
        let read = |at: usize| {
            let text = std::str::from_utf8(self.outer.get(at..at + digits)?).ok()?;
            u32::from_str_radix(text, 16).ok()
        };
        let code = read(i + 2)?;
        let mut long = 2 + digits;
        let mut value = char::from_u32(code);
        // JSON writes letters beyond 16 bits as two escapes
        if (0xd800..0xdc00).contains(&code) && self.outer.get(i + 6..i + 8) == Some(b"\\u") {
            let low = read(i + 8)?.checked_sub(0xdc00)?;
            value = char::from_u32(0x10000 + ((code - 0xd800) << 10) + low);
            long += 6;
        }
        let mut buffer = [0; 4];
        Some((long, value?.encode_utf8(&mut buffer).as_bytes().to_vec()))
    }
}

fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn skip_white(bytes: &[u8], from: usize) -> usize {
    from + bytes.iter().skip(from).take_while(|byte| is_white(**byte)).count()
}

#[cfg(test)]
mod tests {
    use crate::{Origin, SourceMap, Span};

    /// The place in the file of each word of the value.
    fn words_agree(file: &str, scalar: &str, text: &str) {
        let start = file.find(scalar).unwrap_or_else(|| panic!("{scalar:?}"));
        let mut sources = SourceMap::new();
        let host = sources.add("x.yaml", file);
        let origin = Origin { object: "a/b".into(), key: "k.bay".into() };
        let id = sources.embed(host, start..start + scalar.len(), text, origin);
        let mut at = 0;
        for word in text.split_whitespace() {
            let from = at + text[at..].find(word).unwrap_or(0);
            at = from + word.len();
            let outer = sources.in_file(Span::new(id, from, at));
            assert_eq!(sources.text(outer), word, "in {file:?}");
        }
    }

    #[test]
    fn every_style_gives_the_places_of_its_words() {
        words_agree(
            "a: |\n  one two\n    three\n\n  four\n",
            "one two\n    three\n\n  four\n",
            "one two\n  three\n\nfour\n",
        );
        words_agree("a: |2+\n    one\n   two\n\n", "  one\n   two\n\n", "  one\n two\n\n");
        words_agree("a: |\r\n  one\r\n  two\r\n", "one\r\n  two\r\n", "one\ntwo\n");
        words_agree("a: |\n  one\ttwo\n  \tthree\n", "one\ttwo\n  \tthree\n", "one\ttwo\n\tthree\n");
        words_agree(
            "a: >\n  one\n  two\n\n  three\n    four\n",
            "one\n  two\n\n  three\n    four\n",
            "one two\nthree\n  four\n",
        );
        words_agree("a: one\n  two\n\n  three", "one\n  two\n\n  three", "one two\nthree");
        words_agree("a: 'one\n  two\n\n  three'", "'one\n  two\n\n  three'", "one two\nthree");
        words_agree("a: |\n\n\n  one\n", "one\n", "\n\none\n");
    }

    #[test]
    fn escapes_lie_between_words() {
        let file = "a: \"one\\n\\ttwo \\\"three\\\" \\u00e9 four\\\n   five\\\n  \\ six\"";
        let text = "one\n\ttwo \"three\" é fourfive six";
        let start = 3;
        let mut sources = SourceMap::new();
        let host = sources.add("x.yaml", file);
        let id =
            sources.embed(host, start..file.len(), text, Origin { object: "a/b".into(), key: "k".into() });
        for word in ["one", "two", "three", "four", "five", "six"] {
            let from = text.find(word).unwrap_or(0);
            let outer = sources.in_file(Span::new(id, from, from + word.len()));
            assert_eq!(sources.text(outer), word);
        }
        let e = text.find('é').unwrap_or(0);
        assert_eq!(sources.text(sources.in_file(Span::new(id, e, e + 2))), "\\u00e9");
    }

    #[test]
    fn what_does_not_come_out_even_is_the_beginning() {
        let mut sources = SourceMap::new();
        let host = sources.add("x.yaml", "a: one two");
        let id = sources.embed(host, 3..10, "other", Origin { object: "a/b".into(), key: "k".into() });
        assert_eq!(sources.places(Span::new(id, 2, 4)).0.column, 4);
    }
}
