//! The endpoint that jobs call: it keeps its own record of every request, past any kill.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use chronos_core::{ExecutionId, JobId, Timestamp};

/// One request as it came, and what was answered if there was somebody left to answer.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) job: JobId,
    pub(crate) key: ExecutionId,
    pub(crate) execution: ExecutionId,
    pub(crate) attempt: u32,
    pub(crate) fence: u64,
    pub(crate) slot: Timestamp,
    /// Its place in the order in which requests came and were answered.
    pub(crate) arrived: usize,
    pub(crate) answered: Option<Answered>,
}

/// What was answered, and its place in the same order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) at: usize,
}

#[derive(Default)]
struct Record {
    calls: Vec<Called>,
    events: usize,
}

/// An endpoint on a free port of this machine.
#[derive(Clone)]
pub(crate) struct Endpoint {
    address: SocketAddr,
    record: Arc<Mutex<Record>>,
}

impl Endpoint {
    pub(crate) async fn open() -> Self {
        Self::at(tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// Answers those who connect here.
    pub(crate) fn at(listener: tokio::net::TcpListener) -> Self {
        let address = listener.local_addr().unwrap();
        let endpoint = Self { address, record: Arc::default() };
        let routes = Router::new().fallback(answer).with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        endpoint
    }

    /// "ok" succeeds at once, "slow" after a while, "flaky" fails the first attempt at every slot. "hangs"
    /// leaves that one without an answer, "late" lets it wait for five seconds.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub(crate) fn calls(&self) -> Vec<Called> {
        self.record().calls.clone()
    }

    /// Waits until an execution calls.
    pub(crate) async fn called(&self, execution: ExecutionId) {
        self.until(|called| called.execution == execution).await;
    }

    /// Waits until an execution's call is answered.
    pub(crate) async fn answered(&self, execution: ExecutionId) {
        self.until(|called| called.execution == execution && called.answered.is_some()).await;
    }

    async fn until(&self, found: impl Fn(&Called) -> bool) {
        while !self.record().calls.iter().any(&found) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, mut called: Called) -> usize {
        let mut record = self.record();
        record.events += 1;
        called.arrived = record.events;
        record.calls.push(called);
        record.calls.len() - 1
    }

    fn note_answer(&self, call: usize, status: StatusCode) {
        let mut record = self.record();
        record.events += 1;
        let answered = Answered { status: status.as_u16(), at: record.events };
        record.calls[call].answered = Some(answered);
    }
}

async fn answer(State(endpoint): State<Endpoint>, uri: Uri, headers: HeaderMap) -> StatusCode {
    let text = |name: &str| headers[name].to_str().unwrap();
    let called = Called {
        job: text("chronos-job").parse().unwrap(),
        key: text("idempotency-key").parse().unwrap(),
        execution: text("chronos-execution-id").parse().unwrap(),
        attempt: text("chronos-attempt").parse().unwrap(),
        fence: text("chronos-fence").parse().unwrap(),
        slot: Timestamp::parse(text("chronos-scheduled-for")).unwrap(),
        arrived: 0,
        answered: None,
    };
    let attempt = called.attempt;
    let call = endpoint.note(called);
    match uri.path() {
        // Long enough for kills to meet it, and for the next slot to find it running.
        "/slow" => tokio::time::sleep(Duration::from_millis(700)).await,
        "/hangs" if attempt == 1 => std::future::pending().await,
        "/late" if attempt == 1 => tokio::time::sleep(Duration::from_secs(5)).await,
        _ => {}
    }
    let status = match uri.path() {
        "/flaky" if attempt == 1 => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    };
    endpoint.note_answer(call, status);
    status
}
