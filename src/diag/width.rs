//! Columns that a text takes on a terminal. Used by the drawing of diagnostics and by tables.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a text; a tab counts as four.
pub fn width(text: &str) -> usize {
    text.width() + 3 * text.matches('\t').count()
}

/// Columns of one character.
pub fn of(c: char) -> usize {
    if c == '\t' { 4 } else { c.width().unwrap_or(0) }
}

/// A text of at most `limit` columns; what is longer is cut and ends with `dots`.
pub fn cut(text: &str, limit: usize, dots: &str) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(width(dots));
    let mut used = 0;
    let fits = text.chars().take_while(|&c| {
        used += of(c);
        used <= room
    });
    let mut out: String = fits.collect();
    out.push_str(dots);
    out
}

/// A text of at most `limit` columns; of what is longer the middle is left out, since the ends of a name tell more.
pub fn cut_middle(text: &str, limit: usize, dots: &str) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(width(dots));
    let (front, back) = (room.div_ceil(2), room / 2);
    let within = |most: usize| {
        let mut used = 0;
        move |c: &char| {
            used += of(*c);
            used <= most
        }
    };
    let head: String = text.chars().take_while(within(front)).collect();
    let tail: Vec<char> = text.chars().rev().take_while(within(back)).collect();
    format!("{head}{dots}{}", tail.into_iter().rev().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_name_stay() {
        assert_eq!(cut_middle("checkout-api-x7f2", 17, "…"), "checkout-api-x7f2");
        assert_eq!(cut_middle("checkout-api-x7f2", 9, "…"), "chec…x7f2");
        assert_eq!(cut_middle("数据数据数据", 6, "…"), "数…据");
    }

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        assert_eq!(width("ab"), 2);
        assert_eq!(width("数据"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(cut("abcdef", 6, "…"), "abcdef");
        assert_eq!(cut("abcdefg", 6, "…"), "abcde…");
        assert_eq!(cut("数据数据", 6, "…"), "数据…");
        assert_eq!(cut("abc", 0, "…"), "…");
    }
}
