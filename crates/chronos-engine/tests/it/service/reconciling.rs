//! What a node that starts puts in order, before its loops begin.

use std::sync::Arc;
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::store::{AuditFilter, AuditWalk, Terms};
use chronos_core::{Timestamp, WorkerId};
use chronos_engine::{CatchUpPolicy, EmbeddedStore, NewJob, Store};
use chronos_store::Retention;

use super::{Book, Lab, secs};

fn instant(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// Registers jobs that catch up in each way, hourly from noon on.
async fn register(lab: &Lab, book: &Book) {
    for (name, policy) in [
        ("skip", CatchUpPolicy::Skip),
        ("once", CatchUpPolicy::RunOnce),
        ("capped", CatchUpPolicy::run_all_capped(2).unwrap()),
    ] {
        let job = NewJob::named(name).cron("0 0 * * * *").catch_up(policy);
        lab.register(job, book.slots()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn leases_positions_and_missed_slots_are_put_in_order_before_the_loops_begin() {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
    let book = Book::default();
    let before = Lab::over(&store, "2026-03-02T12:30:00Z");
    register(&before, &book).await;
    // A node takes a run along when it dies.
    let job = store.job_named("", "skip").await.unwrap().unwrap().spec.id;
    store.run_now(job, None, instant("2026-03-02T12:31:00Z")).await.unwrap();
    let terms = Terms { now: instant("2026-03-02T12:31:00Z"), lease: Duration::from_secs(30) };
    assert_eq!(store.claim(&WorkerId::new("dead"), terms, 9.into()).await.unwrap().claims.len(), 1);

    let after = Lab::over(&store, "2026-03-02T16:30:00Z");
    register(&after, &book).await;
    assert!(after.reconciliation().is_none());
    let done = after.reconcile(4).await.unwrap().clone();
    assert_eq!(after.reconciliation(), Some(&done));
    assert_eq!((done.lost, done.jobs, done.planned), (5, 3, 3), "four were told of");
    // Four slots each: none of them runs, one for all of them, and the oldest two.
    assert_eq!((done.fired, done.missed), (3, 4 + 2), "{done:?}");
    assert_eq!((done.deferred, done.unreadable, done.complete), (0, 0, true));
    assert_eq!(book.len(), 0, "nothing runs before the loops do");
    let filter = AuditFilter { kind: Some("node".into()), ..AuditFilter::default() };
    let page = store.find_audit(&filter, AuditWalk::NewestFirst(None), 9).await.unwrap();
    assert_eq!(page.events.len(), 1);
    assert_eq!(page.events[0].decision, Decision::Reconciled(done));

    after.start().await.unwrap();
    tokio::time::sleep(secs(5)).await;
    assert!(book.len() >= 3, "what was fired runs: {:?}", book.lines());
    let again = after.store().find_audit(&filter, AuditWalk::NewestFirst(None), 9).await.unwrap();
    assert_eq!(again.events.len(), 1, "the loops find nothing left to put in order");
    after.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_clock_is_off_plans_nothing_and_says_so() {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
    let book = Book::default();
    register(&Lab::over(&store, "2026-03-02T12:30:00Z"), &book).await;
    let after = Lab::over(&store, "2026-03-02T16:30:00Z");
    register(&after, &book).await;
    after.brake().pull("the clock is off");
    let done = after.reconcile(0).await.unwrap();
    assert_eq!((done.planned, done.complete), (0, false));
}
