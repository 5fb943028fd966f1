//! The report of `bayplan test` as JUnit XML: a suite for each file, valid against the schema of
//! Jenkins' xUnit plugin (junit-10.xsd), which requires `errors` of a suite and knows neither
//! `file` nor `line` of a case. Places are in the texts.

use super::text::plain_failure;
use super::{FileOutcome, Outcome, Ran, RunError};
use crate::diag::{escape, formats::xml};
use std::fmt::Write;
use std::time::Duration;

/// The report.
pub(super) fn report(ran: &Ran) -> String {
    let (all, failed, errors) = (ran.cases().count(), ran.failed(), ran.errors());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"bayplan test\" tests=\"{}\" failures=\"{failed}\" errors=\"{errors}\" time=\"{}\">\n",
        all + errors,
        seconds(ran.files.iter().map(time).sum())
    );
    for file in &ran.files {
        suite(&mut text, file);
    }
    text.push_str("</testsuites>\n");
    text
}

/// The time that the cases of a file took.
fn time(file: &FileOutcome) -> Duration {
    file.cases.iter().map(|case| case.took).sum()
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

fn suite(text: &mut String, file: &FileOutcome) {
    let name = xml(&file.file);
    let failed = file.cases.iter().filter(|case| !case.passed()).count();
    let errors = file.errors.len();
    let all = file.cases.len() + errors;
    let _ = writeln!(
        text,
        "  <testsuite name=\"{name}\" tests=\"{all}\" failures=\"{failed}\" errors=\"{errors}\" \
         time=\"{}\">",
        seconds(time(file))
    );
    for error in &file.errors {
        broken(text, &name, error);
    }
    for case in &file.cases {
        testcase(text, &name, file, case);
    }
    text.push_str("  </testsuite>\n");
}

/// What could not run.
fn broken(text: &mut String, file: &str, error: &RunError) {
    let (message, full) = (xml(&escape::line(&error.message)), xml(&error.text));
    let _ = writeln!(
        text,
        "    <testcase name=\"{message}\" classname=\"{file}\">\n      \
         <error message=\"{message}\" type=\"cannot-run\">{full}</error>\n    </testcase>"
    );
}

fn testcase(text: &mut String, name: &str, file: &FileOutcome, case: &Outcome) {
    let took = seconds(case.took);
    let open = format!("    <testcase name=\"{}\" classname=\"{name}\" time=\"{took}\"", xml(&case.name));
    let Some(first) = case.ended.mismatches.first() else {
        let _ = writeln!(text, "{open}/>");
        return;
    };
    let message = format!("expected {}, got {}", first.expected, first.got);
    let _ = writeln!(
        text,
        "{open}>\n      <failure message=\"{}\" type=\"expectation\">{}</failure>\n    </testcase>",
        xml(&message),
        xml(&format!("{}\n{}", case.place(), plain_failure(file, case)))
    );
}
