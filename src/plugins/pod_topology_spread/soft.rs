//! Constraints with `ScheduleAnyway`: PreScore and Score.
//!
//! Source: `podtopologyspread/scoring.go`.

use super::args::HOSTNAME;
use super::inclusion::{Inclusion, keep_with_all_keys};
use super::ln::ln;
use super::rules::{Rule, own};
use super::{PodTopologySpread, State};
use bayplan_framework::{Feasible, Handle, Normalize, PreScore, PreScoreOutcome, Score, StateSlot, Status};
use bayplan_model::{DomainColumn, NodeId, NodeInfo, NodeSet, PodInfo, bits, block, blocks_mut, rows_where};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// The raw score of nodes that are ignored.
const IGNORED: i64 = -1;

/// The soft constraints of an attempt with the counts of their domains.
#[derive(Clone)]
pub(super) struct Soft {
    rules: SmallVec<[Weighed; 2]>,
    /// Feasible nodes without one of the topology keys, where all are required.
    ignored: NodeSet,
}

/// A constraint with its weight and the counts of its domains.
#[derive(Clone)]
struct Weighed {
    rule: Rule,
    domains: Arc<DomainColumn>,
    /// ln (domains + 2), so that constraints with few domains count as well.
    weight: f64,
    counted: Counted,
}

/// What a constraint counts.
#[derive(Clone)]
enum Counted {
    /// Matching pods by node, of nodes that have any, in row order.
    OnNodes(Vec<(NodeId, i64)>),
    /// What a domain adds to the score of its nodes, by domain.
    InDomains(Vec<f64>),
}

/// What a number of pods adds to a score.
fn part(pods: i64, weight: f64, max_skew: i32) -> f64 {
    pods as f64 * weight + f64::from(max_skew.wrapping_sub(1))
}

/// Rounds half away from 0, as Go's `math.Round`.
fn round(score: f64) -> i64 {
    let whole = score as i64;
    let rest = score - whole as f64;
    whole + i64::from(rest >= 0.5) - i64::from(rest <= -0.5)
}

impl Weighed {
    /// What the constraint adds for a node, given the node's number of matching pods. Nothing without the label.
    #[inline]
    fn part(&self, node: NodeId, pods: impl FnOnce() -> i64) -> f64 {
        let Some(domain) = self.domains.get(node.row()) else { return 0.0 };
        match &self.counted {
            Counted::OnNodes(_) => part(pods(), self.weight, self.rule.max_skew),
            Counted::InDomains(parts) => parts.get(domain).copied().unwrap_or(0.0),
        }
    }

    /// The matching pods of a node, as they were counted.
    fn pods_on(&self, node: NodeId) -> i64 {
        let Counted::OnNodes(counts) = &self.counted else { return 0 };
        let at = counts.binary_search_by_key(&node, |(node, _)| *node);
        at.ok().and_then(|at| counts.get(at)).map_or(0, |(_, pods)| *pods)
    }

    /// The matching pods of a node, one by one.
    fn count_on(&self, node: NodeInfo, pod: &PodInfo) -> i64 {
        if !self.rule.counts() {
            return 0;
        }
        let matching = node.pods().filter(|other| {
            !other.is_terminating() && other.namespace == pod.namespace && self.rule.matches(&other.labels)
        });
        matching.count() as i64
    }
}

impl Soft {
    /// The counts for the feasible nodes. `all_keys`: nodes without one of the topology keys are ignored.
    fn new(
        rules: super::rules::Rules,
        h: &Handle,
        feasible: &NodeSet,
        all_keys: bool,
        comparison: bool,
    ) -> Self {
        let domains: SmallVec<[_; 2]> =
            rules.iter().map(|rule| h.snapshot.domains(&rule.topology_key)).collect();
        let mut scored = feasible.clone();
        if all_keys {
            keep_with_all_keys(&mut scored, &domains);
        }
        let mut ignored = feasible.clone();
        ignored.subtract(&scored);
        let inclusion = Inclusion::new(h, comparison);
        let has_all_keys =
            |node: NodeId| !all_keys || domains.iter().all(|domains| domains.get(node.row()).is_some());
        let weigh = |(rule, column): (Rule, &Arc<DomainColumn>)| {
            let is_counted = |node: NodeId| {
                has_all_keys(node) && h.snapshot.node(node).is_some_and(|node| inclusion.admits(&rule, node))
            };
            let mut pods = Vec::new();
            if rule.counts() {
                h.snapshot.matching_pods(&rule.pods, |node, count| pods.push((node, count)));
            }
            if rule.topology_key == *HOSTNAME {
                let weight = ln(u32::try_from(scored.len()).unwrap_or(u32::MAX - 2).saturating_add(2));
                let counted = Counted::OnNodes(pods);
                return Weighed { rule, domains: column.clone(), weight, counted };
            }
            pods.retain(|(node, _)| is_counted(*node));
            let (size, counts) = in_domains(column, &scored, h.snapshot.columns().alive(), &pods);
            let weight = ln(size.saturating_add(2));
            let parts = counts.into_iter().map(|count| part(count, weight, rule.max_skew)).collect();
            Weighed { rule, domains: column.clone(), weight, counted: Counted::InDomains(parts) }
        };
        Self { rules: rules.into_iter().zip(&domains).map(weigh).collect(), ignored }
    }

    /// The score of a node, given the number of its pods that match a constraint.
    #[inline]
    fn score(&self, node: NodeId, pods: impl Fn(&Weighed) -> i64) -> i64 {
        if self.ignored.contains(node) {
            return IGNORED;
        }
        round(self.rules.iter().fold(0.0, |sum, of| sum + of.part(node, || pods(of))))
    }
}

impl Soft {
    /// The scores of nodes that have all labels and no matching pod, by the domain of the only constraint that counts by
    /// domain. `None` when there are several such constraints or none.
    fn by_domain(&self) -> Option<(&DomainColumn, Vec<i64>)> {
        let counts_by_domain = |of: &&Weighed| matches!(of.counted, Counted::InDomains(_));
        let mut by_domain = self.rules.iter().filter(counts_by_domain);
        let (Some(only), None) = (by_domain.next(), by_domain.next()) else { return None };
        let score = |domain: usize| {
            let parts = self.rules.iter().map(|of| match &of.counted {
                Counted::OnNodes(_) => part(0, of.weight, of.rule.max_skew),
                Counted::InDomains(parts) => parts.get(domain).copied().unwrap_or(0.0),
            });
            round(parts.fold(0.0, |sum, part| sum + part))
        };
        Some((&*only.domains, (0..only.domains.len()).map(score).collect()))
    }

    /// The rows of a word with the labels of all constraints.
    fn with_all_labels(&self, word: usize) -> u64 {
        self.rules.iter().fold(u64::MAX, |rows, of| {
            rows & rows_where(of.domains.of_row(), word, |domain| *domain != DomainColumn::NONE)
        })
    }
}

/// How many domains the scored nodes have, and the pods by domain. Nodes without the label are one domain more, which
/// upstream takes for that of the empty value.
fn in_domains(
    domains: &DomainColumn,
    scored: &NodeSet,
    alive: &NodeSet,
    pods: &[(NodeId, i64)],
) -> (u32, Vec<i64>) {
    let missing = domains.number(&Default::default()).unwrap_or(domains.len());
    let domain_of = |node: NodeId| domains.get(node.row()).unwrap_or(missing);
    let mut seen = vec![false; domains.len() + 1];
    // Most often the first few nodes show every domain.
    let labelled: u32 = domains.nodes().iter().sum();
    let mut unseen = domains.nodes().iter().filter(|nodes| **nodes > 0).count();
    unseen += usize::from(labelled as usize != alive.len() && missing == domains.len());
    for node in scored.iter() {
        if unseen == 0 {
            break;
        }
        if let Some(seen) = seen.get_mut(domain_of(node)) {
            unseen -= usize::from(!*seen);
            *seen = true;
        }
    }
    let mut counts = vec![0; domains.len() + 1];
    for (node, pods) in pods {
        let domain = domain_of(*node);
        if seen.get(domain) == Some(&true)
            && let Some(count) = counts.get_mut(domain)
        {
            *count += pods;
        }
    }
    (seen.into_iter().filter(|seen| *seen).count() as u32, counts)
}

impl PodTopologySpread {
    /// The soft constraints with their counts for the feasible nodes; `None` when there is none.
    fn count_soft(&self, h: &Handle, feasible: &NodeSet) -> Result<Option<Soft>, Status> {
        let rules = self.rules(h.pod, h.snapshot, false).map_err(|error| {
            let whose = "calculating preScoreState: obtaining pod's soft topology spread constraints";
            Status::error(format!("{whose}: {error}"))
        })?;
        if rules.is_empty() {
            return Ok(None);
        }
        let all_keys = !own(h.pod).is_empty() || !self.defaults.system;
        Ok(Some(Soft::new(rules, h, feasible, all_keys, self.comparison)))
    }

    /// The counts of PreScore. A profile may run Score without it: then all nodes are taken for feasible.
    fn soft<'h>(&self, h: &Handle<'h>) -> Result<Option<Cow<'h, Soft>>, Status> {
        match h.state::<State>().and_then(|state| state.soft.as_ref()) {
            Some(soft) => Ok(Some(Cow::Borrowed(soft))),
            None => Ok(self.count_soft(h, h.snapshot.columns().alive())?.map(Cow::Owned)),
        }
    }
}

impl PreScore for PodTopologySpread {
    fn pre_score(
        &self,
        h: &Handle,
        feasible: &Feasible,
        state: &mut StateSlot,
    ) -> Result<PreScoreOutcome, Status> {
        let Some(soft) = self.count_soft(h, &feasible.nodes)? else { return Ok(PreScoreOutcome::Skip) };
        match state.get_mut::<State>() {
            Some(state) => state.soft = Some(soft),
            None => state.put(State { hard: None, soft: Some(soft) }),
        }
        Ok(PreScoreOutcome::Score)
    }
}

impl Score for PodTopologySpread {
    fn score(&self, h: &Handle, node: NodeInfo) -> Result<i64, Status> {
        let Some(soft) = self.soft(h)? else { return Ok(0) };
        Ok(soft.score(node.id(), |of| of.count_on(node, h.pod)))
    }

    fn score_range(&self, h: &Handle, nodes: &NodeSet, out: &mut [i64]) -> Result<(), Status> {
        let Some(soft) = self.soft(h)? else {
            out.fill(0);
            return Ok(());
        };
        // Most nodes have no matching pod; those that do follow.
        let by_domain = soft.by_domain();
        for (word, rows, out) in blocks_mut(nodes, out) {
            let mut open = rows;
            if let Some((domains, scores)) = &by_domain
                && let Some(domains) = block(domains.of_row(), word)
            {
                open &= !soft.with_all_labels(word);
                open |= soft.ignored.words().get(word).copied().unwrap_or(0) & rows;
                for (out, domain) in out.iter_mut().zip(domains) {
                    *out = scores.get(*domain as usize).copied().unwrap_or(0);
                }
            }
            for bit in bits(open) {
                out[bit] = soft.score(NodeId::from_row(word * 64 + bit), |_| 0);
            }
        }
        for of in &soft.rules {
            let Counted::OnNodes(counts) = &of.counted else { continue };
            for (node, _) in counts.iter().filter(|(node, _)| nodes.contains(*node)) {
                if let Some(out) = out.get_mut(node.row()) {
                    *out = soft.score(*node, |of| of.pods_on(*node));
                }
            }
        }
        Ok(())
    }

    fn normalize(&self) -> Normalize {
        Normalize::MaxPlusMin { ignored: IGNORED }
    }
}
