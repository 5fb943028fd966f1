//! [`Extender`]: a process outside the scheduler that filters, scores, preempts and binds beside the plugins, with
//! questions and answers as data. `scheduler` decides what an answer means; `cluster` sends the questions by HTTP.
//!
//! Source: `pkg/scheduler/extender.go`, `staging/src/k8s.io/kube-scheduler/extender/v1/types.go`.

use bayplan_model::{Duration, ObjectKey, PodInfo, Symbol};
use std::sync::Arc;

/// The name by which refused pods name extenders among the plugins that refused them.
///
/// Source: `pkg/scheduler/framework/types.go`, `ExtenderName`.
pub(crate) const EXTENDER_NAME: &str = "Extender";

/// Scores of extenders reach from 0 to 10, those of plugins from 0 to 100.
const SCALE: i64 = 10;

/// A configured extender. A verb that is empty is one that the extender does not have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extender {
    /// `urlPrefix`, which is also its name in messages.
    pub url: String,
    /// The verb that filters nodes.
    pub filter_verb: String,
    /// The verb that chooses among the candidates of a preemption.
    pub preempt_verb: String,
    /// The verb that scores nodes.
    pub prioritize_verb: String,
    /// The verb that binds pods.
    pub bind_verb: String,
    /// What its scores are multiplied by.
    pub weight: i64,
    /// Whether it knows the nodes, so that their names are enough.
    pub node_cache_capable: bool,
    /// The extended resources that it manages. It is called only about pods that name one of them, or about
    /// all pods when the list is empty.
    pub managed: Box<[Symbol]>,
    /// Whether scheduling goes on without it when it fails.
    pub ignorable: bool,
    /// How long to wait for an answer.
    pub timeout: Duration,
}

impl Extender {
    /// Whether it is called about the pod: a container requests or limits a resource that it manages.
    pub fn is_interested(&self, pod: &PodInfo) -> bool {
        self.managed.is_empty()
            || pod.containers.iter().any(|container| {
                let named = container.requests.scalars.iter().chain(&container.limits.scalars);
                named.into_iter().any(|(name, _)| self.managed.contains(name))
            })
    }

    /// Whether it filters nodes.
    pub fn filters(&self) -> bool {
        !self.filter_verb.is_empty()
    }

    /// Whether it scores nodes.
    pub fn prioritizes(&self) -> bool {
        !self.prioritize_verb.is_empty()
    }

    /// Whether it takes part in preemption.
    pub fn preempts(&self) -> bool {
        !self.preempt_verb.is_empty()
    }

    /// Whether it binds pods.
    pub fn binds(&self) -> bool {
        !self.bind_verb.is_empty()
    }

    /// What one of its scores adds to the total of a node.
    pub fn points(&self, score: i64) -> i64 {
        score.saturating_mul(self.weight).saturating_mul(SCALE)
    }
}

/// A node on which a pod fits when these pods are evicted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeVictims {
    /// The node.
    pub node: Symbol,
    /// The pods to evict, the most important one first.
    pub pods: Vec<ObjectKey>,
    /// How many of them no PodDisruptionBudget allows to evict.
    pub pdb_violations: i64,
}

/// A question to an extender.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExtenderAsk {
    /// Which of these nodes the pod may be placed on.
    Filter {
        /// The pod.
        pod: ObjectKey,
        /// The nodes that passed all filters so far, in row order.
        nodes: Arc<[Symbol]>,
    },
    /// The scores of these nodes.
    Prioritize {
        /// The pod.
        pod: ObjectKey,
        /// The feasible nodes, in row order.
        nodes: Arc<[Symbol]>,
    },
    /// Which of these nodes may be taken with which victims.
    Preempt {
        /// The pod that would preempt.
        pod: ObjectKey,
        /// The candidates.
        candidates: Arc<[NodeVictims]>,
    },
    /// To bind the pod.
    Bind {
        /// The pod.
        pod: ObjectKey,
        /// The node.
        node: Symbol,
    },
}

impl ExtenderAsk {
    /// The pod that the question is about.
    pub fn pod(&self) -> &ObjectKey {
        match self {
            Self::Filter { pod, .. }
            | Self::Prioritize { pod, .. }
            | Self::Preempt { pod, .. }
            | Self::Bind { pod, .. } => pod,
        }
    }
}

/// What an extender answered. Names are as it wrote them; nothing about them is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExtenderAnswer {
    /// To [`ExtenderAsk::Filter`].
    Filtered(Filtered),
    /// To [`ExtenderAsk::Prioritize`]: names of nodes with their scores.
    Scores(Vec<(String, i64)>),
    /// To [`ExtenderAsk::Preempt`]: names of nodes, UIDs of the victims there and the number of violated budgets.
    Victims(Vec<(String, Vec<String>, i64)>),
    /// To [`ExtenderAsk::Bind`].
    Bound,
}

/// The answer to a filter question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filtered {
    /// `NodeNames`: the nodes that remain.
    pub names: Option<Vec<String>>,
    /// The names of `Nodes`.
    pub nodes: Option<Vec<String>>,
    /// `FailedNodes`: evicting pods may help there.
    pub failed: Vec<(String, String)>,
    /// `FailedAndUnresolvableNodes`: evicting pods does not help there.
    pub unresolvable: Vec<(String, String)>,
}
