//! Jobs with endpoints beside jobs with closures, in one scheduler.

use std::time::Duration;

use chronos_engine::{Http, NewJob, SchedulerConfig, SchedulerError, SchedulerService};

use super::server::{Answer, Server};
use super::{Lab, seldom};

#[tokio::test]
async fn a_job_has_one_target_and_no_more() {
    let scheduler = SchedulerService::new(SchedulerConfig::default()).unwrap();
    let request = Http::new("http://127.0.0.1:9/").unwrap();
    let both = scheduler.register(seldom().http(request.clone()), || async {}).await;
    let refused = SchedulerError::NoSingleTarget("call".into());
    assert_eq!(both, Err(refused.clone()));
    assert_eq!(scheduler.schedule(seldom()).await, Err(refused.clone()));
    assert_eq!(scheduler.reschedule(seldom()).await, Err(refused));
    scheduler.schedule(seldom().http(request.clone())).await.unwrap();
    let twice = scheduler.schedule(seldom().http(request)).await;
    assert_eq!(twice, Err(SchedulerError::DuplicateJob("call".into())));
}

#[tokio::test]
async fn an_endpoint_takes_the_place_of_a_closure_and_gives_it_back() {
    let server = Server::answering(Answer::ok("")).await;
    let scheduler = SchedulerService::new(SchedulerConfig::default()).unwrap();
    let ran = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = {
        let ran = ran.clone();
        move || {
            ran.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            async {}
        }
    };
    let id = scheduler.register(seldom(), count.clone()).await.unwrap();
    scheduler.start().await.unwrap();
    let lab = Lab(scheduler);
    lab.run_once().await;
    let request = Http::new(&server.url("/")).unwrap();
    assert_eq!(lab.reschedule(seldom().http(request)).await, Ok(id));
    lab.run_once().await;
    assert_eq!(server.seen().requests.len(), 1);
    assert_eq!(lab.replace(seldom(), count).await, Ok(id));
    lab.run_once().await;
    assert_eq!(ran.load(std::sync::atomic::Ordering::SeqCst), 2);
    assert_eq!(server.seen().requests.len(), 1);
    assert_eq!(lab.registry().get_status("call").unwrap().success_count, 3);
}

#[tokio::test]
async fn an_endpoint_is_called_on_schedule() {
    let server = Server::answering(Answer::ok("")).await;
    let request = Http::new(&server.url("/")).unwrap();
    let _lab = Lab::with(NewJob::named("call").every(Duration::from_secs(1)).http(request)).await;
    server.until(|seen| seen.requests.len() == 2).await;
    let requests = server.seen().requests;
    let keys: Vec<_> = requests.iter().map(|request| request.header("Idempotency-Key")).collect();
    assert_ne!(keys[0], keys[1]);
}
