//! Messages on PostgreSQL: how many a node says in a second, against bare SQL that writes the same rows in the
//! same batches.

use chronos_core::Store;
use chronos_pgtest::{Cluster, Durability};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::DATABASE;
use super::bed::node;
use crate::disk::saying;
use crate::process::begin;
use crate::report::{Figure, Goal};
use crate::workload::{BATCH, at, create};

/// Jobs that say something in every second.
const JOBS: usize = 10_000;
/// Seconds of a round, and rounds; the best counts, because noise only ever adds.
const SECONDS: u64 = 4;
const ROUNDS: u64 = 4;

/// Where jobs stand, what ran, what was decided and what was said, with the indexes that the store needs.
const TABLES: [&str; 9] = [
    "CREATE TABLE bare_standings (id uuid PRIMARY KEY, due_at timestamptz, next_slot timestamptz,
        last_slot timestamptz, fired bigint NOT NULL, succeeded bigint NOT NULL, last_run_at timestamptz,
        last_duration_ms double precision) WITH (fillfactor = 80)",
    "CREATE INDEX ON bare_standings (due_at, id) WHERE due_at IS NOT NULL",
    "CREATE TABLE bare_executions (recorded_at timestamptz NOT NULL, id uuid NOT NULL, job_id uuid NOT NULL,
        tag integer NOT NULL, scheduled_for timestamptz NOT NULL, run_at timestamptz NOT NULL,
        trigger text NOT NULL, attempt integer NOT NULL, priority smallint NOT NULL, status text NOT NULL,
        worker_id text, token bigint, started_at timestamptz, finished_at timestamptz,
        duration_ms double precision)",
    "CREATE INDEX ON bare_executions (tag, id)",
    "CREATE TABLE bare_audit (filed_at timestamptz NOT NULL, first bigint NOT NULL, last bigint NOT NULL,
        decisions bytea NOT NULL)",
    "CREATE INDEX ON bare_audit (last)",
    "CREATE TABLE bare_messages (sequence bigint PRIMARY KEY, event_id uuid NOT NULL,
        dedupe_key bytea NOT NULL UNIQUE, job_id uuid NOT NULL, created_by text COLLATE \"C\" NOT NULL,
        scheduled_for timestamptz NOT NULL, occurred_at timestamptz NOT NULL, message bytea NOT NULL)",
    "CREATE INDEX ON bare_messages (job_id, sequence)",
    "CREATE INDEX ON bare_messages (created_by, sequence)",
];

const LOCK: &str = "SELECT id FROM bare_standings WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2
    FOR UPDATE SKIP LOCKED";
const MOVE: &str = "UPDATE bare_standings s SET due_at = n.at, next_slot = n.at, last_slot = $3,
        fired = fired + 1, succeeded = succeeded + 1, last_run_at = $3, last_duration_ms = 0
    FROM unnest($1::uuid[], $2::timestamptz[]) AS n (id, at) WHERE s.id = n.id";
const RUN: &str =
    "INSERT INTO bare_executions SELECT $1, n.*, $1, $1, 'schedule', 1, 10, 'SUCCESS',
        'scheduler', 0, $1, $1, 0 FROM unnest($2::uuid[], $3::uuid[], $4::integer[]) AS n";
const DECIDE: &str = "INSERT INTO bare_audit SELECT $1, coalesce(max(last), 0) + 1,
        coalesce(max(last), 0) + $2, $3 FROM bare_audit";
const SAY: &str = "INSERT INTO bare_messages
    SELECT newest.sequence + n.number, n.event_id, n.dedupe_key, n.job_id, '', $1, $1, n.message
    FROM (SELECT coalesce(max(sequence), 0) AS sequence FROM bare_messages) AS newest,
        unnest($2::uuid[], $3::bytea[], $4::uuid[], $5::bytea[])
            WITH ORDINALITY AS n (event_id, dedupe_key, job_id, message, number)
    ON CONFLICT (dedupe_key) DO NOTHING";

pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let cluster = Cluster::start(Durability::Durable);
    let store = node(&cluster).await?;
    create(&*store, saying(JOBS)?).await?;
    // What the store writes says how long its records are.
    let mut second = 1;
    say(&*store, second..=second).await?;
    let length = |sql: &str| -> anyhow::Result<usize> { Ok(cluster.psql(DATABASE, sql).parse()?) };
    let mut bare = Bare {
        connection: PgConnection::connect(&cluster.url(DATABASE)).await?,
        message: length("SELECT avg(length(message))::integer FROM chronos.message_events")?,
        decisions: length(&format!(
            "SELECT (sum(length(decisions)) / {JOBS})::integer FROM chronos.audit WHERE last > {JOBS}"
        ))?,
    };
    bare.prepare().await?;
    let said = JOBS as f64 * SECONDS as f64;
    let (mut alone, mut ours) = (0.0_f64, 0.0_f64);
    for round in 1..=ROUNDS {
        let seconds = second + 1..=second + SECONDS;
        second += SECONDS;
        cluster.psql(DATABASE, "CHECKPOINT");
        let bare = said / bare.say(seconds.clone()).await?;
        cluster.psql(DATABASE, "CHECKPOINT");
        let through = said / say(&*store, seconds).await?;
        eprintln!("{round} of {ROUNDS}: bare {bare:.0}, ours {through:.0} messages/s");
        (alone, ours) = (alone.max(bare), ours.max(through));
    }
    Ok(vec![
        Figure::new("messages on PostgreSQL: bare SQL, same rows", alone, "runs/s", Goal::None),
        Figure::new("messages on PostgreSQL", ours, "runs/s", Goal::None),
        Figure::new("messages on PostgreSQL ÷ bare", ours / alone, "×", Goal::AtLeast(0.6)),
    ])
}

/// Seconds that it takes a node to fire all slots of these seconds.
async fn say(store: &dyn Store, seconds: std::ops::RangeInclusive<u64>) -> anyhow::Result<f64> {
    let begun = begin();
    for second in seconds {
        let mut said = 0;
        while said < JOBS {
            let fired = store.fire_due(at(second), BATCH, None).await?;
            anyhow::ensure!(!fired.planned.is_empty(), "{said} of {JOBS} messages were said");
            said += fired.planned.len();
        }
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// A session that writes what the store does, and decides nothing.
struct Bare {
    connection: PgConnection,
    /// Bytes of a message, and of the decisions about it.
    message: usize,
    decisions: usize,
}

impl Bare {
    async fn prepare(&mut self) -> anyhow::Result<()> {
        for statement in TABLES {
            sqlx::query(statement).execute(&mut self.connection).await?;
        }
        let fill = "INSERT INTO bare_standings (id, due_at, fired, succeeded)
            SELECT gen_random_uuid(), $1, 0, 0 FROM generate_series(1, $2)";
        let first = at(0).to_datetime();
        let query = sqlx::query(fill).bind(first).bind(i32::try_from(JOBS)?);
        query.execute(&mut self.connection).await?;
        Ok(())
    }

    /// Seconds that it takes to write what all slots of these seconds say.
    async fn say(&mut self, seconds: std::ops::RangeInclusive<u64>) -> anyhow::Result<f64> {
        let begun = begin();
        for second in seconds {
            let (now, next) = (at(second).to_datetime(), at(second + 1).to_datetime());
            let mut said = 0;
            while said < JOBS {
                let mut step = self.connection.begin().await?;
                let query = sqlx::query_scalar(LOCK).bind(now).bind(i64::try_from(BATCH)?);
                let jobs: Vec<Uuid> = query.fetch_all(&mut *step).await?;
                anyhow::ensure!(!jobs.is_empty(), "{said} of {JOBS} rows were written");
                let ids: Vec<Uuid> = jobs.iter().map(|_| Uuid::new_v4()).collect();
                let times = vec![next; jobs.len()];
                let query = sqlx::query(MOVE).bind(&jobs).bind(times).bind(now);
                query.execute(&mut *step).await?;
                let tags: Vec<i32> = (0..).take(jobs.len()).collect();
                let query = sqlx::query(RUN).bind(now).bind(&ids).bind(&jobs).bind(tags);
                query.execute(&mut *step).await?;
                let keys: Vec<Vec<u8>> =
                    ids.iter().map(|id| [id.as_bytes().as_slice(); 2].concat()).collect();
                let messages = vec![vec![7_u8; self.message]; jobs.len()];
                let query = sqlx::query(SAY).bind(now).bind(&ids).bind(keys).bind(&jobs);
                query.bind(messages).execute(&mut *step).await?;
                let decisions = vec![7_u8; self.decisions * jobs.len()];
                let count = i64::try_from(jobs.len() * 2)?;
                let query = sqlx::query(DECIDE).bind(now).bind(count).bind(decisions);
                query.execute(&mut *step).await?;
                step.commit().await?;
                said += jobs.len();
            }
        }
        Ok(begun.elapsed().as_secs_f64())
    }
}
