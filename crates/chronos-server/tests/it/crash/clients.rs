//! Clients: they change jobs while the daemon is killed, and note what they were promised.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chronos_core::{ExecutionId, JobId, Timestamp};
use chronos_engine::{Clock, SystemClock};
use chronos_server::proto::scheduler_client::SchedulerClient;
use chronos_server::proto::{
    CreateJobRequest, DeleteJobRequest, GetJobRequest, Job, PauseJobRequest, ResumeJobRequest,
    RunJobRequest, UpdateJobRequest,
};
use fastrand::Rng;
use tonic::transport::{Channel, Endpoint as Peer};
use tonic::{Code, Status};

use super::Whereabouts;
use super::endpoint::Endpoint;
use super::specs::{Rhythm, spec};
use crate::daemon::soon;

/// Jobs that a client keeps at a time.
const JOBS: usize = 3;

/// A job as its client knows it: what was acknowledged, and after a call without an answer what was
/// found.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) id: JobId,
    pub(crate) name: String,
    pub(crate) number: usize,
    pub(crate) rhythm: Rhythm,
    pub(crate) version: u64,
    pub(crate) note: Option<String>,
    pub(crate) deleted: bool,
    /// Runs by hand that were acknowledged.
    pub(crate) runs: Vec<ExecutionId>,
}

/// What a client learned.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    pub(crate) jobs: Vec<Known>,
    /// Changes that were acknowledged.
    pub(crate) acknowledged: usize,
    /// Changes of which no answer came.
    pub(crate) in_doubt: usize,
}

pub(crate) struct Client {
    pub(crate) number: usize,
    pub(crate) dice: Rng,
    pub(crate) daemon: Whereabouts,
    pub(crate) endpoint: Endpoint,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) learned: Learned,
}

impl Client {
    /// Changes jobs until it is stopped.
    pub(crate) async fn run(mut self) -> Learned {
        while !self.stop.load(Ordering::SeqCst) {
            let kept: Vec<usize> = (0..self.learned.jobs.len())
                .filter(|job| !self.learned.jobs[*job].deleted && !self.is_once(*job))
                .collect();
            if kept.len() < JOBS || self.dice.u8(..20) == 0 {
                self.create().await;
            } else {
                let job = kept[self.dice.usize(..kept.len())];
                self.change(job).await;
            }
            tokio::time::sleep(Duration::from_millis(self.dice.u64(5..60))).await;
        }
        self.learned
    }

    fn is_once(&self, job: usize) -> bool {
        matches!(self.learned.jobs[job].rhythm, Rhythm::Once(_))
    }

    /// Creates a job of a new name. Whether one that was not answered is there, a look tells.
    async fn create(&mut self) {
        let count = self.learned.jobs.len();
        let (name, number) = (format!("client {} job {count}", self.number), self.number + count);
        let rhythm = if self.dice.u8(..4) == 0 {
            let soon = SystemClock::new().now().as_secs() + self.dice.i64(1..4);
            Rhythm::Once(Timestamp::from_secs(soon))
        } else {
            Rhythm::ByVersion
        };
        let spec = spec(&name, number, rhythm, 1, &self.url(number));
        let mut daemon = self.daemon.client().await;
        let asked = soon(daemon.create_job(CreateJobRequest { spec: Some(spec) })).await;
        let job = match self.told(asked) {
            Some(job) => job.into_inner(),
            None => match self.look(&name).await {
                Some(job) => job,
                None => return,
            },
        };
        assert_eq!((job.version, job.spec.unwrap().name), (1, name.clone()));
        let id = job.id.parse().unwrap();
        let (runs, note) = (Vec::new(), None);
        let deleted = false;
        let known = Known { id, name, number, rhythm, version: 1, note, deleted, runs };
        self.learned.jobs.push(known);
    }

    async fn change(&mut self, job: usize) {
        match self.dice.u8(..10) {
            0..3 => self.pause(job).await,
            3..6 => self.resume(job).await,
            6..8 => self.update(job).await,
            8 => self.run_by_hand(job).await,
            _ if self.dice.u8(..4) == 0 => self.delete(job).await,
            _ => self.verify(job).await,
        }
    }

    async fn pause(&mut self, job: usize) {
        let note = format!("note {}", self.dice.u32(..));
        let mut daemon = self.daemon.client().await;
        let request = PauseJobRequest { job: self.id(job), note: note.clone(), resume_at: None };
        let asked = soon(daemon.pause_job(request)).await;
        // Pausing again changes the note and nothing else.
        self.settle(job, asked, |known| known.note = Some(note)).await;
    }

    async fn resume(&mut self, job: usize) {
        let mut daemon = self.daemon.client().await;
        let asked = soon(daemon.resume_job(ResumeJobRequest { job: self.id(job) })).await;
        self.settle(job, asked, |known| known.note = None).await;
    }

    async fn update(&mut self, job: usize) {
        let known = &self.learned.jobs[job];
        let before = known.version;
        let url = self.url(known.number);
        let spec = spec(&known.name, known.number, known.rhythm, before + 1, &url);
        let (job_id, spec) = (self.id(job), Some(spec));
        let mut daemon = self.daemon.client().await;
        let request = UpdateJobRequest { job: job_id, spec, expected_version: before };
        let asked = soon(daemon.update_job(request)).await;
        self.settle(job, asked, |known| known.version += 1).await;
    }

    async fn run_by_hand(&mut self, job: usize) {
        let mut daemon = self.daemon.client().await;
        let asked = soon(daemon.run_job(RunJobRequest { job: self.id(job) })).await;
        match asked {
            Ok(run) => {
                self.learned.acknowledged += 1;
                let run = run.into_inner().id.parse().unwrap();
                self.learned.jobs[job].runs.push(run);
            }
            Err(refused) if refused.code() == Code::FailedPrecondition => {}
            Err(lost) => self.doubt(&lost),
        }
    }

    async fn delete(&mut self, job: usize) {
        let mut daemon = self.daemon.client().await;
        let asked = soon(daemon.delete_job(DeleteJobRequest { job: self.id(job) })).await;
        let id = self.id(job);
        self.learned.jobs[job].deleted = match self.told(asked) {
            Some(_) => true,
            None => self.look(&id).await.is_none(),
        };
    }

    /// Looks whether everything is as it was promised.
    async fn verify(&mut self, job: usize) {
        let known = self.learned.jobs[job].clone();
        let found = self.look(&self.id(job)).await.unwrap_or_else(|| panic!("{known:?} is lost"));
        assert!(known.is(&found), "{known:?} was promised, {found:?} is there");
    }

    /// Holds the daemon to its answer. Where there was none, a look tells whether the change was made:
    /// whole or not at all.
    async fn settle(
        &mut self,
        job: usize,
        asked: Result<tonic::Response<Job>, Status>,
        change: impl FnOnce(&mut Known),
    ) {
        let answered = self.told(asked).map(tonic::Response::into_inner);
        let before = self.learned.jobs[job].clone();
        let mut after = before.clone();
        change(&mut after);
        let found = if let Some(found) = answered {
            found
        } else {
            let found = self.look(&self.id(job)).await;
            let found = found.unwrap_or_else(|| panic!("{before:?} is lost"));
            if before.is(&found) {
                return;
            }
            found
        };
        assert!(after.is(&found), "{after:?} was promised, {found:?} is there");
        self.learned.jobs[job] = after;
    }

    /// The answer, if one came.
    fn told<T>(&mut self, asked: Result<T, Status>) -> Option<T> {
        match asked {
            Ok(answer) => {
                self.learned.acknowledged += 1;
                Some(answer)
            }
            Err(lost) => {
                self.doubt(&lost);
                None
            }
        }
    }

    /// A call without an answer may have been done; one that was refused would be a fault.
    fn doubt(&mut self, lost: &Status) {
        let dead = matches!(lost.code(), Code::Unavailable | Code::Unknown | Code::Cancelled);
        assert!(dead, "a change was refused: {lost:?}");
        self.learned.in_doubt += 1;
    }

    /// The job as the daemon tells it, whichever life it takes to get an answer.
    async fn look(&self, job: &str) -> Option<Job> {
        loop {
            let mut daemon = self.daemon.client().await;
            match soon(daemon.get_job(GetJobRequest { job: job.into() })).await {
                Ok(job) => return Some(job.into_inner()),
                Err(absent) if absent.code() == Code::NotFound => return None,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    fn id(&self, job: usize) -> String {
        self.learned.jobs[job].id.to_string()
    }

    fn url(&self, number: usize) -> String {
        self.endpoint.url(["ok", "slow", "flaky"][number % 3])
    }
}

impl Known {
    fn is(&self, found: &Job) -> bool {
        let note = found.paused.as_ref().map(|pause| pause.note.as_str());
        found.id == self.id.to_string()
            && found.version == self.version
            && note == self.note.as_deref()
    }
}

impl Whereabouts {
    /// A connection to the daemon, as soon as there is one that listens.
    pub(crate) async fn client(&self) -> SchedulerClient<Channel> {
        let mut whereabouts = self.0.clone();
        let found = soon(whereabouts.wait_for(Option::is_some)).await.unwrap();
        let address = found.unwrap();
        drop(found);
        let peer = Peer::from_shared(format!("http://{address}")).unwrap();
        SchedulerClient::new(peer.connect_lazy())
    }
}
