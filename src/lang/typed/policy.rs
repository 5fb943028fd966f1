//! [`Policy`]: the checked tree, with what the policy declares and the bodies of its rules.

use super::reads::{Keeps, RuleReads};
use super::{Exception, Expr, GroupId, Ledger, Memo, Modes, Rule, SlotId, Source};
use crate::syntax::ast::{Normalize, OnError, Resolvable, Text, WriteVerb};
use crate::types::range::Range;
use crate::types::value::Constant;
use crate::types::{ObjectKind, Type};
use bayplan_diag::Span;
use std::sync::Arc;

/// A checked policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name, which is its plugin's name.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// All of it.
    pub span: Span,
    /// Its name.
    pub name_span: Span,
    /// Whether its expressions are CEL, whose operations may fail.
    pub cel: bool,
    /// What a fault does, where a rule says nothing else; of `applies when` in any case.
    pub on_error: OnError,
    /// `strict: true`, at its place: an expression that may fail is an error.
    pub strict: Option<Span>,
    /// How far it and its rules may go.
    pub modes: Modes,
    /// `applies to all pods`: also to pods that are exempt from policies.
    pub to_all_pods: bool,
    /// For each exception of the whole policy, that it does not hold. See [`Policy::narrows`].
    pub unless: Vec<Expr>,
    /// Pods that it, or a rule, leaves alone for a time.
    pub exceptions: Vec<Exception>,
    /// Arguments.
    pub params: Vec<Param>,
    /// All lets, of the policy and of its blocks. A let that is used where narrowing does not hold
    /// (`queue by`, `applies when`) has two entries.
    pub lets: Vec<Let>,
    /// Defs of the policy and those of the file that it uses; typed once, called by id.
    pub defs: Vec<Def>,
    /// Groups.
    pub groups: Vec<Group>,
    /// The kinds of objects that it looks up, each once.
    pub kinds: Vec<Arc<ObjectKind>>,
    /// Ledgers.
    pub ledgers: Vec<Ledger>,
    /// Memos.
    pub memos: Vec<Memo>,
    /// Sources.
    pub sources: Vec<Source>,
    /// Variables of macros and groups, and parameters of defs. Without recursion each has one value
    /// at a time.
    pub slots: Vec<Slot>,
    /// Its rules, in the order in which an attempt evaluates them. See `rules.rs`.
    pub rules: Vec<Rule>,
    /// What must be kept of objects beside their slim fields. `analysis::keeps` derives it.
    pub keeps: Keeps,
    /// The defs and types of its file, each with all of its text.
    pub file_items: Vec<Span>,
}

/// An argument of the policy: a constant of the instance.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: Text,
    /// The doc comment.
    pub doc: Option<Text>,
    /// Its type.
    pub ty: Type,
    /// The range of arguments (`in a..b`), in base units.
    pub allowed: Option<Range>,
    /// The argument, or the default.
    pub value: Constant,
    /// The default.
    pub default: Constant,
    /// Where it is declared.
    pub span: Span,
}

/// A name for an expression.
#[derive(Clone, Debug)]
pub struct Let {
    /// Its name.
    pub name: Text,
    /// The expression. Its type is optional where `missing` is given.
    pub value: Expr,
    /// What happens when the value is absent; then references are `Present`.
    pub missing: Option<Missing>,
    /// Of the policy, and not of a block: computed once per pod unless it reads `node` through a
    /// def.
    pub of_policy: bool,
    /// Where it is declared.
    pub span: Span,
}

/// What happens when the value of a let is absent, in each evaluation that uses it.
#[derive(Clone, Debug)]
pub enum Missing {
    /// The policy does not apply.
    Skip,
    /// The attempt is an error.
    Error,
    /// `prefilter` refuses.
    Reject(Reason),
}

/// A def: called with values for its slots.
#[derive(Clone, Debug)]
pub struct Def {
    /// Its name.
    pub name: Text,
    /// Its parameters.
    pub parameters: Vec<SlotId>,
    /// Its body.
    pub body: Expr,
    /// Where it is declared.
    pub span: Span,
}

/// A variable of a macro or group, or a parameter of a def.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its name.
    pub name: Text,
    /// Its type.
    pub ty: Type,
    /// Where it is declared.
    pub span: Span,
}

/// `group NAME = p in pods where E`
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: Text,
    /// The variable for a member.
    pub slot: SlotId,
    /// The conjuncts `p.path == pod.path`: the key of the group. Never empty.
    pub keys: Vec<GroupKey>,
    /// The other conjuncts.
    pub rest: Vec<Expr>,
    /// Every conjunct compares the same path on both sides, so that membership is mutual.
    pub mutual: bool,
    /// Where it is declared.
    pub span: Span,
}

/// `p.path == pod.path`
#[derive(Clone, Debug)]
pub struct GroupKey {
    /// Over the group's slot.
    pub member: Expr,
    /// Over `pod`.
    pub pod: Expr,
}

/// A condition that refuses, in a filter, prefilter, gate or permit.
#[derive(Clone, Debug)]
pub struct Check {
    /// The condition; none: it always refuses.
    pub condition: Option<Expr>,
    /// `true`: refuses when the condition holds (`reject … when`). `false`: when it does not
    /// (`require`).
    pub refuses_when: bool,
    /// Why.
    pub reason: Reason,
    /// What it reads, with the direction that lets the pod pass.
    pub reads: RuleReads,
    /// What a fault of the condition does.
    pub on_error: OnError,
    /// The doc comment.
    pub doc: Option<Text>,
    /// The statement.
    pub span: Span,
}

/// Why a pod is refused.
#[derive(Clone, Debug)]
pub struct Reason {
    /// Texts and holes in turn; a constant reason is one text.
    pub parts: Vec<ReasonPart>,
    /// Whether evicting pods from the node may help: as written, else as derived.
    pub resolvable: bool,
    /// As derived from what is read.
    pub derived: bool,
    /// As written.
    pub written: Option<Resolvable>,
    /// `with { name: E }`; values may be absent.
    pub details: Vec<(Text, Expr)>,
    /// All of it.
    pub span: Span,
}

/// A part of a reason.
#[derive(Clone, Debug)]
pub enum ReasonPart {
    /// As it is.
    Text(Text),
    /// A value; an absent one is shown as `none`.
    Hole(Expr),
}

impl Reason {
    /// The text of a constant reason.
    pub fn constant(&self) -> Option<&Text> {
        match self.parts.as_slice() {
            [ReasonPart::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// `queue by`
#[derive(Clone, Debug)]
pub struct Queue {
    /// From the first to the last.
    pub keys: Vec<QueueKey>,
    /// What they read.
    pub reads: RuleReads,
}

/// A key of `queue by`.
#[derive(Clone, Debug)]
pub struct QueueKey {
    /// Larger first.
    pub descending: bool,
    /// Never absent.
    pub value: Expr,
}

/// `prefilter { … }`
#[derive(Clone, Debug)]
pub struct Prefilter {
    /// In the order of the text; lets are in [`Policy::lets`].
    pub statements: Vec<PrefilterStatement>,
}

/// A statement of a prefilter.
#[derive(Clone, Debug)]
pub enum PrefilterStatement {
    /// `reject`
    Check(Check),
    /// `only nodes`
    Only(Only),
}

impl PrefilterStatement {
    /// The check, if it is one.
    pub fn check(&self) -> Option<&Check> {
        match self {
            PrefilterStatement::Check(of) => Some(of),
            PrefilterStatement::Only(_) => None,
        }
    }

    /// Where it is written.
    pub fn span(&self) -> Span {
        match self {
            PrefilterStatement::Check(of) => of.span,
            PrefilterStatement::Only(of) => of.span,
        }
    }
}

/// `only nodes E [when C]`
#[derive(Clone, Debug)]
pub struct Only {
    /// `list<string>` or `list<string?>`; absent ones are left out.
    pub nodes: Expr,
    /// Looked at first.
    pub when: Option<Expr>,
    /// What both read.
    pub reads: RuleReads,
    /// What a fault of one of them does.
    pub on_error: OnError,
    /// The statement.
    pub span: Span,
}

/// `filter NAME { … }`
#[derive(Clone, Debug)]
pub struct Filter {
    /// In the order of the text; lets are in [`Policy::lets`].
    pub checks: Vec<Check>,
}

/// `score NAME … { … }`, or `prefer N when E`
///
/// The rule of a `prefer` is called `prefer-1` and so on.
#[derive(Clone, Debug)]
pub struct Score {
    /// At least 1.
    pub weight: i64,
    /// How the values of the nodes become 0 to 100.
    pub normalize: Normalize,
    /// 100 minus that.
    pub reversed: bool,
    /// The first whose condition holds gives the score; without one the node has none.
    pub gives: Vec<Give>,
    /// It was written as `prefer`.
    pub prefer: bool,
    /// What all of it reads.
    pub reads: RuleReads,
    /// What a fault of a condition or value does.
    pub on_error: OnError,
}

/// `give E [when C]`
#[derive(Clone, Debug)]
pub struct Give {
    /// A number or an amount with a unit; `None` is `give none`.
    pub value: Option<Expr>,
    /// Looked at first.
    pub when: Option<Expr>,
    /// The statement.
    pub span: Span,
}

/// `reserve { … }`
#[derive(Clone, Debug)]
pub struct Reserve {
    /// `reject`, in the order of the text; they come before the writes.
    pub checks: Vec<Check>,
    /// `annotate` and `label`, in the order of the text.
    pub writes: Vec<Write>,
}

/// `annotate X {…} [when C]`, `label X {…} [when C]`
#[derive(Clone, Debug)]
pub struct Write {
    /// Annotations or labels.
    pub verb: WriteVerb,
    /// In the order of the text, each key once.
    pub entries: Vec<WriteEntry>,
    /// Looked at first.
    pub when: Option<Expr>,
    /// What condition and values read.
    pub reads: RuleReads,
    /// The statement.
    pub span: Span,
}

/// A key that is written.
#[derive(Clone, Debug)]
pub struct WriteEntry {
    /// Of `patch`: the fields above the key, from the top of the object.
    pub within: Box<[Text]>,
    /// A valid key of annotations or labels; of `patch` the name of a field.
    pub key: Text,
    /// A `string?`; while it is absent, the key stays as it is. Of `patch` any value that a field has; while it is absent, the
    /// field is left out.
    pub value: Expr,
    /// How the value is written.
    pub form: WriteForm,
    /// The value is the literal `none`: the key is removed.
    pub removes: bool,
    /// The key in the text.
    pub span: Span,
}

/// How the value of a field is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteForm {
    /// As JSON has it: a text, a bool, a number, a time as a text, a list of these.
    Plain,
    /// Millicores, as a quantity.
    Millicores,
    /// Bytes or pieces, as a quantity.
    Whole,
}

impl WriteEntry {
    /// Whether `patch` writes it to the status of the object.
    pub fn is_status(&self) -> bool {
        &**self.within.first().unwrap_or(&self.key) == "status"
    }

    /// Where it is in the object, as far as the statement tells: `status.node`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for name in self.within.iter().chain([&self.key]) {
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            match (plain, path.is_empty()) {
                (true, true) => path.push_str(name),
                (true, false) => path.extend([".", name]),
                (false, _) => path.push_str(&format!("[{name:?}]")),
            }
        }
        path
    }
}

/// `permit { … }`
#[derive(Clone, Debug)]
pub struct Permit {
    /// `reject`, in the order of the text.
    pub checks: Vec<Check>,
    /// `wait`, in the order of the text; all must be satisfied.
    pub waits: Vec<Wait>,
}

/// `wait D [for G] until E else "r"`
#[derive(Clone, Debug)]
pub struct Wait {
    /// A duration; cut to 15 minutes when it is longer.
    pub patience: Expr,
    /// The group that waits together.
    pub group: Option<GroupId>,
    /// The condition that ends the wait.
    pub until: Expr,
    /// The reason for refusing the pod when the wait times out.
    pub reason: Reason,
    /// What `until` reads.
    pub reads: RuleReads,
    /// What a fault of `until` does.
    pub on_error: OnError,
    /// The statement.
    pub span: Span,
}
