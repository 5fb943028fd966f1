//! Rows of the statements in files and policies that name or set something.

use super::parts::{PartKind, WHEN, after, part};
use super::{Home, Names, Naming, StatementDef, StatementId};

pub(super) static POLICY: StatementDef = StatementDef {
    words: "policy",
    stands: &[Home::File],
    rule: "policy",
    syntax: "policy NAME [version 1] { STATEMENTS }",
    naming: Naming::Rule,
    sees: Some(Names::NONE),
    doc: "A set of rules. Each policy is a scheduler plugin of its own name, which profiles can disable, order and \
          weight. The order of its statements has no meaning, except that filters run in the order of the text.",
    example: r#"/// Keeps pods off nodes that are not ready.
policy ready-nodes {
  filter ready {
    require node.ready else "node(s) not ready"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static DEF: StatementDef = StatementDef {
    words: "def",
    stands: &[Home::File, Home::Policy],
    rule: "def",
    syntax: "def NAME(PARAMETER: T, …) [: T] = E",
    naming: Naming::Declares,
    sees: Some(Names::PER_NODE),
    doc: "A function. It may not call itself, over any number of steps. A def of a policy sees the names of the \
          policy, and `node` if the place of the call sees it; a def of the file sees its parameters only.",
    example: r#"/// Half of the CPU of a node, rounded down.
def half(n: node): cpu = n.allocatable.cpu / 2

/// Keeps half of each node free.
policy half-empty {
  filter half-free {
    require node.requested.cpu + pod.requests.cpu <= half(node) else "node(s) half full"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static TYPE: StatementDef = StatementDef {
    words: "type",
    stands: &[Home::File, Home::Policy],
    rule: "typedef",
    syntax: "type NAME = {FIELD: T, …}",
    naming: Naming::Declares,
    sees: Some(Names::NONE),
    doc: "A name for a type, for parameters of defs and for params.",
    example: r#"type Limits = {cpu: cpu, pods: int}

/// Keeps nodes below limits that a profile can set.
policy limits {
  param limits: Limits = {"cpu": 4cpu, "pods": 20}
  filter below {
    require node.requested.cpu <= limits.cpu else "node(s) above the limit of CPU"
    require node.pods.count() < limits.pods else "node(s) above the limit of pods"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static USE: StatementDef = StatementDef {
    words: "use",
    stands: &[Home::File],
    rule: "use_",
    syntax: "use \"FILE.bay\"",
    sees: Some(Names::NONE),
    doc: "Brings the types and defs of another file, and of the files that it uses: a path from the folder of this file, \
          or another key of the same ConfigMap. Such a file has `use`, `type` and `def` only. Names must be new, and \
          circles are errors.",
    example: r#"use "racks.bay"

/// Keeps pods off racks that are being moved; `racks.bay` has `def is_moving(n: node): bool = …`.
policy resting-racks {
  filter rests {
    reject "node(s) on a rack that is being moved" when is_moving(node)
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static LET: StatementDef = StatementDef {
    words: "let",
    stands: &[
        Home::Policy,
        Home::Block(StatementId::Prefilter),
        Home::Block(StatementId::Filter),
        Home::Block(StatementId::Score),
        Home::Block(StatementId::Preempt),
        Home::Block(StatementId::Ledger),
        Home::Block(StatementId::Permit),
        Home::Block(StatementId::Reserve),
        Home::Block(StatementId::BeforeBind),
        Home::Block(StatementId::AfterBind),
        Home::Block(StatementId::AfterFailure),
    ],
    rule: "let_",
    syntax: "let NAME [: T] = E [missing skip | missing reject \"REASON\" | missing error]",
    naming: Naming::Declares,
    sees: Some(Names::PER_POD),
    doc: "A name for an expression: it has the value that the expression has where the name is used. A let of a \
          policy does not see `node`; a let of a block sees what the block sees, from its line on. `missing`, on \
          lets of a policy, says what happens when the value is absent.",
    example: r#"/// Keeps jobs of a team together with their data.
policy team-nodes {
  let team = pod.labels["team"] missing skip
  filter own {
    let holder = node.labels["team"] ?? team
    require holder == team else "node(s) of another team"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static PARAM: StatementDef = StatementDef {
    words: "param",
    rule: "param",
    syntax: "param NAME [: T] [in LOW..HIGH] = E",
    naming: Naming::Declares,
    sees: Some(Names::NONE),
    doc: "A constant that the arguments of the policy in a profile's `pluginConfig` can override. The range bounds \
          these arguments; the policy is checked with its defaults and with the arguments of each profile.",
    example: r#"/// Keeps a number of pods per node.
policy pods-per-node {
  param most: int in 1..500 = 50
  filter room {
    require node.pods.count() < most else "node(s) with too many pods"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static GROUP: StatementDef = StatementDef {
    words: "group",
    rule: "group",
    syntax: "group NAME = P in pods where E",
    naming: Naming::Declares,
    sees: Some(Names::OF_POD),
    parts: &[
        part("name", PartKind::Declared),
        after("=", "p", PartKind::Variable("p")),
        after("in pods where", "expression", PartKind::Expression),
    ],
    doc: "The pods for which the condition holds, kept in an index. The condition needs at least one equality \
          `P.path == pod.path`; `pod` is the pod that is being scheduled.",
    example: r#"/// Limits the pods of a job on one node.
policy job-spread {
  group members = p in pods where p.namespace == pod.namespace && p.labels["job"] == pod.labels["job"]
  applies when has(pod.labels["job"])
  filter few {
    reject "node(s) with three pods of the job" when members.count(p, p.node.name == node.name) >= 3
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static SOURCE: StatementDef = StatementDef {
    words: "source",
    rule: "source",
    syntax: "source NAME = metrics(window: D, max_age: D)",
    naming: Naming::Declares,
    sees: Some(Names::NONE),
    doc: "The metrics of the nodes over a window of at most an hour, which ends with the newest sample: metrics.k8s.io \
          is polled every 15 seconds. `NAME[node.name]` is absent without samples, or when the newest one is older \
          than `max_age`.",
    example: r#"/// Keeps pods off busy nodes.
policy cool-nodes {
  source load = metrics(window: 5min, max_age: 2min)
  filter cool {
    reject "node(s) busy" when (load[node.name].cpu.mean ?? 0cpu) > 4cpu
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static MODE: StatementDef = StatementDef {
    words: "mode",
    stands: &[
        Home::Policy,
        Home::Block(StatementId::Prefilter),
        Home::Block(StatementId::Filter),
        Home::Block(StatementId::Score),
        Home::Block(StatementId::Preempt),
        Home::Block(StatementId::Permit),
    ],
    rule: "mode",
    syntax: "mode enforce|warn|audit|off [until DATE], mode enforce when E [else audit|warn] [until DATE]",
    sees: Some(Names::OF_POD),
    doc: "How far the policy or rule may go: it decides (`enforce`, the default), is counted by what it would have done \
          (`audit`), is counted and tells the pod's owner in an event (`warn`), or is compiled only (`off`). The mode \
          of a rule overrides that of its policy; gates and preferences say it after their word, as in `gate mode \
          audit \"REASON\" when E`. A rule that does not decide changes nothing. Ledgers are kept in every mode. With `when`, the \
          policy or rule decides for the pods for which the condition holds, and counts for the others. `until` names the \
          day until which the mode is meant: then a lint and a metric say that it is over, and the mode stays.",
    example: r#"/// Counts what a rule would refuse.
policy trial {
  mode audit
  filter ready {
    require node.ready else "node(s) not ready"
  }
}"#,
    ..StatementDef::BASE
};

pub(super) static EXCEPT: StatementDef = StatementDef {
    words: "except",
    stands: &[
        Home::File,
        Home::Policy,
        Home::Block(StatementId::Prefilter),
        Home::Block(StatementId::Filter),
        Home::Block(StatementId::Score),
        Home::Block(StatementId::Reserve),
        Home::Block(StatementId::Permit),
        Home::Block(StatementId::Preempt),
    ],
    rule: "except_",
    syntax: "except [RULE] until DATE because \"REASON\" [when E]",
    sees: Some(Names::OF_POD),
    parts: &[
        part("rule", PartKind::Name),
        after("until", "until", PartKind::Day),
        after("because", "because", PartKind::Text),
        WHEN,
    ],
    doc: "An exception from a policy or rule, up to the end of a day in UTC: the policy or rule leaves the pods \
          alone for which the condition holds, and from then on it does not. In a policy it may name a rule: a filter or \
          score, or the word `gate`, `prefilter`, `reserve`, `permit` or `preempt`; an exception from `preempt` is \
          about the pod that preempts. An exception from a policy also takes its pods \
          out of the policy's ledgers. Bayplan reports an exception from 14 days before its end. At the top level of a \
          file, which may be in another ConfigMap than the policy, it names the policy or rule first, as in \
          `except POLICY/RULE until …`: so who may write exceptions is a matter of RBAC. There it sees no name of the policy.",
    example: r#"/// Keeps pods off nodes that are not ready.
policy ready-nodes {
  except until 2099-01-31 because "the batch jobs move in January" when pod.namespace == "batch"
  filter ready {
    require node.ready else "node(s) not ready"
  }
}"#,
    ..StatementDef::BASE
};
