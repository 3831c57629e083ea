//! Readiness: a store that could not write says so until it can.

use chronos_core::Store;
use chronos_core::store::Error;
use chronos_store::{EmbeddedStore, Retention};

use super::bench;
use crate::bench::{at, every};

#[tokio::test]
async fn a_store_that_could_not_write_is_not_ready_until_it_can() {
    let (bench, kv) = bench().await;
    bench.ready().await.unwrap();
    kv.fail_commits(5);
    bench.create_job(every("a", 10), at(0)).await.unwrap_err();
    // Being asked tries two writes each time: the first may only open the engine again.
    for _ in 0..2 {
        assert!(matches!(bench.ready().await, Err(Error::Unavailable(_))));
    }
    bench.ready().await.unwrap();
    bench.ready().await.unwrap();
    bench.create(every("a", 10)).await;
}

#[tokio::test]
async fn a_refusal_says_nothing_about_readiness() {
    let (bench, kv) = bench().await;
    bench.create(every("a", 10)).await;
    bench.create_job(every("a", 10), at(0)).await.unwrap_err();
    // A store that doubted itself would try a write here.
    kv.fail_commits(1);
    bench.ready().await.unwrap();
}

#[tokio::test]
async fn being_asked_changes_nothing() {
    let (bench, kv) = bench().await;
    bench.create(every("a", 10)).await;
    let before = bench.start(10).await.hold.token;
    kv.fail_commits(1);
    bench.fire_due(at(20), 9, None).await.unwrap_err();
    bench.ready().await.unwrap();
    let twin = EmbeddedStore::open(kv, Retention::default()).unwrap();
    let live = twin.live(&[crate::bench::job_id("a")]).await.unwrap();
    assert_eq!(live[0].running().unwrap().lease.token, before);
}
