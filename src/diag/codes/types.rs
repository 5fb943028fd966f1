//! BP01: types, units and values.

codes! {
    UNKNOWN_FIELD "BP0101" "unknown-field" Error
        "the value does not have this field"
        "`bayplan help fields` lists the fields of pods, nodes and namespaces. Write labels and annotations \
         as `pod.labels[\"key\"]`, resources as `pod.requests.cpu` or `pod.requests[\"nvidia.com/gpu\"]`. All \
         other fields of the API are under `spec`, `status` and `metadata`."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.redy else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    UNKNOWN_FUNCTION "BP0102" "unknown-function" Error
        "the function or method does not exist"
        "`bayplan help functions` lists the functions with their parameters. A method belongs to a type: a \
         string has `startsWith`, a list has `exists`."
        bad r#"
/// Keeps pods off build nodes.
policy build {
  filter name { reject "build node(s)" when node.name.beginsWith("build-") }
}
"#
        good r#"
/// Keeps pods off build nodes.
policy build {
  filter name { reject "build node(s)" when node.name.startsWith("build-") }
}
"#

    TYPE_MISMATCH "BP0103" "type-mismatch" Error
        "the value has the wrong type"
        "Every expression has a type. Only an int becomes a float or a count by itself. Write all other \
         conversions: `int(pod.annotations[\"size\"])`, `string(n)`."
        bad r#"
/// Keeps pods off nodes with a GPU.
policy no-gpu {
  filter gpu { reject "node(s) with GPU" when node.labels["gpu"] == true }
}
"#
        good r#"
/// Keeps pods off nodes with a GPU.
policy no-gpu {
  filter gpu { reject "node(s) with GPU" when node.labels["gpu"] == "true" }
}
"#

    MIXED_UNITS "BP0104" "mixed-units" Error
        "two amounts have different units"
        "Amounts can be added, subtracted and compared only with amounts of the same unit; `0` fits every \
         unit. An amount divided by one of the same unit is a float. An amount times a number keeps its \
         unit. An amount of a resource with a computed name (`node.free[r]`) fits amounts of the same \
         name only, where `r` is known."
        bad r#"
/// Keeps pods off full nodes.
policy room {
  filter memory { require node.free.cpu >= pod.requests.memory else "node(s) without room" }
}
"#
        good r#"
/// Keeps pods off full nodes.
policy room {
  filter memory { require node.free.memory >= pod.requests.memory else "node(s) without room" }
}
"#

    ABSENT_VALUE "BP0105" "absent-value" Error
        "the value may be absent, and this place needs one"
        "Labels, annotations, optional fields and quotients may be absent; their type ends with `?`. `==`, \
         `!=`, `in` and `has` accept such a value. Everything else needs a default (`x ?? 0`) or a check \
         first: `has(x) && …`, `require has(x) else …`, `… when has(x)`. What is written alike is narrowed: \
         paths, lets, params, calls. Where elements may themselves be absent, a key in a map and an index \
         below the size show no value."
        bad r#"
/// Keeps team a on its nodes.
policy team-a {
  filter team { require pod.labels["team"].startsWith("a") else "node(s) of team a" }
}
"#
        good r#"
/// Keeps team a on its nodes.
policy team-a {
  filter team { require (pod.labels["team"] ?? "").startsWith("a") else "node(s) of team a" }
}
"#

    NOT_A_CONDITION "BP0106" "not-a-condition" Error
        "a condition must be true or false"
        "`when`, `require`, `until`, `where`, `&&`, `||` and `!` take a bool: a comparison, `has(x)`, \
         `x in y`."
        bad r#"
/// Keeps pods off nodes without a rack.
policy racks {
  filter rack { require node.labels["rack"] else "node(s) without a rack" }
}
"#
        good r#"
/// Keeps pods off nodes without a rack.
policy racks {
  filter rack { require has(node.labels["rack"]) else "node(s) without a rack" }
}
"#

    NUMBER_WITHOUT_UNIT "BP0107" "number-without-unit" Error
        "the number needs a unit"
        "Write the unit: `2cpu`, `500m`, `4Gi`, `30s`. `0` needs none."
        bad r#"
/// Keeps pods off small nodes.
policy room {
  filter cpu { require node.free.cpu > 2 else "node(s) without 2 free CPUs" }
}
"#
        good r#"
/// Keeps pods off small nodes.
policy room {
  filter cpu { require node.free.cpu > 2cpu else "node(s) without 2 free CPUs" }
}
"#

    NOT_CONSTANT "BP0108" "not-constant" Error
        "this place needs a constant"
        "Patterns, time windows, time zones, kinds and weights must be known when the policy is loaded: \
         literals, params, and lets made of them."
        bad r#"
/// Keeps pods on nodes of their name.
policy named {
  filter name { require node.name.matches(pod.name) else "node(s) of another name" }
}
"#
        good r#"
/// Keeps pods on nodes of their name.
policy named {
  filter name { require node.name.contains(pod.name) else "node(s) of another name" }
}
"#

    WRONG_ARGUMENTS "BP0109" "wrong-arguments" Error
        "the arguments do not fit the function"
        "`bayplan help functions NAME` prints the parameters of a function."
        bad r#"
/// Keeps pods off build nodes.
policy build {
  filter name { reject "build node(s)" when node.name.startsWith() }
}
"#
        good r#"
/// Keeps pods off build nodes.
policy build {
  filter name { reject "build node(s)" when node.name.startsWith("build-") }
}
"#

    SCORE_RANGE "BP0110" "score-range" Error
        "the score may leave the range 0 to 100"
        "A score without `normalize` must lie in 0 to 100 for all values of its parts. Use \
         `percent(a, b)` or `clamp(x, 0, 100)`, or spread the values with `normalize max` or \
         `normalize minmax`."
        bad r#"
/// Prefers full nodes.
policy full {
  score pods { give node.pods.size() }
}
"#
        good r#"
/// Prefers full nodes.
policy full {
  score pods normalize max { give node.pods.size() }
}
"#

    OVERFLOW "BP0111" "overflow" Error
        "the result of constants is out of range"
        "At run time a number stops at the end of its range. Between constants that is a mistake."
        bad r#"
/// Prefers full nodes.
policy full {
  param bonus = 9223372036854775807 + 1
  score pods normalize max { give node.pods.size() + bonus }
}
"#
        good r#"
/// Prefers full nodes.
policy full {
  param bonus = 1000 + 1
  score pods normalize max { give node.pods.size() + bonus }
}
"#

    BAD_CONSTANT "BP0112" "bad-constant" Error
        "a pattern, time window, time zone or timestamp is malformed"
        "Constant arguments are read when the policy is loaded. The message says what is wrong with them."
        bad r#"
/// Keeps pods on named nodes.
policy named {
  filter name { require node.name.matches("gpu-(") else "node(s) of another name" }
}
"#
        good r#"
/// Keeps pods on named nodes.
policy named {
  filter name { require node.name.matches("gpu-.") else "node(s) of another name" }
}
"#

    NULL_COMPARISON "BP0113" "null-comparison" Error
        "the language writes `none` instead of `null`"
        "`x == none`, `x != none` and `has(x)` tell whether a value is there."
        bad r#"
/// Keeps pods of a team.
policy team {
  prefilter { reject "no team" when pod.labels["team"] == null }
}
"#
        good r#"
/// Keeps pods of a team.
policy team {
  prefilter { reject "no team" when pod.labels["team"] == none }
}
"#

    DYNAMIC_VALUE "BP0114" "dynamic-value" Error
        "the value has no known type"
        "JSON without a schema can be compared with `==` and `!=`, and it has fields, indices and `has`. \
         Convert it for anything else: `int(x) ?? 0`, `string(x) ?? \"\"`."
        bad r#"
/// Refuses probes of low ports.
policy ports {
  prefilter { reject "low port" when pod.spec.containers[0].livenessProbe.httpGet.port < 1024 }
}
"#
        good r#"
/// Refuses probes of low ports.
policy ports {
  prefilter {
    reject "low port" when (int(pod.spec.containers[0].livenessProbe.httpGet.port) ?? 8080) < 1024
  }
}
"#

    CHAINED_COMPARISON "BP0115" "chained-comparison" Error
        "comparisons cannot be chained"
        "`a < b < c` would compare a bool with a number. Write `a < b && b < c`."
        bad r#"
/// Keeps pods of middle priority.
policy middle {
  filter f { require 1 < pod.priority < 5 else "pods of middle priority" }
}
"#
        good r#"
/// Keeps pods of middle priority.
policy middle {
  filter f { require 1 < pod.priority && pod.priority < 5 else "pods of middle priority" }
}
"#

    BAD_TYPE "BP0116" "bad-type" Error
        "the type does not exist"
        "Types are `bool int float uint string time duration cpu bytes count resources blob dyn`, `list<T>`, \
         `set<T>`, `map<K, V>`, `pod`, `node`, `container`, records, and what `type` declares. `T?` may be \
         absent."
        bad r#"
/// Keeps pods off small nodes.
policy room {
  param least: integer = 3
  filter p { require node.pods.size() > least else "node(s) without room" }
}
"#
        good r#"
/// Keeps pods off small nodes.
policy room {
  param least: int = 3
  filter p { require node.pods.size() > least else "node(s) without room" }
}
"#

    WAIT_TOO_LONG "BP0118" "wait-too-long" Error
        "a pod waits at most 15 minutes"
        "While a pod waits at permit, the resources it needs stay reserved on its node. So a wait ends \
         after at most 15 minutes."
        bad r#"
/// Starts pods of a namespace together.
policy gang {
  group g = p in pods where p.namespace == pod.namespace
  permit { wait 1h for g until g.count() > 3 else "too few pods" }
}
"#
        good r#"
/// Starts pods of a namespace together.
policy gang {
  group g = p in pods where p.namespace == pod.namespace
  permit { wait 10min for g until g.count() > 3 else "too few pods" }
}
"#

    BAD_WEIGHT "BP0119" "bad-weight" Error
        "a weight is a whole number from 1 to 1000000"
        "The weight of a score is a constant: a literal or a param."
        bad r#"
/// Prefers ready nodes.
policy healthy {
  score ready weight 0 { give 100 when node.ready }
}
"#
        good r#"
/// Prefers ready nodes.
policy healthy {
  score ready weight 2 { give 100 when node.ready }
}
"#

    BAD_ARGUMENT "BP0120" "bad-argument" Error
        "the argument does not fit its param"
        "The arguments of a policy are in `pluginConfig`; amounts are strings (`\"500m\"`, `\"60s\"`, \
         `\"30%\"`). They must fit the type and the range of the param, and the policy is checked again with \
         them. The same holds for the default of a param."
        in ""
        bad "`pluginConfig: [{name: room, args: {least: 30%}}]` for `param least: int = 3`"
        good "`pluginConfig: [{name: room, args: {least: 4}}]` for `param least: int = 3`"

    TOO_COSTLY "BP0121" "too-costly" Error
        "the rule may take too many steps"
        "Every rule has a bound: the most steps that it takes for one pod on a cluster of 5,000 nodes and \
         100,000 pods, or of the size that `--size` declares. A rule may take 10,000,000 steps, all rules of \
         a policy 100,000,000, and all policies together 1,000,000,000 with 500,000 expressions and 16 MiB of compiled patterns. A match \
         costs the bytes of the text times the states of the compiled pattern; `findAll` costs that again for \
         each byte of its longest match. A condition that compares an element of a collection with a value of the node \
         for equality is a lookup: it costs one pass over the collection. In CEL neither side may end with an error, which would \
         count for each element: `s.?node.?labels[?\"rack\"] == node.labels[?\"rack\"]`, or \
         `has` and `in` in front. A `group` keeps its pods by a value, and a `ledger` a number by what pods and their nodes are, such as \
         `by [pod.namespace, pod.labels[\"app\"] ?? \"\", node.labels[\"rack\"] ?? \"\"]`. `// bayplan: allow(too-costly) because …` above a rule lifts the limit."
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

    VALUE_TOO_LARGE "BP0122" "value-too-large" Error
        "a computed string or list may become too large"
        "A computed string has at most 1 MiB. A computed list has at most 100,000 elements, unless it \
         filters or maps a collection of the cluster. The bound follows from the sizes in the table of \
         fields: a label has 63 bytes, an annotation 256 KiB."
        bad r#"
/// Refuses long notes.
policy notes {
  let note = pod.annotations["note"] ?? ""
  let long = note + note + note + note + note
  prefilter { reject "long note" when long.size() > 10 }
}
"#
        good r#"
/// Refuses long notes.
policy notes {
  let note = pod.annotations["note"] ?? ""
  let long = note + note
  prefilter { reject "long note" when long.size() > 10 }
}
"#

    MUST_NOT_FAIL "BP0124" "must-not-fail" Error
        "a value that must always exist may be an error"
        "An expression of CEL may end with an error, and `onError` says what a rule does then. Keys of the queue, \
         keys and amounts of ledgers, conditions of groups and the time of a wait have no such answer: write them so that no error is possible, with \
         `has(…)` or `\"key\" in map` in front, `orValue(…)`, or a comparison before a division."
        in "newest.yaml"
        bad r#"
# Old pods come first.
apiVersion: bayplan.dev/v1
kind: SchedulingPolicy
metadata: {name: rank}
spec:
  queueBy:
  - expression: int(pod.labels["rank"])
"#
        good r#"
# Old pods come first.
apiVersion: bayplan.dev/v1
kind: SchedulingPolicy
metadata: {name: rank}
spec:
  queueBy:
  - expression: pod.labels[?"rank"].orValue("none")
"#

    LEDGER_TYPE "BP0140" "ledger-type" Error
        "a ledger cannot keep such sums"
        "The sums of a ledger are `int`, an amount with a unit, `resources` or `set<T>`. Sums of floats do not come \
         apart again when a pod goes. Keys are strings, numbers, amounts, times and bools, or a list of one of these."
        bad r#"
/// Limits the load of a team.
policy team-load {
  let team = pod.labels["team"] ?? ""
  ledger load: float by team { add float(pod.labels["load"]) ?? 0.0 }
  prefilter { reject "the team has too much load" when load[team] > 10.0 }
}
"#
        good r#"
/// Limits the load of a team.
policy team-load {
  let team = pod.labels["team"] ?? ""
  ledger load: int by team { add int(pod.labels["load"]) ?? 0 }
  prefilter { reject "the team has too much load" when load[team] > 10 }
}
"#

    LEDGER_KEY_ABSENT "BP0141" "ledger-key-absent" Error
        "the key of a ledger or memo may be absent"
        "A pod is counted under one key, and a sum or a memo is read under one. Give the key a default with `??`, or say in \
         `applies when` that it is there."
        bad r#"
/// Limits the pods of a team.
policy team-pods {
  ledger placed: int by pod.labels["team"] { add 1 }
  prefilter { reject "the team has 20 pods" when placed[pod.labels["team"] ?? ""] >= 20 }
}
"#
        good r#"
/// Limits the pods of a team.
policy team-pods {
  applies when has(pod.labels["team"])
  ledger placed: int by pod.labels["team"] { add 1 }
  prefilter { reject "the team has 20 pods" when placed[pod.labels["team"]] >= 20 }
}
"#

    SOURCE_FORM "BP0150" "source-form" Error
        "a source is written in another way"
        "A source is made of `metrics(window: D, max_age: D)`, with constant lengths of time from 15 seconds, which is how \
         often the metrics API is polled, to an hour."
        bad r#"
/// Keeps pods off busy nodes.
policy cool-nodes {
  source load = metrics(window: 2h, max_age: 2min)
  filter cool { reject "node(s) busy" when (load[node.name].cpu.mean ?? 0cpu) > 4cpu }
}
"#
        good r#"
/// Keeps pods off busy nodes.
policy cool-nodes {
  source load = metrics(window: 30min, max_age: 2min)
  filter cool { reject "node(s) busy" when (load[node.name].cpu.mean ?? 0cpu) > 4cpu }
}
"#

    MEMO_TYPE "BP0160" "memo-type" Error
        "a memo cannot keep this"
        "A memo keeps a string, a number, an amount, a time or a bool. Its keys are such values, or a list of one of \
         these. Its time is a constant duration that is not negative; `0s` keeps nothing."
        bad r#"
/// Lets a job rest that has just failed.
policy rest {
  memo failed: list<string> by pod.labels["job"] ?? "" ttl 1min
  prefilter { reject "the job has just failed" when has(failed) }
}
"#
        good r#"
/// Lets a job rest that has just failed.
policy rest {
  memo failed: time by pod.labels["job"] ?? "" ttl 1min
  prefilter { reject "the job has just failed" when has(failed) }
}
"#
}
