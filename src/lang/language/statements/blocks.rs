//! Rows of the statements in blocks.

use super::parts::{ELSE, PartKind, THE_POD, WHEN, after, part};
use super::{Home, StatementDef, StatementId};

/// The blocks that write to objects.
const WRITING: &[Home] = &[
    Home::Block(StatementId::Reserve),
    Home::Block(StatementId::BeforeBind),
    Home::Block(StatementId::AfterBind),
];

/// The blocks that run after an attempt.
const AFTER: &[Home] = &[Home::Block(StatementId::AfterBind), Home::Block(StatementId::AfterFailure)];

pub(super) static REQUIRE: StatementDef = StatementDef {
    words: "require",
    stands: &[Home::Block(StatementId::Filter)],
    rule: "require",
    syntax: "require E [else [resolvable|unresolvable] \"REASON\" [with {NAME: E, …}]]",
    expression_first: true,
    parts: &[part("require", PartKind::Expression), ELSE],
    doc: "The node passes if the condition holds. What it shows is known in the statements below it.",
    example: r#"/// Needs a GPU that is free.
policy free-gpu {
  applies when pod.requests["nvidia.com/gpu"] > 0
  filter free {
    require node.free["nvidia.com/gpu"] >= pod.requests["nvidia.com/gpu"]
      else "Insufficient GPUs" with {free: node.free["nvidia.com/gpu"]}
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static REJECT: StatementDef = StatementDef {
    words: "reject",
    stands: &[
        Home::Block(StatementId::Prefilter),
        Home::Block(StatementId::Filter),
        Home::Block(StatementId::Permit),
        Home::Block(StatementId::Reserve),
    ],
    rule: "reject",
    syntax: "reject [resolvable|unresolvable] \"REASON\" [with {NAME: E, …}] [when E]",
    parts: &[part("reject", PartKind::Reason), WHEN],
    doc: "Refuses the node (in `filter`) or the pod (elsewhere) while the condition holds.",
    example: r#"/// Keeps pods off nodes that are to be avoided.
policy avoid {
  filter not-avoided {
    reject "node(s) labeled avoid=true" when node.labels["avoid"] == "true"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static ONLY: StatementDef = StatementDef {
    words: "only nodes",
    stands: &[Home::Block(StatementId::Prefilter)],
    rule: "only",
    syntax: "only nodes NAMES [when E]",
    parts: &[part("onlyNodes", PartKind::Expression), WHEN],
    doc: "The names of the nodes to look at; absent names are left out. Several statements intersect.",
    example: r#"/// Sends a pod to the node that its annotation names.
policy pinned {
  prefilter {
    only nodes [pod.annotations["example.com/node"]] when has(pod.annotations["example.com/node"])
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static GIVE: StatementDef = StatementDef {
    words: "give",
    stands: &[Home::Block(StatementId::Score)],
    rule: "give",
    syntax: "give E [when E]",
    expression_first: true,
    parts: &[part("value", PartKind::Expression), WHEN],
    doc: "The value of the node if the condition holds. The first `give` that holds counts; `give none` leaves the \
          node out.",
    example: r#"/// Prefers small nodes for small pods.
policy small {
  score small {
    give 100 when node.allocatable.cpu <= 8cpu && pod.requests.cpu <= 1cpu
    give 20
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static VICTIM: StatementDef = StatementDef {
    words: "victim",
    stands: &[Home::Block(StatementId::Preempt)],
    rule: "victim",
    syntax: "victim V [to all pods] when E",
    parts: &[
        THE_POD,
        after("to all pods", "toAllPods", PartKind::Flag),
        after("when", "victim", PartKind::Expression),
    ],
    doc: "The pods that may be evicted, whatever their priority. If no policy has one, those of lower priority may. Of the \
          pods that policies leave alone, of pods of DaemonSets and of static pods only `to all pods` makes victims.",
    example: r#"/// Lets batch make room.
policy batch-yields {
  preempt { victim v when v.namespace == "batch" && v.priority < pod.priority }
}"#,
    ..StatementDef::BASE
};

pub(super) static PROTECT: StatementDef = StatementDef {
    words: "protect",
    stands: &[Home::Block(StatementId::Preempt)],
    rule: "protect",
    syntax: "protect V when E",
    parts: &[THE_POD, after("when", "protect", PartKind::Expression)],
    doc: "The pods that must not be evicted.",
    example: r#"/// Spares the leader of a job.
policy spare-leaders {
  preempt { protect v when v.labels["role"] == "leader" }
}"#,
    ..StatementDef::BASE
};

pub(super) static NEVER: StatementDef = StatementDef {
    words: "never",
    stands: &[Home::Block(StatementId::Preempt)],
    rule: "never",
    syntax: "never \"REASON\" when E",
    parts: &[part("never", PartKind::Reason), WHEN],
    doc: "The pod evicts no other pod while the condition holds. It is decided once per pod, and does not see `node`.",
    example: r#"/// Lets trial pods wait.
policy patient {
  preempt { never "trial pods wait" when pod.labels["trial"] == "true" }
}"#,
    ..StatementDef::BASE
};

pub(super) static GUARD: StatementDef = StatementDef {
    words: "guard",
    stands: &[Home::Block(StatementId::Preempt)],
    rule: "guard",
    syntax: "guard E else \"REASON\"",
    expression_first: true,
    parts: &[part("guard", PartKind::Expression), ELSE],
    doc: "What must hold without the evicted pods. It is evaluated again for each pod that could be spared.",
    example: r#"/// Keeps ten pods on each node.
policy keep-some {
  preempt { guard node.pods.count() >= 10 else "fewer than ten pods would be left" }
}"#,
    ..StatementDef::BASE
};

pub(super) static ADD: StatementDef = StatementDef {
    words: "add",
    stands: &[Home::Block(StatementId::Ledger)],
    rule: "add",
    syntax: "add E [when E]",
    expression_first: true,
    parts: &[part("value", PartKind::Expression), WHEN],
    doc: "What a placed pod adds to the sum while the condition holds: of a set an element, or a list of elements.",
    example: r#"/// Gives each team 100 pods that are not short-lived.
policy team-pods {
  let team = pod.labels["team"] ?? ""
  ledger lasting: int by team { add 1 when pod.labels["short"] != "true" }
  prefilter { reject "the team has 100 pods" when lasting[team] >= 100 }
}"#,
    ..StatementDef::BASE
};

pub(super) static WAIT: StatementDef = StatementDef {
    words: "wait",
    stands: &[Home::Block(StatementId::Permit)],
    rule: "wait",
    syntax: "wait D [for GROUP] until E else \"REASON\"",
    expression_first: true,
    parts: &[
        part("wait", PartKind::Duration),
        after("for", "for", PartKind::Name),
        after("until", "until", PartKind::Expression),
        ELSE,
    ],
    doc: "Holds the pod before it is bound until the condition holds, for at most the duration. With `for` all \
          members of the group have one deadline, and are refused together.",
    example: r#"/// Starts the pods of a job in pairs.
policy pairs {
  group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
  applies when has(pod.labels["job"])
  permit {
    wait 30s for members until members.count(p, p.placed) >= 2 else "no second pod came"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static ANNOTATE: StatementDef = StatementDef {
    words: "annotate",
    stands: WRITING,
    rule: "write",
    syntax: "annotate OBJECT {KEY: E, …} [when E]",
    parts: &[part("annotate", PartKind::Object), part("set", PartKind::Map), WHEN],
    doc: "Sets annotations and leaves all others as they are. A key whose value is absent stays as it is. In `before \
          bind` and `after bind` a key whose value is the literal `none` is removed.",
    example: r#"/// Notes the node on the pod.
policy note {
  reserve { annotate pod {"example.com/node": node.name} }
}"#,
    ..StatementDef::BASE
};

pub(super) static LABEL: StatementDef = StatementDef {
    words: "label",
    stands: WRITING,
    rule: "write",
    syntax: "label OBJECT {KEY: E, …} [when E]",
    parts: &[part("label", PartKind::Object), part("set", PartKind::Map), WHEN],
    doc: "Sets labels and leaves all others as they are. A key whose value is absent stays as it is. In `before bind` \
          and `after bind` a key whose value is the literal `none` is removed.",
    example: r#"/// Labels the pod with its zone.
policy zone-label {
  reserve { label pod {"example.com/zone": node.zone} }
}"#,
    ..StatementDef::BASE
};

pub(super) static PATCH: StatementDef = StatementDef {
    words: "patch",
    stands: &[Home::Block(StatementId::BeforeBind), Home::Block(StatementId::AfterBind)],
    rule: "write",
    syntax: "patch OBJECT {FIELD: E, …} [when E]",
    parts: &[part("patch", PartKind::Object), part("fields", PartKind::Map), WHEN],
    doc: "Sets fields of an object, or of its status, by server-side apply. The map is all that the policy wants of the \
          object: a field that it set before and that is left out now, or whose value is absent, is removed. The patches \
          of an object in one block are one map. The field manager is `bayplan/POLICY`, and what other managers want of \
          these fields gives way. Values are texts, numbers, bools, amounts, times, and lists of these; fields \
          below are maps. Of pods, and of metadata, only annotations and labels are written.",
    example: r#"/// Closes the node of a test that must be alone from now on.
policy last-test {
  applies when pod.labels["test"] == "last"
  after bind { patch node {"spec": {"unschedulable": true}} }
}"#,
    ..StatementDef::BASE
};

pub(super) static EVENT: StatementDef = StatementDef {
    words: "event",
    stands: AFTER,
    rule: "event",
    syntax: "event OBJECT normal|warning \"REASON\" \"TEXT\" [when E]",
    parts: &[
        part("event", PartKind::Object),
        part("type", PartKind::Word(["normal", "warning"])),
        part("reason", PartKind::Text),
        part("text", PartKind::Template),
        WHEN,
    ],
    doc: "Records an event on an object.",
    example: r#"/// Warns of pods on spot nodes.
policy spot-warning {
  after bind { event pod warning "Spot" "runs on a spot node" when node.labels["spot"] == "true" }
}"#,
    ..StatementDef::BASE
};

pub(super) static REMEMBER: StatementDef = StatementDef {
    words: "remember",
    stands: AFTER,
    rule: "remember",
    syntax: "remember MEMO = E [when E]",
    parts: &[part("remember", PartKind::Name), after("=", "value", PartKind::Optional), WHEN],
    doc: "Sets a memo for the pod's key until its time is over; an absent value, such as `none`, forgets it. A block is \
          evaluated with the memos as they were before it, and the last `remember` of a memo decides. Pods that wait for this key are tried again where the value is \
          another one then.",
    example: r#"/// Lets a job rest for a minute when one of its pods found no node.
policy rest {
  applies when has(pod.labels["job"])
  memo resting: bool by [pod.namespace, pod.labels["job"] ?? ""] ttl 1min
  prefilter { reject "the job rests" when resting ?? false }
  after failure { remember resting = true when !(resting ?? false) }
}"#,
    ..StatementDef::BASE
};

pub(super) static RELEASE: StatementDef = StatementDef {
    words: "release",
    stands: AFTER,
    rule: "release",
    syntax: "release GROUP \"REASON\" [when E]",
    parts: &[part("release", PartKind::Name), part("reason", PartKind::Reason), WHEN],
    doc: "Refuses the members of a group that wait at permit.",
    example: r#"/// Gives up a job whose member found no node.
policy all-or-nothing {
  group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
  after failure { release members "a member of the job found no node" }
}"#,
    ..StatementDef::BASE
};

pub(super) static ACTIVATE: StatementDef = StatementDef {
    words: "activate",
    stands: AFTER,
    rule: "activate",
    syntax: "activate GROUP [when E]",
    parts: &[part("activate", PartKind::Name), WHEN],
    doc: "Tries the unschedulable members of a group again, as an event would that helps them: their back-off is not \
          cut short.",
    example: r#"/// Tries the other members of a job again.
policy together {
  group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
  after failure { activate members }
}"#,
    ..StatementDef::BASE
};
