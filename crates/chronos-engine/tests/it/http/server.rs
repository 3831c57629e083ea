//! An HTTP endpoint on loopback that answers as it is told, byte by byte.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A request as it came in.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Which connection it came by, from 1.
    pub(super) connection: usize,
    /// Everything up to the empty line.
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    /// The values of a header, in order.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        let pairs = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let named = pairs.filter(|(given, _)| given.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value).collect()
    }

    /// The value of a header that is there once.
    pub(super) fn header(&self, name: &str) -> &str {
        let all = self.all(name);
        assert_eq!(all.len(), 1, "{name} in {}", self.head);
        all[0]
    }
}

/// What the endpoint does with a request.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// Writes this and waits for the next request.
    Bytes(Vec<u8>),
    /// Writes this and closes the connection.
    Last(Vec<u8>),
    /// Writes this, then this piece again and again, with pauses if any, for as long as it can.
    Endless(Vec<u8>, Vec<u8>, Duration),
    /// Waits until this many requests have come, then writes this and waits for the next one.
    Together(usize, Vec<u8>),
    /// Says nothing and waits.
    Silence,
}

impl Answer {
    /// This status without a body, with these further lines in its head.
    pub(super) fn status(status: u16, lines: &str) -> Self {
        Self::Bytes(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n{lines}\r\n").into())
    }

    /// 200 with this body.
    pub(super) fn ok(body: &str) -> Self {
        let length = body.len();
        Self::Bytes(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}").into())
    }
}

type Script = Arc<dyn Fn(usize) -> Answer + Send + Sync>;

/// What has happened so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) requests: Vec<Request>,
    /// Bytes written by endless answers.
    pub(super) written: usize,
    /// Connections that the client has closed.
    pub(super) closed: usize,
}

pub(super) struct Server {
    pub(super) address: SocketAddr,
    seen: watch::Receiver<Seen>,
    accepting: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Server {
    /// An endpoint that gives this answer to every request.
    pub(super) async fn answering(answer: Answer) -> Self {
        Self::scripted(move |_| answer.clone()).await
    }

    /// An endpoint that gives these answers in turn, and then the last of them for ever.
    pub(super) async fn in_turn(answers: Vec<Answer>) -> Self {
        Self::scripted(move |number| answers[(number - 1).min(answers.len() - 1)].clone()).await
    }

    /// An endpoint that answers so many requests at a time, once all of them are there.
    pub(super) async fn in_waves(size: usize) -> Self {
        let bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        Self::scripted(move |number| {
            Answer::Together(number.next_multiple_of(size), bytes.to_vec())
        })
        .await
    }

    /// An endpoint that answers each request by its number, from 1.
    async fn scripted(script: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, seen) = watch::channel(Seen::default());
        let tell = Arc::new(Mutex::new(tell));
        let script: Script = Arc::new(script);
        let accepting = tokio::spawn(async move {
            for connection in 1.. {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, connection, script.clone(), tell.clone()));
            }
        });
        Self { address, seen, accepting }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Waits until this is so.
    pub(super) async fn until(&self, is_so: impl FnMut(&Seen) -> bool) {
        let mut seen = self.seen.clone();
        let waited = tokio::time::timeout(Duration::from_secs(20), seen.wait_for(is_so)).await;
        assert!(matches!(waited, Ok(Ok(_))), "{:?}", self.seen());
    }
}

type Tell = Arc<Mutex<watch::Sender<Seen>>>;

fn tell(to: &Tell, note: impl FnOnce(&mut Seen)) {
    to.lock().unwrap().send_modify(note);
}

async fn serve(mut stream: TcpStream, connection: usize, script: Script, seen: Tell) {
    while let Some(request) = read(&mut stream, connection).await {
        let mut number = 0;
        tell(&seen, |seen| {
            seen.requests.push(request);
            number = seen.requests.len();
        });
        match script(number) {
            Answer::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    break;
                }
            }
            Answer::Last(bytes) => {
                let _ = stream.write_all(&bytes).await;
                return;
            }
            Answer::Endless(head, piece, pause) => {
                let mut went = stream.write_all(&head).await;
                while went.is_ok() {
                    tell(&seen, |seen| seen.written += piece.len());
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                    went = stream.write_all(&piece).await;
                }
                break;
            }
            Answer::Together(count, bytes) => {
                let mut so_far = seen.lock().unwrap().subscribe();
                let all_came = so_far.wait_for(|seen| seen.requests.len() >= count).await.is_ok();
                if !all_came || stream.write_all(&bytes).await.is_err() {
                    break;
                }
            }
            Answer::Silence => {}
        }
    }
    tell(&seen, |seen| seen.closed += 1);
}

/// The next request; `None` when the client is gone.
async fn read(stream: &mut TcpStream, connection: usize) -> Option<Request> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(bytes).unwrap();
    let mut request = Request { connection, head, body: Vec::new() };
    let length = request.all("content-length").first().map_or(0, |length| length.parse().unwrap());
    request.body = vec![0; length];
    stream.read_exact(&mut request.body).await.ok()?;
    Some(request)
}
