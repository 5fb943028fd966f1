//! [`Extenders`]: the extenders of a scheduler, and the plugin to which their refusals belong.

use crate::extenders::{EXTENDER_NAME, Extender};
use crate::plugin::Plugin;
use crate::reads::Reads;
use bayplan_model::PodInfo;
use std::sync::Arc;

/// The extenders of a configuration, in the order of their calls. All profiles share them.
#[derive(Clone)]
pub struct Extenders {
    all: Vec<Extender>,
    /// Represents all of them among the plugins that refused a pod.
    plugin: Arc<dyn Plugin>,
}

impl Default for Extenders {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl std::fmt::Debug for Extenders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.all).finish()
    }
}

impl Extenders {
    /// These extenders. Those that are ignorable come after the others.
    pub fn new(mut all: Vec<Extender>) -> Self {
        all.sort_by_key(|extender| extender.ignorable);
        Self { all, plugin: Arc::new(Refuser) }
    }

    /// In the order of their calls. A place in it is the number of an extender.
    pub fn all(&self) -> &[Extender] {
        &self.all
    }

    /// An extender by its number.
    pub fn get(&self, at: u16) -> Option<&Extender> {
        self.all.get(usize::from(at))
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those that are called about the pod, with their numbers.
    pub fn interested<'a>(&'a self, pod: &'a PodInfo) -> impl Iterator<Item = (u16, &'a Extender)> {
        let all = self.all.iter().enumerate().map(|(at, extender)| (at as u16, extender));
        all.filter(|(_, extender)| extender.is_interested(pod))
    }

    /// The number of the first extender from the number `next` on that is called about the pod and `has` a verb.
    pub fn next(&self, pod: &PodInfo, next: u16, has: fn(&Extender) -> bool) -> Option<u16> {
        let mut interested = self.interested(pod);
        interested.find(|(at, extender)| *at >= next && has(extender)).map(|(at, _)| at)
    }

    /// The plugin that represents them.
    pub(super) fn plugin(&self) -> &Arc<dyn Plugin> {
        &self.plugin
    }
}

/// Runs at no extension point. It has no hints, so every event may help a pod that an extender refused.
struct Refuser;

impl Plugin for Refuser {
    fn name(&self) -> &str {
        EXTENDER_NAME
    }
    fn reads(&self) -> Reads {
        Reads::default()
    }
}
