//! Sets of characters: `[…]`, `\d`, `\pL` and their negations.

use super::escape::character;
use super::{names, write_literal};
use std::fmt::Write;

/// Every character.
pub(super) const ANY: &str = "[\\x{0}-\\x{10FFFF}]";

/// No character.
pub(super) const NONE: &str = "[^\\x{0}-\\x{10FFFF}]";

/// `[…]` at the beginning of `text` in the crate's syntax, and what follows it.
pub(super) fn bracketed(text: &str) -> Result<(String, &str), String> {
    let missing = || format!("`{}` has no `]`", text.chars().take(20).collect::<String>());
    let mut rest = text.strip_prefix('[').unwrap_or(text);
    let mut set = String::from("[");
    if let Some(behind) = rest.strip_prefix('^') {
        set.push('^');
        rest = behind;
    }
    // An empty set within each set, so that one of nothing but surrogates is not a mistake.
    set.push_str(NONE);
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        if let Some((named, behind)) = posix(rest)? {
            set.push_str(&named);
            rest = behind;
            continue;
        }
        if let Some((named, behind)) = escaped(rest)? {
            set.push_str(&named);
            rest = behind;
            continue;
        }
        let begin = rest;
        let (low, behind) = one(rest).ok_or_else(missing)??;
        rest = behind;
        let mut high = low;
        // In `[a-]` the `-` is a character.
        if let Some(behind) = rest.strip_prefix('-')
            && !behind.starts_with(']')
            && !behind.is_empty()
        {
            (high, rest) = one(behind).ok_or_else(missing)??;
        }
        if high < low {
            let written = begin.get(..begin.len() - rest.len()).unwrap_or(begin);
            return Err(format!("`{written}` is not a range: its end lies before its start"));
        }
        range(&mut set, low, high);
    }
    set.push(']');
    Ok((set, rest.get(1..).unwrap_or("")))
}

/// One character inside of `[…]`; `None` at the end of the text.
fn one(text: &str) -> Option<Result<(u32, &str), String>> {
    let first = text.chars().next()?;
    if first == '\\' {
        return Some(character(text));
    }
    Some(Ok((u32::from(first), text.get(first.len_utf8()..).unwrap_or(""))))
}

/// Writes a range without halves of surrogate pairs, which no text has.
fn range(out: &mut String, low: u32, high: u32) {
    let low = if (0xD800..=0xDFFF).contains(&low) { 0xE000 } else { low };
    let high = if (0xD800..=0xDFFF).contains(&high) { 0xD7FF } else { high };
    if let (Some(low), Some(high)) = (char::from_u32(low), char::from_u32(high))
        && low <= high
    {
        write_literal(out, low);
        if low < high {
            out.push('-');
            write_literal(out, high);
        }
    }
}

/// `[:alpha:]`, `[:^alpha:]`, and what follows.
fn posix(text: &str) -> Result<Option<(String, &str)>, String> {
    let Some(inside) = text.strip_prefix("[:") else { return Ok(None) };
    let Some((name, rest)) = inside.split_once(":]") else { return Ok(None) };
    let (negated, plain) = match name.strip_prefix('^') {
        Some(plain) => (true, plain),
        None => (false, name),
    };
    match names::POSIX.iter().find(|(known, _)| *known == plain) {
        Some((_, ranges)) => Ok(Some((set(ranges, negated), rest))),
        None => Err(format!("`[:{name}:]` is not a set of characters")),
    }
}

/// `\d`, `\pL`, `\p{Greek}` and their negations as a set, and what follows; `None` for other escapes.
pub(super) fn escaped(text: &str) -> Result<Option<(String, &str)>, String> {
    let mut chars = text.chars();
    if chars.next() != Some('\\') {
        return Ok(None);
    }
    let Some(letter) = chars.next() else { return Ok(None) };
    let rest = chars.as_str();
    if matches!(letter, 'p' | 'P') {
        return unicode(rest, letter == 'P').map(Some);
    }
    let known = names::PERL.iter().find(|(known, _)| *known == letter.to_ascii_lowercase());
    Ok(known.map(|(_, ranges)| (set(ranges, letter.is_ascii_uppercase()), rest)))
}

/// What follows `\p` or `\P`.
fn unicode(text: &str, negated: bool) -> Result<(String, &str), String> {
    let (name, rest) = match text.strip_prefix('{') {
        Some(inside) => inside.split_once('}').ok_or("`\\p{` has no `}`")?,
        None => text.split_at_checked(text.chars().next().map_or(0, char::len_utf8)).unwrap_or((text, "")),
    };
    let (negated, plain) = match name.strip_prefix('^') {
        Some(plain) => (!negated, plain),
        None => (negated, name),
    };
    let property = names::unicode(plain).ok_or_else(|| {
        format!("`\\p{{{name}}}` is not a set of characters; RE2 has general categories and scripts, as in `\\p{{Lu}}` and `\\p{{Greek}}`")
    })?;
    let mut out = String::new();
    let _ = match property {
        names::Unicode::Ranges(ranges) => write!(out, "{}", set(ranges, negated)),
        names::Unicode::Assigned => write!(out, "\\{}{{gc=Cn}}", if negated { 'p' } else { 'P' }),
        names::Unicode::Category(name) => write!(out, "\\{}{{gc={name}}}", if negated { 'P' } else { 'p' }),
        names::Unicode::Script(name) => write!(out, "\\{}{{sc={name}}}", if negated { 'P' } else { 'p' }),
    };
    Ok((out, rest))
}

/// Ranges as a set within a set.
fn set(ranges: &[(u32, u32)], negated: bool) -> String {
    let mut out = String::from(if negated { "[^" } else { "[" });
    if ranges.is_empty() {
        out.push_str(NONE);
    }
    for (low, high) in ranges {
        range(&mut out, *low, *high);
    }
    out.push(']');
    out
}
