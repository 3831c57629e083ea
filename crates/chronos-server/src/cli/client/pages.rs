//! Lists that are longer than one page: how much of them is asked for and shown.

use std::future::Future;

use crate::cli::{Error, args};

/// The most that one page holds.
const PAGE: usize = 1_000;

#[derive(Debug, clap::Args)]
pub(super) struct Paging {
    /// How many to show, at most
    #[arg(long, value_name = "N", default_value = "100", value_parser = args::limit)]
    limit: usize,
    /// Show all of them
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// What was asked for, and whether there is more.
pub(super) struct Listed<T> {
    pub(super) items: Vec<T>,
    pub(super) more: bool,
}

impl Paging {
    /// So many at most.
    pub(super) fn of(limit: usize) -> Self {
        Self { limit, all: false }
    }

    /// Everything there is.
    pub(super) fn all() -> Self {
        Self { limit: 0, all: true }
    }

    /// Fetches page after page: `fetch` takes a limit and a cursor, and gives items and the next
    /// cursor, empty after the last.
    pub(super) async fn collect<T, Page>(
        &self,
        mut fetch: impl FnMut(u32, String) -> Page,
    ) -> Result<Listed<T>, Error>
    where
        Page: Future<Output = Result<(Vec<T>, String), Error>>,
    {
        let most = if self.all { usize::MAX } else { self.limit };
        let mut listed = Listed { items: Vec::new(), more: false };
        let mut cursor = String::new();
        loop {
            let limit = (most - listed.items.len()).min(PAGE);
            let asked = u32::try_from(limit).unwrap_or(u32::MAX);
            let (items, next) = fetch(asked, cursor).await?;
            listed.items.extend(items);
            listed.more = !next.is_empty();
            // A page may be shorter than asked for and still not be the last.
            if !listed.more || listed.items.len() >= most {
                return Ok(listed);
            }
            cursor = next;
        }
    }
}
