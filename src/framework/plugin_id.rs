//! [`PluginId`]: a plugin by its place in a framework, and [`PluginSet`]: a set of them.

use bayplan_model::{BitSet, Row};

/// A plugin instance of a framework, by its place in the framework's list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PluginId(pub u16);

impl PluginId {
    /// No plugin: the framework itself.
    pub const NONE: Self = Self(u16::MAX);

    /// Place in the framework's list.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl Row for PluginId {
    #[inline]
    fn row(self) -> usize {
        self.index()
    }

    #[inline]
    fn from_row(row: usize) -> Self {
        Self(row as u16)
    }
}

/// A set of plugin instances of one framework, in the framework's order.
pub type PluginSet = BitSet<PluginId>;
