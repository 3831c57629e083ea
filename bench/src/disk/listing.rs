//! Lists over a million jobs: how long a page takes, for filters that many jobs meet and few, from the
//! first page to the last.

use std::time::Duration;

use chronos_core::job::Status;
use chronos_core::store::JobFilter;
use chronos_core::{JobId, JobSpec, Store};

use crate::process::begin;
use crate::report::{Figure, Goal, percentile};
use crate::workload::at;

/// Jobs of a page.
const PAGE: usize = 100;
/// Pages that are measured for each filter, from places all over the list.
const PAGES: u8 = 32;

/// The job of a number, filed as the filters below expect.
pub(crate) fn filed(number: usize, spec: JobSpec) -> JobSpec {
    let tags = [(10_000, "rare"), (10, "tenth")];
    let tags = tags.into_iter().filter(|(every, _)| number.is_multiple_of(*every));
    spec.with_tags(tags.map(|(_, tag)| tag))
}

fn filters() -> Vec<(&'static str, JobFilter)> {
    let any = || JobFilter { owner: Some("".into()), ..JobFilter::default() };
    let soon = Some(at(3_600));
    let later = soon.map(|soon| soon.after(Duration::from_millis(500)));
    vec![
        ("all", any()),
        ("rare tag", JobFilter { tag: Some("rare".into()), ..any() }),
        ("common tag", JobFilter { tag: Some("tenth".into()), ..any() }),
        ("rare name", JobFilter { name_prefix: Some("job-00000".into()), ..any() }),
        ("common name", JobFilter { name_prefix: Some("job-0".into()), ..any() }),
        ("no such status", JobFilter { status: Some(Status::Failed), ..any() }),
        ("common status", JobFilter { status: Some(Status::Pending), ..any() }),
        ("running", JobFilter { status: Some(Status::Running), ..any() }),
        ("paused", JobFilter { paused: Some(true), ..any() }),
        ("one-time", JobFilter { recurring: Some(false), ..any() }),
        ("due soon", JobFilter { next_from: soon, next_before: later, ..any() }),
        ("due at all", JobFilter { next_from: soon, ..any() }),
        (
            "tag and name that share nothing",
            JobFilter { tag: Some("tenth".into()), name_prefix: Some("job-9".into()), ..any() },
        ),
    ]
}

pub(crate) async fn measure(store: &dyn Store) -> anyhow::Result<Vec<Figure>> {
    let mut all = Vec::new();
    for (name, filter) in filters() {
        let mut pages = Vec::new();
        for page in 0..PAGES {
            // Ids of one instant are spread by their later bytes.
            let mut after = at(0).as_millis().to_be_bytes()[2..].to_vec();
            after.extend([0x70, 0, 0x80 | (page * 2), page, 0, 0, 0, 0, 0, 0]);
            let after = after.try_into().ok().filter(|_| page > 0).map(JobId::from_bytes);
            let begun = begin();
            let found = store.find_jobs(&filter, after, PAGE).await?;
            pages.push(begun.elapsed().as_secs_f64() * 1_000.0);
            drop(found);
        }
        pages.sort_by(f64::total_cmp);
        eprintln!("page of {name}: {:.2} ms at most", percentile(&pages, 1.0));
        all.extend(pages);
    }
    all.sort_by(f64::total_cmp);
    let share = |share| percentile(&all, share);
    Ok(vec![
        Figure::new("a million jobs: page p50", share(0.5), "ms", Goal::None),
        Figure::new("a million jobs: page p99", share(0.99), "ms", Goal::AtMost(20.0)),
    ])
}
