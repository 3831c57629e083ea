//! The audit among many nodes: numbered in the order of commits, without a gap that fills later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chronos_core::Store as _;
use chronos_core::plan::Ending;

use super::fresh;
use crate::bench::{at, every, finish, once, terms, worker};

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_follows_misses_nothing() {
    let schema = fresh().await;
    let stores = [Arc::new(schema.store().await), Arc::new(schema.store().await)];
    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (store, done) = (schema.store().await, done.clone());
        tokio::spawn(async move {
            let (mut cursor, mut read) = (0, Vec::new());
            loop {
                let last_look = done.load(Ordering::SeqCst);
                let page = store.audit(cursor, 7).await.unwrap();
                cursor = page.last().map_or(cursor, |event| event.sequence);
                let empty = page.is_empty();
                read.extend(page);
                if last_look && empty {
                    return read;
                }
            }
        })
    };
    let writers = (0..8_usize).map(|writer| {
        let store = stores[writer % 2].clone();
        tokio::spawn(async move {
            for number in 0..25 {
                let spec = once(&format!("{writer}-{number:03}"), 10);
                store.create_job(spec, at(0)).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    done.store(true, Ordering::SeqCst);
    let read = tokio::time::timeout(Duration::from_secs(30), reader).await.unwrap().unwrap();
    assert_eq!(read.len(), 200);
    for (event, sequence) in read.iter().zip(1..) {
        assert_eq!(event.sequence, sequence);
    }
}

#[tokio::test]
async fn decisions_stay_in_order_when_clocks_do_not() {
    let schema = fresh().await;
    let store = schema.store().await;
    store.create_job(every("a", 10), at(0)).await.unwrap();
    // Three days ahead, and back again.
    for second in [3 * 86_400, 20, 30] {
        let fired = store.fire_due(at(second), 9, None).await.unwrap();
        let claimed = store.claim(&worker("w"), terms(second), 9.into()).await.unwrap();
        for claim in claimed.claims {
            let end = vec![finish(claim.hold, Ending::Success, second)];
            store.finish(end, at(second)).await.unwrap();
        }
        drop(fired);
    }
    store.create_job(every("b", 10), at(40)).await.unwrap();
    let read = store.audit(0, 10_000).await.unwrap();
    for (event, sequence) in read.iter().zip(1..) {
        assert_eq!(event.sequence, sequence);
    }
    let reopened = schema.store().await;
    assert_eq!(reopened.audit(0, 10_000).await.unwrap(), read);
    reopened.create_job(every("c", 10), at(50)).await.unwrap();
    let newest = reopened.audit(read.len() as u64, 9).await.unwrap();
    assert_eq!(newest.len(), 1);
}
