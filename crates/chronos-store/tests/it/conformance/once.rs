//! Requests that come twice: done once, known again for a day, never mistaken for another.

use chronos_core::audit::Decision;
use chronos_core::plan::Change;
use chronos_core::store::{Creation, Done, Error, Request};
use chronos_core::{JobSpec, PolicyId};

use crate::bench::{Bench, at, every, job_id, once};

fn request(key: &str, body: &str) -> Request {
    Request::new("ann", key, &[body.as_bytes()])
}

/// A second request comes with an id of its own.
fn again() -> JobSpec {
    JobSpec { id: job_id("twin"), ..every("a", 10) }
}

pub(crate) async fn the_same_request_makes_one_job(bench: &Bench) {
    let request = request("k", "body");
    let first = bench.create_job_on(Creation::new(every("a", 10)).once(request), at(0)).await;
    assert_eq!(first, Ok(Done { made: job_id("a"), again: false }));
    let before = bench.answers().await;
    let second = bench.create_job_on(Creation::new(again()).once(request), at(5)).await;
    assert_eq!(second, Ok(Done { made: job_id("a"), again: true }));
    before.assert_same(&bench.answers().await);
    bench.delete_job(job_id("a"), at(6)).await.unwrap();
    let third = bench.create_job_on(Creation::new(again()).once(request), at(7)).await;
    assert_eq!(third, Ok(Done { made: job_id("a"), again: true }), "it does not come back");
}

pub(crate) async fn a_key_is_good_for_one_request(bench: &Bench) {
    bench
        .create_job_on(Creation::new(every("a", 10)).once(request("k", "body")), at(0))
        .await
        .unwrap();
    let other =
        bench.create_job_on(Creation::new(again()).once(request("k", "other")), at(1)).await;
    assert_eq!(other, Err(Error::RequestReused));
    let run = bench.run_now_once(job_id("a"), request("k", "body"), None, at(1)).await;
    assert_eq!(run, Err(Error::RequestReused));
    let bobs = Request::new("bob", "k", &[b"other"]);
    let bobs = bench.create_job_on(Creation::new(every("b", 10)).once(bobs), at(1)).await;
    assert_eq!(bobs, Ok(Done { made: job_id("b"), again: false }));
    let others =
        bench.create_job_on(Creation::new(every("c", 10)).once(request("l", "body")), at(1)).await;
    assert_eq!(others, Ok(Done { made: job_id("c"), again: false }));
}

pub(crate) async fn a_request_is_known_over_restarts_and_forgotten_after_a_day(bench: &mut Bench) {
    const DAY: i64 = 24 * 60 * 60;
    for name in ["a", "b", "c", "d", "e", "f"] {
        let spec = once(name, 10 * DAY);
        bench.create_job_on(Creation::new(spec).once(request(name, name)), at(0)).await.unwrap();
    }
    bench.reopen().await;
    for name in ["a", "f"] {
        let spec = JobSpec { id: job_id("twin"), ..once(name, 10 * DAY) };
        let known =
            bench.create_job_on(Creation::new(spec).once(request(name, name)), at(DAY - 1)).await;
        assert_eq!(known, Ok(Done { made: job_id(name), again: true }));
    }
    for (name, second) in [("g", DAY), ("h", DAY + 1), ("i", DAY + 2)] {
        // The key of another request may be taken once that is forgotten.
        let other = request(if name == "g" { "a" } else { name }, name);
        let made =
            bench.create_job_on(Creation::new(once(name, 10 * DAY)).once(other), at(second)).await;
        assert_eq!(made, Ok(Done { made: job_id(name), again: false }));
        let known = bench.create_job_on(Creation::new(again()).once(other), at(second)).await;
        assert_eq!(known, Ok(Done { made: job_id(name), again: true }));
    }
}

pub(crate) async fn the_same_request_makes_one_run(bench: &mut Bench) {
    bench.create(every("a", 10)).await;
    let request = request("k", "run a");
    let first = bench.run_now_once(job_id("a"), request, None, at(1)).await.unwrap();
    assert!(!first.again);
    bench.reopen().await;
    let second = bench.run_now_once(job_id("a"), request, None, at(2)).await.unwrap();
    assert_eq!((second.made, second.again), (first.made, true));
    assert_eq!(bench.rows(job_id("a")).await.len(), 1);
}

pub(crate) async fn what_is_refused_is_not_remembered(bench: &Bench) {
    bench.create(every("a", 10)).await;
    let taken = bench.create_job_on(Creation::new(again()).once(request("k", "body")), at(1)).await;
    assert_eq!(taken, Err(Error::NameTaken("a".into())));
    bench.delete_job(job_id("a"), at(2)).await.unwrap();
    let made = bench.create_job_on(Creation::new(again()).once(request("k", "body")), at(3)).await;
    assert_eq!(made, Ok(Done { made: job_id("twin"), again: false }));
    let ghost = bench.run_now_once(job_id("ghost"), request("l", "run"), None, at(3)).await;
    assert_eq!(ghost, Err(Error::NoSuchJob(job_id("ghost"))));
}

pub(crate) async fn requests_at_once_make_one_job(bench: &Bench) {
    let request = request("k", "body");
    let made = (0..8).map(|number| {
        let store = bench.handle();
        let spec = JobSpec { id: job_id(&format!("a{number}")), ..every("a", 10) };
        tokio::spawn(
            async move { store.create_job_on(Creation::new(spec).once(request), at(0)).await },
        )
    });
    let tasks: Vec<_> = made.collect();
    let mut made = Vec::new();
    for task in tasks {
        made.push(task.await.unwrap());
    }
    made.sort_by_key(|done| done.as_ref().is_ok_and(|done| done.again));
    let first = made[0].clone().unwrap();
    assert!(!first.again);
    for done in &made[1..] {
        assert_eq!(*done, Ok(Done { again: true, ..first }));
    }
    assert_eq!(bench.jobs(None, 9).await.unwrap().len(), 1);
}

/// A job of this owner.
fn owned(name: &str, owner: &str) -> JobSpec {
    JobSpec { owner: owner.into(), ..every(name, 10) }
}

pub(crate) async fn an_owner_has_no_more_jobs_than_it_may(bench: &mut Bench) {
    let within = async |bench: &Bench, name: &str, owner: &str, request| {
        let creation = Creation { request, ..Creation::new(owned(name, owner)).within(2) };
        bench.create_job_on(creation, at(0)).await
    };
    let known = Some(request("k", "body"));
    for (name, request) in [("a", None), ("b", known)] {
        let made = within(bench, name, "ann", request).await;
        assert_eq!(made, Ok(Done { made: job_id(name), again: false }));
    }
    bench.reopen().await;
    assert_eq!(within(bench, "c", "ann", None).await, Err(Error::TooManyJobs(2)));
    let other = Some(request("l", "body"));
    assert_eq!(within(bench, "c", "ann", other).await, Err(Error::TooManyJobs(2)));
    let again = within(bench, "c", "ann", known).await;
    assert_eq!(again, Ok(Done { made: job_id("b"), again: true }), "it made one before");
    assert!(within(bench, "d", "bob", None).await.is_ok(), "others have room");
    let rename = Change::Edit(Box::new(JobSpec { name: "z".into(), ..owned("a", "ann") }));
    bench.amend_job(job_id("a"), rename, None, at(1)).await.unwrap();
    assert_eq!(within(bench, "c", "ann", None).await, Err(Error::TooManyJobs(2)));
    bench.delete_job(job_id("a"), at(1)).await.unwrap();
    let made = within(bench, "c", "ann", other).await;
    assert_eq!(made, Ok(Done { made: job_id("c"), again: false }));
    assert_eq!(within(bench, "e", "ann", None).await, Err(Error::TooManyJobs(2)));
}

pub(crate) async fn jobs_at_once_are_no_more_than_their_owner_may_have(bench: &Bench) {
    let tasks = (0..8).map(|number| {
        let store = bench.handle();
        let spec = owned(&format!("a{number}"), "ann");
        tokio::spawn(async move { store.create_job_on(Creation::new(spec).within(3), at(0)).await })
    });
    let tasks: Vec<_> = tasks.collect();
    let mut made = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => made += 1,
            refused => assert_eq!(refused, Err(Error::TooManyJobs(3))),
        }
    }
    assert_eq!((made, bench.jobs(None, 9).await.unwrap().len()), (3, 3));
}

pub(crate) async fn many_jobs_are_made_each_by_itself(bench: &mut Bench) {
    let (known, nowhere) = (request("k", "body"), PolicyId::new(at(0), [1; 10]));
    bench.create(every("there", 10)).await;
    let creation = |name: &str| Creation::new(every(name, 10));
    let unquiet = JobSpec { quiet_hours: Some(nowhere), ..every("unquiet", 10) };
    let made = |name| Ok(Done { made: job_id(name), again: false });
    let namesake = JobSpec { id: job_id("other"), ..every("a", 10) };
    let answers = bench.create_jobs(
        vec![
            creation("a"),
            creation("there"),
            creation("b").once(known),
            Creation::new(namesake),
            Creation::new(unquiet),
            creation("c").once(known),
            creation("d").once(request("k", "other")),
            creation("e").within(4),
            creation("f").within(4),
            creation("g"),
        ],
        at(0),
    );
    let expected = vec![
        made("a"),
        Err(Error::NameTaken("there".into())),
        made("b"),
        Err(Error::NameTaken("a".into())),
        Err(Error::NoSuchPolicy(nowhere)),
        Ok(Done { made: job_id("b"), again: true }),
        Err(Error::RequestReused),
        made("e"),
        Err(Error::TooManyJobs(4)),
        made("g"),
    ];
    assert_eq!(answers.await.unwrap(), expected);
    bench.reopen().await;
    let jobs = bench.jobs(None, 99).await.unwrap();
    let mut names: Vec<&str> = jobs.iter().map(|job| &*job.spec.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "e", "g", "there"]);
    let created = bench.audit(0, 99).await.unwrap();
    let created = created.iter().filter(|event| event.decision == Decision::Created);
    assert_eq!(created.count(), 5);
    assert_eq!(bench.create_jobs(vec![], at(1)).await, Ok(vec![]));
    // More than one step makes.
    let many = (0..600).map(|number| creation(&format!("m{number}")));
    let answers = bench.create_jobs(many.collect(), at(1)).await.unwrap();
    assert!(answers.len() == 600 && answers.iter().all(Result::is_ok));
    assert_eq!(bench.stats().await.unwrap().jobs, 605);
}
