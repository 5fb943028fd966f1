//! The one table of everything that can be said about a policy or a configuration.
//!
//! A row is written by hand and never reused: its id, the slug that `// bayplan: allow(slug) because …`
//! names, its severity, one line, and what `lint --explain` prints. Read by every room that makes
//! diagnostics, by `cli` and by the test that compares ids and slugs.
//!
//! Ids by hundreds: 00 reading a text, 01 types and units, 02 statements and names, 03 what only a cluster
//! can tell, 04 lints, 05 YAML and configuration, 09 what is not built.

use super::Severity;

/// A row of the table.
pub struct Code {
    /// `BP` and four digits; never reused.
    pub id: &'static str,
    /// The name in suppression comments, in the docs and in JSON.
    pub slug: &'static str,
    /// How much it weighs unless an option says otherwise.
    pub severity: Severity,
    /// One line, for lists of codes.
    pub title: &'static str,
    /// What it means and what to do, for `lint --explain`.
    pub explanation: &'static str,
}

/// Where the documentation is published.
const SITE: &str = "https://bayplan.dev/";

impl Code {
    /// The page of the documentation about this code, and the place on it.
    pub fn page(&self) -> String {
        format!("docs/codes.md#{}", self.id.to_ascii_lowercase())
    }

    /// The address of that page.
    pub fn url(&self) -> String {
        format!("{SITE}{}", self.page())
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.id, self.slug)
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Code {}

/// The row of an id (`BP0104`) or a slug (`mixed-units`).
pub fn find(id_or_slug: &str) -> Option<&'static Code> {
    CODES.iter().copied().find(|code| code.id.eq_ignore_ascii_case(id_or_slug) || code.slug == id_or_slug)
}

macro_rules! codes {
    ($($name:ident $id:literal $slug:literal $severity:ident $title:literal $explanation:literal)*) => {
        $(
            #[doc = $title]
            pub static $name: Code = Code {
                id: $id,
                slug: $slug,
                severity: Severity::$severity,
                title: $title,
                explanation: $explanation,
            };
        )*

        /// Every row, in the order of the ids.
        pub static CODES: &[&Code] = &[$(&$name),*];
    };
}

codes! {
    SYNTAX "BP0001" "syntax" Error
        "the text is not what the grammar allows here"
        "The parser met something that no statement or expression may hold at this place. The message names \
         what it met and what could have stood there. Other mistakes of the file are reported as well: each \
         statement is read on its own."

    UNKNOWN_STATEMENT "BP0002" "unknown-statement" Error
        "a word that begins no statement"
        "A statement begins with one of the words of the language (`filter`, `score`, `require`, `reject`, …). \
         The word found is none of them; the nearest one is named."

    MISPLACED_STATEMENT "BP0003" "misplaced-statement" Error
        "a statement in a block where it has no meaning"
        "Each block has its own statements: `require` and `reject` in a `filter`, `give` in a `score`, `wait` \
         in a `permit`, `only` in a `prefilter`. `let` may stand in all of them."

    UNCLOSED "BP0004" "unclosed" Error
        "a bracket, quote or comment without an end"
        "The place shown is the one that opens. A string in one pair of quotes ends on its line; write `\"\"\"` \
         for a string of several lines."

    TOO_LARGE "BP0005" "too-large" Error
        "a limit of the language is passed"
        "A policy file has at most 1 MiB, 100 levels of brackets, and 1,000 operators in one expression: these \
         limits are checked before the text is parsed. An expression has at most 20,000 parts and 1,000 levels, a \
         policy 1,000,000 parts, where each let, def, group and type counts wherever it is named. A policy has at most \
         100 groups."

    BAD_ESCAPE "BP0006" "bad-escape" Error
        "an unknown escape in a string"
        "Strings know CEL's escapes: \\a \\b \\f \\n \\r \\t \\v \\\\ \\? \\\" \\' \\` \\xHH \\uHHHH \\UHHHHHHHH \
         and \\OOO in octal. Write r\"…\" for a string without escapes."

    BAD_NUMBER "BP0007" "bad-number" Error
        "a number out of range, or with a unit that does not exist"
        "Whole numbers and amounts have 64 bits. Units are `m` and `cpu` (processors), `k M G T P E` and \
         `Ki Mi Gi Ti Pi Ei` and `B` (bytes), `ms s min h d` (durations) and `%` (shares). A number with a unit \
         must be whole in its base unit: millicores, bytes, nanoseconds."

    FOREIGN_WORD "BP0008" "foreign-word" Error
        "an operator or a word of another language"
        "`&&`, `||` and `!` are written as in CEL; `==` compares and `=` names; a condition is written behind \
         its statement with `when`, there is no `if`."

    LABEL_KEY_BRACKETS "BP0009" "label-key-brackets" Error
        "a label key with `.` or `/` that is not in brackets"
        "`node.labels.topology.kubernetes.io/zone` reads as a path of four fields divided by `zone`. Write \
         `node.labels[\"topology.kubernetes.io/zone\"]`."

    NOT_UTF8 "BP0010" "not-utf8" Error
        "the file is no UTF-8 text"
        "Policies and configurations are read as UTF-8. The place shown is the first byte that is none."

    DUPLICATE_CLAUSE "BP0011" "duplicate-clause" Error
        "a part of a statement that is written twice"
        "A statement has each of its parts once."

    RESERVED_NAME "BP0012" "reserved-name" Error
        "a name that the language keeps for itself"
        "Reserved are CEL's reserved words and `none`. What a policy declares may not be called like a word of \
         a statement either."

    LANGUAGE_VERSION "BP0013" "language-version" Error
        "a language version that this release does not know"
        "`policy NAME version 1 { … }`: the number is that of the language, not of the policy."

    BAD_ALLOW "BP0014" "bad-allow" Warning
        "a comment for the linter that it does not understand"
        "`// bayplan: allow(slug) because …` on an item or statement silences one finding there. The slug is \
         printed with the finding."

    UNKNOWN_FIELD "BP0101" "unknown-field" Error
        "a field that the value does not have"
        "Fields of pods, nodes and namespaces are listed in the reference. Labels and annotations are read with \
         `pod.labels[\"key\"]`, resources with `pod.requests.cpu` or `pod.requests[\"nvidia.com/gpu\"]`. What the \
         API has beside these is under `spec`, `status` and `metadata`."

    UNKNOWN_FUNCTION "BP0102" "unknown-function" Error
        "a function or method that does not exist"
        "Functions are listed in the reference with their parameters. A method belongs to the types it is \
         listed with: a text has `startsWith`, a list has `exists`."

    TYPE_MISMATCH "BP0103" "type-mismatch" Error
        "a value of another type is wanted here"
        "Every expression has a type, and nothing is converted but an int to a float and a count. Conversions \
         are written: `int(pod.annotations[\"size\"])`, `string(n)`."

    MIXED_UNITS "BP0104" "mixed-units" Error
        "two amounts of different units meet"
        "Amounts with a unit are added to and compared with amounts of the same unit only; `0` fits every \
         unit. A unit divided by the same unit is a float, a unit times a number is the unit."

    ABSENT_VALUE "BP0105" "absent-value" Error
        "a value that may be absent is used where one is wanted"
        "A label, an optional field, a quotient and whatever else may have no value has a type with `?`. \
         `==`, `!=`, `in` and `has` take it as it is. Everything else wants a value: give a default with `??`, \
         or look first: `has(x) && …`, `require has(x) else …`, `… when has(x)`."

    NOT_A_CONDITION "BP0106" "not-a-condition" Error
        "a condition is true or false"
        "After `when`, `require`, `until` and `where`, and around `&&`, `||` and `!`, stands what is true or \
         false: a comparison, `has(x)`, `x in y`."

    NUMBER_WITHOUT_UNIT "BP0107" "number-without-unit" Error
        "an amount with a unit meets a number without one"
        "Write the unit: `2cpu`, `500m`, `4Gi`, `30s`. `0` needs none."

    NOT_CONSTANT "BP0108" "not-constant" Error
        "a constant is wanted here"
        "Patterns, time windows, time zones, kinds and weights are known when the policy is loaded: literals, \
         params, and lets made of these."

    WRONG_ARGUMENTS "BP0109" "wrong-arguments" Error
        "the arguments do not fit the function"
        "The reference lists the parameters of every function."

    SCORE_RANGE "BP0110" "score-range" Error
        "a score that may leave 0 to 100"
        "A score without `normalize` is proved to lie in 0 to 100, from the ranges of what it is made of. Use \
         `percent(a, b)`, `clamp(x, 0, 100)`, or let the values be spread: `normalize max`, `normalize minmax`."

    OVERFLOW "BP0111" "overflow" Error
        "constants whose result leaves its range"
        "At run time a number stops at the end of its range. Between constants it is a mistake."

    BAD_CONSTANT "BP0112" "bad-constant" Error
        "a pattern, window, time zone or text that cannot be read"
        "Constant arguments are read when the policy is loaded."

    NULL_COMPARISON "BP0113" "null-comparison" Error
        "`null` where `none` is meant"
        "Whether a value is there is asked with `x == none`, `x != none` or `has(x)`."

    DYNAMIC_VALUE "BP0114" "dynamic-value" Error
        "a value without a known type is used"
        "JSON without a schema knows `==`, `!=`, fields, indices and `has`. Convert it for anything else: \
         `int(x) ?? 0`, `string(x) ?? \"\"`."

    CHAINED_COMPARISON "BP0115" "chained-comparison" Error
        "`a < b < c` compares a truth with a number"
        "Write `a < b && b < c`."

    BAD_TYPE "BP0116" "bad-type" Error
        "a type that does not exist"
        "Types are `bool int float uint string time duration cpu bytes count resources blob dyn`, `list<T>`, \
         `set<T>`, `map<K, V>`, `pod`, `node`, `container`, records and what `type` declares; `T?` may be \
         absent."

    WAIT_TOO_LONG "BP0118" "wait-too-long" Error
        "a wait of more than 15 minutes"
        "A pod waits at permit for at most 15 minutes; its room on the node is held meanwhile."

    BAD_WEIGHT "BP0119" "bad-weight" Error
        "a weight that is no whole number from 1 up"
        "The weight of a score is a constant of at least 1."

    BAD_ARGUMENT "BP0120" "bad-argument" Error
        "an argument that does not fit its param"
        "Arguments of a policy stand in `pluginConfig`; amounts are texts (`\"500m\"`, `\"60s\"`, `\"30%\"`). \
         They are checked against the type and the range of the param, and the policy is checked with them."

    TOO_COSTLY "BP0121" "too-costly" Error
        "a rule that may take too many steps"
        "Every rule has a bound: how many steps it takes for one pod at most, on a cluster of 5,000 nodes and 100,000 \
         pods unless `--size` says else. More than 10,000,000 are refused, and \
         more than 100,000,000 of the rules of a policy together. An equality between something of a \
         collection's elements and something of the node is a lookup and costs as much as the collection is large, \
         once; a `group` keeps pods by a value. Above a rule, `// bayplan: allow(too-costly) because …` lifts the \
         limit for it."

    VALUE_TOO_LARGE "BP0122" "value-too-large" Error
        "a computed text or list that may become too large"
        "A computed text has at most 1 MiB, a computed list at most 100,000 elements unless it is a filtered or \
         mapped collection of the cluster. The sizes of what it is made of are those of the field table: a label \
         has 63 bytes, an annotation 256 KiB."

    UNKNOWN_NAME "BP0201" "unknown-name" Error
        "a name that nothing declares"
        "Known are `pod`, `node`, `ns`, `nodes`, `pods`, `nominated`, what the policy declares, the file's defs \
         and types, and the lets above in the same block."

    DUPLICATE_NAME "BP0202" "duplicate-name" Error
        "a name that is declared twice"
        "Names of a policy are declared once; names of filters and scores too."

    HIDDEN_NAME "BP0203" "hidden-name" Error
        "a declaration that would hide a name"
        "Only the variable of a macro may be called like something else. A name of ours, of a function or of \
         the policy means the same everywhere."

    RECURSION "BP0204" "recursion" Error
        "a name that is defined by itself"
        "There is no recursion: what a let, def or group stands for must not need itself."

    NOT_SEEN_HERE "BP0205" "not-seen-here" Error
        "a name that this statement does not see"
        "`node` is there in `filter`, `score`, `prefer` and `permit`; `applies when` sees the pod and its \
         namespace only, since it is decided before any node is looked at. The reference has the table."

    DUPLICATE_STATEMENT "BP0206" "duplicate-statement" Error
        "a statement that a policy has once"
        "A policy has one `queue by`; its keys stand behind each other."

    GROUP_WITHOUT_KEY "BP0207" "group-without-key" Error
        "a group that no equality keeps together"
        "A group is kept indexed by conjuncts `p.path == pod.path`; one is needed."

    GROUP_NOT_MUTUAL "BP0208" "group-not-mutual" Error
        "a wait for a group whose membership is not mutual"
        "`wait … for G` is the group's: who is in whose group must be the same for all members, so its \
         condition may hold equalities of the same path on both sides only."

    POLICY_NAME_CLASH "BP0209" "policy-name-clash" Error
        "two policies of one name"
        "A policy is a plugin of its own name; a name is given once."

    MISSING_IN_BLOCK "BP0210" "missing-in-block" Error
        "`missing` behind a let of a block"
        "What happens when a value is absent is decided for the whole policy: write the let in the policy."

    ALWAYS "BP0401" "always" Warning
        "a condition that is always true or always false"
        "From the ranges of its parts the condition has one outcome for every pod and node, so the statement \
         does always or never what it says."

    CONTRADICTION "BP0402" "contradiction" Warning
        "conditions that exclude each other"
        "What stands to the left, or was required before, leaves no value for which this holds."

    UNUSED "BP0403" "unused" Warning
        "a declaration that nothing uses"
        "Remove it, or use it."

    UNREACHABLE_GIVE "BP0404" "unreachable-give" Warning
        "a `give` behind one that always holds"
        "The first `give` whose condition holds is taken; one without a condition ends the list."

    NEVER_ABSENT "BP0405" "never-absent" Warning
        "a default for what is never absent"
        "`??` gives its right side where the left one is absent; here it never is. `has` of it is always true."

    COALESCE_ARITHMETIC "BP0406" "coalesce-arithmetic" Warning
        "arithmetic to the right of `??`"
        "`x ?? 0 + 1` is `x ?? (0 + 1)`. Write the brackets that you mean."

    WHOLE_DIVISION "BP0407" "whole-division" Warning
        "a division of whole numbers where a fraction is wanted"
        "`int / int` is cut toward 0. Write `float(a) / b` or `share(a, b)`."

    MISSING_REASON "BP0408" "missing-reason" Warning
        "a `require` without a reason"
        "The reason is what the owner of the pod reads in the event: `3 node(s) without …`. Without one it is \
         the name of the policy and the filter."

    REASON_NAMES_OBJECT "BP0409" "reason-names-node" Warning
        "a reason that names a node or a pod"
        "Reasons are the grouping key of the event text: with a name in it, N nodes give N lines. Values of \
         one node go to `with { … }`."

    CONSTANT_SCORE "BP0410" "constant-score" Warning
        "a score that is the same for every node"
        "It moves no pod to another node."

    HIDES_NAME "BP0411" "hides-name" Warning
        "a macro's variable that hides a name"
        "Inside the macro the name means the variable."

    WAIT_WITHOUT_FOR "BP0412" "wait-without-for" Warning
        "a wait on a group that is each pod's own"
        "Without `for` each member has its own deadline, and a member that gives up leaves the others \
         waiting. `wait D for G until …` gives the group one deadline."

    CANNOT_BE_FILED "BP0413" "cannot-be-filed" Note
        "an `applies when` that every pod is asked"
        "A policy costs nothing for other pods when its condition has a conjunct `path == constant`, `path in \
         [constants]`, `has(path)` or `pod.requests[c] > 0`."

    WRONG_RESOLVABILITY "BP0414" "wrong-resolvability" Warning
        "`resolvable` or `unresolvable` against what is read"
        "Whether evicting pods can help follows from what the condition reads. The word before the reason \
         overrules it."

    MISSING_DOC "BP0415" "missing-doc" Note
        "a policy without a doc comment"
        "The `///` comment above a policy stands in explanations before its rules; it is what the owner of a \
         waiting pod reads first."

    UNUSED_ALLOW "BP0416" "unused-allow" Warning
        "a suppression of nothing"
        "The comment names a finding that is not made at this place. Remove it."

    SHARE_ABOVE_TWO "BP0417" "share-above-two" Warning
        "a share compared with a large number"
        "A share lies in 0 to 1: 80 percent are `80%` or 0.8."

    SCORE_IN_ZERO_TO_ONE "BP0418" "score-in-zero-to-one" Warning
        "a score that lies in 0 to 1"
        "Scores go from 0 to 100 and are cut to whole numbers; this one gives 0 nearly everywhere."

    QUADRATIC_RULE "BP0419" "quadratic-rule" Warning
        "a rule that grows with the square of the cluster"
        "For each node or pod it walks over all nodes or pods. On a cluster of the declared size it is within its \
         bound; on one of twice the size it takes four times as long."

    SHADOWED_RULE "BP0420" "shadowed-rule" Warning
        "a rule that an earlier one leaves nothing to"
        "A node gets the reason of the first statement that refuses it, a score the first `give` that holds. Whenever \
         this one could speak an earlier one has spoken."

    DUPLICATE_RULE "BP0421" "duplicate-rule" Warning
        "a rule that is there twice"
        "Two statements with one condition: only the first is ever seen. Two equal scores are one with the sum of \
         their weights."

    FOLDED_POLICY "BP0501" "folded-policy" Warning
        "a policy in a folded YAML scalar"
        "`>` joins the lines of the text, so a `//` comment swallows what follows it, and a message cannot \
         name the line that was meant. Write `|`."

    BAD_YAML "BP0502" "bad-yaml" Error
        "the file is not valid YAML or JSON"
        "The file could not be read as YAML; nothing of the document at this place is loaded."

    BAD_POLICY_MAP "BP0503" "bad-policy-map" Error
        "a ConfigMap of policies that cannot be read"
        "A ConfigMap labelled `bayplan.dev/policy` holds texts under keys that end in `.bay`."

    UNLABELLED_POLICY_MAP "BP0504" "unlabelled-policy-map" Warning
        "a ConfigMap with a policy and without our label"
        "Only ConfigMaps with the label `bayplan.dev/policy` are read by a scheduler; this one holds keys that \
         end in `.bay`, and nobody will read them."

    BAD_CONFIG "BP0505" "bad-config" Error
        "a scheduler configuration that cannot be used"
        "A `KubeSchedulerConfiguration` is read strictly, as kube-scheduler does: unknown fields, values of \
         another type or out of range, and plugins that do not exist are refused, with the place and \
         upstream's words."

    PLUGIN_NOT_BUILT "BP0506" "plugin-not-built" Warning
        "arguments of a plugin that this release does not have"
        "The configuration gives arguments to a plugin that is not built yet. They are accepted and have no \
         effect. A pod that needs the plugin (volumes, topology spread, pod affinity, resource claims) waits \
         where the plugin could refuse it and says what is not checked; where the plugin could only score, the \
         pod is placed. A profile that disables the plugin places all pods."

    BAD_OBJECT "BP0510" "bad-object" Error
        "an object of a cluster file that cannot be used"
        "The object is left out. The message names the field and says what Kubernetes would say of its value; \
         the place shown is that of the field, or of the object when a field is missing."

    SKIPPED_KINDS "BP0511" "skipped-kinds" Warning
        "objects of kinds that are not read"
        "A dry run reads nodes, pods, namespaces and ConfigMaps with policies; what else a file holds is counted \
         and left out."

    BAD_TEST "BP0512" "bad-test" Error
        "a test of policies that cannot be run"
        "A `*.test.yaml` file holds `policies`, `cluster` or `nodes`, and `cases`; each case has a `name`, a `pod` \
         or `pods`, and `expect`. Unknown fields are errors, so that a misspelt field cannot make a test pass."

    NAMESPACES_MISSING "BP0513" "namespaces-missing" Warning
        "a policy reads namespaces that the cluster file does not hold"
        "Without its Namespace object a namespace has no labels and annotations: conditions on them see absent \
         values, and the policy decides otherwise than in the cluster. Add the namespaces to the cluster file \
         (`kubectl get nodes,pods,namespaces -A -o json`), or write `namespaces:` in a test file."

    NOT_BUILT "BP0901" "not-built" Error
        "a part of the language that this release does not have"
        "The statement is part of the language, and this release refuses it rather than ignoring it."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_slugs_are_written_once_and_ids_ascend() {
        for pair in CODES.windows(2) {
            assert!(pair[0].id < pair[1].id, "{} before {}", pair[0].id, pair[1].id);
        }
        let mut slugs: Vec<_> = CODES.iter().map(|code| code.slug).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), CODES.len());
        assert!(find("bp0104").is_some_and(|code| code.slug == "mixed-units"));
        assert!(find("mixed-units").is_some_and(|code| code.id == "BP0104"));
    }
}
