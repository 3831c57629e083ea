//! Slots that nobody was there to fire, however many.

use chronos_engine::{CatchUpPolicy, NewJob, SchedulerConfig};

use super::{Book, Lab, secs, utc};

const THIRTY_YEARS: i64 = 30 * 365 * 86_400;

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_thirty_years_neither_stops_nor_floods_the_scheduler() {
    let lab = Lab::new();
    let mut books = Vec::new();
    for policy in
        [CatchUpPolicy::Skip, CatchUpPolicy::RunOnce, CatchUpPolicy::run_all_capped(20).unwrap()]
    {
        for kind in ["cron", "interval"] {
            let book = Book::default();
            let name = format!("{kind} {policy:?}");
            let job = NewJob::named(&name).catch_up(policy);
            let job = match kind {
                "cron" => job.cron("* * * * * *"),
                _ => job.every(secs(1)),
            };
            lab.register(job, book.slots()).await.unwrap();
            books.push((name, book));
        }
    }
    lab.start().await.unwrap();
    lab.clock.step(THIRTY_YEARS);
    tokio::time::sleep(secs(60)).await;
    for (name, book) in books {
        let lines = book.lines();
        let on_time = lines.iter().filter(|slot| slot.starts_with("2056"));
        assert!(on_time.count() >= 40, "{name} goes on: {lines:#?}");
        assert!(lines.len() < 100, "{name} ran {} times", lines.len());
        let next_run = lab.status(&name).next_run;
        assert!(next_run > Some(utc("2056-02-01T00:00:00Z")), "{name}: {next_run:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_capped_catch_up_of_decades_starts_with_the_oldest_and_then_goes_on() {
    let lab = Lab::at("2026-03-02T12:30:00Z");
    let book = Book::default();
    let capped = CatchUpPolicy::run_all_capped(20).unwrap();
    let job = NewJob::named("hourly").cron("0 0 * * * *").catch_up(capped);
    lab.register(job, book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.clock.step(THIRTY_YEARS);
    tokio::time::sleep(secs(40 * 60)).await;
    let lines = book.lines();
    assert_eq!(lines.len(), 21, "{lines:?}");
    assert_eq!(lines[0], "2026-03-02T13:00:00Z");
    assert_eq!(lines[19], "2026-03-03T08:00:00Z");
    assert!(lines[20].starts_with("2056-02"), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn missed_slots_are_skipped_and_counted_unless_asked_for() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    lab.until("12:05:30").await;
    lab.start().await.unwrap();
    lab.until("12:05:31").await;
    let status = lab.status("beat");
    assert_eq!((book.len(), status.skipped_count), (0, 5));
    assert_eq!(status.last_skip, Some((utc("2026-03-02T12:05:00Z"), "missed".into())));
    assert_eq!(status.next_run, Some(utc("2026-03-02T12:06:00Z")));
}

#[tokio::test(start_paused = true)]
async fn one_run_stands_for_all_missed_slots_under_run_once() {
    let lab = Lab::new();
    let book = Book::default();
    let job = NewJob::named("beat").every(secs(60)).catch_up(CatchUpPolicy::RunOnce);
    lab.register(job, book.slots()).await.unwrap();
    lab.until("12:05:30").await;
    lab.start().await.unwrap();
    lab.until("12:05:40").await;
    assert_eq!(book.lines(), ["2026-03-02T12:05:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_capped_catch_up_runs_the_oldest_in_order() {
    let lab = Lab::new();
    let book = Book::default();
    let capped = CatchUpPolicy::run_all_capped(3).unwrap();
    let job = NewJob::named("beat").every(secs(60)).catch_up(capped);
    lab.register(job, book.slots_taking(secs(1))).await.unwrap();
    lab.until("12:05:30").await;
    lab.start().await.unwrap();
    lab.until("12:05:50").await;
    let expected = ["2026-03-02T12:01:00Z", "2026-03-02T12:02:00Z", "2026-03-02T12:03:00Z"];
    assert_eq!(book.lines(), expected);
    assert_eq!(lab.status("beat").skipped_count, 2);
}

#[tokio::test(start_paused = true)]
async fn a_slot_within_the_grace_is_on_time() {
    for (grace, runs) in [(secs(10), 0), (secs(40), 1)] {
        let config = SchedulerConfig { misfire_grace: grace, ..SchedulerConfig::default() };
        let lab = Lab::with(config, "2026-03-02T12:00:00Z");
        let book = Book::default();
        lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
        lab.until("12:01:30").await;
        lab.start().await.unwrap();
        lab.until("12:01:40").await;
        assert_eq!(book.len(), runs, "with a grace of {grace:?}");
    }
}
