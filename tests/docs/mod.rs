//! README, pages of docs, examples and policies: commands print what is written below them, and
//! pages are what the tables say. With `BAYPLAN_GOLDEN=write` both are written anew.

mod command_blocks;
mod examples;
mod generated_pages;
mod guide;
mod pictures;
mod true_statements;

use crate::support::repository;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command line of the docs in a folder: its standard output with equal times, its status,
/// its errors.
pub(super) fn run_in(folder: &Path, line: &str) -> (String, Option<i32>, String) {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_bayplan"));
    let path =
        format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (equal_times(&text), output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The same in the root of the repository.
pub(super) fn run(line: &str) -> (String, Option<i32>, String) {
    run_in(&repository(""), line)
}

/// `12 ms` is `9 ms` on every machine.
fn equal_times(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        let Some((before, rest)) = line.split_once(" ms.") else {
            words.push(line.to_owned());
            continue;
        };
        let number = before.trim_end_matches(|c: char| c.is_ascii_digit());
        words.push(format!("{number}9 ms.{rest}"));
    }
    words.concat()
}

/// Documents with command blocks.
pub(super) fn documents() -> Vec<PathBuf> {
    let mut found = vec![repository("README.md")];
    below(&repository("policies"), ".md", &mut found);
    below(&repository("docs"), ".md", &mut found);
    for entry in std::fs::read_dir(repository("examples")).unwrap() {
        let readme = entry.unwrap().path().join("README.md");
        assert!(readme.exists(), "{} has no README.md", readme.parent().unwrap().display());
        found.push(readme);
    }
    below(&repository("tests/docs/transcripts"), ".md", &mut found);
    found.sort();
    found
}

/// The blocks of code of a document: the words after the backticks, and the lines.
pub(super) fn blocks(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("\n```") {
        let (words, body) = after.split_once('\n').unwrap();
        let (lines, after) = body.split_once("```").unwrap();
        found.push((words, lines));
        rest = after;
    }
    found
}

pub(super) fn below(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}
