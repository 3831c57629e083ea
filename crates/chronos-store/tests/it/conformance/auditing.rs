//! The audit: who asked for what, whose it is, and finding it among many decisions.

use chronos_core::audit::{AuditEvent, Decision, Reconciliation};
use chronos_core::execution::CancelCause;
use chronos_core::plan::{Change, Ending};
use chronos_core::policy::{OverlapPolicy, QuietHours};
use chronos_core::schedule::Zone;
use chronos_core::store::{AuditFilter, AuditWalk, Creation};
use chronos_core::{JobSpec, PolicyId, TraceId, UserId};

use crate::bench::{Bench, at, every, job_id, once, worker};

const ADA: UserId = UserId::from_bytes([0xad; 16]);
const BEN: UserId = UserId::from_bytes([0xbe; 16]);

fn owned(owner: &str, spec: JobSpec) -> JobSpec {
    JobSpec { owner: owner.into(), ..spec }
}

async fn all(bench: &Bench) -> Vec<AuditEvent> {
    bench.audit(0, 100_000).await.unwrap()
}

fn kinds(events: &[AuditEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.decision.kind()).collect()
}

/// All that a filter asks for, page by page, in one direction.
async fn found(bench: &Bench, filter: &AuditFilter, newest_first: bool, limit: usize) -> Vec<u64> {
    let mut walk =
        if newest_first { AuditWalk::NewestFirst(None) } else { AuditWalk::OldestFirst(0) };
    let mut found = Vec::new();
    loop {
        let page = bench.find_audit(filter, walk, limit).await.unwrap();
        assert!(page.events.len() <= limit);
        found.extend(page.events.iter().map(|event| event.sequence));
        let Some(next) = page.next else { break };
        walk = if newest_first {
            AuditWalk::NewestFirst(Some(next))
        } else {
            AuditWalk::OldestFirst(next)
        };
    }
    found
}

pub(crate) async fn what_somebody_asks_for_is_told_as_theirs_and_the_rest_is_not(
    bench: &mut Bench,
) {
    let spec = owned("ada", JobSpec { overlap: OverlapPolicy::Concurrent, ..every("a", 10) });
    let ada = bench.on_behalf_of(ADA);
    ada.create_job_on(Creation::new(spec), at(0)).await.unwrap();
    bench.fire(10).await;
    let ben = bench.on_behalf_of(BEN);
    // What had come due before somebody asked for something was decided by nobody.
    ben.amend_job(job_id("a"), Change::Pause { note: None, resume_at: None }, None, at(20))
        .await
        .unwrap();
    bench.amend_job(job_id("a"), Change::Resume, None, at(21)).await.unwrap();
    let run = ada.run_now(job_id("a"), None, at(22)).await.unwrap();
    ben.cancel(run.id, CancelCause::User, at(23)).await.unwrap();
    ada.delete_job(job_id("a"), at(24)).await.unwrap();
    let events = all(bench).await;
    let by = |kind: &str| {
        let of_kind = events.iter().filter(|event| event.decision.kind() == kind);
        of_kind.map(|event| event.by).collect::<Vec<_>>()
    };
    assert_eq!(by("schedule.created"), [Some(ADA)]);
    assert_eq!(by("schedule.paused"), [Some(BEN)]);
    assert_eq!(by("schedule.resumed"), [None], "somebody asked who is no user");
    assert_eq!(by("schedule.fired"), [None, None, Some(ADA)], "two slots and a run by hand");
    let stops = by("execution.cancel_requested");
    assert_eq!(stops[0], Some(BEN));
    assert!(stops[1..].iter().all(|by| *by == Some(ADA)), "with the job: {stops:?}");
    assert_eq!(by("schedule.cancelled"), [Some(ADA)]);
    assert!(events.iter().all(|event| &*event.owner == "ada"), "{events:#?}");
}

pub(crate) async fn what_is_done_about_policies_is_decided_in_the_same_step(bench: &mut Bench) {
    let id = PolicyId::from_bytes([7; 16]);
    let policy =
        QuietHours { owner: "ada".into(), ..QuietHours::new(id, "nights", Zone::UTC, at(1)) };
    let ada = bench.on_behalf_of(ADA);
    ada.create_policy(policy.clone()).await.unwrap();
    let twin = QuietHours { id: PolicyId::from_bytes([8; 16]), ..policy.clone() };
    assert!(ada.create_policy(twin).await.is_err(), "its name is taken");
    let renamed = QuietHours { name: "dark".into(), ..policy.clone() };
    assert!(bench.edit_policy(renamed.clone(), Some(9), at(2)).await.is_err(), "another version");
    bench.on_behalf_of(BEN).edit_policy(renamed, None, at(2)).await.unwrap();
    bench.create(JobSpec { quiet_hours: Some(id), ..every("a", 10) }).await;
    assert!(bench.delete_policy(id, at(3)).await.is_err(), "a job observes it");
    bench.delete_job(job_id("a"), at(4)).await.unwrap();
    ada.delete_policy(id, at(5)).await.unwrap();
    let events = all(bench).await;
    let about: Vec<_> = events
        .iter()
        .filter(|event| event.decision.policy() == Some(id))
        .map(|event| (event.decision.kind(), event.by, event.at, &*event.owner, event.job))
        .collect();
    let expected = [
        ("policy.created", Some(ADA), at(1), "ada", None),
        ("policy.updated", Some(BEN), at(2), "ada", None),
        ("policy.deleted", Some(ADA), at(5), "ada", None),
    ];
    assert_eq!(about, expected);
    let named: Vec<String> = events.iter().map(|event| event.decision.summary()).collect();
    assert!(
        named.contains(&"quiet-hours policy \"dark\" updated to version 2".into()),
        "{named:?}"
    );
}

pub(crate) async fn what_a_node_put_in_order_is_on_record(bench: &mut Bench) {
    let done = Reconciliation { missed: 7, ..Reconciliation::begin(worker("node-1"), 3) };
    bench.note_reconciliation(done.clone(), at(5)).await.unwrap();
    let events = all(bench).await;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].at, events[0].job), (at(5), None));
    assert_eq!(events[0].decision, Decision::Reconciled(done));
}

pub(crate) async fn a_run_and_its_end_are_found_by_their_trace(bench: &mut Bench) {
    bench.create(every("a", 10)).await;
    let trace = TraceId::from_bytes([5; 16]);
    bench.create(JobSpec { overlap: OverlapPolicy::Concurrent, ..once("b", 500) }).await;
    let claim = bench.start(10).await;
    bench.end(&claim, Ending::Success, 11).await;
    bench.run_now(job_id("b"), Some(trace), at(12)).await.unwrap();
    bench.run_now(job_id("b"), None, at(12)).await.unwrap();
    let mut traces = vec![trace, claim.execution.trace_id()];
    for claim in bench.take(12).await {
        traces.push(claim.execution.trace_id());
        bench.end(&claim, Ending::Success, 13).await;
    }
    traces.sort_by_key(|trace| *trace.as_bytes());
    traces.dedup();
    assert_eq!(traces.len(), 3);
    let events = all(bench).await;
    for trace in traces {
        let filter = AuditFilter { trace: Some(trace), ..AuditFilter::default() };
        let numbers = found(bench, &filter, false, 10).await;
        let of_trace: Vec<_> =
            events.iter().filter(|event| numbers.contains(&event.sequence)).cloned().collect();
        assert_eq!(kinds(&of_trace), ["schedule.fired", "execution.succeeded"], "{trace}");
    }
}

/// Thousands of decisions about two busy jobs, and a few about others here and there.
async fn long_history(bench: &Bench) {
    bench.create(owned("ada", every("busy", 1))).await;
    bench.create(owned("ben", every("noisy", 1))).await;
    for round in 1..=6 {
        // Each of the busy ones misses a thousand slots and a few more.
        let second = round * 1_000;
        bench.fire(second).await;
        let rare = owned("ada", every(&format!("r{round}"), 100_000));
        bench.on_behalf_of(BEN).create_job(rare, at(second)).await.unwrap();
    }
}

pub(crate) async fn what_is_asked_for_is_found_among_thousands_in_both_directions(
    bench: &mut Bench,
) {
    long_history(bench).await;
    bench.reopen().await;
    bench.fire(7_000).await;
    let events = all(bench).await;
    assert!(events.len() > 3 * 4_096, "{} decisions are several chapters", events.len());
    let filter = AuditFilter::default;
    let filters = [
        filter(),
        AuditFilter { job: Some(job_id("r2")), ..filter() },
        AuditFilter { job: Some(job_id("busy")), kind: Some("schedule.fired".into()), ..filter() },
        AuditFilter { job: Some(job_id("nobody")), ..filter() },
        AuditFilter { kind: Some("schedule.created".into()), ..filter() },
        AuditFilter { kind: Some("schedule".into()), owner: Some("ben".into()), ..filter() },
        AuditFilter { kind: Some("execution".into()), ..filter() },
        AuditFilter { by: Some(BEN), ..filter() },
        AuditFilter { by: Some(ADA), ..filter() },
        AuditFilter { since: Some(at(3_000)), until: Some(at(4_000)), ..filter() },
        AuditFilter { since: Some(at(9_000)), ..filter() },
        AuditFilter { until: Some(at(0)), ..filter() },
    ];
    for filter in &filters {
        let mut expected: Vec<u64> =
            events.iter().filter(|event| filter.matches(event)).map(|it| it.sequence).collect();
        for limit in [1_000, 100_000] {
            assert_eq!(found(bench, filter, false, limit).await, expected, "{filter:?} {limit}");
        }
        expected.reverse();
        for limit in [777, 100_000] {
            assert_eq!(found(bench, filter, true, limit).await, expected, "{filter:?} {limit}");
        }
    }
    let rare = AuditFilter { job: Some(job_id("r1")), ..filter() };
    let walk = AuditWalk::NewestFirst(None);
    let page = bench.find_audit(&rare, walk, 10).await.unwrap();
    assert!(page.events.len() == 1 || page.next.is_some(), "nothing is passed by");
}

pub(crate) async fn an_empty_audit_is_read_to_its_end(bench: &mut Bench) {
    let filter = AuditFilter::default();
    for walk in [
        AuditWalk::NewestFirst(None),
        AuditWalk::NewestFirst(Some(0)),
        AuditWalk::NewestFirst(Some(u64::MAX)),
        AuditWalk::OldestFirst(0),
        AuditWalk::OldestFirst(u64::MAX),
    ] {
        let page = bench.find_audit(&filter, walk, 10).await.unwrap();
        assert_eq!((page.events, page.next), (vec![], None), "{walk:?}");
    }
}
