//! Pages that are made from tables, and tables that name every command.

use super::run;
use crate::support::repository;

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
