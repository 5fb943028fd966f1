//! How much a text may hold before the reader gives up: nesting for every text, and repetition for texts that other
//! users write into the cluster.

/// Levels of lists and maps of a file of the user: as many as `serde_json` reads.
const OWN_DEPTH: usize = 128;

/// Levels of lists and maps of a text of another user.
const OTHERS_DEPTH: usize = 64;

/// Values that a document of another user's text may have, with those that aliases repeat.
pub(super) const OTHERS_VALUES: usize = 200_000;

/// Values that aliases may repeat, in every text: ten aliases of ten aliases grow without end.
const REPEATED: usize = 100_000;

/// Whose text is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limits {
    /// A file that the user gives: as long as they like, nested 128 levels deep, with few repeated aliases.
    Own,
    /// A text that other users wrote, such as a ConfigMap: its size, nesting and repetition are limited.
    Others,
}

impl Limits {
    /// The options of the reader. Only `true` and `false` are booleans.
    pub(super) fn options(self) -> serde_saphyr::Options {
        let budget = match self {
            Limits::Own => serde_saphyr::budget! {
                max_reader_input_bytes: None,
                max_depth: OWN_DEPTH,
                flow_nesting_limit: OWN_DEPTH,
                max_events: usize::MAX,
                max_aliases: usize::MAX,
                max_anchors: usize::MAX,
                max_documents: usize::MAX,
                max_nodes: usize::MAX,
                max_total_scalar_bytes: usize::MAX,
                max_merge_keys: usize::MAX,
                enforce_alias_anchor_ratio: false,
            },
            Limits::Others => serde_saphyr::budget! {
                max_depth: OTHERS_DEPTH,
                flow_nesting_limit: OTHERS_DEPTH,
                max_nodes: OTHERS_VALUES,
                max_events: 500_000,
                max_aliases: 1_000,
                max_documents: usize::MAX,
                max_total_scalar_bytes: 8 << 20,
            },
        };
        let alias_limits = match self {
            Limits::Own => serde_saphyr::alias_limits! { max_total_replayed_events: REPEATED },
            Limits::Others => serde_saphyr::alias_limits! {
                max_total_replayed_events: REPEATED,
                max_replay_stack_depth: 16,
            },
        };
        serde_saphyr::options! { budget: budget, strict_booleans: true, alias_limits: alias_limits }
    }
}
