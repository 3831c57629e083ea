//! Claims about leases, stops, limits and clocks, each shown by the one history that would break it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use chronos_core::audit::Decision;
use chronos_core::execution::{CancelCause, State};
use chronos_core::policy::{CatchUpPolicy, OverlapPolicy};
use chronos_core::{Store, WorkerId};
use chronos_engine::run::EngineConfig;
use chronos_engine::{Clock, JobContext};

use super::lab::{Diary, LEASE, Lab, seconds};

#[tokio::test(start_paused = true)]
async fn the_late_result_of_a_stale_worker_is_refused() {
    let lab = Lab::new();
    let diary = Diary::of(&lab);
    let (_first, link) = lab.engine("first");
    let job = lab.job("job", lab.once(1), |_| {}, diary.work(seconds(10))).await;
    lab.until(seconds(5)).await;
    link.freeze(true);
    let (_second, _) = lab.engine("second");
    lab.until(seconds(5) + 3 * LEASE).await;
    link.freeze(false);
    lab.until(seconds(200)).await;
    assert_eq!(lab.counted("stale results refused"), 1);
    assert_eq!(lab.statuses(&job).await, ["STUCK", "SUCCESS"]);
    let second = &lab.executions(&job).await[1];
    assert_eq!(second.run().unwrap().worker, WorkerId::new("second"));
    assert!(lab.ledger.lock().violations.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_renew_stops_its_work_before_its_lease_ends() {
    // However the heartbeat falls into the lease, and whenever the store falls silent.
    for (heartbeat, frozen_at) in (1..=14).flat_map(|beat| (0..12).map(move |at| (beat, at))) {
        let lab = Lab::new();
        let diary = Diary::of(&lab);
        let config = |name| EngineConfig {
            lease: LEASE,
            heartbeat: seconds(heartbeat),
            ..EngineConfig::new(WorkerId::new(name))
        };
        let (_first, link) = lab.engine_with(config("first"));
        let job = lab.job("job", lab.once(1), |_| {}, diary.work(seconds(600))).await;
        let frozen_at = Duration::from_millis(20_500) + seconds(frozen_at);
        lab.until(frozen_at).await;
        link.freeze(true);
        let (_second, _) = lab.engine_with(config("second"));
        lab.until(frozen_at + 2 * LEASE).await;
        let calls = diary.entries();
        let [(_, Some(dropped)), (taken, _)] = calls[..] else {
            panic!("{calls:?}");
        };
        let lease_end = lab.executions(&job).await[0].run().unwrap().finished_at;
        assert!(dropped + seconds(2) <= taken, "{heartbeat} s: {calls:?}, {lease_end}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_lease_was_taken_is_dropped_at_the_next_heartbeat() {
    let lab = Lab::new();
    let diary = Diary::of(&lab);
    let (_engine, _) = lab.engine("engine");
    let job = lab.job("job", lab.once(1), |_| {}, diary.work(seconds(100))).await;
    lab.until(seconds(20)).await;
    // As a node would whose clock is wrong.
    let wrong = lab.now().after(2 * LEASE);
    lab.store.reap(wrong, 100).await.unwrap();
    lab.until(seconds(300)).await;
    let calls = diary.entries();
    assert!(calls[0].1 <= Some(seconds(26)), "{calls:?}");
    assert_eq!(lab.statuses(&job).await, ["STUCK", "SUCCESS"]);
    assert_eq!(lab.counted("runs given up"), 1);
}

#[tokio::test(start_paused = true)]
async fn heartbeats_keep_a_run_alive_past_many_leases() {
    let lab = Lab::new();
    let diary = Diary::of(&lab);
    let (_first, _) = lab.engine("first");
    let (_second, _) = lab.engine("second");
    let job = lab.job("job", lab.once(1), |_| {}, diary.work(20 * LEASE)).await;
    lab.until(21 * LEASE).await;
    assert_eq!(lab.statuses(&job).await, ["SUCCESS"]);
    assert_eq!(diary.entries().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn runs_of_a_killed_engine_begin_again_elsewhere_within_two_leases() {
    for lease in [3, 10, 30] {
        let lab = Lab::new();
        let diary = Diary::of(&lab);
        let config = |name| EngineConfig {
            lease: seconds(lease),
            heartbeat: seconds(1),
            lease_margin: seconds(1),
            ..EngineConfig::new(WorkerId::new(name))
        };
        let (first, _) = lab.engine_with(config("first"));
        let job = lab.job("job", lab.once(1), |_| {}, diary.work(seconds(20))).await;
        lab.until(seconds(7)).await;
        let (_second, _) = lab.engine_with(config("second"));
        first.kill();
        lab.until(seconds(120)).await;
        assert_eq!(lab.statuses(&job).await, ["STUCK", "SUCCESS"]);
        let again = diary.entries()[1].0;
        assert!(again <= seconds(7 + 2 * lease), "{lease} s lease: {again:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_panics_stops_nothing_but_itself() {
    let lab = Lab::new();
    let (_engine, _) = lab.engine("engine");
    let panics = || async {
        if true {
            // Unwinds without the message that a surprise would print.
            std::panic::resume_unwind(Box::new("poison"))
        }
    };
    let poison = lab.job("poison", lab.every(1), |_| {}, panics).await;
    let good = lab.job("good", lab.every(1), |_| {}, || async {}).await;
    lab.until(Duration::from_millis(60_500)).await;
    assert_eq!(lab.statuses(&poison).await, ["FAILED"; 60]);
    assert_eq!(lab.statuses(&good).await, ["SUCCESS"; 60]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_engine_stops_at_once_and_a_busy_one_when_its_runs_end() {
    let lab = Lab::new();
    let diary = Diary::of(&lab);
    let (idle, _) = lab.engine("idle");
    lab.until(seconds(3)).await;
    assert_eq!(idle.stop(seconds(60)).await, 0);
    assert_eq!(lab.clock.monotonic(), seconds(3));

    let (busy, _) = lab.engine("busy");
    let job = lab.job("job", lab.once(1), |_| {}, diary.work(seconds(10))).await;
    lab.until(seconds(6)).await;
    assert_eq!(busy.stop(seconds(60)).await, 0);
    assert_eq!(diary.entries(), [(seconds(4), Some(seconds(14)))]);
    assert_eq!(lab.clock.monotonic(), seconds(14));
    assert_eq!(lab.statuses(&job).await, ["SUCCESS"]);
}

#[tokio::test(start_paused = true)]
async fn stragglers_of_a_stopped_engine_run_elsewhere_and_use_up_no_retry() {
    let lab = Lab::new();
    let diary = Diary::of(&lab);
    let (first, _) = lab.engine("first");
    let job = lab.job("job", lab.once(1), |_| {}, diary.work(seconds(40))).await;
    lab.until(seconds(6)).await;
    assert_eq!(first.stop(seconds(5)).await, 1);
    assert_eq!(lab.clock.monotonic(), seconds(11));
    let (_second, _) = lab.engine("second");
    lab.until(seconds(60)).await;
    // At once, and not when the lease has run out.
    assert_eq!(
        diary.entries(),
        [(seconds(1), Some(seconds(11))), (seconds(11), Some(seconds(51)))]
    );
    assert_eq!(lab.statuses(&job).await, ["CANCELLED", "SUCCESS"]);
    let executions = lab.executions(&job).await;
    assert_eq!((executions[1].retry, executions[1].lost), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_engine_stops_even_when_its_store_does_not_answer() {
    let lab = Lab::new();
    let (engine, link) = lab.engine("engine");
    lab.job("job", lab.every(1), |_| {}, || async {}).await;
    lab.until(seconds(5)).await;
    link.freeze(true);
    lab.until(seconds(10)).await;
    engine.stop(seconds(5)).await;
    assert!(lab.clock.monotonic() <= seconds(35));
}

#[tokio::test(start_paused = true)]
async fn a_run_over_its_time_is_dropped_and_retried() {
    let lab = Lab::new();
    let diary = Diary::of(&lab);
    let (_engine, _) = lab.engine("engine");
    let limit = |spec: &mut chronos_core::JobSpec| {
        spec.max_execution_time = Some(seconds(7));
        spec.retry.max_retry = 1;
    };
    let job = lab.job("job", lab.once(1), limit, diary.work(seconds(60))).await;
    lab.until(seconds(100)).await;
    assert_eq!(lab.statuses(&job).await, ["TIMED_OUT", "TIMED_OUT"]);
    for (began, ended) in diary.entries() {
        assert_eq!(ended, Some(began + seconds(7)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_when_it_heeds_its_token_and_is_dropped_when_it_does_not() {
    let lab = Lab::new();
    let diary = Diary::of(&lab);
    let (_engine, _) = lab.engine("engine");
    let heeding = diary.clone();
    let polite = move |context: JobContext| {
        let page = heeding.begin();
        async move {
            context.token().cancelled().await;
            drop(page);
        }
    };
    let polite = lab.job("polite", lab.once(1), |_| {}, polite).await;
    let deaf = lab.job("deaf", lab.once(1), |_| {}, diary.work(seconds(600))).await;
    lab.until(seconds(20)).await;
    for job in [&polite, &deaf] {
        let running = lab.executions(job).await[0].id;
        let cancelled = lab.store.cancel(running, CancelCause::User, lab.now());
        cancelled.await.unwrap();
    }
    lab.until(seconds(60)).await;
    // Asked at once, and the deaf one given the grace of ten seconds.
    let mut ends: Vec<_> = diary.entries().iter().map(|(_, end)| *end).collect();
    ends.sort_unstable();
    assert_eq!(ends, [Some(seconds(20)), Some(seconds(30))]);
    for job in [&polite, &deaf] {
        let executions = lab.executions(job).await;
        assert_eq!(executions.len(), 1);
        assert!(matches!(
            executions[0].state,
            State::Cancelled { run: Some(_), cause: CancelCause::User, .. }
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_for_a_while_costs_a_pause_and_no_slot() {
    let lab = Lab::new();
    let diary = Diary::of(&lab);
    let (_engine, _) = lab.engine("engine");
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let catch_up = |spec: &mut chronos_core::JobSpec| {
        spec.catch_up = CatchUpPolicy::run_all_capped(100).unwrap();
        spec.overlap = OverlapPolicy::Concurrent;
    };
    let often = lab
        .job("often", lab.every(5), catch_up, move || {
            counted.fetch_add(1, SeqCst);
            async {}
        })
        .await;
    // One run ends while the store is away, one outlasts that.
    let mut long = Vec::new();
    for (name, length) in [("one", 60), ("other", 90)] {
        let work = diary.work(seconds(length));
        long.push(lab.job(name, lab.once(1), |_| {}, work).await);
    }
    lab.until(Duration::from_millis(50_500)).await;
    lab.outage(true);
    // Less than a lease, so what runs goes on.
    lab.until(Duration::from_millis(70_500)).await;
    lab.outage(false);
    lab.until(Duration::from_millis(120_500)).await;
    assert_eq!(lab.statuses(&often).await, ["SUCCESS"; 24]);
    assert_eq!(runs.load(SeqCst), 24);
    for job in &long {
        assert_eq!(lab.statuses(job).await, ["SUCCESS"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_a_day_forward_is_caught_up() {
    let lab = Lab::new();
    let (_engine, _) = lab.engine("engine");
    let once = |spec: &mut chronos_core::JobSpec| spec.catch_up = CatchUpPolicy::RunOnce;
    let hourly = lab.job("hourly", lab.every(3_600), once, || async {}).await;
    lab.until(seconds(100)).await;
    lab.clock.step(86_400);
    lab.until(seconds(120)).await;
    assert_eq!(lab.statuses(&hourly).await, ["SUCCESS"]);
    let audit = lab.store.audit(0, 1_000).await.unwrap();
    let stood_for = audit.iter().find_map(|event| match &event.decision {
        Decision::Fired { instead_of, .. } => *instead_of,
        _ => None,
    });
    assert_eq!(stood_for.unwrap().count, Some(24));
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_forward_takes_no_run_from_its_worker() {
    // Whenever it is set between a heartbeat and the reaper's next look.
    for millis in (100_300..111_000).step_by(500) {
        let lab = Lab::new();
        let diary = Diary::of(&lab);
        let (_first, _) = lab.engine("first");
        let (_second, _) = lab.engine("second");
        let job = lab.job("job", lab.once(1), |_| {}, diary.work(seconds(300))).await;
        lab.until(Duration::from_millis(millis)).await;
        lab.clock.step(3_600);
        lab.until(seconds(400)).await;
        assert_eq!(lab.statuses(&job).await, ["SUCCESS"], "set at {millis} ms");
        assert_eq!(diary.entries().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_back_fires_nothing_twice() {
    let lab = Lab::new();
    let (_engine, _) = lab.engine("engine");
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let count = move || {
        counted.fetch_add(1, SeqCst);
        async {}
    };
    let overlap = |spec: &mut chronos_core::JobSpec| spec.overlap = OverlapPolicy::Concurrent;
    let job = lab.job("job", lab.every(60), overlap, count).await;
    lab.until(seconds(630)).await;
    assert_eq!(runs.load(SeqCst), 10);
    lab.clock.step(-3_600);
    lab.until(seconds(630 + 3_600)).await;
    assert_eq!(runs.load(SeqCst), 10);
    // The clock shows again what it showed; slots go on where they had come to.
    lab.until(seconds(630 + 3_600 + 60)).await;
    assert_eq!(lab.statuses(&job).await, ["SUCCESS"; 11]);
}

#[tokio::test(start_paused = true)]
async fn an_engine_sleeps_until_something_is_due() {
    let lab = Lab::new();
    let (_engine, _) = lab.engine("engine");
    let month = Duration::from_hours(30 * 24);
    let job = lab.job("job", lab.once(month.as_secs()), |_| {}, || async {}).await;
    let day = Duration::from_hours(24);
    for _ in 0..2 {
        let before = lab.ledger.lock().store_calls();
        lab.until(lab.clock.monotonic() + day).await;
        let calls = lab.ledger.lock().store_calls() - before;
        // Planner, dispatcher and reaper look at the wall clock once in ten seconds, since it may
        // have been set; no more than that.
        assert!(calls <= 3 * 8_640 + 10, "{calls} calls a day");
    }
    lab.clock.step(28 * 86_400 - 25);
    lab.until(2 * day + seconds(30)).await;
    assert_eq!(lab.statuses(&job).await, ["SUCCESS"]);
    let run = &lab.executions(&job).await[0];
    assert_eq!(run.run().unwrap().started_at, run.slot);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_answered_after_its_lease_is_handed_back() {
    let lab = Lab::new();
    let diary = Diary::of(&lab);
    let (_engine, link) = lab.engine("engine");
    let job = lab.job("job", lab.once(5), |_| {}, diary.work(seconds(2))).await;
    lab.store.fire_due(lab.now().after(seconds(5)), 9, None).await.unwrap();
    lab.until(seconds(1)).await;
    link.freeze(true);
    lab.until(seconds(6) + 2 * LEASE).await;
    link.freeze(false);
    lab.until(seconds(200)).await;
    assert_eq!(lab.counted("claims released"), 1);
    assert_eq!(lab.statuses(&job).await, ["SUCCESS"]);
    assert_eq!(diary.entries().len(), 1);
}
