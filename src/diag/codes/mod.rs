//! The table of all diagnostics of policies, configurations and cluster files.
//!
//! A row has an id and a name that are never used again for anything else, a severity, what is wrong, why,
//! and an example of each kind. Diagnostics refer to rows; `lint --explain`, the page `docs/codes.md` and
//! `bayplan help codes` are made from them; `tests/diag/codes.rs` checks that the wrong example yields exactly
//! its code and the right one does not.
//!
//! Ids by hundreds: 00 reading a text, 01 types and units, 02 statements and names, 03 what only a cluster
//! can tell, 04 lints, 05 YAML and configuration, 09 what is not built.

use super::{Severity, suggest};

/// A row of the table.
pub struct Code {
    /// `BP` and four digits; never reused.
    pub id: &'static str,
    /// The name in suppression comments, in the docs and in JSON.
    pub slug: &'static str,
    /// How much it weighs unless an option says otherwise.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub title: &'static str,
    /// Why it matters and what to do.
    pub explanation: &'static str,
    /// The name of a file that could hold the examples, whose ending tells what they are: `.bay` for
    /// policies, `rules.yaml` for ConfigMaps, `config.yaml`, `cluster.yaml`, `.test.yaml`. Empty when no
    /// text can show the mistake, so that the examples are described in words.
    pub example_file: &'static str,
    /// A text with this mistake and no other one.
    pub bad: &'static str,
    /// The text of `bad` without the mistake.
    pub good: &'static str,
}

/// Declares the rows of a hundred, and `ROWS`, which lists them.
macro_rules! codes {
    (@file) => { "example.bay" };
    (@file $file:literal) => { $file };
    ($($name:ident $id:literal $slug:literal $severity:ident $title:literal $explanation:literal
       $(in $file:literal)? bad $bad:literal good $good:literal)*) => {
        $(
            #[doc = $title]
            pub static $name: super::Code = super::Code {
                id: $id,
                slug: $slug,
                severity: super::Severity::$severity,
                title: $title,
                explanation: $explanation,
                example_file: codes!(@file $($file)?),
                bad: super::without_first_line_end($bad),
                good: super::without_first_line_end($good),
            };
        )*

        /// The rows of this file, in the order of the ids.
        pub(super) const ROWS: &[&super::Code] = &[$(&$name),*];
    };
}

/// A raw string that begins on a line of its own has a line end first.
const fn without_first_line_end(text: &'static str) -> &'static str {
    match text.as_bytes().split_first() {
        Some((b'\n', _)) => text.split_at(1).1,
        _ => text,
    }
}

mod reading;
mod types;
mod names;
mod clusters;
mod lints;
mod files;
mod release;

pub use clusters::*;
pub use files::*;
pub use lints::*;
pub use names::*;
pub use reading::*;
pub use release::*;
pub use types::*;

/// The rows by hundreds.
const HUNDREDS: [&[&Code]; 7] =
    [reading::ROWS, types::ROWS, names::ROWS, clusters::ROWS, lints::ROWS, files::ROWS, release::ROWS];

const COUNT: usize = {
    let mut count = 0;
    let mut at = 0;
    while at < HUNDREDS.len() {
        count += HUNDREDS[at].len();
        at += 1;
    }
    count
};

/// Every row, in the order of the ids.
pub static CODES: &[&Code] = &{
    let mut all: [&Code; COUNT] = [&SYNTAX; COUNT];
    let (mut at, mut hundred) = (0, 0);
    while hundred < HUNDREDS.len() {
        let mut row = 0;
        while row < HUNDREDS[hundred].len() {
            all[at] = HUNDREDS[hundred][row];
            (at, row) = (at + 1, row + 1);
        }
        hundred += 1;
    }
    all
};

/// Where the documentation is published.
const SITE: &str = "https://bayplan.dev/";

impl Code {
    /// The page of the documentation about this code, and the place on it.
    pub fn page(&self) -> String {
        format!("docs/codes.md#{}", self.id.to_ascii_lowercase())
    }

    /// The address of that page.
    pub fn url(&self) -> String {
        format!("{SITE}{}", self.page())
    }

    /// Whether a comment can silence it: everything but mistakes and what only a cluster can tell, and the
    /// limit of what a rule may cost.
    pub fn can_be_allowed(&self) -> bool {
        let policy = self.example_file.ends_with(".bay") && !self.id.starts_with("BP03");
        policy && (self.severity != Severity::Error || *self == TOO_COSTLY)
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.id, self.slug)
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Code {}

/// The row of an id (`BP0104`) or a slug (`mixed-units`).
pub fn find(id_or_slug: &str) -> Option<&'static Code> {
    CODES.iter().copied().find(|code| code.id.eq_ignore_ascii_case(id_or_slug) || code.slug == id_or_slug)
}

/// Ids and slugs that are near to a word that is neither, the nearest first, at most five.
pub fn near(word: &str) -> Vec<&'static str> {
    let digits = word.trim_start_matches(['B', 'P', 'b', 'p', '0']);
    let known = CODES.iter().flat_map(|code| [code.id, code.slug]);
    let mut near = suggest::near(word, known, 5);
    if near.is_empty() && digits.len() > 1 {
        // A part of a name: `units` for `mixed-units`.
        let holds = |code: &&&Code| code.slug.contains(word) || code.id.contains(digits);
        near = CODES.iter().filter(holds).map(|code| code.slug).take(5).collect();
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_slugs_are_written_once_and_ids_ascend() {
        for pair in CODES.windows(2) {
            assert!(pair[0].id < pair[1].id, "{} before {}", pair[0].id, pair[1].id);
        }
        let mut slugs: Vec<_> = CODES.iter().map(|code| code.slug).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), CODES.len());
        assert!(find("bp0104").is_some_and(|code| code.slug == "mixed-units"));
        assert!(find("mixed-units").is_some_and(|code| code.id == "BP0104"));
    }

    #[test]
    fn an_unknown_code_has_near_ones() {
        assert_eq!(near("mixed-unit"), ["mixed-units"]);
        assert_eq!(near("units"), ["mixed-units"]);
        assert!(near("BP0114x").contains(&"BP0114"));
        assert!(near("banana").is_empty());
    }

    #[test]
    fn texts_keep_their_style() {
        for code in CODES {
            assert!(!code.title.ends_with('.') && code.title.len() <= 80, "{}", code.title);
            assert!(code.explanation.ends_with('.'), "{}", code.explanation);
        }
    }
}
