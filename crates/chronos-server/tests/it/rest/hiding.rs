//! Secrets of jobs: sent to their target, and to nobody else.

use std::time::Duration;

use chronos_server::proto::UpdateJobRequest;
use chronos_server::proto::target::Kind;
use serde_json::{Value, json};

use super::{hourly, text};
use crate::client::house::Endpoint;
use crate::daemon::house::House;

const MASK: &str = "********";
const SIGNING: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

fn hidden(url: &str) -> Value {
    let mut job = hourly("hidden", "");
    job["target"] = json!({
        "type": "http", "url": url, "signing_secret": SIGNING,
        "headers": {"Authorization": {"secret": "hunter2"}, "X-Plain": "shown"},
    });
    job
}

/// Runs the job, and gives back its execution and what the endpoint was sent.
async fn sent(house: &House, job: &Value, endpoint: &Endpoint) -> (Value, String) {
    let run = house.ask("POST", &format!("/jobs/{}/run", text(&job["id"]))).await.expect(201);
    let run = house.wait_for(text(&run["id"]), "SUCCESS").await;
    (run, endpoint.requests.recv_timeout(Duration::from_secs(30)).unwrap())
}

#[tokio::test]
async fn a_secret_is_sent_to_its_target_and_told_to_nobody() {
    let endpoint = Endpoint::answering("200 OK");
    let mut house = House::open().await;
    let made = house.make(&hidden(&endpoint.url())).await;
    let told = json!({"Authorization": {"secret": MASK}, "X-Plain": "shown"});
    assert_eq!(made["target"]["headers"], told);
    assert_eq!(made["target"]["signing_secret"], MASK);
    let (run, request) = sent(&house, &made, &endpoint).await;
    assert!(request.contains("authorization: hunter2\r\n"), "{request}");
    assert!(request.contains("webhook-signature: v1,"), "{request}");
    let job = house.get(&format!("/jobs/{}", text(&made["id"]))).await.text;
    let (listed, contract) = (house.get("/jobs").await.text, house.job("hidden").await);
    for told in [job, listed, run.to_string(), format!("{:?}", contract.spec)] {
        assert!(!told.contains("hunter2") && !told.contains("C2FVsBQI"), "{told}");
    }
    let Some(Kind::Http(http)) = contract.spec.unwrap().target.unwrap().kind else {
        panic!("it calls an endpoint");
    };
    assert_eq!(http.secret_headers["Authorization"], MASK);
    assert_eq!((http.signing_secret.as_str(), http.headers.len()), (MASK, 1));
    house.close().await;
}

#[tokio::test]
async fn a_secret_stays_when_its_mask_comes_back_and_goes_when_another_takes_its_place() {
    let endpoint = Endpoint::answering("200 OK");
    let house = House::open().await;
    let made = house.make(&hidden(&endpoint.url())).await;
    let id = text(&made["id"]);
    for (patch, header) in [
        (json!({"max_retry": 1}), "authorization: hunter2\r\n"),
        (json!({"target": made["target"]}), "authorization: hunter2\r\n"),
        (json!({"target": {"headers": {"Authorization": MASK}}}), "authorization: hunter2\r\n"),
        (
            json!({"target": {"headers": {"Authorization": {"secret": "hunter3"}}}}),
            "authorization: hunter3\r\n",
        ),
        (json!({"target": {"headers": {"Authorization": "open"}}}), "authorization: open\r\n"),
    ] {
        house.patch(id, "", &patch).await.expect(200);
        let (_, request) = sent(&house, &made, &endpoint).await;
        assert!(request.contains(header), "{patch}: {request}");
        assert!(request.contains("webhook-signature: v1,"), "{request}");
    }
    let unsigned = json!({"target": {"signing_secret": null}});
    let job = house.patch(id, "", &unsigned).await.expect(200);
    assert_eq!(job["target"].get("signing_secret"), None);
    let (_, request) = sent(&house, &made, &endpoint).await;
    assert!(!request.contains("webhook-"), "{request}");
    house.close().await;
}

#[tokio::test]
async fn secrets_do_not_go_along_to_another_host() {
    let (first, second) = (Endpoint::answering("200 OK"), Endpoint::answering("200 OK"));
    let house = House::open().await;
    let made = house.make(&hidden(&first.url())).await;
    let id = text(&made["id"]);
    let same = json!({"target": {"url": format!("{}/deeper", first.url())}});
    assert_eq!(house.patch(id, "", &same).await.expect(200).get("dropped_secrets"), None);
    let other = json!({"target": {"url": second.url()}});
    let moved = house.patch(id, "", &other).await.expect(200);
    assert_eq!(moved["dropped_secrets"], json!(["Authorization", "signing_secret"]));
    assert_eq!(moved["target"]["headers"], json!({"X-Plain": "shown"}));
    let (_, request) = sent(&house, &made, &second).await;
    assert!(!request.contains("authorization") && !request.contains("webhook-"), "{request}");
    house.close().await;
}

#[tokio::test]
async fn secrets_do_not_go_along_to_another_host_over_grpc_either() {
    let (first, second) = (Endpoint::answering("200 OK"), Endpoint::answering("200 OK"));
    let mut house = House::open().await;
    let mut job = hidden(&first.url());
    job["notify"] = json!({
        "url": first.url(), "signing_secret": SIGNING, "headers": {"X-Told": {"secret": "hunter3"}},
    });
    let made = house.make(&job).await;
    // What was read is sent back, masks and all, with another host in place of the one.
    let mut spec = house.job("hidden").await.spec.unwrap();
    let Some(Kind::Http(http)) = spec.target.as_mut().and_then(|it| it.kind.as_mut()) else {
        panic!("it calls an endpoint");
    };
    assert_eq!(http.secret_headers["Authorization"], MASK);
    http.url = format!("{}/deeper", first.url());
    let update =
        |spec| UpdateJobRequest { job: "hidden".into(), spec: Some(spec), expected_version: 0 };
    let stayed = house.client.update_job(update(spec.clone())).await.unwrap().into_inner();
    assert!(stayed.dropped_secrets.is_empty(), "{:?}", stayed.dropped_secrets);
    let Some(Kind::Http(http)) = spec.target.as_mut().and_then(|it| it.kind.as_mut()) else {
        panic!("it calls an endpoint");
    };
    http.url = second.url();
    spec.notify.as_mut().unwrap().url = second.url();
    let moved = house.client.update_job(update(spec)).await.unwrap().into_inner();
    assert_eq!(
        moved.dropped_secrets,
        ["Authorization", "signing_secret", "notify.X-Told", "notify.signing_secret"]
    );
    let (_, request) = sent(&house, &made, &second).await;
    assert!(request.contains("x-plain: shown\r\n"), "{request}");
    for secret in ["authorization", "webhook-", "hunter"] {
        assert!(!request.contains(secret), "{request}");
    }
    house.close().await;
}

#[tokio::test]
async fn what_is_no_secret_is_refused_without_being_repeated() {
    let house = House::open().await;
    for (target, field) in [
        (json!({"headers": {"X": {"secret": MASK}}}), "target.headers"),
        (json!({"headers": {"X": MASK}}), "target.headers"),
        (json!({"signing_secret": MASK}), "target.signing_secret"),
        (json!({"signing_secret": "hunter2"}), "target.signing_secret"),
        (json!({"headers": {"X": {"secret": "hunter2\r\nX-Evil: 1"}}}), "target.headers"),
        (json!({"headers": {"Host": {"secret": "hunter2"}}}), "target.headers"),
        (json!({"headers": {"X": {"secrt": "hunter2"}}}), "target.headers.X"),
        (json!({"headers": {"X": {"secret": "hunter2", "more": 1}}}), "target.headers.X"),
        (json!({"headers": {"X": ["hunter2"]}}), "target.headers.X"),
    ] {
        let mut job = hourly("job", "");
        job["target"] = json!({"type": "http", "url": "http://127.0.0.1:9/"});
        job["target"].as_object_mut().unwrap().extend(target.as_object().unwrap().clone());
        let (named, problem) = house.post("/jobs/recurring", &job).await.refused(422);
        assert_eq!(named, field, "{target}: {problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
    }
    house.close().await;
}
