//! What a crash leaves is taken up where it ends: nothing is lost, and nothing is there twice.

use std::sync::Arc;

use chronos_core::Store;
use chronos_history::search::{Index, Indexer, SearchError};
use chronos_history::{Archive, Projector, Shelf};
use tempfile::tempdir;

use super::world::{End, all, count, create, memory, read_all, work};

async fn slots(store: &dyn Store, slots: std::ops::Range<u64>) {
    for slot in slots {
        work(store, slot * 600, "n", |_| End::failed("connection reset")).await;
    }
}

async fn open(store: &Arc<dyn Store>, archive: &Archive) -> Indexer {
    Indexer::open(store.clone(), archive.clone()).await.unwrap()
}

#[tokio::test]
async fn what_was_not_committed_is_read_again_and_is_there_once() {
    let (store, directory) = (memory(), tempdir().unwrap());
    create(store.as_ref(), 1, "invoice", "ann").await;
    let projector = Projector::open(store.clone(), directory.path()).await.unwrap();
    let archive = projector.archive();
    slots(store.as_ref(), 0..5).await;
    let indexer = open(&store, archive).await;
    indexer.catch_up(|| false).await.unwrap();
    assert_eq!(count(indexer.index(), "reset"), 5);
    let committed = indexer.index().committed();
    slots(store.as_ref(), 5..9).await;
    assert_eq!(indexer.tick().await.unwrap().read, 8, "four fired and four ended");
    assert!(indexer.index().cursors().journal.sequence > committed.journal.sequence);
    assert_eq!(indexer.index().committed(), committed);
    assert_eq!(count(indexer.index(), "reset"), 5, "it takes a commit");
    drop(indexer);

    let indexer = open(&store, archive).await;
    assert_eq!(indexer.index().cursors(), committed);
    assert_eq!(count(indexer.index(), "reset"), 5);
    assert_eq!(indexer.catch_up(|| false).await.unwrap().read, 8);
    assert_eq!(count(indexer.index(), "reset"), 9);
    assert_eq!(indexer.catch_up(|| false).await.unwrap().read, 0);
    drop(indexer);
    let indexer = open(&store, archive).await;
    assert_eq!(indexer.catch_up(|| false).await.unwrap().read, 0);
    assert_eq!(count(indexer.index(), "reset"), 9);
}

#[tokio::test]
async fn a_copy_of_the_directory_at_any_time_is_an_index() {
    let (store, directory) = (memory(), tempdir().unwrap());
    create(store.as_ref(), 1, "invoice", "ann").await;
    let projector = Projector::open(store.clone(), directory.path()).await.unwrap();
    let indexer = open(&store, projector.archive()).await;
    for slot in 0..12 {
        slots(store.as_ref(), slot..slot + 1).await;
        indexer.tick().await.unwrap();
        if slot % 3 == 2 {
            indexer.commit().await.unwrap();
        }
        // As kill -9 leaves it.
        let copy = copy_of(indexer.index().path());
        let left = Index::open(copy.path()).unwrap();
        assert_eq!(left.cursors(), indexer.index().committed());
        let slots = usize::try_from((slot + 1) / 3 * 3).unwrap();
        assert_eq!(count(&left, "reset"), slots);
    }
}

/// A copy of what is there at one time: a file that went meanwhile has it begin anew.
fn copy_of(directory: &std::path::Path) -> tempfile::TempDir {
    'anew: loop {
        let copy = tempdir().unwrap();
        for file in std::fs::read_dir(directory).unwrap() {
            let file = file.unwrap();
            match std::fs::copy(file.path(), copy.path().join(file.file_name())) {
                Err(gone) if gone.kind() == std::io::ErrorKind::NotFound => continue 'anew,
                copied => copied.unwrap(),
            };
        }
        return copy;
    }
}

#[tokio::test]
async fn the_index_of_another_journal_or_format_or_a_damaged_one_is_made_again() {
    let (long, short) = (memory(), memory());
    create(long.as_ref(), 1, "invoice", "ann").await;
    slots(long.as_ref(), 0..5).await;
    create(short.as_ref(), 2, "mailer", "bob").await;
    let one = tempdir().unwrap();
    drop(read_all(&long, one.path()).await);
    let archive = Archive::open(one.path()).unwrap();
    let search = one.path().join("search");

    // As after a backup that was put back: the journal ends before the cursor.
    let indexer = open(&short, &archive).await;
    assert!(indexer.index().is_empty());
    indexer.catch_up(|| false).await.unwrap();
    assert_eq!(count(indexer.index(), "kind:execution"), 0);
    assert_eq!(count(indexer.index(), "type:schedule.created"), 1);
    drop(indexer);
    let indexer = open(&long, &archive).await;
    indexer.catch_up(|| false).await.unwrap();
    let whole = all(indexer.index(), "", Shelf::Everyone, 100);
    assert_eq!(count(indexer.index(), "reset kind:execution"), 5);
    drop(indexer);

    for damage in ["", "{}", "no meta at all"] {
        std::fs::write(search.join("meta.json"), damage).unwrap();
        let indexer = open(&long, &archive).await;
        assert!(indexer.index().is_empty(), "{damage:?}");
        indexer.catch_up(|| false).await.unwrap();
        assert_eq!(all(indexer.index(), "", Shelf::Everyone, 100), whole, "{damage:?}");
    }
    let meta = std::fs::read_to_string(search.join("meta.json")).unwrap();
    assert!(meta.contains("chronos search 1 "), "{meta}");
    std::fs::write(search.join("meta.json"), meta.replace("chronos search 1", "chronos search 0"))
        .unwrap();
    assert!(open(&long, &archive).await.index().is_empty());
}

#[tokio::test]
async fn one_process_uses_an_index() {
    let directory = tempdir().unwrap();
    let first = Index::open(directory.path()).unwrap();
    assert!(matches!(Index::open(directory.path()), Err(SearchError::InUse { .. })));
    drop(first);
    Index::open(directory.path()).unwrap();
}
