//! README, examples and policies: every command block runs, and prints what stands below it. With
//! `BAYPLAN_GOLDEN=write` the outputs are written anew.

use crate::support::repository;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command line of the docs in a folder: its standard output with equal times, its status, its errors.
fn run_in(folder: &Path, line: &str) -> (String, Option<i32>, String) {
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
fn run(line: &str) -> (String, Option<i32>, String) {
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
fn documents() -> Vec<PathBuf> {
    let mut found = vec![repository("README.md"), repository("policies/README.md")];
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
fn blocks(text: &str) -> Vec<(&str, &str)> {
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

/// Writes the files that a document shows, such as "```bay hours.bay", into a folder of their own, where its commands
/// then run. A document without such files runs its commands in the root of the repository.
fn folder_of(document: &Path, text: &str) -> PathBuf {
    let files: Vec<(&str, &str)> = blocks(text)
        .into_iter()
        .filter_map(|(words, lines)| Some((words.split_once(' ')?.1, lines)))
        .collect();
    if files.is_empty() {
        return repository("");
    }
    let name = document.file_stem().unwrap().to_string_lossy();
    let folder = std::env::temp_dir().join(format!("bayplan-docs-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, lines) in files {
        std::fs::write(folder.join(file), lines).unwrap();
    }
    folder
}

/// The text with the outputs of its command blocks as they are now.
fn with_outputs(text: &str, folder: &Path, complaints: &mut Vec<String>) -> String {
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
            let (output, status, errors) = run_in(folder, command);
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
        let folder = folder_of(&document, &text);
        let now = with_outputs(&text, &folder, &mut complaints);
        if folder != repository("") {
            std::fs::remove_dir_all(folder).unwrap();
        }
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
                let file = link.split('#').next().unwrap();
                let target = document.parent().unwrap().join(file);
                assert!(target.exists(), "{}: {link}", document.display());
            }
        }
    }
}

#[test]
fn every_policy_of_the_guide_compiles_without_a_finding() {
    let guide = std::fs::read_to_string(repository("docs/language.md")).unwrap();
    let policies: Vec<&str> =
        blocks(&guide).into_iter().filter(|(words, _)| *words == "bay").map(|(_, lines)| lines).collect();
    assert!(policies.len() >= 10, "{}", policies.len());
    for text in policies {
        let mut sources = bayplan::diag::SourceMap::new();
        let id = sources.add("guide.bay", text);
        let (compiled, found) = bayplan::lang::compile(sources.get(id).unwrap());
        assert!(found.is_empty() && !compiled.is_empty(), "{text}\n{found:?}");
    }
}

#[test]
fn expressions_of_the_guide_have_the_values_beside_them() {
    let guide = std::fs::read_to_string(repository("docs/language.md")).unwrap();
    let table = guide.split("| expression | value |\n|---|---|\n").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 5);
    for row in rows {
        let cells: Vec<&str> = row.split('`').collect();
        let [_, expression, _, value, _] = cells[..] else { panic!("{row}") };
        let (text, status, errors) = run(&format!("bayplan eval '{expression}'"));
        assert_eq!(status, Some(0), "{errors}");
        assert_eq!(text.split("   ").next(), Some(value), "{expression}: {text}");
    }
}

#[test]
fn every_command_has_its_exit_statuses() {
    let (help, ..) = run("bayplan --help");
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<&str> = commands
        .lines()
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let rows: Vec<&str> = bayplan::reference::EXIT_STATUSES.iter().map(|row| row.command).collect();
    assert_eq!(rows, commands);
}

#[test]
fn generated_pages_are_what_the_tables_say() {
    let write = std::env::var("BAYPLAN_GOLDEN").is_ok_and(|value| value == "write");
    for topic in bayplan::reference::TOPICS {
        let file = repository("docs").join(topic.file);
        let (text, status, errors) = run(&format!("bayplan help {} --markdown", topic.name));
        assert_eq!(status, Some(0), "{errors}");
        if write {
            std::fs::write(&file, &text).unwrap();
        }
        let stands = std::fs::read_to_string(&file).unwrap();
        assert!(stands == text, "{}: `make golden` writes it anew", file.display());
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
