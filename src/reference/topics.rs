//! The topics of `bayplan help`, one row each.

use super::page::Page;
use super::{codes, documents, exit_status, fields, functions, json, statements, test_files};
use bayplan_diag::suggest::nearest;

/// A topic.
pub struct Topic {
    /// The word after `bayplan help`.
    pub name: &'static str,
    /// One line for the list of topics.
    pub summary: &'static str,
    /// The file in `docs/`.
    pub file: &'static str,
    /// What the topic holds.
    pub content: Content,
}

impl Topic {
    /// The whole topic.
    pub fn page(&self) -> Page {
        match &self.content {
            Content::Guide(text) => super::markdown::page(text),
            Content::Table { page, .. } => page(),
        }
    }
}

/// Where the text of a topic comes from.
pub enum Content {
    /// A Markdown file that people write, built into the binary.
    Guide(&'static str),
    /// A page made from a table, and how one word of it is looked up.
    Table {
        /// The whole page.
        page: fn() -> Page,
        /// One word, such as `node.free`.
        look_up: fn(&str) -> Found,
        /// What the word is, for the usage: `FIELD`.
        word: &'static str,
    },
}

/// What looking a word up gave.
#[derive(Debug)]
pub enum Found {
    /// Its page.
    Page(Page),
    /// The table lacks the word; the nearest word that it has.
    Unknown {
        /// The nearest word.
        near: Option<String>,
    },
}

/// Every topic, in the order of the list.
pub static TOPICS: &[Topic] = &[
    guide(
        "language",
        "the guide: from the first rule to gangs",
        "language.md",
        include_str!("../../docs/language.md"),
    ),
    guide(
        "tutorial",
        "the first policies, step by step",
        "tutorial.md",
        include_str!("../../docs/tutorial.md"),
    ),
    Topic {
        name: "statements",
        summary: "statements and clauses, with their syntax and an example",
        file: "statements.md",
        content: Content::Table { page: statements::page, look_up: statements::look_up, word: "STATEMENT" },
    },
    Topic {
        name: "documents",
        summary: "policies as YAML or JSON with CEL, and their fields",
        file: "documents.md",
        content: Content::Table { page: documents::page, look_up: documents::look_up, word: "FIELD" },
    },
    Topic {
        name: "fields",
        summary: "what a rule may read of pods, nodes and namespaces",
        file: "fields.md",
        content: Content::Table { page: fields::page, look_up: fields::look_up, word: "FIELD" },
    },
    Topic {
        name: "functions",
        summary: "functions and methods of expressions",
        file: "functions.md",
        content: Content::Table { page: functions::page, look_up: functions::look_up, word: "FUNCTION" },
    },
    Topic {
        name: "cel",
        summary: "functions and methods of CEL expressions",
        file: "cel.md",
        content: Content::Table {
            page: functions::cel_page,
            look_up: functions::look_up_in_cel,
            word: "FUNCTION",
        },
    },
    guide(
        "cel-differences",
        "how CEL differs from the policy language",
        "cel-differences.md",
        include_str!("../../docs/cel-differences.md"),
    ),
    guide(
        "cel-conformance",
        "how CEL agrees with Kubernetes",
        "cel-conformance.md",
        include_str!("../../docs/cel-conformance.md"),
    ),
    Topic {
        name: "codes",
        summary: "every diagnostic and lint, with a bad and a good example",
        file: "codes.md",
        content: Content::Table { page: codes::page, look_up: codes::look_up, word: "CODE" },
    },
    Topic {
        name: "tests",
        summary: "the fields of test files",
        file: "tests.md",
        content: Content::Table { page: test_files::page, look_up: test_files::look_up, word: "FIELD" },
    },
    guide("ci", "recipes for CI, and the project file", "ci.md", include_str!("../../docs/ci.md")),
    guide(
        "batch",
        "expressions that another program has evaluated",
        "batch.md",
        include_str!("../../docs/batch.md"),
    ),
    Topic {
        name: "exit-status",
        summary: "what 0, 1 and 2 mean for each command",
        file: "exit-status.md",
        content: Content::Table { page: exit_status::page, look_up: exit_status::look_up, word: "COMMAND" },
    },
    Topic {
        name: "json",
        summary: "the fields of JSON output",
        file: "json.md",
        content: Content::Table { page: json::page, look_up: json::look_up, word: "KIND" },
    },
    guide(
        "running",
        "which pages are about the scheduler in a cluster",
        "running.md",
        include_str!("../../docs/running.md"),
    ),
    guide(
        "install",
        "the scheduler in a cluster: manifests, rights, flags; commands on a live cluster",
        "install.md",
        include_str!("../../docs/install.md"),
    ),
    guide(
        "changes",
        "what a change of policies means, and what it does to a cluster",
        "changes.md",
        include_str!("../../docs/changes.md"),
    ),
    guide(
        "snapshots",
        "a cluster in one file: bug reports, tests from a pod",
        "snapshot.md",
        include_str!("../../docs/snapshot.md"),
    ),
    guide(
        "page",
        "the bay plan: a cluster as a page to look at",
        "page.md",
        include_str!("../../docs/page.md"),
    ),
    guide(
        "ways",
        "beside kube-scheduler, in its place, in front of it, and back",
        "ways.md",
        include_str!("../../docs/ways.md"),
    ),
    guide(
        "cluster-policies",
        "policies in a cluster: in service or not, and why",
        "cluster-policies.md",
        include_str!("../../docs/cluster-policies.md"),
    ),
    guide(
        "behaviour",
        "what the scheduler does, and how it differs from kube-scheduler",
        "behaviour.md",
        include_str!("../../docs/behaviour.md"),
    ),
    guide(
        "versions",
        "what kube-scheduler 1.37 does otherwise than 1.36, and `--kubernetes`",
        "versions.md",
        include_str!("../../docs/versions.md"),
    ),
    guide(
        "feature-gates",
        "the feature gates of Kubernetes that it takes",
        "feature-gates.md",
        include_str!("../../docs/feature-gates.md"),
    ),
    guide(
        "rights",
        "the rights that it needs, and what is lost without each",
        "rights.md",
        include_str!("../../docs/rights.md"),
    ),
    guide("checks", "what `bayplan doctor` checks", "doctor.md", include_str!("../../docs/doctor.md")),
    guide("metrics", "the metrics that it serves", "metrics.md", include_str!("../../docs/metrics.md")),
    guide("performance", "how fast it is", "performance.md", include_str!("../../docs/performance.md")),
    guide(
        "release",
        "binaries and image, with signatures",
        "release.md",
        include_str!("../../docs/release.md"),
    ),
    guide(
        "included-policies",
        "the policies that come with Bayplan",
        "../policies/README.md",
        include_str!("../../policies/README.md"),
    ),
];

/// A topic that people write.
const fn guide(name: &'static str, summary: &'static str, file: &'static str, text: &'static str) -> Topic {
    Topic { name, summary, file, content: Content::Guide(text) }
}

/// The topic of a name; else the nearest name.
pub fn topic(name: &str) -> Result<&'static Topic, Option<&'static str>> {
    TOPICS
        .iter()
        .find(|topic| topic.name == name)
        .ok_or_else(|| nearest(name, TOPICS.iter().map(|topic| topic.name)))
}
