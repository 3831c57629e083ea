//! Whose message events are there for whom.

use chronos_server::proto::StreamEventsRequest;
use chronos_server::proto::stream_events_request::From;
use tonic::Code;

use super::{Estate, Someone};
use crate::daemon::soon;
use crate::rest::events::{says, sequences, stream};
use crate::rest::text;

async fn say(someone: &Someone, name: &str) -> String {
    let made = someone.post("/jobs/recurring", &says(name)).await.expect(201);
    let id = text(&made["id"]).to_owned();
    someone.ask("POST", &format!("/jobs/{id}/run")).await.expect(201);
    id
}

/// What is told by pull, by stream and over gRPC.
async fn told(someone: &Someone, job: &str) -> [Vec<u64>; 3] {
    let query = if job.is_empty() { String::new() } else { format!("&job={job}") };
    let page = someone.get(&format!("/events?after=0{query}")).await.expect(200);
    let pulled = sequences(page["items"].as_array().unwrap());
    let token = someone.token.clone().unwrap();
    let lines = format!("Authorization: Bearer {token}\r\n");
    let path = format!("/events/stream?after=0{query}");
    let (events, _) = stream(someone.address, &path, &lines, 99_000).await;
    let request = StreamEventsRequest { from: Some(From::After(0)), job: job.into() };
    let mut client = someone.grpc().await;
    let mut called = soon(client.stream_events(request)).await.unwrap().into_inner();
    let mut heard = Vec::new();
    for _ in &pulled {
        heard.push(soon(called.message()).await.unwrap().unwrap().sequence);
    }
    [pulled, sequences(&events), heard]
}

#[tokio::test]
async fn a_user_hears_its_own_jobs_and_those_who_see_all_hear_all() {
    let (estate, ada) = Estate::open().await;
    let (uma, uma_id) = ada.hire("uma", "user").await;
    let (una, _) = ada.hire("una", "user").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let of_uma = say(&uma, "hers").await;
    let foreign = say(&una, "other").await;
    say(&ada, "admin's").await;
    let all = || [1, 2, 3].to_vec();
    let none = Vec::<u64>::new;
    assert_eq!(told(&uma, "").await, [[1].to_vec(), [1].to_vec(), [1].to_vec()]);
    assert_eq!(told(&una, "").await, [[2].to_vec(), [2].to_vec(), [2].to_vec()]);
    assert_eq!(told(&vic, "").await, [all(), all(), all()]);
    assert_eq!(told(&ada, "").await, [all(), all(), all()]);
    assert_eq!(told(&uma, &foreign).await, [none(), none(), none()], "as if there were none");
    assert_eq!(told(&uma, &of_uma).await, [[1].to_vec(), [1].to_vec(), [1].to_vec()]);
    let page = uma.get("/events").await.expect(200);
    assert_eq!(page["items"][0]["actor"], uma_id);
    let mut client = una.grpc().await;
    for (from, job, code) in [
        (None, "", Code::InvalidArgument),
        (Some(From::Latest(false)), "", Code::InvalidArgument),
        (Some(From::After(99)), "", Code::InvalidArgument),
        (Some(From::After(0)), "hers", Code::NotFound),
    ] {
        let request = StreamEventsRequest { from, job: job.into() };
        let refused = soon(client.stream_events(request)).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
    }
    estate.close().await;
}
