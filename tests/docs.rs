//! README, examples and policies: every command block runs, and prints what stands below it. With
//! `BAYPLAN_GOLDEN=write` the outputs are written anew.

use crate::support::repository;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command line of the docs from the root of the repository: its standard output, times made equal.
fn run(line: &str) -> (String, Option<i32>, String) {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_bayplan"));
    let path =
        format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(repository(""))
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (equal_times(&text), output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
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
fn documents() -> Vec<PathBuf> {
    let mut found = vec![repository("README.md"), repository("policies/README.md")];
    for entry in std::fs::read_dir(repository("examples")).unwrap() {
        let readme = entry.unwrap().path().join("README.md");
        assert!(readme.exists(), "{} has no README.md", readme.parent().unwrap().display());
        found.push(readme);
    }
    below(&repository("tests/transcripts"), ".md", &mut found);
    found.sort();
    found
}

/// The text with the outputs of its command blocks as they are now.
fn with_outputs(text: &str, complaints: &mut Vec<String>) -> String {
    let mut now = String::new();
    let mut inside = false;
    for line in text.lines() {
        if !inside {
            now.push_str(line);
            now.push('\n');
            inside = line == "```console";
            continue;
        }
        if line == "```" {
            now.push_str("```\n");
            inside = false;
        } else if let Some(command) = line.strip_prefix("$ ") {
            let (output, status, errors) = run(command);
            if !matches!(status, Some(0 | 1)) {
                complaints.push(format!("`{command}` ended with {status:?}: {errors}"));
            }
            // A reader of the document would see these lines too.
            if !errors.is_empty() {
                complaints.push(format!("`{command}` also prints on stderr: {errors}"));
            }
            now.push_str(&format!("$ {command}\n{output}"));
        }
    }
    now
}

#[test]
fn every_command_block_prints_what_stands_below_it() {
    let write = std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write");
    let mut complaints = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let now = with_outputs(&text, &mut complaints);
        if write {
            std::fs::write(&document, &now).unwrap();
        } else if now != text {
            let differs = text.lines().zip(now.lines()).find(|(old, new)| old != new);
            complaints.push(format!("{}: {differs:?}", document.display()));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_set_up_of_the_readme_is_two_commands_that_exist() {
    let readme = std::fs::read_to_string(repository("README.md")).unwrap();
    let block = readme.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let lines: Vec<&str> = block.lines().collect();
    let [first, second] = lines[..] else { panic!("{block}") };
    let command = first.strip_prefix("cargo run --release -- ").unwrap();
    let (text, status, errors) = run(&format!("bayplan {command}"));
    assert_eq!(status, Some(0), "{errors}");
    assert!(text.contains("4 pods: 3 placed, 1 waits."), "{text}");
    assert_eq!(second, "make test");
    let makefile = std::fs::read_to_string(repository("Makefile")).unwrap();
    assert!(makefile.contains("\ntest:"));
}

#[test]
fn links_of_the_readmes_lead_somewhere() {
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.starts_with("http") && !link.starts_with('#') {
                let target = document.parent().unwrap().join(link);
                assert!(target.exists(), "{}: {link}", document.display());
            }
        }
    }
}

fn below(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

#[test]
fn every_policy_has_tests_and_they_pass() {
    let mut policies = Vec::new();
    below(&repository("policies"), ".bay", &mut policies);
    assert!(!policies.is_empty());
    for policy in policies {
        let tests = policy.with_extension("test.yaml");
        assert!(tests.exists(), "{} has no tests", policy.display());
    }
    let (text, status, errors) = run("bayplan test policies examples");
    assert_eq!(status, Some(0), "{text}{errors}");
}

#[test]
fn policies_and_examples_have_no_mistakes() {
    let (text, status, errors) = run("bayplan lint policies examples --deny warnings");
    assert_eq!(status, Some(0), "{text}{errors}");
}

/// `docs/metrics.md` is made from the table of metrics.
#[cfg(feature = "cluster")]
#[test]
fn the_page_of_metrics_is_what_the_table_says() {
    let mut page = String::from(
        "# Metrics\n\nServed on `/metrics` of the secure port. This page is made from the table in\n\
         `src/cluster/metrics.rs`; [running the scheduler](running.md#health-and-metrics) lists the differences\n\
         from kube-scheduler.\n\n| name | type | labels | stability | meaning |\n|---|---|---|---|---|\n",
    );
    for row in bayplan::cluster::metrics::ROWS {
        let labels: Vec<String> = row.labels.iter().map(|label| format!("`{label}`")).collect();
        let (kind, labels, word) = (row.kind, labels.join(" "), row.stability.word());
        page.push_str(&format!("| `{}` | {kind} | {labels} | {word} | {} |\n", row.name, row.help));
    }
    let path = repository("docs/metrics.md");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "run `make golden`");
}
