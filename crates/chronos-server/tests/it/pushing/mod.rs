//! Message events pushed to those who subscribed, at a real endpoint of this machine.

mod changing;
mod delivering;
mod failing;
mod refusing;
mod restarting;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::daemon::soon;
use crate::rest::{JSON, send, text};

pub(crate) const SIGNING: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
pub(crate) const OTHER_SIGNING: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Came {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Came {
    pub(crate) fn sequence(&self) -> u64 {
        self.body["data"]["sequence"].as_u64().unwrap_or_else(|| panic!("{self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    /// Whether one of its signatures is by this secret, as Standard Webhooks has it.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let (id, at) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let signed = format!("{id}.{at}.{}", self.text);
        self.header("webhook-signature").split(' ').any(|signature| {
            let signature = STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
            hmac::verify(&key, signed.as_bytes(), &signature).is_ok()
        })
    }
}

/// What is answered to a request.
#[derive(Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<&'static str>,
    /// Answered once this is let go.
    pub(crate) held: Option<Arc<Notify>>,
}

impl From<u16> for Reply {
    fn from(status: u16) -> Self {
        Self { status, ..Self::default() }
    }
}

type Answers = Box<dyn FnMut(&Came) -> Reply + Send>;

struct Inner {
    came: Mutex<Vec<Came>>,
    answers: Mutex<Answers>,
    /// Requests that are under way, and the most that ever were at once.
    at_once: Mutex<(usize, usize)>,
}

/// An endpoint on a free port of this machine.
#[derive(Clone)]
pub(crate) struct Target {
    address: SocketAddr,
    inner: Arc<Inner>,
}

impl Target {
    /// Takes everything.
    pub(crate) async fn open() -> Self {
        Self::answering(|_| 200_u16.into()).await
    }

    pub(crate) async fn answering(answers: impl FnMut(&Came) -> Reply + Send + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers: Answers = Box::new(answers);
        let inner = Inner {
            came: Mutex::default(),
            answers: Mutex::new(answers),
            at_once: Mutex::default(),
        };
        let target = Self { address, inner: Arc::new(inner) };
        let routes = Router::new().fallback(answer).with_state(target.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        target
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/events", self.address)
    }

    /// Answers otherwise from now on.
    pub(crate) fn answer(&self, answers: impl FnMut(&Came) -> Reply + Send + 'static) {
        *self.inner.answers.lock().unwrap() = Box::new(answers);
    }

    pub(crate) fn came(&self) -> MutexGuard<'_, Vec<Came>> {
        self.inner.came.lock().unwrap()
    }

    pub(crate) fn sequences(&self) -> Vec<u64> {
        self.came().iter().map(Came::sequence).collect()
    }

    /// The most requests that were under way at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.inner.at_once.lock().unwrap().1
    }

    /// The requests, once there are as many.
    pub(crate) async fn until(&self, number: usize) -> Vec<Came> {
        self.until_so(|came| came.len() >= number).await
    }

    /// The requests, once this is so.
    pub(crate) async fn until_so(&self, is_so: impl Fn(&[Came]) -> bool) -> Vec<Came> {
        let waited = tokio::time::timeout(Duration::from_secs(30), async {
            while !is_so(&self.came()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(waited.await.is_ok(), "only this came: {:?}", self.came());
        self.came().clone()
    }
}

async fn answer(
    State(target): State<Target>,
    uri: Uri,
    headers: HeaderMap,
    text: String,
) -> Response<String> {
    let body = serde_json::from_str(&text).unwrap_or_default();
    let came = Came { path: uri.path().into(), headers, text, body };
    let reply = {
        let mut answers = target.inner.answers.lock().unwrap();
        (*answers)(&came)
    };
    target.came().push(came);
    let _under_way = UnderWay::begin(&target.inner);
    if let Some(held) = reply.held {
        held.notified().await;
    }
    let mut response = Response::new(String::new());
    *response.status_mut() = reply.status.try_into().unwrap();
    if let Some(wait) = reply.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, wait.parse().unwrap());
    }
    response
}

/// A request that is being answered, however that ends.
struct UnderWay<'a>(&'a Inner);

impl<'a> UnderWay<'a> {
    fn begin(inner: &'a Inner) -> Self {
        let mut at_once = inner.at_once.lock().unwrap();
        at_once.0 += 1;
        at_once.1 = at_once.1.max(at_once.0);
        drop(at_once);
        Self(inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.at_once.lock().unwrap().0 -= 1;
    }
}

/// Posts a document, and gives back what was made.
pub(crate) async fn make(daemon: SocketAddr, path: &str, body: &Value) -> Value {
    send(daemon, "POST", path, JSON, body.to_string().as_bytes()).await.expect(201)
}

/// A subscription to this target that tries again almost at once.
pub(crate) fn subscription(target: &Target) -> Value {
    json!({
        "name": "pushed", "url": target.url(),
        "retry_base_seconds": 0.02, "retry_max_seconds": 0.05,
    })
}

/// A subscription, once it is as described.
pub(crate) async fn subscription_when(
    daemon: SocketAddr,
    id: &Value,
    is_so: impl Fn(&Value) -> bool,
) -> Value {
    let path = format!("/subscriptions/{}", text(id));
    soon(async {
        loop {
            let told = send(daemon, "GET", &path, "", b"").await.expect(200);
            if is_so(&told) {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}
