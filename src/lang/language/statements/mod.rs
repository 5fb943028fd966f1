//! [`STATEMENTS`]: every statement of the language, one row each, and [`CLAUSES`], the parts that continue one.
//!
//! The parser takes its word lists and suggestions from the rows, the checker what a statement sees and
//! whether it is built, and docs and help everything else. A new statement is a row here, a rule of
//! `grammar/bay.pest`, a node of the tree, and what gives it its meaning.

mod blocks;
mod clauses;
mod items;
mod names;
mod parts;
mod policy;

pub use clauses::{CLAUSES, Clause, RESERVED};
pub use names::Names;
pub use parts::{PartDef, PartKind};

/// A row of the table.
#[derive(Debug)]
pub struct StatementDef {
    /// The words it begins with, as in `only nodes`. The first one is the word by which the parser knows it.
    pub words: &'static str,
    /// Where it may stand.
    pub stands: &'static [Home],
    /// The extension points at which it runs, in Kubernetes' words; empty for what only names something.
    pub points: &'static [&'static str],
    /// The rule of `grammar/bay.pest` that reads it.
    pub rule: &'static str,
    /// How it is written, on one line. Capitals stand for what the author fills in.
    pub syntax: &'static str,
    /// Whether it has a name, and of which kind.
    pub naming: Naming,
    /// Its expression follows the word directly, as in `give E`.
    pub expression_first: bool,
    /// Its parts, in the order of the policy language; none where a language has a form of its own for it.
    pub parts: &'static [PartDef],
    /// The names that its expressions see; none: those that the block around it sees.
    pub sees: Option<Names>,
    /// What it means, in a sentence or two.
    pub doc: &'static str,
    /// A whole file that uses it. It compiles without a finding.
    pub example: &'static str,
}

/// Where a statement may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// At the top level of a file.
    File,
    /// In a policy.
    Policy,
    /// In the block of a statement.
    Block(StatementId),
}

/// Whether a statement has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// It has none.
    None,
    /// The name of a policy or rule. It may hold `-`, and expressions do not see it.
    Rule,
    /// It declares a name that expressions use.
    Declares,
}

impl StatementDef {
    /// What a row leaves out.
    const BASE: StatementDef = StatementDef {
        words: "",
        stands: &[Home::Policy],
        points: &[],
        rule: "",
        syntax: "",
        naming: Naming::None,
        expression_first: false,
        parts: &[],
        sees: None,
        doc: "",
        example: "",
    };

    /// The first of its words.
    pub fn word(&self) -> &'static str {
        self.words.split_once(' ').map_or(self.words, |(first, _)| first)
    }

    /// Whether it is allowed there.
    pub fn stands_in(&self, home: Home) -> bool {
        self.stands.contains(&home)
    }

    /// Whether it is allowed in some block.
    pub fn stands_in_a_block(&self) -> bool {
        self.stands.iter().any(|home| matches!(home, Home::Block(_)))
    }
}

/// Writes the identifiers, the list of all rows and the way from one to the other in one place.
macro_rules! statements {
    ($($(#[$doc:meta])* $id:ident = $row:path;)*) => {
        /// A row of [`STATEMENTS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum StatementId {
            $($(#[$doc])* $id,)*
        }

        /// Every statement: items of a file, statements of a policy, statements of blocks.
        pub static STATEMENTS: &[StatementId] = &[$(StatementId::$id),*];

        impl StatementId {
            /// Its row.
            pub fn def(self) -> &'static StatementDef {
                match self {
                    $(StatementId::$id => &$row,)*
                }
            }
        }
    };
}

statements! {
    /// `policy`
    Policy = items::POLICY;
    /// `def`
    Def = items::DEF;
    /// `type`
    Type = items::TYPE;
    /// `use`
    Use = items::USE;
    /// `applies when`
    Applies = policy::APPLIES;
    /// `gate`
    Gate = policy::GATE;
    /// `queue by`
    Queue = policy::QUEUE;
    /// `prefilter`
    Prefilter = policy::PREFILTER;
    /// `filter`
    Filter = policy::FILTER;
    /// `score`
    Score = policy::SCORE;
    /// `prefer`
    Prefer = policy::PREFER;
    /// `preempt`
    Preempt = policy::PREEMPT;
    /// `ledger`
    Ledger = policy::LEDGER;
    /// `memo`
    Memo = policy::MEMO;
    /// `permit`
    Permit = policy::PERMIT;
    /// `reserve`
    Reserve = policy::RESERVE;
    /// `before bind`
    BeforeBind = policy::BEFORE_BIND;
    /// `after bind`
    AfterBind = policy::AFTER_BIND;
    /// `after failure`
    AfterFailure = policy::AFTER_FAILURE;
    /// `let`
    Let = items::LET;
    /// `param`
    Param = items::PARAM;
    /// `group`
    Group = items::GROUP;
    /// `source`
    Source = items::SOURCE;
    /// `require`
    Require = blocks::REQUIRE;
    /// `reject`
    Reject = blocks::REJECT;
    /// `only nodes`
    Only = blocks::ONLY;
    /// `give`
    Give = blocks::GIVE;
    /// `victim`
    Victim = blocks::VICTIM;
    /// `protect`
    Protect = blocks::PROTECT;
    /// `never`
    Never = blocks::NEVER;
    /// `guard`
    Guard = blocks::GUARD;
    /// `add`
    Add = blocks::ADD;
    /// `wait`
    Wait = blocks::WAIT;
    /// `annotate`
    Annotate = blocks::ANNOTATE;
    /// `label`
    Label = blocks::LABEL;
    /// `patch`
    Patch = blocks::PATCH;
    /// `event`
    Event = blocks::EVENT;
    /// `remember`
    Remember = blocks::REMEMBER;
    /// `release`
    Release = blocks::RELEASE;
    /// `activate`
    Activate = blocks::ACTIVATE;
    /// `mode`
    Mode = items::MODE;
    /// `except`
    Except = items::EXCEPT;
}

impl StatementId {
    /// Whether it has a block.
    pub(crate) fn has_block(self) -> bool {
        STATEMENTS.iter().any(|inner| inner.def().stands_in(Home::Block(self)))
    }
}

/// The statements that are allowed in a place, in the order of the table.
pub fn statements_in(home: Home) -> impl Iterator<Item = StatementId> {
    STATEMENTS.iter().copied().filter(move |id| id.def().stands_in(home))
}

/// The statements that begin with a word: `before` and `after` have several.
pub(crate) fn beginning_with(word: &str) -> impl Iterator<Item = StatementId> {
    STATEMENTS.iter().copied().filter(move |id| id.def().word() == word)
}
