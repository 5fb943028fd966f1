//! Refuses nodes that the pod's node selector and required node affinity do not match, and prefers those that its
//! preferred terms match. `addedAffinity` of the arguments applies to every pod of the profile as well.
//!
//! Source: `pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go`.

use bayplan_framework::{
    ActionType, ArgsError, ClusterEvent, Edit, EnqueueExtensions, EventRegistration, Feasible, Features,
    Field, Filter, Handle, Normalize, Plugin, PreFilter, PreFilterOutcome, PreScore, PreScoreOutcome,
    QueueingHint, Reads, Score, StateSlot, Status, Tree, Verdicts, Violation,
};
use bayplan_model::{
    Columns, Kinds, Labels, Node, NodeAffinity as Affinity, NodeId, NodeInfo, NodeSelectorTerm, NodeSet,
    PodInfo, Requirement, SelectorOperator, Snapshot, Symbol, Want, bits, blocks_mut, objects, rows_where,
};
use serde::Deserialize;
use smallvec::SmallVec;
use std::sync::Arc;

const REASON: &str = "node(s) didn't match Pod's node affinity/selector";
const REASON_ENFORCED: &str = "node(s) didn't match scheduler-enforced node affinity";
const REASON_CONFLICT: &str = "pod affinity terms conflict";

pub(super) fn new(args: &Tree, _: Features) -> Result<Arc<dyn Plugin>, Vec<ArgsError>> {
    let mut errors = Vec::new();
    let fields = Field::root(args).object(&["apiVersion", "kind", "addedAffinity"], &mut errors);
    let mut added = Affinity::default();
    if let Some(field) = fields.get("addedAffinity") {
        check_affinity(&field, &mut errors);
        match objects::selectors::NodeAffinity::deserialize(field.tree.to_json()) {
            Ok(object) => added = Affinity::parse(Labels::default(), &object),
            Err(error) => errors.push(field.error(error.to_string())),
        }
        let required = added.required.as_ref().and_then(|selector| selector.error.as_ref());
        for (error, name) in [
            (required, "requiredDuringSchedulingIgnoredDuringExecution"),
            (added.preferred_error.as_ref(), "preferredDuringSchedulingIgnoredDuringExecution"),
        ] {
            if let Some(error) = error {
                errors.push(field.error(format!("{name}: {error}")));
            }
        }
    }
    if errors.is_empty() { Ok(Arc::new(NodeAffinity { added })) } else { Err(errors) }
}

/// Complains about fields that `v1.NodeAffinity` does not have.
fn check_affinity(field: &Field, errors: &mut Vec<ArgsError>) {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let fields = field.object(&[required, preferred], errors);
    let check_term = |term: &Field, errors: &mut Vec<ArgsError>| {
        let term = term.object(&["matchExpressions", "matchFields"], errors);
        for list in ["matchExpressions", "matchFields"] {
            let Some(list) = term.get(list) else { continue };
            for requirement in list.list(errors) {
                requirement.object(&["key", "operator", "values"], errors);
            }
        }
    };
    if let Some(selector) = fields.get(required) {
        let selector = selector.object(&["nodeSelectorTerms"], errors);
        for term in selector.get("nodeSelectorTerms").map(|terms| terms.list(errors)).unwrap_or_default() {
            check_term(&term, errors);
        }
    }
    for term in fields.get(preferred).map(|terms| terms.list(errors)).unwrap_or_default() {
        let term = term.object(&["weight", "preference"], errors);
        if let Some(preference) = term.get("preference") {
            check_term(&preference, errors);
        }
    }
}

struct NodeAffinity {
    /// `addedAffinity` of the arguments.
    added: Affinity,
}

impl NodeAffinity {
    /// Why a node does not match, if it does not.
    fn verdict(&self, pod: &Affinity, name: &Symbol, labels: &Labels) -> Option<&'static str> {
        if !matches!(self.added.matches(name, labels), Ok(true)) {
            Some(REASON_ENFORCED)
        } else if !matches!(pod.matches(name, labels), Ok(true)) {
            // A selector that cannot be parsed matches nothing more.
            Some(REASON)
        } else {
            None
        }
    }

    /// The sum of the weights of the preferred terms that match.
    fn preferred(&self, pod: &Affinity, name: &Symbol, labels: &Labels) -> i64 {
        let terms = self.added.preferred.iter().chain(pod.preferred.iter());
        terms.filter(|term| term.matches(name, labels)).map(|term| term.weight).sum()
    }
}

impl Plugin for NodeAffinity {
    fn name(&self) -> &str {
        "NodeAffinity"
    }
    fn reads(&self) -> Reads {
        let label_keys = self.added.label_keys().cloned().collect();
        Reads { any_label: true, label_keys, ..Reads::of(Kinds::LABELS) }
    }
    fn wants(&self, pod: &PodInfo, _: &Snapshot, out: &mut Vec<Want>) {
        out.extend(pod.node_affinity.label_keys().cloned().map(Want::Label));
    }
    bayplan_framework::serves!(PreFilter, Filter, PreScore, Score, EnqueueExtensions);
    fn remedies(&self, h: &Handle, node: Option<NodeInfo>) -> Vec<Edit> {
        let affinity = &h.pod.node_affinity;
        let mut edits = Vec::new();
        if affinity.required.is_some() {
            edits.push(Edit::DropRequiredAffinity);
        }
        let Some(labels) = node.map(|node| &node.node().labels) else { return edits };
        for (key, value) in
            affinity.node_selector.iter().filter(|(key, value)| labels.get(key) != Some(value))
        {
            edits.push(Edit::DropSelector { key: key.clone(), value: value.clone() });
            edits.push(Edit::NodeLabel { key: key.clone(), value: Some(value.clone()) });
            match labels.get(key) {
                Some(to) => {
                    edits.push(Edit::SelectorValue { key: key.clone(), from: value.clone(), to: to.clone() })
                }
                None => edits.extend(labels.iter().filter(|(_, other)| *other == value).map(|(to, _)| {
                    Edit::SelectorKey { from: key.clone(), to: to.clone(), value: value.clone() }
                })),
            }
        }
        edits
    }
}

/// The names that a term admits by `metadata.name`; `None` when it says nothing of names.
fn names_of(term: &NodeSelectorTerm) -> Option<Vec<Symbol>> {
    let mut names: Option<Vec<Symbol>> = None;
    for field in &term.fields {
        if field.key == "metadata.name" && field.operator == SelectorOperator::In {
            match &mut names {
                Some(names) => names.retain(|name| field.values.contains(name)),
                None => names = Some(field.values.to_vec()),
            }
        }
    }
    names
}

impl PreFilter for NodeAffinity {
    fn pre_filter(&self, h: &Handle, _: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let affinity = &h.pod.node_affinity;
        if affinity.requires_nothing() && self.added.required.is_none() {
            return Ok(PreFilterOutcome::Skip);
        }
        let Some(required) = affinity.required.as_ref().filter(|required| !required.terms.is_empty()) else {
            return Ok(PreFilterOutcome::AllNodes);
        };
        let mut names: Vec<Symbol> = Vec::new();
        for term in &required.terms {
            match names_of(term) {
                Some(more) => names.extend(more),
                // The terms are joined by OR: one that says nothing of names admits all nodes.
                None => return Ok(PreFilterOutcome::AllNodes),
            }
        }
        if names.is_empty() {
            return Err(Status::unresolvable(REASON_CONFLICT));
        }
        let rows = names.iter().filter_map(|name| h.snapshot.node_by_name(name));
        Ok(PreFilterOutcome::Only(rows.collect()))
    }
}

impl Filter for NodeAffinity {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        match self.verdict(&h.pod.node_affinity, node.name(), &node.node().labels) {
            Some(reason) => Err(Status::unresolvable(reason)),
            None => Ok(()),
        }
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let affinity = &h.pod.node_affinity;
        let columns = h.snapshot.columns();
        let (Some(added), Some(own)) = (Compiled::of(&self.added, columns), Compiled::of(affinity, columns))
        else {
            let mut statuses = [None, None];
            for id in nodes.iter() {
                let Some(node) = h.snapshot.node(id) else { continue };
                if let Some(reason) = self.verdict(affinity, node.name(), &node.node().labels) {
                    let known = &mut statuses[usize::from(reason == REASON)];
                    let status = *known.get_or_insert_with(|| out.status(Status::unresolvable(reason)));
                    out.refuse(id, status);
                }
            }
            return;
        };
        let mut statuses = [None, None];
        for (word, rows) in nodes.words().iter().copied().enumerate() {
            let admitted = added.matching(h, word, rows);
            let matching = own.matching(h, word, admitted);
            let refused = [(REASON_ENFORCED, rows & !admitted), (REASON, admitted & !matching)];
            for (status, (reason, rows)) in
                statuses.iter_mut().zip(refused).filter(|(_, (_, rows))| *rows != 0)
            {
                let status = *status.get_or_insert_with(|| out.status(Status::unresolvable(reason)));
                out.refuse_rows(word, rows, status);
            }
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        let (name, labels) = (node.name(), &node.node().labels);
        let mut note = |reason: &str, what: String, need: String, have: Option<&Symbol>| {
            let have = have.map(|value| value.to_string()).unwrap_or_else(|| String::from("absent"));
            out.push(Violation { reason: reason.to_owned(), what, need, have, ..Violation::default() });
        };
        for (affinity, reason) in [(&self.added, REASON_ENFORCED), (&h.pod.node_affinity, REASON)] {
            for (key, value) in affinity.node_selector.iter() {
                if labels.get(key) != Some(value) {
                    note(reason, format!("label {key}"), value.to_string(), labels.get(key));
                }
            }
            let Some(required) = &affinity.required else { continue };
            if matches!(required.matches(name, labels), Ok(true)) {
                continue;
            }
            let mut said = false;
            for term in &required.terms {
                let failing = term.expressions.iter().filter(|requirement| !requirement.matches(labels));
                for requirement in failing {
                    said = true;
                    let have = labels.get(&requirement.key);
                    note(reason, format!("label {}", requirement.key), wish(requirement), have);
                }
                for field in term.fields.iter().filter(|field| !field.holds(Some(name))) {
                    said = true;
                    note(reason, String::from("node name"), wish(field), Some(name));
                }
            }
            if !said {
                note(reason, String::from("a term that can match"), String::new(), None);
            }
        }
    }
}

/// A requirement in words.
fn wish(requirement: &Requirement) -> String {
    let values: Vec<&str> = requirement.values.iter().map(|value| value.as_str()).collect();
    match (requirement.operator, values[..].len()) {
        (SelectorOperator::In, 1) => values.concat(),
        (SelectorOperator::In, _) => format!("one of {}", values.join(", ")),
        (SelectorOperator::NotIn, 1) => format!("not {}", values.concat()),
        (SelectorOperator::NotIn, _) => format!("none of {}", values.join(", ")),
        (SelectorOperator::Exists, _) => String::from("any value"),
        (SelectorOperator::DoesNotExist, _) => String::from("absent"),
        (SelectorOperator::Gt, _) => format!("more than {}", requirement.number),
        (SelectorOperator::Lt, _) => format!("less than {}", requirement.number),
    }
}

/// The values of a label key by row.
type Column<'a> = &'a [Option<Symbol>];

/// Required affinity over label columns. Made only when every key it names has a column.
pub(super) struct Compiled<'a> {
    labels: Vec<(Column<'a>, &'a Symbol)>,
    terms: Option<Vec<CompiledTerm<'a>>>,
}

impl<'a> Compiled<'a> {
    pub(super) fn of(affinity: &'a Affinity, columns: &'a Columns) -> Option<Self> {
        let mut labels = Vec::new();
        for (key, value) in affinity.node_selector.iter() {
            labels.push((columns.label(key)?, value));
        }
        let terms = match &affinity.required {
            Some(required) => {
                let terms = required.terms.iter().map(|term| CompiledTerm::of(term, columns));
                Some(terms.collect::<Option<Vec<_>>>()?)
            }
            None => None,
        };
        Some(Self { labels, terms })
    }

    /// The rows of a word, of those in `rows`, whose nodes have what is required.
    pub(super) fn matching(&self, h: &Handle, word: usize, mut rows: u64) -> u64 {
        for (column, wanted) in &self.labels {
            if rows != 0 {
                rows &= rows_where(column, word, |value| value.as_ref() == Some(*wanted));
            }
        }
        let Some(terms) = &self.terms else { return rows };
        let mut matching = 0;
        for term in terms {
            matching |= term.matching(h, word, rows & !matching);
        }
        matching
    }
}

/// A term over label columns.
struct CompiledTerm<'a> {
    /// It matches nothing, whatever its requirements.
    never: bool,
    expressions: SmallVec<[(Column<'a>, &'a Requirement); 2]>,
    fields: &'a [Requirement],
}

impl<'a> CompiledTerm<'a> {
    fn of(term: &'a NodeSelectorTerm, columns: &'a Columns) -> Option<Self> {
        let never = term.error.is_some() || term.is_empty();
        let mut expressions = SmallVec::new();
        for requirement in &term.expressions {
            expressions.push((columns.label(&requirement.key)?, requirement));
        }
        let named = term.fields.iter().all(|field| field.key == "metadata.name");
        named.then_some(Self { never, expressions, fields: &term.fields })
    }

    /// The rows of a word, of those in `rows`, whose nodes match.
    fn matching(&self, h: &Handle, word: usize, mut rows: u64) -> u64 {
        if self.never {
            return 0;
        }
        for (column, wanted) in &self.expressions {
            if rows != 0 {
                rows &= rows_where(column, word, |value| wanted.holds(value.as_ref()));
            }
        }
        if !self.fields.is_empty() {
            for bit in bits(rows) {
                let name = h.snapshot.node(NodeId::from_row(word * 64 + bit)).map(|node| node.name());
                if !self.fields.iter().all(|field| field.holds(name)) {
                    rows &= !(1 << bit);
                }
            }
        }
        rows
    }
}

impl PreScore for NodeAffinity {
    fn pre_score(&self, h: &Handle, _: &Feasible, _: &mut StateSlot) -> Result<PreScoreOutcome, Status> {
        if let Some(error) = &h.pod.node_affinity.preferred_error {
            return Err(Status::error(error.to_string()));
        }
        if h.pod.node_affinity.preferred.is_empty() && self.added.preferred.is_empty() {
            return Ok(PreScoreOutcome::Skip);
        }
        Ok(PreScoreOutcome::Score)
    }
}

impl Score for NodeAffinity {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        Ok(self.preferred(&h.pod.node_affinity, node.name(), &node.node().labels))
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        let (affinity, columns) = (&h.pod.node_affinity, h.snapshot.columns());
        let preferred = self.added.preferred.iter().chain(affinity.preferred.iter());
        let terms: Option<Vec<(i64, CompiledTerm<'_>)>> = preferred
            .map(|preferred| Some((preferred.weight, CompiledTerm::of(&preferred.term, columns)?)))
            .collect();
        for (word, rows, out) in blocks_mut(nodes, out) {
            let Some(terms) = &terms else {
                for (bit, node) in bits(rows).filter_map(|bit| {
                    let node = h.snapshot.node(NodeId::from_row(word * 64 + bit))?;
                    Some((bit, node))
                }) {
                    out[bit] = self.preferred(affinity, node.name(), &node.node().labels);
                }
                continue;
            };
            out.fill(0);
            for (weight, term) in terms {
                bits(term.matching(h, word, rows)).for_each(|bit| out[bit] += weight);
            }
        }
        Ok(())
    }

    fn normalize(&self) -> Normalize {
        Normalize::Max
    }
}

impl EnqueueExtensions for NodeAffinity {
    fn events(&self) -> Vec<EventRegistration> {
        vec![super::nodes(ActionType::ADD.with(ActionType::UPDATE_NODE_LABEL))]
    }

    fn hint(&self, h: &Handle, event: &ClusterEvent) -> QueueingHint {
        let (old, Some(new)) = super::node_change(event) else { return QueueingHint::Queue };
        if !matches!(self.added.matches(&new.name, &new.labels), Ok(true)) {
            return QueueingHint::Skip;
        }
        let matches = |node: &Node| h.pod.node_affinity.matches(&node.name, &node.labels);
        match (old.map(|node| matches(node)), matches(new)) {
            (_, Err(_)) | (Some(Err(_)), _) => QueueingHint::Queue,
            (Some(Ok(true)), _) | (_, Ok(false)) => QueueingHint::Skip,
            (_, Ok(true)) => QueueingHint::Queue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, map};
    use bayplan_model::testing::{node, pod};
    use serde_json::json;

    const TEXT: &str = "UnschedulableAndUnresolvable: node(s) didn't match Pod's node affinity/selector";

    fn trial() -> Trial {
        let disk = |name: &str, disk: &str| node(name).label("disk", disk).object();
        Trial::of("NodeAffinity", vec![disk("a", "ssd"), disk("b", "hdd"), node("c").object()])
    }

    #[test]
    fn selector_and_required_affinity_both_hold() {
        let trial = trial();
        assert_eq!(trial.refused(&pod("p").build()), map::<&str, _>([]));
        let selects = pod("p").node_selector("disk", "ssd");
        assert_eq!(trial.refused(&selects.clone().build()), map([("b", TEXT), ("c", TEXT)]));
        let both = selects.require_node("disk", "NotIn", &["ssd"]).build();
        assert_eq!(trial.refused(&both), map([("a", TEXT), ("b", TEXT), ("c", TEXT)]));
        // A missing label satisfies NotIn and DoesNotExist.
        let not_ssd = pod("p").require_node("disk", "NotIn", &["ssd"]).build();
        assert_eq!(trial.refused(&not_ssd), map([("a", TEXT)]));
    }

    #[test]
    fn terms_are_alternatives_and_names_narrow_the_nodes() {
        let trial = trial();
        let name = |names: &[&str]| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": names}]});
        let left_out = "left out by PreFilter";
        let either = pod("p").node_term(name(&["a"])).node_term(name(&["b"])).build();
        assert_eq!(trial.refused(&either), map([("c", left_out)]));
        let fields = |value| json!({"key": "metadata.name", "operator": "In", "values": [value]});
        let term = json!({"matchFields": [fields("a"), fields("b")]});
        let text = "UnschedulableAndUnresolvable: pod affinity terms conflict";
        assert_eq!(trial.refused(&pod("p").node_term(term).build()), map([("*", text)]));
    }

    #[test]
    fn preferred_terms_add_their_weights() {
        let trial = trial();
        assert_eq!(trial.scores(&pod("p").build()), map::<i64, i64>([]));
        let prefers =
            pod("p").prefer_node(10, "disk", "Exists", &[]).prefer_node(30, "disk", "In", &["ssd"]).build();
        assert_eq!(trial.scores(&prefers), map([("a", 100), ("b", 25), ("c", 0)]));
    }
}
