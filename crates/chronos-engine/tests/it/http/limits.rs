//! How many requests one host is sent at once, and one owner sends, by an engine that only calls endpoints.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chronos_core::http::Reach;
use chronos_core::job::Target;
use chronos_core::policy::OverlapPolicy;
use chronos_core::store::{Claim, Planned};
use chronos_core::{JobId, JobSpec, Schedule, Store, WorkerId};
use chronos_engine::http::{Caller, Limits};
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
            Target::Handler { .. } | Target::Message(_) => None,
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

/// An engine that calls endpoints within these limits, and the store of its jobs.
pub(super) struct Lab {
    clock: Arc<dyn Clock>,
    pub(super) store: Arc<dyn Store>,
    engine: Engine,
}

impl Lab {
    fn within(limits: Limits) -> Self {
        Self::reaching(Reach::everything(), limits)
    }

    pub(super) fn reaching(reach: Reach, limits: Limits) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
        let caller = Caller::with_limits(clock.clone(), reach, limits);
        let engine = Engine::start(
            EngineConfig::new(WorkerId::new("worker")),
            store.clone(),
            clock.clone(),
            Arc::new(Endpoints(Arc::new(caller))),
            Arc::new(Nobody),
            CancellationToken::new(),
        );
        Self { clock, store, engine }
    }

    /// Runs a job of this owner five times at once.
    async fn run_five(&self, number: u8, owner: &str, server: &Server) -> JobId {
        self.run(5, number, owner, &server.url("/")).await
    }

    /// Runs a job of this owner that calls this URL so many times at once.
    pub(super) async fn run(&self, times: usize, number: u8, owner: &str, url: &str) -> JobId {
        let now = self.clock.now();
        let id = JobId::new(now, [number; 10]);
        let schedule = Schedule::interval(Duration::from_hours(24), now).unwrap();
        let mut spec = JobSpec::new(id, &number.to_string(), schedule, now)
            .with_target(Http::new(url).unwrap());
        spec.overlap = OverlapPolicy::Concurrent;
        spec.owner = owner.into();
        self.store.create_job(spec, now).await.unwrap();
        for _ in 0..times {
            self.store.run_now(id, None, self.clock.now()).await.unwrap();
        }
        id
    }
}

#[tokio::test]
async fn a_host_that_hangs_gets_no_more_requests_than_its_share() {
    let (deaf, quick) =
        (Server::answering(Answer::Silence).await, Server::answering(Answer::ok("")).await);
    let lab = Lab::within(Limits { per_host: 2, ..Limits::default() });
    lab.run_five(1, "", &deaf).await;
    lab.run_five(2, "", &quick).await;
    quick.until(|seen| seen.requests.len() == 5).await;
    deaf.until(|seen| seen.requests.len() == 2).await;
    // The other three have begun too, and wait.
    assert!(lab.engine.running() >= 5, "{}", lab.engine.running());
    assert_eq!(lab.engine.stop(Duration::from_secs(20)).await, 0);
    assert_eq!(deaf.seen().requests.len(), 2);
}

#[tokio::test]
async fn an_owner_whose_hosts_hang_sends_no_more_requests_than_its_share() {
    let mut deaf = Vec::new();
    for _ in 0..3 {
        deaf.push(Server::answering(Answer::Silence).await);
    }
    let quick = Server::answering(Answer::ok("")).await;
    let lab = Lab::within(Limits { per_owner: 4, ..Limits::default() });
    for (number, server) in (1..).zip(&deaf) {
        lab.run_five(number, "ann", server).await;
    }
    let sent = || deaf.iter().map(|server| server.seen().requests.len()).sum::<usize>();
    let waited = async {
        while sent() < 4 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waited).await.unwrap();
    // Others, and jobs of nobody, are not held up by it.
    let job = lab.run_five(4, "bob", &quick).await;
    lab.run_five(5, "", &quick).await;
    quick.until(|seen| seen.requests.len() == 10).await;
    assert_eq!(lab.engine.stop(Duration::from_secs(20)).await, 0);
    assert_eq!(sent(), 4);
    for run in lab.store.executions(job, None, 10).await.unwrap() {
        let log = run.run().and_then(|run| run.log.clone()).unwrap();
        let expected = format!("called {} for bob, url sha256 ", quick.address);
        assert!(log.starts_with(&expected), "{log}");
    }
}

#[tokio::test]
async fn connections_that_were_in_use_at_once_are_kept_for_later() {
    const AT_ONCE: usize = 48;
    let server = Server::in_waves(AT_ONCE).await;
    let lab = Lab::within(Limits { per_host: AT_ONCE, ..Limits::default() });
    for wave in 1..=2 {
        lab.run(AT_ONCE, wave, "", &server.url("/")).await;
        let over = async {
            while server.seen().requests.len() < AT_ONCE * usize::from(wave)
                || lab.engine.running() > 0
            {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), over).await.unwrap();
    }
    let seen = server.seen().requests;
    let used: BTreeSet<usize> = seen.iter().map(|request| request.connection).collect();
    // One that a client is just done with may still be on its way back to the others.
    assert!(used.len() < AT_ONCE + AT_ONCE / 8, "{} connections for two waves", used.len());
    assert_eq!(lab.engine.stop(Duration::from_secs(20)).await, 0);
}
