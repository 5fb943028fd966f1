//! BP00: reading a text.

codes! {
    SYNTAX "BP0001" "syntax" Error
        "the text does not follow the grammar"
        "The parser found something that is not allowed here. The message names what it found and \
         what it expected. The parser reads each statement on its own, so the other mistakes of the file \
         are reported as well."
        bad r#"
/// Keeps pods off small nodes.
policy room {
  applies pod.priority > 0
  filter cpu { require node.free.cpu > 2cpu else "node(s) without 2 free CPUs" }
}
"#
        good r#"
/// Keeps pods off small nodes.
policy room {
  applies when pod.namespace == "shop"
  filter cpu { require node.free.cpu > 2cpu else "node(s) without 2 free CPUs" }
}
"#

    UNKNOWN_STATEMENT "BP0002" "unknown-statement" Error
        "no statement begins with this word"
        "A statement begins with a word of the language: `filter`, `score`, `require`, `reject` and so on. \
         The help names the nearest one."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { requre node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    MISPLACED_STATEMENT "BP0003" "misplaced-statement" Error
        "this block does not take the statement"
        "Each block takes its own statements: `filter` takes `require` and `reject`, `score` takes `give`, \
         `permit` takes `wait`, `prefilter` takes `only` and `reject`. Every block takes `let`."
        bad r#"
/// Prefers ready nodes.
policy healthy {
  filter ready { give 100 when node.ready }
}
"#
        good r#"
/// Prefers ready nodes.
policy healthy {
  score ready { give 100 when node.ready }
}
"#

    UNCLOSED "BP0004" "unclosed" Error
        "a bracket, quote or comment does not end, or ends nothing"
        "Every `{`, `(`, `[`, quote and `/*` needs its end. A string in single or double quotes ends on its \
         line; write `\"\"\"` for a string of several lines."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    TOO_LARGE "BP0005" "too-large" Error
        "the text exceeds a limit of the language"
        "A policy file has at most 1 MiB, 250,000 words and marks, 100 levels of brackets, and 1,000 operators \
         in one expression; these limits are checked before the text is parsed. An expression has at most \
         20,000 parts and 1,000 levels, all policies of a file together at most 500,000 parts, where each \
         let, def, group and type counts wherever it is used. A file has at most 1,000 policies, a policy \
         100 groups, a block 1,000 statements. A pattern has at most 16 KiB, and 1 MiB when compiled; all \
         patterns of a file together have at most 16 MiB. An expression in CEL has at most 16 KiB and 250 levels \
         of `? :` and brackets. Checking a file and computing its constants have \
         limits too. Everything is counted and nothing is timed, so that a file is refused on every machine \
         or on none; the message names the place that takes most."
        bad r#"
/// More than a hundred levels of brackets.
policy deep {
  filter f { require ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((node.ready)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))) else "node(s) not ready" }
}
"#
        good r#"
/// Brackets where they are needed.
policy deep {
  filter f { require (node.ready) else "node(s) not ready" }
}
"#

    BAD_ESCAPE "BP0006" "bad-escape" Error
        "the string holds an unknown escape"
        "Strings know CEL's escapes: \\a \\b \\f \\n \\r \\t \\v \\\\ \\? \\\" \\' \\` \\xHH \\uHHHH \\UHHHHHHHH \
         and \\OOO in octal. Write r\"…\" for a string without escapes."
        bad r#"
/// Keeps pods off build nodes.
policy build {
  filter name { reject "build node(s)" when node.name.matches("^build-\d+$") }
}
"#
        good r#"
/// Keeps pods off build nodes.
policy build {
  filter name { reject "build node(s)" when node.name.matches(r"^build-\d+$") }
}
"#

    BAD_NUMBER "BP0007" "bad-number" Error
        "a number is out of range or has an unknown unit"
        "Whole numbers and amounts have 64 bits. Units are `m` and `cpu` (processors), `k M G T P E`, \
         `Ki Mi Gi Ti Pi Ei` and `B` (bytes), `ms s min h d` (durations) and `%` (shares). A number with a \
         unit must be whole in its base unit: millicores, bytes, microseconds."
        bad r#"
/// Keeps pods off full nodes.
policy room {
  filter memory { require node.free.memory > 4GB else "node(s) without 4 GB" }
}
"#
        good r#"
/// Keeps pods off full nodes.
policy room {
  filter memory { require node.free.memory > 4G else "node(s) without 4 GB" }
}
"#

    FOREIGN_WORD "BP0008" "foreign-word" Error
        "an operator or word of another language"
        "Operators are those of CEL: `&&`, `||`, `!`, `==`. `=` only names a value. A condition follows its \
         statement after `when`; `if` is not a word of the language."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready and !node.unschedulable else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready && !node.unschedulable else "node(s) not ready" }
}
"#

    LABEL_KEY_BRACKETS "BP0009" "label-key-brackets" Error
        "a label key with `.` or `/` needs brackets"
        "The parser reads `node.labels.topology.kubernetes.io/zone` as a path of four fields divided by \
         `zone`. Write `node.labels[\"topology.kubernetes.io/zone\"]`."
        bad r#"
/// Keeps pods in one zone.
policy zonal {
  filter zone { require node.labels.topology.kubernetes.io/zone == "a" else "node(s) outside zone a" }
}
"#
        good r#"
/// Keeps pods in one zone.
policy zonal {
  filter zone { require node.labels["topology.kubernetes.io/zone"] == "a" else "node(s) outside zone a" }
}
"#

    NOT_UTF8 "BP0010" "not-utf8" Error
        "the file is not valid UTF-8"
        "Policies and configurations are UTF-8 text. The place shown is the first byte that does not fit."
        in ""
        bad "a file in Latin-1 or UTF-16, as some editors save it"
        good "the same file saved as UTF-8"

    DUPLICATE_CLAUSE "BP0011" "duplicate-clause" Error
        "a part of the statement is written twice"
        "A statement has each of its parts once: one `else`, one `when`, one `weight`."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" else "node(s) down" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    RESERVED_NAME "BP0012" "reserved-name" Error
        "the language reserves this name"
        "CEL's reserved words, `none`, and the words that begin statements cannot be names of lets, params, \
         defs, filters and scores."
        bad r#"
/// Keeps pods off small nodes.
policy room {
  filter cpu { require node.null > 2cpu else "node(s) without 2 free CPUs" }
}
"#
        good r#"
/// Keeps pods off small nodes.
policy room {
  filter cpu { require node.free.cpu > 2cpu else "node(s) without 2 free CPUs" }
}
"#

    LANGUAGE_VERSION "BP0013" "language-version" Error
        "this release does not know the language version"
        "In `policy NAME version 1 { … }` the number is the version of the language, not of the policy. \
         This release knows version 1."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy version 2 {
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy version 1 {
  filter ready { require node.ready else "node(s) not ready" }
}
"#

    BAD_ALLOW "BP0014" "bad-allow" Warning
        "the linter does not understand the comment"
        "`// bayplan: allow(name) because …` above an item or statement silences one kind of finding there. \
         `bayplan lint --explain CODE` prints the name of a code."
        bad r#"
/// Keeps pods off broken nodes.
policy healthy {
  // bayplan: alow(missing-reason)
  filter ready { require node.ready else "node(s) not ready" }
}
"#
        good r#"
/// Keeps pods off broken nodes.
policy healthy {
  // bayplan: allow(missing-reason) because the name of the filter says it
  filter ready { require node.ready }
}
"#

    UNREADABLE "BP0015" "unreadable" Error
        "the file cannot be read"
        "The file does not exist, may not be read, or is a pipe or a device. The other files are checked. \
         The exit status is 2, since the check is not complete."
        in ""
        bad "bayplan lint policies/   with a link in it to a file that was deleted"
        good "bayplan lint policies/   after the link was removed"
}
