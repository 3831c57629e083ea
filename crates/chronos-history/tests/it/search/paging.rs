//! Pages: the best and newest first, each hit once, whatever is added meanwhile.

use chronos_history::Shelf;
use chronos_history::search::{Request, SearchError};
use tempfile::tempdir;

use super::world::{End, all, create, memory, read_all, request, run_by_hand, work};

#[tokio::test]
async fn pages_tell_of_each_hit_once_while_more_comes_in() {
    let (store, directory) = (memory(), tempdir().unwrap());
    create(store.as_ref(), 1, "invoice", "ann").await;
    for slot in 0..40 {
        let text = if slot % 2 == 0 { "connection reset" } else { "reset, reset and reset again" };
        work(store.as_ref(), slot * 600, "n", |_| End::failed(text)).await;
    }
    let indexer = read_all(&store, directory.path()).await;
    let index = indexer.index();
    for query in ["kind:execution", "reset kind:execution"] {
        let whole: Vec<_> = all(index, query, Shelf::Everyone, 100);
        assert_eq!(whole.len(), 40);
        for limit in [1, 7, 20, 40] {
            assert_eq!(all(index, query, Shelf::Everyone, limit), whole, "{query} by {limit}");
        }
    }
    for (query, more_from) in [("kind:execution", 40), ("reset kind:execution", 60)] {
        let whole = all(index, query, Shelf::Everyone, 100);
        let mut cursor: Option<String> = None;
        let mut seen = Vec::new();
        for page in 0..4 {
            let ask = request(query, Shelf::Everyone);
            let ask = Request { cursor: cursor.as_deref(), limit: 15, ..ask };
            let found = index.search(&ask).unwrap();
            assert_eq!(found.tally.is_some(), page == 0, "{query}");
            seen.extend(found.hits);
            let is_last = found.next.is_none();
            cursor = found.next;
            work(store.as_ref(), (more_from + page) * 600, "n", |_| End::failed("reset")).await;
            indexer.catch_up(|| false).await.unwrap();
            if is_last {
                break;
            }
        }
        assert_eq!(seen, whole, "{query}");
        assert!(cursor.is_none());
        assert!(all(index, query, Shelf::Everyone, 100).len() >= seen.len() + 3);
    }
}

#[tokio::test]
async fn what_fits_better_goes_before_what_is_a_little_newer_and_not_before_what_is_much_newer() {
    let (store, directory) = (memory(), tempdir().unwrap());
    let job = create(store.as_ref(), 1, "nightly", "ann").await;
    let long = format!("out of paper {}", "and so on ".repeat(200));
    let four_days = 4 * 24 * 3_600;
    for (second, text) in
        [(0, "paper jam"), (four_days, "paper jam"), (four_days + 60, long.as_str())]
    {
        run_by_hand(store.as_ref(), job, second, text).await;
    }
    let indexer = read_all(&store, directory.path()).await;
    let hits = all(indexer.index(), "paper kind:execution", Shelf::Everyone, 100);
    let texts: Vec<_> = hits.iter().map(|hit| hit.text.as_ref().unwrap().text()).collect();
    assert_eq!(texts.len(), 3);
    assert!(texts[0] == "paper jam" && texts[1].starts_with("out of paper"), "{texts:?}");
    assert!(hits[0].score > hits[1].score && hits[0].record.at < hits[1].record.at);
    // Four days older, it comes after what fits less.
    assert!(hits[2].score > hits[1].score && hits[2].record.at < hits[1].record.at);
}

#[tokio::test]
async fn a_cursor_belongs_to_its_search() {
    let (store, directory) = (memory(), tempdir().unwrap());
    create(store.as_ref(), 1, "invoice", "ann").await;
    for slot in 0..4 {
        work(store.as_ref(), slot * 600, "n", |_| End::success()).await;
    }
    let indexer = read_all(&store, directory.path()).await;
    let index = indexer.index();
    let ask = Request { limit: 1, ..request("status:success", Shelf::Owner("ann")) };
    let next = index.search(&ask).unwrap().next.unwrap();
    let again = |ask: Request<'_>, cursor: &str| {
        index.search(&Request { cursor: Some(cursor), ..ask }).err()
    };
    assert!(again(ask, &next).is_none());
    for (ask, cursor) in [
        (Request { query: "status:failed", ..ask }, next.as_str()),
        (Request { shelf: Shelf::Everyone, ..ask }, &next),
        (Request { shelf: Shelf::Owner("bob"), ..ask }, &next),
        (ask, ""),
        (ask, "nonsense"),
        (ask, &next[1..]),
        (ask, "é"),
    ] {
        assert!(matches!(again(ask, cursor), Some(SearchError::Cursor)), "{cursor}");
    }
}
