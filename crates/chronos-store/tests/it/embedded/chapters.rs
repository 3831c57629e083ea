//! Chapters of the audit: their digests lead past what is not asked for.

use std::ops::{ControlFlow, RangeInclusive};

use chronos_core::store::{AuditFilter, AuditWalk};
use chronos_store::Retention;
use chronos_store::kv::{Kv as _, MemoryKv, Order};

use super::Forgetful;
use crate::bench::{Bench, at, every, job_id, memory, once};
use crate::shared_kv::SharedKv;

/// Bytes of a digest, which nothing else here has.
const DIGEST: usize = 7_696;

/// Decides about a thousand slots of a busy job, so many times.
async fn be_busy(bench: &Bench, rounds: RangeInclusive<i64>) {
    for round in rounds {
        bench.fire_due(at(round * 1_000), 9, None).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_rare_is_found_by_one_look_however_much_lies_before_it() {
    let mut bench = Bench::new(memory().await).await;
    bench.create(once("rare", 9_000_000)).await;
    bench.create(every("busy", 1)).await;
    be_busy(&bench, 1..=14).await;
    // The digest of a chapter that was begun before is whole all the same.
    bench.restart().await;
    be_busy(&bench, 15..=30).await;
    let filter = AuditFilter { job: Some(job_id("rare")), ..AuditFilter::default() };
    let page = bench.find_audit(&filter, AuditWalk::NewestFirst(None), 9).await.unwrap();
    let found: Vec<_> = page.events.iter().map(|event| event.decision.kind()).collect();
    assert_eq!((found, page.next), (vec!["schedule.created"], None));
    // What is in no chapter takes no longer.
    let filter = AuditFilter { job: Some(job_id("nobody")), ..AuditFilter::default() };
    let page = bench.find_audit(&filter, AuditWalk::NewestFirst(None), 9).await.unwrap();
    assert_eq!((page.events.len(), page.next), (0, None));
    // Times lead past chapters, too.
    let filter = AuditFilter { until: Some(at(1)), ..AuditFilter::default() };
    let page = bench.find_audit(&filter, AuditWalk::NewestFirst(None), 9).await.unwrap();
    assert_eq!((page.events.len(), page.next), (2, None), "two jobs were made");
}

#[tokio::test]
async fn digests_go_with_the_last_decisions_of_their_chapters() {
    let kv = SharedKv::new(MemoryKv::new());
    let retention = Retention { audit_events: Some(2_000), ..Retention::default() };
    let bench = Bench::new(Forgetful { kv: kv.clone(), retention }).await;
    bench.create(every("busy", 1)).await;
    be_busy(&bench, 1..=30).await;
    let kept = bench.audit(0, 100_000).await.unwrap();
    assert!(kept.len() < 8_000, "{}", kept.len());
    let filter = AuditFilter { job: Some(job_id("busy")), ..AuditFilter::default() };
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let page = bench.find_audit(&filter, AuditWalk::OldestFirst(after), 1_000).await.unwrap();
        found.extend(page.events);
        let Some(next) = page.next else { break };
        after = next;
    }
    assert_eq!(found, kept);
    let mut digests = 0;
    let (from, to) = ([0], [u8::MAX]);
    let all = kv.scan(&from, &to, Order::Ascending, &mut |_, value| {
        digests += usize::from(value.len() == DIGEST);
        ControlFlow::Continue(())
    });
    all.unwrap();
    assert!(digests <= 3, "{digests} digests are left of {}", kept.last().unwrap().sequence);
}
