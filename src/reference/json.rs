//! JSON output: the shape of every kind that `-o json` prints, one table.
//!
//! Programs rely on these fields; they are only added. `tests` hold real output of the commands
//! against the table, field by field.
//!
//! No schema is derived from types: most objects have none, commands write them with `json!`, and a type for each would
//! take more lines than its rows here.
//!
//! Why so long: one table, a row for each field.

use super::page::Page;
use super::topics::Found;
use bayplan_diag::suggest::nearest;

/// An object of the output.
pub struct Shape {
    /// The `kind` of a whole document, or the name by which types refer to a part.
    pub name: &'static str,
    /// The command that prints it; empty for a part.
    pub printed_by: &'static str,
    /// Its fields, without `apiVersion` and `kind`: name, type, meaning.
    ///
    /// A type is `string`, `int`, `bool`, the name of a shape, `[T]` for a list, `{T}` for an object
    /// whose keys are names, `(T, U)` for a list of two, and `T?` for a field that may be null or
    /// left out.
    pub fields: &'static [(&'static str, &'static str, &'static str)],
}

macro_rules! shapes {
    ($($shape:ident $($printed_by:literal)? { $($name:literal $ty:literal $meaning:literal)* })*) => {
        /// Every shape: documents first, then parts.
        pub static SHAPES: &[Shape] = &[$(Shape {
            name: stringify!($shape),
            printed_by: concat!($($printed_by)?),
            fields: &[$(($name, $ty, $meaning)),*],
        }),*];
    };
}

shapes! {
    LintReport "lint --format json" {
        "files" "int" "how many files were read"
        "diagnostics" "[Diagnostic]" "the findings, in the order of files and lines"
        "summary" "Tally" "how many findings of each severity there are"
    }
    DryRun "dry-run -o json" {
        "kubernetes" "string" "the version of Kubernetes as whose kube-scheduler it decides"
        "totals" "Totals" "how many pods end in each state"
        "decisions" "[Decision]" "the last decision on each pending pod, in the order in which the pods were tried"
        "writes" "[Write]" "what policies write into objects"
    }
    Snapshot "snapshot" {
        "formatVersion" "int" "1; a command refuses a newer format"
        "program" "string" "the version of the program that wrote it"
        "taken" "string" "when the objects were read"
        "kubernetes" "string" "as which version of kube-scheduler it decides"
        "server" "string?" "the version of the API server"
        "source" "string" "where the objects are from"
        "namespace" "string" "the namespace in which a pod is looked up first by its name alone"
        "configuration" "SavedConfiguration?" "the configuration in force"
        "policies" "[SavedPolicies]?" "the texts in service, with those that they use and those that have exceptions from them"
        "missing" "[string]?" "what could not be read"
        "anonymous" "bool?" "whether names were replaced"
        "reducedTo" "string?" "the pod whose verdict the objects give: `namespace/name`"
        "memory" "SchedulerMemory?" "what a running scheduler remembered, with `--scheduler`"
        "objects" "[any]" "the objects that configuration and policies read, without the fields that nothing reads"
    }
    SchedulerMemory {
        "taken" "string" "when it was copied, after the objects were listed"
        "leads" "bool" "whether the instance places pods"
        "nextStart" "int" "the position at which sampling of nodes continues"
        "policies" "any?" "what each policy in service meant, as a number"
        "queue" "[QueueEntry]?" "the queued pods, in the order in which they are tried; those that wait for an event and those that a gate holds come last"
        "assumed" "[AssumedPod]?" "pods that have a node which no watch has shown"
        "nominated" "[NominatedPod]?" "pods that are nominated for a node"
        "evictions" "[OpenEviction]?" "pods whose victims are being evicted"
        "marks" "[MarkLeft]?" "what is still to be written for bound pods"
        "memos" "[Remembered]?" "what policies remember"
        "faults" "[string]?" "sums and tables of the cache that contradict each other"
        "nodes" "[KnownObject]?" "the nodes of the cache, in the order of its rows"
        "pods" "[KnownObject]?" "the pods of the cache"
        "others" "[KnownObject]?" "its objects of other kinds"
    }
    QueueEntry {
        "pod" "string" "namespace and name"
        "uid" "string?" "its UID"
        "queue" "string" "`active`, `inFlight`, `backoff`, `unschedulable` or `gated`"
        "arrival" "int" "the number of its arrival"
        "attempts" "int" "how often it was tried"
        "refusals" "int" "how often it was refused"
        "errors" "int" "how often in a row its attempts failed with an error"
        "added" "string" "when it first came"
        "since" "string" "when it entered the queue this time"
        "firstReady" "string?" "when it was first ready to be tried"
        "ready" "string" "when it last became active"
        "attempted" "string?" "when its last attempt began"
        "until" "string?" "the second in which its back-off ends"
        "alarm" "string?" "when time alone may help it"
        "refusedBy" "[string]?" "the plugins and policies that refused it last"
        "pending" "[string]?" "those of them that wait for something"
        "gate" "string?" "what keeps it out of the queue"
        "refusedLate" "bool?" "whether it was refused after its node had been chosen"
        "flushed" "bool?" "whether it is tried again only because it has waited long"
        "fullBackoff" "bool?" "whether its back-off is not cut short"
        "helped" "bool?" "whether an event since its last attempt helped it"
    }
    AssumedPod {
        "pod" "string" "namespace and name"
        "uid" "string?" "its UID"
        "node" "string" "the node"
        "state" "string" "`assumed`, `unknown` (the call got no answer) or `confirmed`"
        "stage" "string?" "`permit`, `preBind`, `bind`, `resolve` or `leaving`; absent once the binding has ended"
        "since" "string?" "when the pod was assumed"
        "about" "[string]?" "other objects about which it assumes something"
    }
    NominatedPod {
        "pod" "string" "namespace and name"
        "uid" "string?" "its UID"
        "node" "string" "the node"
    }
    OpenEviction {
        "pod" "string" "the pod for which room is made"
        "victims" "[string]" "the pods whose eviction has no answer yet"
    }
    MarkLeft {
        "pod" "string" "the bound pod"
        "policy" "string" "the policy that writes"
    }
    Remembered {
        "memo" "string" "policy and memo, with a number of what its key means"
        "key" "any" "the key with its type"
        "value" "any" "the value with its type"
        "until" "string" "when it ends"
    }
    KnownObject {
        "kind" "string?" "the kind; absent for nodes and pods"
        "object" "string" "namespace and name"
        "uid" "string?" "its UID"
        "version" "string?" "`metadata.resourceVersion`"
        "node" "string?" "of a pod that a watch showed on a node: the node"
        "fields" "any?" "what is compared, as texts; `#` and a number stand for a longer one"
    }
    SavedConfiguration {
        "from" "string" "where it is from"
        "text" "string" "a KubeSchedulerConfiguration as JSON"
    }
    SavedPolicies {
        "object" "string" "`namespace/name` of the ConfigMap, or the folder of the file"
        "key" "string" "the key in it, or the name of the file"
        "text" "string" "the text"
        "serves" "[string]" "the policies of the text that are in service"
    }
    Totals {
        "pods" "int" "all pending pods"
        "placed" "int" "those that got a node"
        "waits" "int" "those that no node takes now"
        "failed" "int" "those whose last attempt ended with an error"
        "gated" "int" "those that a gate keeps out of the queue"
        "atPermit" "int" "those that have a node and wait at Permit"
        "notOurs" "int" "those of another scheduler"
        "terminating" "int" "those that are being deleted"
    }
    Write {
        "object" "string" "kind, namespace and name, as in `Pod/shop/web`"
        "fields" "any" "`labels`, `annotations`, and other fields from the top of the object; null removes"
    }
    Explanation "explain POD -o json" {
        "kubernetes" "string" "the version of Kubernetes as whose kube-scheduler it decides"
        "pod" "string" "namespace and name"
        "profile" "string?" "the profile that serves the pod"
        "state" "string" "`running`, `placed`, `waits`, `failed`, `gated`, `atPermit`, `notOurs`, `terminating`, `finished` or \
            `refusedByKubelet`"
        "verdict" "string?" "the first line of the text"
        "node" "string?" "the node it runs on"
        "nodes" "int?" "how many nodes the cluster has"
        "fits" "[string]?" "the nodes that accept it"
        "placedBefore" "[string]?" "pending pods that were placed before its turn"
        "refusedBeforeNodes" "(string, string)?" "plugin and reason, where it is refused before nodes are evaluated"
        "errorBeforeNodes" "Refusal?" "the error of an expression in CEL by which it is refused then"
        "message" "string?" "the text of its event if it were tried now"
        "sets" "[RuleSet]?" "nodes by the set of rules that refuse them"
        "rules" "[RuleCount]?" "each rule that refuses nodes"
        "funnel" "[(string, int)]?" "how many nodes are left after each plugin"
        "conflicts" "[Conflict]?" "requirements that no node meets together"
        "perNode" "[NodeRefusals]?" "every node with all refusals"
        "wouldRefuse" "[WouldRefuse]?" "rules that do not decide and would refuse the pod, or nodes"
        "exceptions" "[ExceptionOf]?" "exceptions by which policies and rules leave the pod alone"
        "nearest" "[NodeRefusals]?" "the nodes that lack least"
        "wouldHelp" "[Suggestion]?" "changes that were tried and help, best first"
        "searchCutShort" "bool?" "whether the search for changes reached its limit"
        "decision" "Decision?" "the decision at its turn"
        "evictions" "Evictions?" "while it waits: what policies say about evictions for it"
        "gate" "Gate?" "why it is kept out of the queue"
        "missing" "[string]?" "objects that the pod names and that do not exist"
        "refusedLate" "LateRefusal?" "why it is refused once a node is chosen"
        "refusedBy" "[StatementRefusal]?" "statements that refuse it other than filters, or make it wait"
        "group" "[Member]?" "the other pods of the group that it waits with"
        "blockedBy" "Blocked?" "the pod of the group whose claims find no devices once the others have theirs"
        "leftAlone" "Exemption?" "why policies skip the pod"
        "memory" "MemoryDifferences?" "of a snapshot with the memory of a scheduler: where it differs from the API server"
        "onNode" "OnNode?" "with `--node`: that node, with the values of policy rules"
        "schedulerName" "string?" "of a pod that no profile serves"
        "profiles" "[string]?" "the profiles that exist, for a pod that none of them serves"
        "finished" "Finished?" "how a pod ended that has finished"
    }
    BayPlan "dry-run -o bay-plan" {
        "program" "string" "the version of the program"
        "command" "string" "`dry-run`, `explain` or `ui`"
        "flags" "string" "the flags that chose the input"
        "at" "string" "when it was made"
        "opens" "string" "the view that the page opens on: `bays`, `quay` or `why`"
        "focus" "int?" "the row of the pod that was named"
        "answer" "[string]" "the first lines of the commands"
        "totals" "Totals" "how many pending pods end in each state"
        "resources" "[string]" "resources, then drivers of devices, in the order of amounts"
        "strings" "[string]" "texts, which columns name by their places"
        "nodes" "NodeColumns" "the nodes; a row is a place in these columns, from 0"
        "pods" "PodColumns" "the pods, those that were pending first"
        "requests" "[[int]]" "requests of pods, each an amount of each resource, in base units"
        "decisions" "[Placement]" "why pods were placed where they are"
        "causes" "[CauseOfWait]" "why pods wait, the cause of the most pods first"
        "gated" "[Held]" "pods that a gate keeps out of the queue"
        "foreign" "[Foreign]" "pods of schedulers that no profile serves"
        "explained" "[Explained]" "an example of each cause, and the pod that was named"
        "policies" "[PolicyText]" "the policies that decide"
    }
    Evictions {
        "mayBeEvicted" "[PlacedPod]" "pods that may be evicted"
        "protected" "[ProtectedPod]" "pods that a rule of a policy protects"
        "keeps" "[StatementRefusal]" "rules that refuse evictions as such, or guards that do not hold without the \
            pods that may be evicted"
    }
    NodeColumns {
        "name" "[string]" "names"
        "trouble" "[int]" "why a node should not be used, whatever the rules say: texts; -1: nothing"
        "allocatable" "[[int]]" "for each resource a column of amounts"
        "requested" "[[int]]" "for each resource a column of what pods request"
        "scarcest" "[int]" "the resource of which the smallest share is free; -1: the node has none"
        "slots" "[int]" "the extended resource, or the driver of devices, of which it has a few pieces; -1: none"
        "taints" "[[int]]" "taints: texts"
        "labels" "[LabelColumn]" "for each label key a column"
    }
    LabelColumn {
        "key" "string" "the key"
        "value" "[int]" "values: texts; -1 where the node has no such label"
    }
    PodColumns {
        "name" "[string]" "names"
        "namespace" "[int]" "namespaces: texts"
        "owner" "[int]" "kind and name of what made them: texts; -1: nothing"
        "application" "[int]" "applications: texts"
        "priority" "[int]" "priorities"
        "requests" "[int]" "places in `requests` of the document"
        "age" "[int]" "how many seconds old they are; -1: not known"
        "before" "[int]" "rows of their nodes before pending pods were placed; -1: none"
        "node" "[int]" "rows of their nodes; -1: none"
        "state" "[int]" "texts: as in `Decision`, `running` or `evicted`"
        "message" "[int]" "texts: why they have no node; -1: nothing"
        "cause" "[int]" "places in `causes`; -1: none"
    }
    Placement {
        "pod" "int" "its row"
        "why" "string" "the decisive reason"
        "feasible" "int" "how many nodes fitted"
        "victims" "[int]?" "rows of the pods that were evicted for it"
        "nodes" "[NodeScore]" "its node, then the best of the others, at most four"
    }
    NodeScore {
        "node" "int" "its row"
        "total" "int" "the sum of the parts"
        "by" "[(int, int)]" "a plugin or a rule of a policy, as a text, with its points, weights included"
    }
    CauseOfWait {
        "cause" "string" "in a few words"
        "pods" "int" "how many pods wait for it"
        "oldest" "string" "how long the oldest of them has waited"
        "wouldHelp" "string" "what would help them all; `-` where nothing was found"
        "example" "int?" "one of the pods: a place in `explained`"
    }
    Explained {
        "pod" "int" "its row"
        "verdict" "string" "the first line of `explain`"
        "message" "string" "the text of its event if it were tried now"
        "nodes" "int" "how many nodes there were at its turn"
        "fits" "int" "how many of them accept it"
        "refusedBeforeNodes" "(string, string)?" "plugin and reason, where it is refused before nodes are evaluated"
        "refusedLate" "LateRefusal?" "why it is refused once a node is chosen"
        "sets" "[RuleSet]" "nodes by the set of rules that refuse them"
        "rules" "[RuleReasons]" "each rule that refuses nodes"
        "funnel" "[(string, int)]" "how many nodes are left after each rule"
        "conflicts" "[Conflict]" "requirements that no node meets together"
        "wouldRefuse" "[WouldRefuse]" "rules that do not decide and would refuse the pod, or nodes"
        "exceptions" "[ExceptionOf]" "exceptions by which policies and rules leave the pod alone"
        "refusedBy" "[StatementRefusal]" "statements that refuse it other than filters, or make it wait"
        "group" "[Member]" "the other pods of the group that it waits with"
        "refusals" "[Refusal]" "refusals, each once"
        "reasons" "[[int]]" "lists of places in `refusals`, each once; the empty one: the node fits"
        "perNode" "[int]" "for each row of nodes the place in `reasons`; -1: it was not tried there"
        "wouldHelp" "[Help]" "changes that were tried and help, best first"
        "values" "[NodeValues]" "rules with values, on a node of each set"
    }
    RuleReasons {
        "rule" "string" "a plugin, or `POLICY/RULE`"
        "place" "string" "file and line of a policy rule"
        "refuses" "int" "nodes that it refuses"
        "alone" "int" "nodes that nothing else refuses"
        "because" "[string]" "its most frequent reasons, in words"
    }
    Help {
        "whose" "string" "who can make the change: `pod`, `node`, `policy` or `wait`"
        "what" "string" "the change in words"
        "effect" "string" "how many nodes it opens"
        "nodes" "[int]" "rows of nodes that the pod then fits"
        "patch" "string?" "what `explain --fix` prints"
    }
    NodeValues {
        "node" "int" "its row"
        "rules" "[PolicyRule]" "the rules of policies there"
    }
    PolicyText {
        "name" "string" "its name"
        "file" "string" "its file"
        "line" "int" "the line of the file on which the text begins"
        "text" "string" "the text"
        "rules" "[RuleText]" "its rules"
    }
    RuleText {
        "rule" "string" "`POLICY/RULE`"
        "place" "string" "file and line"
        "first" "int" "its first line in the text, from 1"
        "last" "int" "its last line in the text"
        "doc" "string?" "its `///` comment"
        "mode" "string?" "how far it may go, where it does not decide"
    }
    PlacedPod {
        "pod" "string" "namespace and name"
        "node" "string" "its node"
        "policy" "string?" "the policy whose rule names it"
        "place" "string?" "file and line of the rule"
        "condition" "Condition?" "the condition of the rule with values, of the first pods"
    }
    ProtectedPod {
        "pod" "string" "namespace and name"
        "node" "string" "its node"
        "policy" "string" "the policy that protects it"
        "place" "string" "file and line of the rule"
        "until" "string?" "when time alone ends it"
        "condition" "Condition?" "the condition of the rule with values, of the first pods"
    }
    Waiting "explain -o json" {
        "kubernetes" "string" "the version of Kubernetes as whose kube-scheduler it decides"
        "waiting" "int" "how many pods wait"
        "causes" "[Cause]" "pods by cause, most pods first"
        "gated" "[Held]" "pods that a gate keeps out of the queue"
        "foreign" "[Foreign]" "pods of schedulers that no profile serves"
        "pods" "[PodState]" "every pending pod with its state"
        "memory" "MemoryDifferences?" "of a snapshot with the memory of a scheduler: where it differs from the API server"
    }
    MemoryDifferences {
        "differences" "[MemoryDifference]" "the differences; none: it differs in nothing"
    }
    MemoryDifference {
        "of" "string" "`node`, `pod`, `assumption`, `queue`, another kind, or `cache` for what contradicts itself"
        "object" "string" "the object"
        "what" "string" "what differs"
    }
    Fix "explain POD --fix N -o json" {
        "pod" "string" "namespace and name"
        "number" "int" "the number of the suggestion"
        "what" "string" "the change in words"
        "effect" "string" "what it was shown to do"
        "manifestPatch" "any?" "a merge patch for the manifest of the pod"
        "inPlace" "bool" "whether the patch may be applied to the existing pod"
        "commands" "[string]" "kubectl commands"
        "byHand" "[string]" "steps that no patch can express"
        "policies" "[PolicyChange]" "lines for policies, as differences"
    }
    TestReport "test -o json" {
        "files" "[TestFile]" "the test files with their cases"
        "summary" "TestSummary" "how many cases passed"
        "coverage" "Coverage?" "which conditions were seen both true and false; not with `FILE:LINE`"
    }
    Plan "plan -o json" {
        "kubernetes" "string" "the version of Kubernetes as whose kube-scheduler it decides"
        "policies" "[PolicyPlan]" "each policy"
    }
    Policies "policies -o json" {
        "policies" "[PolicyState]" "each policy, in the order of the age of the objects"
    }
    Policy "policies show NAME -o json" {
        "name" "string" "its name"
        "object" "string" "namespace and name of the ConfigMap"
        "state" "string" "as in `PolicyState`"
        "revision" "string?" "the revision in service"
        "reasons" "[string]" "why the present text of the object is not in service"
        "override" "PolicyOverride?" "the override that holds now"
        "history" "[PolicyRevision]" "the texts that served, newest first"
        "texts" "{string}" "the text in service by its key; the present one if none is"
    }
    Diagnosis "doctor -o json" {
        "installations" "[Installation]" "what was found of Bayplan in the cluster"
        "checks" "[CheckState]" "each check, in the order of the page"
        "findings" "[Finding]" "what the checks found, the severest first"
        "summary" "Tally" "how many findings of each severity there are"
    }
    Evaluation "eval -o json" {
        "expression" "string" "the expression"
        "type" "string" "its type"
        "value" "string" "its value as the language writes it"
        "tree" "Condition" "the expression with the values of its parts"
    }
    PolicyDiff "diff OLD NEW -o json" {
        "old" "string" "where the policies before the change are"
        "new" "string" "where those after it are"
        "rules" "[RuleDiff]" "every rule of either, by policy and in the order of the scheduling cycle; rules without names of their own are one"
        "effect" "PolicyEffect?" "what the change does to the pods of a cluster; null without one"
    }
    VersionDiff "diff --kubernetes OLD..NEW -o json" {
        "from" "string" "the present version of kube-scheduler"
        "to" "string" "the version to be"
        "pending" "int" "how many pods are pending"
        "running" "int" "how many pods run that the scheduler serves; each is decided anew as if it were new and alone"
        "pods" "[VersionDiffPod]" "those whose outcome differs"
        "rows" "[VersionRow]" "the differences that make it"
        "applies" "[VersionRow]" "differences that no decision shows: wake-ups, retries, metrics, configuration"
    }
    Version "version -o json" {
        "version" "string" "of the program"
        "language" "int" "of the policy language"
        "kubeScheduler" "string" "the kube-scheduler whose decisions it reproduces by default"
        "kubeSchedulers" "[string]" "those whose decisions it can reproduce: `--kubernetes`"
    }
    Installation {
        "namespace" "string" "its namespace"
        "name" "string" "as kubectl takes it: `deploy/bayplan`"
        "account" "string" "the user whose rights it has; empty if a kubeconfig says it"
        "schedulerNames" "[string]" "the names that it serves; none of an extender"
        "lease" "string?" "namespace and name of its lease"
    }
    CheckState {
        "name" "string" "the check"
        "about" "string" "what it looks at"
        "state" "string" "`ok`, `note`, `warning`, `error`, or `leftOut`"
        "cannotRead" "string?" "the resource for which it was left out"
    }
    Finding {
        "check" "string" "the check that found it"
        "severity" "string" "`error`, `warning` or `note`"
        "what" "string" "what is the case"
        "why" "string" "why it matters, or how it came about; may be empty"
        "command" "string" "what to type; empty if there is nothing to do"
    }
    PolicyState {
        "name" "string" "its name"
        "object" "string" "namespace and name of the ConfigMap"
        "state" "string" "`serving`, `suspended`, `rolledBack`, `waiting`, `earlierText`: an earlier text serves, \
            `podsWait`: no text serves and the pods that it selects wait, or `noEffect`: it is invalid and has no \
            earlier text"
        "revision" "string?" "the revision in service"
        "reasons" "[string]" "why the present text of the object is not in service"
        "override" "PolicyOverride?" "the override that holds now"
    }
    PolicyOverride {
        "kind" "string" "`suspend` or `rollback`"
        "because" "string" "why"
        "by" "string" "the user who wrote it; may be empty"
        "at" "string?" "when it was written"
        "until" "string?" "when it ends"
        "revision" "string?" "the revision that is pinned"
    }
    PolicyRevision {
        "revision" "string" "the revision"
        "at" "string" "when it came into service"
        "by" "string" "the field manager that wrote its object"
    }
    Diagnostic {
        "code" "string" "such as `BP0104`"
        "slug" "string" "its name"
        "severity" "string" "`error`, `warning` or `note`"
        "message" "string" "what is wrong"
        "help" "string?" "what to do"
        "effect" "string?" "with `--cluster`: what it does there"
        "file" "string" "the file"
        "origin" "Origin?" "the ConfigMap, for a policy inside YAML"
        "start" "Place" "where it begins"
        "end" "Place" "where it ends"
        "labels" "[Label]" "words at this and other places"
        "fixes" "[CodeFix]" "changes that mend it"
    }
    Origin {
        "object" "string" "namespace and name of the ConfigMap"
        "key" "string" "the key of the policy"
        "line" "int" "in the policy, from 1"
        "column" "int" "in characters, from 1"
    }
    Place {
        "line" "int" "from 1"
        "column" "int" "in characters, from 1"
        "offset" "int" "in bytes of the file, from 0"
    }
    Label {
        "message" "string" "the words"
        "file" "string?" "the file, where it is another one"
        "start" "Place" "where it begins"
        "end" "Place" "where it ends"
    }
    CodeFix {
        "message" "string" "what it changes"
        "class" "string" "`certain` (`--fix` applies it), `may-change-decisions` (`--fix --unsafe-fixes`), or \
            `placeholders` (a person fills in `…`)"
        "edits" "[TextEdit]" "replacements"
    }
    TextEdit {
        "start" "Place" "where it begins"
        "end" "Place" "where it ends"
        "text" "string" "the new text"
    }
    Tally {
        "errors" "int" "errors"
        "warnings" "int" "warnings"
        "notes" "int" "notes"
    }
    Decision {
        "pod" "string" "namespace and name"
        "profile" "string" "the profile that served it"
        "state" "string?" "`placed`, `waits`, `failed`, `gated`, `atPermit`, `notOurs` or `terminating`"
        "node" "string" "the node it is placed on; empty where there is none"
        "message" "string" "why it is not placed; the text of its event"
        "nominatedNode" "string" "the node that preemption nominated"
        "victims" "[string]" "pods that it evicts"
        "best" "[string]" "the nodes with the highest score"
        "opens" "string?" "when the clock opens the gate that holds it"
        "waited" "Waited?" "a wait at permit that ended without success"
        "would" "[Would]?" "what rules that do not decide would have done to its last attempt, and to evictions for it"
        "nodes" "[NodeDecision]?" "with `--all-nodes`: every node"
    }
    NodeDecision {
        "name" "string" "the node"
        "feasible" "bool" "whether it passed every filter"
        "plugin" "string?" "the plugin that refused it"
        "code" "string?" "the code of its status"
        "reasons" "[string]?" "the reasons of its status"
        "scores" "{int}?" "scores by plugin, normalized and weighted"
        "policyScores" "{{int}}?" "single scores by policy, 0 to 100"
        "total" "int?" "the sum of the scores"
    }
    Would {
        "policy" "string" "the policy"
        "rule" "string" "the rule"
        "effect" "string" "`same`, `moves`, `waits`, `spares` or `evicts`"
    }
    Waited {
        "node" "string" "the node it had"
        "plugins" "[string]" "the plugins that let it wait"
    }
    RuleSet {
        "rules" "[string]" "the rules"
        "nodes" "int" "nodes that exactly these refuse"
    }
    RuleCount {
        "rule" "string" "a plugin, or `POLICY/RULE`"
        "place" "string" "file and line of a policy rule"
        "refuses" "int" "nodes that it refuses"
        "alone" "int" "nodes that nothing else refuses"
        "because" "[Because]" "its reasons"
    }
    Because {
        "reason" "string" "the reason of the status"
        "what" "string" "what was compared: a resource, a label, a taint"
        "need" "string" "what the pod needs"
        "have" "[(string, int)]" "what nodes have, with how many of them"
        "nodes" "int" "nodes with this reason"
        "shortfall" "Shortfall?" "of a resource"
    }
    Shortfall {
        "resource" "string" "the resource"
        "needed" "int" "in base units: millicores, bytes, pieces"
        "free" "[(int, int)]" "free amounts, with how many nodes have them"
    }
    WouldRefuse {
        "rule" "string" "policy and rule"
        "mode" "string" "`warn` or `audit`"
        "place" "string" "file and line"
        "reason" "string" "the reason, of the first node where it depends on the node"
        "nodes" "int?" "how many nodes it would refuse; absent when it would refuse the pod"
    }
    ExceptionOf {
        "rule" "string" "the policy, or policy and rule"
        "until" "string" "its last day, up to the end in UTC"
        "because" "string" "why it was made"
        "place" "string" "file and line"
    }
    NodeRefusals {
        "name" "string" "the node"
        "refusals" "[Refusal]" "every reason against it"
        "trouble" "string?" "why its capacity cannot be relied on: cordoned, not ready, unreachable"
    }
    Refusal {
        "rule" "string" "a plugin, or `POLICY/RULE`"
        "place" "string" "file and line of a policy rule"
        "reason" "string" "the reason of the status"
        "what" "string" "what was compared"
        "need" "string" "what the pod needs"
        "have" "string" "what the node has"
        "shortage" "Shortage?" "of a resource"
    }
    Shortage {
        "resource" "string" "the resource"
        "needed" "int" "in base units"
        "free" "int" "in base units"
        "allocatable" "int" "in base units"
    }
    Conflict {
        "requirements" "[Requirement]" "requirements that exclude each other"
    }
    Requirement {
        "rule" "string" "the rule"
        "what" "string" "what it compares"
        "need" "string" "what the pod needs"
        "meet" "int" "nodes that meet it"
    }
    Suggestion {
        "whose" "string" "who can make the change: `pod`, `node`, `policy` or `wait`"
        "what" "string" "the change in words"
        "steps" "[Step]" "its single changes"
        "nodes" "[string]" "nodes that the pod then fits"
        "atLeast" "bool" "whether more nodes may fit than were tried"
        "waitsFor" "[string]?" "policies for which the pod then waits at permit"
        "caution" "string?" "why it is better avoided"
    }
    Step {
        "whose" "string" "who can make it"
        "what" "string" "the change in words"
    }
    Gate {
        "by" "string" "the plugin or policy"
        "reason" "string" "its reason"
        "gates" "[StatementRefusal]" "gates of policies that hold"
        "schedulingGates" "[string]" "`spec.schedulingGates`"
        "opens" "string?" "when the clock opens it"
        "then" "string" "what the pod comes to in the queue"
    }
    Finished {
        "phase" "string" "`Succeeded` or `Failed`"
        "reason" "string?" "why it failed, as `OutOfcpu`"
        "message" "string?" "what was written of it"
        "refusedAt" "string?" "when its kubelet refused it"
        "beside" "[PodBeside]?" "of a pod that its kubelet refused: pods there that others placed, the nearest in time first"
    }
    PodBeside {
        "pod" "string" "namespace and name"
        "placedBy" "string" "its scheduler, or that it is from a file of the kubelet"
        "boundAt" "string?" "when it was bound"
        "request" "string?" "what it requests of the resource that was missing"
    }
    LateRefusal {
        "plugin" "string" "the plugin or policy"
        "node" "string" "the node that was chosen"
        "reason" "string" "its reason"
    }
    StatementRefusal {
        "rule" "string" "`POLICY/RULE`"
        "place" "string" "file and line"
        "node" "string?" "the node that was chosen, or whose pods are kept"
        "reason" "string?" "its reason"
        "nodes" "string?" "the nodes that it leaves, where it narrows them"
        "error" "string?" "the error of its condition"
        "details" "{string}" "values that its author named"
        "condition" "Condition?" "its condition with values"
    }
    Member {
        "pod" "string" "namespace and name"
        "state" "string" "where it is, or what it lacks"
    }
    Blocked {
        "pod" "string" "namespace and name"
        "rules" "[RuleCount]" "each rule that refuses it nodes at its turn, when others of the group have theirs"
        "wouldHelp" "[Suggestion]" "changes that were tried and help it, best first"
    }
    Exemption {
        "because" "string" "why the pod is exempt"
        "by" "[string]" "policies that skip it"
    }
    OnNode {
        "name" "string" "the node"
        "refusals" "[Refusal]" "every reason against it"
        "policyRules" "[PolicyRule]" "each filter statement of policies"
        "onceChosen" "StatementRefusal?" "the statement that refuses the pod once the node is chosen"
        "devices" "[DeviceOffer]?" "the devices of the node among which claims of the pod choose"
        "evictions" "[EvictionRule]?" "what rules about evictions say of the node and its pods"
    }
    DeviceOffer {
        "name" "string" "`DRIVER/POOL/DEVICE`"
        "by" "string" "the claim and its request"
        "fits" "bool" "whether the pod gets the device on this node, or could"
        "outcome" "string" "why or why not, in words"
    }
    EvictionRule {
        "rule" "string" "`POLICY/victim`, `POLICY/protect`, `POLICY/never` or `POLICY/guard`"
        "place" "string" "file and line"
        "pod" "string?" "the pod of the node that it is about"
        "reason" "string?" "its reason"
        "nodes" "string?" "null"
        "error" "string?" "the error of its condition"
        "details" "{string}" "values that its author named"
        "condition" "Condition?" "its condition with values"
    }
    PolicyRule {
        "rule" "string" "`POLICY/RULE`"
        "place" "string" "file and line"
        "refuses" "bool" "whether it refuses the node"
        "reached" "bool" "whether no earlier statement of the filter refused"
        "reason" "string?" "its reason"
        "error" "string?" "why its condition has no value; null if it has one"
        "details" "{string}" "the values of `with`"
        "condition" "Condition?" "its condition with values"
    }
    Condition {
        "text" "string" "the text of the expression"
        "value" "string?" "its value; `error: …` where it has none; null where it was not evaluated"
        "truth" "bool?" "its value, of a condition"
        "reached" "bool" "whether it was evaluated"
        "parts" "[Condition]" "its parts"
    }
    Cause {
        "cause" "string" "the reasons, as in the event"
        "pods" "int" "how many pods wait for it"
        "templates" "[Template]" "the pods, replicas together"
        "oldest" "string?" "when the oldest of them was created"
        "wouldHelp" "GroupHelp?" "a change that was tried for all of them"
    }
    Template {
        "name" "string" "the owner, or the pod"
        "pods" "[string]" "its pods"
    }
    GroupHelp {
        "what" "string" "the change"
        "places" "int" "how many of the pods it places"
    }
    Held {
        "by" "string" "the gate"
        "pods" "int" "how many pods it holds"
        "reason" "string" "why"
        "opens" "string?" "when the clock opens it for the first of them"
        "then" "string" "what the first of them comes to in the queue"
    }
    Foreign {
        "schedulerName" "string" "the name that no profile has"
        "pods" "int" "how many pods it has"
        "nearest" "string?" "a profile with a similar name"
    }
    PodState {
        "pod" "string" "namespace and name"
        "state" "string" "its state, as in Explanation"
    }
    PolicyChange {
        "policy" "string" "the policy"
        "file" "string" "its file"
        "object" "string?" "the ConfigMap and key"
        "line" "string" "the new line"
        "after" "int" "the line of the file above it"
        "diff" "string" "the change as a unified diff"
    }
    TestFile {
        "file" "string" "the file"
        "cases" "[TestCase]" "its cases"
        "errors" "[TestError]" "why it could not run"
    }
    TestError {
        "message" "string" "what is wrong"
        "line" "int?" "its line"
    }
    TestCase {
        "name" "string" "the name of the case"
        "place" "string" "file and line"
        "passed" "bool" "whether everything came as expected"
        "mismatches" "[Mismatch]" "what came otherwise"
        "account" "[PodAccount]?" "with `--explain`: what every rule says about every node"
    }
    PodAccount {
        "pod" "string" "the pod"
        "rules" "[Reason]" "what each rule says"
    }
    Mismatch {
        "message" "string" "expected and got in one line"
        "expected" "string" "what was expected"
        "got" "string" "what came"
        "because" "[Reason]" "the rule that made the difference"
        "place" "string" "file and line of the expectation"
    }
    Reason {
        "text" "string" "the words"
        "tree" "Condition?" "the condition with values"
    }
    TestSummary {
        "cases" "int" "cases that ran"
        "passed" "int" "cases that passed"
        "failed" "int" "cases that failed"
        "errors" "int" "files that could not run"
    }
    Coverage {
        "conditions" "int" "conditions of the policies"
        "covered" "int" "conditions that were seen both true and false"
        "uncovered" "[Uncovered]" "the others"
    }
    Uncovered {
        "place" "string" "file and line"
        "condition" "string" "its text"
        "seenTrue" "bool" "whether a case saw it true"
        "seenFalse" "bool" "whether a case saw it false"
        "seenError" "bool" "whether a case saw it fail, which only CEL can"
    }
    PolicyPlan {
        "name" "string" "the policy"
        "place" "string" "file and line"
        "doc" "string?" "its `///` comment"
        "appliesTo" "string" "the pods it is about, in words"
        "stops" "[string]" "the pods that it stops whatever the node, because an expression in CEL is an error for \
            them"
        "mode" "string?" "how far it may go, by rule or by pod; null when every rule decides for every pod"
        "exceptions" "[PlannedException]" "pods that it, or a rule, leaves alone for a time, the first end first"
        "size" "ClusterSize" "the cluster that steps are computed for"
        "rules" "[RulePlan]" "its rules"
        "keepsOfPods" "[string]" "what is kept of pods for it: fields below `spec`, `status` and `metadata`, \
            annotations"
        "rights" "[string]" "rules of a role that the scheduler needs for what the policy reads"
        "rightsOfPolicies" "[string]" "rules of a role that the account of policies needs for what the policy writes"
        "writes" "[string]" "what the policy writes to the API server, each once"
        "shows" "[string]" "the fields of pods that its reasons, events and writes show"
        "mibPer100000Pods" "int" "about how much memory that takes for 100,000 pods, in MiB"
    }
    PlannedException {
        "rule" "string?" "the rule; null where the policy leaves the pods alone"
        "until" "string" "its last day, up to the end in UTC"
        "because" "string" "why it was made"
        "pods" "string?" "its condition; null where it is about every pod"
        "place" "string" "file and line"
    }
    ClusterSize {
        "nodes" "int" "nodes"
        "pods" "int" "pods"
        "labels" "int" "labels of an object"
        "annotations" "int" "annotations of an object"
        "containers" "int" "containers of a pod"
        "taints" "int" "taints of a node"
        "tolerations" "int" "tolerations of a pod"
        "images" "int" "names of images on a node"
        "terms" "int" "elements of a list or map below `spec`, `status` and `metadata`"
        "objects" "int" "objects of a kind that policies look up"
        "nominated" "int" "pods that preemption has promised a node"
        "claims" "int" "claims of devices of a pod"
        "requests" "int" "requests of a claim"
        "devices" "int" "devices that a node reaches"
    }
    RulePlan {
        "name" "string" "the rule"
        "place" "string" "file and line"
        "point" "string" "its extension point"
        "stage" "string" "how often it is computed: `const`, `pod`, `node`, `index` or `pair`"
        "steps" "int" "the bound in steps"
        "readsOfNode" "[string]" "what it reads of nodes"
        "evictionHelps" "bool?" "whether evicting pods can help; null for a score"
        "newNodeHelps" "string?" "whether a new node can help: `yes`, `no` or `if …`"
        "autoscalerKnows" "bool?" "whether an autoscaler can foresee it"
        "wakesOn" "[string]?" "events that wake a pod that it refused"
        "mode" "string?" "how far it may go, if it does not decide: `warn`, `audit` or `off`"
    }
    RuleDiff {
        "policy" "string" "its policy"
        "rule" "string" "its name, else the word of its statement"
        "renamedFrom" "string?" "its name before, if it had another one"
        "place" "string" "where it is written: after the change, or before if it is gone"
        "verdict" "string" "`same`, `stricter`, `looser` or `incomparable`, which are proved; `different` of what gives scores or writes; `unknown`"
        "textChanged" "bool" "whether it reads or means something else"
        "onlyCounts" "bool" "whether it decides neither before nor after the change"
        "witnesses" "[RuleWitness]" "a pod and a node that show the verdict; two where it is `incomparable`"
        "unknownBecause" "string?" "why it is unknown"
        "notes" "[string]" "what changes beside its condition"
        "wakesOnBefore" "[string]?" "what woke a pod that it refused, where other events do now"
        "wakesOn" "[string]?" "what wakes a pod that it refuses, where that changes"
    }
    RuleWitness {
        "effect" "string" "`refused` or `passes` after the change, or `scored` otherwise"
        "invented" "bool" "whether it is made up; else it is of the cluster"
        "pod" "string" "namespace and name of the pod"
        "node" "string" "the name of the node"
        "because" "[string]" "the fields of the pod and the node that matter, if it is made up"
        "objects" "WitnessObjects?" "the objects, if it is made up"
        "scoreBefore" "string?" "the value that the old rule gives"
        "scoreAfter" "string?" "the value that the new rule gives"
    }
    WitnessObjects {
        "pod" "any" "the Pod"
        "node" "any" "the Node"
        "namespace" "any" "the Namespace of the pod"
        "victim" "any" "the Pod that may be evicted, of a rule about victims; else null"
        "podsOnNode" "int" "how many pods are on the node"
        "load" "any" "what the node used, as `metrics` of a test has it; null without metrics"
    }
    PolicyEffect {
        "nodes" "int" "how many nodes there are"
        "running" "int" "how many pods have a node"
        "pending" "int" "how many pods have none"
        "wait" "int" "pending pods that wait before and after"
        "placed" "int" "pending pods that get a node before and after"
        "moved" "int" "how many of those get another node"
        "beginToWait" "int" "pending pods that wait after the change alone"
        "beginToRun" "int" "pending pods that wait before the change alone"
        "appliesToRunning" "int" "running pods that the policy of a rule which changed applies to"
        "mayStay" "int" "how many of these no such rule refuses where they are"
        "refusedAsBefore" "int" "how many are refused where they are, before and after"
        "pods" "[PolicyDiffPod]" "pending pods with another node than before, or with none"
        "refusedWhereTheyAre" "[RefusedPod]" "running pods that a rule refuses where they are, after the change alone"
    }
    PolicyDiffPod {
        "pod" "string" "namespace and name"
        "before" "PolicyOutcome" "what the old policies make of it"
        "after" "PolicyOutcome" "what the new policies make of it"
        "rules" "[string]" "of a pod that begins to wait, the rules that changed and refuse it on some node"
    }
    PolicyOutcome {
        "node" "string?" "its node; null while it waits"
        "score" "int?" "the sum of scores of the node; null where one node alone was left"
        "message" "string" "why it waits"
        "evicts" "[string]" "the pods that are evicted for it"
    }
    RefusedPod {
        "pod" "string" "namespace and name"
        "node" "string" "where it runs"
        "rule" "string" "the rule that refuses it"
        "restartedOn" "string?" "its node once it is made anew together with the others; null: it waits"
    }
    VersionDiffPod {
        "pod" "string" "namespace and name"
        "runs" "bool" "whether it runs, so that only its like would be treated otherwise"
        "kind" "string" "`decision`, or `text` where the same is decided"
        "before" "VersionOutcome" "what the present version makes of it"
        "after" "VersionOutcome" "what the version to be makes of it"
        "rows" "[string]" "the ids of the differences that make it"
        "cause" "string" "`smallest`: they suffice, and no smaller set does; `minimal`: they suffice, and none of them can be left out; `among`: one or more of them, where a longer search would have cost too much"
    }
    VersionOutcome {
        "node" "string?" "its node, the first by name of those that are equally good; null where it waits, or fits no node"
        "best" "[string]" "the nodes that are equally good"
        "evicts" "[string]" "the pods that are evicted for it"
        "message" "string" "the text of its last attempt without a node"
    }
    VersionRow {
        "id" "string" "as in `docs/versions.md`"
        "kind" "string" "`decision`, `text`, `wake-up`, `retry`, `metric` or `configuration`"
        "before" "string" "what the present version does"
        "after" "string" "what the version to be does"
        "source" "string" "upstream's files, or the KEP"
    }
}

/// Every kind of document, and the parts.
pub(super) fn page() -> Page {
    let mut page = Page::new("JSON output");
    page.text(
        "What the commands print with `-o json` (`--format json` of `lint`). Every document has \
         `apiVersion: bayplan.dev/v1` and a `kind`. Fields are only added; programs must ignore \
         fields that they do not know. A type `[T]` is a list, `{T}` an object whose keys are names, \
         `(T, U)` a list of two; `T?` may be null or left out.",
    );
    for shape in SHAPES {
        page.section_at(format!("`{}`", shape.name), shape.name.to_lowercase());
        describe(&mut page, shape);
    }
    page
}

fn describe(page: &mut Page, shape: &Shape) {
    if !shape.printed_by.is_empty() {
        page.text(format!("Printed by `bayplan {}`.", shape.printed_by));
    }
    let row = |(name, ty, meaning): &(&str, &str, &str)| {
        vec![format!("`{name}`"), format!("`{ty}`"), (*meaning).to_owned()]
    };
    page.table(&["field", "type", "meaning"], shape.fields.iter().map(row));
}

/// The page of one kind or part.
pub(super) fn look_up(word: &str) -> Found {
    let Some(shape) = SHAPES.iter().find(|shape| shape.name.eq_ignore_ascii_case(word)) else {
        let names = SHAPES.iter().map(|shape| shape.name);
        return Found::Unknown { near: nearest(word, names).map(str::to_owned) };
    };
    let mut page = Page::new(shape.name);
    describe(&mut page, shape);
    Found::Page(page)
}
