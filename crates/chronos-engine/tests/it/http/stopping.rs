//! Requests that are no longer wanted.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::execution::{CancelCause, State};
use chronos_core::store::Store;
use chronos_engine::{
    Clock, EmbeddedStore, Http, Retention, SchedulerConfig, SchedulerService, SystemClock,
};

use super::server::{Answer, Server};
use super::{LONG, Lab, seldom};

fn to(server: &Server) -> Http {
    Http::new(&server.url("/")).unwrap()
}

#[tokio::test]
async fn a_cancelled_run_drops_its_connection_at_once() {
    let server = Server::answering(Answer::Silence).await;
    let lab = Lab::calling(to(&server)).await;
    let execution = lab.run_job("call").await.unwrap();
    server.until(|seen| seen.requests.len() == 1).await;
    let now = SystemClock::new().now();
    lab.store().cancel(execution, CancelCause::User, now).await.unwrap();
    // Long before the grace is over that a run has which does not listen.
    let closed = server.until(|seen| seen.closed == 1);
    tokio::time::timeout(Duration::from_secs(5), closed).await.unwrap();
    let slot = lab.store().execution(execution).await.unwrap().slot;
    let attempts = lab.past(|attempts| attempts.iter().all(|one| !one.is_live()), slot).await;
    assert_eq!(attempts.len(), 1);
    let cause = match &attempts[0].state {
        State::Cancelled { cause, .. } => *cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(cause, CancelCause::User);
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_an_endpoint_and_the_request_is_made_again() {
    let server = Server::in_turn(vec![Answer::Silence, Answer::ok("")]).await;
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
    let config = SchedulerConfig { shutdown_timeout_secs: 600, ..SchedulerConfig::default() };
    let scheduler = || {
        let clock = Arc::new(SystemClock::new());
        SchedulerService::with_store(config.clone(), store.clone(), clock).unwrap()
    };
    let first = scheduler();
    let request = to(&server).with_timeout(Duration::from_mins(10)).unwrap();
    first.schedule(seldom().http(request)).await.unwrap();
    first.start().await.unwrap();
    let execution = first.run_job("call").await.unwrap();
    server.until(|seen| seen.requests.len() == 1).await;
    tokio::time::timeout(LONG, first.shutdown()).await.expect("it does not wait").unwrap();
    let ended = store.execution(execution).await.unwrap();
    assert_eq!(ended.status(), "CANCELLED", "{ended:?}");

    // The job needs no closure, so whoever opens the store next may run it.
    let second = scheduler();
    second.start().await.unwrap();
    server.until(|seen| seen.requests.len() == 2).await;
    let requests = server.seen().requests;
    let keys = requests.iter().map(|request| request.header("Idempotency-Key"));
    assert_eq!(keys.collect::<std::collections::BTreeSet<_>>().len(), 1);
    assert_eq!(requests[1].header("Chronos-Attempt"), "2");
    second.shutdown().await.unwrap();
}
