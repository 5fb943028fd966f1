//! [`FIELDS`]: every field of a test file, in one table. The reader accepts what the table names,
//! and the documentation of test files is made from it.

/// A field of test files.
#[derive(Clone, Copy, Debug)]
pub struct FieldDoc {
    /// What it belongs to.
    pub section: Section,
    /// Its name.
    pub name: &'static str,
    /// An example of its value.
    pub example: &'static str,
    /// What it means.
    pub doc: &'static str,
}

macro_rules! fields {
    ($($(#[$doc:meta])* $section:ident $title:literal { $($name:literal $example:literal $meaning:literal)* })*) => {
        /// What a field belongs to.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Section {
            $($(#[$doc])* $section,)*
        }

        impl Section {
            /// All sections, in the order of the documentation.
            pub const ALL: [Section; [$(Section::$section),*].len()] = [$(Section::$section),*];

            /// A heading.
            pub fn title(self) -> &'static str {
                match self {
                    $(Section::$section => $title,)*
                }
            }

            /// The names of its fields.
            pub(super) fn names(self) -> Vec<&'static str> {
                FIELDS.iter().filter(|field| field.section == self).map(|field| field.name).collect()
            }
        }

        /// Every field of test files, by section.
        pub const FIELDS: &[FieldDoc] = &[
            $($(FieldDoc { section: Section::$section, name: $name, example: $example, doc: $meaning },)*)*
        ];
    };
}

fields! {
    /// The file itself.
    File "The file" {
        "policies" "[gpu.bay]" "The policies under test: files and folders beside this file."
        "cluster" "cluster.yaml" "A cluster file beside this file, or a list of \
            them. Optional when there are `nodes`."
        "config" "config.yaml" "A KubeSchedulerConfiguration beside this file."
        "now" "2026-01-05T09:00:00+01:00" "The instant at which every case begins, in RFC 3339; \
            1970-01-01T00:00:00Z if it is not given."
        "namespaces" "{shop: {tier: prod}}" "Namespaces with their labels; each replaces the \
            cluster's namespace of the same name."
        "nodes" "[{name: n1, allocatable: {cpu: 4}}]" "Nodes, in short or in full; each replaces \
            the cluster's node of the same name."
        "metrics" "{n1: {cpu: {mean: 2, std: 500m}}}" "What nodes used, by name, whatever the window \
            of the source: their NodeMetrics in the cluster file do not count."
        "cases" "[{name: …, pod: …, expect: …}]" "The tests."
    }
    /// An entry of `cases`.
    Case "A case" {
        "name" "a job of another team waits" "What the case shows."
        "pod" "{name: train, requests: {cpu: 2}}" "The pod: in short, in full, or the name of a file."
        "pods" "[{name: a}, {name: b}]" "Several pods, scheduled together."
        "order" "[b, a]" "The order in which the pods must be tried first."
        "now" "2026-01-04T12:00:00Z" "The instant at which this case begins."
        "namespaces" "{shop: {tier: dev}}" "Namespaces of this case, with their labels."
        "nodes" "[{name: n9}]" "Nodes of this case, beside those of the file."
        "metrics" "{n1: {age: 10m}}" "What nodes of this case used; each replaces what the file says of \
            the node."
        "memos" "{tries: 3}" "What memos remember for the pod as the case begins, by `MEMO` or `POLICY/MEMO`; with \
            `pods`, of each by its name."
        "expect" "{node: n1}" "What is expected of the pod; with `pods`, of each by its name."
    }
    /// A pod in its short form.
    Pod "A pod in its short form" {
        "name" "train" "Its name; `pod` if it is not given."
        "namespace" "shop" "Its namespace; `default` if it is not given."
        "labels" "{team: a}" "Its labels."
        "annotations" "{job-size: '2'}" "Its annotations."
        "requests" "{cpu: 2, nvidia.com/gpu: 1}" "The requests of its container."
        "limits" "{memory: 8Gi}" "The limits of its container."
        "image" "registry/app:1" "The image of its container."
        "priority" "1000" "Its priority."
        "nodeSelector" "{disk: ssd}" "Its node selector."
        "tolerations" "[{key: gpu, operator: Exists}]" "Its tolerations, as in a Pod."
        "schedulerName" "batch" "The profile that schedules it."
        "schedulingGates" "[quota]" "The names of its scheduling gates."
        "node" "n1" "The node it already runs on."
    }
    /// A node in its short form.
    Node "A node in its short form" {
        "name" "n1" "Its name."
        "labels" "{zone: a}" "Its labels."
        "annotations" "{note: x}" "Its annotations."
        "allocatable" "{cpu: 4, memory: 8Gi}" "Its allocatable resources; `pods` is 110 if it is \
            not given."
        "taints" "[{key: gpu, effect: NoSchedule}]" "Its taints, as in a Node."
        "unschedulable" "true" "Whether it is cordoned."
    }
    /// `metrics`, of one node.
    Metrics "`metrics`, of a node" {
        "cpu" "{mean: 2, std: 500m}" "What it used of its CPU; nothing if it is not given."
        "memory" "{mean: 4Gi, max: 6Gi}" "What it used of its memory; nothing if it is not given."
        "samples" "20" "How many samples there are; 1 if it is not given."
        "age" "10m" "How old the newest sample is, such as `90s` or `10m`; `0s` if it is not given."
    }
    /// `metrics.NODE.cpu` and `metrics.NODE.memory`.
    Usage "`cpu` and `memory` of `metrics`" {
        "latest" "2" "The newest sample; the mean if it is not given."
        "mean" "1500m" "The mean of the samples; the newest one if it is not given."
        "std" "200m" "Their standard deviation; 0 if it is not given."
        "max" "3" "The largest one; the larger of mean and newest if it is not given."
    }
    /// `expect`, of one pod.
    Expect "What is expected of a pod" {
        "node" "n1" "The pod is placed on this node."
        "one of" "[n1, n2]" "The pod is placed on one of these nodes."
        "not" "n3" "The pod is not placed on this node, or on any of a list."
        "refused" "{n2: gpu-rules/same-team}" "Each node refuses the pod, by this rule, policy or \
            plugin; `true` for any."
        "unschedulable" "{reason: Insufficient cpu, nodes: 2}" "`true` or `false`: whether the pod \
            waits without a node. Or why it waits."
        "scores" "{n1: {fullest: 75}}" "Scores of a policy for a node, before their weights, by \
            `SCORE` or `POLICY/SCORE`."
        "waits" "gangs" "Whether the pod waits at permit: `true`, `false`, or for which policy or \
            plugin."
        "gated" "hours" "Whether the pod is kept out of the queue: `true`, `false`, or by which \
            policy or plugin."
        "evicts" "[batch-1]" "The pods that are evicted to make room for the pod, by their names, all \
            of them; `[]` for none."
        "would" "{same-team: waits}" "What rules in mode `warn` or `audit` would have done to the last attempt, and \
            to evictions for the pod, by `RULE` or `POLICY/RULE`: `same`, `moves`, `waits`, `spares` or `evicts`."
        "remembers" "{tries: 4}" "What memos remember for the pod at the end, by `MEMO` or `POLICY/MEMO`; `null` for \
            nothing."
        "writes" "{pod: {labels: {rack: a}}}" "What policies write into objects, by `pod` for the pod itself, or \
            `KIND/NAME`: `labels`, `annotations`, and other fields that `patch` writes; `null` for a key that is removed, \
            `{}` for an object that nothing is written into."
        "events" "{Placed: on rack a}" "Events about the pod by their reasons, with a part of the text; `null` for a \
            reason that no event has."
    }
    /// `expect.unschedulable`.
    Unschedulable "`expect.unschedulable`" {
        "reason" "Insufficient cpu" "A reason that nodes give, or a part of the event's message."
        "nodes" "2" "How many nodes give the reason."
    }
}
