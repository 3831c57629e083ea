//! Following message events in a program: whoever goes away and comes back gets every one, once, in order.

use std::time::Duration;

use chronos_engine::chronos_core::store::EventFilter;
use chronos_engine::{NewJob, SchedulerConfig, Template};

use super::{Lab, secs};

fn tick(name: &str) -> NewJob {
    NewJob::named(name).every(secs(1)).message(Template::new(Some("{{slot}}"), None).unwrap())
}

#[tokio::test(start_paused = true)]
async fn what_is_said_is_heard_at_once_and_counted() {
    let lab = Lab::new();
    lab.schedule(tick("tick")).await.unwrap();
    let mut events = lab.events().follow_new(EventFilter::default()).await.unwrap();
    lab.start().await.unwrap();
    for number in 1..=3 {
        let page = events.next(10).await.unwrap();
        let said: Vec<_> = page.events.iter().map(|event| event.sequence).collect();
        assert_eq!(said, [number]);
    }
    lab.run_job("tick").await.unwrap();
    assert_eq!(events.next(10).await.unwrap().events.len(), 1);
    let status = lab.status("tick");
    assert_eq!((status.success_count, status.run_count, status.active_runs), (4, 4, 0));
    lab.shutdown().await.unwrap();
    let none = events.next_within(10, secs(5)).await.unwrap();
    assert_eq!((none.events.len(), none.cursor), (0, 4));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_leaves_a_thousand_times_gets_each_event_once() {
    let lab = Lab::new();
    for name in ["a", "b", "c"] {
        lab.schedule(tick(name)).await.unwrap();
    }
    lab.start().await.unwrap();
    let (mut cursor, mut read) = (0, Vec::new());
    let mut chance = 7_u64;
    for _ in 0..1_000 {
        // Another reader each time, which knows nothing but the cursor and is cut off at some instant.
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (patience, limit) = (chance >> 54, 1 + (chance >> 40) % 4);
        let mut reader = lab.events().follow(EventFilter::default(), cursor);
        let limit = usize::try_from(limit).unwrap();
        let page = tokio::time::timeout(Duration::from_millis(patience), reader.next(limit)).await;
        if let Ok(page) = page {
            let page = page.unwrap();
            read.extend(page.events.iter().map(|event| event.sequence));
            cursor = page.cursor;
        }
    }
    assert!(read.len() > 500, "{}", read.len());
    assert_eq!(read, (1..=read.len() as u64).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn whoever_is_ahead_of_the_log_keeps_nobody_else_from_hearing() {
    let lab = Lab::new();
    lab.schedule(tick("tick")).await.unwrap();
    // As one who read a log that is gone.
    let mut ahead = lab.events().follow(EventFilter::default(), 1_000);
    assert!(ahead.next_within(10, secs(1)).await.unwrap().events.is_empty());
    let mut events = lab.events().follow(EventFilter::default(), 0);
    assert!(events.next_within(10, secs(1)).await.unwrap().events.is_empty());
    lab.start().await.unwrap();
    let mut said = Vec::new();
    while said.len() < 3 {
        let page = events.next_within(10, secs(5)).await.unwrap();
        assert!(!page.events.is_empty(), "what is said is heard");
        said.extend(page.events.iter().map(|event| event.sequence));
    }
    assert_eq!(said[..3], [1, 2, 3]);
    assert!(ahead.next_within(10, secs(5)).await.unwrap().events.is_empty());
    lab.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn events_that_are_too_old_are_forgotten() {
    let config = SchedulerConfig { keep_messages: Some(secs(7_200)), ..SchedulerConfig::default() };
    let lab = Lab::with(config, "2026-03-02T12:00:00Z");
    let template = Template::new(Some("x"), None).unwrap();
    let hourly = NewJob::named("hourly").every(secs(1_800)).message(template);
    lab.schedule(hourly).await.unwrap();
    lab.start().await.unwrap();
    lab.until("18:10:00").await;
    let page = lab.store().message_events(&EventFilter::default(), 0, 100).await.unwrap();
    let first = page.events[0].sequence;
    assert!((7..10).contains(&first), "{first}");
    assert_eq!(page.cursor, 12);
}

#[tokio::test(start_paused = true)]
async fn readers_of_every_speed_and_taste_get_what_they_asked_for() {
    let lab = Lab::new();
    for number in 0..20 {
        lab.schedule(tick(&format!("j{number:02}"))).await.unwrap();
    }
    let job = lab.store().job_named("", "j07").await.unwrap().unwrap().spec.id;
    let only = EventFilter { job: Some(job), ..EventFilter::default() };
    lab.start().await.unwrap();
    let events = 20 * 400;
    let reader = |filter: EventFilter, pause: u64, limit: usize, wanted: usize| {
        let mut reader = lab.events().follow(filter, 0);
        tokio::spawn(async move {
            let mut read = Vec::new();
            while read.len() < wanted {
                let page = reader.next(limit).await.unwrap();
                assert!(page.events.len() <= limit);
                read.extend(page.events.iter().map(|event| (event.sequence, event.message.job)));
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            read
        })
    };
    // Some keep up, some fall behind what is kept in memory, but not behind what the store keeps.
    let all: Vec<_> = [(0, 1_000), (0, 3), (900, 64), (7_000, 64), (100_000, 2_000)]
        .map(|(pause, limit)| reader(EventFilter::default(), pause, limit, events))
        .into();
    let few: Vec<_> =
        [(0, 1), (2_500, 9)].map(|(pause, limit)| reader(only.clone(), pause, limit, 400)).into();
    let mut whole = Vec::new();
    for reader in all {
        let mut read = reader.await.unwrap();
        read.truncate(events);
        let sequences: Vec<u64> = read.iter().map(|(sequence, _)| *sequence).collect();
        assert_eq!(sequences, (1..=events as u64).collect::<Vec<_>>());
        whole = read;
    }
    let of_job: Vec<_> = whole.into_iter().filter(|(_, of)| *of == job).collect();
    for reader in few {
        let read = reader.await.unwrap();
        let common = read.len().min(of_job.len());
        assert_eq!(read[..common], of_job[..common]);
        assert!(common > 390, "{common}");
    }
    lab.shutdown().await.unwrap();
}
