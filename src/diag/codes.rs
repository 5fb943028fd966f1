//! The one table of everything that can be said about a policy or a configuration.
//!
//! A row is written by hand and never reused: its id, the slug that `// bayplan: allow(slug) because …`
//! names, its severity, one line, and what `lint --explain` prints. Read by every room that makes
//! diagnostics, by `cli` and by the test that compares ids and slugs.
//!
//! Ids by hundreds: 00 reading a text, 01 types and units, 02 statements and names, 03 what only a cluster
//! can tell, 04 lints, 05 YAML and configuration, 09 what is not built.

use super::Severity;

/// A row of the table.
#[derive(Debug)]
pub struct Code {
    /// `BP` and four digits; never reused.
    pub id: &'static str,
    /// The name in suppression comments, in the docs and in JSON.
    pub slug: &'static str,
    /// How much it weighs unless an option says otherwise.
    pub severity: Severity,
    /// One line, for lists of codes.
    pub title: &'static str,
    /// What it means and what to do, for `lint --explain`.
    pub explanation: &'static str,
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

macro_rules! codes {
    ($($name:ident $id:literal $slug:literal $severity:ident $title:literal $explanation:literal)*) => {
        $(
            #[doc = $title]
            pub static $name: Code = Code {
                id: $id,
                slug: $slug,
                severity: Severity::$severity,
                title: $title,
                explanation: $explanation,
            };
        )*

        /// Every row, in the order of the ids.
        pub static CODES: &[&Code] = &[$(&$name),*];
    };
}

codes! {
    SYNTAX "BP0001" "syntax" Error
        "the text is not what the grammar allows here"
        "The parser met something that no statement or expression may hold at this place. The message names \
         what it met and what could have stood there. Other mistakes of the file are reported as well: each \
         statement is read on its own."

    UNKNOWN_STATEMENT "BP0002" "unknown-statement" Error
        "a word that begins no statement"
        "A statement begins with one of the words of the language (`filter`, `score`, `require`, `reject`, …). \
         The word found is none of them; the nearest one is named."

    MISPLACED_STATEMENT "BP0003" "misplaced-statement" Error
        "a statement in a block where it has no meaning"
        "Each block has its own statements: `require` and `reject` in a `filter`, `give` in a `score`, `wait` \
         in a `permit`, `only` in a `prefilter`. `let` may stand in all of them."

    UNCLOSED "BP0004" "unclosed" Error
        "a bracket, quote or comment without an end"
        "The place shown is the one that opens. A string in one pair of quotes ends on its line; write `\"\"\"` \
         for a string of several lines."

    TOO_LARGE "BP0005" "too-large" Error
        "a limit of the language is passed"
        "A policy file has at most 1 MiB, 100 levels of brackets, and 1,000 operators in one expression. The \
         limits are checked before the text is parsed."

    BAD_ESCAPE "BP0006" "bad-escape" Error
        "an unknown escape in a string"
        "Strings know CEL's escapes: \\a \\b \\f \\n \\r \\t \\v \\\\ \\? \\\" \\' \\` \\xHH \\uHHHH \\UHHHHHHHH \
         and \\OOO in octal. Write r\"…\" for a string without escapes."

    BAD_NUMBER "BP0007" "bad-number" Error
        "a number out of range, or with a unit that does not exist"
        "Whole numbers and amounts have 64 bits. Units are `m` and `cpu` (processors), `k M G T P E` and \
         `Ki Mi Gi Ti Pi Ei` and `B` (bytes), `ms s min h d` (durations) and `%` (shares). A number with a unit \
         must be whole in its base unit: millicores, bytes, nanoseconds."

    FOREIGN_WORD "BP0008" "foreign-word" Error
        "an operator or a word of another language"
        "`&&`, `||` and `!` are written as in CEL; `==` compares and `=` names; a condition is written behind \
         its statement with `when`, there is no `if`."

    LABEL_KEY_BRACKETS "BP0009" "label-key-brackets" Error
        "a label key with `.` or `/` that is not in brackets"
        "`node.labels.topology.kubernetes.io/zone` reads as a path of four fields divided by `zone`. Write \
         `node.labels[\"topology.kubernetes.io/zone\"]`."

    NOT_UTF8 "BP0010" "not-utf8" Error
        "the file is no UTF-8 text"
        "Policies and configurations are read as UTF-8. The place shown is the first byte that is none."

    DUPLICATE_CLAUSE "BP0011" "duplicate-clause" Error
        "a part of a statement that is written twice"
        "A statement has each of its parts once."

    RESERVED_NAME "BP0012" "reserved-name" Error
        "a name that the language keeps for itself"
        "Reserved are CEL's reserved words and `none`. What a policy declares may not be called like a word of \
         a statement either."

    LANGUAGE_VERSION "BP0013" "language-version" Error
        "a language version that this release does not know"
        "`policy NAME version 1 { … }`: the number is that of the language, not of the policy."

    MIXED_UNITS "BP0104" "mixed-units" Error
        "two amounts of different units meet"
        "Amounts with a unit are added to and compared with amounts of the same unit only; `0` fits every \
         unit. A unit divided by the same unit is a float, a unit times a number is the unit."

    FOLDED_POLICY "BP0501" "folded-policy" Warning
        "a policy in a folded YAML scalar"
        "`>` joins the lines of the text, so a `//` comment swallows what follows it, and a message cannot \
         name the line that was meant. Write `|`."

    BAD_YAML "BP0502" "bad-yaml" Error
        "the file is no YAML or JSON"
        "The file could not be read as YAML; nothing of the document at this place is loaded."

    BAD_POLICY_MAP "BP0503" "bad-policy-map" Error
        "a ConfigMap of policies that cannot be read"
        "A ConfigMap labelled `bayplan.dev/policy` holds texts under keys that end in `.bay`."

    UNLABELLED_POLICY_MAP "BP0504" "unlabelled-policy-map" Warning
        "a ConfigMap with a policy and without our label"
        "Only ConfigMaps with the label `bayplan.dev/policy` are read by a scheduler; this one holds keys that \
         end in `.bay`, and nobody will read them."

    NOT_BUILT "BP0901" "not-built" Error
        "a part of the language that this release does not have"
        "The statement is part of the language, and this release refuses it rather than ignoring it."
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
}
