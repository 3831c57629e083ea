//! Finding: every filter alone and with others, over pages, while jobs come and go.

use chronos_core::execution::Failure;
use chronos_core::job::Status;
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::retry;
use chronos_core::store::{Error, JobFilter};
use chronos_core::{JobId, JobSpec};

use crate::answers::found;
use crate::bench::{Bench, at, every, job_id, once};

fn any() -> JobFilter {
    JobFilter::default()
}

/// The names of the jobs found, which are one letter each, in pages of every size.
async fn names(bench: &Bench, filter: &JobFilter) -> String {
    let all = found(&**bench, filter, 1_000).await;
    for limit in 1..4 {
        assert_eq!(found(&**bench, filter, limit).await, all, "{filter:?} by {limit}");
    }
    all.iter().map(|job| &*job.spec.name).collect()
}

fn owned(owner: &str, spec: JobSpec) -> JobSpec {
    JobSpec { owner: owner.into(), ..spec }
}

async fn five_jobs(bench: &Bench) {
    bench.create(owned("ann", every("a", 10).with_tags(["red"]))).await;
    bench.create(owned("ann", every("b", 20).with_tags(["blue", "red"]))).await;
    bench.create(owned("bob", once("c", 30).with_tags(["blue"]))).await;
    bench.create(owned("bob", once("d", 40))).await;
    bench.create(owned("bob", every("e", 50))).await;
    bench
        .amend_job(job_id("d"), Change::Pause { note: None, resume_at: None }, None, at(1))
        .await
        .unwrap();
    bench.amend_job(job_id("e"), Change::Disable, None, at(1)).await.unwrap();
}

pub(crate) async fn each_filter_finds_what_it_asks_for(bench: &mut Bench) {
    five_jobs(bench).await;
    for _ in 0..2 {
        for (filter, expected) in [
            (any(), "abcde"),
            (JobFilter { owner: Some("ann".into()), ..any() }, "ab"),
            (JobFilter { owner: Some("an".into()), ..any() }, ""),
            (JobFilter { name_prefix: Some("b".into()), ..any() }, "b"),
            (JobFilter { name_prefix: Some("".into()), ..any() }, "abcde"),
            (JobFilter { name_prefix: Some("B".into()), ..any() }, ""),
            (JobFilter { tag: Some("red".into()), ..any() }, "ab"),
            (JobFilter { tag: Some("blue".into()), ..any() }, "bc"),
            (JobFilter { tag: Some("re".into()), ..any() }, ""),
            (JobFilter { recurring: Some(true), ..any() }, "abe"),
            (JobFilter { recurring: Some(false), ..any() }, "cd"),
            (JobFilter { paused: Some(true), ..any() }, "d"),
            (JobFilter { paused: Some(false), ..any() }, "abce"),
            (JobFilter { status: Some(Status::Pending), ..any() }, "abcd"),
            (JobFilter { status: Some(Status::Disabled), ..any() }, "e"),
            (JobFilter { next_from: Some(at(20)), ..any() }, "bcd"),
            (JobFilter { next_before: Some(at(20)), ..any() }, "a"),
            (JobFilter { next_from: Some(at(20)), next_before: Some(at(40)), ..any() }, "bc"),
        ] {
            assert_eq!(names(bench, &filter).await, expected, "{filter:?}");
        }
        bench.reopen().await;
    }
    assert_eq!(bench.find_jobs(&any(), None, 0).await.unwrap().jobs, []);
}

pub(crate) async fn what_is_asked_for_is_only_text(bench: &Bench) {
    let hostile = [
        "'",
        "';DROP TABLE chronos.job_specs;--",
        "' OR '1'='1",
        "\" OR \"\"=\"",
        "%",
        "_",
        "\\",
        "\\'",
        "$1",
        "a%",
        "*",
        "(",
        "[",
        "\u{ffff}",
        "\u{10ffff}",
        "nul\0",
        "chronos.job_specs",
        "\u{202e}",
    ];
    bench.create(owned("ann", every("a", 10).with_tags(["red"]))).await;
    let mut made = Vec::new();
    for (number, text) in hostile.into_iter().enumerate() {
        let spec = JobSpec { name: text.into(), ..owned(text, every(&number.to_string(), 10)) };
        match bench.create_job(spec.with_tags([text]), at(0)).await {
            Ok(job) => made.push((text, job.spec.id)),
            // Some of it is no name; it can be asked for all the same.
            refused => assert!(matches!(refused, Err(Error::Invalid(_))), "{text:?}: {refused:?}"),
        }
    }
    assert!(made.len() > hostile.len() / 2, "{made:?}");
    for text in hostile {
        let id = made.iter().find(|(name, _)| *name == text).map(|(_, id)| *id);
        let own = if id.is_some() { text } else { "" };
        for filter in [
            JobFilter { owner: Some(text.into()), ..any() },
            JobFilter { tag: Some(text.into()), ..any() },
            JobFilter { owner: Some(text.into()), name_prefix: Some(text.into()), ..any() },
        ] {
            assert_eq!(names(bench, &filter).await, own, "{filter:?}");
        }
        let begins = names(bench, &JobFilter { name_prefix: Some(text.into()), ..any() }).await;
        let like: String =
            made.iter().map(|(name, _)| *name).filter(|name| name.starts_with(text)).collect();
        assert_eq!(begins, like, "{text:?}");
        let named = bench.job_named(text, text).await.unwrap();
        assert_eq!(named.map(|job| job.spec.id), id, "{text:?}");
    }
    assert_eq!(bench.jobs(None, 100).await.unwrap().len(), made.len() + 1);
}

pub(crate) async fn filters_narrow_each_other(bench: &Bench) {
    five_jobs(bench).await;
    let (owner, tag) = (Some("ann".into()), Some("blue".into()));
    let both = JobFilter { owner, tag, ..any() };
    assert_eq!(names(bench, &both).await, "b");
    let more = JobFilter { next_from: Some(at(21)), ..both };
    assert_eq!(names(bench, &more).await, "");
    let parked = JobFilter {
        owner: Some("bob".into()),
        status: Some(Status::Pending),
        paused: Some(true),
        recurring: Some(false),
        name_prefix: Some("d".into()),
        next_before: Some(at(41)),
        ..any()
    };
    assert_eq!(names(bench, &parked).await, "d");
}

pub(crate) async fn pages_neither_miss_nor_repeat_while_jobs_come_and_go(bench: &Bench) {
    for name in ["b", "d", "f", "h", "j"] {
        bench.create(every(name, 10).with_tags(["t"])).await;
    }
    let filter = JobFilter { tag: Some("t".into()), ..any() };
    let page = async |after: Option<JobId>| {
        let page = bench.find_jobs(&filter, after, 2).await.unwrap();
        let names: String = page.jobs.iter().map(|job| &*job.spec.name).collect();
        (names, page.next)
    };
    let (first, next) = page(None).await;
    assert_eq!(first, "bd");
    // The job that the page ended with goes, and others come before and after it.
    bench.delete_job(job_id("d"), at(1)).await.unwrap();
    bench.create(every("a", 10).with_tags(["t"])).await;
    bench.create(every("e", 10).with_tags(["t"])).await;
    bench.delete_job(job_id("h"), at(1)).await.unwrap();
    let (second, next) = page(next).await;
    assert_eq!(second, "ef");
    let (third, _) = page(next).await;
    assert_eq!(third, "j");
}

pub(crate) async fn an_edit_is_found_under_what_it_says_now(bench: &mut Bench) {
    five_jobs(bench).await;
    let spec = JobSpec { name: "z".into(), ..once("a", 60) }.with_tags(["green"]);
    let edit = Change::Edit(Box::new(spec));
    bench.amend_job(job_id("a"), edit, None, at(2)).await.unwrap();
    for _ in 0..2 {
        for (filter, expected) in [
            (JobFilter { tag: Some("red".into()), ..any() }, "b"),
            (JobFilter { tag: Some("green".into()), ..any() }, "z"),
            (JobFilter { name_prefix: Some("a".into()), ..any() }, ""),
            (JobFilter { owner: Some("ann".into()), ..any() }, "zb"),
            (JobFilter { recurring: Some(false), ..any() }, "zcd"),
            (JobFilter { next_from: Some(at(60)), ..any() }, "z"),
        ] {
            assert_eq!(names(bench, &filter).await, expected, "{filter:?}");
        }
        bench.reopen().await;
    }
}

pub(crate) async fn a_status_follows_what_is_alive(bench: &mut Bench) {
    let of = |status| JobFilter { status: Some(status), ..any() };
    bench.create(JobSpec { retry: retry::Policy::up_to(1), ..once("a", 10) }).await;
    assert_eq!(names(bench, &of(Status::Pending)).await, "a");
    let claim = bench.start(10).await;
    assert_eq!(names(bench, &of(Status::Running)).await, "a");
    assert_eq!(names(bench, &of(Status::Disabled)).await, "");
    let failed = || Ending::Failed(Failure::transient("down"));
    bench.end(&claim, failed(), 11).await;
    bench.reopen().await;
    assert_eq!(names(bench, &of(Status::RetryPending)).await, "a");
    let claim = bench.start(50).await;
    bench.end(&claim, failed(), 51).await;
    assert_eq!(names(bench, &of(Status::Failed)).await, "a");
    bench.run_now(job_id("a"), None, at(60)).await.unwrap();
    assert_eq!(names(bench, &of(Status::Pending)).await, "a", "a run of it waits");
    let claim = bench.take(60).await.remove(0);
    bench.end(&claim, Ending::Success, 61).await;
    bench.reopen().await;
    assert_eq!(names(bench, &of(Status::Success)).await, "a");
    for status in [Status::Pending, Status::Running, Status::RetryPending, Status::Failed] {
        assert_eq!(names(bench, &of(status)).await, "", "{status:?}");
    }
}
