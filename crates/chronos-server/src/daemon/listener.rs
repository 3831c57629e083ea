//! The listener: accepts connections within limits, and closes them in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tracing::{debug, warn};

use super::Limits;
use crate::auth::Peer;

/// After an error of the machine, such as too many open files, accepting goes on this much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Header lines of an HTTP/1 request.
const MAX_HEADERS: usize = 100;
/// Streams that a peer opens and resets before they are looked at; more end the connection.
const PENDING_RESETS: usize = 20;
/// Bytes waiting to be sent on one stream; a slow reader gets no more memory than this.
const SEND_BUFFER: usize = 64 * 1024;

/// Serves connections until it is closed.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    /// Asks connections to end.
    closing: CancellationToken,
    accepting: JoinHandle<JoinSet<()>>,
}

impl Server {
    pub(super) fn start(bound: TcpListener, routes: Router, limits: &Limits) -> io::Result<Self> {
        let address = bound.local_addr()?;
        let closing = CancellationToken::new();
        let connection = Connection {
            builder: Arc::new(builder(limits)),
            routes,
            closing: closing.clone(),
            idle_timeout: limits.idle_timeout,
        };
        let accepting = tokio::spawn(accept(bound, connection, limits.connections));
        Ok(Self { address, closing, accepting })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting, lets every connection finish what it is at, and cuts those off that take
    /// longer than `patience`. Says how many that were.
    pub(super) async fn close(self, patience: Duration) -> usize {
        self.closing.cancel();
        let Ok(mut connections) = self.accepting.await else {
            warn!("The listener ended before it was asked to");
            return 0;
        };
        let ended = async { while connections.join_next().await.is_some() {} };
        // What is left is cut off when the set is dropped.
        let _ = tokio::time::timeout(patience, ended).await;
        connections.len()
    }
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    let buffer = usize::try_from(limits.header_bytes).unwrap_or(usize::MAX).max(8 * 1024);
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_timeout)
        .max_headers(MAX_HEADERS)
        .max_buf_size(buffer);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.keep_alive)
        .keep_alive_timeout(limits.keep_alive)
        .max_concurrent_streams(limits.requests_per_connection)
        .max_header_list_size(limits.header_bytes)
        .max_pending_accept_reset_streams(PENDING_RESETS)
        .max_send_buf_size(SEND_BUFFER);
    builder
}

async fn accept(bound: TcpListener, connection: Connection, most: usize) -> JoinSet<()> {
    let places = Arc::new(Semaphore::new(most));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = connection.closing.cancelled() => return connections,
            Some(_) = connections.join_next() => continue,
            accepted = bound.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "Connection not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if let Ok(place) = places.clone().try_acquire_owned() {
            connections.spawn(connection.clone().serve(stream, peer, place));
        } else {
            // Closed at once, which tells more than a wait without end.
            warn!(%peer, most, "Connection closed: there are too many");
        }
    }
}

/// What every connection needs.
#[derive(Clone)]
struct Connection {
    builder: Arc<Builder<TokioExecutor>>,
    routes: Router,
    closing: CancellationToken,
    idle_timeout: Duration,
}

impl Connection {
    async fn serve(self, stream: TcpStream, peer: SocketAddr, _place: OwnedSemaphorePermit) {
        // Small answers must not wait for each other; a connection that is gone says so below.
        let _ = stream.set_nodelay(true);
        let asked = CancellationToken::new();
        let noted = asked.clone();
        let routes = self.routes.map_request(move |mut request: Request<_>| {
            noted.cancel();
            request.extensions_mut().insert(Peer(peer.ip()));
            request
        });
        let io = TokioIo::new(stream);
        let served = self.builder.serve_connection(io, TowerToHyperService::new(routes));
        let mut served = std::pin::pin!(served);
        let mut silent = std::pin::pin!(silent(asked, self.idle_timeout));
        let mut closing = false;
        loop {
            tokio::select! {
                ended = served.as_mut() => {
                    if let Err(error) = ended {
                        debug!(error, "Connection ended with an error");
                    }
                    return;
                }
                () = silent.as_mut() => {
                    debug!("Connection closed: it asked for nothing");
                    return;
                }
                () = self.closing.cancelled(), if !closing => {
                    closing = true;
                    served.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Returns when nothing has been asked for in time, and never if something has.
async fn silent(asked: CancellationToken, patience: Duration) {
    if tokio::time::timeout(patience, asked.cancelled()).await.is_ok() {
        std::future::pending::<()>().await;
    }
}
