//! Taints of nodes and tolerations of pods.

use super::symbol::Symbol;

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// `NoSchedule`: the pod is not placed there.
    NoSchedule,
    /// `PreferNoSchedule`: other nodes are better.
    PreferNoSchedule,
    /// `NoExecute`: not placed there, and evicted from there.
    NoExecute,
}

/// A taint of a node.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Taint {
    /// The key.
    pub key: Symbol,
    /// The value; empty when there is none.
    pub value: Symbol,
    /// What it does.
    pub effect: Effect,
}

/// How a toleration compares values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TolerationOperator {
    /// The values are equal (the default).
    Equal,
    /// Any value.
    Exists,
    /// The taint's value, an integer, is less than the toleration's.
    Lt,
    /// The taint's value, an integer, is greater than the toleration's.
    Gt,
}

/// A toleration of a pod.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Toleration {
    /// The key; empty with `Exists` means every key.
    pub key: Symbol,
    /// How values compare.
    pub operator: TolerationOperator,
    /// The value.
    pub value: Symbol,
    /// The effect; `None` means every effect.
    pub effect: Option<Effect>,
}
