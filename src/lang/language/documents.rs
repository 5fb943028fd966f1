//! [`DOCUMENT`]: the fields of a policy that is written as a YAML document, `kind: SchedulingPolicy`.
//!
//! `syntax::document` reads documents by this table, `bayplan schema` prints the JSON schema of it, and the
//! docs list it.

use super::statements::{Naming, StatementId};

/// The version of the language of this release.
pub const LANGUAGE_VERSION: i64 = 1;

/// The largest weight. Scores of a file of policies, with plugins' weights as large, stay within 64 bits.
pub const MOST_WEIGHT: i64 = 1_000_000;

/// The kind of the documents.
pub const KIND: &str = "SchedulingPolicy";

/// Their API version.
pub const API_VERSION: &str = "bayplan.dev/v1";

/// The annotation that says what a policy is for.
pub(crate) const DESCRIPTION: &str = "kubernetes.io/description";

/// A map of a document.
#[derive(Debug)]
pub struct ObjectDef {
    /// What it is, for messages and the schema.
    pub name: &'static str,
    /// Its fields, in the order in which `convert` writes them.
    pub fields: &'static [FieldDef],
    /// The forms of which it has one. Fields that are in no form are allowed in all.
    pub forms: &'static [Form],
    /// The statement that it is, where it has no forms.
    pub statement: Option<StatementId>,
}

/// A form of a map.
#[derive(Debug)]
pub struct Form {
    /// The statement that it is.
    pub statement: Option<StatementId>,
    /// Its fields. The first one tells that it is this form; the others are allowed beside that one only.
    pub fields: &'static [&'static str],
}

impl Form {
    /// The field that tells that it is this form.
    pub fn key(&self) -> &'static str {
        self.fields.first().copied().unwrap_or_default()
    }
}

/// A field of a map.
#[derive(Debug)]
pub struct FieldDef {
    /// Its key.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether it must be there; if it belongs to a form, in that form.
    pub needed: bool,
    /// The statement of the policy language that it stands for.
    pub statement: Option<StatementId>,
    /// What it means, in a sentence.
    pub doc: &'static str,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// An expression of CEL; `true`, `false` and numbers need no quotes.
    Expression,
    /// A message for the owner of the pod, in which `{path}` is replaced.
    Reason,
    /// A name of expressions: letters, digits and `_`.
    Identifier,
    /// A name of a policy, filter or score, which may also have `-`.
    Name,
    /// Any text.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number from the first to the second.
    Whole(i64, i64),
    /// A whole number from 1 to [`MOST_WEIGHT`], or an expression that is a constant.
    Weight,
    /// A duration such as `60s`, or an expression.
    Duration,
    /// One of some words.
    Word(&'static [&'static str]),
    /// Any value: amounts, durations and times are texts.
    Value,
    /// A type of the language, as in `list<string>`.
    Type,
    /// A map.
    Object(&'static ObjectDef),
    /// A list of maps.
    List(&'static ObjectDef),
    /// One of some words, or a map.
    WordOr(&'static [&'static str], &'static ObjectDef),
    /// A map from names to expressions.
    Expressions,
    /// A map from names to expressions, or to further such maps.
    Fields,
    /// A map from names to texts.
    Texts,
}

impl ObjectDef {
    /// What it is, in a sentence: `a filter`, or the field that holds it.
    pub(crate) fn phrase(&self, article: &str) -> String {
        match self.name {
            KIND | "metadata" | "spec" | "missing" => format!("`{}`", self.name),
            name if article == "a" && name.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {name}"),
            name => format!("{article} {name}"),
        }
    }

    /// A field by its key.
    pub fn field(&self, name: &str) -> Option<&'static FieldDef> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The fields that tell its forms apart.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.forms.iter().map(Form::key)
    }

    /// Whether a form allows a field.
    pub fn takes(&self, form: &Form, field: &str) -> bool {
        form.fields.contains(&field) || !self.is_of_a_form(field)
    }

    /// Whether a field belongs to a form.
    pub fn is_of_a_form(&self, field: &str) -> bool {
        self.forms.iter().any(|form| form.fields.contains(&field))
    }

    /// Whether it may be a statement.
    pub fn has(&self, id: StatementId) -> bool {
        self.statement == Some(id) || self.forms.iter().any(|form| form.statement == Some(id))
    }

    /// The statement that a map is which has the given fields.
    pub fn statement(&self, has: impl Fn(&str) -> bool) -> Option<StatementId> {
        self.forms.iter().find(|form| has(form.key())).map_or(self.statement, |form| form.statement)
    }
}

/// The field of `spec` that holds the statements of a row, as a list.
pub(crate) fn list_of(id: StatementId) -> Option<&'static str> {
    let holds = |field: &&FieldDef| field.statement == Some(id) && matches!(field.shape, Shape::List(_));
    SPEC.fields.iter().find(holds).map(|field| field.name)
}

/// The fields of `spec` whose items declare names: expressions write them in front of these names, as in `params.NAME`.
pub(crate) fn spaces() -> impl Iterator<Item = &'static str> {
    let declares = |id: &StatementId| id.def().naming == Naming::Declares;
    SPEC.fields
        .iter()
        .filter(move |field| field.statement.as_ref().is_some_and(declares))
        .map(|field| field.name)
}

const fn field(name: &'static str, shape: Shape, doc: &'static str) -> FieldDef {
    FieldDef { name, shape, needed: false, statement: None, doc }
}

const fn form(statement: StatementId, fields: &'static [&'static str]) -> Form {
    Form { statement: Some(statement), fields }
}

const fn needed(name: &'static str, shape: Shape, doc: &'static str) -> FieldDef {
    FieldDef { name, shape, needed: true, statement: None, doc }
}

const fn of(statement: StatementId, name: &'static str, shape: Shape, doc: &'static str) -> FieldDef {
    FieldDef { name, shape, needed: false, statement: Some(statement), doc }
}

const ON_ERROR: FieldDef = field(
    "onError",
    Shape::Word(&["reject", "ignore", "error"]),
    "What happens when an expression of it ends with an error; by default what the policy says.",
);
/// The words for modes.
pub const MODES: &[&str] = &["enforce", "warn", "audit", "off"];
const MODE: FieldDef =
    field("mode", Shape::Word(MODES), "How far it may go; by default as far as the policy.");
const ENFORCE_WHEN: FieldDef = field(
    "enforceWhen",
    Shape::Expression,
    "The pods for which it decides; for the others it does as `mode` says, `audit` or `warn`.",
);
const MODE_UNTIL: FieldDef = field("modeUntil", Shape::Text, "The day until which its mode is meant.");
const WITH: FieldDef =
    field("with", Shape::Expressions, "Values that explanations and logs show beside the reason.");
const RESOLVABLE: FieldDef =
    field("resolvable", Shape::Bool, "Whether evicting pods from the node may help against the refusal.");
const WHEN: FieldDef = field("when", Shape::Expression, "The condition; without it, always.");
const REJECT: FieldDef = needed("reject", Shape::Reason, "The reason of a refusal.");

/// A policy.
pub static DOCUMENT: ObjectDef = ObjectDef {
    name: KIND,
    statement: None,
    forms: &[],
    fields: &[
        needed("apiVersion", Shape::Word(&[API_VERSION]), "The version of this format."),
        needed("kind", Shape::Word(&[KIND]), "The kind of document."),
        needed("metadata", Shape::Object(&METADATA), "The name of the policy."),
        needed("spec", Shape::Object(&SPEC), "What the policy does."),
    ],
};

static METADATA: ObjectDef = ObjectDef {
    name: "metadata",
    statement: None,
    forms: &[],
    fields: &[
        needed("name", Shape::Name, "The name of the policy, which is a plugin of that name."),
        field(
            "annotations",
            Shape::Texts,
            "`kubernetes.io/description` says what the policy is for; a comment right above the document does as well.",
        ),
        field("labels", Shape::Texts, "Labels; the scheduler does not read them."),
    ],
};

/// What a policy does.
pub static SPEC: ObjectDef = ObjectDef {
    name: "spec",
    statement: None,
    forms: &[],
    fields: &[
        field(
            "version",
            Shape::Whole(LANGUAGE_VERSION, LANGUAGE_VERSION),
            "The version of the language that the policy asks for.",
        ),
        field(
            "onError",
            Shape::Word(&["reject", "ignore", "error"]),
            "What happens when an expression ends with an error: the rule refuses or gives no value (`reject`, the \
             default), is left out (`ignore`), or the attempt ends with an error (`error`).",
        ),
        field("strict", Shape::Bool, "With `true` an expression that may end with an error is a mistake."),
        of(StatementId::Applies, "appliesWhen", Shape::Expression, "The pods that the policy is about."),
        of(
            StatementId::Applies,
            "appliesToAllPods",
            Shape::Bool,
            "With `true` also the pods that policies leave alone.",
        ),
        of(StatementId::Param, "params", Shape::List(&PARAM), "Values that a profile may set."),
        of(StatementId::Let, "variables", Shape::List(&VARIABLE), "Names for expressions: `variables.NAME`."),
        of(StatementId::Group, "groups", Shape::List(&GROUP), "Sets of pods: `groups.NAME`."),
        of(
            StatementId::Ledger,
            "ledgers",
            Shape::List(&LEDGER),
            "Sums over placed pods: `ledgers.NAME[KEY]`.",
        ),
        of(
            StatementId::Memo,
            "memos",
            Shape::List(&MEMO),
            "Values remembered for a time: `memos.NAME`, which may be absent, and `memos.?NAME`.",
        ),
        of(
            StatementId::Source,
            "sources",
            Shape::List(&SOURCE),
            "Metrics of the nodes over a window: `sources.NAME[node.name]`.",
        ),
        of(StatementId::Gate, "gates", Shape::List(&GATE), "Keep pods out of the queue."),
        of(StatementId::Queue, "queueBy", Shape::List(&QUEUE_KEY), "The order of the queue."),
        of(
            StatementId::Prefilter,
            "prefilter",
            Shape::List(&PREFILTER),
            "Refusals once per pod, and the names of the nodes to look at.",
        ),
        of(StatementId::Filter, "filters", Shape::List(&FILTER), "Which nodes a pod may run on."),
        of(StatementId::Score, "scores", Shape::List(&SCORE), "Which nodes are better, from 0 to 100."),
        of(StatementId::Prefer, "prefer", Shape::List(&PREFER), "Scores of 100 or 0."),
        of(
            StatementId::Reserve,
            "reserve",
            Shape::List(&RESERVE),
            "Refusals once a node is chosen, and marks that the Binding takes to the pod.",
        ),
        of(StatementId::Permit, "permit", Shape::List(&PERMIT), "Refusals and waits once a node is chosen."),
        of(
            StatementId::Preempt,
            "preempt",
            Shape::List(&PREEMPT),
            "Which pods may be evicted for a pod that fits on no node.",
        ),
        of(
            StatementId::BeforeBind,
            "beforeBind",
            Shape::List(&BEFORE_BIND),
            "What is written before the pod is bound.",
        ),
        of(
            StatementId::AfterBind,
            "afterBind",
            Shape::List(&AFTER_BIND),
            "What is written and remembered once the pod is bound, and events.",
        ),
        of(
            StatementId::AfterFailure,
            "afterFailure",
            Shape::List(&AFTER_FAILURE),
            "What is done with the members of groups, and remembered, after an attempt that failed.",
        ),
        of(
            StatementId::Mode,
            "mode",
            Shape::Word(MODES),
            "How far the policy may go: `enforce`, the default, decides; `warn` and `audit` count; `off` does nothing.",
        ),
        of(
            StatementId::Mode,
            "enforceWhen",
            Shape::Expression,
            "The pods for which the policy decides; for the others it does as `mode` says, `audit` or `warn`.",
        ),
        of(
            StatementId::Mode,
            "modeUntil",
            Shape::Text,
            "The day until which the mode is meant, such as `2027-01-31`: then a lint and a metric say that it is over.",
        ),
        of(
            StatementId::Except,
            "exceptions",
            Shape::List(&EXCEPTION),
            "Pods that the policy, or one of its rules, leaves alone up to the end of a day.",
        ),
    ],
};

/// An exception.
pub(crate) static EXCEPTION: ObjectDef = ObjectDef {
    name: "exception",
    statement: Some(StatementId::Except),
    forms: &[],
    fields: &[
        field(
            "rule",
            Shape::Name,
            "The rule that leaves the pods alone: a filter, a score, `gate`, `prefilter`, `reserve`, `permit` or `preempt`. Without it the policy does.",
        ),
        needed("until", Shape::Text, "The last day, such as `2027-01-31`, up to its end in UTC."),
        needed("because", Shape::Text, "Why there is an exception."),
        field("when", Shape::Expression, "The pods that it is about; without it, all pods."),
    ],
};

static PARAM: ObjectDef = ObjectDef {
    name: "param",
    statement: Some(StatementId::Param),
    forms: &[],
    fields: &[
        needed("name", Shape::Identifier, "Its name: `params.NAME`."),
        field("type", Shape::Type, "Its type; that of the default if it is missing."),
        needed(
            "default",
            Shape::Value,
            "Its value where a profile sets none. With a type of amounts, durations or times: a text, such as `60s`.",
        ),
        field("min", Shape::Value, "The least value that a profile may set."),
        field("max", Shape::Value, "The largest value that a profile may set."),
    ],
};

static VARIABLE: ObjectDef = ObjectDef {
    name: "variable",
    statement: Some(StatementId::Let),
    forms: &[],
    fields: &[
        needed("name", Shape::Identifier, "Its name: `variables.NAME`."),
        field("type", Shape::Type, "Its type, which the expression must have."),
        needed("expression", Shape::Expression, "What it stands for; it may read `node`."),
        field(
            "missing",
            Shape::WordOr(&["skip", "error"], &MISSING),
            "What happens when the value is absent: `skip` the policy, `error` for the attempt, or a `reject`.",
        ),
    ],
};

static MISSING: ObjectDef =
    ObjectDef { name: "missing", statement: None, forms: &[], fields: &[REJECT, WITH, RESOLVABLE] };

static GROUP: ObjectDef = ObjectDef {
    name: "group",
    statement: Some(StatementId::Group),
    forms: &[],
    fields: &[
        needed("name", Shape::Identifier, "Its name: `groups.NAME`."),
        needed("expression", Shape::Expression, "Whether the pod `p` is in the group of `pod`."),
    ],
};

static LEDGER: ObjectDef = ObjectDef {
    name: "ledger",
    statement: Some(StatementId::Ledger),
    forms: &[],
    fields: &[
        needed("name", Shape::Identifier, "Its name: `ledgers.NAME[KEY]`."),
        needed("type", Shape::Type, "The type of the sums: `int`, a unit, `resources` or `set<T>`."),
        needed(
            "by",
            Shape::Expression,
            "The key under which a pod is counted; a list is a key of several parts.",
        ),
        needed("adds", Shape::List(&ADD), "What a placed pod adds: all whose condition holds."),
    ],
};

static MEMO: ObjectDef = ObjectDef {
    name: "memo",
    statement: Some(StatementId::Memo),
    forms: &[],
    fields: &[
        needed("name", Shape::Identifier, "Its name: `memos.NAME`."),
        needed(
            "type",
            Shape::Type,
            "The type of the value: a string, a number, an amount, a time or a bool.",
        ),
        needed("by", Shape::Expression, "The key of the pod; a list is a key of several parts."),
        needed("ttl", Shape::Duration, "How long a value is remembered; constant, `0s` is off."),
    ],
};

/// What pods add to a ledger.
pub(crate) static ADD: ObjectDef = ObjectDef {
    name: "amount of a ledger",
    statement: Some(StatementId::Add),
    forms: &[],
    fields: &[needed("value", Shape::Expression, "What the pod adds."), WHEN],
};

static SOURCE: ObjectDef = ObjectDef {
    name: "source",
    statement: Some(StatementId::Source),
    forms: &[],
    fields: &[
        needed("name", Shape::Identifier, "Its name: `sources.NAME[node.name]`."),
        needed("window", Shape::Duration, "The length of the window, at most an hour."),
        needed("maxAge", Shape::Duration, "A node whose newest sample is older has no metrics."),
    ],
};

static GATE: ObjectDef = ObjectDef {
    name: "gate",
    statement: Some(StatementId::Gate),
    forms: &[],
    fields: &[
        needed("reason", Shape::Reason, "Why the pod stays out of the queue."),
        needed("when", Shape::Expression, "It stays out while this holds."),
        WITH,
        RESOLVABLE,
        MODE,
        ENFORCE_WHEN,
        MODE_UNTIL,
        ON_ERROR,
    ],
};

static QUEUE_KEY: ObjectDef = ObjectDef {
    name: "key of the queue",
    statement: None,
    forms: &[],
    fields: &[
        needed("expression", Shape::Expression, "What is compared."),
        field(
            "order",
            Shape::Word(&["asc", "desc"]),
            "Small keys first (`asc`, the default), or large ones.",
        ),
    ],
};

static PREFILTER: ObjectDef = ObjectDef {
    name: "statement of `prefilter`",
    statement: None,
    forms: &[
        form(StatementId::Reject, &["reject", "with", "resolvable"]),
        form(StatementId::Only, &["onlyNodes"]),
    ],
    fields: &[
        REJECT,
        needed("onlyNodes", Shape::Expression, "The names of the nodes to look at."),
        WHEN,
        WITH,
        RESOLVABLE,
        MODE,
        ENFORCE_WHEN,
        MODE_UNTIL,
        ON_ERROR,
    ],
};

/// A filter.
pub(crate) static FILTER: ObjectDef = ObjectDef {
    name: "filter",
    statement: Some(StatementId::Filter),
    forms: &[
        Form { statement: None, fields: &["expression", "reason", "with", "resolvable"] },
        Form { statement: None, fields: &["rules"] },
    ],
    fields: &[
        needed("name", Shape::Name, "Its name, one of a kind in the policy."),
        needed("expression", Shape::Expression, "The node passes if it holds."),
        field("reason", Shape::Reason, "The reason when it does not hold."),
        WITH,
        RESOLVABLE,
        needed("rules", Shape::List(&RULE), "Rules, each of which must let the node pass."),
        MODE,
        ENFORCE_WHEN,
        MODE_UNTIL,
        ON_ERROR,
    ],
};

/// A rule of a filter.
pub(crate) static RULE: ObjectDef = ObjectDef {
    name: "rule of a filter",
    statement: None,
    forms: &[
        form(StatementId::Require, &["require", "else"]),
        form(StatementId::Reject, &["reject", "when"]),
    ],
    fields: &[
        needed("require", Shape::Expression, "The node passes if it holds."),
        field("else", Shape::Reason, "The reason when it does not hold."),
        REJECT,
        WHEN,
        WITH,
        RESOLVABLE,
        ON_ERROR,
    ],
};

static SCORE: ObjectDef = ObjectDef {
    name: "score",
    statement: Some(StatementId::Score),
    forms: &[Form { statement: None, fields: &["expression"] }, Form { statement: None, fields: &["gives"] }],
    fields: &[
        needed("name", Shape::Name, "Its name, one of a kind in the policy."),
        field("weight", Shape::Weight, "A whole number from 1; 1 if it is missing."),
        field(
            "normalize",
            Shape::Word(&["none", "max", "minmax"]),
            "How the values of all nodes become 0 to 100; `none` if they are.",
        ),
        field("reversed", Shape::Bool, "With `true` 100 minus the value."),
        needed("expression", Shape::Expression, "The value of the node."),
        needed("gives", Shape::List(&GIVE), "Values; the first whose condition is true is used."),
        MODE,
        ENFORCE_WHEN,
        MODE_UNTIL,
        ON_ERROR,
    ],
};

/// A value of a score.
pub(crate) static GIVE: ObjectDef = ObjectDef {
    name: "value of a score",
    statement: Some(StatementId::Give),
    forms: &[],
    fields: &[needed("value", Shape::Expression, "The value of the node."), WHEN],
};

static PREFER: ObjectDef = ObjectDef {
    name: "preference",
    statement: Some(StatementId::Prefer),
    forms: &[],
    fields: &[
        needed("weight", Shape::Weight, "A whole number from 1."),
        needed("when", Shape::Expression, "The nodes that are preferred."),
        MODE,
        ENFORCE_WHEN,
        MODE_UNTIL,
        ON_ERROR,
    ],
};

static RESERVE: ObjectDef = ObjectDef {
    name: "statement of `reserve`",
    statement: None,
    forms: &[
        form(StatementId::Reject, &["reject", "with", "resolvable", "onError"]),
        form(StatementId::Annotate, &["annotate", "set"]),
        form(StatementId::Label, &["label", "set"]),
    ],
    fields: &[
        REJECT,
        needed("annotate", Shape::Identifier, "The object that gets annotations: `pod`."),
        needed("label", Shape::Identifier, "The object that gets labels: `pod`."),
        needed("set", Shape::Expressions, "Keys, and expressions for their values."),
        WHEN,
        WITH,
        RESOLVABLE,
        ON_ERROR,
    ],
};

static PREEMPT: ObjectDef = ObjectDef {
    name: "statement of `preempt`",
    statement: None,
    forms: &[
        form(StatementId::Victim, &["victim", "toAllPods"]),
        form(StatementId::Protect, &["protect"]),
        form(StatementId::Never, &["never", "when", "with"]),
        form(StatementId::Guard, &["guard", "else", "with"]),
    ],
    fields: &[
        needed("victim", Shape::Expression, "Whether the pod `v` may be evicted."),
        field(
            "toAllPods",
            Shape::Bool,
            "With `true` also pods that policies leave alone, pods of DaemonSets and static pods.",
        ),
        needed("protect", Shape::Expression, "Whether the pod `v` must not be evicted."),
        needed("never", Shape::Reason, "The reason why the pod evicts no other pod."),
        needed("when", Shape::Expression, "The pod evicts no other pod while this holds."),
        needed("guard", Shape::Expression, "What must hold without the evicted pods."),
        needed("else", Shape::Reason, "The reason when it does not hold."),
        WITH,
        MODE,
        ENFORCE_WHEN,
        MODE_UNTIL,
        ON_ERROR,
    ],
};

static PERMIT: ObjectDef = ObjectDef {
    name: "statement of `permit`",
    statement: None,
    forms: &[
        form(StatementId::Reject, &["reject", "when"]),
        form(StatementId::Wait, &["wait", "for", "until", "else"]),
    ],
    fields: &[
        REJECT,
        WHEN,
        needed("wait", Shape::Duration, "For how long the pod waits at most."),
        field("for", Shape::Identifier, "The group that waits together."),
        needed("until", Shape::Expression, "What it waits for."),
        needed("else", Shape::Reason, "The reason when it did not happen."),
        WITH,
        RESOLVABLE,
        MODE,
        ENFORCE_WHEN,
        MODE_UNTIL,
        ON_ERROR,
    ],
};

const ANNOTATE: FieldDef = needed(
    "annotate",
    Shape::Identifier,
    "The object that gets annotations: `pod`, `node`, or a variable that looks an object up.",
);
const LABEL: FieldDef = needed("label", Shape::Identifier, "The object that gets labels.");
const SET: FieldDef =
    needed("set", Shape::Expressions, "Keys, and expressions for their values; `null` removes the key.");
const PATCH: FieldDef =
    needed("patch", Shape::Identifier, "The object whose fields are set by server-side apply.");
const FIELDS: FieldDef = needed(
    "fields",
    Shape::Fields,
    "All that the policy wants of the object: fields, and expressions or maps of further fields.",
);
const ACTIVATE: FieldDef =
    needed("activate", Shape::Identifier, "The group whose unschedulable members are tried again.");

static BEFORE_BIND: ObjectDef = ObjectDef {
    name: "statement of `beforeBind`",
    statement: None,
    forms: &[
        form(StatementId::Annotate, &["annotate", "set"]),
        form(StatementId::Label, &["label", "set"]),
        form(StatementId::Patch, &["patch", "fields"]),
    ],
    fields: &[ANNOTATE, LABEL, SET, PATCH, FIELDS, WHEN],
};

const REMEMBER: FieldDef = needed("remember", Shape::Identifier, "The memo that is set for the pod's key.");
const REMEMBERED: FieldDef = needed(
    "value",
    Shape::Expression,
    "What is remembered; an optional that is empty forgets: `optional.none()`.",
);

static AFTER_BIND: ObjectDef = ObjectDef {
    name: "statement of `afterBind`",
    statement: None,
    forms: &[
        form(StatementId::Annotate, &["annotate", "set"]),
        form(StatementId::Label, &["label", "set"]),
        form(StatementId::Patch, &["patch", "fields"]),
        form(StatementId::Event, &["event", "type", "reason", "text"]),
        form(StatementId::Activate, &["activate"]),
        form(StatementId::Remember, &["remember", "value"]),
    ],
    fields: &[
        ANNOTATE,
        LABEL,
        SET,
        PATCH,
        FIELDS,
        needed("event", Shape::Identifier, "The object that the event is about."),
        field(
            "type",
            Shape::Word(&["normal", "warning"]),
            "The type of the event; `normal` if it is missing.",
        ),
        needed("reason", Shape::Text, "The reason of the event: a word such as `Pinned`."),
        needed("text", Shape::Reason, "The text of the event."),
        ACTIVATE,
        REMEMBER,
        REMEMBERED,
        WHEN,
    ],
};

static AFTER_FAILURE: ObjectDef = ObjectDef {
    name: "statement of `afterFailure`",
    statement: None,
    forms: &[
        form(StatementId::Release, &["release", "reason", "with", "resolvable"]),
        form(StatementId::Activate, &["activate"]),
        form(StatementId::Remember, &["remember", "value"]),
    ],
    fields: &[
        needed("release", Shape::Identifier, "The group whose members that wait at permit are refused."),
        needed("reason", Shape::Reason, "The reason of the refusal."),
        ACTIVATE,
        REMEMBER,
        REMEMBERED,
        WHEN,
        WITH,
        RESOLVABLE,
    ],
};
