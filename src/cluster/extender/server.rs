//! The policies as an extender of an unmodified kube-scheduler: `filter`, `prioritize`, `preempt` and `bind` over HTTP or
//! HTTPS, at an address or a socket. Each question is answered on a fork of the cluster as the watches show it, beside the watch loop. In-tree
//! plugins do not run: kube-scheduler runs its own.
//!
//! kube-scheduler's assumptions are not in the fork, only pods that it has bound.

use super::binds::{self, UNKNOWN_NODE, UnderWay};
use super::wire::{self as wire, Writer};
use crate::api::client::Api;
use crate::inputs::informers::Informers;
use crate::inputs::kinds::KnownResources;
use crate::port::metrics::Metrics;
use crate::port::questions::{self, Port, ServerError, text};
use crate::process::driver::Driver;
use crate::writes::calls;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use bayplan_engine::{Decider, Scan};
use bayplan_framework::{
    ApiCall, CallError, Code, Cycle, Feasible, Framework, PluginsRunner, Recorder, Runner, Silent, Status,
};
use bayplan_model::{Kind, NodeId, NodeSet, ObjectKey, PodInfo, PodKey, Snapshot, Symbol, Time};
use bayplan_scheduler::Scheduler;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How questions are received.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where, and from whom.
    pub port: questions::Settings,
    /// Whether it binds pods.
    pub binds: bool,
}

/// The longest body of a question, in bytes: 5,000 nodes of 20 KB.
const BODY: usize = 128 * 1024 * 1024;
/// How long a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(15);
/// The time limit of the API server for a bind.
const BIND: Duration = Duration::from_secs(4);
/// The highest score of an extender.
const MOST: i64 = 10;

/// A bound port or socket.
pub(crate) struct Server {
    port: Port,
    binds: bool,
}

/// What answers questions.
pub(crate) struct Policies {
    /// The scheduler's thread, which holds the cluster and the policies, and never leads.
    pub driver: Driver<Scheduler>,
    /// Whether the cluster was read.
    pub informers: Informers,
    /// For binds.
    pub api: Api,
    /// Where questions are counted.
    pub metrics: Arc<Metrics>,
}

/// The verbs, each a path.
const VERBS: [&str; 4] = ["filter", "prioritize", "preempt", "bind"];

struct Shared {
    policies: Policies,
    binds: bool,
    /// Held while a binding is judged, so that no two are judged on a cluster without each other.
    under_way: Mutex<UnderWay>,
}

impl Server {
    /// Binds the port, or makes the socket.
    pub(crate) async fn bind(settings: &Settings) -> Result<Self, ServerError> {
        Ok(Self { port: Port::bind(&settings.port).await?, binds: settings.binds })
    }

    /// The bound port.
    pub(crate) fn port(&self) -> Option<u16> {
        self.port.port()
    }

    /// Answers questions until the process ends.
    pub(crate) async fn serve(self, policies: Policies) {
        let metrics = Arc::clone(&policies.metrics);
        let shared = Arc::new(Shared { policies, binds: self.binds, under_way: Mutex::default() });
        let app = Router::new()
            .route("/filter", post(filter))
            .route("/prioritize", post(prioritize))
            .route("/preempt", post(preempt))
            .route("/bind", post(bind))
            .route("/readyz", get(ready))
            .with_state(shared)
            .layer(middleware::from_fn_with_state(metrics, count));
        self.port.serve(app).await;
    }
}

/// Counts a question and measures its answer.
async fn count(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    let verb = VERBS.into_iter().find(|verb| *verb == path);
    let since = Instant::now();
    let response = next.run(request).await;
    if let Some(verb) = verb {
        metrics.questions.with([verb, response.status().as_str()]).inc();
        metrics.question_duration.with([verb]).observe(since.elapsed().as_secs_f64());
    }
    response
}

fn json(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A question that is answered with an HTTP status.
struct Refused(StatusCode, String);

impl Refused {
    fn response(self) -> Response {
        text(self.0, format!("{}\n", self.1))
    }
}

/// The cluster and the policies at the moment of a question.
struct View {
    snapshot: Snapshot,
    framework: Arc<Framework>,
    now: Time,
}

impl Shared {
    /// The cluster on which a question is answered, with the bindings under way. Refused until it was read and policies are
    /// in service.
    async fn view(&self) -> Result<View, Refused> {
        self.view_over(&mut *self.under_way.lock().await).await
    }

    async fn view_over(&self, under_way: &mut UnderWay) -> Result<View, Refused> {
        let unavailable = |why: &str| Refused(StatusCode::SERVICE_UNAVAILABLE, why.to_owned());
        if !self.policies.informers.is_synced() {
            return Err(unavailable("the cluster is not read yet"));
        }
        if let Some((resource, _)) = self.policies.informers.stale().first() {
            return Err(unavailable(&format!("the watch of {resource} is too old")));
        }
        let look = |machine: &mut Scheduler| {
            let framework = machine.profiles().frameworks.first().cloned();
            framework.map(|framework| View { snapshot: machine.fork(), framework, now: machine.now() })
        };
        let view = self.policies.driver.inspect(look).await.flatten();
        let mut view = view.ok_or_else(|| unavailable("no policies are in service yet"))?;
        under_way.lay_over(&mut view.snapshot, Instant::now());
        Ok(view)
    }
}

/// The body of a question.
async fn body(request: Request) -> Result<Vec<u8>, Refused> {
    let read = axum::body::to_bytes(request.into_body(), BODY);
    match tokio::time::timeout(ARRIVAL, read).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(error)) => Err(Refused(StatusCode::PAYLOAD_TOO_LARGE, error.to_string())),
        Err(_) => Err(Refused(StatusCode::REQUEST_TIMEOUT, String::from("the body did not arrive in time"))),
    }
}

fn bad_request(error: impl ToString) -> Refused {
    Refused(StatusCode::BAD_REQUEST, error.to_string())
}

/// A pod as the question has it, whole for policies.
fn pod_of(object: Option<Value>) -> Result<Arc<PodInfo>, Refused> {
    let object = object.ok_or_else(|| bad_request("the question has no Pod"))?;
    PodInfo::seen(Arc::new(object)).map(|(pod, _)| Arc::new(pod)).map_err(bad_request)
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    match shared.view().await {
        Ok(_) => text(StatusCode::OK, String::from("ok")),
        Err(refused) => refused.response(),
    }
}

/// The question and what answers it, worked on beside the other connections.
async fn answer(
    shared: &Shared,
    request: Request,
    work: impl FnOnce(View, &[u8]) -> Result<Vec<u8>, Refused>,
) -> Response {
    let answered = async {
        let body = body(request).await?;
        let view = shared.view().await?;
        tokio::task::block_in_place(|| work(view, &body))
    };
    match answered.await {
        Ok(body) => json(body),
        Err(refused) => refused.response(),
    }
}

async fn filter(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    answer(&shared, request, |view, body| {
        let args: wire::Args = wire::read(body).map_err(bad_request)?;
        let pod = pod_of(args.pod)?;
        Ok(filtered(view, pod, args.nodes, args.names))
    })
    .await
}

async fn prioritize(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    answer(&shared, request, |view, body| {
        let args: wire::Args = wire::read(body).map_err(bad_request)?;
        let names = args.names.unwrap_or_else(|| {
            let nodes = args.nodes.unwrap_or_default().items.into_iter().flatten();
            nodes.map(|node| node.name().to_owned()).collect()
        });
        let scores = scored(view, pod_of(args.pod)?, &names)
            .map_err(|status| Refused(StatusCode::INTERNAL_SERVER_ERROR, status.message()))?;
        let mut out = Writer::default();
        out.raw("[").list(scores, |out, (name, score)| {
            out.raw("{\"Host\":").text(&name).raw(",\"Score\":").raw(score.to_string()).raw("}");
        });
        out.raw("]");
        Ok(out.0)
    })
    .await
}

async fn preempt(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    answer(&shared, request, |view, body| {
        let args: wire::PreemptionArgs = wire::read(body).map_err(bad_request)?;
        let pod = pod_of(args.pod)?;
        let uids = |pods: Option<Vec<Option<wire::MetaPod>>>| -> Vec<String> {
            pods.into_iter().flatten().flatten().filter_map(|pod| pod.uid).collect()
        };
        let whole = args.victims.into_iter().flatten().map(|(node, victims)| {
            let victims = victims.unwrap_or_default();
            let pods = victims.pods.into_iter().flatten().flatten();
            let pods = pods.filter_map(|pod| pod.metadata?.uid).collect();
            (node, pods, victims.violations.unwrap_or_default())
        });
        let meta = args.meta_victims.into_iter().flatten().map(|(node, victims)| {
            let victims = victims.unwrap_or_default();
            (node, uids(victims.pods), victims.violations.unwrap_or_default())
        });
        Ok(preempted(view, pod, whole.chain(meta).collect()))
    })
    .await
}

async fn bind(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if !shared.binds {
        let text = "this extender binds no pods: start it with `--bind`";
        return Refused(StatusCode::FORBIDDEN, text.to_owned()).response();
    }
    let bound = async {
        let body = body(request).await?;
        let args: wire::BindingArgs = wire::read(&body).map_err(bad_request)?;
        bound(&shared, args).await
    };
    match bound.await {
        Ok(error) => {
            let mut out = Writer::default();
            out.raw("{\"Error\":").text(&error.unwrap_or_default()).raw("}");
            json(out.0)
        }
        Err(refused) => Refused::response(refused),
    }
}

/// Binds a pod that the policies still allow on its node. Returns why not.
async fn bound(shared: &Shared, args: wire::BindingArgs) -> Result<Option<String>, Refused> {
    let symbol = |text: Option<String>| Symbol::new(&text.unwrap_or_default());
    let (namespace, name, uid) = (symbol(args.namespace), symbol(args.name), symbol(args.uid));
    let pod = ObjectKey { kind: Kind::Pod, namespace, name, uid };
    let node = symbol(args.node);
    let known = {
        let mut under_way = shared.under_way.lock().await;
        let view = shared.view_over(&mut under_way).await?;
        let known = match tokio::task::block_in_place(|| may_bind(&view, &pod, &node)) {
            Ok(known) => known,
            Err(why) => return Ok(Some(why)),
        };
        under_way.begin(known.clone(), node.clone(), Instant::now());
        known
    };
    let call = ApiCall::Bind { pod, node, marks: Default::default() };
    let resources = KnownResources::default();
    let ways = calls::Ways { api: &shared.policies.api, known: &resources, policies: None };
    let Err(error) = calls::make(ways, &call, false, BIND).await else { return Ok(None) };
    // After another error the pod may be bound all the same.
    if matches!(calls::meaning(&error), CallError::Refused { .. } | CallError::Retry { .. }) {
        shared.under_way.lock().await.refused(&known.key);
    }
    Ok(Some(error.to_string()))
}

/// The pod, if the policies allow it on the node; or why not.
fn may_bind(view: &View, pod: &ObjectKey, node: &Symbol) -> Result<Arc<PodInfo>, String> {
    let known = binds::known(&view.snapshot, pod, node)?;
    let row = view.snapshot.node_by_name(node).ok_or(UNKNOWN_NODE)?;
    Asked::new(view, known.clone()).refusal_of(row).map_err(|status| status.message())?;
    Ok(known)
}

/// One pod that is evaluated on the cluster of a question.
struct Asked<'v> {
    view: &'v View,
    cycle: Cycle,
    /// What PreFilter says about all nodes, or the nodes that it left.
    before: Result<Option<NodeSet>, Status>,
}

impl<'v> Asked<'v> {
    fn new(view: &'v View, pod: Arc<PodInfo>) -> Self {
        let mut cycle = Cycle::new(pod, view.framework.clone(), view.now);
        let before = view.framework.run_pre_filter(&mut cycle, &view.snapshot, &mut Silent);
        Self { view, cycle, before }
    }

    /// Whether the pod may be placed on a node.
    fn refusal_of(&mut self, row: NodeId) -> Result<(), Status> {
        let left = self.before.as_ref().map_err(Clone::clone)?;
        let (framework, snapshot) = (&self.view.framework, &self.view.snapshot);
        if left.as_ref().is_some_and(|left| !left.contains(row)) {
            let absent = self.cycle.diagnosis.nodes.absent().cloned();
            return Err(absent.unwrap_or_else(|| Status::unresolvable("node(s) didn't satisfy a policy")));
        }
        match snapshot.node(row) {
            Some(node) => framework.filter_node(self.cycle.handle(snapshot), node),
            None => Err(Status::unresolvable("the node is gone")),
        }
    }
}

/// `ExtenderFilterResult`.
fn filtered(
    view: View,
    pod: Arc<PodInfo>,
    nodes: Option<wire::WholeNodes>,
    names: Option<Vec<String>>,
) -> Vec<u8> {
    let mut asked = Asked::new(&view, pod);
    let (mut failed, mut unresolvable, mut error) = (Vec::new(), Vec::new(), None);
    let mut passes = |name: &str| match view.snapshot.node_by_name(&Symbol::new(name)) {
        None => {
            failed.push((name.to_owned(), UNKNOWN_NODE.to_owned()));
            false
        }
        Some(row) => match asked.refusal_of(row) {
            Ok(()) => true,
            Err(status) => {
                let text = status.reasons().collect::<Vec<_>>().join(", ");
                match status.code {
                    Code::Error => error = Some(status.message()),
                    Code::UnschedulableAndUnresolvable => unresolvable.push((name.to_owned(), text)),
                    Code::Unschedulable | Code::Pending => failed.push((name.to_owned(), text)),
                }
                false
            }
        },
    };
    let mut out = Writer::default();
    out.raw("{\"Nodes\":");
    match nodes {
        Some(list) => {
            let items = list.items.into_iter().flatten();
            let left: Vec<wire::WholeNode> = items.filter(|node| passes(node.name())).collect();
            out.raw("{\"metadata\":{},\"items\":[").list(left, |out, node| {
                out.raw(node.0.to_string());
            });
            out.raw("]}");
        }
        None => {
            out.raw("null");
        }
    }
    out.raw(",\"NodeNames\":");
    match names {
        Some(names) => {
            let left: Vec<String> = names.into_iter().filter(|name| passes(name)).collect();
            out.raw("[").list(left, |out, name| {
                out.text(&name);
            });
            out.raw("]");
        }
        None => {
            out.raw("null");
        }
    }
    for (key, all) in [("FailedNodes", failed), ("FailedAndUnresolvableNodes", unresolvable)] {
        out.raw(",\"").raw(key).raw("\":{").list(all, |out, (name, reason)| {
            out.text(&name).raw(":").text(&reason);
        });
        out.raw("}");
    }
    out.raw(",\"Error\":").text(&error.unwrap_or_default()).raw("}");
    out.0
}

/// Keeps the totals of a decision.
#[derive(Default)]
struct Totals(Vec<i64>);

impl Recorder for Totals {
    fn wants_scores(&self) -> bool {
        true
    }

    fn totals(&mut self, _: &NodeSet, totals: &[i64]) {
        self.0 = totals.to_vec();
    }
}

/// The scores of nodes: the weighted scores of all policies as a share of the highest possible sum, from 0 to 10.
fn scored(view: View, pod: Arc<PodInfo>, names: &[String]) -> Result<Vec<(String, i64)>, Status> {
    let mut asked = Asked::new(&view, pod);
    let rows: Vec<Option<NodeId>> =
        names.iter().map(|name| view.snapshot.node_by_name(&Symbol::new(name))).collect();
    let feasible = Feasible { nodes: rows.iter().flatten().copied().collect() };
    let weights: i64 = view.framework.points().score.iter().map(|scorer| scorer.weight).sum();
    let mut totals = Totals::default();
    if weights > 0 {
        Scan::new().score(&mut asked.cycle, &feasible, &view.snapshot, &mut totals)?;
    }
    let highest = weights.saturating_mul(100).max(1);
    let score = |row: &Option<NodeId>| {
        let total = row.and_then(|row| totals.0.get(row.row()).copied()).unwrap_or(0);
        // Rounded to the nearest whole score.
        (total.saturating_mul(MOST).saturating_mul(2) + highest) / (2 * highest)
    };
    Ok(names.iter().cloned().zip(rows.iter().map(|row| score(row).clamp(0, MOST))).collect())
}

/// `ExtenderPreemptionResult`: the candidates whose nodes the policies allow once the victims are gone.
fn preempted(view: View, pod: Arc<PodInfo>, candidates: Vec<(String, Vec<String>, i64)>) -> Vec<u8> {
    let asked = Asked::new(&view, pod);
    let runner = Runner::new(&view.framework, asked.cycle.handle(&view.snapshot));
    let mut rules = runner.rules();
    let never = rules.never(runner.handle).is_err();
    let mut allowed = |(node, pods, _): &(String, Vec<String>, i64)| {
        let row = view.snapshot.node_by_name(&Symbol::new(node))?;
        if never || asked.before.as_ref().is_err_and(|status| status.code != Code::Unschedulable) {
            return None;
        }
        let mut simulated = runner.simulate(row)?;
        // Ours judge the least important victim first, and kube-scheduler names the most important one first.
        let victims = pods.iter().rev().map(|uid| view.snapshot.pod(&PodKey(Symbol::new(uid))));
        let victims: Option<Vec<&PodInfo>> = victims.map(|entry| Some(&*entry?.pod)).collect();
        simulated.fits_without(&victims?, &mut rules).ok().filter(|fits| *fits)
    };
    let left: Vec<_> = candidates.iter().filter(|candidate| allowed(candidate).is_some()).collect();
    let mut out = Writer::default();
    out.raw("{\"NodeNameToMetaVictims\":{").list(left, |out, (node, pods, violations)| {
        out.text(node).raw(":{\"Pods\":[").list(pods, |out, uid| {
            out.raw("{\"UID\":").text(uid).raw("}");
        });
        out.raw("],\"NumPDBViolations\":").raw(violations.to_string()).raw("}");
    });
    out.raw("}}");
    out.0
}
