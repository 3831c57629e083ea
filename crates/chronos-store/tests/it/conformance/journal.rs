//! The journal: decisions with what came to its end by them, in one order for everyone.

use std::collections::BTreeSet;
use std::time::Duration;

use chronos_core::execution::{CancelCause, Failure};
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::{OverlapPolicy, retry};
use chronos_core::store::{JournalEntry, JournalPage};
use chronos_core::{Execution, ExecutionId, JobSpec, Store};

use crate::bench::{Bench, at, every, once};

/// All of the journal, read in pages of this size.
async fn journal(store: &dyn Store, limit: usize) -> Vec<JournalEntry> {
    let (mut entries, mut cursor) = (Vec::new(), 0);
    loop {
        let page = store.journal(cursor, limit).await.unwrap();
        assert!(page.entries.len() <= limit);
        if let Some(last) = page.entries.last() {
            assert_eq!(last.event.sequence, page.cursor);
        }
        assert!(page.cursor > cursor || !page.more, "a page leads on");
        cursor = page.cursor;
        entries.extend(page.entries);
        if !page.more {
            return entries;
        }
    }
}

fn ends(entries: &[JournalEntry]) -> Vec<&Execution> {
    entries.iter().filter_map(|entry| entry.ended.as_deref()).collect()
}

fn statuses(entries: &[JournalEntry]) -> Vec<(&'static str, &'static str)> {
    let ended = entries.iter().filter_map(|entry| Some((entry, entry.ended.as_deref()?)));
    ended.map(|(entry, ended)| (entry.event.decision.kind(), ended.status())).collect()
}

/// A failure that is tried again, a success, a loss, and a slot that was skipped.
async fn some_history(bench: &mut Bench) {
    let base = Duration::from_secs(10);
    let retry = retry::Policy { max_retry: 1, base, max_delay: base };
    let id = bench.create(JobSpec { retry, ..every("a", 1_000) }).await.spec.id;
    bench.create(every("b", 1_000)).await;
    bench.fire(1_000).await;
    let mut claims = bench.take(1_000).await;
    claims.sort_by_key(|claim| claim.spec.id);
    assert_eq!(claims.len(), 2);
    let broken = Ending::Failed(Failure::transient("out of order"));
    bench.end(&claims[0], broken, 1_001).await;
    bench.end(&claims[1], Ending::Success, 1_002).await;
    let again = bench.take(1_900).await;
    assert_eq!(again.len(), 1);
    bench.reap(at(1_900 + 31), 9).await.unwrap();
    assert_eq!(again[0].execution.job, id);
    bench
        .amend_job(id, Change::Pause { note: None, resume_at: None }, None, at(1_950))
        .await
        .unwrap();
    bench.fire(2_000).await;
}

pub(crate) async fn every_end_is_told_once_with_the_decision_that_led_to_it(bench: &mut Bench) {
    some_history(bench).await;
    for _ in 0..2 {
        let entries = journal(&**bench, 1_000).await;
        let decisions = bench.audit(0, 1_000).await.unwrap();
        assert!(entries.iter().map(|entry| &entry.event).eq(&decisions));
        let told = statuses(&entries);
        for wanted in [
            ("execution.failed", "FAILED"),
            ("execution.succeeded", "SUCCESS"),
            ("execution.stuck", "STUCK"),
        ] {
            assert!(told.contains(&wanted), "{wanted:?} among {told:?}");
        }
        let ids: BTreeSet<ExecutionId> = ends(&entries).iter().map(|ended| ended.id).collect();
        assert_eq!(ids.len(), told.len(), "each once");
        for ended in ends(&entries) {
            assert_eq!(bench.execution(ended.id).await.as_ref(), Ok(ended));
        }
        bench.reopen().await;
    }
}

pub(crate) async fn what_is_cancelled_ends_where_it_does(bench: &mut Bench) {
    let overlap = OverlapPolicy::Concurrent;
    let id = bench.create(JobSpec { overlap, ..every("a", 1_000) }).await.spec.id;
    let runs = bench.start(1_000).await;
    let waits = bench.run_now(id, None, at(1_001)).await.unwrap();
    for id in [runs.execution.id, waits.id, waits.id] {
        bench.cancel(id, CancelCause::User, at(1_002)).await.unwrap();
    }
    let entries = journal(&**bench, 1_000).await;
    let ended: Vec<ExecutionId> = ends(&entries).iter().map(|ended| ended.id).collect();
    assert_eq!(ended, [waits.id], "what runs has only been asked");
    bench.end(&runs, Ending::Cancelled, 1_003).await;
    let entries = journal(&**bench, 1_000).await;
    assert_eq!(
        statuses(&entries),
        [("execution.cancel_requested", "CANCELLED"), ("execution.cancelled", "CANCELLED")]
    );
    assert_eq!(ends(&entries)[1].id, runs.execution.id);
}

pub(crate) async fn the_journal_is_read_on_from_anywhere(bench: &mut Bench) {
    assert_eq!(bench.journal(0, 9).await, Ok(JournalPage::default()));
    some_history(bench).await;
    // Many slots at once are decided in one step.
    bench.create(every("c", 10)).await;
    bench.fire(4_000).await;
    let all = journal(&**bench, 10_000).await;
    assert!(all.len() > 100, "{}", all.len());
    for limit in [1, 3, 100] {
        assert_eq!(journal(&**bench, limit).await, all);
    }
    for cursor in [0, 1, 7, all.len() - 1, all.len()] {
        let page = bench.journal(cursor as u64, 3).await.unwrap();
        let expected = &all[cursor..all.len().min(cursor + 3)];
        assert_eq!(page.entries, expected, "after {cursor}");
        assert_eq!(page.more, cursor + 3 < all.len());
    }
    let nothing = bench.journal(3, 0).await.unwrap();
    assert_eq!((nothing.entries, nothing.cursor, nothing.more), (vec![], 3, true));
    for beyond in [all.len() as u64, all.len() as u64 + 1, u64::MAX >> 1] {
        let page = bench.journal(beyond, 9).await.unwrap();
        assert_eq!((page.entries, page.cursor, page.more), (vec![], beyond, false));
    }
    bench.reopen().await;
    assert_eq!(journal(&**bench, 10_000).await, all);
}

pub(crate) async fn the_journal_tells_of_jobs_as_they_are_now(bench: &mut Bench) {
    let a = bench.create(JobSpec { owner: "ada".into(), ..every("a", 10) }).await;
    bench.create(every("b", 10)).await;
    bench.fire(10).await;
    let mut edit = JobSpec::clone(&a.spec);
    edit.name = "renamed".into();
    let renamed = bench.amend_job(a.spec.id, Change::Edit(Box::new(edit)), None, at(11)).await;
    let page = bench.journal(0, 1_000).await.unwrap();
    let specs: Vec<(&str, &str)> =
        page.specs.iter().map(|spec| (&*spec.owner, &*spec.name)).collect();
    assert_eq!(specs, [("ada", "renamed"), ("", "b")]);
    assert_eq!(page.specs[0], renamed.unwrap().spec);
    let newest = page.cursor - 1;
    let page = bench.journal(newest, 1_000).await.unwrap();
    assert_eq!(page.specs.len(), 1, "no other is told of");
}

pub(crate) async fn an_end_outlives_its_job(bench: &mut Bench) {
    let id = bench.create(once("a", 10)).await.spec.id;
    let claim = bench.start(10).await;
    let waits = bench.run_now(id, None, at(11)).await;
    assert!(waits.is_err(), "one runs");
    bench.delete_job(id, at(12)).await.unwrap();
    bench.end(&claim, Ending::Success, 13).await;
    for _ in 0..2 {
        let page = bench.journal(0, 1_000).await.unwrap();
        assert_eq!(statuses(&page.entries), [("execution.succeeded", "SUCCESS")]);
        assert_eq!(page.specs, []);
        bench.reopen().await;
    }
}
