//! Who sees what: owners see what is theirs, whatever they ask for.

use chronos_core::plan::Change;
use chronos_history::Shelf;
use proptest::prelude::*;
use tempfile::tempdir;

use super::world::{End, after, all, create, create_message, memory, read_all, request, work};

#[tokio::test]
async fn an_owner_finds_own_things_alone_and_others_nothing() {
    let (store, directory) = (memory(), tempdir().unwrap());
    let store_ref = store.as_ref();
    let anns = create(store_ref, 1, "invoice", "ann").await;
    create(store_ref, 2, "payroll", "bob").await;
    create_message(store_ref, 3, "soup", "bob").await;
    for slot in 0..6 {
        work(store_ref, slot * 600, "n", |_| End::failed("connection reset")).await;
    }
    let pause = Change::Pause { note: Some("secret plans".into()), resume_at: None };
    store.amend_job(anns, pause, None, after(4_000)).await.unwrap();
    let indexer = read_all(&store, directory.path()).await;
    let index = indexer.index();
    let queries = [
        "",
        "reset",
        "payroll",
        "owner:bob",
        "-owner:ann",
        "job:payroll",
        "kind:toc",
        "kind:message",
        "-invoice",
        "owner:ann owner:bob",
        "secret",
        "n",
        "kind:toc payroll",
        "-zzz",
    ];
    for query in queries {
        for owner in ["ann", "bob"] {
            let hits = all(index, query, Shelf::Owner(owner), 100);
            assert!(hits.iter().all(|hit| &*hit.record.owner == owner), "{query} by {owner}");
            let shown = format!("{hits:?}");
            let other = if owner == "ann" { "payroll" } else { "invoice" };
            assert!(!shown.contains(other), "{query} by {owner}: {shown}");
        }
        for nobody in ["", "eve", "an", "annn", "ANN"] {
            let found = index.search(&request(query, Shelf::Owner(nobody))).unwrap();
            assert!(found.hits.is_empty(), "{query} by {nobody:?}");
            assert_eq!(found.tally.unwrap().total, 0);
        }
    }
    let own = |query, owner| all(index, query, Shelf::Owner(owner), 100).len();
    assert_eq!((own("reset kind:execution", "ann"), own("reset kind:execution", "bob")), (6, 6));
    assert_eq!((own("secret", "ann"), own("secret", "bob")), (1, 0));
    assert!(own("kind:toc", "ann") > 0 && own("kind:toc payroll", "bob") > 0);
    assert_eq!(
        own("kind:toc payroll", "ann"),
        0,
        "the table of contents is told of own jobs alone"
    );
    let tally = index.search(&request("reset", Shelf::Owner("ann"))).unwrap().tally.unwrap();
    assert_eq!(tally.total, all(index, "reset", Shelf::Owner("ann"), 100).len() as u64);
    // Everyone's nodes, and none of them again from the shelf of an owner.
    let everyone = all(index, "kind:toc", Shelf::Everyone, 100);
    assert!(!everyone.is_empty() && everyone.iter().all(|hit| hit.record.owner.is_empty()));
}

#[test]
fn no_query_reaches_what_is_somebody_elses() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (store, directory) = (memory(), tempdir().unwrap());
    let indexer = runtime.block_on(async {
        create(store.as_ref(), 1, "invoice", "ann").await;
        create(store.as_ref(), 2, "payroll", "bob").await;
        for slot in 0..3 {
            work(store.as_ref(), slot * 600, "n", |_| End::failed("connection reset")).await;
        }
        read_all(&store, directory.path()).await
    });
    let parts = prop_oneof![
        Just("owner:ann"),
        Just("owner:bob"),
        Just("-owner:ann"),
        Just("-owner:bob"),
        Just("reset"),
        Just("-reset"),
        Just("job:payroll"),
        Just("-job:payroll"),
        Just("kind:execution"),
        Just("kind:toc"),
        Just("-kind:toc"),
        Just("status:failed"),
        Just("\"connection reset\""),
        Just("after:2020-01-01"),
        Just("before:2030-01-01"),
        Just("type:execution"),
    ];
    proptest!(ProptestConfig::with_cases(300), |(parts in proptest::collection::vec(parts, 0..6))| {
        let hits = all(indexer.index(), &parts.join(" "), Shelf::Owner("ann"), 100);
        prop_assert!(hits.iter().all(|hit| &*hit.record.owner == "ann"));
    });
}
