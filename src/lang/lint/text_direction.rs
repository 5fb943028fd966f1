//! The lint `text-direction`: invisible characters that change the direction of the text.

use bayplan_diag::{Diagnostic, Source, Span, codes, escape};

/// One warning for each line that holds such characters, in strings, comments or between them.
pub(super) fn check(source: &Source, diagnostics: &mut Vec<Diagnostic>) {
    if source.text().is_ascii() {
        return;
    }
    let mut line = 0;
    let turns = source.text().char_indices().filter(|(_, c)| escape::is_bidi(*c));
    for (at, c) in turns {
        let here = source.own_place(at).line;
        if std::mem::replace(&mut line, here) == here {
            continue;
        }
        let span = Span::new(source.id(), at, at + c.len_utf8());
        let message =
            format!("U+{:04X} shows the text of this line in another order than it is read", c as u32);
        diagnostics.push(
            Diagnostic::new(&codes::TEXT_DIRECTION, span, message)
                .with_help(format!("delete it, or write it in a string as `\\u{:04x}`", c as u32)),
        );
    }
}
