//! Rows of the statements of a policy that run at an extension point.

use super::parts::{PartKind, WHEN, after, part};
use super::{Names, Naming, StatementDef};

pub(super) static APPLIES: StatementDef = StatementDef {
    words: "applies when",
    points: &["every point but QueueSort"],
    rule: "applies",
    syntax: "applies [to all pods] [when E]",
    sees: Some(Names::OF_POD),
    doc: "The policy skips a pod for which the condition is false. Several conditions are joined by `&&`, and each \
          narrows the whole policy but `queue by`. `to all pods` also includes the pods that policies leave alone: \
          those of kube-system and other exempt namespaces, and, for refusals, of DaemonSets.",
    example: r#"/// Keeps the pods of the shop in its zone.
policy shop-zone {
  applies when pod.namespace == "shop"
  filter zone {
    require node.zone == "zone-a" else "node(s) in another zone"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static GATE: StatementDef = StatementDef {
    words: "gate",
    points: &["PreEnqueue"],
    rule: "gate",
    syntax: "gate [mode MODE …] \"REASON\" when E",
    sees: Some(
        Names::OF_POD
            .and(Names::NOW)
            .and(Names::GROUPS)
            .and(Names::LEDGERS)
            .and(Names::MEMOS)
            .and(Names::ANY_OBJECT),
    ),
    parts: &[part("reason", PartKind::Reason), WHEN],
    doc: "Keeps the pod out of the scheduling queue while the condition holds. It reserves nothing: a condition over a \
          ledger belongs in `prefilter` too.",
    example: r#"/// Starts batch pods at night only.
policy night-batch {
  applies when pod.namespace == "batch"
  gate "batch starts at night" when within(now(), "Mon-Sun 06:00-20:00", "Europe/Berlin")
}"#,
    ..StatementDef::BASE
};

pub(super) static QUEUE: StatementDef = StatementDef {
    words: "queue by",
    points: &["QueueSort"],
    rule: "queue",
    syntax: "queue by [asc|desc] E, …",
    sees: Some(Names::OF_POD.and(Names::GROUPS).and(Names::LEDGERS).and(Names::MEMOS).and(Names::ANY_OBJECT)),
    doc: "Orders all pods of the scheduler by its keys, from left to right; `applies when` does not matter here. \
          Ties fall to the time at which the pod was queued, then to its name. A key that reads a group, a ledger, a memo \
          or an object follows it while the pod is queued. One policy of a scheduler may have it.",
    example: r#"/// Schedules pods of higher priority first.
policy by-priority {
  queue by desc pod.priority, pod.queued_at
}"#,
    ..StatementDef::BASE
};

pub(super) static PREFILTER: StatementDef = StatementDef {
    words: "prefilter",
    points: &["PreFilter"],
    rule: "prefilter",
    syntax: "prefilter { reject \"REASON\" when E; only nodes E [when E] }",
    sees: Some(Names::PER_POD),
    doc: "Runs once per pod: refuses the pod, or names the nodes to look at.",
    example: r#"/// Refuses pods without a team.
policy team-label {
  prefilter {
    reject unresolvable "the label team is missing" when !has(pod.labels["team"])
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static FILTER: StatementDef = StatementDef {
    words: "filter",
    points: &["Filter"],
    rule: "filter",
    syntax: "filter NAME { require E else \"REASON\"; reject \"REASON\" when E }",
    naming: Naming::Rule,
    sees: Some(Names::PER_NODE),
    doc: "Runs for each node. All of its statements must let the node pass; the first one that refuses gives the \
          reason.",
    example: r#"/// Keeps pods off nodes that are full of them.
policy room {
  filter few-pods {
    require node.ready else "node(s) not ready"
    reject "node(s) with 100 pods" when node.pods.count() >= 100
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static SCORE: StatementDef = StatementDef {
    words: "score",
    points: &["Score", "NormalizeScore"],
    rule: "score",
    syntax: "score NAME [weight N] [normalize none|max|minmax] [reversed] { give E [when E]; … }",
    naming: Naming::Rule,
    sees: Some(Names::PER_NODE),
    doc: "Ranks the feasible nodes from 0 to 100. The first `give` whose condition holds gives the value; without \
          one the node gets 0. `normalize` maps values of any range to 0..100, `reversed` prefers small ones.",
    example: r#"/// Fills the fullest node first.
policy pack {
  score fullest weight 3 {
    give percent(node.requested.cpu + pod.requests.cpu, node.allocatable.cpu)
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static PREFER: StatementDef = StatementDef {
    words: "prefer",
    points: &["Score"],
    rule: "prefer",
    syntax: "prefer [mode MODE …] N when E",
    sees: Some(Names::PER_NODE),
    parts: &[part("weight", PartKind::Weight), WHEN],
    doc: "A score of weight N that gives 100 to nodes for which the condition holds, and 0 to others.",
    example: r#"/// Prefers nodes with a fast disk.
policy fast-disk {
  prefer 5 when node.labels["disktype"] == "ssd"
}"#,
    ..StatementDef::BASE
};

pub(super) static PREEMPT: StatementDef = StatementDef {
    words: "preempt",
    points: &["PostFilter"],
    rule: "preempt",
    syntax: "preempt { victim V [to all pods] when E; protect V when E; never \"REASON\" when E; guard E else \"REASON\" }",
    sees: Some(Names::PER_NODE),
    doc: "Says which pods may be evicted for a pod that fits on no node: those for which a `victim` of any policy holds, or \
          pods of lower priority if no policy has one, without those that a `protect` of any policy holds for. Pods of a \
          node are judged one after the other, lowest priority first, then youngest, each with the earlier ones gone. \
          Filters, and refusals of `prefilter`, must let the pod pass without the victims. PodDisruptionBudgets, and \
          the choice of the node, are those of DefaultPreemption.",
    example: r#"/// Spares pods that say they run for long.
policy spare-long-jobs {
  preempt {
    protect v when v.labels["long"] == "true"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static LEDGER: StatementDef = StatementDef {
    words: "ledger",
    points: &["PreFilter", "Reserve"],
    rule: "ledger",
    syntax: "ledger NAME: T by KEY { add E [when E] }",
    naming: Naming::Declares,
    sees: Some(Names::OF_POD.and(Names::NODE).and(Names::LOOKUPS)),
    doc: "A sum over the placed pods to which the policy applies, by key: `NAME[k]` is the sum of what was added \
          under `k`, 0 or empty where there is none. T is `int`, a unit, `resources` or `set<T>`; a list is a key of several parts. `pod` is the \
          pod that is counted, `node` is where it is; what it looks up by name moves it, when that appears, changes or goes. Pods count whatever scheduler placed them; pods that policies leave \
          alone do not.",
    example: r#"/// Limits the GPUs of a team.
policy team-quota {
  ledger used: count by pod.labels["team"] ?? "" { add pod.requests["nvidia.com/gpu"] }
  prefilter {
    reject "the team has all its GPUs" when used[pod.labels["team"] ?? ""] >= 16
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static MEMO: StatementDef = StatementDef {
    words: "memo",
    rule: "memo",
    syntax: "memo NAME: T by KEY ttl D",
    naming: Naming::Declares,
    sees: Some(Names::OF_POD.and(Names::GROUPS).and(Names::MEMOS).and(Names::ANY_OBJECT)),
    parts: &[
        part("name", PartKind::Declared),
        after(":", "type", PartKind::Type),
        after("by", "by", PartKind::Expression),
        after("ttl", "ttl", PartKind::Duration),
    ],
    doc: "The value last remembered for the pod's key, for a constant time; absent without one. `0s` is off. It is in memory \
          only: a restart forgets it. At most 100,000 keys are kept; beyond them the value that ends first goes.",
    example: r#"/// Schedules jobs later whose pods found no node in the last ten minutes.
policy failed-later {
  memo failed: time by [pod.namespace, pod.labels["job"] ?? ""] ttl 10min
  queue by failed ?? pod.queued_at
  after failure { remember failed = now() }
}"#,
    ..StatementDef::BASE
};

pub(super) static PERMIT: StatementDef = StatementDef {
    words: "permit",
    points: &["Permit"],
    rule: "permit",
    syntax: "permit { reject \"REASON\" when E; wait D [for GROUP] until E else \"REASON\" }",
    sees: Some(Names::PER_NODE),
    doc: "Runs when a node is chosen, which `node` names and on which the pod counts as placed: refuses the pod, or \
          lets it wait for at most 15 minutes before it is bound.",
    example: r#"/// Starts a job whole or not at all.
policy gang {
  group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
  applies when has(pod.labels["job"])
  permit {
    wait 60s for members until members.count(p, p.placed) >= 4 else "the job did not become whole in time"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static RESERVE: StatementDef = StatementDef {
    words: "reserve",
    points: &["Reserve"],
    rule: "reserve",
    syntax: "reserve { reject \"REASON\" when E; annotate pod {KEY: E}; label pod {KEY: E} }",
    sees: Some(Names::PER_NODE),
    doc: "Runs when a node is chosen: marks the pod, so that other rules see the mark at once and the Binding takes \
          it to the API server.",
    example: r#"/// Marks the pod with the zone of its node.
policy zone-mark {
  reserve {
    annotate pod {"example.com/zone": node.zone ?? ""}
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static BEFORE_BIND: StatementDef = StatementDef {
    words: "before bind",
    points: &["PreBind"],
    rule: "before",
    syntax: "before bind { annotate|label|patch OBJECT {KEY: E} [when E] }",
    sees: Some(Names::PER_NODE),
    doc: "Writes to the API server before the pod is bound, one write after the other. A write that the API server \
          refuses fails the binding.",
    example: r#"/// Labels the node with the pod's team before the pod is bound.
policy team-mark {
  before bind {
    label node {"example.com/team": pod.labels["team"] ?? ""}
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static AFTER_BIND: StatementDef = StatementDef {
    words: "after bind",
    points: &["PostBind"],
    rule: "after",
    syntax: "after bind { annotate|label|patch OBJECT {KEY: E}; event OBJECT normal|warning \"REASON\" \"TEXT\"; remember MEMO = E; release GROUP \"REASON\"; activate GROUP }",
    sees: Some(Names::PER_NODE),
    doc: "Writes to the API server when the pod is bound, at least once, also after a restart: a mark on the pod, \
          `after-bind.bayplan.dev/POLICY`, goes when everything is written. Values are those of the time of \
          writing. Events are recorded once, when the pod is bound.",
    example: r#"/// Tells the pod's owner where it runs.
policy tell {
  after bind {
    event pod normal "Placed" "runs in {node.zone}"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static AFTER_FAILURE: StatementDef = StatementDef {
    words: "after failure",
    points: &["the end of a failed attempt"],
    rule: "failure",
    syntax: "after failure { event OBJECT normal|warning \"REASON\" \"TEXT\"; remember MEMO = E [when E]; release GROUP \"REASON\" [when E]; activate GROUP [when E] }",
    sees: Some(Names::PER_POD),
    doc: "Runs when an attempt ends without a node, or is refused at Reserve, Permit, PreBind or Bind, or its pod is \
          deleted. After an attempt that a `release`, or the end of its group, ended, no pod is released or activated.",
    example: r#"/// Gives up a job whose member found no node.
policy all-or-nothing {
  group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
  after failure {
    release members "a member of the job found no node"
  }
}"#,
    ..StatementDef::BASE
};
