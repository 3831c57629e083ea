//! What the verbs and the tasks of a store share, and how a verb becomes one transaction.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chronos_core::notice::Occasions;
use chronos_core::plan::Storm;
use chronos_core::store::{Error, Result};
use chronos_core::{JobId, Timestamp};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::types::Uuid;
use sqlx::{Connection as _, PgPool};

use super::OpenError;
use super::config::PostgresConfig;
use super::fault::{Fault, Outcome};
use super::held::Held;
use super::horizon::Horizons;
use super::partitions::Partitions;
use super::requests::Turns;
use super::session::Session;
use super::specs::Specs;
use super::statements::{Bound, Statements};
use super::step::Step;
use super::syncer::Syncer;
use super::values::uuids;
use super::wake::Wakes;

/// Runs a verb as one transaction: all of it happens or nothing, and what fails for no fault of its own is
/// tried again. A macro, because a closure cannot yet promise that what it awaits may move between threads.
macro_rules! step {
    ($shared:expr, $now:expr, |$session:ident, $step:ident| $body:block) => {{
        let (shared, mut tries) = ($shared, 0);
        loop {
            let mut step = $crate::postgres::step::Step::new($now, shared.usual());
            let tried = match shared.begin().await {
                Ok(mut session) => {
                    let work = async {
                        let ($session, $step) = (&mut session, &mut step);
                        let value: $crate::postgres::fault::Outcome<_> = async { $body }.await;
                        let value = value?;
                        shared.settle_backfills($session, $step).await?;
                        shared.write($session, $step).await?;
                        Ok(value)
                    };
                    let outcome = shared.in_time(work).await;
                    shared.end_step(session, outcome, &step).await
                }
                Err(fault) => Err(fault),
            };
            match shared.answer(tried, &step, &mut tries).await {
                std::ops::ControlFlow::Break(answer) => break answer,
                std::ops::ControlFlow::Continue(()) => {}
            }
        }
    }};
}
pub(super) use step;

/// Tries of a step before its caller is told that the store is unavailable.
const TRIES: u32 = 12;

pub(super) struct Shared {
    pub(super) config: PostgresConfig,
    pub(super) options: PgConnectOptions,
    pub(super) pool: PgPool,
    /// One connection that only renews, so that no crowd of other verbs costs a lease.
    pub(super) renewals: PgPool,
    pub(super) sql: Statements,
    pub(super) specs: Specs,
    pub(super) held: Held,
    pub(super) horizons: Horizons,
    pub(super) partitions: Partitions,
    pub(super) wakes: Wakes,
    /// The newest decisions were filed at this time or later.
    pub(super) newest_filing: Mutex<Timestamp>,
    /// Jobs whose specs cannot be read, offered to nobody until the next start.
    aside: Mutex<BTreeSet<JobId>>,
    /// The words that begin a transaction.
    begin: String,
    /// Where the waits between tries get their spread from.
    chance: RandomState,
    /// How many connections are tried before they are used, because one was found dead.
    suspects: Arc<AtomicU32>,
    pub(super) syncer: Syncer,
    /// Message events up to this one are known to be durable.
    pub(super) durable_messages: AtomicU64,
    /// Decisions up to this one are known to be durable.
    pub(super) durable_decisions: AtomicU64,
    /// Whether the last look for due jobs found none.
    pub(super) found_nothing_due: AtomicBool,
    /// Counts claims, of which one now and then has the crowd first.
    pub(super) claims: AtomicU64,
    /// Whether some of the crowd was due after the last look.
    pub(super) crowd_is_due: AtomicBool,
    /// Backfills of jobs up to this one were looked at last.
    pub(super) backfills_after: Mutex<Uuid>,
    /// Counts reapings.
    pub(super) reaps: AtomicU32,
    pub(super) turns: Turns,
    /// What is told about jobs that do not say.
    usual: Mutex<Option<Occasions>>,
    /// What was caught up of late.
    storm: Mutex<Storm>,
}

/// Counts one down; says whether there was one.
fn take_one(count: &AtomicU32) -> bool {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
}

impl Shared {
    pub(super) fn new(config: PostgresConfig) -> std::result::Result<Self, OpenError> {
        config.check()?;
        let options = connect_options(&config)?;
        let suspects = Arc::new(AtomicU32::new(0));
        let pool = |connections: u32| {
            let suspects = suspects.clone();
            PgPoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(config.acquire_timeout)
                .test_before_acquire(false)
                .before_acquire(move |connection, _| {
                    let suspected = take_one(&suspects);
                    Box::pin(async move { Ok(!suspected || connection.ping().await.is_ok()) })
                })
                .connect_lazy_with(options.clone())
        };
        Ok(Self {
            pool: pool(config.connections),
            renewals: pool(1),
            sql: Statements::new(&config.schema, !config.pooler),
            specs: Specs::default(),
            held: Held::default(),
            horizons: Horizons::default(),
            partitions: Partitions::default(),
            wakes: Wakes::new(&config.schema),
            newest_filing: Mutex::new(Timestamp::MIN),
            aside: Mutex::default(),
            begin: begin_words(&config),
            chance: RandomState::new(),
            suspects,
            syncer: Syncer::default(),
            durable_messages: AtomicU64::new(0),
            durable_decisions: AtomicU64::new(0),
            found_nothing_due: AtomicBool::new(false),
            crowd_is_due: AtomicBool::new(false),
            backfills_after: Mutex::new(Uuid::nil()),
            claims: AtomicU64::new(0),
            turns: Turns::default(),
            reaps: AtomicU32::new(0),
            usual: Mutex::default(),
            storm: Mutex::default(),
            options,
            config,
        })
    }

    /// Says what is told about jobs that do not say.
    pub(super) fn notify_on(&self, usual: Option<Occasions>) {
        *self.usual.lock().unwrap_or_else(PoisonError::into_inner) = usual;
    }

    pub(super) fn storm(&self) -> MutexGuard<'_, Storm> {
        self.storm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn usual(&self) -> Option<Occasions> {
        *self.usual.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a try of a step. One that decided something lets the next one number its decisions before its
    /// own are durable, and answers once they are.
    pub(super) async fn end_step<T>(
        &self,
        session: Session,
        outcome: Outcome<T>,
        step: &Step,
    ) -> Outcome<T> {
        if outcome.is_err() || step.events.is_empty() {
            return self.end(session, outcome).await;
        }
        let words = self.last_words(step)?;
        self.in_time(session.end_with(&words)).await?;
        self.note_filing(step.now);
        // It has happened, so nothing that goes wrong from here on is a reason to try it again.
        self.synced().await.map_err(|fault| Fault::Answer(fault.into_error()))?;
        outcome
    }

    /// Makes everything acknowledged durable, which it is.
    pub(super) async fn flush(&self) -> Result<()> {
        self.synced().await.map_err(|fault| self.noted(fault))
    }

    /// Ends a transaction: it is committed, or nothing of it happened.
    pub(super) async fn end<T>(&self, session: Session, outcome: Outcome<T>) -> Outcome<T> {
        match outcome {
            Ok(value) => {
                self.in_time(session.commit()).await?;
                Ok(value)
            }
            // Nothing more is said to a server that is silent; the connection is dropped.
            Err(Fault::Silence(text)) => Err(Fault::Silence(text)),
            Err(fault) => {
                self.in_time(session.roll_back()).await.ok();
                Err(fault)
            }
        }
    }

    /// The answer of a step that was tried, unless it is worth another try.
    pub(super) async fn answer<T>(
        &self,
        outcome: Outcome<T>,
        step: &Step,
        tries: &mut u32,
    ) -> ControlFlow<Result<T>> {
        *tries += 1;
        let fault = match outcome {
            Ok(value) => {
                self.tell(step);
                return ControlFlow::Break(Ok(value));
            }
            Err(fault) => fault,
        };
        match fault {
            Fault::Again(_) if *tries < TRIES => self.wait(*tries).await,
            Fault::NoPartition if *tries < TRIES => {
                if let Err(error) = self.make_partitions(step.now).await {
                    return ControlFlow::Break(Err(error));
                }
            }
            fault => return ControlFlow::Break(Err(self.noted(fault))),
        }
        ControlFlow::Continue(())
    }

    /// The rows that a single statement gives back.
    pub(super) async fn fetch_all(&self, query: Bound) -> Result<Vec<PgRow>> {
        self.fetch_from(&self.pool, query).await.map_err(|fault| self.noted(fault))
    }

    pub(super) async fn fetch_from(&self, pool: &PgPool, query: Bound) -> Outcome<Vec<PgRow>> {
        if self.config.pooler {
            // What a session keeps to must be said in each transaction.
            let mut session = Session::begin(pool, &self.begin, || self.suspect_all()).await?;
            let rows = self.in_time(async { Ok(query.fetch_all(&mut *session).await?) }).await;
            return self.end(session, rows).await;
        }
        let mut session = Session::bare(pool).await?;
        let rows = self.in_time(async { Ok(query.fetch_all(&mut *session).await?) }).await?;
        session.give_back();
        Ok(rows)
    }

    /// The row that a single statement gives back, if there is one.
    pub(super) async fn fetch_optional(&self, query: Bound) -> Result<Option<PgRow>> {
        self.fetch_all(query).await.map(|rows| rows.into_iter().next())
    }

    /// The error that a fault is; what it says about connections is remembered.
    pub(super) fn noted(&self, fault: Fault) -> Error {
        let error = fault.into_error();
        if matches!(error, Error::Unavailable(_)) {
            self.suspect_all();
        }
        error
    }

    /// One dead connection is seldom alone; the others are tried before they are used.
    fn suspect_all(&self) {
        self.suspects.store(self.config.connections + 1, Ordering::Relaxed);
    }

    /// What comes of this within the time that an answer may take.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        // The server gives up on a statement earlier, unless it is out of reach.
        let patience = self.config.statement_timeout.saturating_mul(2);
        let silence = |_| Fault::Silence(format!("no answer within {patience:?}"));
        tokio::time::timeout(patience, work).await.map_err(silence)?
    }

    pub(super) async fn begin(&self) -> Outcome<Session> {
        Session::begin(&self.pool, &self.begin, || self.suspect_all()).await
    }

    /// Lets those who stand in each other's way try again at different times.
    async fn wait(&self, tries: u32) {
        let most = Duration::from_millis(2).saturating_mul(1 << tries.min(8));
        let share = self.chance.hash_one(tries) % 1_000;
        tokio::time::sleep(most.mul_f64(share as f64 / 1_000.0)).await;
    }

    /// Says what a step may have made due.
    fn tell(&self, step: &Step) {
        if let Some(due) = step.earliest_due() {
            self.horizons.lower_due(due);
            self.wakes.due(due, step.fires);
        }
        if let Some(ready) = step.earliest_ready() {
            self.horizons.lower_ready(ready);
            self.wakes.ready(ready);
        }
        if step.asked_to_stop {
            self.wakes.cancelled();
        }
        if !step.messages.is_empty() {
            self.wakes.emitted();
        }
        if step.backfilled {
            self.wakes.backfilled();
        }
    }

    /// Offers the job to nobody until the next start.
    pub(super) fn set_aside(&self, job: JobId) {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner).insert(job);
    }

    pub(super) fn aside(&self) -> Vec<Uuid> {
        uuids(&*self.aside.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What every session of ours keeps to. A server that loses its client gives up its locks soon. And every
/// statement finds its rows by an index, one after the other: what PostgreSQL knows of a queue that empties
/// and fills is always old, and by it reading a whole table to find a few rows may look cheap.
const SESSION: [(&str, &str); 7] = [
    ("idle_in_transaction_session_timeout", "15000"),
    ("jit", "off"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("plan_cache_mode", "force_generic_plan"),
];
/// What tells a server early that its client is lost.
const KEEPALIVE: [(&str, &str); 3] = [
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_user_timeout", "20000"),
];

pub(super) fn connect_options(
    config: &PostgresConfig,
) -> std::result::Result<PgConnectOptions, OpenError> {
    let options: PgConnectOptions = config.url.parse().map_err(OpenError::Url)?;
    let named = options.get_application_name().is_some();
    let options = if named { options } else { options.application_name("chronos") };
    if config.pooler {
        // Poolers refuse startup options, and statements are prepared on somebody else's connection.
        return Ok(options.statement_cache_capacity(0).extra_float_digits(None));
    }
    let timeout = config.statement_timeout.as_millis().to_string();
    let options = options.options(SESSION).options(KEEPALIVE);
    Ok(options.options([("statement_timeout", timeout)]))
}

fn begin_words(config: &PostgresConfig) -> String {
    let mut words = vec!["BEGIN ISOLATION LEVEL READ COMMITTED".to_owned()];
    if config.pooler {
        let timeout = config.statement_timeout.as_millis();
        words.push(format!("SET LOCAL statement_timeout = {timeout}"));
        words.extend(SESSION.map(|(name, value)| format!("SET LOCAL {name} = {value}")));
    }
    words.join("; ")
}
