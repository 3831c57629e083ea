//! Message events: emitted in the step that fires, in one order for everyone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use chronos_core::message::{DedupeKey, Template};
use chronos_core::plan::Change;
use chronos_core::policy::CatchUpPolicy;
use chronos_core::store::{EventFilter, Request, Wake};
use chronos_core::{JobSpec, MessageEvent, Store};

use crate::bench::{Bench, after_end, at, every, job_id, once};

/// The job, which says its name and slot.
pub(crate) fn says(spec: JobSpec) -> JobSpec {
    let structured = serde_json::json!({ "of": "{{job_name}}", "missed": "{{missed_count}}" });
    let template = Template::new(Some("{{job_name}} at {{slot}}"), Some(&structured));
    spec.with_target(template.unwrap())
}

fn all() -> EventFilter {
    EventFilter::default()
}

/// Every message event that there is.
async fn said(store: &dyn Store) -> Vec<MessageEvent> {
    let page = store.message_events(&all(), 0, 10_000).await.unwrap();
    assert!(!page.more);
    page.events
}

fn texts(events: &[MessageEvent]) -> Vec<&str> {
    events.iter().map(|event| event.message.text.as_deref().unwrap()).collect()
}

fn sequences(events: &[MessageEvent]) -> Vec<u64> {
    events.iter().map(|event| event.sequence).collect()
}

pub(crate) async fn a_slot_that_fires_has_said_its_message(bench: &mut Bench) {
    let tags = ["blue", "red"];
    let spec = JobSpec { owner: "ada".into(), ..says(every("a", 10)).with_tags(tags) };
    let id = bench.create(spec).await.spec.id;
    assert_eq!((said(&**bench).await, bench.newest_message().await), (vec![], Ok(0)));
    let fired = bench.fire(11).await;
    assert_eq!(fired.planned[0].plan.messages.len(), 1);
    let row = bench.row(id).await;
    assert_eq!((row.status(), row.slot, row.finished_at()), ("SUCCESS", at(10), Some(at(11))));
    let events = said(&**bench).await;
    assert_eq!(events.len(), 1);
    let MessageEvent { sequence, message } = &events[0];
    assert_eq!((*sequence, message.id, message.job), (1, row.id, id));
    assert_eq!((&*message.actor, &*message.timezone), ("ada", "UTC"));
    assert_eq!((message.slot, message.occurred_at), (at(10), at(11)));
    assert_eq!(message.text.as_deref(), Some("a at 2026-11-16T00:00:10Z"));
    assert_eq!(message.structured.as_deref(), Some(r#"{"missed":"0","of":"a"}"#));
    assert_eq!(message.dedupe_key, DedupeKey::of(id, at(10), &row.trigger));
    assert_eq!((message.trace, &*message.tags), (row.trace_id(), &tags.map(Into::into)[..]));
    let job = bench.job(id).await.unwrap();
    assert_eq!((job.standing.tally.fired, job.standing.tally.succeeded), (1, 1));
    let kinds = bench.decisions().await;
    assert_eq!(kinds, ["schedule.created", "schedule.fired", "execution.succeeded"]);
    assert!(bench.take(11).await.is_empty(), "nobody has anything to run");
    bench.reopen().await;
    assert_eq!(said(&**bench).await, events);
}

pub(crate) async fn a_slot_that_does_not_fire_says_nothing(bench: &mut Bench) {
    let id = bench.create(says(every("a", 10))).await.spec.id;
    bench.fire(35).await;
    assert_eq!(texts(&said(&**bench).await), ["a at 2026-11-16T00:00:30Z"], "two were missed");
    bench.amend_job(id, Change::Pause { note: None, resume_at: None }, None, at(36)).await.unwrap();
    bench.fire(40).await;
    assert_eq!(said(&**bench).await.len(), 1, "one was paused");
    bench.amend_job(id, Change::Resume, None, at(41)).await.unwrap();
    bench.amend_job(id, Change::Pause { note: None, resume_at: None }, None, at(50)).await.unwrap();
    assert_eq!(said(&**bench).await.len(), 2, "what was due before a change fires before it");
}

pub(crate) async fn what_fires_at_once_is_said_in_order(bench: &mut Bench) {
    let cap = CatchUpPolicy::run_all_capped(3).unwrap();
    bench.create(JobSpec { catch_up: cap, ..says(every("a", 20)) }).await;
    bench.create(says(once("b", 45))).await;
    bench.fire(105).await;
    let said = said(&**bench).await;
    let of_a: Vec<_> = said.iter().filter(|event| event.message.job == job_id("a")).collect();
    let slots: Vec<_> = of_a.iter().map(|event| event.message.slot).collect();
    assert_eq!(slots, [at(20), at(40), at(60), at(100)]);
    assert_eq!(sequences(&said), [1, 2, 3, 4, 5]);
}

pub(crate) async fn a_fixed_delay_counts_from_what_was_said(bench: &mut Bench) {
    let id = bench.create(says(after_end("a", 10))).await.spec.id;
    bench.fire(13).await;
    assert_eq!(bench.job(id).await.unwrap().standing.next_slot, Some(at(23)));
    bench.fire(23).await;
    assert_eq!(said(&**bench).await.len(), 2);
}

pub(crate) async fn two_planners_say_each_slot_once(bench: &mut Bench) {
    for number in 0..20 {
        bench.create(says(every(&format!("j{number:02}"), 10))).await;
    }
    let plan = |store: Arc<dyn Store>| async move {
        for second in [10, 15, 20, 30] {
            for _ in 0..10 {
                store.fire_due(at(second), 3, None).await.unwrap();
                tokio::task::yield_now().await;
            }
        }
    };
    let (one, other) = (bench.handle(), bench.handle());
    let (one, other) = tokio::join!(tokio::spawn(plan(one)), tokio::spawn(plan(other)));
    one.unwrap();
    other.unwrap();
    let said = said(&**bench).await;
    let keys: BTreeSet<_> = said.iter().map(|event| event.message.dedupe_key).collect();
    assert_eq!((said.len(), keys.len()), (60, 60));
    assert_eq!(sequences(&said), (1..=60).collect::<Vec<_>>());
}

pub(crate) async fn a_run_by_hand_says_it_too(bench: &mut Bench) {
    let id = bench.create(says(every("a", 10))).await.spec.id;
    bench.fire(10).await;
    let runs = [bench.run_now(id, None, at(10)).await, bench.run_now(id, None, at(10)).await];
    for run in runs {
        assert_eq!(run.unwrap().status(), "SUCCESS");
    }
    let request = Request { id: [1; 16], digest: [2; 16] };
    let once = bench.run_now_once(id, request, None, at(11)).await.unwrap();
    let again = bench.run_now_once(id, request, None, at(12)).await.unwrap();
    assert_eq!((once.made, again.again), (again.made, true));
    let said = said(&**bench).await;
    let keys: BTreeSet<_> = said.iter().map(|event| event.message.dedupe_key).collect();
    assert_eq!((said.len(), keys.len()), (4, 4));
    assert_eq!(bench.job(id).await.unwrap().standing.next_slot, Some(at(20)));
}

pub(crate) async fn events_are_read_on_from_anywhere(bench: &mut Bench) {
    for name in ["a", "b", "c"] {
        bench.create(says(every(name, 10))).await;
    }
    for second in (10..=100).step_by(10) {
        bench.fire(second).await;
    }
    let all_of_them = said(&**bench).await;
    assert_eq!(all_of_them.len(), 30);
    for (start, limit) in [(0, 1), (0, 7), (3, 4), (29, 9), (0, 30), (0, 31)] {
        let (mut cursor, mut read) = (start, Vec::new());
        loop {
            let page = bench.message_events(&all(), cursor, limit).await.unwrap();
            assert!(page.events.len() <= limit && page.cursor >= cursor);
            assert_eq!(page.more, page.cursor < 30);
            read.extend(page.events);
            cursor = page.cursor;
            if !page.more {
                break;
            }
        }
        assert_eq!(read[..], all_of_them[usize::try_from(start).unwrap()..]);
    }
    for after in [30, 31, u64::from(u32::MAX)] {
        let page = bench.message_events(&all(), after, 9).await.unwrap();
        assert_eq!((page.events.len(), page.cursor, page.more), (0, after, false));
    }
    let nothing = bench.message_events(&all(), 3, 0).await.unwrap();
    assert_eq!((nothing.events.len(), nothing.cursor, nothing.more), (0, 3, true));
    assert_eq!(bench.newest_message().await, Ok(30));
}

pub(crate) async fn filters_narrow_what_is_read_and_not_how_far(bench: &mut Bench) {
    for (name, owner, tags) in
        [("a", "ada", &["red"][..]), ("b", "ada", &[]), ("c", "bob", &["red", "blue"])]
    {
        let spec = says(every(name, 10)).with_tags(tags.iter().copied());
        bench.create(JobSpec { owner: owner.into(), ..spec }).await;
    }
    for second in [10, 20, 30] {
        bench.fire(second).await;
    }
    let (a, b) = (Some(job_id("a")), Some(job_id("b")));
    let (ada, bob, red) = (Some("ada".into()), Some("bob".into()), Some("red".into()));
    for (filter, found) in [
        (EventFilter { job: a, ..all() }, 3),
        (EventFilter { owner: ada.clone(), ..all() }, 6),
        (EventFilter { tag: red.clone(), ..all() }, 6),
        (EventFilter { owner: ada.clone(), tag: red.clone(), ..all() }, 3),
        (EventFilter { job: a, owner: bob.clone(), ..all() }, 0),
        (EventFilter { job: b, owner: ada, tag: red }, 0),
        (EventFilter { owner: Some("ad".into()), ..all() }, 0),
        (EventFilter { owner: Some("ada' OR true".into()), ..all() }, 0),
    ] {
        let page = bench.message_events(&filter, 0, 100).await.unwrap();
        assert_eq!(page.events.len(), found, "{filter:?}");
        assert!(page.events.iter().all(|event| filter.matches(event)));
        assert_eq!((page.cursor, page.more), (9, false), "{filter:?}");
        let mut one_by_one = Vec::new();
        let mut cursor = 0;
        while cursor < 9 {
            let page = bench.message_events(&filter, cursor, 1).await.unwrap();
            assert!(page.cursor > cursor);
            one_by_one.extend(page.events);
            cursor = page.cursor;
        }
        assert_eq!(one_by_one, page.events);
    }
}

pub(crate) async fn what_was_said_outlives_its_job(bench: &mut Bench) {
    let id = bench.create(says(every("a", 10))).await.spec.id;
    bench.fire(10).await;
    bench.delete_job(id, at(11)).await.unwrap();
    bench.reopen().await;
    assert_eq!(texts(&said(&**bench).await), ["a at 2026-11-16T00:00:10Z"]);
    let page = bench.message_events(&EventFilter { job: Some(id), ..all() }, 0, 9).await.unwrap();
    assert_eq!(page.events.len(), 1);
}

pub(crate) async fn old_events_are_forgotten_and_numbers_are_not_used_again(bench: &mut Bench) {
    bench.create(says(every("a", 10))).await;
    for second in (10..=50).step_by(10) {
        bench.fire(second).await;
    }
    assert_eq!(bench.prune_messages(at(10), 9).await, Ok(0));
    assert_eq!(bench.prune_messages(at(35), 2).await, Ok(2));
    assert_eq!(bench.prune_messages(at(35), 2).await, Ok(1));
    assert_eq!(sequences(&said(&**bench).await), [4, 5]);
    assert_eq!(bench.prune_messages(at(999), 9).await, Ok(1), "the newest stays");
    bench.reopen().await;
    assert_eq!(bench.prune_messages(at(999), 9).await, Ok(0));
    bench.fire(60).await;
    let page = bench.message_events(&all(), 2, 9).await.unwrap();
    assert_eq!((sequences(&page.events), page.cursor), (vec![5, 6], 6));
}

pub(crate) async fn long_messages_are_said_in_several_steps(bench: &mut Bench) {
    let text = "{{slot}}".to_owned() + &"x".repeat(Template::MAX_BYTES - 8);
    let template = Template::new(Some(&text), None).unwrap();
    let jobs = 400;
    for number in 0..jobs {
        bench.create(once(&format!("j{number}"), 10).with_target(template.clone())).await;
    }
    let first = bench.fire_due(at(10), 1_000, None).await.unwrap();
    assert!((200..jobs).contains(&first.planned.len()), "{}", first.planned.len());
    assert_eq!(first.next, Some(at(10)));
    bench.fire_due(at(10), 1_000, None).await.unwrap();
    let (mut cursor, mut read) = (0, 0);
    while cursor < jobs as u64 {
        let page = bench.message_events(&all(), cursor, 1_000).await.unwrap();
        assert!(page.events.len() < jobs, "no page is too long");
        (cursor, read) = (page.cursor, read + page.events.len());
    }
    assert_eq!(read, jobs);
}

pub(crate) async fn whoever_watches_hears_of_messages(bench: &mut Bench) {
    let heard: Arc<AtomicU32> = Arc::default();
    bench.create(says(every("a", 10))).await;
    bench.create(every("b", 10)).await;
    let count = heard.clone();
    bench.watch(Arc::new(move |wake| {
        count.fetch_add(u32::from(wake == Wake::Message), Ordering::SeqCst);
    }));
    bench.fire(10).await;
    assert_eq!(heard.load(Ordering::SeqCst), 1);
    assert_eq!(bench.newest_message().await, Ok(1));
    bench.take(10).await;
    assert_eq!(heard.load(Ordering::SeqCst), 1, "nothing else is a message");
}
