//! The stage: engines over one store on one virtual clock, moved through a script.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use chronos_core::execution::CancelCause;
use chronos_core::plan::Change;
use chronos_core::policy::OverlapPolicy;
use chronos_core::store::Error;
use chronos_core::{Execution, Job, JobId, JobSpec, Store, Timestamp, WorkerId};
use chronos_engine::run::Engine;
use chronos_engine::{CancellationToken, Clock, VirtualClock};
use chronos_store::{EmbeddedStore, Retention};
use tokio::task::JoinSet;

use super::actors::{Cast, Witness};
use super::checker;
use super::faults::{Link, Weather};
use super::ledger::Ledger;
use super::liveness;
use super::oracle::Oracle;
use super::record::{JobRecord, Version};
use super::script::{Event, JobScript, ORIGIN, Script};

/// Jobs that a history may have; more are not made.
const MOST_JOBS: usize = 8;
/// After the faults are over, what still runs must end within this.
const DRAIN: Duration = Duration::from_mins(20);

struct Seat {
    engine: Engine,
    link: Arc<Link>,
}

pub(super) struct Stage {
    pub(super) script: Script,
    pub(super) clock: Arc<VirtualClock>,
    pub(super) store: Arc<EmbeddedStore>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) jobs: Vec<JobRecord>,
    weather: Arc<Weather>,
    seats: Vec<Option<Seat>>,
    links: Vec<Arc<Link>>,
    stopping: JoinSet<()>,
    /// Seconds by which the wall clock was stepped, now and at most.
    stepped: i64,
    most_stepped: i64,
}

impl Stage {
    /// Plays the script to its end, heals the world and judges what became of it.
    pub(super) async fn play(script: Script) -> Arc<Ledger> {
        let origin = Timestamp::parse(ORIGIN).unwrap();
        let ledger = Arc::new(Ledger::default());
        ledger.lock().lease = script.terms.lease;
        let mut stage = Self {
            clock: Arc::new(VirtualClock::starting_at(origin)),
            store: Arc::new(EmbeddedStore::memory(Retention::default()).unwrap()),
            ledger: ledger.clone(),
            jobs: Vec::new(),
            weather: Arc::new(Weather {
                fault_rate: AtomicU64::new(script.fault_rate),
                outage: AtomicBool::new(false),
            }),
            seats: (0..script.engines).map(|_| None).collect(),
            links: Vec::new(),
            stopping: JoinSet::new(),
            stepped: 0,
            most_stepped: 0,
            script,
        };
        stage.perform().await;
        stage.heal().await;
        stage.drain().await;
        checker::judge(&stage).await;
        ledger
    }

    async fn perform(&mut self) {
        for policy in &self.script.policies {
            self.store.create_policy(policy.clone()).await.unwrap();
        }
        for seat in 0..self.seats.len() {
            self.start(seat);
        }
        for (at, event) in std::mem::take(&mut self.script.events) {
            self.wait_until(at).await;
            self.note(format_args!("{event:?}"));
            self.apply(event).await;
            self.look_at_rosters();
        }
        self.wait_until(self.script.length).await;
    }

    async fn wait_until(&self, at: Duration) {
        let wait = at.saturating_sub(self.clock.monotonic());
        tokio::time::sleep(wait).await;
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn note(&self, text: std::fmt::Arguments<'_>) {
        self.ledger.lock().note(self.clock.monotonic(), text);
    }

    fn start(&mut self, seat: usize) {
        let incarnation = self.links.len();
        let worker = WorkerId::new(&format!("engine {seat}.{incarnation}"));
        let seed = self.script.seed ^ ((incarnation as u64 + 1) << 40);
        let link = Arc::new(Link::new(
            worker.clone(),
            self.store.clone(),
            self.ledger.clone(),
            self.clock.clone(),
            self.weather.clone(),
            seed,
        ));
        let cast =
            Cast { link: link.clone(), seed: self.script.seed, lease: self.script.terms.lease };
        let engine = Engine::start(
            self.script.terms.config(&worker),
            link.clone(),
            self.clock.clone(),
            Arc::new(cast),
            Arc::new(Witness { link: link.clone() }),
            CancellationToken::new(),
        );
        self.links.push(link.clone());
        self.seats[seat] = Some(Seat { engine, link });
    }

    async fn apply(&mut self, event: Event) {
        match event {
            Event::Create(script) => self.create(&script).await,
            Event::Edit(job, script) => self.edit(job, &script).await,
            Event::Tune(job, overlap) => self.tune(job, overlap).await,
            Event::Pause(job, span) => self.pause(job, span).await,
            Event::Resume(job) => self.amend(job, Change::Resume).await,
            Event::Delete(job) => self.delete(job).await,
            Event::RunNow(job) => self.run_now(job).await,
            Event::CancelNewest(job) => self.cancel_newest(job).await,
            Event::StepClock(seconds) => self.step_clock(seconds),
            Event::Kill(seat) => {
                if let Some(seat) = self.seats[seat].take() {
                    seat.engine.kill();
                }
            }
            Event::Stop(seat, grace) => {
                if let Some(seat) = self.seats[seat].take() {
                    self.stopping.spawn(async move {
                        seat.engine.stop(grace).await;
                    });
                }
            }
            Event::Restart(seat) => {
                if self.seats[seat].is_none() {
                    self.start(seat);
                }
            }
            Event::Freeze(seat) => self.freeze(seat, true),
            Event::Thaw(seat) => self.freeze(seat, false),
            Event::Outage(outage) => {
                self.weather.outage.store(outage, SeqCst);
            }
        }
    }

    fn freeze(&self, seat: usize, frozen: bool) {
        if let Some(seat) = &self.seats[seat] {
            seat.link.freeze(frozen);
        }
    }

    fn step_clock(&mut self, seconds: i64) {
        self.clock.step(seconds);
        self.stepped += seconds;
        self.most_stepped = self.most_stepped.max(self.stepped);
        if seconds > 0 {
            self.ledger.lock().jumped = Some(self.clock.monotonic());
        }
    }

    /// The job of this number that still exists.
    fn existing(&self, number: usize) -> Option<usize> {
        let number = number % self.jobs.len().max(1);
        let job = self.jobs.get(number)?;
        job.deleted.is_none().then_some(number)
    }

    async fn create(&mut self, script: &JobScript) {
        if self.jobs.len() >= MOST_JOBS {
            return;
        }
        let now = self.now();
        let number = u8::try_from(self.jobs.len()).unwrap();
        let id = JobId::new(Timestamp::parse(ORIGIN).unwrap(), [number; 10]);
        let spec = script.spec(id, &id.to_string(), now);
        match self.store.create_job(spec, now).await {
            Ok(job) => {
                let mut record = JobRecord { id, versions: Vec::new(), deleted: None };
                record.versions.push(Version::begin(script.oracle(now), &job, now));
                self.admit_as(&job);
                self.jobs.push(record);
            }
            // Its end may come before its first slot.
            Err(Error::Invalid(_)) => {}
            Err(error) => self.ledger.lock().violation(format!("create: {error}")),
        }
    }

    /// Lets a job run as many at once as any of its versions may.
    fn admit_as(&self, job: &Job) {
        let capacity = job.spec.overlap.capacity();
        let mut ledger = self.ledger.lock();
        let most = ledger.capacities.entry(job.spec.id).or_insert(capacity);
        *most = most.zip(capacity).map(|(one, other)| one.max(other));
    }

    async fn edit(&mut self, number: usize, script: &JobScript) {
        let Some(number) = self.existing(number) else {
            return;
        };
        let (id, now) = (self.jobs[number].id, self.now());
        let spec = script.spec(id, &id.to_string(), now);
        self.replace(number, spec, script.oracle(now)).await;
    }

    async fn tune(&mut self, number: usize, overlap: OverlapPolicy) {
        let Some(number) = self.existing(number) else {
            return;
        };
        let Some(newest) = self.jobs[number].versions.last() else {
            return;
        };
        let (oracle, spec) = (newest.oracle, JobSpec::clone(&newest.spec));
        self.replace(number, JobSpec { overlap, ..spec }, oracle).await;
    }

    async fn replace(&mut self, number: usize, spec: JobSpec, oracle: Oracle) {
        let now = self.now();
        let change = Change::Edit(Box::new(spec));
        match self.store.amend_job(self.jobs[number].id, change, None, now).await {
            Ok(job) => {
                self.admit_as(&job);
                let bound = job.standing.last_slot.map_or(now, |last| last.max(now));
                self.jobs[number].replace(oracle, &job, bound);
            }
            Err(Error::Invalid(_)) => {}
            Err(error) => self.ledger.lock().violation(format!("edit: {error}")),
        }
    }

    async fn amend(&mut self, number: usize, change: Change) {
        let Some(number) = self.existing(number) else {
            return;
        };
        let amended = self.store.amend_job(self.jobs[number].id, change, None, self.now());
        if let Err(error) = amended.await {
            self.ledger.lock().violation(format!("amend: {error}"));
        }
    }

    async fn delete(&mut self, number: usize) {
        let Some(number) = self.existing(number) else {
            return;
        };
        let id = self.jobs[number].id;
        let job = self.store.job(id).await.unwrap();
        self.store.delete_job(id, self.now()).await.unwrap();
        self.jobs[number].deleted = job.standing.last_slot.or(Some(Timestamp::MIN));
    }

    async fn run_now(&mut self, number: usize) {
        let Some(number) = self.existing(number) else {
            return;
        };
        match self.store.run_now(self.jobs[number].id, None, self.now()).await {
            Ok(_) => self.ledger.lock().count("manual runs"),
            Err(Error::Overlap(_)) => self.ledger.lock().count("manual runs refused"),
            Err(error) => self.ledger.lock().violation(format!("run now: {error}")),
        }
    }

    async fn cancel_newest(&mut self, number: usize) {
        let Some(number) = self.existing(number) else {
            return;
        };
        let newest = self.store.executions(self.jobs[number].id, None, 5).await;
        let live = newest.unwrap().into_iter().find(Execution::is_live);
        if let Some(live) = live {
            let cancelled = self.store.cancel(live.id, CancelCause::User, self.now());
            cancelled.await.unwrap();
            self.ledger.lock().count("user cancels");
        }
    }

    fn look_at_rosters(&self) {
        for seat in self.seats.iter().flatten() {
            let running = seat.engine.running();
            if running > self.script.terms.max_concurrency {
                let text = format!("I12: {} runs {running} at once", seat.link.worker);
                self.ledger.lock().violation(text);
            }
        }
    }

    /// Whether some engine could run one more.
    pub(super) fn has_room(&self) -> bool {
        let most = self.script.terms.max_concurrency;
        let mut seats = self.seats.iter().flatten();
        seats.any(|seat| seat.engine.running() < most)
    }

    /// Ends every fault and looks whether the world recovers within two leases.
    async fn heal(&mut self) {
        self.note(format_args!("heal"));
        self.weather.fault_rate.store(0, SeqCst);
        self.weather.outage.store(false, SeqCst);
        for link in &self.links {
            link.freeze(false);
        }
        if self.stepped < self.most_stepped {
            self.step_clock(self.most_stepped - self.stepped);
        }
        for seat in 0..self.seats.len() {
            if self.seats[seat].is_none() {
                self.start(seat);
            }
        }
        tokio::time::sleep(self.script.terms.lease * 2 + Duration::from_secs(15)).await;
        while self.stopping.try_join_next().is_some() {}
        if !self.stopping.is_empty() {
            let text = "I11: an engine that was told to stop still has not".into();
            self.ledger.lock().violation(text);
        }
        let before = liveness::unsettled(self).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let after = liveness::unsettled(self).await;
        for text in after.intersection(&before) {
            self.ledger.lock().violation(format!("I11: {text}"));
        }
        self.look_at_rosters();
    }

    /// Pauses a job until it is resumed, or for so long.
    async fn pause(&mut self, job: usize, span: Option<Duration>) {
        let resume_at = span.map(|span| self.clock.now().after(span));
        self.amend(job, Change::Pause { note: None, resume_at }).await;
    }

    /// Pauses every job and waits for everything alive to end.
    async fn drain(&mut self) {
        for number in 0..self.jobs.len() {
            self.amend(number, Change::Resume).await;
            self.pause(number, None).await;
        }
        let mut waited = Duration::ZERO;
        loop {
            let alive = liveness::alive(self).await;
            if alive.is_empty() {
                return;
            }
            if waited >= DRAIN {
                let text = format!("I11: still alive after {DRAIN:?}: {alive:?}");
                return self.ledger.lock().violation(text);
            }
            let wait = Duration::from_secs(30);
            tokio::time::sleep(wait).await;
            waited += wait;
        }
    }
}
