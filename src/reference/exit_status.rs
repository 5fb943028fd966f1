//! Exit statuses: one row per command.

use super::page::Page;
use super::topics::Found;
use bayplan_diag::suggest::nearest;

/// What the statuses of one command mean.
pub struct ExitRow {
    /// The command.
    pub command: &'static str,
    /// Status 0.
    pub success: &'static str,
    /// Status 1; empty where the command never ends with it.
    pub findings: &'static str,
    /// Status 2.
    pub failure: &'static str,
}

/// Every command, in the order of the help. `tests/docs/generated_pages.rs` compares the names with the commands.
pub static EXIT_STATUSES: &[ExitRow] = &[
    ExitRow {
        command: "run",
        success: "a signal (SIGTERM, SIGINT) ended it, and it shut down in order",
        findings: "it could not go on: the lease was lost, its credentials were refused for too long, or a task of it ended",
        failure: "it did not start: flags, configuration or policies are wrong",
    },
    ExitRow {
        command: "extender",
        success: "a signal (SIGTERM, SIGINT) ended it",
        findings: "it could not go on: its credentials were refused for too long, or a task of it ended; with \
            `--check-rights`: one is missing",
        failure: "it did not start: flags or policies are wrong, or the port is in use",
    },
    ExitRow {
        command: "webhook",
        success: "a signal (SIGTERM, SIGINT) ended it",
        findings: "it could not go on: its credentials were refused for too long, or a task of it ended",
        failure: "it did not start: flags, configuration or policies are wrong, or the port is in use",
    },
    ExitRow {
        command: "init",
        success: "the repository was written",
        findings: "",
        failure: "a file of it exists or cannot be written, or the cluster cannot be read",
    },
    ExitRow {
        command: "dry-run",
        success: "every pending pod was decided on",
        findings: "with `--fail-on unschedulable`: a pod waits",
        failure: "a file could not be read, or a policy or the configuration has an error",
    },
    ExitRow {
        command: "diff",
        success: "both sides were compared",
        findings: "with `--exit-code`: a pod is decided otherwise; without a cluster, a rule means something else",
        failure: "a file could not be read, or a policy or the configuration has an error",
    },
    ExitRow {
        command: "explain",
        success: "the question was answered",
        findings: "",
        failure: "the pod or node does not exist, or the input could not be read",
    },
    ExitRow {
        command: "snapshot",
        success: "the file was written",
        findings: "",
        failure: "the cluster could not be read, the scheduler of `--scheduler` could not be reached, a policy or the configuration has an error, or the file could not be written",
    },
    ExitRow {
        command: "ui",
        success: "a signal (SIGTERM, SIGINT) ended it",
        findings: "",
        failure: "the cluster cannot be read, a policy or the configuration has an error, or the port is in use",
    },
    ExitRow {
        command: "lint",
        success: "no errors; with `--deny`, nothing of what it names either",
        findings: "errors, or what `--deny` names",
        failure: "a file could not be read; findings of the other files are printed all the same",
    },
    ExitRow {
        command: "test",
        success: "every case passed",
        findings: "a case failed, or the coverage is below `--min-coverage`",
        failure: "a test file, its policies or its cluster could not be read, or no case was named",
    },
    ExitRow {
        command: "eval",
        success: "the value was printed",
        findings: "the expression in CEL has a run-time error (never with `--batch`)",
        failure: "the expression does not compile, or the pod or node does not exist",
    },
    ExitRow {
        command: "plan",
        success: "the plan was printed",
        findings: "",
        failure: "a policy has an error, or a file could not be read",
    },
    ExitRow {
        command: "policies",
        success: "the policies were printed, or the override was written",
        findings: "",
        failure: "the cluster cannot be read or written, or it has no such policy or revision",
    },
    ExitRow {
        command: "doctor",
        success: "no check found an error; there may be warnings",
        findings: "a check found an error",
        failure: "the cluster cannot be reached, or refuses the credentials",
    },
    ExitRow {
        command: "rbac",
        success: "the roles were printed",
        findings: "",
        failure: "the configuration or a policy has an error, or flags contradict each other",
    },
    ExitRow {
        command: "help",
        success: "the page was printed",
        findings: "",
        failure: "no command, topic or word has that name",
    },
    ExitRow {
        command: "convert",
        success: "everything was converted, or can be",
        findings: "a part has no twin in the other language; nothing was written",
        failure: "a policy has an error, or a file could not be read or written",
    },
    ExitRow { command: "schema", success: "always", findings: "", failure: "arguments are wrong" },
    ExitRow { command: "version", success: "always", findings: "", failure: "arguments are wrong" },
    ExitRow { command: "completions", success: "always", findings: "", failure: "arguments are wrong" },
    ExitRow {
        command: "man",
        success: "the pages were written",
        findings: "",
        failure: "the folder cannot be written",
    },
];

/// The statuses of all commands.
pub(super) fn page() -> Page {
    let mut page = Page::new("Exit statuses");
    page.text(
        "0: all is well. 1: the command did its work and found something. 2: the command could not do \
         its work; stderr says why. Data goes to stdout, everything else to stderr. A reader that goes \
         away (`bayplan lint … | head`) does not change the status; output that cannot be written \
         (`> /dev/full`) is status 2. SIGINT ends long work by the signal (130 in a shell), and stderr says how \
         far it came.",
    );
    page.table(
        &["command", "0", "1", "2"],
        EXIT_STATUSES.iter().map(|row| {
            let findings = if row.findings.is_empty() { "never" } else { row.findings };
            vec![
                format!("`{}`", row.command),
                row.success.to_owned(),
                findings.to_owned(),
                row.failure.to_owned(),
            ]
        }),
    );
    page
}

/// The statuses of one command.
pub(super) fn look_up(command: &str) -> Found {
    let Some(row) = EXIT_STATUSES.iter().find(|row| row.command == command) else {
        let names = EXIT_STATUSES.iter().map(|row| row.command);
        return Found::Unknown { near: nearest(command, names).map(str::to_owned) };
    };
    let mut page = Page::new(format!("Exit statuses of `{command}`"));
    let statuses = [("0", row.success), ("1", row.findings), ("2", row.failure)];
    let rows = statuses.iter().filter(|(_, meaning)| !meaning.is_empty());
    page.table(
        &["status", "meaning"],
        rows.map(|(status, meaning)| vec![(*status).to_owned(), (*meaning).to_owned()]),
    );
    Found::Page(page)
}
