//! Refuses nodes on which a pod cannot have its persistent volumes, and has them bound before the pod is.
//!
//! A claim is bound already, or its binding waits for a node: then it takes an existing volume, or one is provisioned. The
//! scheduler writes its choice to the volume (`claimRef`) or to the claim (the annotation of the selected node), and the
//! volume controller binds.
//!
//! - `claims.rs`: PreFilter: the claims of a pod
//! - `find.rs`: Filter: the volumes of a pod on a node; `range.rs`: the same for many nodes, of delayed claims in
//!   `delayed.rs` with `filed.rs` (volumes by label) and `groups.rs` (nodes that are alike)
//! - `matching.rs`: the volumes that a claim may take
//! - `index.rs`, `capacities.rs`: volumes and storage capacities by class
//! - `score.rs`: Score, by how full volumes would be
//! - `reserve.rs`: assumptions; `bind.rs`: what is written, and the wait for the controller
//! - `hints.rs`: which events may help; `explain.rs`: which claim, and why no volume
//!
//! Source: `pkg/scheduler/framework/plugins/volumebinding`.

mod bind;
mod capacities;
mod claims;
mod delayed;
mod explain;
mod filed;
mod find;
mod groups;
mod hints;
mod index;
mod matching;
mod range;
mod reserve;
mod score;

use crate::shape::read_shape;
use crate::volumes::migration;
use bayplan_framework::{
    ArgsError, Feasible, Features, Field, Filter, Gate, Handle, Need, Plugin, PreFilter, PreFilterOutcome,
    PreScore, PreScoreOutcome, Reads, Score, StateSlot, Status, Tree, TreeValue, Verdicts, Violation,
};
use bayplan_model::{
    ConstraintKinds, Duration, Index, IndexKey, Kind, Kinds, NodeInfo, NodeSet, PodInfo, PodPrecondition,
    Snapshot, Symbol, Want,
};
use claims::Claims;
pub use index::VolumeIndex;
use std::sync::Arc;

/// Pods that have claims of either kind.
const CLAIMS: ConstraintKinds = ConstraintKinds::VOLUME_CLAIMS.with(ConstraintKinds::EPHEMERAL_VOLUMES);

/// The default of `bindTimeoutSeconds`.
const BIND_TIMEOUT: i64 = 600;

/// The longest time-out that differs from waiting for ever, in seconds.
const LONGEST_TIMEOUT: i64 = 100 * 365 * 24 * 3600;

/// Node labels on which the affinity of most volumes is, also of those that a claim gets later.
const COMMON_KEYS: [&str; 3] = ["kubernetes.io/hostname", migration::ZONE, migration::REGION];

const fn need(kind: Kind) -> Need {
    Need { kind, optional: false }
}

/// The kinds of objects that it reads.
const NEEDS: &[Need] = &[
    need(Kind::PersistentVolume),
    need(Kind::PersistentVolumeClaim),
    need(Kind::StorageClass),
    need(Kind::CsiNode),
    need(Kind::CsiDriver),
    need(Kind::CsiStorageCapacity),
];

struct VolumeBinding {
    /// How long the volume controller may take.
    bind_timeout: Duration,
    /// The score by utilization, both in percent. `None`: all nodes get the same.
    shape: Option<Vec<(i64, i64)>>,
}

pub(super) fn new(args: &Tree, features: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let mut errors = Vec::new();
    let known = ["apiVersion", "kind", "bindTimeoutSeconds", "shape"];
    let fields = Field::root(args).object(&known, &mut errors);
    let mut seconds = BIND_TIMEOUT;
    if let Some(field) = fields.get("bindTimeoutSeconds")
        && let Some(given) = field.int(&mut errors)
    {
        if given < 0 {
            errors.push(field.error("invalid BindTimeoutSeconds, should not be a negative value"));
        }
        seconds = given;
    }
    let given = fields.get("shape");
    let shape = features.on(Gate::StorageCapacityScoring).then(|| match &given {
        // As upstream, an empty list is one that is not given.
        Some(field) if !matches!(&field.tree.value, TreeValue::List(points) if points.is_empty()) => {
            read_shape(field, &mut errors)
        }
        _ => score::DEFAULT_SHAPE.to_vec(),
    });
    if let Some(field) = given.filter(|_| shape.is_none()) {
        let text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring";
        errors.push(field.error(text));
    }
    // Longer than any process lives.
    let bind_timeout = Duration::from_seconds(seconds.min(LONGEST_TIMEOUT));
    if errors.is_empty() { Ok(Arc::new(VolumeBinding { bind_timeout, shape })) } else { Err(errors) }
}

impl Plugin for VolumeBinding {
    fn name(&self) -> &str {
        "VolumeBinding"
    }
    fn reads(&self) -> Reads {
        Reads { any_label: true, ..Reads::of(Kinds::VOLUMES.with(Kinds::LABELS).with(Kinds::LIFE)) }
    }
    fn kinds(&self) -> &'static [Need] {
        NEEDS
    }
    fn precondition(&self) -> Option<PodPrecondition> {
        Some(PodPrecondition::Constraints(CLAIMS))
    }
    fn indexes(&self) -> Vec<(IndexKey, Box<dyn Index>)> {
        vec![(VolumeIndex::key(), Box::new(VolumeIndex::default()))]
    }
    fn wants(&self, pod: &PodInfo, snapshot: &Snapshot, out: &mut Vec<Want>) {
        if pod.claims().next().is_some() {
            out.extend(COMMON_KEYS.map(|key| Want::Domain(Symbol::new(key))));
            range::label_keys(pod, snapshot, |key| out.push(Want::Domain(key.clone())));
        }
    }
    bayplan_framework::serves!(PreFilter, Filter, PreScore, Score, Reserve, PreBind, EnqueueExtensions);
}

impl PreFilter for VolumeBinding {
    fn pre_filter(&self, h: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let Some(claims) = Claims::of(h)? else { return Ok(PreFilterOutcome::Skip) };
        state.put(claims);
        Ok(PreFilterOutcome::AllNodes)
    }
}

impl Filter for VolumeBinding {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        let claims = Claims::in_attempt(h)?;
        let found = find::find(h.snapshot, &claims, node.node()).map_err(Status::error)?;
        found.map(|_| ()).map_err(|conflicts| conflicts.status())
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        match Claims::in_attempt(h) {
            Ok(claims) => range::filter(h, &claims, nodes, out),
            Err(status) => {
                let status = out.status(status);
                for (word, rows) in nodes.words().iter().enumerate() {
                    out.refuse_rows(word, *rows, status);
                }
            }
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        explain::violations(h, node.node(), out);
    }
}

impl PreScore for VolumeBinding {
    fn pre_score(&self, h: &Handle, _: &Feasible, _: &mut StateSlot) -> Result<PreScoreOutcome, Status> {
        Ok(if self.scores(h) { PreScoreOutcome::Score } else { PreScoreOutcome::Skip })
    }
}

impl VolumeBinding {
    /// Whether nodes may differ in their scores: the pod has claims that wait for a node.
    fn scores(&self, h: &Handle) -> bool {
        self.shape.is_some() && Claims::in_attempt(h).is_ok_and(|claims| !claims.delayed.is_empty())
    }
}

impl Score for VolumeBinding {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        self.shape.as_ref().map_or(Ok(0), |shape| score::score(h, shape, node))
    }
    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        self.shape.as_ref().map_or(Ok(()), |shape| score::score_range(h, shape, nodes, out))
    }
    fn is_zero(&self, h: &Handle) -> bool {
        !self.scores(h)
    }
}
