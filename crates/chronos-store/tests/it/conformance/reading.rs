//! Reading: pages that miss and repeat nothing, figures, checkpoints and wake-ups.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use chronos_core::execution::{CancelCause, Failure};
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::{OverlapPolicy, retry};
use chronos_core::store::{Roles, Stats, Wake, Worker};
use chronos_core::{Execution, ExecutionId, JobSpec};

use crate::bench::{Bench, at, every, job_id, once, worker};

fn ids(rows: &[Execution]) -> Vec<ExecutionId> {
    rows.iter().map(|row| row.id).collect()
}

/// A job with runs that are over, one that runs and some that wait.
async fn mixed_history(bench: &Bench) -> Vec<Execution> {
    bench
        .create(JobSpec { overlap: OverlapPolicy::Queue(3.try_into().unwrap()), ..every("a", 10) })
        .await;
    // A neighbour whose executions must not show.
    bench.create(every("b", 10)).await;
    for second in [10, 20, 30] {
        bench.fire(second).await;
        for claim in bench.take(second).await {
            bench.end(&claim, Ending::Success, second + 1).await;
        }
    }
    for second in [40, 50, 60] {
        bench.fire(second).await;
        bench.take(second).await;
    }
    bench.rows(job_id("a")).await
}

pub(crate) async fn executions_page_newest_first_over_live_and_past(bench: &mut Bench) {
    let rows = mixed_history(bench).await;
    let slots: Vec<_> = rows.iter().map(|row| row.slot).collect();
    assert_eq!(slots, [60, 50, 40, 30, 20, 10].map(at));
    let live: Vec<_> = rows.iter().map(Execution::is_live).collect();
    assert_eq!(live, [true, true, true, false, false, false]);
    bench.reopen().await;
    for limit in 1..8 {
        let mut paged = Vec::new();
        let mut before = None;
        for _ in 0..=rows.len() {
            let page = bench.executions(job_id("a"), before, limit).await.unwrap();
            assert!(page.len() <= limit);
            before = page.last().map(|last| last.id).or(before);
            paged.extend(page);
        }
        assert_eq!(ids(&paged), ids(&rows), "in pages of {limit}");
    }
    assert_eq!(bench.executions(job_id("a"), None, 0).await, Ok(vec![]));
}

pub(crate) async fn what_lives_of_some_jobs_is_told_without_the_rest(bench: &mut Bench) {
    mixed_history(bench).await;
    bench.create(once("idle", 1_000)).await;
    let slots = async |bench: &Bench, names: &[&str]| {
        let jobs: Vec<_> = names.iter().map(|name| job_id(name)).collect();
        let live = bench.live(&jobs).await.unwrap();
        assert!(live.is_sorted_by_key(|execution| execution.id));
        live.into_iter().map(|live| (live.job, live.slot, live.status())).collect::<Vec<_>>()
    };
    let of_a = [(40, "RUNNING"), (50, "QUEUED"), (60, "QUEUED")];
    let of_a = of_a.map(|(slot, status)| (job_id("a"), at(slot), status));
    let of_b = (job_id("b"), at(40), "RUNNING");
    assert_eq!(slots(bench, &["a"]).await, of_a);
    assert_eq!(slots(bench, &["b"]).await, [of_b]);
    let both = slots(bench, &["b", "idle", "a", "gone"]).await;
    assert_eq!(both.len(), 4);
    assert!(of_a.iter().chain([&of_b]).all(|live| both.contains(live)));
    assert_eq!(slots(bench, &["idle", "gone"]).await, []);
    assert_eq!(slots(bench, &[]).await, []);
    bench.reopen().await;
    assert_eq!(slots(bench, &["a"]).await, of_a);
}

pub(crate) async fn dead_letters_page_newest_first(bench: &Bench) {
    for (name, slot) in [("a", 30), ("b", 10), ("c", 20)] {
        bench.create(once(name, slot)).await;
    }
    bench.fire(30).await;
    for claim in bench.take(30).await {
        let refused = Ending::Failed(Failure::permanent("no"));
        bench.end(&claim, refused, 31).await;
    }
    let all = bench.dead_letters(None, 9).await.unwrap();
    let slots: Vec<_> = all.iter().map(|letter| letter.slot).collect();
    assert_eq!(slots, [30, 20, 10].map(at));
    let page = bench.dead_letters(None, 2).await.unwrap();
    assert_eq!(page, all[..2]);
    let page = bench.dead_letters(Some(page[1].id), 2).await.unwrap();
    assert_eq!(page, all[2..]);
    assert_eq!(bench.dead_letters(Some(all[2].id), 2).await, Ok(vec![]));
    assert_eq!(bench.dead_letters(None, 0).await, Ok(vec![]));
}

pub(crate) async fn dead_letters_outlive_their_job(bench: &Bench) {
    bench.create(once("a", 10)).await;
    let claim = bench.start(10).await;
    let refused = Ending::Failed(Failure::permanent("no"));
    bench.end(&claim, refused, 11).await;
    bench.delete_job(job_id("a"), at(12)).await.unwrap();
    assert_eq!(bench.dead_letters(None, 9).await.unwrap().len(), 1);
}

pub(crate) async fn decisions_can_be_read_on_from_anywhere(bench: &mut Bench) {
    mixed_history(bench).await;
    // Thirty slots at once are decided in one step.
    bench.create(every("c", 1)).await;
    bench.fire(90).await;
    bench.reopen().await;
    bench.fire(100).await;
    let all = bench.audit(0, 1_000).await.unwrap();
    assert!(all.len() > 40);
    for (event, sequence) in all.iter().zip(1..) {
        assert_eq!(event.sequence, sequence);
    }
    for cursor in 0..=all.len() {
        for limit in [1, 3, 1_000] {
            let page = bench.audit(cursor as u64, limit).await.unwrap();
            let expected = all[cursor..].iter().take(limit);
            assert!(page.iter().eq(expected), "{limit} after {cursor}");
        }
    }
    assert_eq!(bench.audit(0, 0).await, Ok(vec![]));
    for beyond in [all.len() as u64 + 1, u64::MAX] {
        assert_eq!(bench.audit(beyond, 9).await, Ok(vec![]));
    }
}

pub(crate) async fn figures_count_jobs_and_what_lives(bench: &mut Bench) {
    let figures = async |bench: &Bench| {
        let stats = bench.stats().await.unwrap();
        (stats.jobs, stats.queued, stats.running)
    };
    assert_eq!(figures(bench).await, (0, 0, 0));
    for name in ["a", "b", "c"] {
        bench.create(once(name, 10)).await;
    }
    bench.fire(10).await;
    assert_eq!(figures(bench).await, (3, 3, 0));
    let claims = bench.take(10).await;
    assert_eq!(figures(bench).await, (3, 0, 3));
    bench.end(&claims[0], Ending::Success, 11).await;
    bench.release(&[claims[1].hold], at(11)).await.unwrap();
    assert_eq!(figures(bench).await, (3, 1, 1));
    bench.reopen().await;
    assert_eq!(figures(bench).await, (3, 1, 1));
    bench.delete_job(claims[1].spec.id, at(12)).await.unwrap();
    assert_eq!(figures(bench).await, (2, 0, 1));
    let Stats { bytes, .. } = bench.stats().await.unwrap();
    assert!(bytes > 0);
}

pub(crate) async fn a_checkpoint_is_found_by_the_next_run(bench: &mut Bench) {
    let job = bench.create(JobSpec { retry: retry::Policy::up_to(3), ..once("a", 10) }).await;
    let id = job.spec.id;
    assert_eq!(bench.checkpoint(id).await, Ok(None));
    let claim = bench.start(10).await;
    for step in [b"one".as_slice(), b"", b"two"] {
        bench.save_checkpoint(&claim.hold, step.to_vec()).await.unwrap();
        assert_eq!(bench.checkpoint(id).await, Ok(Some(step.to_vec())));
    }
    let failed = Ending::Failed(Failure::transient("down"));
    bench.end(&claim, failed, 11).await;
    bench.reopen().await;
    assert_eq!(bench.checkpoint(id).await, Ok(Some(b"two".to_vec())));
    let claim = bench.start(50).await;
    bench.save_checkpoint(&claim.hold, b"three".to_vec()).await.unwrap();
    bench.end(&claim, Ending::Success, 51).await;
    assert_eq!(bench.checkpoint(id).await, Ok(Some(b"three".to_vec())));
}

pub(crate) async fn flushing_and_compacting_change_no_answer(bench: &Bench) {
    mixed_history(bench).await;
    let before = bench.answers().await;
    bench.flush().await.unwrap();
    let compacted = bench.compact(Arc::new(|_| ControlFlow::Continue(()))).await.unwrap();
    assert!(compacted.is_complete(), "{compacted:?}");
    before.assert_same(&bench.answers().await);
}

pub(crate) async fn whoever_watches_hears_what_may_be_due(bench: &Bench) {
    let heard: Arc<Mutex<Vec<Wake>>> = Arc::default();
    let notes = heard.clone();
    bench.watch(Arc::new(move |wake| notes.lock().unwrap().push(wake)));
    let heard = |wake| {
        let mut heard = heard.lock().unwrap();
        let found = heard.contains(&wake);
        heard.clear();
        found
    };
    let id = bench.create(every("a", 10)).await.spec.id;
    assert!(heard(Wake::Job), "a new job");
    bench.fire(10).await;
    assert!(heard(Wake::Execution), "a fired slot");
    let claim = bench.take(10).await.remove(0);
    bench.cancel(claim.hold.execution, CancelCause::User, at(11)).await.unwrap();
    assert!(heard(Wake::Cancel), "a request to stop");
    bench.end(&claim, Ending::Cancelled, 12).await;
    let edit = Change::Edit(Box::new(every("a", 5)));
    bench.amend_job(id, edit, None, at(13)).await.unwrap();
    assert!(heard(Wake::Job), "an edited job");
    bench.run_now(id, None, at(14)).await.unwrap();
    assert!(heard(Wake::Execution), "a run by hand");
    let claim = bench.take(14).await.remove(0);
    bench.release(&[claim.hold], at(14)).await.unwrap();
    assert!(heard(Wake::Execution), "a run handed back");
    bench.take(14).await;
    bench.reap(at(100), 9).await.unwrap();
    assert!(heard(Wake::Execution), "a lost run");
    bench.take(100).await;
    bench.delete_job(id, at(101)).await.unwrap();
    assert!(heard(Wake::Cancel), "a deleted job");
}

pub(crate) async fn workers_are_listed_as_they_last_described_themselves(bench: &Bench) {
    let described = |name: &str, seen: i64, running: u64| Worker {
        id: worker(name),
        host: "host".into(),
        version: "1.2.3".into(),
        roles: Roles { api: true, scheduler: false, worker: true },
        started_at: at(1),
        seen_at: at(seen),
        capacity: 16,
        running,
    };
    for (name, seen, running) in [("b", 10, 1), ("a", 20, 2), ("b", 30, 3)] {
        bench.put_worker(described(name, seen, running)).await.unwrap();
    }
    let both = [described("a", 20, 2), described("b", 30, 3)];
    assert_eq!(bench.workers(at(20)).await.unwrap(), both);
    assert_eq!(bench.workers(at(21)).await.unwrap(), both[1..]);
}

pub(crate) async fn whoever_watches_hears_of_a_fixed_delays_next_slot(bench: &Bench) {
    bench.create(crate::bench::after_end("a", 10)).await;
    let claim = bench.start(10).await;
    let heard: Arc<Mutex<Vec<Wake>>> = Arc::default();
    let notes = heard.clone();
    bench.watch(Arc::new(move |wake| notes.lock().unwrap().push(wake)));
    bench.end(&claim, Ending::Success, 12).await;
    assert_eq!(*heard.lock().unwrap(), [Wake::Job]);
}
