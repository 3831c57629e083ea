//! Backfills inside a program: past slots run after all, at their pace, beside the schedule.

use chronos_engine::chronos_core::backfill::{Asked, Rate, State};

use super::{Book, Lab, secs, utc};

#[tokio::test(start_paused = true)]
async fn slots_of_a_pause_are_filled_in_beside_the_schedule() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots_taking(secs(5))).await.unwrap();
    lab.start().await.unwrap();
    lab.pause_job("beat").await.unwrap();
    lab.until("12:05:30").await;
    lab.resume_job("beat").await.unwrap();
    let asked = Asked { to: None, ..Asked::from(utc("2026-03-02T12:00:00Z").into()) };
    let begun = lab.backfill_job("beat", &asked).await.unwrap();
    assert_eq!(begun.total, 5);
    // Five runs of five seconds, one after the other, and none of them is in the way of the next slot.
    lab.until("12:06:10").await;
    let past = ["12:01", "12:02", "12:03", "12:04", "12:05", "12:06"];
    let past = past.map(|clock| format!("2026-03-02T{clock}:00Z"));
    assert_eq!(book.lines(), past);
    let done = lab.store().backfill(begun.id()).await.unwrap();
    assert!(matches!(done.state, State::Finished { .. }), "{done:?}");
    assert_eq!((done.counts.succeeded, done.counts.fired), (5, 5));
}

#[tokio::test(start_paused = true)]
async fn a_backfill_keeps_to_its_rate() {
    let lab = Lab::new();
    let book = Book::default();
    lab.register_interval("beat", secs(60), book.slots()).await.unwrap();
    lab.start().await.unwrap();
    lab.pause_job("beat").await.unwrap();
    lab.until("12:05:30").await;
    lab.resume_job("beat").await.unwrap();
    let rate = Rate { at_once: 9, per_minute: Some(6) };
    let asked = Asked { rate, ..Asked::from(utc("2026-03-02T12:00:00Z").into()) };
    lab.backfill_job("beat", &asked).await.unwrap();
    for (clock, slots) in [("12:05:31", 1), ("12:05:39", 1), ("12:05:41", 2), ("12:05:51", 3)] {
        lab.until(clock).await;
        assert_eq!(book.len(), slots, "{clock}");
    }
}
