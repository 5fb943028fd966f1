//! What passed, what is excluded, what failed; and when two values are the same.

use bayplan::diag::Diagnostic;
use bayplan::lang::types::cel::Cel;
use bayplan::lang::types::value::Value;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The outcome of an expression.
pub(super) enum Outcome {
    Passed,
    /// Left out, with the reason.
    Excluded(&'static str),
    /// What is wrong.
    Failed(String),
}

/// The outcomes of a file.
pub(super) struct Tally {
    file: String,
    passed: usize,
    excluded: BTreeMap<&'static str, usize>,
    failed: Vec<String>,
}

impl Tally {
    pub(super) fn new(file: impl Into<String>) -> Self {
        Tally { file: file.into(), passed: 0, excluded: BTreeMap::new(), failed: Vec::new() }
    }

    pub(super) fn add(&mut self, expression: &str, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Excluded(why) => *self.excluded.entry(why).or_default() += 1,
            Outcome::Failed(why) => self.failed.push(format!("{expression}\n    {why}")),
        }
    }
}

/// Prints the table, and gives it for the page; nothing may have failed. `BAYPLAN_CEL_FAILED=FILE` writes what failed.
pub(super) fn judge(title: &str, tallies: Vec<Tally>) -> String {
    let mut table = String::from("| file | passed | excluded | failed |\n|---|---|---|---|\n");
    let row = |table: &mut String, file: &str, passed: usize, excluded: usize, failed: usize| {
        let _ = writeln!(table, "| {file} | {passed} | {excluded} | {failed} |");
    };
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for tally in &tallies {
        row(&mut table, &tally.file, tally.passed, tally.excluded.values().sum(), tally.failed.len());
        for (why, count) in &tally.excluded {
            *reasons.entry(why).or_default() += count;
        }
    }
    let sum = |of: fn(&Tally) -> usize| tallies.iter().map(of).sum::<usize>();
    let failed = sum(|tally| tally.failed.len());
    row(&mut table, "all", sum(|tally| tally.passed), reasons.values().sum(), failed);
    if !reasons.is_empty() {
        table.push_str("\n| excluded | because |\n|---|---|\n");
    }
    for (why, count) in &reasons {
        let _ = writeln!(table, "| {count} | {why} |");
    }
    println!("{title}\n{table}");
    let all: Vec<&str> = tallies.iter().flat_map(|tally| &tally.failed).map(String::as_str).collect();
    if let Ok(file) = std::env::var("BAYPLAN_CEL_FAILED") {
        std::fs::write(format!("{file}.{}", title.split(' ').next().unwrap()), all.join("\n") + "\n")
            .unwrap();
    }
    let shown = &all[..all.len().min(40)];
    assert!(all.is_empty(), "{table}\n{}", shown.join("\n"));
    table
}

/// The words of the first mistake.
pub(super) fn said(diagnostics: &[Diagnostic]) -> String {
    diagnostics.first().map_or_else(String::new, |said| format!("{} {}", said.code.id, said.message))
}

/// The message of a fault.
pub(super) fn fault(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Cel(Cel::Fault(fault)) => Some(fault.message.to_string()),
        _ => None,
    }
}

/// What the first recorded file has instead of the text of a value that CEL cannot convert to one.
const NO_TEXT: &str = "type conversion error";

/// Whether two tagged values are the same. Doubles are, as in the recorded text, exact.
pub(super) fn same(here: &Json, there: &Json) -> bool {
    let tag =
        |json: &Json| json.as_object().and_then(|of| of.iter().next().map(|(k, v)| (k.clone(), v.clone())));
    let (Some((tag_here, here)), Some((tag_there, there))) = (tag(here), tag(there)) else {
        return here == there;
    };
    if tag_here != tag_there {
        return false;
    }
    match tag_here.as_str() {
        _ if there.as_str().is_some_and(|text| text.starts_with(NO_TEXT)) => tag_here.contains('.'),
        "list" => {
            let (Some(here), Some(there)) = (here.as_array(), there.as_array()) else { return false };
            here.len() == there.len() && here.iter().zip(there).all(|(here, there)| same(here, there))
        }
        "map" => {
            let (Some(here), Some(there)) = (here.as_array(), there.as_array()) else { return false };
            here.len() == there.len()
                && there
                    .iter()
                    .all(|pair| here.iter().any(|mine| same(&mine[0], &pair[0]) && same(&mine[1], &pair[1])))
        }
        "optional" => match (here.is_null(), there.is_null()) {
            (false, false) => same(&here, &there),
            (mine, other) => mine == other,
        },
        "double" => {
            let number = |json: &Json| json.as_str().and_then(|text| text.parse::<f64>().ok());
            match (number(&here), number(&there)) {
                // Some files have 16 digits.
                (Some(mine), Some(other)) => {
                    mine.is_nan() && other.is_nan()
                        || mine.to_bits() == other.to_bits()
                        || there.as_str().is_some_and(|text| digits(text) == 16)
                            && format!("{mine:.15e}") == format!("{other:.15e}")
                }
                _ => false,
            }
        }
        // Go's name of a format is not the one by which CEL knows it.
        "kubernetes.NamedFormat" => {
            let name = |json: &Json| json.as_str().map(str::to_ascii_lowercase);
            name(&here) == name(&there)
        }
        _ => here == there,
    }
}

/// How many digits a number is written with.
fn digits(text: &str) -> usize {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    mantissa.chars().filter(char::is_ascii_digit).count()
}
