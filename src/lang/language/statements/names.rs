//! [`Names`]: which variables of the language a statement sees.

/// A set of the variables `pod`, `ns`, `node`, `nodes`, `pods`, `nominated`, of groups, of ledgers, of memos, of
/// sources, of `now()`, and of objects that are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Names(u16);

impl Names {
    /// No variable: params, defs and constants only.
    pub const NONE: Names = Names(0);
    /// `pod`
    pub const POD: Names = Names(1);
    /// `ns`
    pub(crate) const NS: Names = Names(2);
    /// `node`
    pub const NODE: Names = Names(4);
    /// `nodes`
    pub const NODES: Names = Names(8);
    /// `pods`
    pub const PODS: Names = Names(16);
    /// `nominated`
    pub const NOMINATED: Names = Names(32);
    /// The groups of the policy.
    pub const GROUPS: Names = Names(64);
    /// `now()`
    pub const NOW: Names = Names(128);
    /// `lookup()` and `owner()`: an object by its name.
    pub(crate) const LOOKUPS: Names = Names(256);
    /// `objects()`: all objects of a kind.
    pub const OBJECTS: Names = Names(512);
    /// The ledgers of the policy.
    pub const LEDGERS: Names = Names(1024);

    /// The memos of the policy.
    pub const MEMOS: Names = Names(2048);
    /// The sources of the policy.
    pub const SOURCES: Names = Names(4096);

    /// Objects by name, and all of a kind.
    pub(crate) const ANY_OBJECT: Names = Names::LOOKUPS.and(Names::OBJECTS);
    /// The pod and its namespace.
    pub const OF_POD: Names = Names::POD.and(Names::NS);
    /// What one evaluation per pod sees: the pod and the cluster.
    pub(crate) const PER_POD: Names = Names::OF_POD
        .and(Names::NODES)
        .and(Names::PODS)
        .and(Names::NOMINATED)
        .and(Names::GROUPS)
        .and(Names::LEDGERS)
        .and(Names::MEMOS)
        .and(Names::SOURCES)
        .and(Names::NOW)
        .and(Names::ANY_OBJECT);
    /// What one evaluation per node sees: everything.
    pub(crate) const PER_NODE: Names = Names::PER_POD.and(Names::NODE);

    const WORDS: [(Names, &'static str); 13] = [
        (Names::POD, "pod"),
        (Names::NS, "ns"),
        (Names::NODE, "node"),
        (Names::NODES, "nodes"),
        (Names::PODS, "pods"),
        (Names::NOMINATED, "nominated"),
        (Names::GROUPS, "groups"),
        (Names::LEDGERS, "ledgers"),
        (Names::MEMOS, "memos"),
        (Names::SOURCES, "sources"),
        (Names::NOW, "now()"),
        (Names::LOOKUPS, "lookup()"),
        (Names::OBJECTS, "objects()"),
    ];

    /// The names of both.
    pub const fn and(self, other: Names) -> Names {
        Names(self.0 | other.0)
    }

    /// Its words, in the order of the table.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Self::WORDS.iter().filter(move |(name, _)| self.0 & name.0 != 0).map(|(_, word)| *word)
    }

    /// The first word that is in `self` and not in `allowed`.
    pub fn beyond(self, allowed: Names) -> Option<&'static str> {
        Names(self.0 & !allowed.0).words().next()
    }
}

impl std::ops::BitOr for Names {
    type Output = Names;
    fn bitor(self, other: Names) -> Names {
        self.and(other)
    }
}

impl std::ops::BitOrAssign for Names {
    fn bitor_assign(&mut self, other: Names) {
        *self = self.and(other);
    }
}
