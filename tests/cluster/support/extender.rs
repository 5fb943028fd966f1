//! An extender for tests: answers each question with a function of the test, and remembers the questions.

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An answer.
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) after: Duration,
}

impl Said {
    pub(crate) fn json(value: &Value) -> Self {
        Self::text(value.to_string())
    }

    pub(crate) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, body: text.into(), after: Duration::ZERO }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::text("") }
    }

    pub(crate) fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }
}

type Answers = Arc<dyn Fn(&str, &Value) -> Said + Send + Sync>;

#[derive(Clone)]
struct Shared {
    answers: Arc<Mutex<Answers>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

/// A running extender; ends when dropped.
pub(crate) struct FakeExtender {
    shared: Shared,
    port: u16,
    _runtime: tokio::runtime::Runtime,
}

impl FakeExtender {
    /// Starts it with a function from verb and question to answer.
    pub(crate) fn start(answers: impl Fn(&str, &Value) -> Said + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("threads");
        let shared = Shared { answers: Arc::new(Mutex::new(Arc::new(answers))), asked: Arc::default() };
        let state = shared.clone();
        let port = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
            let port = listener.local_addr().expect("its number").port();
            let service = axum::Router::new().fallback(answer).with_state(state);
            tokio::spawn(async move { axum::serve(listener, service).await });
            port
        });
        Self { shared, port, _runtime: runtime }
    }

    /// Answers otherwise from now on.
    pub(crate) fn answers(&self, answers: impl Fn(&str, &Value) -> Said + Send + Sync + 'static) {
        *self.shared.answers.lock().unwrap() = Arc::new(answers);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/scheduler/", self.port)
    }

    /// The questions with this verb about the pod of this name.
    pub(crate) fn asked(&self, verb: &str, pod: &str) -> Vec<Value> {
        let asked = self.shared.asked.lock().unwrap();
        let about =
            |question: &Value| question["Pod"]["metadata"]["name"] == pod || question["PodName"] == pod;
        asked
            .iter()
            .filter(|(of, question)| of == verb && about(question))
            .map(|(_, it)| it.clone())
            .collect()
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let verb = request.uri().path().trim_start_matches("/scheduler/").to_owned();
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.expect("a body");
    let question: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    shared.asked.lock().unwrap().push((verb.clone(), question.clone()));
    let answers = Arc::clone(&shared.answers.lock().unwrap());
    // It may call the API server, which blocks.
    let said = tokio::task::spawn_blocking(move || answers(&verb, &question)).await.expect("an answer");
    tokio::time::sleep(said.after).await;
    Response::builder().status(said.status).body(axum::body::Body::from(said.body)).expect("a response")
}

/// The names of the nodes of a question.
pub(crate) fn names(question: &Value) -> Vec<String> {
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match &question["NodeNames"] {
        Value::Array(names) => names.iter().map(of).collect(),
        _ => {
            let items = question["Nodes"]["items"].as_array().cloned().unwrap_or_default();
            items.iter().map(|node| of(&node["metadata"]["name"])).collect()
        }
    }
}

/// An answer that leaves these nodes.
pub(crate) fn leaves(names: &[String]) -> Said {
    Said::json(&json!({"NodeNames": names}))
}
