//! Documents with commands: every command block runs and prints what is written below it, links lead to files and
//! sections, and paths that pages about the code name exist.

use super::{blocks, documents, run, run_in};
use crate::support::repository;
use std::path::{Path, PathBuf};

/// Writes the files that a document shows, such as "```bay hours.bay", into a folder of their own,
/// where its commands then run. A document without such files runs its commands in the root of the
/// repository.
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

/// Output as documents show it: no run takes as long as another.
fn without_times(output: &str) -> String {
    let mut parts = output.split("time=\"");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        shown.push_str("time=\"0.001");
        shown.push_str(rest);
    }
    shown
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
            now.push_str(&format!("$ {command}\n{}", without_times(&output)));
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

/// The anchors of a page: its headings as GitHub names them, and `<a id="…">`.
fn anchors(text: &str) -> Vec<String> {
    let slug = |heading: &str| -> String {
        let kept = heading.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
    let named = text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    headings.map(slug).chain(named.map(str::to_owned)).collect()
}

#[test]
fn links_lead_to_files_and_their_sections() {
    let mut documents = documents();
    documents.extend(["ARCHITECTURE.md", "CONTRIBUTING.md"].map(repository));
    let mut sections = 0;
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") || link.contains(' ') {
                continue;
            }
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            assert!(target.exists(), "{}: {link}", document.display());
            if !section.is_empty() {
                let page = std::fs::read_to_string(&target).unwrap();
                let known = anchors(&page);
                assert!(known.iter().any(|anchor| anchor == section), "{}: {link}", document.display());
                sections += 1;
            }
        }
    }
    assert!(sections > 100, "{sections}");
}

/// Links to the sections that `docs/running.md` had before it became three pages lead on.
#[test]
fn old_sections_of_running_lead_on() {
    let page = std::fs::read_to_string(repository("docs/running.md")).unwrap();
    let known = anchors(&page);
    for old in [
        "install",
        "policies",
        "what-authors-of-policies-can-do",
        "pods-that-name-another-scheduler",
        "switch-a-policy-off-and-on",
        "leave-pods-alone-for-a-time",
        "commands-on-a-live-cluster",
        "what-it-does-to-your-cluster",
        "extenders",
        "policies-for-an-unmodified-kube-scheduler",
        "preemption",
        "marks-on-bound-pods",
        "status-of-podgroups-and-elasticquotas",
        "flags",
        "memory",
        "health-and-metrics",
        "logs",
    ] {
        assert!(known.iter().any(|anchor| anchor == old), "{old}");
    }
}

/// The files and folders that the two pages about the code name: from the root, or below `src`.
#[test]
fn paths_that_pages_about_the_code_name_exist() {
    let mut named = 0;
    for name in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(repository(name)).unwrap();
        for word in text.split('`').skip(1).step_by(2) {
            let is_path = word.contains('/')
                && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
                && !word.starts_with('/');
            if is_path {
                let exists = |root: &str| repository(root).join(word).exists();
                assert!(exists("") || exists("src"), "{name}: `{word}` is not there");
                named += 1;
            }
        }
    }
    assert!(named > 60, "{named}");
}
