//! BP02: statements and names.

codes! {
    UNKNOWN_NAME "BP0201" "unknown-name" Error
        "nothing declares this name"
        "Known names are `pod`, `node`, `ns`, `nodes`, `pods`, `nominated`, what the policy declares, the \
         defs and types of the file, and the lets above in the same block."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require nod.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    DUPLICATE_NAME "BP0202" "duplicate-name" Error
        "the name is declared twice"
        "A policy declares each name once. That holds for the names of filters and scores, too."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
  filter ready { reject "node(s) cordoned" when node.unschedulable }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
  filter open { reject "node(s) cordoned" when node.unschedulable }
}
"#

    HIDDEN_NAME "BP0203" "hidden-name" Error
        "the declaration would hide another name"
        "A name of the language, of a function or of the policy means the same everywhere. Only the variable \
         of a macro may have the name of something else."
        bad r#"
/// Keeps pods with a high priority.
policy high {
  let min = 1000
  prefilter { reject "low priority" when pod.priority < min }
}
"#
        good r#"
/// Keeps pods with a high priority.
policy high {
  let least = 1000
  prefilter { reject "low priority" when pod.priority < least }
}
"#

    RECURSION "BP0204" "recursion" Error
        "the name is defined by itself"
        "Recursion is not supported: a let, def or group cannot use itself, directly or through others."
        bad r#"
/// Keeps pods with a high priority.
policy high {
  let low = high - 1
  let high = low + 1
  prefilter { reject "low priority" when pod.priority < low }
}
"#
        good r#"
/// Keeps pods with a high priority.
policy high {
  let low = high - 1
  let high = 1000
  prefilter { reject "low priority" when pod.priority < low }
}
"#

    NOT_SEEN_HERE "BP0205" "not-seen-here" Error
        "this statement cannot see the name"
        "`filter`, `score`, `prefer` and `permit` see `node`. `applies when` sees the pod and its namespace \
         only, since it is evaluated before any node is considered. `bayplan help statements` has the table."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  applies when node.ready
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  applies when pod.namespace == "shop"
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    DUPLICATE_STATEMENT "BP0206" "duplicate-statement" Error
        "a policy has this statement once"
        "A policy has one `queue by`. List all of its keys in it, separated by commas."
        bad r#"
/// Takes pods of high priority first.
policy order {
  queue by pod.priority
  queue by pod.name
}
"#
        good r#"
/// Takes pods of high priority first.
policy order {
  queue by pod.priority, pod.name
}
"#

    GROUP_WITHOUT_KEY "BP0207" "group-without-key" Error
        "the group has no key"
        "A group is indexed by its equalities of the form `p.path == pod.path`, and needs at least one."
        bad r#"
/// Refuses a crowd.
policy crowd {
  group g = p in pods where p.priority > 3
  prefilter { reject "too many pods" when g.count() > 3 }
}
"#
        good r#"
/// Refuses a crowd.
policy crowd {
  group g = p in pods where p.namespace == pod.namespace
  prefilter { reject "too many pods" when g.count() > 3 }
}
"#

    GROUP_NOT_MUTUAL "BP0208" "group-not-mutual" Error
        "members of the group see different groups"
        "`wait … for G` gives all members one deadline. So each member must belong to the group of every \
         other one: the condition of the group may only compare the same path of both pods for equality."
        bad r#"
/// Starts pods of a namespace together.
policy gang {
  group g = p in pods where p.namespace == pod.namespace && p.priority > 3
  permit { wait 1min for g until g.count() > 3 else "too few pods" }
}
"#
        good r#"
/// Starts pods of a namespace together.
policy gang {
  group g = p in pods where p.namespace == pod.namespace
  permit { wait 1min for g until g.count() > 3 else "too few pods" }
}
"#

    POLICY_NAME_CLASH "BP0209" "policy-name-clash" Error
        "two policies have the same name"
        "A policy is a plugin with the policy's name, so each name is given once."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}

/// Keeps pods off cordoned nodes.
policy healthy {
  filter open { reject "node(s) cordoned" when node.unschedulable }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}

/// Keeps pods off cordoned nodes.
policy open {
  filter open { reject "node(s) cordoned" when node.unschedulable }
}
"#

    MISSING_IN_BLOCK "BP0210" "missing-in-block" Error
        "`missing` belongs to a let of the policy"
        "What happens when a value is absent is decided for the whole policy. Move the let out of the block."
        bad r#"
/// Keeps pods on racks.
policy racks {
  filter rack {
    let rack = pod.labels["rack"] missing skip
    require rack == node.labels["rack"] else "node(s) of another rack"
  }
}
"#
        good r#"
/// Keeps pods on racks.
policy racks {
  let rack = pod.labels["rack"] missing skip
  filter rack { require rack == node.labels["rack"] else "node(s) of another rack" }
}
"#

    UNKNOWN_KIND "BP0215" "unknown-kind" Error
        "no object of this kind can be looked up"
        "A kind of Kubernetes is written by its name, and any other kind as `group/version/Kind`. Pods and nodes are \
         `pods` and `nodes`."
        bad r#"
/// Takes the priority of the class.
policy classes {
  let class = lookup("PriorityClas", pod.priority_class ?? "") missing skip
  prefilter { reject "the priority is too low" when (class.value ?? 0) < 10 }
}
"#
        good r#"
/// Takes the priority of the class.
policy classes {
  let class = lookup("PriorityClass", pod.priority_class ?? "") missing skip
  prefilter { reject "the priority is too low" when (class.value ?? 0) < 10 }
}
"#

    UNTYPED_KIND "BP0216" "untyped-kind" Note
        "nothing says which fields the objects of a kind have"
        "The fields of a kind that is not one of Kubernetes come from its CustomResourceDefinition: in a cluster file, in a \
         file that `--schema` names, or on the API server. Without it every field has the type `dyn`: it may be absent, \
         and is converted before it is used."
        bad r#"
/// Waits until the licence is there.
policy licences {
  let licence = lookup("example.com/v1/Licence", pod.namespace, "seats") missing skip
  prefilter { reject "no seat is free" when (int(licence.spec.seats) ?? 0) == 0 }
}
"#
        good r#"
/// Waits until the quota is there.
policy quotas {
  let quota = lookup("ResourceQuota", pod.namespace, "seats") missing skip
  prefilter { reject "the quota has no limits" when !has(quota.spec.hard) }
}
"#

    WRONG_WRITE "BP0220" "wrong-write" Error
        "something that cannot be written so"
        "Which keys a policy writes is known when it is loaded: keys are constant texts, and valid keys of labels. \
         `reserve` adds annotations and labels to the pod, and removes nothing."
        bad r#"
/// Notes the zone on the node.
policy zone-mark {
  reserve { annotate node {"example.com/zone": node.zone ?? ""} }
}
"#
        good r#"
/// Notes the zone on the pod.
policy zone-mark {
  reserve { annotate pod {"example.com/zone": node.zone ?? ""} }
}
"#

    WRITE_CLASH "BP0221" "write-clash" Error
        "two policies write the same key"
        "The last one to write would win, and neither would know. `run` loads the older one only."
        bad r#"
/// Notes the zone.
policy zone-mark {
  reserve { annotate pod {"example.com/place": node.zone ?? ""} }
}

/// Notes the node.
policy node-mark {
  reserve { annotate pod {"example.com/place": node.name} }
}
"#
        good r#"
/// Notes the zone.
policy zone-mark {
  reserve { annotate pod {"example.com/zone": node.zone ?? ""} }
}

/// Notes the node.
policy node-mark {
  reserve { annotate pod {"example.com/node": node.name} }
}
"#

    UNKNOWN_FILE "BP0230" "unknown-file" Error
        "the file to use does not exist"
        "`use` names a file that ends in `.bay`, by a path from the folder of the file that has the `use`. In a \
         ConfigMap it names another key of the same ConfigMap."
        in "rules.yaml"
        bad r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: rules
  labels: {bayplan.dev/policy: "true"}
data:
  half.bay: |
    use "share.bay"

    /// Keeps half of each node free.
    policy half-empty {
      filter half-free { require node.requested.cpu <= half(node) else "node(s) half full" }
    }
  shares.bay: |
    /// Half of the CPU of a node.
    def half(n: node): cpu = n.allocatable.cpu / 2
"#
        good r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: rules
  labels: {bayplan.dev/policy: "true"}
data:
  half.bay: |
    use "shares.bay"

    /// Keeps half of each node free.
    policy half-empty {
      filter half-free { require node.requested.cpu <= half(node) else "node(s) half full" }
    }
  shares.bay: |
    /// Half of the CPU of a node.
    def half(n: node): cpu = n.allocatable.cpu / 2
"#

    USE_CIRCLE "BP0231" "use-circle" Error
        "files use each other in a circle"
        "A file cannot use itself, over any number of files. Move what they share into a file that uses none of \
         them."
        in "rules.yaml"
        bad r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: rules
  labels: {bayplan.dev/policy: "true"}
data:
  halves.bay: |
    use "thirds.bay"
    def half(n: node): cpu = n.allocatable.cpu / 2
  thirds.bay: |
    use "halves.bay"
    def third(n: node): cpu = n.allocatable.cpu / 3
"#
        good r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: rules
  labels: {bayplan.dev/policy: "true"}
data:
  halves.bay: |
    use "thirds.bay"
    def half(n: node): cpu = n.allocatable.cpu / 2
  thirds.bay: |
    def third(n: node): cpu = n.allocatable.cpu / 3
"#

    USED_FILE "BP0232" "used-file" Error
        "the file cannot be used"
        "A file that is used has `use`, `type` and `def` only, and no mistake: a policy in it would be in service \
         twice, or not where its file is."
        in "rules.yaml"
        bad r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: rules
  labels: {bayplan.dev/policy: "true"}
data:
  half.bay: |
    use "ready.bay"

    /// Keeps half of each node free.
    policy half-empty {
      filter half-free { require node.requested.cpu <= half(node) else "node(s) half full" }
    }
  ready.bay: |
    /// Half of the CPU of a node.
    def half(n: node): cpu = n.allocatable.cpu / 2

    /// Keeps pods off nodes that are not ready.
    policy ready-nodes {
      filter ready { require node.ready else "node(s) not ready" }
    }
"#
        good r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: rules
  labels: {bayplan.dev/policy: "true"}
data:
  half.bay: |
    use "shares.bay"

    /// Keeps half of each node free.
    policy half-empty {
      filter half-free { require node.requested.cpu <= half(node) else "node(s) half full" }
    }
  ready.bay: |
    /// Keeps pods off nodes that are not ready.
    policy ready-nodes {
      filter ready { require node.ready else "node(s) not ready" }
    }
  shares.bay: |
    /// Half of the CPU of a node.
    def half(n: node): cpu = n.allocatable.cpu / 2
"#

    WRONG_MODE "BP0251" "wrong-mode" Error
        "these modes do not go together"
        "`mode enforce when E else M` says for which pods the rules of a policy, or one rule, decide; for the others they \
         count, in mode `audit` or `warn`."
        bad r#"
/// Tries a rule on the pods of one namespace.
policy canary {
  mode audit when pod.namespace == "canary" else enforce
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Tries a rule on the pods of one namespace.
policy canary {
  mode enforce when pod.namespace == "canary" else audit
  filter ready { require node.ready else "node(s) not ready" }
}
"#
}
