//! The document: kind `BayPlan`, in columns, since a cluster has 100,000 pods.
//!
//! The table of JSON output in `reference` describes every field, and a test compares the two.

use bayplan_explain::{Conflict, ExceptionOf, LateRefusal, NodeSetCount, Refusal, WouldRefuse};
use serde::Serialize;
use serde_json::Value;

/// Everything that the page shows.
///
/// A row is a place in the columns of nodes or pods, from 0. A number of -1 in a column means that there is nothing. A text
/// in a column is its place in `strings`.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BayPlan {
    /// `bayplan.dev/v1`.
    pub api_version: String,
    /// `BayPlan`.
    pub kind: String,
    /// The version of the program.
    pub program: String,
    /// The command: `dry-run`, `explain` or `ui`.
    pub command: String,
    /// The flags that chose the input, for further commands; empty, or with a blank in front.
    pub flags: String,
    /// When it was made.
    pub at: String,
    /// The view that the page opens on: `bays`, `quay`, `why` or `change`.
    pub opens: String,
    /// The row of the pod that the page opens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<usize>,
    /// The first lines of the commands.
    pub answer: Vec<String>,
    /// How many pending pods end in each state.
    pub totals: Value,
    /// The names of resources, then of drivers of devices, in the order of the columns of amounts.
    pub resources: Vec<String>,
    /// Texts of the columns.
    pub strings: Vec<String>,
    /// The nodes.
    pub nodes: NodeColumns,
    /// The pods.
    pub pods: PodColumns,
    /// Requests that pods have, each an amount of each resource.
    pub requests: Vec<Vec<i64>>,
    /// Why pods were placed where they are.
    pub decisions: Vec<Placement>,
    /// Why pods wait, the cause of the most pods first.
    pub causes: Vec<CauseOfWait>,
    /// Pods that gates hold, as `explain` has them.
    pub gated: Value,
    /// Pods of schedulers that no profile serves, as `explain` has them.
    pub foreign: Value,
    /// Pods with everything that keeps them away from every node: an example of each cause.
    pub explained: Vec<Explained>,
    /// The policies that decide.
    pub policies: Vec<PolicyText>,
}

/// Nodes in columns.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeColumns {
    /// Names.
    pub name: Vec<String>,
    /// Why a node should not be used, whatever the rules say.
    pub trouble: Vec<i64>,
    /// For each resource the allocatable amounts.
    pub allocatable: Vec<Vec<i64>>,
    /// For each resource the requested amounts.
    pub requested: Vec<Vec<i64>>,
    /// The resource of which the smallest share is free.
    pub scarcest: Vec<i64>,
    /// The extended resource, or the driver of devices, whose pieces are drawn one by one.
    pub slots: Vec<i64>,
    /// Taints, as texts.
    pub taints: Vec<Vec<i64>>,
    /// For each label key the values.
    pub labels: Vec<LabelColumn>,
}

/// The values of one label.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelColumn {
    /// The key.
    pub key: String,
    /// The value on each node.
    pub value: Vec<i64>,
}

/// Pods in columns: first those that were pending, in the order of the queue.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodColumns {
    /// Names.
    pub name: Vec<String>,
    /// Namespaces.
    pub namespace: Vec<i64>,
    /// Kind and name of what made them.
    pub owner: Vec<i64>,
    /// Names of applications.
    pub application: Vec<i64>,
    /// Priorities.
    pub priority: Vec<i64>,
    /// Places in `requests`.
    pub requests: Vec<i64>,
    /// How many seconds old they are.
    pub age: Vec<i64>,
    /// Rows of their nodes before the pending pods were placed; in `ui`, of a change that is tried, without the change.
    pub before: Vec<i64>,
    /// Rows of their nodes.
    pub node: Vec<i64>,
    /// Their states.
    pub state: Vec<i64>,
    /// Why they wait: their messages.
    pub message: Vec<i64>,
    /// Places in `causes`.
    pub cause: Vec<i64>,
}

/// Why a pod was placed on its node.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// Its row.
    pub pod: usize,
    /// The decisive reason in a few words.
    pub why: String,
    /// How many nodes fitted.
    pub feasible: usize,
    /// The rows of the pods that were evicted for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub victims: Vec<usize>,
    /// The chosen node, then the best of the others.
    pub nodes: Vec<NodeScore>,
}

/// The score of a node.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeScore {
    /// Its row.
    pub node: i64,
    /// The sum.
    pub total: i64,
    /// Its parts by plugin, and by rule of policies; they add up to the total.
    pub by: Vec<(i64, i64)>,
}

/// A cause of waiting.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CauseOfWait {
    /// In a few words.
    pub cause: String,
    /// How many pods wait for it.
    pub pods: usize,
    /// How long the oldest of them has waited, in words.
    pub oldest: String,
    /// What would help them all, in words.
    pub would_help: String,
    /// The place in `explained` of one of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<usize>,
}

/// One pod with everything that keeps it away from every node.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// Its row.
    pub pod: usize,
    /// The first line of the text of `explain`.
    pub verdict: String,
    /// The text of its event.
    pub message: String,
    /// How many nodes there were at its turn.
    pub nodes: usize,
    /// How many nodes it fits.
    pub fits: usize,
    /// Why it is refused before nodes are evaluated: plugin and reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_before_nodes: Option<(String, String)>,
    /// Why it is refused once a node is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_late: Option<LateRefusal>,
    /// Nodes by the set of rules that refuse them.
    pub sets: Vec<NodeSetCount>,
    /// Each rule that refuses nodes.
    pub rules: Vec<RuleReasons>,
    /// How many nodes are left after each rule.
    pub funnel: Vec<(String, usize)>,
    /// Requirements that no node meets together.
    pub conflicts: Vec<Conflict>,
    /// Rules that do not decide and would refuse the pod, or nodes.
    pub would_refuse: Vec<WouldRefuse>,
    /// Exceptions by which policies and rules leave the pod alone.
    pub exceptions: Vec<ExceptionOf>,
    /// Statements that refuse it other than filters, or make it wait, as `explain` has them.
    pub refused_by: Value,
    /// The other pods of the group that it waits with, as `explain` has them.
    pub group: Value,
    /// Refusals, each once.
    pub refusals: Vec<Refusal>,
    /// What keeps nodes away: lists of places in `refusals`, each list once. The empty list: it fits.
    pub reasons: Vec<Vec<usize>>,
    /// For each row of nodes the place in `reasons`; -1 for a node that it was not tried on.
    pub per_node: Vec<i64>,
    /// What would help.
    pub would_help: Vec<Help>,
    /// The rules of policies with their values, on a node of each set.
    pub values: Vec<NodeValues>,
}

/// A rule with the nodes that it refuses.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleReasons {
    /// A plugin's name, or `POLICY/RULE`.
    pub rule: String,
    /// Where it is written; empty for in-tree plugins.
    pub place: String,
    /// Nodes that it refuses.
    pub refuses: usize,
    /// Nodes that nothing else refuses.
    pub alone: usize,
    /// Its most frequent reasons, in words.
    pub because: Vec<String>,
}

/// A change that was tried and helps.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Help {
    /// Who can make it: `pod`, `node`, `policy` or `wait`.
    pub whose: String,
    /// What to do.
    pub what: String,
    /// What it was shown to do.
    pub effect: String,
    /// The rows of the nodes on which the pod then fits.
    pub nodes: Vec<i64>,
    /// The patch that makes it, as `explain --fix` prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

/// The rules of policies on one node.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeValues {
    /// The row of the node.
    pub node: i64,
    /// As `explain POD --node NODE` has them.
    pub rules: Value,
}

/// The text of a policy.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyText {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
    /// The line of the file on which the text begins, from 1.
    pub line: usize,
    /// The text.
    pub text: String,
    /// Its rules.
    pub rules: Vec<RuleText>,
}

/// A rule of a policy.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleText {
    /// `POLICY/RULE`.
    pub rule: String,
    /// File and line.
    pub place: String,
    /// Its first line in the text, from 1.
    pub first: usize,
    /// Its last line in the text.
    pub last: usize,
    /// Its comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    /// How far it may go, where it does not decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}
