//! BP04: lints. What is allowed and probably not meant.

codes! {
    ALWAYS "BP0401" "always" Warning
        "the condition is always true or always false"
        "The ranges of its parts leave the condition only one result. The statement then holds for every \
         pod and node, or for none."
        bad r#"
/// Keeps pods off full nodes.
policy room {
  filter cpu { require node.free.cpu >= 0 else "node(s) without free CPU" }
}
"#
        good r#"
/// Keeps pods off full nodes.
policy room {
  filter cpu { require node.free.cpu > 0 else "node(s) without free CPU" }
}
"#

    CONTRADICTION "BP0402" "contradiction" Warning
        "the conditions exclude each other"
        "The conditions before this one leave no value for which it holds."
        bad r#"
/// Refuses pods of middle priority.
policy middle {
  prefilter { reject "middle priority" when pod.priority > 8 && pod.priority < 4 }
}
"#
        good r#"
/// Refuses pods of middle priority.
policy middle {
  prefilter { reject "middle priority" when pod.priority > 4 && pod.priority < 8 }
}
"#

    UNUSED "BP0403" "unused" Warning
        "nothing uses the declaration"
        "Remove it, or use it."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  let least = 2cpu
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  let least = 2cpu
  filter ready { require node.free.cpu > least else "node(s) without 2 free CPUs" }
}
"#

    UNREACHABLE_GIVE "BP0404" "unreachable-give" Warning
        "an earlier `give` always holds"
        "A score takes the first `give` whose condition holds. A `give` without a condition ends the list."
        bad r#"
/// Prefers ready nodes.
policy healthy {
  score ready {
    give 10
    give 20 when node.ready
  }
}
"#
        good r#"
/// Prefers ready nodes.
policy healthy {
  score ready {
    give 20 when node.ready
    give 10
  }
}
"#

    NEVER_ABSENT "BP0405" "never-absent" Warning
        "the value is never absent"
        "`??` gives its right side when the left side is absent, which never happens here. `has` of the \
         value is always true."
        bad r#"
/// Refuses a name.
policy named {
  prefilter { reject "another name" when (pod.name ?? "") == "web" }
}
"#
        good r#"
/// Refuses a name.
policy named {
  prefilter { reject "another name" when pod.name == "web" }
}
"#

    COALESCE_ARITHMETIC "BP0406" "coalesce-arithmetic" Warning
        "arithmetic to the right of `??`"
        "`x ?? 0 + 1` means `x ?? (0 + 1)`. Write the brackets that you mean."
        bad r#"
/// Refuses large jobs.
policy large {
  prefilter { reject "too large" when int(pod.labels["size"]) ?? 0 + 1 > 3 }
}
"#
        good r#"
/// Refuses large jobs.
policy large {
  prefilter { reject "too large" when (int(pod.labels["size"]) ?? 0) + 1 > 3 }
}
"#

    WHOLE_DIVISION "BP0407" "whole-division" Warning
        "a division of whole numbers where a fraction is compared"
        "`int / int` drops the fraction. Write `float(a) / b` or `share(a, b)`."
        bad r#"
/// Refuses low priorities.
policy low {
  prefilter { reject "low priority" when pod.priority / 3 < 0.5 }
}
"#
        good r#"
/// Refuses low priorities.
policy low {
  prefilter { reject "low priority" when pod.priority / 3.0 < 0.5 }
}
"#

    MISSING_REASON "BP0408" "missing-reason" Warning
        "a `require` has no reason"
        "The owner of the pod reads the reason in the event, after a number: `3 node(s) without …`. Without \
         a reason the event shows the name of the policy and the filter."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    REASON_NAMES_OBJECT "BP0409" "reason-names-node" Warning
        "the reason names a node or a pod"
        "The event groups nodes by their reason. With a name in it, each node has a reason of its own and \
         the event a line for each. Put values of one node into `with { … }`."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { reject "{node.name} is not ready" when !node.ready }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { reject "node(s) not ready" with { node: node.name } when !node.ready }
}
"#

    CONSTANT_SCORE "BP0410" "constant-score" Warning
        "the score is the same for every node"
        "Such a score does not change where a pod goes."
        bad r#"
/// Prefers nodes.
policy all {
  score s { give 50 }
}
"#
        good r#"
/// Prefers nodes.
policy all {
  score s { give 50 when node.ready }
}
"#

    HIDES_NAME "BP0411" "hides-name" Warning
        "the variable of a macro hides another name"
        "Inside the macro the name means the variable."
        bad r#"
/// Keeps pods off busy nodes.
policy busy {
  filter quiet { require node.pods.all(pod, pod.priority > 3) else "node(s) with lesser pods" }
}
"#
        good r#"
/// Keeps pods off busy nodes.
policy busy {
  filter quiet { require node.pods.all(p, p.priority > 3) else "node(s) with lesser pods" }
}
"#

    WAIT_WITHOUT_FOR "BP0412" "wait-without-for" Warning
        "each pod of the group waits on its own"
        "Without `for` each member has its own deadline. A member that gives up leaves the others waiting. \
         `wait D for G until …` gives the group one deadline."
        bad r#"
/// Starts pods of a namespace together.
policy gang {
  group g = p in pods where p.namespace == pod.namespace
  permit { wait 1min until g.count() > 3 else "too few pods" }
}
"#
        good r#"
/// Starts pods of a namespace together.
policy gang {
  group g = p in pods where p.namespace == pod.namespace
  permit { wait 1min for g until g.count() > 3 else "too few pods" }
}
"#

    CANNOT_BE_FILED "BP0413" "cannot-be-filed" Note
        "`applies when` is evaluated for every pod"
        "A policy costs nothing for other pods if its condition contains one of `path == constant`, \
         `path in [constants]`, `has(path)` or `pod.requests[c] > 0`, joined by `&&`."
        bad r#"
/// Keeps pods off broken nodes after some attempts.
policy healthy {
  applies when pod.attempts > 3
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods of the shop off broken nodes.
policy healthy {
  applies when pod.namespace == "shop"
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    WRONG_RESOLVABILITY "BP0414" "wrong-resolvability" Warning
        "`resolvable` or `unresolvable` contradicts what the condition reads"
        "What a condition reads tells whether evicting pods can help. The word before the reason overrules \
         that."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { reject resolvable "node(s) not ready" when !node.ready }
}
"#
        good r#"
/// Keeps pods off full nodes.
policy room {
  filter cpu { reject resolvable "node(s) without room" when node.free.cpu < pod.requests.cpu }
}
"#

    MISSING_DOC "BP0415" "missing-doc" Note
        "the policy has no doc comment"
        "Explanations show the `///` comment above a policy before its rules. The owner of a waiting pod \
         reads it first."
        bad r#"
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    UNUSED_ALLOW "BP0416" "unused-allow" Warning
        "the comment silences nothing"
        "The linter does not report this finding here. Remove the comment."
        bad r#"
/// Keeps pods off broken nodes.
// bayplan: allow(unused) because it is kept for later
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    PERCENT_AND_SHARE "BP0417" "percent-and-share" Warning
        "a number from 0 to 100 meets a share from 0 to 1"
        "`80%` is 0.8: it is compared with `share(a, b)`, and `percent(a, b)` with 80. A share of what a node has may be above 1 where nodes are overcommitted, but hardly above 10."
        bad r#"
/// Keeps pods off busy nodes.
policy busy {
  filter free { require share(node.free.cpu, node.allocatable.cpu) > 20 else "busy node(s)" }
}
"#
        good r#"
/// Keeps pods off busy nodes.
policy busy {
  filter free { require share(node.free.cpu, node.allocatable.cpu) > 20% else "busy node(s)" }
}
"#

    SCORE_IN_ZERO_TO_ONE "BP0418" "score-in-zero-to-one" Warning
        "the score is between 0 and 1"
        "Scores go from 0 to 100 and are cut to whole numbers, so this one is nearly always 0."
        bad r#"
/// Prefers empty nodes.
policy empty {
  score free { give share(node.free.cpu, node.allocatable.cpu) }
}
"#
        good r#"
/// Prefers empty nodes.
policy empty {
  score free { give 100 * share(node.free.cpu, node.allocatable.cpu) }
}
"#

    QUADRATIC_RULE "BP0419" "quadratic-rule" Warning
        "the cost of the rule grows with the square of the cluster"
        "For each node or pod the rule walks over all nodes or pods. A cluster of twice the size takes four \
         times as long. The rule is within its bound on a cluster of the declared size."
        bad r#"
/// Prefers nodes that are emptier than others.
policy empty {
  score emptier normalize max { give nodes.count(n, n.free.cpu < node.free.cpu) }
}
"#
        good r#"
/// Prefers zones with many nodes.
policy zones {
  score large normalize max { give nodes.count(n, n.zone == node.zone) }
}
"#

    SHADOWED_RULE "BP0420" "shadowed-rule" Warning
        "an earlier rule shadows this one"
        "A node gets the reason of the first statement that refuses it, a score the value of the first \
         `give` that holds. Whenever this statement holds, an earlier one holds as well."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready {
    require node.ready else "node(s) not ready"
    reject "busy and not ready" when !node.ready && node.pods.size() > 50
  }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready {
    reject "busy and not ready" when !node.ready && node.pods.size() > 50
    require node.ready else "node(s) not ready"
  }
}
"#

    DUPLICATE_RULE "BP0421" "duplicate-rule" Warning
        "the rule is there twice"
        "Of two statements with the same condition only the first has an effect. Replace two equal scores \
         by one with the sum of their weights."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
  filter down { reject "node(s) down" when !node.ready }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
  filter open { reject "node(s) cordoned" when node.unschedulable }
}
"#

    TEXT_DIRECTION "BP0422" "text-direction" Warning
        "an invisible character changes the direction of the text"
        "An editor shows the text around such a character in another order than the parser reads it, so a \
         comment can look like a rule and a rule like a comment. The characters are U+061C, U+200E, U+200F, \
         U+202A to U+202E and U+2066 to U+2069. Delete them from comments. In a string write an escape, as \
         in `\"\\u202e\"`."
        bad "
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else \"node(s) not\u{202e} ready\" }
}
"
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not\u202e ready" }
}
"#

    ALL_ANNOTATIONS "BP0423" "all-annotations" Note
        "the policy keeps all annotations"
        "The scheduler keeps annotations under the keys that policies read, and drops all others when it \
         decodes an object. A key that is not a constant, a loop over the annotations or their number needs \
         all of them, of every object of the kind; users may write 256 KiB into each. A param is not a \
         constant, because a profile may give another argument."
        bad r#"
/// Keeps pods off nodes that they name.
policy named {
  filter node { reject "unwanted" when has(pod.annotations[node.name]) }
}
"#
        good r#"
/// Keeps pods off the node that they name.
policy named {
  filter node { reject "unwanted" when pod.annotations["not-on"] == node.name }
}
"#

    BOTH_ABSENT "BP0426" "both-absent" Warning
        "a comparison is false where both sides are absent, and that favours the node"
        "An absent value equals nothing, not even another absent value. Where `==` must be false for a node to pass \
         or to score higher, a node without the label passes or scores higher, also for a pod without it: in `reject … \
         when`, after `!` and `!=`, in a count that must be small, and in the `when` of a `give` that gives less. If \
         that is meant, write `has(a) && a == b`. Otherwise refuse nodes without the label, or name a default: `(a ?? \
         \"\") == (b ?? \"\")`."
        bad r#"
/// Keeps pods of one team off the racks of another.
policy racks {
  filter other { reject "node(s) of a banned rack" when node.labels["rack"] == pod.labels["not-on-rack"] }
}
"#
        good r#"
/// Keeps pods of one team off the racks of another.
policy racks {
  filter other {
    require has(node.labels["rack"]) else "node(s) without a rack"
    reject "node(s) of a banned rack" when node.labels["rack"] == pod.labels["not-on-rack"]
  }
}
"#

    MAY_FAIL "BP0427" "may-fail" Note
        "an expression of CEL may end with an error"
        "A label that a node does not have, a division by 0 and a text that does not read as a number are errors in CEL. The rule then \
         does what `onError` says: it refuses, is left out, or makes the attempt an error. Where the expression tests \
         first, no error is possible, and the rule is as fast as in the policy language. The fix writes the test: a \
         comparison with what is missing does not hold then, a missing value is the empty one of its type, and a \
         quotient by 0 is 0, whatever `onError` says. Where no node can help the pod then, it is a warning, since a policy may stop every pod without a label: in \
         `appliesWhen`, a gate, a `prefilter`, `reserve` or `permit`, in a filter if the error depends on the pod alone, and in a \
         variable that one of these reads. \
         `strict: true` makes it an error."
        in "zone.yaml"
        bad r#"
# Keeps pods in one zone.
apiVersion: bayplan.dev/v1
kind: SchedulingPolicy
metadata: {name: zone}
spec:
  filters:
  - {name: zone, expression: 'node.labels["zone"] == "a"', reason: node(s) of another zone}
"#
        good r#"
# Keeps pods in one zone.
apiVersion: bayplan.dev/v1
kind: SchedulingPolicy
metadata: {name: zone}
spec:
  filters:
  - {name: zone, expression: '"zone" in node.labels && node.labels["zone"] == "a"', reason: node(s) of another zone}
"#

    RESTS_ON_MEMO "BP0440" "rests-on-memo" Warning
        "a requirement rests on a memo"
        "A memo is in memory only: a restart, or another leader, begins without it. A `require` that needs it refuses \
         every pod until it is remembered again, which may be never. A `reject` while something is remembered lets \
         more pods pass for a while."
        bad r#"
/// Tries a job only where no pod of it failed before.
policy calm-jobs {
  memo calm: bool by [pod.namespace, pod.labels["job"] ?? ""] ttl 10min
  filter calm { require calm ?? false else "the job is not calm" }
  after failure { remember calm = false }
}
"#
        good r#"
/// Tries a job only when none of its pods failed in the last ten minutes.
policy calm-jobs {
  memo failed: bool by [pod.namespace, pod.labels["job"] ?? ""] ttl 10min
  prefilter { reject "a pod of the job failed" when failed ?? false }
  after failure { remember failed = true }
}
"#

    GATE_ALONE "BP0441" "gate-alone" Warning
        "no prefilter repeats the gate over a ledger"
        "A gate keeps pods out of the queue and reserves nothing. When the sum leaves room for one pod, all pods that wait \
         pass the gate, and all are placed. The same condition in `prefilter` is evaluated in each attempt, with the \
         pods before it counted."
        bad r#"
/// Gives each team ten pods.
policy team-pods {
  let team = pod.labels["team"] ?? ""
  ledger placed: int by team { add 1 }
  gate "the team has ten pods" when placed[team] >= 10
}
"#
        good r#"
/// Gives each team ten pods.
policy team-pods {
  let team = pod.labels["team"] ?? ""
  ledger placed: int by team { add 1 }
  gate "the team has ten pods" when placed[team] >= 10
  prefilter { reject "the team has ten pods" when placed[team] >= 10 }
}
"#

    WRITTEN_ALREADY "BP0442" "written-already" Warning
        "the key has the written value already"
        "The conditions of the policy, or of the statement, say that the pod has this label or annotation with this value. \
         Writing it changes nothing."
        bad r#"
/// Marks the pods of the shop.
policy shop-mark {
  applies when pod.labels["shop"] == "yes"
  reserve { label pod {"shop": "yes"} }
}
"#
        good r#"
/// Marks the pods of the shop.
policy shop-mark {
  applies when pod.namespace == "shop"
  reserve { label pod {"shop": "yes"} }
}
"#

    UNKNOWN_VALUE "BP0443" "unknown-value" Warning
        "a field is compared with a value that it never has"
        "All values of some fields are known: of `pod.qos`, `pod.phase`, and the effects of taints and tolerations. They are \
         written as Kubernetes writes them, with upper and lower case."
        bad r#"
/// Keeps guaranteed pods off spot nodes.
policy no-spot {
  applies when pod.qos == "guaranteed"
  filter spot { reject "spot node(s)" when node.labels["spot"] == "true" }
}
"#
        good r#"
/// Keeps guaranteed pods off spot nodes.
policy no-spot {
  applies when pod.qos == "Guaranteed"
  filter spot { reject "spot node(s)" when node.labels["spot"] == "true" }
}
"#

    LATE_BY_NODE "BP0446" "late-by-node" Warning
        "a rule refuses by the node once the node is chosen"
        "`reserve` and `permit` run once a node is chosen. A refusal there ends the attempt: no other node is tried, and the \
         next attempt may choose the same node again, so that the pod waits although another node would do. A filter \
         decides on each node before one is chosen; there, the pod is not yet counted on the node."
        bad r#"
/// Keeps pods off nodes that drain.
policy draining {
  reserve { reject "the node drains" when node.labels["draining"] == "yes" }
}
"#
        good r#"
/// Keeps pods off nodes that drain.
policy draining {
  filter stays { reject "node(s) that drain" when node.labels["draining"] == "yes" }
}
"#

    OWN_KIND "BP0448" "own-kind" Warning
        "the policy writes objects that the scheduler writes itself"
        "The scheduler gives volumes and devices to claims. A policy that writes volumes or claims could give the volume or the \
         device of one team to another, so `bayplan run` loads it only if `--policy-writes` names the kind."
        bad r#"
/// Marks the volume that a pod names.
policy volume-mark {
  let volume = lookup("PersistentVolume", pod.labels["volume"] ?? "") missing skip
  before bind { label volume {"example.com/used": "yes"} }
}
"#
        good r#"
/// Notes on the pod where the volume that it names is.
policy volume-mark {
  let volume = lookup("PersistentVolume", pod.labels["volume"] ?? "") missing skip
  reserve { annotate pod {"example.com/volume": volume.name} }
}
"#

    QUEUE_NOT_COUNTED "BP0451" "queue-not-counted" Warning
        "`queue by` of a policy that does not decide"
        "A policy that does not decide changes nothing: its `queue by` does not order the queue. Another order is not a \
         number of pods that would wait or move, so nothing is counted for it."
        bad r#"
/// Schedules pods of higher priority first, and tries a rule.
policy by-priority {
  mode audit
  queue by desc pod.priority
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Schedules pods of higher priority first, and tries a rule.
policy by-priority {
  queue by desc pod.priority
  filter ready {
    mode audit
    require node.ready else "node(s) not ready"
  }
}
"#

    MODE_DUE "BP0452" "mode-due" Warning
        "the day until which a mode was meant is over"
        "A rule that does not decide was to be tried until that day. The mode does not change by itself: the rule goes on \
         counting until its text says something else."
        bad r#"
/// Tries a rule.
policy trial {
  mode audit until 2020-01-31
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off nodes that are not ready.
policy ready {
  mode enforce
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    EXCEPTION_ENDS "BP0453" "exception-ends" Warning
        "an exception ends soon, is over, or has no end"
        "An exception holds up to the end of its day (UTC). From then on the policy or rule is for its pods again, and may \
         refuse them. Bayplan reports it from 14 days before the end, and after it, because it then has no effect. \
         It also reports an end in more than 100 years: what always holds is for the rule itself."
        bad r#"
/// Keeps pods off nodes that are not ready.
policy ready {
  except until 2020-01-31 because "OPS-123: batch moves in January" when pod.namespace == "batch"
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off nodes that are not ready.
policy ready {
  except until 2099-01-31 because "OPS-123: batch moves one day" when pod.namespace == "batch"
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    EXCEPTION_WITHOUT_EFFECT "BP0454" "exception-without-effect" Warning
        "an exception from a policy or rule that is not there"
        "An exception outside of a policy names the policy, or the policy and one of its rules: a filter, a score, \
         `gate`, `prefilter`, `reserve`, `permit` or `preempt`. Without that rule the exception does nothing, and its pods are not left alone."
        bad r#"
except ready/redy until 2099-01-31 because "OPS-123: batch moves" when pod.namespace == "batch"

/// Keeps pods off nodes that are not ready.
policy ready {
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
except ready/ready until 2099-01-31 because "OPS-123: batch moves" when pod.namespace == "batch"

/// Keeps pods off nodes that are not ready.
policy ready {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    VICTIM_WITHOUT_BOUND "BP0459" "victim-without-bound" Warning
        "a `victim` names pods of any priority"
        "Where priorities decide, a pod evicts only pods that cannot evict it. A rule that says nothing of the priority of \
         the pods that it names may let two pods evict each other in turns, as often as their controllers make them anew."
        bad r#"
/// Lets batch make room.
policy batch-yields {
  preempt { victim v when v.namespace == "batch" }
}
"#
        good r#"
/// Lets batch make room.
policy batch-yields {
  preempt { victim v when v.namespace == "batch" && v.priority < pod.priority }
}
"#
}
