//! [`Walk`]: one walk over the expressions of a rule, with what it adds up: steps per pod, per node
//! and in place, and the shares of the cluster that they depend on.

use super::extent::Extent;
use super::steps::{PartitionBy, Share, ShareId, Steps, Summation};
use super::{Size, TooLarge};
use crate::language::fields::{FieldDef, ObjectType, field};
use crate::typed::{DefId, Expr, ExprKind, Policy, SlotId};
use crate::types::Type;
use bayplan_diag::Span;
use rustc_hash::FxHashMap;

/// How expressions are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluationMode {
    /// By closures, for every node: what depends on the pod alone is computed once, elements are
    /// looked up by value.
    PerNode,
    /// By closures, once for a pod.
    PerPod,
    /// By the reference evaluator, one for each node.
    Reference,
}

/// A part of a rule, with what it takes.
#[derive(Clone, Debug)]
pub(super) struct CostPart {
    /// Where it is written.
    pub span: Span,
    /// Its steps.
    pub steps: Steps,
    /// It visits texts, and not elements.
    pub of_texts: bool,
}

/// Steps, and the part that takes most of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost {
    /// All of them.
    pub steps: Steps,
    /// The most expensive macro, list or function in it.
    pub heaviest: Option<CostPart>,
}

impl Cost {
    pub(super) fn plain(number: u128) -> Self {
        Self { steps: Steps::new(number), heaviest: None }
    }

    pub(super) fn add(&mut self, other: Cost, size: Size, shares: &[Share]) {
        self.steps.add(&other.steps);
        let weight = |of: &Option<CostPart>| of.as_ref().map_or(0, |part| part.steps.at(size, shares));
        if weight(&other.heaviest) > weight(&self.heaviest) {
            self.heaviest = other.heaviest;
        }
    }

    pub(super) fn for_each(
        &self,
        times: &Steps,
        each: PartitionBy,
        parts: Summation<'_>,
        shares: &[Share],
    ) -> Cost {
        let heaviest = self.heaviest.as_ref();
        Cost {
            steps: self.steps.for_each(times, each, parts, shares),
            heaviest: heaviest.map(|part| CostPart {
                steps: part.steps.for_each(times, each, parts, shares),
                ..part.clone()
            }),
        }
    }
}

/// One walk over the expressions of a rule.
pub(super) struct Walk<'p> {
    pub(super) policy: &'p Policy,
    pub(super) size: Size,
    pub(super) mode: EvaluationMode,
    pub(super) shares: Vec<Share>,
    /// How large the values of variables are.
    pub(super) slots: FxHashMap<SlotId, Extent>,
    /// Lets that were paid for, with the size of their values.
    pub(super) lets: Vec<Option<Extent>>,
    /// Defs for arguments of these sizes.
    pub(super) defs: FxHashMap<DefId, Vec<(Vec<Extent>, Cost, Extent)>>,
    /// Computed once per pod.
    pub(super) once: Cost,
    /// Computed once per node, wherever it is used.
    pub(super) per_node: Cost,
    /// Inside of what is computed once per pod.
    pub(super) of_pod: bool,
    /// Inside of what is computed once for each value that the node has.
    pub(super) remembering: bool,
    /// The part of the pods that is on the node.
    pub(super) pods_of_node: Option<ShareId>,
    /// Texts and lists beyond their limits.
    pub(super) too_large: Vec<TooLarge>,
}

impl<'p> Walk<'p> {
    /// A walk over a policy's expressions.
    pub(super) fn new(policy: &'p Policy, size: Size, mode: EvaluationMode) -> Self {
        Self {
            policy,
            size,
            mode,
            shares: Vec::new(),
            slots: FxHashMap::default(),
            lets: vec![None; policy.lets.len()],
            defs: FxHashMap::default(),
            once: Cost::default(),
            per_node: Cost::default(),
            of_pod: false,
            remembering: false,
            pods_of_node: None,
            too_large: Vec::new(),
        }
    }

    pub(super) fn sum(&self, into: &mut Cost, other: Cost) {
        into.add(other, self.size, &self.shares);
    }

    pub(super) fn pay_once(&mut self, cost: Cost) {
        self.once.add(cost, self.size, &self.shares);
    }

    pub(super) fn pay_per_node(&mut self, cost: Cost) {
        self.per_node.add(cost, self.size, &self.shares);
    }

    pub(super) fn share(&mut self, total: Steps, most: Steps, of: PartitionBy) -> ShareId {
        self.shares.push(Share { total, most, of });
        ShareId(self.shares.len() as u32 - 1)
    }

    /// The pods on one of the things of `of`.
    pub(super) fn pods_on(&mut self, of: PartitionBy) -> Steps {
        let known = self.pods_of_node.filter(|_| of == PartitionBy::Node);
        let most = Steps::new(u128::from(pods_of_a_node()));
        let id = known.unwrap_or_else(|| self.share(Steps::pods(), most, of));
        if of == PartitionBy::Node {
            self.pods_of_node = Some(id);
        }
        Steps::share(id)
    }

    /// The GPUs on one of the things of `of`: one node may have the most there can be, and not all
    /// nodes.
    pub(super) fn gpus_on(&mut self, of: PartitionBy, gpus: &FieldDef) -> Steps {
        let most = Steps::new(u128::from(gpus.size));
        let total = Steps::nodes().times(&Steps::new(GPUS_EACH)).plus(&most);
        Steps::share(self.share(total, most, of))
    }

    pub(super) fn closures(&self) -> bool {
        self.mode != EvaluationMode::Reference
    }

    /// Makes an expression the heaviest part where it is heavier than its parts.
    pub(super) fn weighed(&self, expr: &Expr, mut cost: Cost) -> Cost {
        let all = cost.steps.at(self.size, &self.shares);
        let heaviest = cost.heaviest.as_ref().map_or(0, |part| part.steps.at(self.size, &self.shares));
        // An inner part that takes more than half of it is what is to be changed.
        if heaviest <= all / 2 {
            let of_texts = matches!(&expr.kind, ExprKind::Call(_, args, _) if args.iter().all(|arg| arg.ty == Type::String));
            cost.heaviest = Some(CostPart { span: expr.span, steps: cost.steps.clone(), of_texts });
        }
        cost
    }

    pub(super) fn collection(&self, expr: &Expr, count: Steps, each: u128) -> Cost {
        let steps = count.times(&Steps::new(each)).plus_number(1);
        self.weighed(expr, Cost { steps, heaviest: None })
    }
}

/// GPUs of a node, on the average of all nodes.
const GPUS_EACH: u128 = 16;

/// Most pods of one node.
pub(super) fn pods_of_a_node() -> u32 {
    field(ObjectType::Node, "pods").map_or(0, |field| field.def().size)
}
