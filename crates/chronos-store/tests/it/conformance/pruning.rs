//! Pruning: days that are no longer to be kept go, and what is left is as it was.

use chronos_core::execution::{Failure, Report};
use chronos_core::plan::Ending;
use chronos_core::store::{Claim, Finish, Prune, Records, midnight};
use chronos_core::{JobId, JobSpec, Store};

use crate::bench::{Bench, at, every};

const DAY: i64 = 86_400;

fn daily(name: &str) -> JobSpec {
    every(name, DAY.unsigned_abs())
}

/// Prunes to the end; says how much went, or would.
async fn prune(store: &dyn Store, records: Records, before: i64, rehearsal: bool) -> u64 {
    let prune = Prune { records, before: at(before), rehearsal };
    let (mut count, mut from) = (0, None::<Box<[u8]>>);
    loop {
        let step = store.prune(prune, from.as_deref()).await.unwrap();
        count += step.count;
        let Some(next) = step.next else { return count };
        assert!(from.is_none_or(|from| from < next), "a step leads on");
        from = Some(next);
    }
}

/// Two jobs that run once a day for four days, one of which fails; the other is deleted at last.
async fn some_days(bench: &mut Bench) -> [JobId; 2] {
    let kept = bench.create(daily("kept")).await.spec.id;
    let gone = bench.create(daily("gone")).await.spec.id;
    for day in 1..=4 {
        bench.fire(day * DAY).await;
        for claim in bench.take(day * DAY).await {
            let ending = if claim.spec.id == kept {
                Ending::Failed(Failure::permanent("broken"))
            } else {
                Ending::Success
            };
            bench.end(&claim, ending, day * DAY + 1).await;
        }
    }
    bench.delete_job(gone, at(4 * DAY + 2)).await.unwrap();
    [kept, gone]
}

pub(crate) async fn days_that_are_not_to_be_kept_go_and_the_rest_stays(bench: &mut Bench) {
    let [kept, gone] = some_days(bench).await;
    let before = bench.audit(0, 1_000).await.unwrap();
    let (day, first) = (3 * DAY, midnight(at(3 * DAY)));
    for records in [Records::Executions, Records::Decisions] {
        assert_eq!(prune(&**bench, records, 0, false).await, 0, "nothing is so old");
        let would = prune(&**bench, records, day, true).await;
        assert_eq!(prune(&**bench, records, day, true).await, would, "counting changes nothing");
        assert_eq!(prune(&**bench, records, day, false).await, would);
        assert_eq!(prune(&**bench, records, day, false).await, 0);
        let expected = match records {
            Records::Executions => 4,
            Records::Decisions => before.iter().filter(|event| event.at < first).count() as u64,
        };
        assert_eq!(would, expected);
    }
    for _ in 0..2 {
        for job in [kept, gone] {
            let runs = bench.executions(job, None, 100).await.unwrap();
            let ends: Vec<_> = runs.iter().map(|run| run.finished_at().unwrap()).collect();
            assert_eq!(ends, [at(4 * DAY + 1), at(3 * DAY + 1)]);
        }
        assert_eq!(bench.dead_letters(None, 100).await.unwrap().len(), 2);
        let rest: Vec<_> = before.iter().filter(|event| event.at >= first).cloned().collect();
        assert_eq!(bench.audit(0, 1_000).await.unwrap(), rest);
        bench.reopen().await;
    }
    // Runs go on as before, and so do the numbers of decisions.
    bench.fire(5 * DAY).await;
    let claims = bench.take(5 * DAY).await;
    bench.end(&claims[0], Ending::Success, 5 * DAY + 1).await;
    assert_eq!(bench.executions(kept, None, 100).await.unwrap().len(), 3);
    let (last, next) = (before.last().unwrap().sequence, before.len());
    let all = bench.audit(last, 1_000).await.unwrap();
    assert_eq!(all.first().map(|event| event.sequence), Some(last + 1), "{next} before");
}

pub(crate) async fn the_newest_decisions_stay_however_old_they_are(bench: &mut Bench) {
    some_days(bench).await;
    let before = bench.audit(0, 1_000).await.unwrap();
    let newest = midnight(before.last().unwrap().at);
    assert_eq!(prune(&**bench, Records::Executions, 99 * DAY, false).await, 8);
    prune(&**bench, Records::Decisions, 99 * DAY, false).await;
    let rest: Vec<_> = before.iter().filter(|event| event.at >= newest).cloned().collect();
    assert!(!rest.is_empty());
    for _ in 0..2 {
        assert_eq!(bench.audit(0, 1_000).await.unwrap(), rest);
        assert_eq!(bench.dead_letters(None, 100).await.unwrap(), []);
        bench.reopen().await;
    }
    bench.create(daily("next")).await;
    let last = before.last().unwrap().sequence;
    assert_eq!(bench.audit(last, 9).await.unwrap()[0].sequence, last + 1);
}

pub(crate) async fn many_executions_go_in_several_steps(bench: &mut Bench) {
    for number in 0..100 {
        bench.create(every(&format!("o{number}"), 60)).await;
    }
    for minute in 1..=11 {
        let second = minute * 60;
        bench.fire(second).await;
        let claims = bench.take(second).await;
        assert_eq!(claims.len(), 100);
        let end = |claim: Claim| Finish {
            hold: claim.hold,
            ending: Ending::Success,
            report: Report::at(at(second)),
        };
        bench.finish(claims.into_iter().map(end).collect(), at(second)).await.unwrap();
    }
    let first = Prune { records: Records::Executions, before: at(2 * DAY), rehearsal: false };
    let first = bench.prune(first, None).await.unwrap();
    assert!(first.count > 0, "{first:?}");
    assert_eq!(first.count + prune(&**bench, Records::Executions, 2 * DAY, false).await, 1_100);
    for job in bench.jobs(None, 1_000).await.unwrap() {
        assert_eq!(bench.executions(job.spec.id, None, 10).await.unwrap(), []);
    }
}
