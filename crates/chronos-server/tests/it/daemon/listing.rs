//! Lists: pages that miss and repeat nothing, within the size that a client takes.

use std::collections::BTreeSet;

use chronos_server::proto::{
    GetSchedulerStatusRequest, Http, JobSpec, ListExecutionsRequest, ListJobsRequest, Target,
    target::Kind,
};
use tonic::Code;

use super::house::{HANDLERS, House};
use super::{hourly, soon};

/// The names of all jobs, gathered page by page, and how many pages there were.
async fn names(house: &mut House, limit: u32) -> (Vec<String>, usize) {
    let (mut names, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let request = ListJobsRequest { limit, cursor };
        let page = soon(house.client.list_jobs(request)).await.unwrap().into_inner();
        pages += 1;
        names.extend(page.jobs.into_iter().map(|job| job.spec.unwrap().name));
        cursor = page.next_cursor;
        if cursor.is_empty() {
            return (names, pages);
        }
    }
}

#[tokio::test]
async fn two_and_a_half_thousand_jobs_are_paged_without_gap_or_repeat() {
    let mut house = House::open().await;
    let mut made: BTreeSet<String> = HANDLERS.map(String::from).into();
    for number in 0..2_496 {
        let name = format!("job {number}");
        house.create(hourly(&name, "succeed")).await;
        made.insert(name);
    }
    for (limit, pages) in [(0, 25), (1_000, 3), (999, 3), (100, 25), (625, 4)] {
        let (names, turned) = names(&mut house, limit).await;
        assert_eq!((names.len(), turned), (2_500, pages), "in pages of {limit}");
        assert_eq!(names.into_iter().collect::<BTreeSet<_>>(), made, "in pages of {limit}");
    }
    let request = GetSchedulerStatusRequest::default();
    let all = soon(house.client.get_scheduler_status(request)).await.unwrap();
    assert!(!all.metadata().contains_key("chronos-truncated"));
    assert_eq!(all.into_inner().jobs.len(), 2_500);
    house.close().await;
}

#[tokio::test]
async fn a_page_of_large_jobs_stays_below_what_a_client_takes() {
    let mut house = House::open().await;
    for number in 0..7 {
        let url = "https://example.com/".into();
        let http = Http { url, body: vec![b'x'; 1_000_000], ..Http::default() };
        let target = Some(Target { kind: Some(Kind::Http(http)) });
        house.create(JobSpec { target, ..hourly(&format!("large {number}"), "") }).await;
    }
    let (names, pages) = names(&mut house, 1_000).await;
    assert_eq!((names.len(), pages), (HANDLERS.len() + 7, 3));
    house.close().await;
}

#[tokio::test]
async fn executions_are_paged_newest_first() {
    let mut house = House::open().await;
    house.create(hourly("report", "succeed")).await;
    let mut runs = Vec::new();
    for _ in 0..7 {
        let run = house.run("report").await.id;
        house.until(&run, "SUCCESS").await;
        runs.push(run);
    }
    // Ids sort by time; those of one millisecond in an order of their own.
    runs.sort_by(|one, other| other.cmp(one));
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let request = ListExecutionsRequest { job: "report".into(), limit: 3, cursor };
        let page = soon(house.client.list_executions(request)).await.unwrap().into_inner();
        assert!(page.executions.len() <= 3);
        paged.extend(page.executions.into_iter().map(|execution| execution.id));
        cursor = page.next_cursor;
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(paged, runs);
    house.close().await;
}

#[tokio::test]
async fn cursors_of_nowhere_and_limits_beyond_bounds_are_refused() {
    let mut house = House::open().await;
    house.create(hourly("one", "succeed")).await;
    house.create(hourly("two", "succeed")).await;
    for _ in 0..2 {
        let run = house.run("one").await.id;
        house.until(&run, "SUCCESS").await;
    }
    let page = |cursor: &str| ListJobsRequest { limit: 1, cursor: cursor.into() };
    let of_jobs = soon(house.client.list_jobs(page(""))).await.unwrap().into_inner().next_cursor;
    let rows = |job: &str, cursor: &str| ListExecutionsRequest {
        job: job.into(),
        limit: 1,
        cursor: cursor.into(),
    };
    let of_one = soon(house.client.list_executions(rows("one", ""))).await.unwrap().into_inner();
    let of_one = of_one.next_cursor;
    assert!(!of_jobs.is_empty() && !of_one.is_empty());
    for cursor in ["x", "j", "jj", &of_one, &of_jobs[1..], &format!("{of_jobs}0"), "j\u{e9}\0"] {
        let refused = soon(house.client.list_jobs(page(cursor))).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{cursor}");
        assert!(refused.message().starts_with("cursor: "), "{refused}");
    }
    for (job, cursor) in [("two", of_one.as_str()), ("one", &of_jobs), ("one", "e")] {
        let refused = soon(house.client.list_executions(rows(job, cursor))).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{cursor}");
    }
    let request = ListJobsRequest { limit: 1_001, cursor: String::new() };
    let refused = soon(house.client.list_jobs(request)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let text = "limit: 1001 is not accepted; use 1 to 1000, or 0 for the usual 100";
    assert_eq!(refused.message(), text);
    house.close().await;
}
