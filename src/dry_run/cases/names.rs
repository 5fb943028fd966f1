//! Names in expectations that no node, score, policy or plugin has. Such an expectation would fail
//! or pass for ever: it is a mistake of the case.

use super::read::{Expectation, What, YesOr};
use super::{Bench, PodReport, World};
use bayplan_diag::{Diagnostic, Span, codes, suggest};
use bayplan_lang::typed::{Point, Rule};
use bayplan_model::{Object, Reading};

/// The first unknown name, as a diagnostic with the nearest known one.
pub(super) fn unknown(
    all: &[Expectation],
    pod: &PodReport,
    world: &World,
    bench: &Bench,
) -> Option<Box<Diagnostic>> {
    let known = Known::of(pod, world, bench);
    all.iter().find_map(|one| {
        if let What::Remembers(given) = &one.what {
            return given.known(bench.policies).err();
        }
        let (message, near) = known.unknown(&one.what)?;
        Some(mistake(one.span, message, near))
    })
}

/// A pod whose `schedulerName` no profile serves.
pub(super) fn not_ours(pod: &PodReport, span: Span, bench: &Bench) -> Box<Diagnostic> {
    let name = &pod.pod.scheduler_name;
    let names = bench.profiles.frameworks.iter().map(|of| of.scheduler_name.as_str());
    let near = suggest::nearest(name, names).map(str::to_owned);
    mistake(span, format!("no profile is called `{name}`"), near)
}

/// Metrics of a node that the cluster does not have.
pub(super) fn of_metrics<'m>(
    mut metrics: impl Iterator<Item = &'m (Reading, Span)>,
    world: &World,
) -> Result<(), Box<Diagnostic>> {
    let nodes = || {
        world.objects.iter().filter_map(|object| match object {
            Object::Node(node) => Some(node.name.as_str()),
            _ => None,
        })
    };
    let unknown = metrics.find(|(reading, _)| !nodes().any(|name| *name == *reading.node.as_str()));
    unknown.map_or(Ok(()), |(reading, span)| {
        let near = suggest::nearest(&reading.node, nodes()).map(str::to_owned);
        Err(mistake(*span, format!("no node of the cluster is called `{}`", reading.node), near))
    })
}

pub(super) fn mistake(span: Span, message: String, near: Option<String>) -> Box<Diagnostic> {
    let help = near.map(|near| format!("did you mean `{near}`?"));
    Box::new(Diagnostic { help, ..Diagnostic::new(&codes::BAD_TEST, span, message) })
}

/// The names that exist.
struct Known<'a> {
    nodes: Vec<&'a str>,
    scores: Vec<String>,
    plugins: Vec<&'a str>,
    /// `POLICY/RULE`.
    rules: Vec<String>,
    pods: Vec<&'a str>,
    /// The rules that do not decide, by `RULE` and `POLICY/RULE`.
    counting: Vec<String>,
}

impl<'a> Known<'a> {
    fn of(pod: &PodReport, world: &'a World, bench: &'a Bench) -> Self {
        let nodes = world.objects.iter().filter_map(|object| match object {
            Object::Node(node) => Some(node.name.as_str()),
            _ => None,
        });
        let scores = bench.policies.iter().flat_map(|policy| {
            let own = policy.policy.rules_at(Point::Score).map(Rule::name);
            own.flat_map(|score| [score.to_owned(), format!("{}/{score}", policy.name())])
        });
        let rules = bench.policies.iter().flat_map(|policy| {
            let own = [Point::Filter, Point::PreFilter].into_iter().flat_map(|at| policy.policy.rules_at(at));
            own.map(Rule::name).map(|rule| format!("{}/{rule}", policy.name()))
        });
        let counting = bench.policies.iter().flat_map(|policy| {
            let names = policy.counts().iter().flat_map(|counts| counts.rules().names());
            names.flat_map(move |name| [name.to_string(), format!("{}/{name}", policy.name())])
        });
        let running = world.objects.iter().filter_map(|object| match object {
            Object::Pod(pod) => Some(pod.name.as_str()),
            _ => None,
        });
        let pods = running.chain(world.pending.iter().map(|pod| pod.name.as_str()));
        let framework = bench.profiles.get(&pod.pod.scheduler_name);
        let plugins = framework.map(|framework| framework.plugins()).unwrap_or_default();
        Self {
            nodes: nodes.collect(),
            scores: scores.collect(),
            plugins: plugins.iter().map(|plugin| plugin.name()).collect(),
            rules: rules.collect(),
            pods: pods.collect(),
            counting: counting.collect(),
        }
    }

    /// What is unknown in an expectation, and the nearest known name.
    fn unknown(&self, what: &What) -> Option<(String, Option<String>)> {
        match what {
            What::On(nodes) | What::NotOn(nodes) => nodes.iter().find_map(|node| self.node(node)),
            What::RefusedOn { node, by } => {
                self.node(node).or_else(|| by.as_ref().and_then(|rule| self.rule(rule)))
            }
            What::Score { node, score, .. } => self.node(node).or_else(|| {
                let known = self.scores.iter().map(String::as_str);
                absent(score, known, format!("no policy has a score `{score}`"))
            }),
            What::Waits(YesOr::By(name)) | What::Gated(YesOr::By(name)) => {
                let message = format!("no policy or plugin is called `{name}`");
                absent(name, self.plugins.iter().copied(), message)
            }
            What::Would { rule, .. } => {
                let known = self.counting.iter().map(String::as_str);
                absent(rule, known, format!("no rule `{rule}` is in mode `warn` or `audit`"))
            }
            What::Evicts(names) => names.iter().find_map(|name| {
                let message = format!("the case has no pod `{name}`");
                absent(name, self.pods.iter().copied(), message)
            }),
            _ => None,
        }
    }

    fn node(&self, name: &str) -> Option<(String, Option<String>)> {
        let message = format!("no node of the cluster is called `{name}`");
        absent(name, self.nodes.iter().copied(), message)
    }

    fn rule(&self, name: &str) -> Option<(String, Option<String>)> {
        let known = self.rules.iter().map(String::as_str).chain(self.plugins.iter().copied());
        absent(name, known, format!("no rule, policy or plugin is called `{name}`"))
    }
}

fn absent<'k>(
    name: &str,
    mut known: impl Iterator<Item = &'k str> + Clone,
    message: String,
) -> Option<(String, Option<String>)> {
    let all = known.clone();
    if known.any(|known| known == name) {
        return None;
    }
    Some((message, suggest::nearest(name, all).map(str::to_owned)))
}
