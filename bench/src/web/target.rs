//! An endpoint on loopback that answers every request at once, or never.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// An endpoint, served by a thread of its own until the process ends.
pub(super) struct Endpoint(SocketAddr);

impl Endpoint {
    /// One that answers every request without a body at once.
    pub(super) fn prompt() -> anyhow::Result<Self> {
        Self::served_by(|stream| async move {
            // A peer that hangs up ends its connection and nothing else.
            let _ = answer(stream).await;
        })
    }

    /// One that takes every connection and says nothing.
    pub(super) fn hanging() -> anyhow::Result<Self> {
        Self::served_by(|stream| async move {
            std::future::pending::<()>().await;
            drop(stream);
        })
    }

    fn served_by<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> anyhow::Result<Self>
    where
        F: Future<Output = ()> + 'static,
    {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, async move {
                let listener = TcpListener::from_std(listener)?;
                loop {
                    let (stream, _) = listener.accept().await?;
                    stream.set_nodelay(true)?;
                    tokio::task::spawn_local(serve(stream));
                }
                #[expect(unreachable_code, reason = "says what an early end is")]
                Ok::<(), std::io::Error>(())
            })
        });
        Ok(Self(address))
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.0)
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut read = Vec::with_capacity(4_096);
    loop {
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(());
        }
        let mut answers = 0;
        while let Some(end) = read.windows(4).position(|window| window == END_OF_HEAD) {
            read.drain(..end + END_OF_HEAD.len());
            answers += 1;
        }
        for _ in 0..answers {
            stream.write_all(ANSWER).await?;
        }
    }
}
