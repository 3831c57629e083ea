//! What is indexed, and that it is the same however it was read.

use std::time::Duration;

use chronos_core::execution::CancelCause;
use chronos_core::plan::Change;
use chronos_core::{JobId, Store};
use chronos_history::search::{Hit, Index, Indexer, Kind};
use chronos_history::{KeepLevels, KeepRecords, Projector, Shelf, prune_levels};
use proptest::prelude::*;
use tempfile::tempdir;

use super::world::{
    End, after, all, count, create, create_message, memory, read_all, request, tell, work,
};
use crate::world::at;

/// Four hours in which two jobs run, one fails for a while, one is paused and one says something.
async fn history(store: &dyn Store) -> Vec<JobId> {
    let jobs = vec![
        create(store, 1, "invoice-sync", "ann").await,
        create(store, 2, "report mailer", "bob").await,
        create_message(store, 3, "soup", "bob").await,
    ];
    for slot in 0..24 {
        let second = slot * 600;
        let node = if slot < 12 { "alpha-1" } else { "beta-2" };
        let invoice = jobs[0];
        work(store, second, node, |job| match (job == invoice, slot) {
            (true, 4..8) => End {
                body: Some((503, b"{\"detail\": \"upstream queue drained\"}".to_vec())),
                ..End::failed("connection reset by peer")
            },
            (true, 8) => End::failed("peer reset; no connection"),
            (false, 10) => {
                End { log: Some("sent 7 letters\nwith stamps".into()), ..End::success() }
            }
            _ => End::success(),
        })
        .await;
        if slot == 13 {
            let note = Some("vacation of the printer".into());
            let pause = Change::Pause { note, resume_at: None };
            store.amend_job(jobs[1], pause, None, after(second + 60)).await.unwrap();
        }
        if slot == 20 {
            let run = store.run_now(jobs[0], None, after(second + 60)).await.unwrap();
            store.cancel(run.id, CancelCause::User, after(second + 61)).await.unwrap();
        }
    }
    jobs
}

#[tokio::test]
async fn everything_that_happened_is_found_by_its_words() {
    let (store, directory) = (memory(), tempdir().unwrap());
    let jobs = history(store.as_ref()).await;
    let indexer = read_all(&store, directory.path()).await;
    let index = indexer.index();
    let by_id = format!("job:{} status:failed", jobs[0]);
    for (query, hits) in [
        // Words anywhere, phrases in order, and what must not be.
        ("\"connection reset\" kind:execution", 4),
        ("connection reset kind:execution", 5),
        ("connection-reset kind:execution", 4),
        ("connection -\"reset by peer\" kind:execution", 1),
        ("RESET kind:execution", 5),
        ("drained", 4),
        ("\"queue drained\" status:failed", 4),
        ("stamps letters", 1),
        ("nowhere", 0),
        // Fields, alone and together; of one field, any.
        ("job:invoice status:failed", 5),
        ("job:sync status:failed status:cancelled", 6),
        ("job:invoice-sync status:failed after:2026-11-15T03:00 before:2026-11-15T03:10", 1),
        (&by_id, 5),
        ("invoice status:failed", 5),
        ("job:mailer status:failed", 0),
        ("reason:user kind:execution", 1),
        ("type:schedule.paused", 1),
        ("vacation type:schedule.paused", 1),
        ("type:schedule.created", 3),
        ("kind:audit type:schedule.created owner:bob", 2),
        ("node:beta kind:execution -job:mailer", 12),
        ("node:alpha-1 status:failed", 5),
        ("type:execution.failed", 5),
        ("\"soup is served\"", 24),
        ("kind:message owner:bob", 24),
        ("kind:message owner:ann", 0),
        ("type:message", 24),
        ("type:toc.day", 1),
        ("kind:toc \"week 46\" type:toc.week", 1),
    ] {
        assert_eq!(count(index, query), hits, "{query}");
    }
    assert!(count(index, "kind:toc invoice") >= 4, "the notes of all levels tell of it");
    assert!(count(index, "reason:paused job:mailer") > 0);
    assert_eq!(count(index, ""), usize::try_from(index.len()).unwrap() - shelved(index));
}

/// Nodes on the shelves of owners, which everyone's stand for.
fn shelved(index: &Index) -> usize {
    let owners = ["ann", "bob"].map(Shelf::Owner);
    owners.map(|shelf| all(index, "kind:toc", shelf, 100).len()).iter().sum()
}

#[tokio::test]
async fn what_is_shown_says_what_it_is_and_marks_what_was_looked_for() {
    let (store, directory) = (memory(), tempdir().unwrap());
    let jobs = history(store.as_ref()).await;
    let indexer = read_all(&store, directory.path()).await;
    let hits = all(indexer.index(), "reset drained kind:execution", Shelf::Everyone, 100);
    let Hit { record, name, text, output, .. } = &hits[0];
    assert_eq!((record.kind, record.job), (Kind::Execution, Some(jobs[0])));
    assert_eq!(record.status.as_deref(), Some("failed"));
    assert_eq!((&*record.event, &*record.owner), ("execution.failed", "ann"));
    assert_eq!((record.response, record.node.as_deref()), (Some(503), Some("alpha-1")));
    assert_eq!(name.text(), "invoice-sync");
    let marked = |snippet: &chronos_history::search::Snippet| -> Vec<String> {
        let marked = snippet.fragments.iter().filter(|fragment| fragment.marked);
        marked.map(|fragment| fragment.text.clone()).collect()
    };
    let (text, output) = (text.as_ref().unwrap(), output.as_ref().unwrap());
    assert_eq!(
        (text.text().as_str(), marked(text)),
        ("connection reset by peer", vec!["reset".into()])
    );
    assert_eq!(marked(output), ["drained"]);
    let execution = store.execution(record.execution.unwrap()).await.unwrap();
    assert_eq!(execution.finished_at(), Some(record.at));
}

#[tokio::test]
async fn the_tally_counts_by_the_hours_and_days_of_the_reader() {
    let (store, directory) = (memory(), tempdir().unwrap());
    history(store.as_ref()).await;
    let indexer = read_all(&store, directory.path()).await;
    let ask = request("job:invoice status:success", Shelf::Everyone);
    let tally = indexer.index().search(&ask).unwrap().tally.unwrap();
    assert_eq!((tally.total, tally.exact, tally.grain.as_str()), (19, true, "hour"));
    let parts: Vec<_> = tally.parts.iter().map(|part| (part.from, part.count)).collect();
    let expected = [("02", 4), ("03", 3), ("04", 6), ("05", 6)];
    let expected = expected.map(|(hour, count)| (at(&format!("2026-11-15T{hour}:00:00Z")), count));
    assert_eq!(parts, expected);
}

#[tokio::test]
async fn an_index_that_was_read_bit_by_bit_is_one_that_was_read_at_once() {
    let store = memory();
    let (bits, once) = (tempdir().unwrap(), tempdir().unwrap());
    let projector = Projector::open(store.clone(), bits.path()).await.unwrap();
    let archive = projector.archive().clone();
    let indexer = Indexer::open(store.clone(), archive.clone()).await.unwrap();
    history(store.as_ref()).await;
    projector.tick().await.unwrap();
    tell(&archive).await;
    while indexer.tick().await.unwrap().more {
        indexer.commit().await.unwrap();
        indexer.catch_up(|| true).await.unwrap();
    }
    work(store.as_ref(), 14_400, "gamma", |_| End::failed("late and lost")).await;
    projector.catch_up(|| false).await.unwrap();
    tell(&archive).await;
    indexer.catch_up(|| false).await.unwrap();
    let at_once = read_all(&store, once.path()).await;
    let queries = [
        "",
        "kind:toc",
        "reset",
        "status:failed late",
        "job:invoice",
        "type:schedule",
        "kind:message",
    ];
    for query in queries {
        for shelf in [Shelf::Everyone, Shelf::Owner("ann"), Shelf::Owner("bob")] {
            let found = all(indexer.index(), query, shelf, 7);
            assert!(!found.is_empty() || shelf != Shelf::Everyone, "{query}");
            assert_eq!(found, all(at_once.index(), query, shelf, 100), "{query} {shelf:?}");
        }
    }
    // Deleted, it is made again.
    let before = all(indexer.index(), "", Shelf::Everyone, 100);
    drop((indexer, at_once));
    std::fs::remove_dir_all(bits.path().join("search")).unwrap();
    let indexer = Indexer::open(store.clone(), archive).await.unwrap();
    assert!(indexer.index().is_empty());
    indexer.catch_up(|| false).await.unwrap();
    assert_eq!(all(indexer.index(), "", Shelf::Everyone, 100), before);
}

#[tokio::test]
async fn what_is_forgotten_is_no_longer_found() {
    let (store, directory) = (memory(), tempdir().unwrap());
    history(store.as_ref()).await;
    let indexer = read_all(&store, directory.path()).await;
    let index = indexer.index();
    let (executions, audit) = (count(index, "kind:execution"), count(index, "kind:audit"));
    let (early, nodes) =
        (count(index, "kind:execution before:2026-11-15T04:00"), count(index, "kind:toc"));
    assert!(early > 10);
    index.forget_before(Kind::Execution, at("2026-11-15T04:00:00Z")).unwrap();
    assert_eq!(count(index, "kind:execution"), executions, "it takes a commit");
    index.commit().unwrap();
    assert_eq!(count(index, "kind:execution"), executions - early);
    assert_eq!((count(index, "kind:audit"), count(index, "kind:toc")), (audit, nodes));
    // What the archive forgets, the index forgets: hours whose day is told of for good.
    let archive = indexer.archive().clone();
    let keep = KeepLevels { hours: Some(Duration::from_hours(24)), ..KeepLevels::default() };
    let now = at("2027-02-01T00:00:00Z");
    let hours = count(index, "type:toc.hour");
    prune_levels(archive, keep, now, false, || false).await.unwrap();
    indexer.catch_up(|| false).await.unwrap();
    assert_eq!((count(index, "type:toc.hour"), count(index, "kind:toc")), (0, nodes - hours));
    assert_eq!(all(index, "type:toc.hour", Shelf::Owner("ann"), 100), []);
    // What the store does not keep goes by whole days.
    let keep = KeepRecords { messages: Some(Duration::from_hours(24)), ..KeepRecords::default() };
    indexer.forget(keep, at("2026-11-16T23:59:00Z")).await.unwrap();
    assert_eq!(count(index, "kind:message"), 24);
    indexer.forget(keep, at("2026-11-17T00:00:00Z")).await.unwrap();
    assert_eq!(count(index, "kind:message"), 0);
    drop(indexer);
    let archive = chronos_history::Archive::open(directory.path()).unwrap();
    let indexer = Indexer::open(store, archive).await.unwrap();
    indexer.catch_up(|| false).await.unwrap();
    assert_eq!(
        count(indexer.index(), "kind:execution"),
        executions - early,
        "nor is it read again"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_history_is_found_alike_however_it_was_read(
        slots in proptest::collection::vec((0_usize..6, 0_usize..6, any::<bool>(), any::<bool>()), 1..16)
    ) {
        const TEXTS: [&str; 6] =
            ["connection reset", "reset of the connection", "Ä timeout", "disk full", "", "connection"];
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = memory();
            let (bits, once) = (tempdir().unwrap(), tempdir().unwrap());
            let jobs = [
                create(store.as_ref(), 1, "invoice", "ann").await,
                create(store.as_ref(), 2, "connection check", "bob").await,
            ];
            let projector = Projector::open(store.clone(), bits.path()).await.unwrap();
            let archive = projector.archive().clone();
            let mut indexer = Indexer::open(store.clone(), archive.clone()).await.unwrap();
            for ((error, log, commits, crashes), slot) in slots.into_iter().zip(0_u64..) {
                work(store.as_ref(), slot * 600, "n", |job| {
                    let text = TEXTS[if job == jobs[0] { error } else { log }];
                    let error = (!text.is_empty()).then(|| text.to_owned());
                    End { error, log: Some(TEXTS[log].into()), body: None }
                }).await;
                indexer.tick().await.unwrap();
                if commits {
                    indexer.commit().await.unwrap();
                }
                if crashes {
                    // What was not committed is gone.
                    drop(indexer);
                    indexer = Indexer::open(store.clone(), archive.clone()).await.unwrap();
                }
            }
            projector.catch_up(|| false).await.unwrap();
            tell(&archive).await;
            indexer.catch_up(|| false).await.unwrap();
            let at_once = read_all(&store, once.path()).await;
            for query in ["", "connection", "\"connection reset\"", "status:failed -reset", "job:connection ä"] {
                for shelf in [Shelf::Everyone, Shelf::Owner("bob")] {
                    let found = all(indexer.index(), query, shelf, 3);
                    assert_eq!(found, all(at_once.index(), query, shelf, 100), "{query}");
                }
            }
        });
    }
}
