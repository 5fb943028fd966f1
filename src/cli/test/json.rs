//! The report of `bayplan test` for programs, kind `TestReport`; fields are only added.

use super::{FileOutcome, Outcome, Ran};
use crate::cli::explain::tree;
use crate::diag::SourceMap;
use crate::dry_run::because::Because;
use serde_json::{Value, json};

fn because_json(because: &Because, sources: &SourceMap) -> Value {
    json!({
        "text": because.text,
        "tree": because.tree.as_ref().map(|shown| tree::to_json(sources, shown)),
    })
}

/// The report.
pub(super) fn report(ran: &Ran) -> Value {
    let files: Vec<Value> = ran
        .files
        .iter()
        .map(|file| {
            let cases: Vec<Value> = file.cases.iter().map(|case| case_json(file, case)).collect();
            let errors: Vec<Value> = file
                .errors
                .iter()
                .map(|error| json!({"message": error.message, "line": error.line}))
                .collect();
            json!({"file": file.file, "cases": cases, "errors": errors})
        })
        .collect();
    let all = ran.cases().count();
    let failed = ran.failed();
    let uncovered: Vec<Value> = ran
        .conditions
        .uncovered()
        .iter()
        .map(|condition| {
            json!({
                "place": condition.place, "condition": condition.text,
                "seenTrue": condition.seen_true, "seenFalse": condition.seen_false, "seenError": condition.seen_error,
            })
        })
        .collect();
    let mut json = json!({
        "apiVersion": "bayplan.dev/v1", "kind": "TestReport", "files": files,
        "summary": {
            "cases": all, "passed": all - failed, "failed": failed, "errors": ran.errors(),
        },
    });
    if let (Some(json), false) = (json.as_object_mut(), ran.selected) {
        let all = ran.conditions.len();
        let covered = all - uncovered.len();
        json.insert(
            "coverage".to_owned(),
            json!({"conditions": all, "covered": covered, "uncovered": uncovered}),
        );
    }
    json
}

fn case_json(file: &FileOutcome, case: &Outcome) -> Value {
    let wrong: Vec<Value> = case
        .ended
        .mismatches
        .iter()
        .zip(&case.places)
        .map(|(wrong, place)| {
            let because: Vec<Value> =
                wrong.because.iter().map(|because| because_json(because, &file.sources)).collect();
            json!({
                "message": format!("expected {}, got {}", wrong.expected, wrong.got),
                "expected": wrong.expected, "got": wrong.got, "because": because, "place": place,
            })
        })
        .collect();
    let mut json = json!({
        "name": case.name, "place": case.place(), "passed": case.passed(), "mismatches": wrong,
    });
    let account: Vec<Value> = case
        .ended
        .account
        .iter()
        .map(|(pod, all)| {
            let all: Vec<Value> = all.iter().map(|because| because_json(because, &file.sources)).collect();
            json!({"pod": pod, "rules": all})
        })
        .collect();
    if let (Some(json), false) = (json.as_object_mut(), account.is_empty()) {
        json.insert("account".to_owned(), Value::Array(account));
    }
    json
}
