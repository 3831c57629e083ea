//! Probes, figures, health and reflection.

use std::collections::BTreeSet;

use chronos_engine::{NewJob, SchedulerService};
use chronos_server::daemon::Daemon;
use chronos_server::metrics::MAX_JOBS;
use chronos_server::proto::{CreateJobRequest, RunJobRequest};
use tokio_stream::StreamExt;
use tonic::Code;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use super::house::{House, client, config, get};
use super::{hourly, soon};

#[tokio::test]
async fn probes_answer_with_details() {
    let house = House::open().await;
    let (code, body) = get(house.address(), "/healthz").await;
    let health: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((code, &health["status"]), (200, &"ok".into()));
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    let (code, body) = get(house.address(), "/readyz").await;
    let mut ready: serde_json::Value = serde_json::from_str(&body).unwrap();
    let reconciliation = ready.as_object_mut().unwrap().remove("reconciliation").unwrap();
    assert_eq!(reconciliation["complete"], true);
    for count in ["jobs", "lost_runs", "missed_slots", "fired_slots", "duration_ms"] {
        assert!(reconciliation[count].is_u64(), "{count}: {reconciliation}");
    }
    let expected = serde_json::json!({ "status": "ready", "scheduler": "running", "store": "ok" });
    assert_eq!((code, ready), (200, expected));
    house.close().await;
}

#[tokio::test]
async fn figures_are_told_in_the_format_of_prometheus() {
    let house = House::open().await;
    let (code, body) = get(house.address(), "/metrics").await;
    assert_eq!(code, 200);
    assert!(body.contains("chronos_"), "{body}");
    house.close().await;
}

#[tokio::test]
async fn however_many_jobs_there_are_the_series_have_a_bound() {
    let register = async |service: &SchedulerService| {
        for number in 0..MAX_JOBS + 50 {
            let never = "9000-01-01T00:00:00Z".parse().unwrap();
            let job = NewJob::named(format!("own-{number:03}")).at(never);
            service.register(job, || async {}).await?;
        }
        Ok(())
    };
    let daemon = Daemon::start(config(), register).await.unwrap();
    let lines = async || {
        let (code, page) = get(daemon.address(), "/metrics").await;
        assert_eq!(code, 200, "{page}");
        page
    };
    let before = lines().await;
    let named: BTreeSet<&str> =
        before.lines().filter_map(|line| line.split("job=\"").nth(1)?.split('"').next()).collect();
    assert_eq!(named.len(), MAX_JOBS, "{named:?}");
    let mut client = client(daemon.address()).await;
    for number in 0..150 {
        let mut spec = hourly(&format!("users-{number}"), "own-000");
        spec.tags = vec![format!("tag-{number}")];
        soon(client.create_job(CreateJobRequest { spec: Some(spec) })).await.unwrap();
        soon(client.run_job(RunJobRequest { job: format!("users-{number}") })).await.unwrap();
    }
    let after = lines().await;
    let series = |page: &str| -> BTreeSet<String> {
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.rsplit_once(' ').map(|(name, _)| name.into())).collect()
    };
    let new: Vec<String> = series(&after).difference(&series(&before)).cloned().collect();
    assert!(new.iter().all(|name| !name.contains("users") && !name.contains("tag")), "{new:?}");
    assert!(new.len() <= 10, "they grow with the ways to end, not with jobs: {new:?}");
    drop(client);
    soon(daemon.shutdown()).await.unwrap();
}

#[tokio::test]
async fn health_is_told_of_the_server_and_of_its_service() {
    let house = House::open().await;
    let endpoint = Endpoint::from_shared(format!("http://{}", house.address())).unwrap();
    let mut health = HealthClient::new(soon(endpoint.connect()).await.unwrap());
    for service in ["", "chronos.v1.Scheduler"] {
        let request = HealthCheckRequest { service: service.into() };
        let answer = soon(health.check(request)).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
    }
    let request = HealthCheckRequest { service: "chronos.v1.Nobody".into() };
    let refused = soon(health.check(request)).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    let request = HealthCheckRequest { service: String::new() };
    let mut watch = soon(health.watch(request)).await.unwrap().into_inner();
    let first = soon(watch.message()).await.unwrap().unwrap();
    assert_eq!(first.status(), ServingStatus::Serving);
    // Whoever watches is told before the end, and holds nobody up.
    let told = async {
        let mut last = first.status();
        while let Ok(Some(answer)) = watch.message().await {
            last = answer.status();
        }
        last
    };
    let (last, ()) = soon(futures::future::join(told, house.close())).await;
    assert_eq!(last, ServingStatus::NotServing);
}

#[tokio::test]
async fn reflection_tells_the_contract() {
    let house = House::open().await;
    let endpoint = Endpoint::from_shared(format!("http://{}", house.address())).unwrap();
    let mut client = ServerReflectionClient::new(soon(endpoint.connect()).await.unwrap());
    let ask =
        |message| ServerReflectionRequest { host: String::new(), message_request: Some(message) };
    let asked = [
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol("chronos.v1.Scheduler".into())),
    ];
    let answers = soon(client.server_reflection_info(tokio_stream::iter(asked))).await.unwrap();
    let answers: Vec<_> = soon(answers.into_inner().collect::<Vec<_>>()).await;
    let mut answers = answers.into_iter().map(|answer| answer.unwrap().message_response.unwrap());
    let Some(MessageResponse::ListServicesResponse(list)) = answers.next() else {
        panic!("services are listed");
    };
    let services: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    assert!(services.contains(&"chronos.v1.Scheduler".to_string()), "{services:?}");
    let Some(MessageResponse::FileDescriptorResponse(file)) = answers.next() else {
        panic!("the contract is told");
    };
    assert!(!file.file_descriptor_proto.is_empty());
    house.close().await;
}
