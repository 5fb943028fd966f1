//! [`CycleState`]: the state of plugins during one attempt, a slot for each plugin instance.

use super::order::ScorePlugin;
use super::plugin_id::{PluginId, PluginSet};
use super::probe::RuleTimes;
use super::status::RuleFault;
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// Data of one plugin for one attempt. Shared between forks; copied by [`StateData::fork`] when one is written to.
pub trait StateData: Any + Send + Sync {
    /// A copy.
    fn fork(&self) -> Box<dyn StateData>;
}

impl<T: Any + Clone + Send + Sync> StateData for T {
    fn fork(&self) -> Box<dyn StateData> {
        Box::new(self.clone())
    }
}

/// The slot of one plugin instance.
#[derive(Clone, Default)]
pub struct StateSlot {
    data: Option<Arc<Box<dyn StateData>>>,
    /// Faults of rules after which the attempt went on.
    faults: Vec<Arc<RuleFault>>,
}

impl StateSlot {
    /// Writes the slot.
    pub fn put<T: Any + Clone + Send + Sync>(&mut self, data: T) {
        self.data = Some(Arc::new(Box::new(data)));
    }

    /// Reads the slot.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let data: &dyn Any = &***self.data.as_ref()?;
        data.downcast_ref()
    }

    /// Writes into the slot; a fork that shares it keeps its old value.
    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        let shared = self.data.as_mut()?;
        if Arc::get_mut(shared).is_none() {
            *shared = Arc::new((***shared).fork());
        }
        let data: &mut dyn Any = &mut **Arc::get_mut(shared)?;
        data.downcast_mut()
    }

    /// Notes the fault of a rule after which the attempt goes on.
    pub fn note_fault(&mut self, fault: Arc<RuleFault>) {
        self.faults.push(fault);
    }
}

/// Faults in the order in which they were noted. A plugin that only reads the state, as Filter does, appends to the end;
/// a fork has a list of its own.
#[derive(Clone, Default)]
struct PassedOver(OnceLock<Box<Noted>>);

#[derive(Clone)]
struct Noted {
    plugin: PluginId,
    fault: Arc<RuleFault>,
    next: PassedOver,
}

impl PassedOver {
    fn iter(&self) -> impl Iterator<Item = (PluginId, &Arc<RuleFault>)> {
        let all = std::iter::successors(self.0.get(), |noted| noted.next.0.get());
        all.map(|noted| (noted.plugin, &noted.fault))
    }
}

/// The state of plugins during one attempt. A fork costs a reference count per slot.
#[derive(Clone, Default)]
pub struct CycleState {
    /// In the order of the plugins; only plugins that ran have a slot, since a profile may have a thousand policies.
    slots: Vec<(PluginId, StateSlot)>,
    /// The number that the attempt draws from seed, pod and attempt: it decides what is left to chance.
    pub draw: u64,
    /// Plugins whose PreFilter returned Skip.
    pub skip_filter: PluginSet,
    /// Plugins whose PreScore returned Skip.
    pub skip_score: PluginSet,
    /// What times the rules of the attempt, in one of a sample.
    pub rule_times: Option<Arc<dyn RuleTimes>>,
    /// Faults that rules passed over.
    passed_over: PassedOver,
    /// The plugins that may say something about the pod; set when the attempt begins.
    pub(super) concerned: Option<Arc<Concerned>>,
}

/// The plugins that may say something about a pod, at the points at which others are left out, each
/// list in the order of its point.
#[derive(Debug)]
pub(super) struct Concerned {
    /// The plugins that ignore the pod.
    pub(super) silent: PluginSet,
    pub(super) pre_enqueue: Vec<PluginId>,
    pub(super) pre_filter: Vec<PluginId>,
    pub(super) filter: Vec<PluginId>,
    pub(super) pre_score: Vec<PluginId>,
    pub(super) score: Vec<ScorePlugin>,
}

impl CycleState {
    /// Whether a plugin has nothing to do with the pod of the attempt: its precondition does not hold, or it has filters
    /// and PreFilter skipped them.
    #[inline]
    pub fn ignores(&self, plugin: PluginId, filters: bool) -> bool {
        let silent = self.concerned.as_ref().is_some_and(|some| some.silent.contains(plugin));
        silent || filters && self.skip_filter.contains(plugin)
    }

    /// The slot of a plugin instance.
    #[inline]
    pub fn slot(&self, plugin: PluginId) -> Option<&StateSlot> {
        let at = self.slots.binary_search_by_key(&plugin, |(of, _)| *of).ok()?;
        self.slots.get(at).map(|(_, slot)| slot)
    }

    /// The faults of rules after which the attempt went on.
    pub fn faults(&self) -> impl Iterator<Item = (PluginId, &Arc<RuleFault>)> {
        let of_slots =
            self.slots.iter().flat_map(|(of, slot)| slot.faults.iter().map(move |fault| (*of, fault)));
        of_slots.chain(self.passed_over.iter())
    }

    /// Notes a fault that a rule passed over: the first of each rule, which `known` recognizes.
    pub(super) fn pass_over(
        &self,
        plugin: PluginId,
        known: impl Fn(&RuleFault) -> bool,
        fault: impl FnOnce() -> Arc<RuleFault>,
    ) {
        let mut at = &self.passed_over;
        while let Some(noted) = at.0.get() {
            if noted.plugin == plugin && known(&noted.fault) {
                return;
            }
            at = &noted.next;
        }
        at.0.get_or_init(|| Box::new(Noted { plugin, fault: fault(), next: PassedOver::default() }));
    }

    /// The slot of a plugin instance, to be written.
    #[inline]
    pub fn slot_mut(&mut self, plugin: PluginId) -> &mut StateSlot {
        let at = self.slots.binary_search_by_key(&plugin, |(of, _)| *of).unwrap_or_else(|at| {
            self.slots.insert(at, (plugin, StateSlot::default()));
            at
        });
        &mut self.slots[at].1
    }
}
