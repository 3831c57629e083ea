//! Everybody's table of contents, and each owner's.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::audit::EndingKind;
use chronos_history::{Digest, Level, Node, Period, RollupJob, Shelf, Summarizer, Summary, Unsaid};
use tempfile::tempdir;

use super::{open, project, roll_up};
use crate::world::{at, ended, job};

#[tokio::test]
async fn an_owner_is_told_of_own_jobs_alone() {
    let directory = tempdir().unwrap();
    let archive = open(directory.path());
    let second = Duration::from_secs(1);
    // Jobs of even numbers are ann's.
    let entries = [
        ended(1, job(0), at("2024-02-28T12:00:00Z"), EndingKind::Success, second),
        ended(2, job(1), at("2024-02-28T13:00:00Z"), EndingKind::Failed, second),
        ended(3, job(2), at("2024-02-29T12:00:00Z"), EndingKind::Failed, second),
    ];
    project(&archive, &entries);
    roll_up(&archive, at("2026-01-01T00:00:00Z")).await;
    let week: Period = "toc:week:2024:W09".parse().unwrap();
    let days = |shelf| {
        let node = archive.node(shelf, week).unwrap().unwrap();
        let days: Vec<String> = node.children.iter().map(ToString::to_string).collect();
        (node.figures.endings.total(), node.version, days)
    };
    let (first, second) = ("toc:day:2024-02-28".to_owned(), "toc:day:2024-02-29".to_owned());
    assert_eq!(days(Shelf::Everyone), (3, 3, vec![first.clone(), second.clone()]));
    assert_eq!(days(Shelf::Owner("ann")), (2, 3, vec![first.clone(), second]));
    assert_eq!(days(Shelf::Owner("bob")), (1, 2, vec![first]));
    assert_eq!(archive.node(Shelf::Owner("eve"), week).unwrap(), None);
    let bob = archive.node(Shelf::Owner("bob"), week).unwrap().unwrap();
    let text = serde_json::to_string(&bob).unwrap();
    assert!(!text.contains("job-0") && !text.contains("job-2"), "{text}");
}

/// A summarizer that is out of order.
struct Silent;

#[async_trait]
impl Summarizer for Silent {
    async fn summarize_events(&self, _: Period, _: &Digest) -> Result<Summary, Unsaid> {
        Err(Unsaid("nobody is there".into()))
    }

    async fn summarize_children(
        &self,
        period: Period,
        _: &Digest,
        _: &[Node],
    ) -> Result<Summary, Unsaid> {
        Err(Unsaid(format!("nobody is there for {period}")))
    }
}

#[tokio::test]
async fn where_the_summarizer_fails_the_extractive_one_sums_up() {
    let directory = tempdir().unwrap();
    let archive = open(directory.path());
    let when = at("2024-02-28T12:00:00Z");
    project(&archive, &[ended(1, job(0), when, EndingKind::Failed, Duration::from_secs(1))]);
    let job = RollupJob::new(archive.clone(), Arc::new(Silent), Level::Day, Duration::ZERO);
    let rolled = job.run(at("2026-01-01T00:00:00Z"), || false).await.unwrap();
    assert_eq!(rolled.unsaid, Some(Unsaid("nobody is there for toc:year:2024".into())));
    let day = archive.node(Shelf::Everyone, "toc:day:2024-02-28".parse().unwrap());
    let day = day.unwrap().unwrap();
    assert!(day.summary.bullets[1].text.starts_with("job-0 failed once at 12:00"), "{day:?}");
}
