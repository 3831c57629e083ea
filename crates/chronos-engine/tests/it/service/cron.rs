//! Cron schedules and the zones they are read in.

use chronos_engine::{JitterConfig, NewJob, OverlapPolicy, SchedulerConfig};

use super::{Book, Lab, idle, secs, text, utc};

/// Expression, zone, and the slots that follow Monday 2 March 2026, noon.
const SLOTS: &[(&str, &str, [&str; 2])] = &[
    ("0 0 * * * *", "UTC", ["2026-03-02T13:00:00Z", "2026-03-02T14:00:00Z"]),
    ("0 0 1 * * *", "UTC", ["2026-03-03T01:00:00Z", "2026-03-04T01:00:00Z"]),
    ("0 0 2 * * 0", "UTC", ["2026-03-08T02:00:00Z", "2026-03-15T02:00:00Z"]),
    ("0 0 2 * * SUN", "UTC", ["2026-03-08T02:00:00Z", "2026-03-15T02:00:00Z"]),
    ("0 0 2 * * 7", "UTC", ["2026-03-08T02:00:00Z", "2026-03-15T02:00:00Z"]),
    ("0 0 3 1 * *", "UTC", ["2026-04-01T03:00:00Z", "2026-05-01T03:00:00Z"]),
    ("0 0 3 1 JAN,DEC *", "UTC", ["2026-12-01T03:00:00Z", "2027-01-01T03:00:00Z"]),
    ("*/10 * * * * *", "UTC", ["2026-03-02T12:00:10Z", "2026-03-02T12:00:20Z"]),
    ("0 */15 * * * *", "UTC", ["2026-03-02T12:15:00Z", "2026-03-02T12:30:00Z"]),
    ("59 59 23 31 12 *", "UTC", ["2026-12-31T23:59:59Z", "2027-12-31T23:59:59Z"]),
    ("30 9 * * 1-5", "UTC", ["2026-03-03T09:30:00Z", "2026-03-04T09:30:00Z"]),
    ("0 0 9 * * *", "Europe/Berlin", ["2026-03-03T08:00:00Z", "2026-03-04T08:00:00Z"]),
    ("0 0 9 * * *", "Asia/Kolkata", ["2026-03-03T03:30:00Z", "2026-03-04T03:30:00Z"]),
    ("0 0 9 8 3 *", "America/New_York", ["2026-03-08T13:00:00Z", "2027-03-08T14:00:00Z"]),
];

#[tokio::test(start_paused = true)]
async fn expressions_name_the_slots_that_people_expect() {
    let lab = Lab::new();
    for (number, (expression, zone, expected)) in SLOTS.iter().enumerate() {
        let name = format!("job {number}");
        let job = NewJob::named(&name).cron(*expression).timezone(*zone);
        lab.register(job, idle()).await.unwrap();
        let coming = lab.preview_job(&name, 2).await.unwrap();
        let coming: Vec<_> = coming.iter().map(|run| run.nominal.to_string()).collect();
        assert_eq!(coming, expected, "{expression} in {zone}");
        assert_eq!(lab.status(&name).next_run, Some(utc(expected[0])));
        assert_eq!(lab.status(&name).cron_expr, *expression);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_at_its_slots_and_at_no_other_time() {
    let lab = Lab::new();
    let book = Book::default();
    let clock = lab.clock.clone();
    let (overlap, jitter) = (OverlapPolicy::Skip, JitterConfig::none());
    let noted = book.clone();
    lab.register_job("beat", "*/10 * * * * *", Some("Europe/Berlin"), overlap, jitter, move || {
        noted.note(text(clock.now_utc()));
        async {}
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:00:30").await;
    let expected = ["2026-03-02T12:00:10Z", "2026-03-02T12:00:20Z", "2026-03-02T12:00:30Z"];
    assert_eq!(book.lines(), expected);
}

#[tokio::test(start_paused = true)]
async fn jobs_without_a_zone_use_the_default_one() {
    let config = SchedulerConfig {
        default_timezone: "America/New_York".into(),
        ..SchedulerConfig::default()
    };
    let lab = Lab::with(config, "2026-03-02T12:00:00Z");
    lab.add_cron_job("theirs", "0 0 9 * * *", None, |_| async {}).await.unwrap();
    lab.add_cron_job("own", "0 0 9 * * *", Some("UTC"), |_| async {}).await.unwrap();
    assert_eq!(lab.status("theirs").next_run, Some(utc("2026-03-02T14:00:00Z")));
    assert_eq!(lab.status("own").next_run, Some(utc("2026-03-03T09:00:00Z")));
}

#[tokio::test(start_paused = true)]
async fn a_fixed_time_follows_the_wall_clock_through_both_changes_of_the_year() {
    // 09:00 in Berlin is 08:00 UTC in winter and 07:00 in summer.
    for (start, slots) in [
        ("2026-03-28T07:00:00Z", ["2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z"]),
        ("2026-10-24T06:00:00Z", ["2026-10-24T07:00:00Z", "2026-10-25T08:00:00Z"]),
    ] {
        let lab = Lab::at(start);
        let book = Book::default();
        let job = NewJob::named("nine").cron("0 0 9 * * *").timezone("Europe/Berlin");
        lab.register(job, book.slots()).await.unwrap();
        lab.start().await.unwrap();
        lab.until(slots[1]).await;
        assert_eq!(book.lines(), slots);
    }
}

#[tokio::test(start_paused = true)]
async fn a_fixed_time_in_the_repeated_hour_runs_once() {
    // In Berlin 02:30 comes twice on this night, at 00:30 and at 01:30 UTC.
    let lab = Lab::at("2026-10-25T00:00:00Z");
    let book = Book::default();
    let job = NewJob::named("night").cron("0 30 2 * * *").timezone("Europe/Berlin");
    lab.register(job, book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:00:00").await;
    assert_eq!(book.lines(), ["2026-10-25T00:30:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_fixed_time_in_the_skipped_hour_runs_once_right_after_it() {
    // In Berlin the clocks go from 02:00 to 03:00 at 01:00 UTC.
    let lab = Lab::at("2026-03-29T00:00:00Z");
    let book = Book::default();
    let job = NewJob::named("night").cron("0 30 2 * * *").timezone("Europe/Berlin");
    lab.register(job, book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:00:00").await;
    assert_eq!(book.lines(), ["2026-03-29T01:00:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn intervals_keep_their_phase_and_one_time_jobs_run_once() {
    let lab = Lab::new();
    let (beat, once) = (Book::default(), Book::default());
    lab.register_interval("beat", secs(90), beat.slots_taking(secs(40))).await.unwrap();
    lab.register_one_shot("once", utc("2026-03-02T12:01:00Z"), once.slots()).await.unwrap();
    assert_eq!(lab.status("beat").cron_expr, "every 90 seconds");
    lab.start().await.unwrap();
    lab.until("12:05:00").await;
    let expected = ["2026-03-02T12:01:30Z", "2026-03-02T12:03:00Z", "2026-03-02T12:04:30Z"];
    assert_eq!(beat.lines(), expected);
    assert_eq!(once.lines(), ["2026-03-02T12:01:00Z"]);
    assert_eq!(lab.status("once").next_run, None);
}

#[tokio::test(start_paused = true)]
async fn a_delay_counts_from_the_end_of_the_run_before_and_shows_its_next_slot() {
    let lab = Lab::new();
    let book = Book::default();
    let job = NewJob::named("sweep").after_end(secs(60));
    lab.register(job, book.slots_taking(secs(20))).await.unwrap();
    assert_eq!(lab.status("sweep").next_run, Some(utc("2026-03-02T12:01:00Z")));
    lab.start().await.unwrap();
    lab.until("12:01:10").await;
    assert_eq!(lab.status("sweep").next_run, None, "the end of the run will tell");
    lab.until("12:01:30").await;
    assert_eq!(lab.status("sweep").next_run, Some(utc("2026-03-02T12:02:20Z")));
    lab.until("12:02:20").await;
    assert_eq!(book.lines(), ["2026-03-02T12:01:00Z", "2026-03-02T12:02:20Z"]);
}

#[tokio::test(start_paused = true)]
async fn bounds_hold_back_and_end_a_schedule() {
    let lab = Lab::new();
    let (bounded, thrice) = (Book::default(), Book::default());
    let every_minute = |name| NewJob::named(name).cron("0 * * * * *");
    let job = every_minute("bounded")
        .start_at(utc("2026-03-02T12:02:00Z"))
        .end_at(utc("2026-03-02T12:03:00Z"));
    lab.register(job, bounded.slots()).await.unwrap();
    lab.register(every_minute("thrice").max_runs(3), thrice.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:10:00").await;
    assert_eq!(bounded.lines(), ["2026-03-02T12:02:00Z", "2026-03-02T12:03:00Z"]);
    assert_eq!(thrice.len(), 3);
    assert_eq!(lab.status("thrice").next_run, None);
}
