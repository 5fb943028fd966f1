//! A metrics API for tests, behind the API server's aggregation layer: an HTTPS server on 127.0.0.1, and the objects
//! that make the API server pass `/apis/metrics.k8s.io` on to it. It says what the test wants, hangs, or refuses.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const GROUP: &str = "metrics.k8s.io";

/// What the API does.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    /// What nodes use: name, CPU, memory.
    Nodes(Vec<(String, String, String)>),
    /// Nothing, for ever: it accepts connections and does not answer.
    Hang,
    /// It is out of order.
    Fail,
}

#[derive(Default)]
struct Shared {
    says: Mutex<Option<Says>>,
    asked: AtomicUsize,
}

/// A running metrics API; ends when dropped.
pub(crate) struct MetricsApi {
    shared: Arc<Shared>,
    port: u16,
    _runtime: tokio::runtime::Runtime,
}

impl MetricsApi {
    /// Starts it.
    pub(crate) fn start(says: Says) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("threads");
        let shared = Arc::new(Shared { says: Mutex::new(Some(says)), ..Shared::default() });
        let certified =
            rcgen::generate_simple_self_signed([String::from("localhost")]).expect("a certificate");
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key.into())
            .expect("a certificate with its key");
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let state = Arc::clone(&shared);
        let port = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
            let port = listener.local_addr().expect("its number").port();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (acceptor, state) = (acceptor.clone(), Arc::clone(&state));
                    tokio::spawn(async move {
                        if let Ok(stream) = acceptor.accept(stream).await {
                            // The other side may go away.
                            let _ = serve(stream, &state).await;
                        }
                    });
                }
            });
            port
        });
        Self { shared, port, _runtime: runtime }
    }

    /// Says something else from now on.
    pub(crate) fn says(&self, says: Says) {
        *self.shared.says.lock().unwrap() = Some(says);
    }

    /// How often it was asked for the metrics of the nodes.
    pub(crate) fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }

    /// The objects that put it behind the API server.
    pub(crate) fn objects(&self, namespace: &str) -> Vec<Value> {
        vec![
            // The API server takes such a name as it is. Addresses of 127.0.0.1 are refused in endpoints.
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "metrics-api", "namespace": namespace},
                "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": self.port}]},
            }),
            json!({
                "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                "metadata": {"name": format!("v1beta1.{GROUP}")},
                "spec": {
                    "group": GROUP, "version": "v1beta1", "insecureSkipTLSVerify": true,
                    "groupPriorityMinimum": 100, "versionPriority": 100,
                    "service": {"name": "metrics-api", "namespace": namespace, "port": self.port},
                },
            }),
        ]
    }
}

/// Answers the requests of a connection.
async fn serve(
    mut stream: tokio_rustls::server::TlsStream<tokio::net::TcpStream>,
    shared: &Shared,
) -> std::io::Result<()> {
    let mut read = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            let mut more = [0; 4_096];
            match stream.read(&mut more).await? {
                0 => return Ok(()),
                count => read.extend_from_slice(&more[..count]),
            }
        };
        let head = String::from_utf8_lossy(&read[..end]).into_owned();
        read.drain(..end);
        let path =
            head.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
        let (status, body) = answer(&path, shared).await;
        let text = format!(
            "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).await?;
        stream.flush().await?;
    }
}

async fn answer(path: &str, shared: &Shared) -> (u16, String) {
    let root = format!("/apis/{GROUP}/v1beta1");
    let of_nodes = *path == *format!("{root}/nodes");
    if of_nodes {
        shared.asked.fetch_add(1, Ordering::SeqCst);
    }
    let says = shared.says.lock().unwrap().clone();
    match says {
        // Discovery goes on, as that of a server whose sources hang does.
        Some(Says::Hang) if of_nodes => {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            (500, String::new())
        }
        Some(Says::Fail) => {
            (503, json!({"kind": "Status", "code": 503, "message": "no metrics"}).to_string())
        }
        Some(Says::Nodes(nodes)) if of_nodes => (200, list(&nodes).to_string()),
        _ if *path == *root => {
            let resource = json!({"name": "nodes", "singularName": "", "namespaced": false, "kind": "NodeMetrics", "verbs": ["get", "list"]});
            let list = json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{GROUP}/v1beta1"), "resources": [resource]});
            (200, list.to_string())
        }
        _ => (404, json!({"kind": "Status", "code": 404, "message": "no such path"}).to_string()),
    }
}

/// What metrics-server would say now.
fn list(nodes: &[(String, String, String)]) -> Value {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let item = |(name, cpu, memory): &(String, String, String)| {
        json!({
            "metadata": {"name": name, "creationTimestamp": now}, "timestamp": now, "window": "15s",
            "usage": BTreeMap::from([("cpu", cpu), ("memory", memory)]),
        })
    };
    let items: Vec<Value> = nodes.iter().map(item).collect();
    json!({"kind": "NodeMetricsList", "apiVersion": format!("{GROUP}/v1beta1"), "metadata": {}, "items": items})
}
