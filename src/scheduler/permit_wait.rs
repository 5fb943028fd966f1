//! [`Wait`]: a plugin for which a pod waits at Permit.

use super::guard::guard;
use bayplan_framework::{Cycle, Handle, Interest, PluginId};
use bayplan_model::{Duration, Kinds, Snapshot, Symbol, Time};
use std::sync::Arc;

/// Interval at which a plugin is re-evaluated after its `next_change` panicked.
const CLOCK_EVERY: Duration = Duration::from_seconds(60);

/// A plugin that makes a pod wait.
#[derive(Clone)]
pub(super) struct Wait {
    pub(super) plugin: PluginId,
    pub(super) name: Symbol,
    pub(super) until: Time,
    /// The wait that it requested.
    pub(super) asked: Duration,
    /// When the plugin is to be re-evaluated.
    pub(super) renewal: Renewal,
    /// After a reload: the plugin of the same name that hints from now on.
    pub(super) successor: Option<Box<Cycle>>,
}

/// When a plugin is re-evaluated for a waiting pod.
#[derive(Clone)]
pub(super) struct Renewal {
    /// The next instant at which time may change its answer.
    again: Option<Time>,
    /// The plugin gives pods with the same key the same answer.
    key: Option<u64>,
    /// What can change its answer.
    interest: Arc<Interest>,
}

impl Renewal {
    /// What the plugin says of a pod that begins or goes on waiting. Where it panics, nothing is shared and everything
    /// concerns it.
    pub(super) fn of(cycle: &Cycle, snapshot: &Snapshot, plugin: PluginId, now: Time) -> Self {
        let handle = Handle { now, ..cycle.handle(snapshot).for_plugin(plugin) };
        let framework = &cycle.framework;
        let Some(plugin) = framework.plugin(plugin) else {
            return Self { again: None, key: None, interest: Arc::default() };
        };
        let again = guard(framework, || Ok(plugin.next_change(&handle, &mut 0)));
        let again = again.unwrap_or_else(|_| Some(now + CLOCK_EVERY));
        let point = plugin.permit();
        let key = guard(framework, || Ok(point.and_then(|point| point.equivalence_key(&handle))));
        let interest = guard(framework, || {
            let own = point.and_then(|point| point.interest(&handle));
            Ok(own.unwrap_or_else(|| Interest::of(&plugin.reads())))
        });
        let interest = interest.unwrap_or_else(|_| Interest { kinds: Kinds::ALL, groups: Vec::new() });
        Self {
            again: again.map(|next| next.max(now + Duration(1))),
            key: key.ok().flatten(),
            interest: Arc::new(interest),
        }
    }

    /// This one, with an answer that no other pod shares.
    pub(super) fn unshared(self) -> Self {
        Self { key: None, ..self }
    }
}

impl Wait {
    pub(super) fn new(cycle: &Cycle, snapshot: &Snapshot, plugin: PluginId, until: Time, now: Time) -> Self {
        let name = Symbol::new(cycle.framework.plugin_name(plugin));
        let renewal = Renewal::of(cycle, snapshot, plugin, now);
        Self { plugin, name, until, asked: until - now, renewal, successor: None }
    }

    /// The pods with the same answer. Time may change the answer about each pod at another moment.
    pub(super) fn class(&self) -> WaitClass {
        WaitClass {
            plugin: self.name.clone(),
            key: self.renewal.key.filter(|_| self.renewal.again.is_none()),
            interest: self.renewal.interest.clone(),
        }
    }

    pub(super) fn alarm(&self) -> Time {
        self.renewal.again.map_or(self.until, |again| again.min(self.until))
    }
}

/// Pods that wait for the same plugin with the same equivalence key: when one of them goes on waiting, so do the
/// others.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct WaitClass {
    /// The name of the plugin.
    pub(super) plugin: Symbol,
    /// `None`: each pod has an answer of its own.
    pub(super) key: Option<u64>,
    /// What can change the answer.
    pub(super) interest: Arc<Interest>,
}
