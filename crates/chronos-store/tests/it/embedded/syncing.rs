//! Group commit: a step is acknowledged once it is synced, and steps share their syncs.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::Poll;
use std::time::Duration;

use chronos_core::plan::Ending;
use chronos_core::store::{Compacted, Error, EventFilter, JournalPage, Taker, Wake};
use chronos_core::{Store, Timestamp};
use chronos_store::kv::{self, Batch, CompactionWatch, Kv, MemoryKv, Order, Visitor};
use chronos_store::{EmbeddedStore, Retention};
use tokio::task::JoinSet;

use crate::bench::{LEASE, at, every, finish, job_id, worker};
use crate::conformance::messages::says;

/// A disk whose syncs take until someone lets them pass.
#[derive(Default)]
struct Disk {
    kv: MemoryKv,
    /// Syncs that may still pass.
    passes: Mutex<u32>,
    granted: Condvar,
    begun: AtomicU32,
    tidied: AtomicU32,
    broken: AtomicBool,
}

impl Disk {
    fn let_pass(&self, syncs: u32) {
        *self.passes.lock().unwrap() += syncs;
        self.granted.notify_all();
    }
}

#[derive(Clone, Default)]
struct SlowKv(Arc<Disk>);

impl Kv for SlowKv {
    fn get(&self, key: &[u8]) -> kv::Result<Option<Vec<u8>>> {
        self.0.kv.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, visit: Visitor<'_>) -> kv::Result<()> {
        self.0.kv.scan(from, to, order, visit)
    }

    fn commit(&self, batch: Batch) -> kv::Result<()> {
        self.0.kv.commit(batch)
    }

    fn sync(&self) -> kv::Result<()> {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        let passes = self.0.passes.lock().unwrap();
        let mut passes = self.0.granted.wait_while(passes, |passes| *passes == 0).unwrap();
        *passes -= 1;
        if self.0.broken.load(Ordering::SeqCst) {
            return Err(kv::Error("the disk is gone".into()));
        }
        Ok(())
    }

    fn tidy(&self) {
        self.0.tidied.fetch_add(1, Ordering::SeqCst);
    }

    fn scan_snapshot(&self, visit: Visitor<'_>) -> kv::Result<()> {
        self.0.kv.scan_snapshot(visit)
    }

    fn compact(&self, watch: CompactionWatch<'_>) -> kv::Result<Compacted> {
        self.0.kv.compact(watch)
    }

    fn size(&self) -> u64 {
        self.0.kv.size()
    }
}

fn store() -> (Arc<EmbeddedStore>, SlowKv) {
    let kv = SlowKv::default();
    (Arc::new(EmbeddedStore::open(kv.clone(), Retention::default()).unwrap()), kv)
}

/// Creates jobs, each as a caller of its own; gives back once all are committed and the first sync
/// is under way.
async fn create(store: &Arc<EmbeddedStore>, kv: &SlowKv, names: &[&'static str]) -> JoinSet<bool> {
    let mut callers = JoinSet::new();
    for name in names.iter().copied() {
        let caller = store.clone();
        callers.spawn(async move {
            let created = caller.create_job(every(name, 10), at(0)).await;
            assert!(created.is_ok() || matches!(created, Err(Error::Unavailable(_))));
            created.is_ok()
        });
        while store.job(job_id(name)).await.is_err() || kv.0.begun.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    }
    callers
}

#[tokio::test]
async fn nothing_is_acknowledged_before_it_is_synced() {
    let (store, kv) = store();
    let mut callers = create(&store, &kv, &["a"]).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert!(callers.try_join_next().is_none());
    }
    kv.0.let_pass(1);
    assert!(callers.join_next().await.unwrap().unwrap());
}

#[tokio::test]
async fn steps_that_are_committed_during_a_sync_share_the_next_one() {
    let (store, kv) = store();
    let mut callers = create(&store, &kv, &["a"]).await;
    let others = create(&store, &kv, &["b", "c", "d", "e", "f"]).await;
    kv.0.let_pass(1);
    assert!(callers.join_next().await.unwrap().unwrap());
    kv.0.let_pass(1);
    assert_eq!(others.join_all().await, [true; 5]);
    assert_eq!(kv.0.begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_message_is_read_once_it_is_synced_and_not_before() {
    let (store, kv) = store();
    let heard: Arc<AtomicU32> = Arc::default();
    let count = heard.clone();
    store.watch(Arc::new(move |wake| {
        count.fetch_add(u32::from(wake == Wake::Message), Ordering::SeqCst);
    }));
    kv.0.let_pass(1);
    store.create_job(says(every("a", 10)), at(0)).await.unwrap();
    let fire = |second: i64| {
        let store = store.clone();
        tokio::spawn(async move { store.fire_due(at(second), 9, None).await.is_ok() })
    };
    let read = async || store.message_events(&EventFilter::default(), 0, 9).await.unwrap();
    for (number, fails) in [(1, false), (2, true), (3, false)] {
        let before = (number - 1) - u64::from(number == 3);
        let fired = fire(10 * i64::try_from(number).unwrap());
        while kv.0.begun.load(Ordering::SeqCst) < u32::try_from(number).unwrap() + 1 {
            tokio::task::yield_now().await;
        }
        let page = read().await;
        assert_eq!((page.events.len() as u64, page.cursor), (before, before));
        assert_eq!(store.newest_message().await, Ok(before));
        assert_eq!(u64::from(heard.load(Ordering::SeqCst)), before);
        kv.0.broken.store(fails, Ordering::SeqCst);
        kv.0.let_pass(1);
        assert_eq!(fired.await.unwrap(), !fails);
    }
    assert_eq!(read().await.events.len(), 3, "the disk has kept what it did not say it had");
    assert_eq!(heard.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_journal_tells_nothing_that_a_power_cut_could_take_back() {
    let (store, kv) = store();
    let read = async || store.journal(0, 9).await.unwrap();
    let mut callers = create(&store, &kv, &["a"]).await;
    assert_eq!(store.audit(0, 9).await.unwrap().len(), 1, "it is committed");
    assert_eq!(read().await, JournalPage::default(), "and not synced");
    kv.0.let_pass(1);
    assert!(callers.join_next().await.unwrap().unwrap());
    let page = read().await;
    assert_eq!((page.entries.len(), page.cursor, page.more), (1, 1, false));
}

#[tokio::test]
async fn a_message_whose_caller_is_gone_is_read_all_the_same() {
    let (store, kv) = store();
    kv.0.let_pass(1);
    let id = store.create_job(says(every("a", 10)), at(0)).await.unwrap().spec.id;
    {
        let run = std::pin::pin!(store.run_now(id, None, at(1)));
        let given_up = waits_on(run).await;
        assert!(given_up, "it waits for the disk");
    }
    kv.0.let_pass(1);
    let read = async {
        while store.newest_message().await != Ok(1) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), read).await.expect("it can be read");
}

/// Polls once; says whether it is not done by then.
async fn waits_on<F: Future>(mut future: std::pin::Pin<&mut F>) -> bool {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

#[tokio::test]
async fn a_sync_that_fails_acknowledges_nobody() {
    let (store, kv) = store();
    let mut callers = create(&store, &kv, &["a", "b"]).await;
    kv.0.broken.store(true, Ordering::SeqCst);
    kv.0.let_pass(2);
    while let Some(acknowledged) = callers.join_next().await {
        assert!(!acknowledged.unwrap());
    }
    kv.0.broken.store(false, Ordering::SeqCst);
    kv.0.let_pass(1);
    store.flush().await.unwrap();
}

#[tokio::test]
async fn what_writes_nothing_waits_for_no_sync() {
    let (store, kv) = store();
    assert!(store.fire_due(at(5), 9, None).await.unwrap().planned.is_empty());
    assert!(store.delete_job(job_id("a"), at(5)).await.is_err());
    assert_eq!(kv.0.begun.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_engine_tidies_up_when_nothing_comes_due_for_a_while() {
    let (store, kv) = store();
    kv.0.let_pass(u32::MAX);
    store.create_job(every("a", 10), at(0)).await.unwrap();
    let lease = Duration::from_secs(LEASE.unsigned_abs());
    let taker = Taker { worker: worker("w"), lease, openings: 9.into() };
    let run = async |second: i64, over: Timestamp| {
        let claims = store.fire_due(at(second), 9, Some(&taker)).await.unwrap().claims;
        let ends = claims.iter().map(|claim| finish(claim.hold, Ending::Success, second));
        assert_eq!(store.finish(ends.collect(), over).await.unwrap().len(), 1);
    };
    // The next slot is a moment away.
    run(10, at(20).before(Duration::from_millis(100))).await;
    store.flush().await.unwrap();
    assert_eq!(kv.0.tidied.load(Ordering::SeqCst), 0);
    run(20, at(21)).await;
    let tidied = async {
        while kv.0.tidied.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), tidied).await.expect("it tidies up");
}
