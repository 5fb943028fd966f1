//! Constraints with `DoNotSchedule`: the counts of an attempt, and Filter.
//!
//! Source: `podtopologyspread/filtering.go`.

use super::inclusion::{Inclusion, with_all_keys};
use super::rules::{Rule, Rules};
use super::{PodTopologySpread, State};
use bayplan_framework::{
    Filter, Handle, PreFilter, PreFilterExtensions, PreFilterOutcome, StateSlot, Status, Verdicts, Violation,
};
use bayplan_model::{DomainColumn, NodeId, NodeInfo, NodeSet, PodInfo, Snapshot, rows_where};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) const REASON: &str = "node(s) didn't match pod topology spread constraints";
pub(super) const REASON_LABEL: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";

/// The count of a domain of which no node counts.
const NO_DOMAIN: i32 = i32::MIN;

/// The hard constraints of an attempt with the counts of their domains, and how a simulation moved them.
#[derive(Clone)]
pub(super) struct Hard {
    counts: Arc<[RuleCounts]>,
    moved: SmallVec<[Moved; 2]>,
}

/// A constraint with its counts.
pub(super) struct RuleCounts {
    pub(super) rule: Rule,
    pub(super) domains: Arc<DomainColumn>,
    /// The nodes that count.
    nodes: NodeSet,
    /// Matching pods by domain; [`NO_DOMAIN`] where no node counts.
    counts: Vec<i32>,
    /// How many domains have a node that counts.
    eligible: usize,
    /// The domain with the fewest pods and the one after it, each with its count; the first of equal ones.
    lowest: [Option<(i32, usize)>; 2],
}

/// Pods that a simulation added to a domain of a constraint, or removed.
#[derive(Clone, Copy)]
struct Moved {
    rule: usize,
    domain: usize,
    by: i64,
}

impl RuleCounts {
    fn new(
        rule: Rule,
        domains: Arc<DomainColumn>,
        with_all_keys: &NodeSet,
        inclusion: Inclusion,
        snapshot: &Snapshot,
    ) -> Self {
        let nodes = inclusion.admitted(&rule, with_all_keys.clone());
        let mut counts = vec![NO_DOMAIN; domains.len()];
        // Most often the first few nodes show that every domain has a node that counts.
        let mut unseen = domains.nodes().iter().filter(|nodes| **nodes > 0).count();
        for node in nodes.iter() {
            if unseen == 0 {
                break;
            }
            if let Some(count) = domains.get(node.row()).and_then(|domain| counts.get_mut(domain)) {
                unseen -= usize::from(*count == NO_DOMAIN);
                *count = 0;
            }
        }
        if rule.counts() {
            snapshot.matching_pods(&rule.pods, |node, pods| {
                if nodes.contains(node)
                    && let Some(count) = domains.get(node.row()).and_then(|domain| counts.get_mut(domain))
                {
                    *count = count.saturating_add(i32::try_from(pods).unwrap_or(i32::MAX));
                }
            });
        }
        let mut made = Self { rule, domains, nodes, counts, eligible: 0, lowest: [None; 2] };
        let known = made.counts.iter().copied().enumerate().filter(|(_, count)| *count != NO_DOMAIN);
        for (domain, count) in known {
            made.eligible += 1;
            let below = |other: Option<(i32, usize)>| other.is_none_or(|(least, _)| count < least);
            if below(made.lowest[0]) {
                made.lowest = [Some((count, domain)), made.lowest[0]];
            } else if below(made.lowest[1]) {
                made.lowest[1] = Some((count, domain));
            }
        }
        made
    }

    /// How many domains have a node that counts.
    pub(super) fn eligible(&self) -> usize {
        self.eligible
    }

    /// Whether there are fewer domains than `minDomains`: then skews are measured from 0.
    pub(super) fn has_few_domains(&self) -> bool {
        (self.eligible as i64) < i64::from(self.rule.min_domains)
    }
}

/// The skew that the pod would make in a domain, and what it is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Skew {
    /// Matching pods in the domain.
    pub(super) count: i64,
    /// The fewest matching pods in a domain; 0 when there are fewer domains than `minDomains`.
    pub(super) least: i64,
    /// The difference, with the pod itself when it matches.
    pub(super) skew: i64,
}

impl Hard {
    /// The counts for some constraints.
    fn new(rules: Rules, h: &Handle, comparison: bool) -> Self {
        let domains: SmallVec<[_; 2]> =
            rules.iter().map(|rule| h.snapshot.domains(&rule.topology_key)).collect();
        let nodes = with_all_keys(h.snapshot, &domains);
        let inclusion = Inclusion::new(h, comparison);
        let rules = rules.into_iter().zip(domains);
        let counts =
            rules.map(|(rule, domains)| RuleCounts::new(rule, domains, &nodes, inclusion, h.snapshot));
        Self { counts: counts.collect(), moved: SmallVec::new() }
    }

    /// The constraints, in pod order.
    pub(super) fn rules(&self) -> impl Iterator<Item = (usize, &RuleCounts)> {
        self.counts.iter().enumerate()
    }

    /// By how much a simulation moved a domain.
    fn moved(&self, rule: usize, domain: usize) -> i64 {
        let moved = self.moved.iter().filter(|moved| (moved.rule, moved.domain) == (rule, domain));
        moved.map(|moved| moved.by).sum()
    }

    /// Matching pods in a domain; 0 in a domain of which no node counts.
    fn count(&self, rule: usize, domain: usize) -> i64 {
        let of = self.counts.get(rule).and_then(|of| of.counts.get(domain)).copied();
        let counted = of.filter(|count| *count != NO_DOMAIN).map_or(0, i64::from);
        if self.moved.is_empty() { counted } else { counted + self.moved(rule, domain) }
    }

    /// The fewest matching pods in a domain with a node that counts, and the first such domain. Upstream's minimum of no
    /// domains is the largest number.
    pub(super) fn least(&self, at: usize, of: &RuleCounts) -> (i64, Option<usize>) {
        let is_moved =
            |domain: usize| self.moved.iter().any(|moved| (moved.rule, moved.domain) == (at, domain));
        let moved = self.moved.iter().filter(|moved| moved.rule == at);
        let moved = moved.map(|moved| (self.count(at, moved.domain), moved.domain));
        let unmoved = of.lowest.iter().flatten().find(|(_, domain)| !is_moved(*domain));
        let unmoved = match unmoved {
            Some((count, domain)) => Some((i64::from(*count), *domain)),
            // Both are moved: more than one node was simulated.
            None if of.eligible > 2 => {
                let known = of.counts.iter().enumerate().filter(|(_, count)| **count != NO_DOMAIN);
                let others = known.filter(|(domain, _)| !is_moved(*domain));
                others.map(|(domain, count)| (i64::from(*count), domain)).min()
            }
            None => None,
        };
        let least = moved.chain(unmoved).min();
        least.map_or((i64::from(i32::MAX), None), |(count, domain)| (count, Some(domain)))
    }

    /// The minimum that skews are measured from.
    fn minimum(&self, at: usize, of: &RuleCounts) -> i64 {
        if of.has_few_domains() { 0 } else { self.least(at, of).0 }
    }

    /// The skew that the pod would make on a node; `None` when the node has no label of the topology key.
    pub(super) fn skew(&self, at: usize, of: &RuleCounts, node: NodeId) -> Option<Skew> {
        let domain = of.domains.get(node.row())?;
        let (count, least) = (self.count(at, domain), self.minimum(at, of));
        Some(Skew { count, least, skew: count + i64::from(of.rule.matches_self) - least })
    }

    /// Why the pod may not go to a node, if it may not: the first constraint that it breaks, in pod order.
    fn verdict(&self, node: NodeId) -> Option<Status> {
        self.rules().find_map(|(at, of)| match self.skew(at, of, node) {
            None => Some(Status::unresolvable(REASON_LABEL)),
            Some(skew) if skew.skew > i64::from(of.rule.max_skew) => Some(Status::unschedulable(REASON)),
            Some(_) => None,
        })
    }

    /// A pod was added to a node (`by` is 1) or removed (-1). Upstream looks neither at whether it terminates nor for a
    /// selector that matches every pod.
    fn pod_moved(&mut self, pod: &PodInfo, node: NodeId, by: i64) {
        for (rule, of) in self.counts.iter().enumerate() {
            if !of.nodes.contains(node) || !of.rule.matches(&pod.labels) {
                continue;
            }
            let Some(domain) = of.domains.get(node.row()) else { continue };
            match self.moved.iter_mut().find(|moved| (moved.rule, moved.domain) == (rule, domain)) {
                Some(moved) => moved.by += by,
                None => self.moved.push(Moved { rule, domain, by }),
            }
        }
    }
}

impl PodTopologySpread {
    /// The hard constraints with their counts; `None` when there is no hard constraint. The error is the text of a
    /// selector that cannot be parsed.
    fn count_hard(&self, h: &Handle) -> Result<Option<Hard>, Status> {
        let rules = self.rules(h.pod, h.snapshot, true).map_err(|error| {
            let whose = "get constraints from pod: obtaining pod's hard topology spread constraints";
            Status::error(format!("{whose}: {error}"))
        })?;
        Ok((!rules.is_empty()).then(|| Hard::new(rules, h, self.comparison)))
    }

    /// The counts of PreFilter. A profile may run Filter without it.
    pub(super) fn hard<'h>(&self, h: &Handle<'h>) -> Result<Option<Cow<'h, Hard>>, Status> {
        match h.state::<State>() {
            Some(state) => Ok(state.hard.as_ref().map(Cow::Borrowed)),
            None => Ok(self.count_hard(h)?.map(Cow::Owned)),
        }
    }
}

impl PreFilter for PodTopologySpread {
    fn pre_filter(&self, h: &Handle, state: &mut StateSlot) -> Result<PreFilterOutcome, Status> {
        let Some(hard) = self.count_hard(h)? else { return Ok(PreFilterOutcome::Skip) };
        state.put(State { hard: Some(hard), soft: None });
        Ok(PreFilterOutcome::AllNodes)
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PodTopologySpread {
    fn pod_moved(&self, h: &Handle, state: &mut StateSlot, pod: &PodInfo, node: NodeId, by: i64) {
        if pod.namespace == h.pod.namespace
            && let Some(hard) = state.get_mut::<State>().and_then(|state| state.hard.as_mut())
        {
            hard.pod_moved(pod, node, by);
        }
    }
}

impl PreFilterExtensions for PodTopologySpread {
    fn add_pod(
        &self,
        h: &Handle,
        state: &mut StateSlot,
        added: &PodInfo,
        node: NodeInfo,
    ) -> Result<(), Status> {
        self.pod_moved(h, state, added, node.id(), 1);
        Ok(())
    }

    fn remove_pod(
        &self,
        h: &Handle,
        state: &mut StateSlot,
        removed: &PodInfo,
        node: NodeInfo,
    ) -> Result<(), Status> {
        self.pod_moved(h, state, removed, node.id(), -1);
        Ok(())
    }
}

impl Filter for PodTopologySpread {
    fn filter(&self, h: &Handle, node: NodeInfo) -> Result<(), Status> {
        match self.hard(h)?.and_then(|hard| hard.verdict(node.id())) {
            Some(status) => Err(status),
            None => Ok(()),
        }
    }

    fn filter_range(&self, h: &Handle, nodes: &NodeSet, out: &mut Verdicts) {
        let hard = match self.hard(h) {
            Ok(Some(hard)) => hard,
            Ok(None) => return,
            Err(status) => {
                let status = out.status(status);
                for (word, rows) in nodes.words().iter().enumerate() {
                    out.refuse_rows(word, *rows, status);
                }
                return;
            }
        };
        // Whether a domain is too full, by constraint and domain.
        let too_full: SmallVec<[Vec<bool>; 2]> = hard.rules().map(|(at, of)| hard.too_full(at, of)).collect();
        let mut statuses = [None, None];
        for (word, rows) in nodes.words().iter().enumerate().filter(|(_, rows)| **rows != 0) {
            let mut open = *rows;
            for ((_, of), too_full) in hard.rules().zip(&too_full) {
                let of_row = of.domains.of_row();
                let missing = rows_where(of_row, word, |domain| *domain == DomainColumn::NONE) & open;
                let full =
                    rows_where(of_row, word, |domain| too_full.get(*domain as usize) == Some(&true)) & open;
                for (at, (refused, made)) in [
                    (missing, Status::unresolvable as fn(&'static str) -> Status),
                    (full, Status::unschedulable),
                ]
                .into_iter()
                .enumerate()
                .filter(|(_, (refused, _))| *refused != 0)
                {
                    let reason = [REASON_LABEL, REASON][at];
                    let status = *statuses[at].get_or_insert_with(|| out.status(made(reason)));
                    out.refuse_rows(word, refused, status);
                }
                open &= !(missing | full);
            }
        }
    }

    fn violations(&self, h: &Handle, node: NodeInfo, out: &mut Vec<Violation>) {
        self.spread_violations(h, node, out);
    }
}

impl Hard {
    /// Whether the pod would make the skew of a domain too large, by domain.
    fn too_full(&self, at: usize, of: &RuleCounts) -> Vec<bool> {
        let own = i64::from(of.rule.matches_self);
        let most = i64::from(of.rule.max_skew) + self.minimum(at, of) - own;
        let mut full: Vec<bool> = of.counts.iter().map(|count| i64::from((*count).max(0)) > most).collect();
        for moved in self.moved.iter().filter(|moved| moved.rule == at) {
            if let Some(full) = full.get_mut(moved.domain) {
                *full = self.count(at, moved.domain) > most;
            }
        }
        full
    }
}
