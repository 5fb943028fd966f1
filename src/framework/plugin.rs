//! [`Plugin`]: which extension points it serves, and what it reads.

use super::handle::Handle;
use super::points::*;
use super::reads::Reads;
use super::unchecked::Impact;
use crate::model::{PodPrecondition, Symbol, Time, bits};

/// How often plugins that read the clock are asked again, unless they know better.
const MINUTE: i64 = 60_000_000;

/// A plugin instance of a framework, by its place in the framework's list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PluginId(pub u16);

impl PluginId {
    /// No plugin: the framework itself.
    pub const NONE: Self = Self(u16::MAX);

    /// Place in the framework's list.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A set of plugin instances of one framework, in the framework's order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PluginSet(smallvec::SmallVec<[u64; 1]>);

impl PluginSet {
    /// Adds a plugin.
    pub fn insert(&mut self, plugin: PluginId) {
        let word = plugin.index() / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (plugin.index() % 64);
    }

    /// Adds the plugins of `other`.
    pub fn union(&mut self, other: &PluginSet) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// The first `count` plugins of a framework but those in the set.
    pub fn others_of(&self, count: usize) -> Self {
        let mut others: smallvec::SmallVec<[u64; 1]> = smallvec::smallvec![u64::MAX; count.div_ceil(64)];
        if let Some(last) = others.last_mut().filter(|_| !count.is_multiple_of(64)) {
            *last = (1 << (count % 64)) - 1;
        }
        for (word, gone) in others.iter_mut().zip(&self.0) {
            *word &= !gone;
        }
        Self(others)
    }

    /// Whether the plugin is in the set.
    pub fn contains(&self, plugin: PluginId) -> bool {
        self.0.get(plugin.index() / 64).is_some_and(|word| word >> (plugin.index() % 64) & 1 == 1)
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The plugins in the framework's order.
    pub fn iter(&self) -> impl Iterator<Item = PluginId> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, word)| bits(*word).map(move |bit| PluginId((at * 64 + bit) as u16)))
    }
}

impl FromIterator<PluginId> for PluginSet {
    fn from_iter<I: IntoIterator<Item = PluginId>>(plugins: I) -> Self {
        let mut set = Self::default();
        for plugin in plugins {
            set.insert(plugin);
        }
        set
    }
}

/// A plugin. Immutable: what lasts one attempt is in its slot of the `CycleState`, what lasts longer in an `Index`.
/// Answering for a point (overriding its getter) is the registration for it.
pub trait Plugin: Send + Sync {
    /// The name, as in a profile.
    fn name(&self) -> &str;
    /// All it may ever read.
    fn reads(&self) -> Reads;
    /// What a pod must have before the plugin says anything about it at PreEnqueue, PreFilter, Filter, PreScore or
    /// Score; `None`: the plugin may say something about any pod. For other pods the framework behaves as if
    /// PreEnqueue had succeeded and PreFilter and PreScore had returned Skip.
    fn precondition(&self) -> Option<PodPrecondition> {
        None
    }
    /// Whether it stands in for a plugin of kube-scheduler that is not built.
    fn is_unchecked(&self) -> bool {
        false
    }
    /// Constraints of the pod that nothing checks because the plugin is not built, and what it could do for them.
    fn not_checked(&self, h: &Handle) -> Vec<(Impact, Symbol)> {
        let _ = h;
        Vec::new()
    }
    /// A hash of what it was made of beyond its name and the arguments of its profile: the text of a policy.
    fn digest(&self) -> u64 {
        0
    }
    /// When time alone may change what it says of a pod that it refused or lets wait, everything else as it is; the node
    /// is the one the pod is placed on, else any. `None`: never. Asked when the pod begins to wait and at that instant.
    fn next_change(&self, h: &Handle) -> Option<Time> {
        self.reads().clock.then(|| Time((h.now.0.div_euclid(MINUTE) + 1).saturating_mul(MINUTE)))
    }
    /// Indexes it keeps in the snapshot; added when the plugin's profile is taken into service.
    fn indexes(&self) -> Vec<(crate::model::IndexKey, Box<dyn crate::model::Index>)> {
        Vec::new()
    }
    /// Before a pod may enter the queue.
    fn pre_enqueue(&self) -> Option<&dyn PreEnqueue> {
        None
    }
    /// Orders the queue.
    fn queue_sort(&self) -> Option<&dyn QueueSort> {
        None
    }
    /// Which events may help a pod it refused.
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
    /// Once per attempt, before the nodes are asked.
    fn pre_filter(&self) -> Option<&dyn PreFilter> {
        None
    }
    /// For each node.
    fn filter(&self) -> Option<&dyn Filter> {
        None
    }
    /// When no node fits.
    fn post_filter(&self) -> Option<&dyn PostFilter> {
        None
    }
    /// Once per attempt, before nodes are scored.
    fn pre_score(&self) -> Option<&dyn PreScore> {
        None
    }
    /// For each feasible node.
    fn score(&self) -> Option<&dyn Score> {
        None
    }
    /// When a node was chosen.
    fn reserve(&self) -> Option<&dyn Reserve> {
        None
    }
    /// Last word before binding; may let the pod wait.
    fn permit(&self) -> Option<&dyn Permit> {
        None
    }
    /// Work before the binding.
    fn pre_bind(&self) -> Option<&dyn PreBind> {
        None
    }
    /// The binding itself.
    fn bind(&self) -> Option<&dyn Bind> {
        None
    }
    /// After the binding.
    fn post_bind(&self) -> Option<&dyn PostBind> {
        None
    }
}
