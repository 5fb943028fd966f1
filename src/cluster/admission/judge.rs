//! [`judge`]: the verdict on a change of an object with policies.

use super::impact::{self, Impact, View};
use crate::policies::compiled::{Compiler, Policy};
use crate::policies::state::PolicyState;
use crate::policies::store::Compiled;
use crate::policies::verdict::{Problem, Texts};
use bayplan_compare::{Cluster, Effect, RuleDiff, Verdict, begin, compare};
use bayplan_diag::with_commas;
use bayplan_lang::eval::exempt::ExemptPods;
use bayplan_lang::typed;
use bayplan_model::PodInfo;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The annotation by which a person accepts how many pods a change leaves waiting.
pub(crate) const ACCEPT: &str = "bayplan.dev/accept-impact";

/// The most warnings about rules.
const MOST_RULES: usize = 8;
/// The most bytes of a warning: the API server cuts longer ones.
const LONGEST: usize = 240;

/// Above which number of waiting pods a change is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MostWaiting {
    /// The share of the pods that the change applies to, in percent.
    pub percent: u8,
    /// So many in any case.
    pub at_least: usize,
}

impl Default for MostWaiting {
    fn default() -> Self {
        Self { percent: 10, at_least: 20 }
    }
}

impl MostWaiting {
    fn of(self, pods: usize) -> usize {
        (pods * usize::from(self.percent) / 100).max(self.at_least)
    }
}

/// An object with policies, before and after a change.
pub(crate) struct Changing<'c> {
    /// `namespace/name`.
    pub(crate) object: &'c str,
    /// Its texts before; empty of a new object.
    pub(crate) old: &'c Texts,
    /// Its texts; empty of one that is deleted.
    pub(crate) new: &'c Texts,
    /// What its annotation accepts.
    pub(crate) accepts: Option<usize>,
    /// It is deleted.
    pub(crate) is_deleted: bool,
}

/// The verdict.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Judged {
    /// Why the change is refused.
    pub(crate) refused: Option<String>,
    /// What the person who makes it should know.
    pub(crate) warnings: Vec<String>,
}

/// The policies before and after a change.
pub(crate) struct BothSides<'p> {
    pub(super) old: &'p [Compiled<Policy>],
    pub(super) new: &'p [Compiled<Policy>],
}

impl<'p> BothSides<'p> {
    fn named(all: &'p [Compiled<Policy>], name: &str) -> Option<&'p typed::Policy> {
        all.iter().find(|of| of.name == name).map(|of| &*of.policy.compiled.policy)
    }

    /// The policy of this name before the change.
    pub(crate) fn before(&self, name: &str) -> Option<&'p typed::Policy> {
        Self::named(self.old, name)
    }

    /// The policy of this name after it.
    pub(crate) fn after(&self, name: &str) -> Option<&'p typed::Policy> {
        Self::named(self.new, name)
    }
}

/// Judges a change. `view`: the cluster, if it was read.
pub(crate) fn judge(
    change: &Changing<'_>,
    compiler: &Compiler,
    state: &PolicyState,
    view: Option<View>,
    (most, exempt): (MostWaiting, &ExemptPods),
) -> Judged {
    let mut judged = Judged::default();
    let new = match change.is_deleted {
        true => Vec::new(),
        false => match compiler.compile(change.object, change.new) {
            Ok((policies, warnings)) => {
                judged.warnings.extend(warnings.iter().map(shown));
                policies
            }
            Err(problems) => {
                judged.refused = Some(refusal(&problems));
                return judged;
            }
        },
    };
    for policy in &new {
        let owner = state.objects().1.into_iter().find(|of| {
            of.object != change.object && of.policies.iter().any(|served| served.name == policy.name)
        });
        if let Some(owner) = owner {
            let text =
                format!("`{}` waits: {} has a policy of this name in service", policy.name, owner.object);
            judged.warnings.push(cut(&text));
        }
    }
    // A text that does not compile has nothing in service, or what served before it: then nothing is compared.
    let old = match change.old.is_empty() {
        true => Vec::new(),
        false => {
            compiler.compile(change.object, change.old).map(|(policies, _)| policies).unwrap_or_default()
        }
    };
    let sides = BothSides { old: &old, new: &new };
    let pods: Vec<Arc<PodInfo>> =
        view.iter().flat_map(|view| view.snapshot.pods()).map(|entry| entry.pod.clone()).collect();
    let cluster = view.as_ref().map(|view| Cluster { snapshot: &view.snapshot, pods: &pods, now: view.now });
    let names: BTreeSet<&str> = old.iter().chain(&new).map(|policy| policy.name.as_str()).collect();
    let diffs: Vec<RuleDiff> =
        names.into_iter().flat_map(|name| compare(sides.before(name), sides.after(name), cluster)).collect();
    let changed: Vec<&RuleDiff> =
        diffs.iter().filter(|diff| !matches!(diff.verdict, Verdict::Same)).collect();
    judged.warnings.extend(changed.iter().take(MOST_RULES).map(|diff| cut(&rule(diff))));
    if changed.len() > MOST_RULES {
        let more = changed.len() - MOST_RULES;
        judged.warnings.push(format!("{more} more rules change: `bayplan diff` shows them"));
    }
    match view {
        _ if changed.is_empty() => {}
        None => judged
            .warnings
            .push("the cluster is not read yet: which pods the change is about is not known".into()),
        Some(mut view) => match impact::count(&mut view, &diffs, &sides, exempt) {
            None => {
                let text = "counting the pods took too long: `bayplan diff OLD NEW --live` does it";
                judged.warnings.push(text.to_owned());
            }
            Some(impact) => judged.add(impact, change.accepts, most),
        },
    }
    judged
}

impl Judged {
    fn add(&mut self, impact: Impact, accepts: Option<usize>, most: MostWaiting) {
        let Impact { begin_to_wait, begin_to_run, refused, applies_to } = impact;
        let pods = |count: usize| if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") };
        let mut parts = begin(begin_to_wait, begin_to_run);
        if refused > 0 {
            parts.push(format!(
                "{} that run are refused where they are: they go on running, and wait or move when they restart",
                with_commas(refused as u128)
            ));
        }
        if !parts.is_empty() {
            self.warnings.push(format!(
                "of {} that the change applies to: {}",
                pods(applies_to),
                parts.join(", ")
            ));
        }
        let limit = most.of(applies_to);
        let accepted = accepts.is_some_and(|accepts| accepts >= impact.waiting());
        if impact.waiting() > limit && !accepted {
            self.refused = Some(format!(
                "the change leaves {} without a node, now or when they restart; at most {limit} are let through. If it is \
                 meant, set the annotation {ACCEPT}: \"{}\"",
                pods(impact.waiting()),
                impact.waiting()
            ));
        }
    }
}

/// What changes about a rule, in a line.
fn rule(diff: &RuleDiff) -> String {
    let mut text = format!("{}/{}: {}", diff.policy, diff.name, diff.verdict.word());
    let witnesses = diff.verdict.witnesses().into_iter().filter(|(effect, _)| *effect != Effect::Scored);
    for (effect, witness) in witnesses {
        let of = match &witness.made_of {
            None => format!("{}/{} on {}", witness.pod.namespace, witness.pod.name, witness.node),
            Some(objects) => format!("e.g. {}", objects.because.join(", ")),
        };
        text.push_str(&format!("; {of}: {effect}"));
    }
    if let Some((old, new)) = &diff.scores {
        text.push_str(&format!("; a score of {old}, now {new}"));
    }
    for note in &diff.notes {
        text.push_str(&format!("; {note}"));
    }
    text
}

fn shown(problem: &Problem) -> String {
    cut(&problem.to_string())
}

/// A text that the API server passes on whole: one line, of printable characters.
fn cut(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Why texts are refused: each problem in a line.
fn refusal(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().take(10).map(shown).collect();
    let more = problems.len().saturating_sub(lines.len());
    let more = if more == 0 { String::new() } else { format!("\n{more} more") };
    format!("the policies do not compile:\n{}{more}", lines.join("\n"))
}
