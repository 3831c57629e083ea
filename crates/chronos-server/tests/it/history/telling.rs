//! Telling: each caller is told of what it may see, in the periods of the calendar and the zone it likes.

use chronos_store::{Engine, StoreUrl};

use super::{fill_directory, told_all};
use crate::auth::{Someone, credentials};
use crate::daemon::house::{House, config};
use crate::rest::text;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_are_told_of_their_own_jobs_and_viewers_of_all() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut on_disk = config();
    on_disk.store = StoreUrl::Directory(Engine::Fjall, data.clone());
    let house = House::with(on_disk.clone()).await;
    let anyone = Someone { address: house.address(), token: None };
    anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
    let ada = anyone.log_in("ada").await;
    let (_, bob) = ada.hire("bob", "user").await;
    let (_, _) = ada.hire("vera", "viewer").await;
    house.close().await;
    let jobs = fill_directory(&data, &[&bob, "somebody", "somebody"], 200).await;

    let house = House::with(on_disk).await;
    let anyone = Someone { address: house.address(), token: None };
    let (ada, bob, vera) =
        (anyone.log_in("ada").await, anyone.log_in("bob").await, anyone.log_in("vera").await);
    let standing = crate::daemon::soon(async {
        loop {
            let standing = ada.get("/history").await.expect(200);
            if standing["status"] == "following" && standing["to_roll_up"] == false {
                return standing;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(standing["read"].as_u64() > Some(600), "{standing}");
    // The first week of 2026 begins in the year before, and is of the month of its Thursday.
    let path = "/history/toc/toc:week:2026:W01";
    for (who, jobs, runs) in [(&ada, 3, 501), (&vera, 3, 501), (&bob, 1, 167)] {
        let week = who.get(path).await.expect(200);
        assert_eq!(
            (&week["jobs"], &week["figures"]["endings"]["total"]),
            (&jobs.into(), &runs.into())
        );
        assert_eq!((text(&week["phase"]), text(&week["parent"])), ("final", "toc:month:2026-01"));
        assert_eq!(week["children"].as_array().unwrap().len(), 7);
        let told = week["bullets"].to_string();
        assert_eq!(told.contains("past-1"), jobs == 3, "{told}");
        assert!(told.contains("past-0 failed"), "{told}");
    }
    let day = bob.get("/history/toc/toc:day:2026-01-05?tz=Asia/Tokyo").await.expect(200);
    assert_eq!(text(&day["local_start"]), "2026-01-05T09:00:00+09:00");
    assert_eq!(text(&day["start"]), "2026-01-05T00:00:00Z");
    assert_eq!(
        (text(&day["previous"]), text(&day["next"])),
        ("toc:day:2026-01-04", "toc:day:2026-01-06")
    );
    let list = bob.get("/history/toc?level=day&to=2026-01-31T00:00:00Z").await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 9, "{list}");

    // What is not one's own is not there.
    let of_job = |number: usize| {
        format!(
            "/history/jobs/{}?from=2025-12-29T00:00:00Z&to=2026-01-10T00:00:00Z",
            jobs[number].0
        )
    };
    let own = bob.get(&of_job(0)).await.expect(200);
    assert_eq!(own["total"]["endings"]["total"], 200);
    assert_eq!(own["days"].as_array().unwrap().len(), 9);
    bob.get(&of_job(1)).await.refused(404);
    vera.get(&of_job(1)).await.expect(200);
    // Also of one that is gone.
    vera.ask("DELETE", &format!("/jobs/{}", jobs[1].0)).await.refused(403);
    assert_eq!(ada.ask("DELETE", &format!("/jobs/{}?purge=true", jobs[1].0)).await.status, 204);
    assert_eq!(vera.get(&of_job(1)).await.expect(200)["total"]["endings"]["total"], 200);
    bob.get(&of_job(1)).await.refused(404);

    for (path, field, accepted) in [
        ("/history/toc/toc:day:2026-02-29", "node", "toc:day:2026-11-15"),
        ("/history/toc/monday", "node", "toc:day:2026-11-15"),
        ("/history/toc/toc:day:2026-01-05?tz=Europ/Paris", "tz", "Europe/Berlin"),
        ("/history/toc/toc:day:2026-01-05?zone=UTC", "zone", "tz"),
        ("/history/toc?level=decade", "level", "month or year"),
    ] {
        let (named, problem) = bob.get(path).await.refused(400);
        assert!(named == field && problem.contains(accepted), "{path}: {problem}");
    }
    bob.get("/history/toc/toc:day:2019-01-01").await.refused(404);
    bob.get("/history").await.refused(403);
    for path in ["/history/rebuild", "/history/prune"] {
        vera.ask("POST", path).await.refused(403);
    }
    house.close().await;
}

#[tokio::test]
async fn a_daemon_that_forgets_keeps_no_history_and_says_so() {
    let house = House::open().await;
    assert_eq!(house.get("/history").await.expect(200)["status"], "absent");
    let (_, problem) = house.get("/history/toc/toc:day:2026-01-05").await.refused(404);
    assert!(problem.contains("its store is in memory"), "{problem}");
    let (_, problem) = house.ask("POST", "/history/rebuild").await.refused(409);
    assert!(problem.contains("its store is in memory"), "{problem}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_jobs_of_the_history_are_jobs_like_others() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (_daemon, address) = crate::serving::Serving::over(&data, &[]).await;
    told_all(address).await;
    let server = format!("http://{address}");
    let data = data.display().to_string();
    let at = ["--server", &server, "--data-dir", &data];
    let list = crate::answer(&[&["scheduler", "list"], &at[..]].concat());
    for name in [
        "toc_rollup_day",
        "toc_rollup_week",
        "toc_rollup_month",
        "compaction",
        "prune",
        "toc_prune",
        "index_commit",
    ] {
        assert!(list.contains(name), "{list}");
    }
    let run = crate::answer(&[&["scheduler", "run", "toc_rollup_week"], &at[..]].concat());
    assert!(run.starts_with("SUCCESS"), "{run}");
    crate::answer(&[&["scheduler", "pause", "toc_rollup_day"], &at[..]].concat());
    let dry = crate::answer(&[&["history", "prune", "--dry-run"], &at[..]].concat());
    assert!(dry.contains("executions") && dry.contains("toc hours") && dry.contains("90"), "{dry}");
}
