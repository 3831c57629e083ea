//! Notices: told at the right time on virtual time, and sent over real sockets like any other request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chronos_core::job::Target;
use chronos_core::notice::{Notify, Occasions};
use chronos_core::store::Roles;
use chronos_core::{JobId, JobSpec, Schedule, Store, WorkerId};
use chronos_engine::run::{Engine, EngineConfig, Handlers};
use chronos_engine::{
    CancellationToken, Clock, EmbeddedStore, Handler, Http, IntoHandler, JobContext, JobError,
    NewJob, Retention, SchedulerConfig, SchedulerService, Timestamp, VirtualClock,
};
use serde_json::Value;

use super::limits::Nobody;
use super::secrets::{SECRET, verifies};
use super::server::{Answer, Server};
use super::{LONG, seldom};

type Outcome = Result<(), JobError>;

/// A job whose runs end as they are told, and a webhook that does the same.
#[derive(Clone, Default)]
struct Stage {
    /// How the next runs end; then they succeed.
    runs: Arc<Mutex<VecDeque<Outcome>>>,
    /// The same of the next notices; one that is left out hangs.
    webhook: Arc<Mutex<VecDeque<Option<Outcome>>>>,
    told: Arc<Mutex<Vec<Told>>>,
}

/// What the webhook was sent.
#[derive(Clone, Debug)]
struct Told {
    at: Timestamp,
    key: String,
    attempt: u32,
    body: Value,
}

impl Told {
    fn summary(&self) -> String {
        let clock = self.at.to_datetime().format("%H:%M:%S");
        let (kind, failures) = (&self.body["kind"], &self.body["consecutive_failures"]);
        format!("{clock} {} {failures}", kind.as_str().unwrap())
    }
}

struct Staged(Stage, Arc<VirtualClock>);

impl Handlers for Staged {
    fn handler(&self, target: &Target) -> Option<Arc<dyn Handler>> {
        let Self(stage, clock) = self;
        let (stage, clock) = (stage.clone(), clock.clone());
        Some(match target {
            Target::Message(_) => return None,
            Target::Handler { .. } => (move |_: JobContext| {
                let ending = stage.runs.lock().unwrap().pop_front().unwrap_or(Ok(()));
                async { ending }
            })
            .into_handler(),
            Target::Http(http) => {
                let body = serde_json::from_slice(http.body()).unwrap();
                let body: Value = body;
                (move |context: JobContext| {
                    let (at, attempt) = (clock.now(), context.attempt());
                    let key = context.idempotency_key();
                    stage.told.lock().unwrap().push(Told { at, key, attempt, body: body.clone() });
                    let answer = stage.webhook.lock().unwrap().pop_front().unwrap_or(Some(Ok(())));
                    async {
                        match answer {
                            Some(answer) => answer,
                            None => std::future::pending().await,
                        }
                    }
                })
                .into_handler()
            }
        })
    }
}

/// One engine on a store of its own, with a job that runs every ten minutes from noon on.
struct Lab {
    stage: Stage,
    clock: Arc<VirtualClock>,
    store: Arc<dyn Store>,
}

impl Lab {
    async fn new(overdue: Option<Duration>) -> Self {
        let noon = Timestamp::parse("2026-03-02T12:00:00Z").unwrap();
        let clock = Arc::new(VirtualClock::starting_at(noon));
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
        let schedule = Schedule::interval(Duration::from_mins(10), noon).unwrap();
        let webhook = Http::new("https://example.com/hook").ok();
        let on = Occasions { overdue, ..Occasions::default() };
        let spec = JobSpec {
            notify: Some(Box::new(Notify { webhook, on })),
            owner: "ann".into(),
            ..JobSpec::new(JobId::new(noon, [1; 10]), "report", schedule, noon)
        };
        store.create_job(spec.with_tags(["daily"]), noon).await.unwrap();
        Self { stage: Stage::default(), clock, store }
    }

    fn start(&self, roles: Roles) -> Engine {
        let worker = WorkerId::new(&format!("worker-{}", fastrand::u32(..)));
        Engine::start(
            EngineConfig { roles, ..EngineConfig::new(worker) },
            self.store.clone(),
            self.clock.clone(),
            Arc::new(Staged(self.stage.clone(), self.clock.clone())),
            Arc::new(Nobody),
            CancellationToken::new(),
        )
    }

    fn then(&self, ending: Outcome) {
        self.stage.runs.lock().unwrap().push_back(ending);
    }

    fn webhook(&self, answer: Option<Outcome>) {
        self.stage.webhook.lock().unwrap().push_back(answer);
    }

    async fn until(&self, clock: &str) {
        let at = Timestamp::parse(&format!("2026-03-02T{clock}Z")).unwrap();
        tokio::time::sleep(at.since(self.clock.now()) + Duration::from_millis(5)).await;
    }

    fn told(&self) -> Vec<Told> {
        self.stage.told.lock().unwrap().clone()
    }

    fn summaries(&self) -> Vec<String> {
        self.told().iter().map(Told::summary).collect()
    }
}

fn refused() -> Outcome {
    Err(JobError::permanent("refused"))
}

#[tokio::test(start_paused = true)]
async fn failures_and_the_recovery_after_them_are_told_as_they_happen() {
    let lab = Lab::new(None).await;
    lab.then(Ok(()));
    lab.then(refused());
    lab.then(refused());
    let _engine = lab.start(Roles::default());
    lab.until("13:00:00").await;
    let expected = ["12:20:00 failure 1", "12:30:00 failure 2", "12:40:00 recovery 2"];
    assert_eq!(lab.summaries(), expected);
    let body = &lab.told()[1].body;
    let job = &body["job"];
    assert_eq!(
        (&job["name"], &job["owner"], &job["tags"][0]),
        (&"report".into(), &"ann".into(), &"daily".into())
    );
    let run = &body["execution"];
    assert_eq!((&run["status"], &run["error"]), (&"FAILED".into(), &"refused".into()));
    assert_eq!(run["scheduled_for"], "2026-03-02T12:30:00Z");
    assert_eq!(body["failing_since"], lab.told()[0].body["at"]);
    assert_eq!(body["id"], lab.told()[1].key.as_str(), "whoever has seen it can tell");
    let stats = lab.store.stats().await.unwrap();
    assert_eq!((stats.queued, stats.running), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_no_worker_begins_is_told_once_there_is_one() {
    let lab = Lab::new(Some(Duration::from_mins(5))).await;
    let planner = lab.start(Roles { worker: false, ..Roles::default() });
    lab.until("12:19:00").await;
    assert_eq!(lab.told().len(), 0, "nobody is there to tell it");
    let worker = lab.start(Roles { scheduler: false, ..Roles::default() });
    lab.until("12:19:30").await;
    assert_eq!(lab.summaries(), ["12:19:00 overdue 0"]);
    let body = lab.told().remove(0).body;
    assert_eq!(
        (&body["execution"]["status"], &body["at"]),
        (&"QUEUED".into(), &"2026-03-02T12:15:00Z".into())
    );
    lab.until("14:00:00").await;
    assert_eq!(lab.told().len(), 1, "later runs began in time");
    worker.stop(LONG).await;
    planner.stop(LONG).await;
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_a_dead_node_had_taken_is_told_by_the_next_one() {
    let lab = Lab::new(None).await;
    lab.then(refused());
    lab.webhook(None);
    let engine = lab.start(Roles::default());
    lab.until("12:10:01").await;
    assert_eq!(lab.told().len(), 1, "it is under way");
    engine.kill();
    let _engine = lab.start(Roles::default());
    lab.until("12:15:00").await;
    let told = lab.told();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert_eq!((told[0].key.as_str(), &told[0].body), (told[1].key.as_str(), &told[1].body));
    assert_eq!((told[0].attempt, told[1].attempt), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_is_never_well_is_left_alone_after_a_while() {
    let lab = Lab::new(None).await;
    lab.then(refused());
    for _ in 0..100 {
        lab.webhook(Some(Err(JobError::transient("busy"))));
    }
    let _engine = lab.start(Roles::default());
    lab.until("20:00:00").await;
    let told = lab.told();
    // The recovery is told no better; nobody is told of either failing.
    let of = |kind: &str| told.iter().filter(|told| told.body["kind"] == kind).count();
    assert_eq!((of("failure"), of("recovery"), told.len()), (11, 11, 22));
    assert_eq!(lab.store.dead_letters(None, 9).await.unwrap().len(), 1, "the run alone");
}

fn failing() -> impl IntoHandler<()> {
    || async { Err::<(), _>(JobError::permanent("no more paper")) }
}

#[tokio::test]
async fn a_notice_is_signed_and_sent_like_any_request() {
    let server = Server::answering(Answer::ok("thanks")).await;
    let webhook = Http::new(&server.url("/hook")).unwrap();
    let webhook = webhook.with_header("X-Who", "us").unwrap().signed_with(SECRET).unwrap();
    let notify = Notify { webhook: Some(webhook), on: Occasions::default() };
    let config = SchedulerConfig { notify: Some(notify), ..SchedulerConfig::default() };
    let scheduler = SchedulerService::new(config).unwrap();
    let job = scheduler.register(seldom(), failing()).await.unwrap();
    let silent = Notify { webhook: None, on: Occasions::NONE };
    let quiet = NewJob::named("quiet").every(Duration::from_hours(24)).notify(silent);
    scheduler.register(quiet, failing()).await.unwrap();
    scheduler.start().await.unwrap();
    scheduler.run_job("quiet").await.unwrap();
    let run = scheduler.run_job("call").await.unwrap();
    server.until(|seen| !seen.requests.is_empty()).await;
    let request = server.seen().requests.remove(0);
    assert_eq!(request.line(), "POST /hook HTTP/1.1");
    assert!(verifies(&request, SECRET), "{}", request.head);
    assert_eq!(request.header("content-type"), "application/json");
    assert_eq!((request.header("x-who"), request.header("chronos-job")), ("us", &*job.to_string()));
    assert_eq!(request.header("webhook-id"), request.header("idempotency-key"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        (&body["kind"], &body["id"]),
        (&"failure".into(), &request.header("webhook-id").into())
    );
    assert_eq!(body["execution"]["id"], run.to_string());
    assert_eq!(body["execution"]["error"], "no more paper");
    assert!(request.header("traceparent").contains(body["trace_id"].as_str().unwrap()));
    scheduler.shutdown().await.unwrap();
    assert_eq!(server.seen().requests.len(), 1, "the other job asked not to be told of");
    let status = scheduler.registry().get_status("call").unwrap();
    assert_eq!((status.error_count, status.success_count), (1, 0), "the notice is no run");
    let rows = scheduler.history("call", 9).await.unwrap();
    let notice = rows.iter().find(|row| row.notice().is_some()).unwrap();
    assert_eq!(notice.status(), "SUCCESS");
    assert_eq!(&*notice.run().unwrap().response.as_ref().unwrap().body, b"thanks");
}

#[test]
fn a_webhook_that_cannot_be_told_is_refused() {
    use chronos_engine::Method;
    let get = Http::new("https://example.com").unwrap().with_method(Method::Get).unwrap();
    for webhook in [None, Some(get)] {
        let notify = Some(Notify { webhook, on: Occasions::default() });
        let config = SchedulerConfig { notify, ..SchedulerConfig::default() };
        let refused = SchedulerService::new(config).unwrap_err().to_string();
        assert!(refused.starts_with("configuration refused: notify"), "{refused}");
    }
}
