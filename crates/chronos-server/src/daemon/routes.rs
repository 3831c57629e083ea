//! The routes of the one port: probes and figures, and gRPC beside them.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use chronos_engine::SchedulerService;
use chronos_store::EmbeddedStore;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::HealthService;
use tonic_reflection::server::Builder as Reflection;

use super::gate::Gate;
use super::guard::{self, Guard};
use super::probes::{self, Probes};
use super::{Error, Limits};
use crate::auth::{Auth, authorise};
use crate::dashboard;
use crate::grpc::{Changes, HistoryService, Scheduler};
use crate::history::History;
use crate::metrics::Metrics;
use crate::places::Places;
use crate::proto::DESCRIPTORS;
use crate::proto::history_server::HistoryServer;
use crate::proto::scheduler_server::SchedulerServer;
use crate::rest::{self, Api};

/// What the routes lead to.
pub(super) struct Behind<'a> {
    pub(super) service: &'a Arc<SchedulerService>,
    /// The scheduler's store, where it is this daemon's own.
    pub(super) own: Option<&'a Arc<EmbeddedStore>>,
    pub(super) metrics: &'a Arc<Metrics>,
    pub(super) auth: &'a Arc<Auth>,
    pub(super) history: &'a History,
    /// The engine of this node's own jobs, where the scheduler's store is shared.
    pub(super) local: Option<&'a Arc<SchedulerService>>,
    pub(super) gate: &'a Arc<Gate>,
    pub(super) probes: &'a Probes,
    pub(super) closing: &'a CancellationToken,
    pub(super) limits: &'a Limits,
}

/// Everything that a daemon serves.
pub(super) fn all(behind: &Behind<'_>) -> Result<Router, Error> {
    let &Behind { service, own, metrics, auth, history, local, gate, probes, closing, limits } =
        behind;
    let changes = Changes::new();
    service.observe(Arc::new(changes.clone()));
    let places = Places::new(limits.watchers, limits.watchers_per_account);
    if let Some(local) = local {
        local.observe(Arc::new(changes.clone()));
    }
    let scheduler = Scheduler::new(
        (service.clone(), local.cloned()),
        changes.clone(),
        metrics.clone(),
        own.cloned(),
        auth.clone(),
        closing.clone(),
        places.clone(),
    );
    let scheduler = SchedulerServer::new(scheduler).max_decoding_message_size(limits.body_bytes);
    let reflection =
        Reflection::configure().register_encoded_file_descriptor_set(DESCRIPTORS).build_v1()?;
    let past = HistoryServer::new(HistoryService::new(service.clone(), history.clone()));
    let past = past.max_decoding_message_size(limits.body_bytes);
    let (metrics, gate) = (metrics.clone(), gate.clone());
    let (auth_of_api, history) = (auth.clone(), history.clone());
    let api =
        Api::new(service.clone(), changes, metrics, gate.clone(), auth_of_api, history, places);
    let guard = Guard { gate: gate.clone(), request_timeout: limits.request_timeout };
    let patient = Guard { gate: gate.clone(), request_timeout: limits.bulk_timeout };
    let bulk = rest::bulk_router(api.clone());
    let bulk = bulk.layer(from_fn_with_state(patient, guard::while_open));
    let rest = rest::router(api).layer(from_fn_with_state(guard.clone(), guard::while_open));
    let known = from_fn_with_state(auth.clone(), authorise);
    let guarded = Routes::new(scheduler).add_service(past);
    let guarded = guarded.into_axum_router().reset_fallback();
    let guarded = guarded.route_layer(known.clone());
    let reflection = Routes::new(reflection).into_axum_router().reset_fallback();
    let guarded = guarded.merge(reflection).layer(from_fn_with_state(guard, guard::while_open));
    // Whoever asks for health must be answered also when nobody else is.
    let health = HealthServer::new(HealthService::from_health_reporter(probes.reporter()));
    let health = Routes::new(health).into_axum_router().reset_fallback();
    let grpc = guarded.merge(health).layer(from_fn(guard::only_grpc));
    let pages = rest::docs().merge(dashboard::router());
    let routes = itself(behind).merge(rest.merge(bulk)).merge(pages);
    Ok(fenced(routes.merge(grpc), auth, limits))
}

/// What a node serves that answers no requests: how it is.
pub(super) fn about_itself(behind: &Behind<'_>) -> Router {
    fenced(itself(behind), behind.auth, behind.limits)
}

fn itself(behind: &Behind<'_>) -> Router {
    let &Behind { service, metrics, auth, probes, .. } = behind;
    let (probes, figures, metrics) = (probes.clone(), service.clone(), metrics.clone());
    let asked = auth.clone();
    let known = from_fn_with_state(auth.clone(), authorise);
    let readyz = move |headers| probes.clone().readyz(asked.clone(), headers);
    let tell_figures = move || metrics::text(metrics.clone(), figures.clone());
    Router::new()
        .route("/healthz", get(probes::healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(tell_figures).route_layer(known))
}

/// The routes behind the guards that every request passes.
fn fenced(routes: Router, auth: &Auth, limits: &Limits) -> Router {
    let largest = u64::try_from(limits.body_bytes).unwrap_or(u64::MAX);
    routes
        .fallback(nothing_here)
        .layer(DefaultBodyLimit::max(limits.body_bytes))
        .layer(from_fn_with_state(largest, guard::not_too_large))
        .layer(from_fn_with_state(!auth.is_only_local(), guard::only_this_machine))
}

mod metrics {
    //! How figures are handed out.

    use std::sync::Arc;

    use axum::http::{StatusCode, header};
    use axum::response::{IntoResponse, Response};
    use chronos_engine::SchedulerService;

    use crate::metrics::{CONTENT_TYPE, Metrics};

    pub(super) async fn text(metrics: Arc<Metrics>, service: Arc<SchedulerService>) -> Response {
        let now = service.clock().now();
        metrics.set_braked(service.brake().reason().is_some());
        let page = metrics.render(service.store().as_ref(), service.registry(), now).await;
        match page {
            Ok(page) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], page).into_response(),
            Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
        }
    }
}

async fn nothing_here(request: Request) -> Response {
    let path: String = request.uri().path().chars().take(200).collect();
    let problem = format!("there is nothing at {path}");
    guard::refuse(request.headers(), StatusCode::NOT_FOUND, &problem)
}
