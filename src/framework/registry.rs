//! [`Registry`]: every plugin a profile may name, in the order of the default profile. The in-tree plugins come from
//! `plugins::IN_TREE`, policies are added after them; `profile` makes frameworks of it.

use super::plugin::Plugin;
use super::{ArgsError, Field, Tree, TreeValue};
use super::{Features, Gate};
use std::sync::Arc;

/// Makes a plugin of its arguments and the feature gates; complaints name the argument.
pub type NewPlugin = fn(&Tree, Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>>;

/// A row of the table of in-tree plugins.
#[derive(Clone, Copy, Debug)]
pub struct PluginDescriptor {
    /// The name, as in a profile.
    pub name: &'static str,
    /// The weight in the default profile; 0 where it scores nothing.
    pub weight: i64,
    /// Whether the default profile has it.
    pub default: bool,
    /// The feature gate without which the default profile does not have it.
    pub gate: Option<Gate>,
    /// The kind of its arguments, `<Name>Args`; `None` when it has none.
    pub args: Option<&'static str>,
    /// What a pod waits for that the plugin refuses, as metrics count it: `resources`, `taint`, `other`.
    pub cause: &'static str,
    /// How it is made.
    pub make: Make,
}

/// How an in-tree plugin is made.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// By this function.
    Built(NewPlugin),
    /// Not built, and in no profile by default: its feature gate is off.
    GatedOff,
}

impl PluginDescriptor {
    /// The row with another cause.
    pub const fn with_cause(self, cause: &'static str) -> Self {
        Self { cause, ..self }
    }

    /// Whether the plugin is built.
    pub(crate) fn is_built(&self) -> bool {
        matches!(self.make, Make::Built(_))
    }
}

/// Where a plugin comes from.
#[derive(Clone)]
enum Source {
    InTree(PluginDescriptor, Features),
    Policy(Arc<PolicyBuilder>),
}

/// Makes the plugin of a policy with its arguments.
type PolicyBuilder = dyn Fn(&Tree) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> + Send + Sync;

/// A plugin that a profile may name.
#[derive(Clone)]
pub struct Entry {
    name: Arc<str>,
    source: Source,
    /// A policy that orders the queue.
    sorts: bool,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry({})", self.name)
    }
}

impl Entry {
    /// The name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether it is a policy.
    pub fn is_policy(&self) -> bool {
        matches!(self.source, Source::Policy(_))
    }

    /// Whether it is a policy with `queue by`.
    pub(crate) fn sorts_queue(&self) -> bool {
        self.sorts
    }

    /// Whether it is built.
    pub(crate) fn is_built(&self) -> bool {
        match &self.source {
            Source::InTree(descriptor, _) => descriptor.is_built(),
            Source::Policy(_) => true,
        }
    }

    /// Whether profiles have it unless they say otherwise.
    pub fn is_default(&self) -> bool {
        match &self.source {
            Source::InTree(descriptor, features) => {
                descriptor.default && descriptor.gate.is_none_or(|gate| features.on(gate))
            }
            Source::Policy(_) => true,
        }
    }

    /// The weight as the default profile lists it; 0 where the plugin scores nothing.
    pub fn default_weight(&self) -> i64 {
        match &self.source {
            Source::InTree(descriptor, _) => descriptor.weight,
            Source::Policy(_) => 0,
        }
    }

    /// The kind of its arguments; `None` for a plugin without arguments, and for policies.
    pub fn args_kind(&self) -> Option<&'static str> {
        match &self.source {
            Source::InTree(descriptor, _) => descriptor.args,
            Source::Policy(_) => None,
        }
    }

    /// The weight in the default profile, at least 1.
    pub fn weight(&self) -> i64 {
        match &self.source {
            Source::InTree(descriptor, _) => descriptor.weight.max(1),
            Source::Policy(_) => 1,
        }
    }

    /// Makes the plugin. `None` when it is not built.
    pub fn make(&self, args: &Tree) -> Option<Result<Arc<dyn Plugin>, Vec<ArgsError>>> {
        match &self.source {
            Source::InTree(descriptor, features) => match descriptor.make {
                Make::Built(new) => Some(new(args, *features)),
                Make::GatedOff => None,
            },
            Source::Policy(new) => Some(new(args)),
        }
    }
}

/// A name was registered twice.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a plugin named {0:?} already exists")]
pub struct DuplicateName(pub String);

/// Every plugin a profile may name: the in-tree ones in the order of the default profile, then policies by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    entries: Vec<Entry>,
    features: Features,
}

impl Registry {
    /// The in-tree plugins under these feature gates. Of two rows of one name the first counts.
    pub fn in_tree(table: &[PluginDescriptor], features: Features) -> Self {
        let mut registry = Self { entries: Vec::new(), features };
        for row in table {
            let source = Source::InTree(*row, features);
            if registry.get(row.name).is_none() {
                registry.entries.push(Entry { name: Arc::from(row.name), source, sorts: false });
            }
        }
        registry
    }

    /// What its plugins are made for.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Adds a policy; `sorts_queue` says that it has `queue by`. Policies follow the in-tree plugins, sorted by
    /// name.
    pub fn add_policy(
        &mut self,
        name: &str,
        sorts_queue: bool,
        new: impl Fn(&Tree) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> + Send + Sync + 'static,
    ) -> Result<(), DuplicateName> {
        if self.get(name).is_some() {
            return Err(DuplicateName(name.to_owned()));
        }
        let source = Source::Policy(Arc::new(new));
        let entry = Entry { name: Arc::from(name), source, sorts: sorts_queue };
        let at = self.entries.partition_point(|known| !known.is_policy() || *known.name < *name);
        self.entries.insert(at, entry);
        Ok(())
    }

    /// Adds a policy whose plugin is made already; it takes no arguments.
    pub fn add_plugin(&mut self, plugin: Arc<dyn Plugin>) -> Result<(), DuplicateName> {
        let name = plugin.name().to_owned();
        let sorts = plugin.queue_sort().is_some();
        self.add_policy(&name, sorts, move |args| match &args.value {
            TreeValue::Null => Ok(plugin.clone()),
            _ => Err(vec![Field::root(args).error("this policy takes no arguments")]),
        })
    }

    /// A plugin by name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        // Policies are many and sorted, so a binary search finds them.
        let (in_tree, policies) =
            self.entries.split_at(self.entries.partition_point(|entry| !entry.is_policy()));
        let policy = || policies.binary_search_by(|entry| (*entry.name).cmp(name)).ok();
        let in_tree = in_tree.iter().find(|entry| *entry.name == *name);
        in_tree.or_else(|| policies.get(policy()?))
    }

    /// All of them, in the order of the default profile.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}
