//! A port on which other components ask: at an address or a socket, with TLS or without, where a client certificate may be
//! wanted. kube-scheduler asks `extender::server`, the API server `admission::server`.

use super::connections;
use super::listen::{Listen, Listener};
use super::tls::{self, CertificateError, CurrentTls};
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where questions are received, and from whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where.
    pub at: Listen,
    /// Certificate and key for HTTPS; `None`: HTTP.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The authorities of client certificates, one of which every question must show.
    pub client_authority: Option<PathBuf>,
}

/// Why questions cannot be received.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {at}: {why}")]
    Listen {
        /// The place.
        at: Listen,
        /// The system's message.
        why: std::io::Error,
    },
    /// Certificate, key or authorities cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// How often the files of certificates are read again.
const LOOK: Duration = Duration::from_secs(5);

/// A bound port or socket.
pub(crate) struct Port {
    listener: Listener,
    tls: Option<Arc<CurrentTls>>,
    certified: bool,
}

impl Port {
    /// Binds the port, or makes the socket.
    pub(crate) async fn bind(settings: &Settings) -> Result<Self, ServerError> {
        let tls = match &settings.certificate {
            Some(certificate) => Some(Arc::new(CurrentTls::load(&tls::Settings {
                certificate: Some(certificate.clone()),
                client_authority: settings.client_authority.clone(),
                ..tls::Settings::default()
            })?)),
            None => None,
        };
        let failed = |why| ServerError::Listen { at: settings.at.clone(), why };
        let listener = Listener::bind(&settings.at).await.map_err(failed)?;
        Ok(Self { listener, tls, certified: settings.client_authority.is_some() })
    }

    /// The bound port.
    pub(crate) fn port(&self) -> Option<u16> {
        self.listener.port()
    }

    /// Answers questions until the process ends. A certificate is replaced while connections are open.
    pub(crate) async fn serve(self, app: Router) {
        let tls = self.tls.clone();
        let reload = async {
            match &self.tls {
                Some(tls) => tls.reload(LOOK).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = accept(&self.listener, tls, self.certified, app) => {}
            () = reload => {}
        }
    }
}

async fn accept(listener: &Listener, tls: Option<Arc<CurrentTls>>, certified: bool, app: Router) {
    connections::accept(
        || listener.accept(),
        |connection, stream| {
            let (tls, app) = (tls.clone(), app.clone());
            async move {
                let Some(tls) = tls else {
                    return connection.within(connection.serve(stream, app)).await;
                };
                let secure = async {
                    let Ok(stream) = tls.acceptor().accept(stream).await else { return };
                    // A certificate was verified if one was shown.
                    let shown = stream.get_ref().1.peer_certificates().is_some_and(|chain| tls.trusts(chain));
                    let app = if certified && !shown { refusing() } else { app };
                    connection.serve(stream, app).await;
                };
                connection.within(secure).await;
            }
        },
    )
    .await;
}

/// Answers clients without a certificate.
fn refusing() -> Router {
    Router::new().fallback(|| async {
        text(StatusCode::UNAUTHORIZED, String::from("a client certificate is required\n"))
    })
}

/// An answer in words.
pub(crate) fn text(status: StatusCode, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
}
