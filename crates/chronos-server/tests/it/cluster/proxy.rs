//! A way to the database that can be cut, while everything else goes on.

use std::net::SocketAddr;
use std::path::PathBuf;

use chronos_pgtest::Cluster;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// How the way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Open,
    /// Nothing gets through, and nobody is told.
    Silent,
    /// Whoever is on it is thrown off, and nobody gets on.
    Broken,
}

/// A port of this machine that leads to a cluster.
pub(super) struct Proxy {
    address: SocketAddr,
    way: watch::Sender<Way>,
}

impl Proxy {
    pub(super) async fn to(cluster: &Cluster) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (way, seen) = watch::channel(Way::Open);
        let socket = cluster.directory().join(".s.PGSQL.5432");
        tokio::spawn(serve(listener, socket, seen));
        Self { address, way }
    }

    /// The address of a database at its end.
    pub(super) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}/{database}", self.address)
    }

    /// Lets nothing through, without a word.
    pub(super) fn cut(&self) {
        self.way.send_replace(Way::Silent);
    }

    /// Ends every connection and takes no new ones.
    pub(super) fn tear(&self) {
        self.way.send_replace(Way::Broken);
    }

    pub(super) fn mend(&self) {
        self.way.send_replace(Way::Open);
    }
}

async fn serve(listener: TcpListener, socket: PathBuf, way: watch::Receiver<Way>) {
    while let Ok((client, _)) = listener.accept().await {
        if *way.borrow() != Way::Broken {
            tokio::spawn(connect(client, socket.clone(), way.clone()));
        }
    }
}

async fn connect(client: TcpStream, socket: PathBuf, mut way: watch::Receiver<Way>) {
    if way.wait_for(|way| *way != Way::Silent).await.is_err() {
        return;
    }
    let Ok(server) = UnixStream::connect(socket).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (there, back) = (way.clone(), way.clone());
    tokio::select! {
        () = carry(from_client, to_server, there) => {}
        () = carry(from_server, to_client, back) => {}
        _ = way.wait_for(|way| *way == Way::Broken) => {}
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut way: watch::Receiver<Way>,
) {
    let mut bytes = vec![0; 16_384];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let is_open = way.wait_for(|way| *way == Way::Open).await.is_ok();
        if !is_open || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
