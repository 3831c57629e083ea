//! What of a job is told to whom: its secrets to nobody, and where it calls to those who have a say in it.

use chronos_server::proto::target::Kind;
use chronos_server::proto::{GetJobRequest, Job, ListJobsRequest};
use serde_json::{Value, json};

use super::{Estate, Someone};
use crate::daemon::soon;
use crate::rest::{hourly, text};

const MASK: &str = "********";
const SIGNING: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

fn guarded() -> Value {
    let mut job = hourly("guarded", "");
    let url = "http://127.0.0.1:9/hook";
    job["target"] = json!({
        "type": "http", "url": format!("{url}?token=query-canary&page=2"), "signing_secret": SIGNING,
        "headers": {"Authorization": {"secret": "header-canary"}},
    });
    job["notify"] = json!({
        "url": format!("{url}?token=notice-query-canary"), "signing_secret": SIGNING,
        "headers": {"X-Key": {"secret": "notice-header-canary"}},
    });
    job
}

/// Everything that somebody is told about a job, by REST and by gRPC.
async fn told(someone: &Someone, id: &str) -> (Value, Job, String) {
    let one = someone.get(&format!("/jobs/{id}")).await.expect(200);
    let listed = someone.get("/jobs?name=guarded").await.expect(200);
    assert_eq!(listed["items"][0], one);
    let mut grpc = someone.grpc().await;
    let found = soon(grpc.get_job(GetJobRequest { job: id.into() })).await.unwrap().into_inner();
    let list = ListJobsRequest { limit: 1_000, ..ListJobsRequest::default() };
    let page = soon(grpc.list_jobs(list)).await.unwrap().into_inner();
    assert!(page.jobs.contains(&found));
    let runs = someone.get(&format!("/jobs/{id}/executions")).await.expect(200);
    let all = format!("{one} {listed} {found:?} {page:?} {runs}");
    (one, found, all)
}

fn url_of(job: &Job) -> (&str, &str) {
    let spec = job.spec.as_ref().unwrap();
    let Some(Kind::Http(http)) = spec.target.as_ref().and_then(|target| target.kind.as_ref())
    else {
        panic!("it calls an endpoint");
    };
    (&http.url, &spec.notify.as_ref().unwrap().url)
}

#[tokio::test]
async fn a_viewer_is_told_neither_secrets_nor_what_queries_hold() {
    let (estate, ada) = Estate::open().await;
    let (bob, bob_id) = ada.hire("bob", "user").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let job = bob.post("/jobs/recurring", &guarded()).await.expect(201);
    let id = text(&job["id"]);
    let run = bob.ask("POST", &format!("/jobs/{id}/run")).await.expect(201);
    let path = format!("/executions/{}", text(&run["id"]));
    soon(async { while vic.get(&path).await.expect(200)["status"] != "FAILED" {} }).await;
    let masked = format!("http://127.0.0.1:9/hook?{MASK}");
    let viewer_s_key = vic.key(&["read"]).await;
    for viewer in [&vic, &viewer_s_key] {
        let (rest, grpc, all) = told(viewer, id).await;
        assert_eq!(rest["target"]["headers"], json!({"Authorization": {"secret": MASK}}));
        assert_eq!(rest["target"]["signing_secret"], MASK);
        assert_eq!(rest["target"]["url"], masked);
        assert_eq!(rest["notify"]["url"], masked);
        assert_eq!(url_of(&grpc), (masked.as_str(), masked.as_str()));
        let letters = viewer.get("/dead-letters").await.expect(200);
        assert_eq!(letters["items"][0]["id"], run["id"]);
        let all = format!("{all} {letters} {}", viewer.get(&path).await.text);
        for canary in ["canary", "C2FVsBQI", "page=2"] {
            assert!(!all.contains(canary), "{canary}: {all}");
        }
    }
    // Whoever has a say in the job reads where it calls, and its secrets no more than others.
    for someone in [&bob, &ada] {
        let (rest, grpc, all) = told(someone, id).await;
        let url = "http://127.0.0.1:9/hook?token=query-canary&page=2";
        assert_eq!((text(&rest["target"]["url"]), url_of(&grpc).0), (url, url));
        assert!(!all.contains("header-canary") && !all.contains("C2FVsBQI"), "{all}");
    }
    // One's own jobs stay one's own, whatever one's role becomes.
    ada.patch(&format!("/users/{bob_id}"), &json!({"role": "viewer"})).await.expect(200);
    let (rest, _, _) = told(&bob.log_in("bob").await, id).await;
    assert!(text(&rest["target"]["url"]).ends_with("page=2"), "{rest}");
    estate.close().await;
}
