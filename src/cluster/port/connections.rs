//! How long connections to the secure port may wait for their client, and how many there may be. A
//! client that opens connections and sends nothing costs little memory and keeps no other client out.
//! `serve` admits each connection here.
//!
//! `axum-server` bounds the handshake and the first request, but not the number of connections, and closes none to admit
//! another. So the loop that accepts is ours too.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io::IoSlice;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Limits on connections. Upstream's are those of `apiserver/pkg/server/secure_serving.go`, which
/// has none on their number.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For the TLS handshake.
    pub handshake: Duration,
    /// For the head of a request, from its first byte; of the first request, from the handshake.
    pub head: Duration,
    /// Between requests, and while the client takes nothing of a response.
    pub idle: Duration,
    /// Maximum number of connections.
    pub most: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(32),
            idle: Duration::from_secs(90),
            most: 200,
        }
    }
}

/// Maximum length of the head of a request, in bytes.
const HEAD: usize = 64 * 1024;

/// The open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: Limits,
    open: Mutex<Vec<Weak<Connection>>>,
}

impl Connections {
    /// No connection is open.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, open: Mutex::default() }
    }

    /// Admits a connection. If there are too many, the one that has waited longest for its client
    /// is closed; if none waits, the new one is refused.
    pub(crate) fn admit(&self) -> Option<Arc<Connection>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|it| it.strong_count() > 0);
        if open.len() >= self.limits.most {
            let waiting =
                open.iter().enumerate().filter_map(|(at, it)| Some((it.upgrade()?.waits_since()?, at)));
            let (_, at) = waiting.min()?;
            if let Some(longest) = open.swap_remove(at).upgrade() {
                longest.close();
            }
        }
        let state = State { phase: Phase::Handshake, since: Instant::now(), closed: false };
        let connection =
            Arc::new(Connection { limits: self.limits, state: Mutex::new(state), changed: Notify::new() });
        open.push(Arc::downgrade(&connection));
        Some(connection)
    }
}

/// Accepts connections until the process ends; `serve` serves one. A panic ends its connection alone.
pub(crate) async fn accept<S, A, F>(next: impl Fn() -> A, serve: impl Fn(Arc<Connection>, S) -> F)
where
    A: Future<Output = std::io::Result<S>>,
    F: Future<Output = ()> + Send + 'static,
{
    let connections = Connections::new(Limits::default());
    let mut open: FuturesUnordered<BoxFuture<'static, ()>> = FuturesUnordered::new();
    loop {
        let accepted = tokio::select! {
            accepted = next() => accepted,
            Some(()) = open.next() => continue,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                // Usually out of file descriptors; other connections end soon.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Some(connection) = connections.admit() else { continue };
        open.push(AssertUnwindSafe(serve(connection, stream)).catch_unwind().map(drop).boxed());
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    limits: Limits,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// When the phase began, or when the client last took a part of a response.
    since: Instant,
    closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Handshake,
    /// The head of a request is incomplete.
    Head,
    /// We are making a response.
    Busy,
    /// The response is on its way, or the next request has not begun.
    Idle,
}

impl Connection {
    /// Runs the connection until it ends, a limit of time is reached, or it gives way to another.
    pub(crate) async fn within(&self, connection: impl Future<Output = ()>) {
        tokio::select! {
            () = connection => {}
            () = self.expired() => {}
        }
    }

    /// Answers requests with `app`.
    pub(crate) async fn serve<S>(self: &Arc<Self>, stream: S, app: Router)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        self.enter(Phase::Head);
        let of_request = Arc::clone(self);
        let app = app.layer(from_fn(move |request: Request, next: Next| {
            let connection = Arc::clone(&of_request);
            async move {
                connection.enter(Phase::Busy);
                let response = next.run(request).await;
                connection.enter(Phase::Idle);
                response
            }
        }));
        let io = TokioIo::new(Observed { stream, connection: Arc::clone(self) });
        let mut server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new()).http1_only();
        // The limits of time are those of this file.
        server.http1().header_read_timeout(None).max_buf_size(HEAD);
        // A client may break its connection at any time.
        let _ = server.serve_connection(io, TowerToHyperService::new(app)).await;
    }

    /// Returns when the client has let us wait too long.
    async fn expired(&self) {
        loop {
            let changed = self.changed.notified();
            let deadline = {
                let state = self.state();
                if state.closed {
                    return;
                }
                let limit = match state.phase {
                    Phase::Handshake => Some(self.limits.handshake),
                    Phase::Head => Some(self.limits.head),
                    Phase::Idle => Some(self.limits.idle),
                    Phase::Busy => None,
                };
                limit.map(|limit| state.since + limit)
            };
            match deadline {
                Some(deadline) if deadline <= Instant::now() => return,
                Some(deadline) => {
                    let _ = tokio::time::timeout_at(deadline, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// Since when it waits for its client.
    fn waits_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.phase != Phase::Busy).then_some(state.since)
    }

    fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    fn enter(&self, phase: Phase) {
        let mut state = self.state();
        (state.phase, state.since) = (phase, Instant::now());
        drop(state);
        self.changed.notify_one();
    }

    fn read(&self) {
        // Further bytes of a head do not extend its time.
        if self.state().phase == Phase::Idle {
            self.enter(Phase::Head);
        }
    }

    fn written(&self) {
        let mut state = self.state();
        if state.phase == Phase::Idle {
            state.since = Instant::now();
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that tells its connection what moves.
struct Observed<S> {
    stream: S,
    connection: Arc<Connection>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Observed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if buffer.filled().len() > before {
            self.connection.read();
        }
        Poll::Ready(result)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Observed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.connection.written();
        Poll::Ready(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, bytes));
        self.connection.written();
        Poll::Ready(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    const MOMENT: Duration = Duration::from_millis(50);

    /// Limits for tests: the time for a head is much shorter than the idle time.
    fn limits() -> Limits {
        Limits { handshake: MOMENT * 2, head: MOMENT * 4, idle: MOMENT * 16, most: 2 }
    }

    fn open(connections: &Connections) -> Option<DuplexStream> {
        let connection = connections.admit()?;
        let (client, server) = tokio::io::duplex(1_024);
        let slow = async || {
            tokio::time::sleep(MOMENT * 24).await;
            "done"
        };
        let app = Router::new().route("/", get(async || "ok")).route("/slow", get(slow));
        tokio::spawn(async move { connection.within(connection.serve(server, app)).await });
        Some(client)
    }

    async fn ask(client: &mut DuplexStream, path: &str) -> String {
        client.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
        let mut bytes = [0; 1_024];
        let read = client.read(&mut bytes).await.unwrap();
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }

    /// How long the connection stays open while the client sends a byte now and then.
    async fn ends_after(client: &mut DuplexStream, trickle: bool) -> Duration {
        let since = Instant::now();
        let mut byte = [0];
        loop {
            if trickle && client.write_all(b"a").await.is_err() {
                return since.elapsed();
            }
            match tokio::time::timeout(MOMENT / 2, client.read(&mut byte)).await {
                Ok(_) => return since.elapsed(),
                Err(_) => assert!(since.elapsed() < MOMENT * 100, "it stays open"),
            }
        }
    }

    #[tokio::test]
    async fn a_client_that_sends_no_request_is_dropped() {
        let connections = Connections::new(limits());
        for trickle in [false, true] {
            let mut client = open(&connections).unwrap();
            let took = ends_after(&mut client, trickle).await;
            assert!(took >= MOMENT * 3 && took < MOMENT * 12, "{took:?}");
        }
    }

    #[tokio::test]
    async fn between_requests_the_idle_time_counts_and_within_a_head_its_own() {
        let connections = Connections::new(limits());
        let mut client = open(&connections).unwrap();
        assert!(ask(&mut client, "/").await.starts_with("HTTP/1.1 200"));
        tokio::time::sleep(MOMENT * 8).await;
        assert!(ask(&mut client, "/").await.starts_with("HTTP/1.1 200"), "longer than a head may take");
        tokio::time::sleep(MOMENT * 8).await;
        let took = ends_after(&mut client, true).await;
        assert!(took < MOMENT * 7, "the next head has begun: {took:?}");
        let mut client = open(&connections).unwrap();
        ask(&mut client, "/").await;
        let took = ends_after(&mut client, false).await;
        assert!(took >= MOMENT * 15, "{took:?}");
    }

    #[tokio::test]
    async fn a_response_in_the_making_is_not_interrupted() {
        let connections = Connections::new(limits());
        let mut busy = open(&connections).unwrap();
        let mut also = open(&connections).unwrap();
        let (first, second) = tokio::join!(ask(&mut busy, "/slow"), async {
            let asked = tokio::spawn(async move { ask(&mut also, "/slow").await });
            tokio::time::sleep(MOMENT * 2).await;
            assert!(open(&connections).is_none(), "no connection waits for its client");
            asked.await.unwrap()
        });
        assert!(first.ends_with("done") && second.ends_with("done"), "{first} {second}");
    }

    #[tokio::test]
    async fn the_connection_that_waits_longest_gives_way() {
        let connections = Connections::new(limits());
        let mut first = open(&connections).unwrap();
        tokio::time::sleep(MOMENT / 5).await;
        let mut second = open(&connections).unwrap();
        tokio::time::sleep(MOMENT / 5).await;
        let mut third = open(&connections).unwrap();
        assert!(ends_after(&mut first, false).await < MOMENT * 3);
        for client in [&mut second, &mut third] {
            assert!(ask(client, "/").await.starts_with("HTTP/1.1 200"));
        }
    }

    #[tokio::test]
    async fn a_handshake_has_a_limit() {
        let connections = Connections::new(limits());
        let connection = connections.admit().unwrap();
        let since = Instant::now();
        connection.within(std::future::pending()).await;
        assert!(since.elapsed() >= MOMENT * 2 && since.elapsed() < MOMENT * 10);
        drop(connection);
        assert_eq!(connections.open.lock().unwrap()[0].strong_count(), 0);
    }
}
