//! What a run is given: its slot, its token, checkpoints, a log and a key.

use std::collections::BTreeSet;

use chronos_engine::{JobContext, NewJob, Trigger};

use super::{Book, Lab, secs, text, utc};

#[tokio::test(start_paused = true)]
async fn a_run_knows_what_it_is_for() {
    let lab = Lab::new();
    let book = Book::default();
    let noted = book.clone();
    lab.register_interval("beat", secs(60), move |context: JobContext| {
        let slot = text(context.scheduled_for());
        let trigger = match context.trigger() {
            Trigger::Schedule => "schedule",
            Trigger::CatchUp => "catch-up",
            Trigger::Manual { .. } => "manual",
            Trigger::Notice(_) => "notice",
            Trigger::Backfill { .. } => "backfill",
        };
        noted.note(format!("{} {slot} {trigger} {}", context.job_name(), context.attempt()));
        assert!(!context.is_cancelled());
        async {}
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:00").await;
    let id = lab.run_job("beat").await.unwrap();
    lab.until("12:01:01").await;
    let expected =
        ["beat 2026-03-02T12:01:00Z schedule 1", "beat 2026-03-02T12:01:00.005Z manual 1"];
    assert_eq!(book.lines(), expected);
    assert_eq!(lab.history("beat", 1).await.unwrap()[0].id, id);
}

/// A job that goes on from its checkpoint, three steps a run, and fails in between.
async fn climb(context: JobContext) -> Result<(), String> {
    let kept = context.load_checkpoint().await.map_err(|error| error.to_string())?;
    let from = kept.map_or(0, |bytes| bytes[0]);
    context.log(format!("from step {from}"));
    context.save_checkpoint([from + 3]).await.map_err(|error| error.to_string())?;
    if from == 3 { Err("slipped".into()) } else { Ok(()) }
}

#[tokio::test(start_paused = true)]
async fn checkpoints_and_logs_survive_between_runs_and_attempts() {
    let lab = Lab::new();
    let job = NewJob::named("climb").every(secs(600)).retries(1);
    lab.register(job, climb).await.unwrap();
    lab.start().await.unwrap();
    lab.until("12:30:30").await;
    let history = lab.executions("climb").await;
    let seen: Vec<_> = history
        .iter()
        .map(|execution| {
            let log = execution.run().and_then(|run| run.log.as_deref());
            (execution.status(), execution.attempt, log.unwrap_or_default())
        })
        .collect();
    let expected = [
        ("SUCCESS", 1, "from step 0\n"),
        ("FAILED", 1, "from step 3\n"),
        ("SUCCESS", 2, "from step 6\n"),
        ("SUCCESS", 1, "from step 9\n"),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn the_checkpoint_of_a_stopped_run_is_where_the_next_one_goes_on() {
    let lab = Lab::new();
    let book = Book::default();
    let noted = book.clone();
    lab.register_interval("walk", secs(60), move |context: JobContext| {
        let book = noted.clone();
        async move {
            let kept = context.load_checkpoint().await.unwrap().unwrap_or_default();
            book.note(format!("from {}", String::from_utf8(kept).unwrap()));
            context.token().cancelled().await;
            context.save_checkpoint("half-way").await.unwrap();
        }
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:01:10").await;
    let store = lab.store().clone();
    lab.shutdown().await.unwrap();

    let next = Lab::over(&store, "2026-03-02T12:01:30Z");
    let noted = book.clone();
    next.register_interval("walk", secs(60), move |context: JobContext| {
        let book = noted.clone();
        async move {
            let kept = context.load_checkpoint().await.unwrap().unwrap_or_default();
            book.note(format!("from {}", String::from_utf8(kept).unwrap()));
        }
    })
    .await
    .unwrap();
    next.start().await.unwrap();
    next.until("12:02:30").await;
    assert_eq!(book.lines(), ["from ", "from half-way"]);
}

#[tokio::test(start_paused = true)]
async fn a_log_is_kept_up_to_its_bound_and_says_that_it_was_cut() {
    let lab = Lab::new();
    lab.register_one_shot(
        "chatty",
        utc("2026-03-02T12:00:01Z"),
        |context: JobContext| async move {
            for line in 0..100_000 {
                context.log(format!("line {line} é"));
            }
        },
    )
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:00:01").await;
    let run = lab.history("chatty", 1).await.unwrap().remove(0);
    let log = run.run().and_then(|run| run.log.clone()).unwrap();
    assert!(log.starts_with("line 0 é\nline 1 é\n"));
    assert!(log.ends_with("\n[truncated]"));
    assert!((64 * 1024 - 4..64 * 1024 + 16).contains(&log.len()), "{}", log.len());
}

#[tokio::test(start_paused = true)]
async fn logs_are_kept_of_failures_and_panics_too() {
    let lab = Lab::new();
    lab.register_one_shot("sad", utc("2026-03-02T12:00:01Z"), |context: JobContext| async move {
        context.log("so far so good");
        assert!(context.is_cancelled(), "on purpose");
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:00:01").await;
    let run = lab.history("sad", 1).await.unwrap().remove(0);
    assert_eq!(run.status(), "FAILED");
    assert_eq!(run.run().and_then(|run| run.log.as_deref()), Some("so far so good\n"));
}

#[tokio::test(start_paused = true)]
async fn the_idempotency_key_is_one_for_all_attempts_at_a_slot_and_another_for_the_next() {
    let lab = Lab::new();
    let book = Book::default();
    let noted = book.clone();
    let job = NewJob::named("pay").every(secs(600)).retries(2);
    lab.register(job, move |context: JobContext| {
        noted.note(context.idempotency_key());
        async { Err::<(), _>("declined") }
    })
    .await
    .unwrap();
    lab.start().await.unwrap();
    lab.until("12:20:00").await;
    let keys = book.lines();
    assert_eq!(keys.len(), 4, "three attempts and the next slot");
    assert!(keys[0] == keys[1] && keys[1] == keys[2], "{keys:?}");
    assert_ne!(keys[2], keys[3]);
    let executions = lab.executions("pay").await;
    let ids: BTreeSet<_> = executions.iter().map(|run| run.id).collect();
    assert_eq!(ids.len(), 5, "each attempt, also the one that waits, has an id of its own");
}
