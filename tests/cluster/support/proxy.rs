//! A TCP proxy on 127.0.0.1 before an API server or an etcd, which simulates network faults:
//! connections that break in the middle of a watch, hang, are slow, or are refused. It passes TLS
//! through unread; the API server's certificate is valid for any port of 127.0.0.1.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A running proxy. When dropped, it breaks its connections and refuses new ones.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    open: Mutex<Vec<TcpStream>>,
    connections: AtomicU64,
    refusing: AtomicBool,
    hanging: AtomicBool,
    delay_ms: AtomicU64,
    closed: AtomicBool,
}

impl Proxy {
    /// Passes on all connections to a port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// If the machine has no free port.
    pub(crate) fn start(to: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("its number").port();
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, to, &for_thread));
        Self { port, shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// `https://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Breaks all open connections; new ones work.
    pub(crate) fn cut(&self) {
        for stream in self.shared.streams().drain(..) {
            // The connection may have ended already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Whether new connections are closed at once; open ones continue.
    pub(crate) fn refuse(&self, refuse: bool) {
        self.shared.refusing.store(refuse, Ordering::Relaxed);
    }

    /// Whether all connections stay open without carrying data. The data follows afterwards.
    pub(crate) fn hang(&self, hang: bool) {
        self.shared.hanging.store(hang, Ordering::Relaxed);
    }

    /// The delay of each piece of data, in both directions.
    pub(crate) fn delay(&self, delay: Duration) {
        self.shared.delay_ms.store(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Number of connections so far.
    pub(crate) fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.cut();
        // Wakes the accepting thread, so that it ends.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn streams(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

fn accept(listener: &TcpListener, to: u16, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.is_closed() {
            return;
        }
        if shared.refusing.load(Ordering::Relaxed) {
            continue;
        }
        // If the client or the server is gone, dropping the connection closes it.
        let Ok(client) = client else { continue };
        let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { continue };
        // Small pieces are sent at once, as the two ends do.
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        // Under the lock, so that `cut` breaks every counted connection.
        let mut open = shared.streams();
        carry(&client, &server, shared);
        carry(&server, &client, shared);
        open.retain(|ended| ended.peer_addr().is_ok());
        open.extend([client, server]);
        shared.connections.fetch_add(1, Ordering::Relaxed);
    }
}

/// Carries one direction in a thread, until either end closes or the connection is cut.
fn carry(from: &TcpStream, to: &TcpStream, shared: &Arc<Shared>) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            std::thread::sleep(Duration::from_millis(shared.delay_ms.load(Ordering::Relaxed)));
            while shared.hanging.load(Ordering::Relaxed) && !shared.is_closed() {
                std::thread::sleep(Duration::from_millis(5));
            }
            if to.write_all(&piece[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}
