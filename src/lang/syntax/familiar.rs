//! Mistakes that both languages know: marks of other languages, and operators written as words.
//!
//! Called by `recovery::familiar_mistakes` and `cel::mistakes`, which have the mistakes of one language each.

use super::tokens::Token;
use bayplan_diag::{Diagnostic, Edit, Span, codes};

/// What is wrong with a mark that neither language has, and what to write in its place. `here` says in which language:
/// `here` or `in CEL`.
pub(super) fn mark(mark: &str, here: &str) -> Option<(String, Option<&'static str>)> {
    let written = |fix| (format!("`{mark}` is written `{fix}` {here}"), Some(fix));
    let curved = |quote| ("a curved quote begins no string".to_owned(), Some(quote));
    Some(match mark {
        "&" => written("&&"),
        "|" => written("||"),
        "\u{2264}" => written("<="),
        "\u{2265}" => written(">="),
        "\u{2260}" => written("!="),
        "\u{201c}" | "\u{201d}" | "\u{201e}" | "\u{ab}" | "\u{bb}" => curved("\""),
        "\u{2018}" | "\u{2019}" | "\u{b4}" => curved("'"),
        "#" => ("a comment begins with `//`".to_owned(), None),
        "\u{a0}" => ("a no-break space does not count as white space".to_owned(), Some(" ")),
        "\\" => ("a `\\` is allowed in strings only".to_owned(), None),
        _ => return None,
    })
}

/// First byte and end of the quote that closes the string which a foreign quote begins, on its line. `quote` is the
/// right one.
pub(super) fn closing_quote(text: &str, opening: &Token, quote: &str) -> Option<(usize, usize)> {
    let ends = match (text.get(opening.start..opening.end), quote) {
        (Some("`"), _) => "`",
        (_, "'") => "\u{2018}\u{2019}\u{b4}",
        _ => "\u{201c}\u{201d}\u{bb}",
    };
    let line = text.get(opening.end..)?.split('\n').next()?;
    let (at, mark) = line.char_indices().find(|(_, mark)| ends.contains(*mark))?;
    let start = opening.end + at;
    Some((start, start + mark.len_utf8()))
}

/// An operator that is written as a word.
pub(super) struct WordOperator {
    /// The word, or several.
    pub(super) span: Span,
    /// The operator.
    pub(super) mark: &'static str,
    /// Of `!`: the word with the blank after it.
    pub(super) with_blank: Span,
    /// Of `!`: where its operand ends, if that needs brackets.
    pub(super) end: Option<Span>,
}

/// All operators of a text that are written as words, in one diagnostic. `word` is the first of them.
pub(super) fn operators(found: &[WordOperator], word: &str, here: &str) -> Option<Diagnostic> {
    let (first, others) = found.split_first()?;
    let message = format!("`{word}` is written `{}` {here}", first.mark);
    let mut said = Diagnostic::new(&codes::FOREIGN_WORD, first.span, message)
        .with_help("the operators are `&&`, `||`, `!` and `==`");
    for other in others {
        said = said.with_place(other.span, format!("`{}`", other.mark));
    }
    let mut edits = Vec::with_capacity(found.len());
    for of in found {
        // `not` takes the whole comparison after it, `!` only the next operand.
        let (span, text) = match (of.mark, of.end) {
            ("!", Some(_)) => (of.with_blank, "!("),
            ("!", None) => (of.with_blank, "!"),
            (mark, _) => (of.span, mark),
        };
        edits.push(Edit { span, text: text.to_owned() });
        edits.extend(of.end.map(|span| Edit { span, text: ")".to_owned() }));
    }
    Some(said.with_edits("write the operators as marks", edits))
}
