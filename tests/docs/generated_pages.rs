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
    use bayplan::reference::{Content, TOPICS};
    // A guide is its file.
    for topic in TOPICS.iter().filter(|topic| matches!(topic.content, Content::Table { .. })) {
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
         `src/cluster/port/metrics.rs`; [behaviour](behaviour.md#health-and-metrics) lists the differences\n\
         from kube-scheduler.\n\n",
    );
    use bayplan::cluster::port::metrics::{HealthMetrics, Metrics};
    for (heading, rows) in [("", Metrics::ROWS), ("\nServed on `/metrics/slis`:\n\n", HealthMetrics::ROWS)] {
        page.push_str(heading);
        page.push_str("| name | type | labels | stability | meaning |\n|---|---|---|---|---|\n");
        for row in rows {
            let labels: Vec<String> = row.labels.iter().map(|label| format!("`{label}`")).collect();
            let (kind, labels, word) = (row.kind, labels.join(" "), row.stability.word());
            page.push_str(&format!("| `{}` | {kind} | {labels} | {word} | {} |\n", row.name, row.help));
        }
    }
    let path = repository("docs/metrics.md");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "run `make golden`");
}

/// `docs/versions.md` is made from the table of differences between versions.
#[test]
fn the_page_of_versions_is_what_the_table_says() {
    use bayplan::model::{KubernetesVersion, VersionRow};
    let releases = KubernetesVersion::ALL.map(KubernetesVersion::release);
    let mut page = format!(
        "# Versions of Kubernetes\n\nBayplan decides as kube-scheduler 1.37. With `--kubernetes 1.36` it decides as 1.36: \
         `run`, `dry-run`, `explain` and `test`\nhave the flag, and the project file `bayplan.yaml` the field \
         `kubernetes`. The version of the API server\nnever chooses. The behaviour is that of the releases {} and {}, \
         compared with recorded decisions of both.\n\nThese are all visible differences. A difference with a feature \
         gate moves its default, and the gate decides\n([feature gates](feature-gates.md)). This page is made from the \
         table in `src/model/kubernetes.rs`.\n",
        releases[0], releases[1]
    );
    let mut kind = None;
    let mut rows: Vec<_> = VersionRow::ALL.iter().map(|row| row.def()).collect();
    rows.sort_by_key(|row| row.kind);
    for row in rows {
        if kind.replace(row.kind) != Some(row.kind) {
            page.push_str(&format!(
                "\n## {}\n\n| difference | about | 1.36 | 1.37 | source |\n|---|---|---|---|---|\n",
                row.kind.heading()
            ));
        }
        let about = if row.plugin.is_empty() { "the scheduler" } else { row.plugin };
        let gate = if row.gate.is_empty() { String::new() } else { format!(", gate `{}`", row.gate) };
        let (id, before, after, source) = (row.id, row.before, row.after, row.source);
        page.push_str(&format!("| `{id}` | {about}{gate} | {before} | {after} | `{source}` |\n"));
    }
    page.push_str(
        "\n## Emulation\n\n`--emulated-version` and `--min-compatibility-version` of kube-scheduler are taken with \
         upstream's meaning: a\nbinary of 1.37 that emulates 1.36 has the stages, defaults and locks of the gates of \
         1.36, and every\ndifference above that has no gate is that of 1.37.\n\n## Faults of 1.36 that stay \
         mended\n\nWith `--kubernetes 1.36` too:\n\n- When the last victim of a preemption was only in the \
         scheduler's memory, the preemptor is tried again at once.\n- Claims that only one pod may use are counted \
         from the pods that are there.\n- A queued pod that was updated counts with what it requests now.\n- A pod \
         with `volumes` of a CSIStorageCapacity that has a `maximumVolumeSize` and no `capacity` is scored as one \
         without\n  room; kube-scheduler 1.37 panics.\n",
    );
    let path = repository("docs/versions.md");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "run `make golden`");
}

/// `docs/feature-gates.md` is made from the table of feature gates.
#[test]
fn the_page_of_feature_gates_is_what_the_table_says() {
    use bayplan::framework::features::{Built, GATES, GateRow, OTHER_GATES};
    use bayplan::model::KubernetesVersion;
    let mut page = String::from(
        "# Feature gates\n\n`bayplan run --feature-gates Name=true,Other=false` takes the feature gates of Kubernetes \
         1.37, or of the version that\n`--kubernetes` names. `AllAlpha` and\n`AllBeta` set all gates of a stage that are not set themselves. The metric \
         `kubernetes_feature_enabled` has\nthe value of each. This page is made from the table in \
         `src/framework/features/gates.rs`.\n\n| gate | 1.36 | 1.37 | other value | turns on |\n|---|---|---|---|---|\n",
    );
    let state = |row: &GateRow, version| match row.state(version) {
        Some(state) => {
            let stage = if state.stage.word().is_empty() { "GA" } else { state.stage.word() };
            let (value, lock) =
                (if state.default { "on" } else { "off" }, if state.locked { ", locked" } else { "" });
            format!("{stage}, {value}{lock}")
        }
        None => "absent".to_owned(),
    };
    for row in GATES {
        let other = match row.built {
            Built::Both => "has its meaning".to_owned(),
            Built::Same(why) => format!("accepted: {why}"),
            Built::Fixed(why) => format!("refused: {why}"),
            Built::Locked => "refused: locked in Kubernetes".to_owned(),
        };
        let [older, newer] = KubernetesVersion::ALL.map(|version| state(row, version));
        page.push_str(&format!("| `{}` | {older} | {newer} | {other} | {} |\n", row.name, row.what.trim()));
    }
    let names: Vec<String> = OTHER_GATES.iter().map(|row| format!("`{}`", row.name)).collect();
    page.push_str(&format!(
        "\nThese concern other components. Each is accepted with every value that Kubernetes accepts, and changes \
         nothing:\n{}.\n",
        names.join(", ")
    ));
    let path = repository("docs/feature-gates.md");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "run `make golden`");
}

/// Pages have the command that saves a cluster with all kinds that decisions read.
#[test]
fn the_command_that_saves_a_cluster_has_all_kinds() {
    let command = bayplan::dry_run::dump::command();
    for page in ["docs/install.md", "docs/ci.md"] {
        let text = std::fs::read_to_string(repository(page)).unwrap().replace("\\\n", "");
        assert!(text.contains(&command), "{page}: {command}");
    }
}
