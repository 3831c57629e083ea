//! The dashboard's files, as the daemon serves them.

use super::house::{House, get};

#[tokio::test]
async fn the_dashboard_is_a_page_for_anyone_or_says_how_to_get_it() {
    let house = House::open().await;
    for path in ["/ui/", "/ui/jobs", "/ui/jobs/new"] {
        let (code, page) = get(house.address(), path).await;
        assert_eq!(code, 200, "{path}: {page}");
        assert!(page.starts_with("<!doctype html>"), "{path}: {page}");
    }
    for path in ["/", "/ui"] {
        assert_eq!(get(house.address(), path).await.0, 307, "{path} leads to it");
    }
    house.close().await;
}

#[tokio::test]
async fn nothing_but_its_own_files_is_served() {
    let house = House::open().await;
    for path in ["/ui/assets/none.js", "/ui/../Cargo.toml", "/ui/%2e%2e/Cargo.toml", "/ui/..%2f.."]
    {
        let (code, body) = get(house.address(), path).await;
        assert_eq!(code, 404, "{path}: {body}");
    }
    house.close().await;
}
