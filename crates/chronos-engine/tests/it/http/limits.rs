//! How many requests one host is sent at once, by an engine that only calls endpoints.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::http::Reach;
use chronos_core::job::Target;
use chronos_core::policy::OverlapPolicy;
use chronos_core::store::{Claim, Planned};
use chronos_core::{JobId, JobSpec, Schedule, Store, WorkerId};
use chronos_engine::http::Caller;
use chronos_engine::run::{Engine, EngineConfig, Handlers, Observer};
use chronos_engine::{
    CancellationToken, Clock, EmbeddedStore, Execution, Handler, Http, Retention, SystemClock,
};

use super::server::{Answer, Server};

/// Serves every http target and nothing else.
struct Endpoints(Arc<Caller>);

impl Handlers for Endpoints {
    fn handler(&self, target: &Target) -> Option<Arc<dyn Handler>> {
        match target {
            Target::Http(_) => Some(self.0.clone()),
            Target::Handler { .. } => None,
        }
    }
}

pub(super) struct Nobody;

impl Observer for Nobody {
    fn planned(&self, _: &[Planned]) {}
    fn started(&self, _: &[Claim]) {}
    fn ended(&self, _: &[(Arc<JobSpec>, Execution)]) {}
    fn lost(&self, _: &JobSpec) {}
}

#[tokio::test]
async fn a_host_that_hangs_gets_no_more_requests_than_its_share() {
    let (deaf, quick) =
        (Server::answering(Answer::Silence).await, Server::answering(Answer::ok("")).await);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
    let endpoints = Endpoints(Arc::new(Caller::with_limit(clock.clone(), Reach::everything(), 2)));
    let engine = Engine::start(
        EngineConfig::new(WorkerId::new("worker")),
        store.clone(),
        clock.clone(),
        Arc::new(endpoints),
        Arc::new(Nobody),
        CancellationToken::new(),
    );
    let now = clock.now();
    for (number, server) in [(1, &deaf), (2, &quick)] {
        let id = JobId::new(now, [number; 10]);
        let schedule = Schedule::interval(Duration::from_hours(24), now).unwrap();
        let mut spec = JobSpec::new(id, &number.to_string(), schedule, now)
            .with_target(Http::new(&server.url("/")).unwrap());
        spec.overlap = OverlapPolicy::Concurrent;
        store.create_job(spec, now).await.unwrap();
        for _ in 0..5 {
            store.run_now(id, None, clock.now()).await.unwrap();
        }
    }
    quick.until(|seen| seen.requests.len() == 5).await;
    deaf.until(|seen| seen.requests.len() == 2).await;
    // The other three have begun too, and wait.
    assert!(engine.running() >= 5, "{}", engine.running());
    assert_eq!(engine.stop(Duration::from_secs(20)).await, 0);
    assert_eq!(deaf.seen().requests.len(), 2);
}
