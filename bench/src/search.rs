//! Search: how fast executions become documents, and how fast one finds them among millions.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chronos_core::audit::{AuditEvent, Decision, EndingKind};
use chronos_core::execution::{Failure, Response, Run, State, Token, Trigger};
use chronos_core::schedule::Zone;
use chronos_core::store::{JournalEntry, JournalPage};
use chronos_core::{Execution, JobId, JobSpec, Schedule, Timestamp, WorkerId};
use chronos_history::Shelf;
use chronos_history::search::{Index, Request};

use crate::process;
use crate::report::{Figure, Goal, percentile};

/// Executions that are searched, unless `CHRONOS_BENCH_SEARCH` says how many.
const EXECUTIONS: u64 = 1_000_000;
const JOBS: u64 = 1_000;
const PAGE: u64 = 1_024;
/// Executions end this far apart, so that ten million of them span a year.
const APART: Duration = Duration::from_millis(3_153);
/// Each query is asked this often.
const ASKED: usize = 100;

const ERRORS: [&str; 6] = [
    "connection reset by peer while reading from billing.internal:443",
    "503 Service Unavailable",
    "deadline of 30 s exceeded after 3 attempts",
    "no route to host 10.4.0.17",
    "disk quota of the tenant is used up: 0 bytes left",
    "certificate of ledger.internal has expired",
];

/// What people look for: what nearly everything fits, what little does, and what is in between.
const QUERIES: [&str; 16] = [
    "",
    "status:success",
    "kind:execution -status:skipped",
    "status:failed",
    "connection",
    "processed",
    "processed rows",
    "\"connection reset\"",
    "job:sync-17",
    "job:sync-17 status:failed \"connection reset\"",
    "sync 17 certificate",
    "owner:team-3 status:failed",
    "node:node-2 status:failed after:2026-02-01",
    "status:success after:2026-01-10 before:2026-01-12",
    "unheard",
    "batch-123456",
];

pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let executions = match std::env::var("CHRONOS_BENCH_SEARCH") {
        Ok(number) => number.parse().context("CHRONOS_BENCH_SEARCH is no number")?,
        Err(_) => EXECUTIONS,
    };
    let directory = tempfile::tempdir()?;
    let index = Index::open(directory.path())?;
    let mut figures = fill(&index, executions)?;
    figures.extend(search(&index, executions)?);
    Ok(figures)
}

/// Reads a journal of so many executions into an index.
fn fill(index: &Index, executions: u64) -> anyhow::Result<Vec<Figure>> {
    let jobs: Vec<Arc<JobSpec>> = (0..JOBS).map(job).collect::<anyhow::Result<_>>()?;
    // What it takes to make the journal up is counted as well.
    let (begun, used) = (process::begin(), cpu_seconds()?);
    let mut first = 0;
    while first < executions {
        let last = executions.min(first + PAGE);
        let page = JournalPage {
            entries: (first..last).map(|number| entry(number, &jobs)).collect(),
            specs: jobs.clone(),
            cursor: last,
            more: last < executions,
        };
        index.read(index.cursors(), &page, |_| Box::default())?;
        // As often as the job that commits does with some hundred runs a second.
        if index.pending() >= 100_000 || last == executions {
            index.commit()?;
        }
        first = last;
    }
    let wall = begun.elapsed();
    index.settle()?;
    let cpu = cpu_seconds()? - used;
    let count = executions as f64;
    let name = |what: &str| format!("history-search: {what}");
    let on_one_core = Goal::AtLeast(20_000.0);
    Ok(vec![
        Figure::new(
            name("documents indexed a second"),
            count / wall.as_secs_f64(),
            "runs/s",
            Goal::None,
        ),
        Figure::new(
            name("documents indexed a CPU second, merges included"),
            count / cpu,
            "runs/s",
            on_one_core,
        ),
        Figure::new(name("bytes a document"), size(index)? / count, "bytes", Goal::None),
    ])
}

/// Asks for first pages and for second ones.
fn search(index: &Index, executions: u64) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let mut all = Vec::new();
    for shelf in [Shelf::Everyone, Shelf::Owner("team-3")] {
        for query in QUERIES {
            let mut took = Vec::with_capacity(ASKED);
            let request = Request { query, shelf, zone: Zone::UTC, cursor: None, limit: 20 };
            index.search(&request)?;
            for _ in 0..ASKED {
                let begun = process::begin();
                index.search(&request)?;
                took.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            took.sort_by(f64::total_cmp);
            all.extend_from_slice(&took);
            if shelf == Shelf::Everyone {
                let name = format!("history-search: median of {query:?}");
                figures.push(Figure::new(name, percentile(&took, 0.5), "ms", Goal::None));
            }
        }
    }
    all.sort_by(f64::total_cmp);
    let name = format!("history-search: first page p99 of {executions}");
    figures.push(Figure::new(name, percentile(&all, 0.99), "ms", Goal::AtMost(50.0)));
    Ok(figures)
}

fn job(number: u64) -> anyhow::Result<Arc<JobSpec>> {
    let tag = u128::from(number).to_be_bytes();
    let id = JobId::new(Timestamp::from_secs(1_700_000_000), std::array::from_fn(|at| tag[at + 6]));
    let schedule = Schedule::interval(Duration::from_mins(1), Timestamp::from_secs(1_700_000_000))?;
    let name = format!("sync-{number} of the ledger");
    let spec = JobSpec::new(id, &name, schedule, Timestamp::from_secs(1_700_000_000));
    Ok(Arc::new(JobSpec { owner: format!("team-{}", number % 20).into(), ..spec }))
}

fn entry(number: u64, jobs: &[Arc<JobSpec>]) -> JournalEntry {
    // Far apart numbers, without dice.
    let hash = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    let pick =
        |most: usize, shift: u32| usize::try_from((hash >> shift) % most as u64).unwrap_or(0);
    let spec = &jobs[pick(jobs.len(), 0)];
    let micros = APART.as_micros() * u128::from(number);
    let slot = Timestamp::from_secs(1_767_225_600)
        .after(Duration::from_micros(u64::try_from(micros).unwrap_or(0)));
    let failed = pick(20, 12) == 0;
    let rows = pick(10_000, 7);
    let log = format!(
        "batch-{number}: processed {rows} rows of tenant {} in {} ms",
        pick(300, 3),
        pick(900, 5)
    );
    let body =
        if failed { b"{\"error\": \"upstream said no\"}".as_slice() } else { b"{\"ok\": true}" };
    let run = Run {
        worker: WorkerId::new(&format!("node-{}", pick(3, 9))),
        token: Token(number),
        started_at: slot,
        finished_at: slot.after(Duration::from_millis(40)),
        took: Duration::from_millis(40),
        log: Some(log.into()),
        response: Some(Arc::new(Response {
            status: if failed { 503 } else { 200 },
            took: Duration::from_millis(30),
            body: body.into(),
            truncated: false,
        })),
    };
    let mut execution = Execution::queued(spec.id, slot, Trigger::Schedule, slot);
    let ending = if failed { EndingKind::Failed } else { EndingKind::Success };
    execution.state = if failed {
        State::Failed(run, Failure::transient(ERRORS[pick(ERRORS.len(), 15)]))
    } else {
        State::Success(run)
    };
    let decision = Decision::Ended { execution: execution.id, slot, ending, next_attempt: None };
    let event = AuditEvent {
        sequence: number + 1,
        at: slot,
        by: None,
        owner: (&*spec.owner).into(),
        job: Some(spec.id),
        trace: None,
        decision,
    };
    JournalEntry { event, ended: Some(Box::new(execution)) }
}

/// Seconds of CPU used by all threads, those that have ended included.
fn cpu_seconds() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat.rsplit_once(')').context("no figures of this process")?;
    let ticks = rest.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    let ticks: f64 = ticks.sum::<Result<f64, _>>()?;
    Ok(ticks / 100.0)
}

fn size(index: &Index) -> anyhow::Result<f64> {
    let mut bytes = 0;
    for file in std::fs::read_dir(index.path())? {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes as f64)
}
