//! Restarts and kills: the cursor holds, nothing is left out, and what is out of reach stays so.

use std::time::Duration;

use fastrand::Rng;
use serde_json::json;

use super::{SIGNING, Target, make, subscription, subscription_when};
use crate::command;
use crate::crash::rekeying::{contents, key};
use crate::rest::events::{run, says};
use crate::rest::text;
use crate::serving::{Serving, say};

const EVENTS: usize = 120;
const KILLS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cursor_outlives_kills_and_no_event_is_left_out() {
    let seed = std::env::var("CHRONOS_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut dice = Rng::with_seed(seed.unwrap_or_else(|| fastrand::u64(..)));
    say(&format!("replay the dice with CHRONOS_CRASH_SEED={}", dice.get_seed()));
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let target = Target::answering(|_| {
        // Slow enough for kills to meet it.
        std::thread::sleep(Duration::from_millis(4));
        200_u16.into()
    })
    .await;
    let (mut daemon, mut at) = Serving::over(&data, &[]).await;
    let mut asked = subscription(&target);
    asked["signing_secret"] = json!(SIGNING);
    let made = make(at, "/subscriptions", &asked).await;
    let job = make(at, "/jobs/recurring", &says("report")).await;
    for kill in 0..KILLS {
        for _ in 0..EVENTS / KILLS {
            run(at, text(&job["id"])).await;
        }
        tokio::time::sleep(Duration::from_millis(dice.u64(..60))).await;
        if kill % 2 == 0 {
            daemon.kill();
        } else {
            daemon.stop().await;
        }
        (daemon, at) = Serving::over(&data, &[]).await;
    }
    let all = EVENTS as u64;
    let told = subscription_when(at, &made["id"], |it| it["cursor"] == all).await;
    let came = target.sequences();
    say(&format!("{} requests for {EVENTS} events", came.len()));
    // Each comes again only where a process ended before its taking was on record, right behind itself.
    let mut distinct = came.clone();
    distinct.dedup();
    assert_eq!(distinct, (1..=all).collect::<Vec<_>>(), "{came:?}");
    assert!(came.len() <= EVENTS + KILLS, "{came:?}");
    assert_eq!(told["delivered"], all);
    assert!(target.came().iter().all(|came| came.is_signed_with(SIGNING)));
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_out_of_reach_by_now_is_not_called() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let target = Target::open().await;
    let (mut daemon, at) = Serving::over(&data, &[]).await;
    let mut asked = subscription(&target);
    asked["max_retry"] = json!(1);
    let made = make(at, "/subscriptions", &asked).await;
    let job = make(at, "/jobs/recurring", &says("report")).await;
    run(at, text(&job["id"])).await;
    target.until(1).await;
    daemon.stop().await;
    let listen = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
    let mut daemon = Serving::spawn(&mut command(&listen));
    let at = daemon.listening().await;
    run(at, text(&job["id"])).await;
    let told = subscription_when(at, &made["id"], |it| it["status"] == "paused").await;
    let error = text(&told["last_error"]);
    assert!(error.contains("127.0.0.1"), "{error}");
    assert_eq!((target.sequences(), &told["cursor"]), (vec![1], &json!(1)));
    daemon.stop().await;
}

#[tokio::test]
async fn secrets_of_subscriptions_outlive_their_key_and_are_kept_in_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (old, new) = (key(directory.path(), "old.key", 1), key(directory.path(), "new.key", 2));
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let target = Target::open().await;
    let (mut daemon, at) = Serving::over(&data, &["--secret-key-file", old]).await;
    let mut asked = subscription(&target);
    asked["signing_secret"] = json!(SIGNING);
    asked["headers"] = json!({"X-Key": {"secret": "hunter2 of many"}});
    make(at, "/subscriptions", &asked).await;
    let job = make(at, "/jobs/recurring", &says("report")).await;
    daemon.stop().await;
    let both = ["--secret-key-file", new, "--old-secret-key-file", old];
    let (mut daemon, _) = Serving::over(&data, &both).await;
    daemon.line("the old ones can go").await;
    daemon.stop().await;
    let (mut daemon, at) = Serving::over(&data, &["--secret-key-file", new]).await;
    run(at, text(&job["id"])).await;
    let came = target.until(1).await.remove(0);
    assert!(came.is_signed_with(SIGNING));
    assert_eq!(came.header("x-key"), "hunter2 of many");
    daemon.stop().await;
    let kept = contents(&data);
    let holds = |text: &str| kept.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(holds("X-Key") && !holds("hunter2 of many") && !holds(SIGNING));
}
