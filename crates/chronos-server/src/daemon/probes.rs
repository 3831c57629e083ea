//! Probes: whether the daemon lives and is ready, for load balancers, supervisors and people.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chronos_engine::SchedulerService;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::gate::{Gate, Phase};
use crate::auth::{Access, Auth};
use crate::proto::scheduler_server::SchedulerServer;
use crate::rest::reconciled;

/// A store that has not answered by then is not ready.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is told of a store that answers.
const WELL: &str = "ok";
/// How often the health service looks by itself.
const REFRESH: Duration = Duration::from_secs(5);
/// The services whose health is told; the empty name is the server as a whole.
const SERVICES: [&str; 2] = ["", <SchedulerServer<crate::grpc::Scheduler> as NamedService>::NAME];

/// Tells whether the daemon is ready, over HTTP when asked and to the gRPC health service.
#[derive(Clone, Debug)]
pub(super) struct Probes {
    service: Arc<SchedulerService>,
    gate: Arc<Gate>,
    reporter: HealthReporter,
}

/// What was looked at, and what was seen.
#[derive(Debug, Serialize)]
struct Readiness {
    status: &'static str,
    scheduler: &'static str,
    store: String,
    /// Why no work is taken on, if none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    braked: Option<String>,
    /// What was put in order when the node started.
    #[serde(skip_serializing_if = "Option::is_none")]
    reconciliation: Option<Map<String, Value>>,
}

impl Probes {
    pub(super) fn new(service: Arc<SchedulerService>, gate: Arc<Gate>) -> Self {
        let (reporter, _) = tonic_health::server::health_reporter();
        Self { service, gate, reporter }
    }

    /// Keeps the health service up to date until the streams end.
    pub(super) fn keep_up(&self, closing: CancellationToken) {
        let probes = self.clone();
        tokio::spawn(closing.run_until_cancelled_owned(async move {
            let mut turns = tokio::time::interval(REFRESH);
            loop {
                turns.tick().await;
                probes.update().await;
            }
        }));
    }

    pub(super) fn reporter(&self) -> HealthReporter {
        self.reporter.clone()
    }

    /// Tells the health service how things stand.
    pub(super) async fn update(&self) {
        let status = if self.readiness().await.is_ready() {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        };
        for service in SERVICES {
            self.reporter.set_service_status(service, status).await;
        }
    }

    /// Ends the streams of those who watch the health service.
    pub(super) async fn close(&self) {
        for service in SERVICES {
            self.reporter.clone().clear_service_status(service).await;
        }
    }

    async fn readiness(&self) -> Readiness {
        let store = match tokio::time::timeout(PATIENCE, self.service.store().ready()).await {
            Ok(Ok(())) => WELL.into(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        };
        let braked = self.service.brake().reason().map(|reason| reason.to_string());
        let status = match self.gate.phase() {
            Phase::Starting => "starting",
            Phase::Ready if store != WELL || braked.is_some() => "unavailable",
            Phase::Ready => "ready",
            Phase::Stopping => "stopping",
        };
        let scheduler = if self.service.is_running() { "running" } else { "stopped" };
        let reconciliation = self.service.reconciliation().map(reconciled);
        Readiness { status, scheduler, store, braked, reconciliation }
    }

    /// Whether requests are served: 200 or 503, with what was looked at. What a store says about itself
    /// is for those who may oversee the system.
    pub(super) async fn readyz(self, auth: Arc<Auth>, headers: HeaderMap) -> Response {
        let mut readiness = self.readiness().await;
        let told = readiness.store != WELL || readiness.reconciliation.is_some();
        if told && !may_oversee(&auth, &headers).await {
            readiness.reconciliation = None;
            if readiness.store != WELL {
                readiness.store = "unavailable".into();
            }
        }
        let code =
            if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        (code, Json(readiness)).into_response()
    }
}

impl Readiness {
    fn is_ready(&self) -> bool {
        self.status == "ready"
    }
}

/// Whether whoever asks may be told about the whole system; nobody, if that cannot be found out.
async fn may_oversee(auth: &Auth, headers: &HeaderMap) -> bool {
    let caller = tokio::time::timeout(PATIENCE, auth.identify(headers)).await;
    caller.is_ok_and(|caller| caller.is_ok_and(|caller| caller.may(Access::Oversee)))
}

/// Whether the process lives and answers at all.
pub(super) async fn healthz() -> Response {
    Json(serde_json::json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
        .into_response()
}
