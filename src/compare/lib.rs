//! What a change of policies means, rule by rule, with a proof or a witness: [`compare`].
//!
//! Conditions become Boolean formulas over tests of values (`formula`). Each value has finitely many cells that the tests tell
//! apart (`variables`), and a bounded search looks for cells under which the old and the new rule differ (`search`). Without
//! any, they are the same whatever the cluster is. Otherwise a pod and a node are made of them (`witness`), and count only
//! if the reference evaluator of the language says that the rules differ about them. What was neither proved nor shown is
//! unknown.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod cases;
mod formula;
mod groups;
mod node_load;
mod outcome;
mod places;
mod plain;
mod scores;
mod search;
mod variables;
mod verdict;
mod witness;

pub use groups::GroupKind;
pub use node_load::NodeLoad;
pub use verdict::{Effect, RuleDiff, Unproved, Verdict, begin};
pub use witness::{Objects, Witness};

use bayplan_lang::eval::context::EvalContext;
use bayplan_lang::eval::exempt::ExemptPods;
use bayplan_lang::typed::{Mode, Policy, Rule};
use bayplan_model::{NodeInfo, PodInfo, Snapshot, Time};
use formula::{Formula, Formulas};
use groups::{Group, Side};
use search::{End, Search};
use std::sync::Arc;
use witness::{Differs, Leaves, of_assignments};

/// How many assignments are tried as a witness.
const MOST_ASSIGNMENTS: usize = 64;
/// How many pairs of a pod and a node of a cluster are evaluated for a witness.
const MOST_PAIRS: usize = 20_000;

/// A cluster in which witnesses are looked for before they are made up.
#[derive(Clone, Copy)]
pub struct Cluster<'c> {
    /// Its objects.
    pub snapshot: &'c Snapshot,
    /// Its pods.
    pub pods: &'c [Arc<PodInfo>],
    /// The instant.
    pub now: Time,
}

/// Compares the rules of a policy before and after a change; `None`: there was none, or is none now.
pub fn compare(old: Option<&Policy>, new: Option<&Policy>, cluster: Option<Cluster<'_>>) -> Vec<RuleDiff> {
    let [old_side, new_side] = [old.map(Side::new), new.map(Side::new)];
    let Some(policies) = old.or(new).map(|one| [old.unwrap_or(one), new.unwrap_or(one)]) else {
        return Vec::new();
    };
    let mut pairs = Pairs::of(
        old_side.as_ref().map_or_else(Vec::new, |side| side.groups()),
        new_side.as_ref().map_or_else(Vec::new, |side| side.groups()),
        policies,
    );
    pairs.sort();
    pairs.found.into_iter().map(|pair| pair.diff(policies, cluster)).collect()
}

/// The rules of a policy that a difference is about: before, or after the change.
pub fn rules<'p>(policy: &'p Policy, diff: &RuleDiff, before: bool) -> Vec<&'p Rule> {
    let name = diff.renamed_from.as_ref().filter(|_| before).unwrap_or(&diff.name);
    let is_one = |rule: &&Rule| GroupKind::of(rule) == Some(diff.kind) && rule.name() == *name;
    policy.rules.iter().filter(is_one).collect()
}

/// A rule of a policy, or the rules of one name, as a question about pods and nodes.
pub struct Refusing<'p> {
    group: Option<Group<'p>>,
    exempt: &'p ExemptPods,
}

impl<'p> Refusing<'p> {
    /// The rules of a policy that a difference is about: before, or after the change. `exempt`: the pods that policies leave
    /// alone.
    pub fn of(policy: Option<&'p Policy>, diff: &RuleDiff, before: bool, exempt: &'p ExemptPods) -> Self {
        let name = diff.renamed_from.as_ref().filter(|_| before).unwrap_or(&diff.name);
        let groups = policy.map_or_else(Vec::new, |policy| Side::new(policy).groups());
        let group = groups.into_iter().find(|of| of.kind == diff.kind && of.name == *name && !of.counts);
        Self { group, exempt }
    }

    /// Whether they decide and are about a pod.
    pub fn applies(&self, context: EvalContext<'_>) -> bool {
        self.group
            .as_ref()
            .is_some_and(|group| !group.exempts(context, self.exempt) && group.applies(context))
    }

    /// Whether they decide and refuse a pod; a pod on the node of the context, if they read one.
    pub fn refuses(&self, context: EvalContext<'_>) -> bool {
        let refuses =
            |group: &Group<'_>| !group.exempts(context, self.exempt) && group.refuses(context, None);
        self.group.as_ref().is_some_and(refuses)
    }
}

/// Old and new groups that belong together.
struct Pairs<'p> {
    found: Vec<Pair<'p>>,
}

struct Pair<'p> {
    old: Option<Group<'p>>,
    new: Option<Group<'p>>,
    /// Both do the same, written alike.
    alike: bool,
}

impl<'p> Pairs<'p> {
    /// Groups of one kind that mean the same and have one name, that mean the same, that have one name.
    fn of(olds: Vec<Group<'p>>, news: Vec<Group<'p>>, policies: [&'p Policy; 2]) -> Self {
        let mut formulas = Formulas::new(policies);
        let mut numbered = |groups: Vec<Group<'p>>, side: usize| -> Vec<Option<(Group<'p>, u64)>> {
            groups
                .into_iter()
                .map(|of| {
                    let number = of.number(side, &mut formulas);
                    Some((of, number))
                })
                .collect()
        };
        let (mut olds, mut news) = (numbered(olds, 0), numbered(news, 1));
        let mut found = Vec::new();
        type Fits = fn(&(Group<'_>, u64), &(Group<'_>, u64)) -> bool;
        let passes: [Fits; 4] = [
            |a, b| a.1 == b.1 && a.0.name == b.0.name,
            |a, b| a.1 == b.1,
            |a, b| a.0.name == b.0.name && a.0.counts == b.0.counts,
            |a, b| a.0.name == b.0.name,
        ];
        for fits in passes {
            for old in &mut olds {
                let fits = |new: &&mut Option<(Group<'p>, u64)>| {
                    let (Some(old), Some(new)) = (old.as_ref(), new.as_ref()) else { return false };
                    old.0.kind == new.0.kind && fits(old, new)
                };
                let Some(new) = news.iter_mut().find(fits) else { continue };
                let (Some((old, a)), Some((new, b))) = (old.take(), new.take()) else { continue };
                found.push(Pair { old: Some(old), new: Some(new), alike: a == b });
            }
        }
        found.extend(olds.into_iter().flatten().map(|(old, _)| Pair {
            old: Some(old),
            new: None,
            alike: false,
        }));
        found.extend(news.into_iter().flatten().map(|(new, _)| Pair {
            old: None,
            new: Some(new),
            alike: false,
        }));
        Self { found }
    }

    /// In the order of the cycle, and of the text.
    fn sort(&mut self) {
        self.found.sort_by_key(|pair| {
            let of = pair.new.as_ref().or(pair.old.as_ref());
            of.map(|of| (of.kind, of.span()))
        });
    }
}

impl Pair<'_> {
    fn diff(self, policies: [&Policy; 2], cluster: Option<Cluster<'_>>) -> RuleDiff {
        let of = self.new.as_ref().or(self.old.as_ref());
        let (kind, name) = of.map_or((GroupKind::Preempt, String::new()), |of| (of.kind, of.name.clone()));
        let old_name = self.old.as_ref().map(|old| old.name.clone());
        let modes = (self.old.as_ref().map(Group::mode), self.new.as_ref().map(Group::mode));
        let mut diff = RuleDiff {
            policy: policies
                .map(|policy| policy.name.to_string())
                .into_iter()
                .next_back()
                .unwrap_or_default(),
            kind,
            renamed_from: old_name.filter(|old| *old != name),
            name,
            old: self.old.as_ref().map(Group::span),
            new: self.new.as_ref().map(Group::span),
            modes,
            verdict: Verdict::Same,
            notes: self.notes(modes),
            scores: None,
        };
        if self.alike {
            return diff;
        }
        diff.verdict = match (kind.refuses(), &self.old, &self.new) {
            (true, ..) => self.refusals(policies, cluster, diff.only_counts()),
            (false, Some(old), Some(new)) if kind == GroupKind::Score => {
                let verdict = match scores::form(old, new).is_empty() {
                    true => {
                        let real = |differs: &Differs<'_>| in_cluster(cluster, false, differs);
                        scores::compare(old, new, &mut Formulas::new(policies), &real)
                    }
                    false => Verdict::Changed,
                };
                if let Verdict::Different(witness) = &verdict {
                    diff.scores = shown_scores(old, new, witness, cluster);
                }
                verdict
            }
            (false, Some(_), Some(_)) => Verdict::Unknown(Unproved::NotCompared),
            (false, ..) => Verdict::Changed,
        };
        if matches!(diff.verdict, Verdict::Same) && !diff.notes.is_empty() {
            diff.verdict = Verdict::Changed;
        }
        diff
    }

    /// What changes beside conditions.
    fn notes(&self, modes: (Option<Mode>, Option<Mode>)) -> Vec<String> {
        let mut notes = Vec::new();
        match (&self.old, &self.new) {
            (Some(_), None) => notes.push("removed".to_owned()),
            (None, Some(_)) => notes.push("new".to_owned()),
            (Some(old), Some(new)) => {
                if let (Some(before), Some(now)) = modes
                    && before != now
                {
                    notes.push(format!("mode {}, now {}", before.word(), now.word()));
                }
                notes.extend(old.beside(new));
            }
            (None, None) => {}
        }
        notes
    }

    /// Whether the new rules refuse more, less, or the same.
    fn refusals(&self, policies: [&Policy; 2], cluster: Option<Cluster<'_>>, counts: bool) -> Verdict {
        let mut formulas = Formulas::new(policies);
        let decides = |group: &&Group<'_>| counts || !group.counts;
        let [old, new] = [self.old.as_ref().filter(decides), self.new.as_ref().filter(decides)];
        let kind = self.old.as_ref().or(self.new.as_ref()).map(|of| of.kind);
        // Without a `victim` no pod may be evicted.
        let nothing = kind == Some(GroupKind::Victim);
        let mut refusal = |group: Option<&Group<'_>>, side: usize| match group {
            Some(group) => group.refusal(side, &mut formulas),
            None => Formula::Constant(nothing.into()),
        };
        let (before, after) = (refusal(old, 0), refusal(new, 1));
        if formulas.is_too_large() {
            return Verdict::Unknown(Unproved::TooLarge);
        }
        formulas.divide();
        let victims =
            [old, new].map(|group| group.and_then(|group| group.victims().next()).map(|victim| victim.slot));
        let about_victims = kind.is_some_and(GroupKind::is_about_victims);
        let refuses = |group: Option<&Group<'_>>, context: EvalContext<'_>, victim: Option<&Arc<PodInfo>>| {
            group.map_or(nothing, |group| group.refuses(context, victim))
        };
        let leaves = Leaves::of(&formulas, victims, []);
        let look = |was: bool, is: bool| {
            let differs = |context: EvalContext<'_>, victim: Option<&Arc<PodInfo>>| {
                refuses(old, context, victim) == was && refuses(new, context, victim) == is
            };
            let search = Search::new(&formulas, &before, &after);
            let (end, assignments) = search.some((was.into(), is.into()), MOST_ASSIGNMENTS);
            if end == End::Complete && assignments.is_empty() {
                return Looked::Impossible;
            }
            let witness = of_assignments(&formulas, &assignments, (victims, &leaves), &differs);
            match in_cluster(cluster, about_victims, &differs).or(witness) {
                Some(witness) => Looked::Shown(Box::new(witness)),
                None if end == End::TooLong => Looked::TooLong,
                None => Looked::NotShown,
            }
        };
        match (look(false, true), look(true, false)) {
            (Looked::Impossible, Looked::Impossible) => Verdict::Same,
            (Looked::Shown(refused), Looked::Impossible) => Verdict::Stricter(refused),
            (Looked::Impossible, Looked::Shown(passes)) => Verdict::Looser(passes),
            (Looked::Shown(refused), Looked::Shown(passes)) => Verdict::Incomparable { refused, passes },
            (Looked::NotShown, Looked::Impossible) => {
                Verdict::Unknown(Unproved::SameOrStricter(formulas.opaque()))
            }
            (Looked::Impossible, Looked::NotShown) => {
                Verdict::Unknown(Unproved::SameOrLooser(formulas.opaque()))
            }
            (Looked::Shown(of), _) => {
                Verdict::Unknown(Unproved::StricterOrIncomparable(of, formulas.opaque()))
            }
            (_, Looked::Shown(of)) => Verdict::Unknown(Unproved::LooserOrIncomparable(of, formulas.opaque())),
            (Looked::TooLong, _) | (_, Looked::TooLong) => Verdict::Unknown(Unproved::TooLong),
            _ => Verdict::Unknown(Unproved::NoWitness(formulas.opaque())),
        }
    }
}

/// What a search for one direction found.
enum Looked {
    Impossible,
    Shown(Box<Witness>),
    NotShown,
    TooLong,
}

/// A pod and a node of the cluster that differ.
fn in_cluster(cluster: Option<Cluster<'_>>, about_victims: bool, differs: &Differs<'_>) -> Option<Witness> {
    let cluster = cluster.filter(|_| !about_victims)?;
    let shows = |pod: &Arc<PodInfo>, node: NodeInfo<'_>| {
        let context = EvalContext::new(pod, cluster.snapshot, cluster.now).on(node);
        differs(context, None).then(|| Witness {
            pod: pod.clone(),
            node: node.name().clone(),
            victim: None,
            now: context.now,
            made_of: None,
        })
    };
    // A pod where it runs tells most.
    let runs = cluster.pods.iter().take(MOST_PAIRS).find_map(|pod| {
        let (row, _) = cluster.snapshot.pod(&pod.key)?.placed?;
        shows(pod, cluster.snapshot.node(row)?)
    });
    if runs.is_some() {
        return runs;
    }
    let nodes: Vec<_> = cluster.snapshot.nodes().collect();
    let pairs = nodes.len().saturating_mul(cluster.pods.len());
    // Spread evenly: a step that shares no factor with the number of nodes reaches all of them.
    let step = (pairs / MOST_PAIRS).max(1) | 1;
    (0..pairs).step_by(step).find_map(|at| {
        let (pod, node) = (cluster.pods.get(at / nodes.len().max(1))?, nodes.get(at % nodes.len().max(1))?);
        shows(pod, *node)
    })
}

/// The values that a witness has before and after.
fn shown_scores(
    old: &Group<'_>,
    new: &Group<'_>,
    witness: &Witness,
    cluster: Option<Cluster<'_>>,
) -> Option<(String, String)> {
    let shown = |context: EvalContext<'_>| {
        let of =
            |group: &Group<'_>| scores::value(group, context).map_or("none".to_owned(), |(_, shown)| shown);
        (of(old), of(new))
    };
    match &witness.made_of {
        Some(objects) => objects.evaluated(false, |context, _| shown(context)),
        None => {
            let cluster = cluster?;
            let node = cluster.snapshot.node(cluster.snapshot.node_by_name(&witness.node)?)?;
            Some(shown(EvalContext::new(&witness.pod, cluster.snapshot, cluster.now).on(node)))
        }
    }
}

#[cfg(test)]
mod smt;
#[cfg(test)]
mod tests;
