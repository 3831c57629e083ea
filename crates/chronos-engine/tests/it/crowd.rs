//! The crowd: an owner's many runs that hang leave room for what others have.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chronos_core::job::Target;
use chronos_core::plan::Ending;
use chronos_core::store::{Claim, Planned, Store};
use chronos_core::{JobId, JobSpec, Schedule, Timestamp, WorkerId};
use chronos_engine::run::{Engine, EngineConfig, Handlers, Observer};
use chronos_engine::{
    CancellationToken, Clock, EmbeddedStore, Execution, Handler, JobContext, Retention, SystemClock,
};
use futures::FutureExt;
use futures::future::BoxFuture;

const ROOM: usize = 400;
const MANY: u16 = 1_000;

/// Runs that end at once, and others that never do.
#[derive(Default)]
struct Runs {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

struct Run {
    hangs: bool,
    runs: Arc<Runs>,
}

impl Handler for Run {
    fn call(&self, context: JobContext) -> BoxFuture<'static, Ending> {
        let (hangs, runs) = (self.hangs, self.runs.clone());
        async move {
            runs.begun.fetch_add(1, Ordering::SeqCst);
            if hangs {
                context.token().cancelled().await;
            }
            runs.ended.fetch_add(1, Ordering::SeqCst);
            Ending::Success
        }
        .boxed()
    }
}

struct Handled {
    hanging: Arc<Runs>,
    prompt: Arc<Runs>,
}

impl Handlers for Handled {
    fn handler(&self, target: &Target) -> Option<Arc<dyn Handler>> {
        let Target::Handler { name } = target else { return None };
        let hangs = name.starts_with("hang");
        let runs = if hangs { &self.hanging } else { &self.prompt };
        Some(Arc::new(Run { hangs, runs: runs.clone() }))
    }
}

struct Nobody;

impl Observer for Nobody {
    fn planned(&self, _: &[Planned]) {}
    fn started(&self, _: &[Claim]) {}
    fn ended(&self, _: &[(Arc<JobSpec>, Execution)]) {}
    fn lost(&self, _: &JobSpec) {}
}

fn job(number: u16, owner: &str, name: &str, at: Timestamp) -> JobSpec {
    let mut chance = [0; 10];
    chance[..2].copy_from_slice(&number.to_be_bytes());
    let name = format!("{name}-{number}");
    let spec = JobSpec::new(JobId::new(at, chance), &name, Schedule::one_shot(at), at);
    JobSpec { owner: owner.into(), ..spec }
}

async fn until(met: impl Fn() -> bool) {
    let met = async {
        while !met() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let met = tokio::time::timeout(Duration::from_secs(20), met).await;
    assert!(met.is_ok(), "it does not come to pass");
}

#[tokio::test]
async fn a_crowd_that_hangs_leaves_room_for_others() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory(Retention::default()).unwrap());
    let (hanging, prompt) = (Arc::new(Runs::default()), Arc::new(Runs::default()));
    let now = clock.now();
    for number in 0..MANY {
        store.create_job(job(number, "ann", "hang", now), now).await.unwrap();
    }
    let config = EngineConfig { max_concurrency: ROOM, ..EngineConfig::new(WorkerId::new("w")) };
    let handlers = Arc::new(Handled { hanging: hanging.clone(), prompt: prompt.clone() });
    let stop = CancellationToken::new();
    let engine =
        Engine::start(config, store.clone(), clock.clone(), handlers, Arc::new(Nobody), stop);
    // Those before the crowd, and three quarters of the room for the crowd.
    until(|| hanging.begun.load(Ordering::SeqCst) == 64 + 300).await;
    for number in 0..100 {
        let now = clock.now();
        store.create_job(job(MANY + number, "bob", "prompt", now), now).await.unwrap();
    }
    // What is of the crowd among them waits with it.
    until(|| prompt.ended.load(Ordering::SeqCst) == 64).await;
    assert_eq!(hanging.begun.load(Ordering::SeqCst), 64 + 300);
    assert_eq!(engine.running(), 64 + 300);
    assert_eq!(engine.stop(Duration::from_secs(20)).await, 0);
}
