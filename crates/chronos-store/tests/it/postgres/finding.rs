//! Finding jobs where there are many: every page looks at a bounded part, and none is passed by.

use chronos_core::Store;
use chronos_core::job::Status;
use chronos_core::store::JobFilter;

use super::{Schema, fresh};
use crate::bench::{at, every};

/// More than a search lists or looks at.
const MANY: usize = 12_000;

/// Copies of one job under ids and names of their own; all are paused but the last ten.
async fn many_jobs() -> (Schema, impl Store) {
    let schema = fresh().await;
    let store = schema.store().await;
    store.create_job(every("model", 10).with_tags(["all"]), at(0)).await.unwrap();
    let (copies, paused) = (MANY - 1, MANY - 11);
    schema.psql(&format!(
        "INSERT INTO chronos.job_specs (id, created_by, name, version, schedule_type, interval_seconds, \
             max_retry, priority, created_at, updated_at, spec) \
         SELECT gen_random_uuid(), created_by, 'copy ' || lpad(n::text, 6, '0'), version, schedule_type, \
             interval_seconds, max_retry, priority, created_at, updated_at, spec \
         FROM chronos.job_specs, generate_series(1, {copies}) AS n; \
         INSERT INTO chronos.job_standings (id, revision, deleted, enabled, rest, due_at, \
             next_execution_time, paused_since, retry_count, fired, manual, succeeded, failed, skipped, \
             failed_in_a_row, live) \
         SELECT p.id, s.revision, s.deleted, s.enabled, s.rest, s.due_at, s.next_execution_time, \
             CASE WHEN row_number() OVER (ORDER BY p.id) <= {paused} THEN s.due_at END, 0, 0, 0, 0, 0, 0, 0, '' \
         FROM chronos.job_specs p, chronos.job_standings s WHERE p.name <> 'model'; \
         INSERT INTO chronos.job_tags SELECT 'all', id FROM chronos.job_specs WHERE name <> 'model'; \
         INSERT INTO chronos.job_tags SELECT 'rare', id FROM chronos.job_specs WHERE name LIKE '%000'"
    ));
    (schema, store)
}

/// How many jobs a filter finds, over how many pages.
async fn found(store: &impl Store, filter: &JobFilter) -> (usize, usize) {
    let (mut jobs, mut pages, mut after) = (0, 0, None);
    loop {
        let page = store.find_jobs(filter, after, 1_000).await.unwrap();
        assert!(page.next.is_none_or(|next| Some(next) > after), "pages go on");
        (jobs, pages, after) = (jobs + page.jobs.len(), pages + 1, page.next);
        if after.is_none() {
            return (jobs, pages);
        }
    }
}

#[tokio::test]
async fn searches_among_many_jobs_look_at_parts_and_find_all() {
    let (_schema, store) = many_jobs().await;
    let any = JobFilter::default;
    let prefix = |prefix: &str| JobFilter { name_prefix: Some(prefix.into()), ..any() };
    let owned = JobFilter { owner: Some("".into()), ..prefix("copy 0119") };
    for (filter, expected, most_pages) in [
        (any(), MANY, 13),
        (JobFilter { owner: Some("".into()), ..any() }, MANY, 13),
        (JobFilter { tag: Some("all".into()), ..any() }, MANY, 13),
        (JobFilter { tag: Some("rare".into()), ..any() }, 11, 1),
        (JobFilter { tag: Some("all".into()), ..prefix("copy 0119") }, 100, 1),
        // Too many to be sorted, so all jobs are gone through.
        (prefix("copy"), MANY - 1, 13),
        (JobFilter { next_from: Some(at(0)), ..any() }, MANY, 13),
        (prefix("copy 0119"), 100, 1),
        (owned, 100, 1),
        (JobFilter { paused: Some(true), ..any() }, MANY - 11, 13),
        // Those few are at the end, or anywhere, and nothing leads to them.
        (JobFilter { paused: Some(false), ..any() }, 11, 4),
        (JobFilter { status: Some(Status::Failed), ..any() }, 0, 1),
        (JobFilter { status: Some(Status::Running), ..any() }, 0, 1),
        (JobFilter { recurring: Some(false), ..any() }, 0, 1),
    ] {
        let (jobs, pages) = found(&store, &filter).await;
        assert_eq!(jobs, expected, "{filter:?}");
        assert!(pages <= most_pages, "{filter:?} takes {pages} pages");
    }
    assert_eq!(store.count_jobs().await.unwrap().pending, MANY as u64);
}
