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
    use bayplan::model::{KubernetesVersion, SERVER_FEATURES, VersionRow};
    let releases = KubernetesVersion::ALL.map(KubernetesVersion::release);
    let mut page = format!(
        "# Versions of Kubernetes\n\nBayplan decides as kube-scheduler 1.37. With `--kubernetes 1.36` it decides as 1.36: \
         `run`, `dry-run`, `explain` and `test`\nhave the flag, and the project file `bayplan.yaml` the field \
         `kubernetes`. The version of the API server\nnever chooses. The behaviour is that of the releases {} and {}, \
         compared with recorded decisions of both.\n\nThese are the differences that Bayplan follows; the end of the page has what it leaves out. A difference with a feature \
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
        "\n## What an upgrade changes\n\n`bayplan diff --kubernetes 1.36..1.37 --cluster cluster.yaml`, without files on the \
         live cluster, decides the\npending pods in the order of the queue as both versions do, and each running pod as if \
         it were new and alone: it is\ntaken out of the cluster, decided on the rest, and put back. Nodes that are equally \
         good are compared as a set.\n\nFor each pod that is treated otherwise it names the rows above that make the \
         difference: the smallest set that gives the\nnew outcome when it alone is added to the old version, of up to three \
         rows; else a minimal one, from which no row can be\nleft out. In a cluster where that would take longer than the \
         comparison, it says which rows come into question.\nRunning pods that no row concerns are not decided: both versions \
         decide them alike.\n\n## API servers\n\nKubernetes 1.33 to 1.37 is supported. On an older API server `run` says \
         at its start what is off:\n\n| off before | what | that means | unless it runs with the gate |\n|---|---|---|---|\n",
    );
    for row in SERVER_FEATURES {
        let (major, minor) = row.since;
        let gate = if row.gate.is_empty() { String::new() } else { format!("`{}`", row.gate) };
        page.push_str(&format!("| {major}.{minor} | {} | {} | {gate} |\n", row.what, row.without));
    }
    page.push_str(
        "\n## The version of a live cluster\n\n`dry-run` and `explain` decide on a live cluster as its scheduler does, if \
         that can be seen: as our scheduler says in the\nConfigMap in which it publishes its configuration, else by the image \
         of the pod of kube-scheduler in `kube-system`. They say\nso. The flag `--kubernetes` takes precedence.\n\n\
         ## Emulation\n\n`--emulated-version` and `--min-compatibility-version` of kube-scheduler are taken with \
         upstream's meaning: a\nbinary of 1.37 that emulates 1.36 has the stages, defaults and locks of the gates of \
         1.36, and every\ndifference above that has no gate is that of 1.37.\n\n## Faults that are not \
         copied\n\nOf 1.36, with `--kubernetes 1.36` too:\n\n- When the last victim of a preemption was only in the \
         scheduler's memory, the preemptor is tried again at once.\n- Claims that only one pod may use are counted \
         from the pods that are there.\n- A queued pod that was updated counts with what it requests now.\n\nOf \
         1.37: a CSIStorageCapacity with a `maximumVolumeSize` and without a `capacity` counts as nothing in the \
         score;\nkube-scheduler panics.\n",
    );
    let path = repository("docs/versions.md");
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "run `make golden`");
}

/// Compares a page with its text, or writes it anew.
#[cfg(feature = "cluster")]
#[track_caller]
fn is_page(file: &str, page: &str) {
    let path = repository(&format!("docs/{file}"));
    if std::env::var("BAYPLAN_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "run `make golden`");
}

/// `docs/rights.md` is made from the table of rights, and from what the plugins watch.
#[cfg(feature = "cluster")]
#[test]
fn the_page_of_rights_is_what_the_table_says() {
    use bayplan::cluster::rights::table::{Named, ROWS};
    let mut page = String::from(
        "# Rights\n\nThe calls of `bayplan run` and `bayplan extender`, and the right that each needs. `bayplan rbac` prints the \
         roles for a\nconfiguration, its policies and flags; `bayplan doctor` reviews them in a cluster. This page is made from \
         the table in\n`src/cluster/rights/table.rs` and from what the plugins watch.\n\n## Calls\n\n\
         | what the process does | verbs | resources | namespace | when | without the right |\n|---|---|---|---|---|---|\n",
    );
    for row in ROWS {
        let dot = if row.group.is_empty() { String::new() } else { format!(".{}", row.group) };
        let resource = |of: &&str| match of.split_once('/') {
            Some((of, part)) => format!("`{of}{dot}/{part}`"),
            None => format!("`{of}{dot}`"),
        };
        let mut resources = row.resources.iter().map(resource).collect::<Vec<_>>().join(", ");
        resources.push_str(match row.object {
            Named::All => "",
            Named::Lease => ", of the lease",
            Named::Marks => ", of the key",
            Named::PolicyAccount => ", of the account",
        });
        let (place, when) = (row.place.words(), row.when.words());
        page.push_str(&format!(
            "| {} | {} | {resources} | {place} | {when} | {} |\n",
            row.call,
            row.verbs.join(", "),
            row.without
        ));
    }
    page.push_str(
        "\n## What is watched\n\nTo `list` and `watch`. Plugins are those of profiles; policies look up further kinds, which \
         `bayplan plan` and\n`bayplan rbac --policies` name.\n\n| kind | needed by |\n|---|---|\n",
    );
    let mut sources = bayplan::diag::SourceMap::new();
    let source = sources.add("default", "");
    let made = bayplan::config::SchedulerConfig::default()
        .frameworks(&bayplan::plugins::registry(), source)
        .unwrap_or_else(|said| panic!("{said:?}"));
    for row in bayplan::model::KINDS {
        use bayplan::model::Kind;
        let by = match row.kind {
            Kind::Pod | Kind::Node => "every decision".to_owned(),
            _ => {
                let plugins = made.frameworks[0].plugins().iter();
                let need = plugins.filter_map(|plugin| {
                    let need = plugin.kinds().iter().find(|need| need.kind == row.kind)?;
                    let optional = if need.optional { " (optional)" } else { "" };
                    Some(format!("{}{optional}", plugin.name()))
                });
                let mut names: Vec<String> = need.collect();
                match row.kind {
                    Kind::Namespace => names.push("policies that read namespaces".to_owned()),
                    Kind::DaemonSet => names.push("policies, which refuse no pod of a DaemonSet".to_owned()),
                    _ => {}
                }
                names.join(", ")
            }
        };
        let dot = if row.group.is_empty() { String::new() } else { format!(".{}", row.group) };
        page.push_str(&format!("| `{}{dot}` | {by} |\n", row.plural));
    }
    is_page("rights.md", &page);
}

/// `docs/doctor.md` is made from the table of checks.
#[cfg(feature = "cluster")]
#[test]
fn the_page_of_checks_is_what_the_table_says() {
    use bayplan::cluster::doctor::checks::CHECKS;
    let mut page = String::from(
        "# Doctor\n\n`bayplan doctor` checks the installations of a cluster and writes nothing. Each finding is a sentence, a \
         reason and what to type;\nwith an error the exit status is 1. It finds Deployments and pods by the label \
         `app.kubernetes.io/name=bayplan`, and understands their\narguments and configuration. A resource that may not be read is \
         reported once, with the line that grants it, and only what needs it is left\nout. `-o json` has \
         [the fields](json.md). This page is made from the table in `src/cluster/doctor/checks/mod.rs`.\n\n",
    );
    for (removal, head) in [(false, "## Checks"), (true, "## With `--before-removal`")] {
        page.push_str(&format!("{head}\n\n| check | what it looks at |\n|---|---|\n"));
        for check in CHECKS.iter().filter(|check| check.before_removal == removal) {
            page.push_str(&format!("| `{}` | {} |\n", check.name, check.about));
        }
        page.push('\n');
    }
    page.push_str(
        "## For a report\n\n`--bundle FILE` writes what was found as JSON: versions, arguments, replicas, leases, states of policies, counts of \
         waiting pods,\nand the findings without their reasons. Names of the cluster are replaced by `name-1`, `name-2`, …, and URLs and \
         addresses are left\nout. Read it before you send it.\n\n## What it needs\n\nRights to read: Deployments, pods, ConfigMaps of the policies' namespaces, leases, events, and nodes \
         where an installation has\n`--nodes`; to create SubjectAccessReviews for the rights of another account than your own; to `get` \
         `pods/proxy` for the ports of\nreplicas. Where the API server does not reach a replica, `kubectl port-forward` opens its port, and `--port` names it. \
         Only the page\n`/readyz` is read there, without credentials.\n\nThe API server's clock is read from the `Date` of its answers, \
         in whole seconds; a smaller difference than six seconds is not reported.\n",
    );
    is_page("doctor.md", &page);
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
