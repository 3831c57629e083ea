//! The audit among many nodes: numbered in the order of commits, without a gap that fills later.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chronos_core::plan::Ending;
use chronos_core::store::{AuditFilter, AuditWalk};
use chronos_core::{ExecutionId, Store as _};

use super::fresh;
use crate::bench::{at, every, finish, job_id, once, terms, worker};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_is_followed_tells_every_end_once() {
    const JOBS: usize = 40;
    let schema = fresh().await;
    let stores = [Arc::new(schema.store().await), Arc::new(schema.store().await)];
    for number in 0..JOBS {
        stores[0].create_job(once(&format!("j-{number:03}"), 10), at(0)).await.unwrap();
    }
    stores[0].fire_due(at(10), 100, None).await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (store, done) = (schema.store().await, done.clone());
        tokio::spawn(async move {
            let (mut cursor, mut ended) = (0, Vec::new());
            loop {
                let last_look = done.load(Ordering::SeqCst);
                let page = store.journal(cursor, 7).await.unwrap();
                cursor = page.cursor;
                ended.extend(page.entries.into_iter().filter_map(|entry| entry.ended));
                if last_look && !page.more {
                    return ended;
                }
            }
        })
    };
    let workers = (0..4_usize).map(|number| {
        let store = stores[number % 2].clone();
        tokio::spawn(async move {
            loop {
                let name = worker(&format!("w{number}"));
                let claims = store.claim(&name, terms(10), 2.into()).await.unwrap().claims;
                if claims.is_empty() {
                    return;
                }
                for claim in claims {
                    let end = vec![finish(claim.hold, Ending::Success, 11)];
                    store.finish(end, at(11)).await.unwrap();
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    done.store(true, Ordering::SeqCst);
    let ended = tokio::time::timeout(Duration::from_secs(30), reader).await.unwrap().unwrap();
    let ids: BTreeSet<ExecutionId> = ended.iter().map(|ended| ended.id).collect();
    assert_eq!((ids.len(), ended.len()), (JOBS, JOBS));
    assert!(ended.iter().all(|ended| ended.status() == "SUCCESS"));
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
    let (mut journal, mut cursor, mut more) = (Vec::new(), 0, true);
    while more {
        let page = store.journal(cursor, 10_000).await.unwrap();
        (cursor, more) = (page.cursor, page.more);
        journal.extend(page.entries);
    }
    assert!(journal.iter().map(|entry| &entry.event).eq(&read));
    let mut ends =
        journal.iter().filter(|entry| entry.event.decision.kind() == "execution.succeeded");
    assert!(ends.clone().count() > 0 && ends.all(|entry| entry.ended.is_some()), "{journal:?}");
    let reopened = schema.store().await;
    assert_eq!(reopened.audit(0, 10_000).await.unwrap(), read);
    reopened.create_job(every("c", 10), at(50)).await.unwrap();
    let newest = reopened.audit(read.len() as u64, 9).await.unwrap();
    assert_eq!(newest.len(), 1);
}

#[tokio::test]
async fn digests_of_full_chapters_lead_past_what_is_not_asked_for() {
    let schema = fresh().await;
    let store = schema.store().await;
    store.create_job(once("first", 99_999), at(0)).await.unwrap();
    store.create_job(every("busy", 1), at(0)).await.unwrap();
    for round in 1..=14 {
        store.fire_due(at(round * 1_000), 9, None).await.unwrap();
    }
    let chapters = store.audit(0, 100_000).await.unwrap().len() / 4_096;
    assert!(chapters >= 3);
    let written = store.digest_audit().await.unwrap();
    // The store's own task may have come first.
    assert!(written <= chapters, "{written}");
    let count = schema.psql("SELECT count(*) FROM chronos.audit_digests");
    assert_eq!(count, chapters.to_string());
    assert_eq!(store.digest_audit().await, Ok(0));
    let filter = AuditFilter { job: Some(job_id("first")), ..AuditFilter::default() };
    let page = store.find_audit(&filter, AuditWalk::NewestFirst(None), 9).await.unwrap();
    let found: Vec<_> = page.events.iter().map(|event| event.decision.kind()).collect();
    assert_eq!(found, ["schedule.created"], "{page:?}");
    // Without its digest a chapter is not looked at, as if all of it were too old.
    schema.psql("DELETE FROM chronos.audit_digests WHERE chapter = 0");
    let page = store.find_audit(&filter, AuditWalk::NewestFirst(None), 9).await.unwrap();
    assert_eq!((page.events.len(), page.next), (0, None));
}
