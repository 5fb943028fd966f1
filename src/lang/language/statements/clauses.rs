//! [`CLAUSES`]: the words that continue a statement, and [`RESERVED`]: the words that name nothing.

/// A word that continues a statement, with what follows it.
#[derive(Debug)]
pub struct Clause {
    /// Its word.
    pub word: &'static str,
    /// How it is written.
    pub syntax: &'static str,
    /// Words that may follow it and are words only there.
    pub values: &'static [&'static str],
    /// What to do when a statement has it twice; empty where it may occur more than once, or has a fixed place.
    pub twice: &'static str,
    /// What it means.
    pub doc: &'static str,
}

const fn clause(word: &'static str, syntax: &'static str, doc: &'static str) -> Clause {
    Clause { word, syntax, values: &[], twice: "", doc }
}

const KEEP_ONE: &str = "keep one of them";
const JOIN: &str = "join the conditions with `&&` or `||`";

/// Every clause.
pub static CLAUSES: &[Clause] = &[
    Clause {
        twice: JOIN,
        ..clause("when", "when E", "The statement counts only while the condition holds.")
    },
    Clause {
        twice: KEEP_ONE,
        ..clause("else", "else \"REASON\"", "The reason when the condition does not hold.")
    },
    Clause {
        twice: "write all values into one `with { … }`",
        ..clause("with", "with {NAME: E, …}", "Values that explanations and logs show beside the reason.")
    },
    Clause {
        twice: KEEP_ONE,
        ..clause("resolvable", "resolvable \"REASON\"", "Evicting pods from the node may help.")
    },
    Clause {
        twice: KEEP_ONE,
        ..clause("unresolvable", "unresolvable \"REASON\"", "Evicting pods from the node does not help.")
    },
    Clause {
        twice: KEEP_ONE,
        ..clause("weight", "weight N", "A whole number or constant, at least 1, that multiplies the score.")
    },
    Clause {
        values: &["none", "max", "minmax"],
        twice: KEEP_ONE,
        ..clause(
            "normalize",
            "normalize none|max|minmax",
            "Maps the values of all nodes to 0..100: `max` by the largest one, `minmax` also by the smallest one.",
        )
    },
    Clause {
        twice: KEEP_ONE,
        ..clause("reversed", "reversed", "Turns the score around: 100 minus its value.")
    },
    Clause { twice: JOIN, ..clause("until", "until E", "The condition, or the date, that ends something.") },
    Clause {
        values: &["skip", "error", "reject"],
        ..clause(
            "missing",
            "missing skip | missing reject \"REASON\" | missing error",
            "What happens when the value of a `let` is absent: skip the policy, refuse the pod, or end the attempt with an error.",
        )
    },
    clause("for", "for GROUP", "The group that waits together."),
    clause("by", "by E", "The key of a ledger or memo, and the keys of `queue by`."),
    clause("asc", "asc E", "Small keys first. This is the default."),
    clause("desc", "desc E", "Large keys first."),
    clause("where", "where E", "The condition of a group."),
    clause("in", "in LOW..HIGH", "The range of a param's arguments, both ends included."),
    clause("ttl", "ttl D", "How long a memo is kept."),
    clause("because", "because \"REASON\"", "Why an exception was made."),
    clause("to", "to all pods", "Also the pods that policies leave alone."),
];

/// CEL's reserved words, and `none`: no name may be one of them.
pub static RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "none",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];
