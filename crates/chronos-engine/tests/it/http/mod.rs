//! Jobs that call endpoints, against real sockets and in real time: no claim hangs on how long
//! something took, only on what happened.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test, as the tests themselves do"
)]

mod answers;
mod bombs;
mod environment;
mod floods;
mod hostile;
mod limits;
mod notices;
mod reach;
mod requests;
mod secrets;
mod server;
mod service;
mod stopping;
mod tls;

use std::ops::Deref;
use std::time::Duration;

use chronos_core::execution::{Failure, Response, Run, State};
use chronos_core::policy::retry::Class;
use chronos_engine::{Execution, Http, NewJob, SchedulerConfig, SchedulerService};

/// Far more than anything here takes, on a busy machine too.
const LONG: Duration = Duration::from_secs(20);

/// A started scheduler on the machine's clock, with one job called "call" that only runs by hand.
struct Lab(SchedulerService);

impl Deref for Lab {
    type Target = SchedulerService;

    fn deref(&self) -> &SchedulerService {
        &self.0
    }
}

fn seldom() -> NewJob {
    NewJob::named("call").every(Duration::from_hours(24))
}

impl Lab {
    async fn calling(request: Http) -> Self {
        Self::with(seldom().http(request)).await
    }

    /// The same, trying again almost at once up to this often.
    async fn retrying(request: Http, retries: u32) -> Self {
        let soon = Duration::from_millis(2);
        Self::with(seldom().http(request).retries(retries).retry_delay(soon, soon)).await
    }

    async fn with(job: NewJob) -> Self {
        let scheduler = SchedulerService::new(SchedulerConfig::default()).unwrap();
        scheduler.schedule(job).await.unwrap();
        scheduler.start().await.unwrap();
        Self(scheduler)
    }

    /// Runs the job; gives back every attempt, oldest first, once none of them lives.
    async fn run(&self) -> Vec<Execution> {
        let first = self.run_job("call").await.unwrap();
        let slot = self.store().execution(first).await.unwrap().slot;
        self.past(|attempts| attempts.iter().all(|attempt| !attempt.is_live()), slot).await
    }

    /// The attempts at a slot, oldest first, once this is so.
    async fn past(
        &self,
        is_so: impl Fn(&[Execution]) -> bool,
        slot: chronos_engine::Timestamp,
    ) -> Vec<Execution> {
        let looked = async {
            loop {
                let mut attempts = self.history("call", 100).await.unwrap();
                attempts.retain(|attempt| attempt.slot == slot);
                attempts.sort_by_key(|attempt| attempt.attempt);
                if is_so(&attempts) {
                    break attempts;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(LONG, looked).await.unwrap()
    }

    /// Runs the job, which has no retries.
    async fn run_once(&self) -> Execution {
        let mut attempts = self.run().await;
        assert_eq!(attempts.len(), 1, "{attempts:?}");
        attempts.remove(0)
    }
}

fn run_of(execution: &Execution) -> &Run {
    execution.run().unwrap_or_else(|| panic!("{execution:?}"))
}

fn response_of(execution: &Execution) -> &Response {
    run_of(execution).response.as_deref().unwrap_or_else(|| panic!("{execution:?}"))
}

fn failure_of(execution: &Execution) -> &Failure {
    match &execution.state {
        State::Failed(_, failure) => failure,
        other => panic!("{other:?}"),
    }
}

/// The failure of an execution that may pass.
fn passing(execution: &Execution) -> String {
    let failure = failure_of(execution);
    assert_eq!(failure.class, Class::Transient, "{failure:?}");
    failure.message.to_string()
}

/// The failure of an execution that will not.
fn lasting(execution: &Execution) -> String {
    let failure = failure_of(execution);
    assert_eq!(failure.class, Class::Permanent, "{failure:?}");
    failure.message.to_string()
}
