//! Diagnostics for other programs: SARIF 2.1.0 (code scanning), GitHub's workflow commands, JUnit XML
//! (what every CI shows), rdjson (reviewdog).
//!
//! Called by `cli lint`; the small writers also by `cli test`. Our own form is in `json`.

mod github;
mod junit;
mod rdjson;
mod sarif;

pub use github::{ANNOTATIONS, annotation, data, github};
pub use junit::{junit, xml};
pub use rdjson::rdjson;
pub use sarif::{Suppressed, sarif};

use super::{Diagnostic, Source, SourceMap};
use std::fmt::Write;

/// The name of the file that a diagnostic is about.
fn file_of<'s>(sources: &'s SourceMap, diagnostic: &Diagnostic) -> &'s str {
    sources.file(diagnostic.span).map_or("", Source::name)
}

/// What is wrong and what to do, each on a line of its own.
fn whole(diagnostic: &Diagnostic) -> String {
    let mut text = diagnostic.message.clone();
    for (head, more) in [("effect", &diagnostic.effect), ("help", &diagnostic.help)] {
        if let Some(more) = more {
            let _ = write!(text, "\n{head}: {more}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::{Span, codes};

    fn some() -> (SourceMap, Vec<Diagnostic>) {
        let mut sources = SourceMap::new();
        let file = sources.add("a b.bay", "one\ntwo <&> three\n");
        let at = Span::new(file, 4, 7);
        let said = Diagnostic::new(&codes::FOREIGN_WORD, at, "`two` is 100% <wrong>")
            .with_help("write\n`2`")
            .with_fix("write `2`", at, "2")
            .with_place(Span::new(file, 0, 3), "this one");
        let note = Diagnostic::new(&codes::MISSING_DOC, at, "no doc");
        (sources, vec![said, note])
    }

    #[test]
    fn workflow_commands_are_one_line_each_and_at_most_ten_of_a_level() {
        let (sources, said) = some();
        let text = github(&sources, &said);
        assert_eq!(
            text.lines().next().unwrap(),
            "::error file=a b.bay,line=2,col=1,endLine=2,endColumn=4,title=BP0008 foreign-word::`two` is 100%25 <wrong>%0Ahelp: write%0A`2`"
        );
        let many: Vec<Diagnostic> = (0..21).map(|_| said[0].clone()).collect();
        let text = github(&sources, &many);
        assert_eq!(text.lines().count(), 10);
        assert_eq!(text.lines().last().unwrap(), "::error::12 more in the log");
    }

    #[test]
    fn sarif_has_rules_places_and_fixes() {
        let (sources, said) = some();
        let log = sarif(&sources, &said, &[]);
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 2);
        let first = &run["results"][0];
        let place = &first["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b.bay");
        assert_eq!(place["region"]["startLine"], 2);
        assert_eq!(place["region"]["endColumn"], 4);
        assert_eq!(
            first["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"],
            "2"
        );
        assert_eq!(first["relatedLocations"][0]["message"]["text"], "this one");
        assert_eq!(run["results"][1]["level"], "note");
    }

    #[test]
    fn junit_counts_errors_as_failures_and_escapes() {
        let (sources, said) = some();
        let text = junit(&sources, &said, &["a b.bay".into(), "fine.bay".into()]);
        assert!(text.contains("tests=\"3\" failures=\"1\""), "{text}");
        assert!(text.contains("`two` is 100% &lt;wrong&gt;"), "{text}");
        assert!(text.contains("<testcase name=\"lint\" classname=\"fine.bay\"/>"), "{text}");
    }

    #[test]
    fn paths_are_uris_and_rules_link_to_their_pages() {
        let mut sources = SourceMap::new();
        let said: Vec<Diagnostic> = ["./pol/a.bay", "/tmp/ü.bay", "c:d.bay"]
            .map(|name| sources.add(name, "x"))
            .map(|file| Diagnostic::new(&codes::FOREIGN_WORD, Span::new(file, 0, 1), "x"))
            .into();
        let log = sarif(&sources, &said, &[]);
        let uri = |at: usize| {
            let place = &log["runs"][0]["results"][at]["locations"][0]["physicalLocation"];
            place["artifactLocation"]["uri"].as_str().unwrap().to_owned()
        };
        assert_eq!([uri(0), uri(1), uri(2)], ["pol/a.bay", "file:///tmp/%C3%BC.bay", "c%3Ad.bay"]);
        let rule = &log["runs"][0]["tool"]["driver"]["rules"][0];
        assert_eq!(rule["helpUri"], codes::FOREIGN_WORD.url());
    }

    #[test]
    fn junit_has_the_attributes_that_jenkins_requires_and_no_others() {
        let (sources, said) = some();
        let text = junit(&sources, &said, &["fine\u{1b}.bay".into()]);
        for suite in text.lines().filter(|line| line.contains("<testsuite ")) {
            assert!(suite.contains(" errors=\"0\""), "{suite}");
        }
        for case in text.lines().filter(|line| line.contains("<testcase ")) {
            assert!(!case.contains(" file=") && !case.contains(" line="), "{case}");
        }
        assert!(text.contains("fine\\u{1b}.bay"), "{text}");
    }

    #[test]
    fn rdjson_has_ranges_and_suggestions() {
        let (sources, said) = some();
        let json = rdjson(&sources, &said);
        assert_eq!(json["diagnostics"][0]["location"]["range"]["start"]["line"], 2);
        assert_eq!(json["diagnostics"][0]["suggestions"][0]["text"], "2");
        assert_eq!(json["diagnostics"][1]["severity"], "INFO");
    }

    #[test]
    fn rdjson_counts_columns_in_bytes() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.bay", "x\näöü = 1\n");
        let said = Diagnostic::new(&codes::FOREIGN_WORD, Span::new(file, 9, 10), "x");
        let start = rdjson(&sources, &[said])["diagnostics"][0]["location"]["range"]["start"].clone();
        assert_eq!((start["line"].clone(), start["column"].clone()), (2.into(), 8.into()));
    }
}
