//! [`Session`]: port, watches and desk, until a signal ends the process. Everything runs on the caller's thread; the thread
//! that computes is the caller's, too.

use super::desk::Desk;
use super::follower::Follower;
use super::server::{Page, ServeError, Server};
use crate::api::client::Api;
use crate::inputs::list::{ListError, Options, reach};
use crate::process::run::stop_signal;
use futures::FutureExt;
use futures::future::{BoxFuture, pending};
use tokio::runtime::Runtime;

/// What is served.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The port; 0: a free one.
    pub port: u16,
    /// The page.
    pub page: Page,
    /// The cluster that is followed; `None`: documents are made of files.
    pub cluster: Option<Options>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The cluster cannot be read.
    #[error(transparent)]
    Cluster(#[from] ListError),
    /// The port cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// How a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// SIGINT or SIGTERM came.
    BySignal,
    /// The desk was closed.
    Closed,
}

/// A port, a followed cluster, and a desk.
pub struct Session {
    runtime: Runtime,
    server: Server,
    page: Page,
    desk: Desk,
    follower: Option<Follower>,
    following: BoxFuture<'static, ()>,
    /// SIGINT or SIGTERM; from here on they end the process in order.
    stop: BoxFuture<'static, ()>,
}

impl Session {
    /// Binds the port, and reads the cluster once.
    ///
    /// # Errors
    /// If the port cannot be bound, or a part of the cluster cannot be read without which nothing can be decided.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let Settings { port, page, cluster } = settings;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ListError::System)?;
        let desk = Desk::new();
        let (server, follower, following, stop) = runtime.block_on(async {
            let server = Server::bind(port).await?;
            let stop = || stop_signal().map(FutureExt::boxed).map_err(ListError::System);
            let Some(options) = cluster else { return Ok((server, None, pending().boxed(), stop()?)) };
            let api = Api::new(&options.target).await.map_err(ListError::Connect)?;
            reach(&api).await?;
            let (follower, mut following) = Follower::new(&api, options, desk.clone());
            tokio::select! {
                () = &mut following => {}
                ready = follower.ready() => ready?,
            }
            Ok::<_, OpenError>((server, Some(follower), following, stop()?))
        })?;
        Ok(Self { runtime, server, page, desk, follower, following, stop })
    }

    /// Where the page is, with the secret.
    pub fn address(&self) -> String {
        self.server.address()
    }

    /// Where the thread that computes finds its work.
    pub fn desk(&self) -> Desk {
        self.desk.clone()
    }

    /// The cluster that is followed.
    pub fn follower(&self) -> Option<Follower> {
        self.follower.clone()
    }

    /// Follows the cluster until the thread that computes has read everything once, or closed the desk. Returns whether it
    /// is ready.
    pub fn started(&mut self) -> bool {
        let Self { runtime, desk, following, stop, .. } = self;
        runtime.block_on(async {
            let mut news = desk.subscribe();
            let ready = async {
                loop {
                    if let Some(ready) = desk.is_ready() {
                        return ready;
                    }
                    if news.changed().await.is_err() {
                        return false;
                    }
                }
            };
            tokio::select! {
                ready = ready => ready,
                () = following => false,
                () = stop => false,
            }
        })
    }

    /// Serves until SIGINT or SIGTERM, or until the desk is closed.
    pub fn serve(self) -> Ended {
        let Self { runtime, server, page, desk, follower, following, stop } = self;
        let ended = runtime.block_on(async {
            let mut news = desk.subscribe();
            let closed = async { while !desk.is_closed() && news.changed().await.is_ok() {} };
            tokio::select! {
                () = stop => Ended::BySignal,
                () = closed => Ended::Closed,
                () = server.serve(page, desk.clone(), follower) => Ended::Closed,
                () = following => Ended::Closed,
            }
        });
        desk.close();
        runtime.shutdown_background();
        ended
    }
}
