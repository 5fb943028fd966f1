//! Random faults: both languages refuse a text, or the difference is known.

use super::*;

/// Tokens, or parts of them, by which a text is changed.
const STRAY: &[&str] = &[
    "a", "1", "'x'", "\"", "'", "(", ")", "[", "]", "{", "}", ",", ":", "?", "??", ".", "&&", "&", "|", "||",
    "=", "==", "!", "-", "+", "*", "/", "%", "<", ">", "in", "matches", "true", "null", "if", "and", "é",
    "\\", "`", "\0", "\r", "\u{0b}", "//", "/*", "500m", "1e", "0x", "u", "..", ";", "none", "T{", "50%",
    " ", "\n", "rb''", "\\q", "0X1",
];

/// A text with one fault.
fn with_fault(text: &str, dice: &mut Dice) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let at = dice.roll(letters.len());
    match dice.roll(5) {
        0 => {
            letters.remove(at);
        }
        1 => {
            let other = dice.roll(letters.len());
            letters.swap(at, other);
        }
        2 => letters.truncate(at.max(1)),
        _ => {
            let stray: Vec<char> = dice.pick(STRAY).chars().collect();
            letters.splice(at..at, stray);
        }
    }
    letters.into_iter().collect()
}

/// Why one language takes a text and the other does not: the reason, whether CEL is the one that takes it, and how a
/// text of this kind is known by itself and by the diagnostics of the other language.
pub(super) type Difference = (&'static str, bool, fn(&str, &[Diagnostic]) -> bool);

pub(super) const DIFFERENCES: &[Difference] = &[
    ("a number that touches `%` is a share", true, |text, said| {
        // What follows is then no operand.
        let touches = text.as_bytes().windows(2).any(|two| two[0].is_ascii_digit() && two[1] == b'%');
        has(said, "is a share here") || touches && has(said, "is not expected here")
    }),
    ("`none` is a literal", true, |text, _| text.contains("none")),
    ("a number that touches a word has a unit", true, |_, said| has(said, "is not a unit")),
    ("an unsigned number has no sign", true, |_, said| has(said, "is negative")),
    ("a lone comma is not a list", true, |text, _| {
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or(""));
        let text = lines.collect::<String>().replace(char::is_whitespace, "");
        text.contains("[,]") || text.contains("{,}")
    }),
    ("an operator, a unit or a word of the policy language", false, |_, said| {
        said.iter().any(|one| one.code.id == "BP0008")
    }),
    ("an uppercase `0X`", false, |text, said| text.contains("0X") && has(said, "is not a number")),
    ("a carriage return in a string", false, |text, said| text.contains('\r') && has(said, "has no closing")),
    ("a NUL in a raw string of three quotes", false, |text, said| {
        text.contains('\0') && has(said, "cannot be read")
    }),
    ("`rb` before a string", false, |text, _| text.contains("rb'")),
    ("two minuses are none, so the least number has no sign", false, |text, said| {
        text.contains("--") && said.iter().any(|one| one.code.id == "BP0007")
    }),
];

#[test]
fn faulty_expressions_are_refused_in_both_languages() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut texts: Vec<String> = expressions().into_iter().map(|(text, _)| text).collect();
    texts.extend((0..cases(600)).map(|round| expression(&mut dice, 1 + round % 4)));
    let (mut refused, mut wrong) = (0, Vec::new());
    for text in &texts {
        for _ in 0..cases(3).min(12) {
            let faulty = with_fault(text, &mut dice);
            let (found, wanted) = (of_cel(&faulty), of_policies(&faulty));
            refused += usize::from(found.is_err() && wanted.is_err());
            if let Err(said) = &found {
                assert!(!said.is_empty() && said.iter().all(Diagnostic::is_error), "{faulty:?}");
                for (start, end) in spans(&format!("{said:?}")) {
                    assert!(start <= end && faulty.get(start..end).is_some(), "{faulty:?}: {start}..{end}");
                }
            }
            // A name of CEL keeps the dot in front of it, and `none` is a name there.
            if let (Ok(found), Ok(wanted)) = (&found, &wanted)
                && found != wanted
                && !folds(&faulty)
                && !format!("{found:?}").contains("\".")
                && !faulty.contains("none")
            {
                wrong.push(format!("{faulty:?} has two trees:\n  {found:?}\n  {wanted:?}"));
            }
            let said = match (&found, &wanted) {
                (Ok(_), Err(said)) => (true, said),
                (Err(said), Ok(_)) => (false, said),
                _ => continue,
            };
            let known = DIFFERENCES.iter().any(|(_, cel, told)| *cel == said.0 && told(&faulty, said.1));
            if !known {
                let messages: Vec<&str> = said.1.iter().map(|one| one.message.as_str()).collect();
                wrong.push(format!("{faulty:?} cel takes it: {}, the other says {messages:?}", said.0));
            }
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
    assert!(refused > 1000, "{refused}");
}
