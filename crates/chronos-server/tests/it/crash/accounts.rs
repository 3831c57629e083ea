//! The accounts: what the closed store says, read by nobody who wrote it, held against what was
//! promised and what was called.

mod calls;
mod lines;
mod messages;
mod slots;

use std::collections::BTreeMap;
use std::path::Path;

use chronos_core::audit::{AuditEvent, Decision};
use chronos_core::execution::Trigger;
use chronos_core::store::{Error, Store};
use chronos_core::{Execution, Job, JobId, MessageEvent, Timestamp};
use chronos_store::{EmbeddedStore, Engine, Retention, StoreUrl, Tuning};

use super::Kill;
use super::clients::{Known, Learned};
use super::endpoint::Called;
use super::specs::Rhythm;

/// What the store says, job by job.
pub(crate) struct Accounts {
    jobs: BTreeMap<JobId, Account>,
    /// What was said, in its order.
    said: Vec<MessageEvent>,
    kills: Vec<Kill>,
    stopped_at: Timestamp,
}

/// What the store says of one job.
pub(crate) struct Account {
    /// `None` when it was deleted.
    job: Option<Job>,
    decisions: Vec<AuditEvent>,
    /// Its executions, oldest first.
    rows: Vec<Execution>,
}

/// What was looked at, over all jobs.
#[derive(Debug, Default)]
struct Figures {
    slots: usize,
    lines: usize,
    lost: usize,
    given_up: usize,
    said: usize,
}

impl Accounts {
    /// Reads everything out of a directory that no process uses.
    pub(crate) async fn read(data: &Path, kills: Vec<Kill>, stopped_at: Timestamp) -> Self {
        let url = StoreUrl::Directory(Engine::Fjall, data.into());
        let store = chronos_store::open(&url, Retention::default(), Tuning::default()).unwrap();
        let mut jobs: BTreeMap<JobId, Account> = BTreeMap::new();
        let mut last = 0;
        loop {
            let page = store.audit(last, 10_000).await.unwrap();
            if page.is_empty() {
                break;
            }
            for event in page {
                last += 1;
                assert_eq!(event.sequence, last, "no decision is missing");
                // What is decided about no job is told of the node.
                if let Some(job) = event.job {
                    jobs.entry(job).or_insert_with(Account::empty).decisions.push(event);
                }
            }
        }
        for (id, account) in &mut jobs {
            account.job = match store.job(*id).await {
                Ok(job) => Some(job),
                Err(Error::NoSuchJob(_)) => None,
                Err(error) => panic!("{id}: {error}"),
            };
            account.rows = rows(&store, *id).await;
        }
        let known = store.jobs(None, usize::MAX).await.unwrap();
        assert!(known.iter().all(|job| jobs.contains_key(&job.spec.id)), "a job came from nowhere");
        let said = messages::all(&store).await;
        Self { jobs, said, kills, stopped_at }
    }

    /// Checks every promise; gives the figures in a line.
    pub(crate) fn check(&self, learned: &Learned, calls: &[Called]) -> String {
        let mut rhythms: BTreeMap<JobId, Rhythm> = BTreeMap::new();
        for known in &learned.jobs {
            let account = self.jobs.get(&known.id);
            account.unwrap_or_else(|| panic!("{known:?} is lost")).keeps(known);
            rhythms.insert(known.id, known.rhythm);
        }
        let mut figures = Figures::default();
        for (id, account) in &self.jobs {
            if account.is_of_the_history() {
                // They are run by hand as well, when there is something for them to do.
                continue;
            }
            let is_compaction =
                account.job.as_ref().is_some_and(|job| &*job.spec.name == "compaction");
            let rhythm =
                if is_compaction { Some(Rhythm::Every(3)) } else { rhythms.get(id).copied() };
            let rhythm = rhythm.unwrap_or_else(|| panic!("nobody made job {id}"));
            figures.slots += account.check_slots(rhythm, self.stopped_at);
            account.check_lines(&self.kills, &mut figures);
        }
        self.check_calls(calls);
        figures.said = self.check_messages();
        format!(
            "{} kills, {} jobs, {} changes acknowledged and {} in doubt, {} slots accounted for, {} \
             lines of attempts, {} attempts lost ({} of them the last), {} requests, {} messages",
            self.kills.len(),
            self.jobs.len(),
            learned.acknowledged,
            learned.in_doubt,
            figures.slots,
            figures.lines,
            figures.lost,
            figures.given_up,
            calls.len(),
            figures.said,
        )
    }
}

async fn rows(store: &EmbeddedStore, job: JobId) -> Vec<Execution> {
    let mut rows: Vec<Execution> = Vec::new();
    loop {
        let before = rows.last().map(|row| row.id);
        let page = store.executions(job, before, 1_000).await.unwrap();
        if page.is_empty() {
            rows.reverse();
            return rows;
        }
        rows.extend(page);
    }
}

impl Account {
    /// Whether it is one of the jobs that keep the history.
    fn is_of_the_history(&self) -> bool {
        let name = self.job.as_ref().map(|job| &*job.spec.name).unwrap_or_default();
        ["prune", "index_commit"].contains(&name) || name.starts_with("toc_")
    }

    fn empty() -> Self {
        Self { job: None, decisions: Vec::new(), rows: Vec::new() }
    }

    fn decided(&self) -> impl Iterator<Item = &Decision> {
        self.decisions.iter().map(|event| &event.decision)
    }

    /// Whether everything that was acknowledged is there.
    fn keeps(&self, known: &Known) {
        let count = |wanted: &Decision| self.decided().filter(|made| *made == wanted).count();
        assert_eq!(count(&Decision::Created), 1, "{known:?}");
        for version in 2..=known.version {
            assert_eq!(count(&Decision::Updated { version }), 1, "{known:?} at {version}");
        }
        for run in &known.runs {
            let is_fired = |made: &Decision| {
                matches!(made, Decision::Fired { execution, trigger: Trigger::Manual { .. }, .. }
                    if execution == run)
            };
            assert!(self.decided().any(is_fired), "{known:?} without its run {run}");
            let is_kept = known.deleted || self.rows.iter().any(|row| row.id == *run);
            assert!(is_kept, "{known:?} without its run {run}");
        }
        let Some(job) = &self.job else {
            assert!(known.deleted, "{known:?} was not deleted");
            assert_eq!(count(&Decision::Deleted), 1, "{known:?}");
            return;
        };
        assert!(!known.deleted, "{known:?} was deleted");
        let note = job.standing.paused.as_ref().map(|pause| pause.note.as_deref().unwrap());
        assert_eq!(job.spec.version, known.version, "{known:?}");
        assert_eq!((&*job.spec.name, note), (known.name.as_str(), known.note.as_deref()));
    }
}
