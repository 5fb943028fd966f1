//! The report of `bayplan test` as GitHub's workflow commands: a failure at its line, the counts in
//! the log.

use super::Ran;
use super::text::{plain_failure, summary};
use crate::diag::formats;
use std::fmt::Write;

/// The report.
pub(super) fn report(ran: &Ran) -> String {
    let mut annotations = Vec::new();
    for file in &ran.files {
        for error in &file.errors {
            let line = error.line.unwrap_or(1);
            let title = format!("{} cannot run", file.file);
            annotations.push((
                formats::annotation("error", &file.file, line, &title, &error.text),
                format!("ERROR {}", error.message),
            ));
        }
        for case in file.cases.iter().filter(|case| !case.passed()) {
            let title = format!("FAIL {}", case.name);
            let said = plain_failure(file, case);
            annotations.push((
                formats::annotation("error", &case.place.0, case.place.1, &title, &said),
                format!("FAIL {} {}", case.place(), case.name),
            ));
        }
    }
    let mut text = String::new();
    for (annotation, _) in annotations.iter().take(formats::ANNOTATIONS) {
        let _ = writeln!(text, "{annotation}");
    }
    let rest = annotations.iter().skip(formats::ANNOTATIONS);
    if rest.len() > 0 {
        let _ = writeln!(text, "::error::{} more in the log", rest.len());
    }
    for (_, line) in rest {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "{}", summary(ran));
    text
}
