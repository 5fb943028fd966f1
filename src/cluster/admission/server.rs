//! Answers the API server: `POST /policies` with an AdmissionReview of version 1, and `GET /readyz`.

use super::impact::View;
pub use super::judge::MostWaiting;
use super::judge::{ACCEPT, Changing, Judged, judge};
use crate::inputs::informers::Informers;
use crate::policies::compiled::Compiler;
use crate::policies::config_maps::{name_of, texts_of};
use crate::policies::state::PolicyState;
use crate::policies::verdict::Texts;
use crate::port::metrics::Metrics;
use crate::port::questions::{self, Port, ServerError, text};
use crate::process::driver::Driver;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use bayplan_lang::eval::exempt::ExemptPods;
use bayplan_scheduler::Scheduler;
use http::{HeaderValue, StatusCode, header};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How changes are judged.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the API server asks.
    pub port: questions::Settings,
    /// Above which number of waiting pods a change is refused.
    pub most_waiting: MostWaiting,
    /// The pods that policies leave alone.
    pub exempt: ExemptPods,
}

/// The longest body: the API server's own limit of an object, twice, with its frame.
const BODY: usize = 8 * 1024 * 1024;
/// How long a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(2);

/// A bound port.
pub(crate) struct Server {
    port: Port,
    settings: Settings,
}

/// What judges changes.
pub(crate) struct Judges {
    /// The scheduler's thread, which holds the cluster.
    pub(crate) driver: Driver<Scheduler>,
    /// Whether the cluster was read.
    pub(crate) informers: Informers,
    /// Compiles texts as the loader does.
    pub(crate) compiler: Compiler,
    /// What is in service.
    pub(crate) state: PolicyState,
    /// Where questions are counted.
    pub(crate) metrics: Arc<Metrics>,
}

struct Shared {
    judges: Judges,
    settings: Settings,
}

impl Server {
    /// Binds the port.
    pub(crate) async fn bind(settings: &Settings) -> Result<Self, ServerError> {
        Ok(Self { port: Port::bind(&settings.port).await?, settings: settings.clone() })
    }

    /// The bound port.
    pub(crate) fn port(&self) -> Option<u16> {
        self.port.port()
    }

    /// Answers until the process ends.
    pub(crate) async fn serve(self, judges: Judges) {
        let shared = Arc::new(Shared { judges, settings: self.settings });
        let app =
            Router::new().route("/policies", post(policies)).route("/readyz", get(ready)).with_state(shared);
        self.port.serve(app).await;
    }
}

impl Shared {
    /// The cluster, if it was read.
    async fn view(&self) -> Option<View> {
        if !self.judges.informers.is_synced() {
            return None;
        }
        let look = |machine: &mut Scheduler| View {
            snapshot: machine.fork(),
            profiles: Arc::clone(machine.profiles()),
            now: machine.now(),
        };
        self.judges.driver.inspect(look).await
    }

    async fn judged(
        &self,
        review: AdmissionReview<DynamicObject>,
    ) -> Result<AdmissionReview<DynamicObject>, String> {
        let request: AdmissionRequest<DynamicObject> =
            review.try_into().map_err(|error| format!("{error}"))?;
        let answer = AdmissionResponse::from(&request);
        let [old, new] = [&request.old_object, &request.object].map(|object| object.as_ref().map(config_map));
        let (old, new) = (old.transpose()?, new.transpose()?);
        let is_deleted = request.operation == Operation::Delete;
        let Some(named) = new.as_ref().or(old.as_ref()) else { return Ok(answer.into_review()) };
        let texts = |object: Option<&ConfigMap>| object.map_or_else(Texts::new, texts_of);
        let annotations = new.as_ref().and_then(|of| of.metadata.annotations.as_ref());
        let accepts = annotations.and_then(|all| all.get(ACCEPT)).and_then(|text| text.parse().ok());
        let (object, old_texts) = (name_of(named), texts(old.as_ref()));
        let new_texts = if is_deleted { Texts::new() } else { texts(new.as_ref()) };
        // A status or a label was written, and no text.
        if old_texts == new_texts && !is_deleted && old.is_some() {
            return Ok(answer.into_review());
        }
        let view = self.view().await;
        let change = Changing { object: &object, old: &old_texts, new: &new_texts, accepts, is_deleted };
        let (compiler, state) = (&self.judges.compiler, &self.judges.state);
        let limits = (self.settings.most_waiting, &self.settings.exempt);
        let judged = tokio::task::block_in_place(|| judge(&change, compiler, state, view, limits));
        Ok(answered(answer, judged).into_review())
    }
}

fn answered(answer: AdmissionResponse, judged: Judged) -> AdmissionResponse {
    let mut answer = match judged.refused {
        Some(why) => answer.deny(why),
        None => answer,
    };
    answer.warnings = (!judged.warnings.is_empty()).then_some(judged.warnings);
    answer
}

/// The ConfigMap of a review.
fn config_map(object: &DynamicObject) -> Result<ConfigMap, String> {
    let value = serde_json::to_value(object).map_err(|error| error.to_string())?;
    serde_json::from_value(value).map_err(|error| format!("the object is not a ConfigMap: {error}"))
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    match shared.judges.informers.is_synced() {
        true => text(StatusCode::OK, String::from("ok")),
        false => text(StatusCode::SERVICE_UNAVAILABLE, String::from("the cluster is not read yet\n")),
    }
}

/// The answer to a review, and what it was: `allowed`, `refused`, or `bad`.
async fn answer(shared: &Shared, request: Request) -> (Response, &'static str) {
    let read = axum::body::to_bytes(request.into_body(), BODY);
    let body = match tokio::time::timeout(ARRIVAL, read).await {
        Err(_) => {
            let late = "the body did not arrive in time\n".to_owned();
            return (text(StatusCode::REQUEST_TIMEOUT, late), "bad");
        }
        Ok(Err(error)) => return (text(StatusCode::PAYLOAD_TOO_LARGE, format!("{error}\n")), "bad"),
        Ok(Ok(body)) => body,
    };
    let judged = match serde_json::from_slice(&body) {
        Ok(review) => shared.judged(review).await,
        Err(error) => Err(format!("this is not an AdmissionReview of version 1: {error}")),
    };
    let allowed = judged.as_ref().is_ok_and(|review| review.response.as_ref().is_some_and(|of| of.allowed));
    match judged.and_then(|review| serde_json::to_vec(&review).map_err(|error| error.to_string())) {
        Ok(body) => {
            let mut response = Response::new(Body::from(body));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            (response, if allowed { "allowed" } else { "refused" })
        }
        Err(why) => (text(StatusCode::BAD_REQUEST, format!("{why}\n")), "bad"),
    }
}

async fn policies(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let since = Instant::now();
    let (response, result) = answer(&shared, request).await;
    let metrics = &shared.judges.metrics;
    metrics.admission_reviews.with([result]).inc();
    metrics.admission_duration.with([result]).observe(since.elapsed().as_secs_f64());
    response
}
