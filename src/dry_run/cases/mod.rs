//! Tests of policies (`*.test.yaml`): pods, a cluster, and what is expected of them. An unknown
//! field is an error, so that a misspelt field cannot make a test pass. `cli` reads the files and
//! hands in their texts; a case is decided by an ordinary dry run.
//!
//! ```yaml
//! policies: [gpu.bay]                       # files beside this one
//! cluster: cluster.yaml
//! now: 2026-01-05T09:00:00+01:00            # a Monday
//! namespaces: {shop: {tier: prod}}
//! cases:
//! - name: a job without free GPUs waits
//!   pod: {name: train, requests: {nvidia.com/gpu: 8}}     # in short, in full, or a file
//!   expect: {unschedulable: {reason: Insufficient nvidia.com/gpu, nodes: 3}}
//! - name: a job of another team stays off the nodes of the first
//!   pod: {name: train, namespace: shop}
//!   expect: {one of: [n1, n2], refused: {n3: gpu-rules/same-team}}
//! - name: two members are not a gang of three
//!   pods: [{name: a, labels: {gang: x}}, {name: b, labels: {gang: x}}]
//!   order: [a, b]                           # in which they are first tried
//!   expect: {a: {waits: gangs}, b: {waits: true}}
//! ```
//!
//! - `fields.rs`: the table of all fields
//! - `read.rs`: text to cases
//! - `objects.rs`: pods, nodes and namespaces of cases
//! - `memos.rs`: what memos remember at the beginning and at the end
//! - `names.rs`: names in expectations that do not exist
//! - `compare.rs`: what was expected against what happened

mod compare;
mod fields;
mod memos;
mod metrics;
mod names;
mod objects;
mod read;

pub use fields::{FIELDS, FieldDoc, Section};
pub(super) use memos::Remembered;
pub use read::{Case, CaseFile, read};

use super::because::{Because, DecisionView};
use super::recorder::CoverageRecorder;
use super::{Options, PodReport, Report, Standing, World, Writes, run_watched};
use bayplan_diag::{Diagnostic, SourceMap, Span, codes};
use bayplan_lang::analysis::coverage::Coverage;
use bayplan_lang::policy_set::PolicySet;
use bayplan_model::{Object, Time};
use bayplan_policy::of_profile;
use bayplan_scheduler::Profiles;
use objects::Surroundings;
use serde_json::Value;
use std::sync::Arc;

/// A difference between what was expected and what happened.
#[derive(Clone, PartialEq, Debug)]
pub struct Mismatch {
    /// What was expected.
    pub expected: String,
    /// What happened.
    pub got: String,
    /// The rules that made the difference, with their values.
    pub because: Vec<Because>,
    /// The expectation.
    pub span: Span,
}

/// What cases run on.
pub struct Bench<'a> {
    /// The text of the cases.
    pub sources: &'a SourceMap,
    /// The cluster of the file.
    pub cluster: &'a World,
    /// The profiles with the policies in them.
    pub profiles: &'a Arc<Profiles>,
    /// The policies among the plugins.
    pub policies: &'a PolicySet,
    /// The objects of the pod files that cases name.
    pub pod_file: &'a dyn Fn(&str) -> Option<Value>,
}

/// The result of a case.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ended {
    /// The mismatches; empty when the case passed.
    pub mismatches: Vec<Mismatch>,
    /// Every pod with every rule on every node, if requested.
    pub account: Vec<(String, Vec<Because>)>,
}

impl CaseFile {
    /// The cluster of one case: the file's, with the namespaces, nodes and pods of the case.
    pub fn world(&self, case: &Case, bench: &Bench) -> Result<World, Box<Diagnostic>> {
        let mut world = bench.cluster.clone();
        // The cluster's pending pods take no part in tests.
        world.pending.clear();
        self.shared.add_to(&mut world);
        case.own.add_to(&mut world);
        for pod in &case.pods {
            let made = pod.made(bench.pod_file).map_err(|message| bad(pod.span, message))?;
            world.add(Object::Pod(made));
        }
        world.add_missing_namespaces();
        names::of_metrics(self.shared.metrics.iter().chain(&case.own.metrics), &world)?;
        Ok(world)
    }

    /// The instant at which a case begins.
    pub fn start(&self, case: &Case) -> Time {
        case.own.now.or(self.shared.now).unwrap_or(Time(0))
    }

    /// Runs one of the cases and notes in `coverage` which conditions it evaluated. `Err` when the
    /// case itself is wrong.
    pub fn run_case(
        &self,
        at: usize,
        bench: &Bench,
        coverage: &mut Coverage,
        account: bool,
    ) -> Result<Ended, Box<Diagnostic>> {
        let Some(case) = self.cases.get(at) else { return Ok(Ended::default()) };
        let world = self.world(case, bench)?;
        let mut recorder = CoverageRecorder::new(bench.policies, bench.profiles, coverage);
        for given in &case.memos {
            recorder.memos.push(given.of_a_pod(&world, bench)?);
        }
        let options = Options { start: self.start(case), ..Options::default() };
        let report = run_watched(&world, bench.profiles.clone(), &options, Some(&mut recorder));
        recorder.ended(report.scheduler.fork(), options.start + report.elapsed, &world.pending);
        let mut ended = Ended::default();
        for of in &case.expect {
            let named = |pod: &&PodReport| of.pod.as_ref().is_none_or(|name| *pod.pod.name == **name);
            let Some(pod) = report.pods.iter().find(named) else {
                return Err(no_pod(of.pod.as_deref(), of.span, &world));
            };
            if pod.standing == Standing::NotOurs {
                return Err(names::not_ours(pod, case.pod_span(pod), bench));
            }
            if let Some(wrong) = names::unknown(&of.all, pod, &world, bench) {
                return Err(wrong);
            }
            let policies = policies_of(pod, bench);
            let seen = Seen {
                pod,
                recorder: &recorder,
                policies: &policies,
                profiles: bench.profiles,
                writes: &report.writes,
            };
            ended.mismatches.extend(of.all.iter().filter_map(|one| compare::mismatch(one, &seen)));
        }
        ended.mismatches.extend(compare::order(case, &report));
        if account {
            ended.account = accounts(&report, bench, &recorder);
        }
        Ok(ended)
    }
}

fn bad(span: Span, message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::BAD_TEST, span, message))
}

/// A pod that the case does not schedule, or, without a name, that has a node already.
fn no_pod(name: Option<&str>, span: Span, world: &World) -> Box<Diagnostic> {
    let runs = |name: &str| {
        world.objects.iter().any(|object| matches!(object, Object::Pod(pod) if *pod.name == *name))
    };
    match name.filter(|name| !runs(name)) {
        Some(name) => {
            let near =
                bayplan_diag::suggest::nearest(name, world.pending.iter().map(|pod| pod.name.as_str()));
            names::mistake(span, format!("the case has no pod `{name}`"), near.map(str::to_owned))
        }
        None => bad(span, "the pod has a node already: it is not scheduled".to_owned()),
    }
}

/// The policies of a pod's profile, with its arguments.
fn policies_of(pod: &PodReport, bench: &Bench) -> PolicySet {
    bench.profiles.get(&pod.pod.scheduler_name).map(|framework| of_profile(framework)).unwrap_or_default()
}

/// Every pod of the report with what every rule says of every node.
fn accounts(report: &Report, bench: &Bench, recorder: &CoverageRecorder) -> Vec<(String, Vec<Because>)> {
    let told = report.pods.iter().map(|pod| {
        let policies = policies_of(pod, bench);
        let seen =
            Seen { pod, recorder, policies: &policies, profiles: bench.profiles, writes: &report.writes };
        let mut all = seen.at_first().or(seen.at_end()).map(|view| view.all()).unwrap_or_default();
        // An attempt after evictions comes further than the one before.
        let late = seen.at_last().filter(|_| pod.decisions.len() > 1).map(|view| view.late(true));
        for because in late.unwrap_or_default() {
            if !all.contains(&because) {
                all.push(because);
            }
        }
        (format!("{}: {}", pod.pod.name, stands(pod)), all)
    });
    told.collect()
}

/// Where a pod stands, in words.
fn stands(pod: &PodReport) -> String {
    match &pod.standing {
        Standing::Bound(node) => node.to_string(),
        Standing::Waiting { message } => format!("waits: {message}"),
        Standing::Gated { by } => format!("is kept out of the queue by {by}"),
        Standing::Failing { message } => format!("the attempt fails: {message}"),
        Standing::AtPermit { node, .. } => format!("waits at permit for {node}"),
        Standing::NotOurs => {
            format!("is not ours: no profile is called `{}`", pod.pod.scheduler_name)
        }
        Standing::Terminating => String::from("is being deleted"),
    }
}

/// One pod of a case with what was observed of it.
struct Seen<'a> {
    pod: &'a PodReport,
    recorder: &'a CoverageRecorder<'a>,
    /// Those of its profile.
    policies: &'a PolicySet,
    profiles: &'a Profiles,
    writes: &'a Writes,
}

impl<'a> Seen<'a> {
    fn rules(&self) -> (&'a PolicySet, &'a Profiles) {
        (self.policies, self.profiles)
    }

    fn at_first(&self) -> Option<DecisionView<'a>> {
        DecisionView::of(self.pod, self.rules(), self.recorder.first.get(&self.pod.pod.key), false)
    }

    fn at_last(&self) -> Option<DecisionView<'a>> {
        DecisionView::of(self.pod, self.rules(), self.recorder.last.get(&self.pod.pod.key), true)
    }

    fn at_end(&self) -> Option<DecisionView<'a>> {
        DecisionView::of(self.pod, self.rules(), self.recorder.end.as_ref(), true)
    }
}

impl Surroundings {
    /// Adds the nodes and namespaces to a cluster, in place of those of the same names.
    fn add_to(&self, world: &mut World) {
        let own = self.nodes.iter().map(|node| Object::Node(node.clone()));
        let own = own.chain(self.namespaces.iter().map(|of| Object::Namespace(of.clone())));
        let own: Vec<Object> = own.collect();
        let name = |object: &Object| {
            let key = object.key();
            (key.kind, key.namespace, key.name)
        };
        let replaced: Vec<_> = own.iter().map(name).collect();
        world.objects.retain(|object| !replaced.contains(&name(object)));
        for namespace in &self.namespaces {
            world.assumed.remove(&namespace.name);
        }
        world.objects.extend(own);
        world.metrics.retain(|known| !self.metrics.iter().any(|(own, _)| own.node == known.node));
        world.metrics.extend(self.metrics.iter().map(|(reading, _)| reading.clone()));
    }
}
