//! The rules about evictions of all plugins at PostFilter.

use super::Framework;
use crate::cycle_state::{CycleState, StateSlot};
use crate::handle::Handle;
use crate::plugin_id::{PluginId, PluginSet};
use crate::points::PostFilter;
use crate::preemption::{AppliedRules, PreemptionRules, RuleNotes, Verdict};
use crate::simulation::Simulation;
use crate::status::Status;
use bayplan_model::{NodeInfo, Overlay, PodInfo};
use std::sync::Arc;

impl Framework {
    /// The rules that apply to the pod of the handle.
    pub fn preemption_rules(&self, h: Handle) -> AppliedRules<'_> {
        AppliedRules::of(self.eviction_rules(), h)
    }

    /// The rules about evictions of all plugins at PostFilter.
    pub(super) fn eviction_rules(&self) -> impl Iterator<Item = (PluginId, &dyn PreemptionRules)> {
        let point = self.points().post_filter.iter();
        point.filter_map(|id| Some((*id, self.plugin(*id)?.rule_plugin()?.preemption()?)))
    }

    /// Whether rules may name the pods that may be evicted: those of another priority than the lower ones too.
    pub fn may_name_victims(&self) -> bool {
        self.eviction_rules().any(|(_, rules)| rules.may_name_victims())
    }

    /// Whether a pod that is promised a node keeps it from the pod of the handle: it has at least the same priority, or it
    /// may evict that pod by the rules of this profile. Else the pod would take the node and be evicted again.
    pub fn keeps_from(&self, promised: &Arc<PodInfo>, h: Handle, node: NodeInfo) -> bool {
        promised.key != h.pod.key
            && (promised.priority >= h.pod.priority
                || self.may_name_victims() && !promised.never_preempts && self.may_evict(promised, h, node))
    }

    /// Whether rules let a pod evict the pod of the handle, once that is on the node.
    fn may_evict(&self, preemptor: &Arc<PodInfo>, h: Handle, node: NodeInfo) -> bool {
        let mut overlay = Overlay::new(node);
        overlay.add(node, h.pod);
        let node = node.with_overlay(&overlay);
        let (empty, mut state) = (CycleState::default(), CycleState::default());
        let by = Handle { pod: preemptor, cycle: &empty, queued_at: None, attempts: 0, ..h };
        for (id, _) in self.eviction_rules() {
            let Some(point) = self.plugin(id).and_then(|plugin| plugin.pre_filter()) else { continue };
            let mut slot = StateSlot::default();
            // A refusal of the preemptor says nothing about its victims.
            let _ = point.pre_filter(&by.for_plugin(id), &mut slot);
            if let Some(extensions) = point.extensions() {
                let _ = extensions.add_pod(&by.for_plugin(id), &mut slot, h.pod, node);
            }
            *state.slot_mut(id) = slot;
        }
        let by = Handle { cycle: &state, ..by };
        let mut rules = self.preemption_rules(by);
        rules.names_victims()
            && rules.never(by).is_ok()
            && rules.verdict(by, node, h.pod) == Ok(Verdict::Candidate)
    }

    /// Whether the rules about evictions allow these victims on a node, which an extender chose. `Err`: a rule failed.
    pub fn allows_victims(
        &self,
        h: Handle,
        node: NodeInfo,
        victims: &[Arc<PodInfo>],
        notes: &mut RuleNotes,
    ) -> Result<bool, Status> {
        let mut rules = self.preemption_rules(h);
        if rules.is_empty() {
            return Ok(true);
        }
        let allowed = rules.allow(&mut Simulation::new(self, h, node), victims);
        notes.add(rules.into_notes());
        allowed
    }

    /// Whether a plugin at PostFilter preempts by itself.
    fn has_preemptor(&self) -> bool {
        let points = self.points().post_filter.iter();
        let mut points = points.filter_map(|id| self.plugin(*id).and_then(|plugin| plugin.post_filter()));
        points.any(|point| point.preempts() && !point.is_substitute())
    }

    /// The plugins by whose rules more pods may be evicted for the pod of the handle once they begin to apply to it.
    pub(super) fn rules_to_begin(&self, h: Handle) -> PluginSet {
        let preempts = self.has_preemptor();
        let waits = |id: PluginId, rules: &dyn PreemptionRules| {
            let (h, names) = (h.for_plugin(id), rules.may_name_victims());
            (names || !preempts)
                && rules.may_begin()
                && !(rules.applies(&h) && (!names || rules.names_victims(&h)))
        };
        self.eviction_rules().filter(|(id, rules)| waits(*id, *rules)).map(|(id, _)| id).collect()
    }

    /// Whether more pods may be evicted for the pod of the handle than with the plugins of `before`: one that preempts, or
    /// whose rules name victims, is new.
    pub fn evicts_more(&self, before: &Framework, h: Handle) -> bool {
        let preempts = self.has_preemptor();
        let helps = |id: PluginId| {
            let Some(plugin) = self.plugin(id) else { return false };
            let point = plugin.post_filter();
            point.is_some_and(|point| point.preempts() && !point.is_substitute())
                || plugin.rule_plugin().and_then(|of| of.preemption()).is_some_and(|rules| {
                    (rules.may_name_victims() || !preempts)
                        && (rules.may_begin() || rules.applies(&h.for_plugin(id)))
                })
        };
        let mut fresh =
            self.points().post_filter.iter().filter(|id| before.counterpart(self, **id).is_none());
        fresh.any(|id| helps(*id))
    }

    /// The plugin that preempts for the pod of the handle where all plugins at PostFilter that preempt are substitutes: the
    /// first by name whose rules apply to the pod.
    pub(super) fn substitute(&self, h: Handle) -> Option<PluginId> {
        if self.has_preemptor() {
            return None;
        }
        let point = |id: &PluginId| self.plugin(*id).and_then(|plugin| plugin.post_filter());
        let rules = self.preemption_rules(h);
        let is_substitute = |id: &PluginId| point(id).is_some_and(PostFilter::is_substitute);
        rules.plugins().filter(is_substitute).min_by_key(|id| self.plugin_name(*id))
    }
}
