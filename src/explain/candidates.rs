//! The edits that are worth a try: what the plugins that refuse the pod propose, grouped by kind.

use super::attempt::{Attempt, NODES_CHOSEN};
use super::changes::Question;
use bayplan_diag::suggest::nearest;
use bayplan_framework::{Edit, describes_machine};
use bayplan_model::{NodeId, Symbol};
use rustc_hash::FxHashMap;

/// Edits of one kind.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The edit without amounts and values that differ between nodes.
    pub(super) kind: Edit,
    /// What was proposed for each node, the smallest edit first.
    by_node: FxHashMap<NodeId, Vec<Edit>>,
    /// What was proposed whatever the node.
    anywhere: Option<Edit>,
}

impl Candidate {
    fn new(kind: Edit) -> Self {
        Self { kind, by_node: FxHashMap::default(), anywhere: None }
    }

    /// Whether it is the same edit for every node.
    pub(super) fn is_uniform(&self) -> bool {
        !self.kind.changes_node() && (!self.kind.has_amount() || self.anywhere.is_some())
    }

    /// The edit of a uniform candidate.
    pub(super) fn anywhere(&self) -> Edit {
        self.anywhere.as_ref().unwrap_or(&self.kind).clone()
    }

    /// The edits to try on a node.
    pub(super) fn options(&self, node: NodeId) -> Vec<Edit> {
        if self.is_uniform() {
            return vec![self.anywhere()];
        }
        self.by_node.get(&node).cloned().unwrap_or_default()
    }
}

/// What the plugins propose against their refusals of these nodes, or of the pod before nodes are
/// evaluated.
pub(super) fn candidates(question: &Question, nodes: &[NodeId]) -> Vec<Candidate> {
    let attempt = Attempt::new(question.framework, question.snapshot, question.pod, question.now);
    let mut found: Vec<Candidate> = Vec::new();
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    let mut add = |edit: Edit, node: Option<NodeId>| {
        if matches!(&edit, Edit::NodeLabel { key, .. } if describes_machine(key)) {
            return;
        }
        let kind = edit.kind();
        let place = *places.entry(format!("{kind:?}")).or_insert_with(|| {
            found.push(Candidate::new(kind));
            found.len() - 1
        });
        let Some(candidate) = found.get_mut(place) else { return };
        if let Some(node) = node {
            let options = candidate.by_node.entry(node).or_default();
            if !options.contains(&edit) {
                options.push(edit);
            }
        } else {
            candidate.anywhere.get_or_insert(edit);
        }
    };
    if let Some(status) = attempt.refused() {
        if let Some(plugin) = question.framework.plugin(status.plugin) {
            let handle = attempt.cycle.handle(question.snapshot).for_plugin(status.plugin);
            plugin.remedies(&handle, None).into_iter().for_each(|edit| add(edit, None));
        }
    } else {
        let late = attempt.may_be_refused_late();
        for (at, id) in nodes.iter().enumerate() {
            let Some(node) = question.snapshot.node(*id) else { continue };
            attempt
                .remedies(node, late && at < NODES_CHOSEN)
                .into_iter()
                .for_each(|edit| add(edit, Some(*id)));
        }
    }
    without_far_spellings(found, question)
}

/// Of edits that correct a spelling only those whose name is near to the misspelt one.
fn without_far_spellings(mut candidates: Vec<Candidate>, question: &Question) -> Vec<Candidate> {
    let known_key = |key: &Symbol| question.snapshot.nodes().any(|node| node.label(key).is_some());
    candidates.retain(|candidate| match candidate.kind.respelling() {
        None => true,
        // A key that some node has is not misspelt.
        Some((from, _)) if matches!(candidate.kind, Edit::SelectorKey { .. }) && known_key(from) => false,
        Some((from, to)) => nearest(from, [to.as_str()]).is_some(),
    });
    candidates
}
