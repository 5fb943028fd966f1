//! [`Holders`]: what is kept on request, by who requests it.

use bayplan_model::{PodKey, Want};
use rustc_hash::FxHashMap;

/// All holders.
#[derive(Clone, Debug, Default)]
pub(super) struct Holders {
    pub(super) by_pod: FxHashMap<PodKey, Vec<Want>>,
    pub(super) by_profiles: Vec<Want>,
}

impl Holders {
    /// How many pods hold something.
    pub(super) fn pods(&self) -> usize {
        self.by_pod.len()
    }
}
