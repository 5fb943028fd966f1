//! [`Runner`]: how a PostFilter plugin runs the other plugins of its profile.

use super::Framework;
use crate::handle::Handle;
use crate::plugin_id::PluginId;
use crate::points::PluginsRunner;
use crate::preemption::{AppliedRules, PreemptionRules, RuleNotes};
use crate::simulation::Simulation;
use bayplan_model::NodeId;

/// Lets plugins run filters on a changed copy of a node.
pub struct Runner<'a> {
    /// The plugins.
    pub framework: &'a Framework,
    /// The attempt.
    pub handle: Handle<'a>,
    /// What came of asking the rules about evictions.
    pub notes: RuleNotes,
    /// Rules about evictions that do not decide, to find out what they would change.
    pub with: Option<(PluginId, &'a dyn PreemptionRules)>,
}

impl<'a> Runner<'a> {
    /// For an attempt.
    pub fn new(framework: &'a Framework, handle: Handle<'a>) -> Self {
        Self { framework, handle, notes: RuleNotes::default(), with: None }
    }
}

impl PluginsRunner for Runner<'_> {
    fn rules(&self) -> AppliedRules<'_> {
        let rules = self.framework.eviction_rules().chain(self.with);
        AppliedRules::of(rules, self.handle)
    }
    fn asked(&mut self, notes: RuleNotes) {
        self.notes = notes;
    }
    fn plugin_name(&self, plugin: PluginId) -> &str {
        self.framework.plugin_name(plugin)
    }
    fn simulate(&self, node: NodeId) -> Option<Simulation<'_>> {
        let node = self.handle.snapshot.node(node)?;
        Some(Simulation::new(self.framework, self.handle, node))
    }
}
