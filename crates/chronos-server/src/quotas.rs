//! Quotas: how much of a scheduler one account may take up.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chronos_core::account::Role;
use chronos_core::backfill;
use chronos_core::job::Target;
use chronos_core::policy::OverlapPolicy;
use chronos_core::schedule::Cadence;
use chronos_core::store::{self, Creation, Done, Request, Store};
use chronos_core::{Http, JobId, JobSpec, Timestamp};

use crate::auth::{Caller, Proof};

/// How much one account may take up. Whoever is on the daemon's machine without an account may take all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// The shortest time between two runs of a job that a user makes.
    pub user_min_interval: Duration,
    /// The same for an admin.
    pub admin_min_interval: Duration,
    /// Jobs that a user may have; 0 for any number.
    pub user_max_jobs: u64,
    /// The same for an admin.
    pub admin_max_jobs: u64,
    /// Subscriptions to message events that a user may have; 0 for any number.
    pub user_max_subscriptions: u64,
    /// The same for an admin.
    pub admin_max_subscriptions: u64,
    /// Runs of one job of a user's that may be alive at once, waiting or under way; 0 for any number.
    pub user_max_runs_per_job: u32,
    /// The same for an admin.
    pub admin_max_runs_per_job: u32,
    /// Bytes that the request of a job may send.
    pub max_payload_bytes: usize,
    /// Requests of one account in a second at this node, in the long run; 0 for any number.
    pub max_requests_per_second: u32,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            user_min_interval: Duration::from_mins(1),
            admin_min_interval: Duration::from_secs(1),
            user_max_jobs: 10_000,
            admin_max_jobs: 0,
            user_max_subscriptions: 100,
            admin_max_subscriptions: 0,
            user_max_runs_per_job: 1_000,
            admin_max_runs_per_job: 0,
            max_payload_bytes: Http::MAX_BODY,
            max_requests_per_second: 500,
        }
    }
}

/// What is more than a quota allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    /// The key of the configuration that sets the quota.
    pub(crate) quota: &'static str,
    /// How much it allows.
    pub(crate) value: u64,
    pub(crate) of: Of,
    /// What is wrong, and what is accepted.
    pub(crate) problem: String,
}

/// What there is too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Times that a cron expression names.
    Cron,
    /// Slots of an interval.
    Interval,
    /// Bytes.
    Payload,
    /// Runs beside each other.
    Concurrent,
    /// Runs behind each other.
    Queued,
    /// Slots of a backfill beside each other.
    AtOnce,
    /// Jobs, until one goes.
    Jobs,
    /// Subscriptions, until one goes.
    Subscriptions,
    /// Requests, for so long.
    Requests(Duration),
}

/// Why a job was not made.
#[derive(Debug)]
pub(crate) enum NotMade {
    Excess(Excess),
    Store(store::Error),
}

impl From<Excess> for NotMade {
    fn from(excess: Excess) -> Self {
        Self::Excess(excess)
    }
}

impl Quotas {
    /// Refuses what the caller may not ask of a job; what the job asks for already may stay.
    pub(crate) fn check(
        &self,
        caller: &Caller,
        spec: &JobSpec,
        before: Option<&JobSpec>,
    ) -> Result<(), Excess> {
        if matches!(caller.proof, Proof::Local) {
            return Ok(());
        }
        if before.is_none_or(|before| !spec.schedule.is_like(&before.schedule)) {
            self.check_interval(caller.role, spec)?;
        }
        if before.is_none_or(|before| before.overlap != spec.overlap) {
            self.check_runs(caller.role, spec.overlap)?;
        }
        let bytes = body(spec);
        if before.is_none_or(|before| body(before) != bytes) {
            self.check_payload(bytes.len())?;
        }
        Ok(())
    }

    fn check_interval(&self, role: Role, spec: &JobSpec) -> Result<(), Excess> {
        let (quota, least) = match role {
            Role::Admin => ("admin_min_interval_secs", self.admin_min_interval),
            Role::User | Role::Viewer => ("user_min_interval_secs", self.user_min_interval),
        };
        let gap = spec.schedule.shortest_gap().filter(|gap| *gap < least);
        let Some(gap) = gap else {
            return Ok(());
        };
        let of = match spec.schedule.cadence() {
            Cadence::Cron(_) => Of::Cron,
            Cadence::Interval(_) | Cadence::OneShot(_) => Of::Interval,
        };
        let (gap, value) = (gap.as_secs(), least.as_secs());
        let problem = format!(
            "slots {gap} s apart are closer than {quota} of {value} allows; use {value} s or more"
        );
        Err(Excess { quota, value, of, problem })
    }

    /// Refuses a job whose runs could pile up: beside its own bound there is only that on jobs.
    fn check_runs(&self, role: Role, overlap: OverlapPolicy) -> Result<(), Excess> {
        let (quota, most) = self.most_runs(role);
        let (of, asked) = match overlap {
            OverlapPolicy::Skip | OverlapPolicy::Replace => return Ok(()),
            OverlapPolicy::Concurrent => (Of::Concurrent, None),
            OverlapPolicy::ConcurrentUpTo(asked) => (Of::Concurrent, Some(asked.get())),
            OverlapPolicy::Queue(asked) => (Of::Queued, Some(asked.get())),
        };
        if most == 0 || asked.is_some_and(|asked| asked <= most) {
            return Ok(());
        }
        let asked = asked.map_or_else(|| "any number of".into(), |asked| asked.to_string());
        let problem =
            format!("{asked} runs are more than {quota} allows; use a number from 1 to {most}");
        Err(Excess { quota, value: most.into(), of, problem })
    }

    /// Refuses a backfill that would have more runs of a job alive than the caller may have.
    pub(crate) fn check_backfill(
        &self,
        caller: &Caller,
        spec: &JobSpec,
        rate: backfill::Rate,
    ) -> Result<(), Excess> {
        let (quota, most) = self.most_runs(caller.role);
        let at_once = spec.overlap.capacity().map_or(rate.at_once, |most| rate.at_once.min(most));
        if matches!(caller.proof, Proof::Local) || most == 0 || at_once <= most {
            return Ok(());
        }
        let problem =
            format!("{at_once} slots at once are more than {quota} allows; use 1 to {most}");
        Err(Excess { quota, value: most.into(), of: Of::AtOnce, problem })
    }

    fn most_runs(&self, role: Role) -> (&'static str, u32) {
        match role {
            Role::Admin => ("admin_max_runs_per_job", self.admin_max_runs_per_job),
            Role::User | Role::Viewer => ("user_max_runs_per_job", self.user_max_runs_per_job),
        }
    }

    fn check_payload(&self, bytes: usize) -> Result<(), Excess> {
        let (quota, most) = ("max_payload_bytes", self.max_payload_bytes);
        if bytes <= most {
            return Ok(());
        }
        let problem = format!("{bytes} bytes are more than {quota} allows; use at most {most}");
        Err(Excess { quota, value: most as u64, of: Of::Payload, problem })
    }

    /// Makes a job that the caller asks for, if its quotas allow one more.
    pub(crate) async fn make(
        &self,
        caller: &Caller,
        store: &dyn Store,
        asked: Asked,
        now: Timestamp,
    ) -> Result<Done<JobId>, NotMade> {
        let creation = self.admit(caller, asked)?;
        let made = store.create_job_on(creation, now).await;
        made.map_err(|error| self.refusal(caller, error))
    }

    /// Makes those of many jobs that the caller's quotas allow, in their order.
    pub(crate) async fn make_all(
        &self,
        caller: &Caller,
        store: &dyn Store,
        asked: Vec<Asked>,
        now: Timestamp,
    ) -> Result<Vec<Result<Done<JobId>, NotMade>>, store::Error> {
        let admitted = asked.into_iter().map(|asked| self.admit(caller, asked));
        let (mut answers, mut creations) = (Vec::new(), Vec::new());
        for admitted in admitted {
            answers.push(match admitted {
                Ok(creation) => {
                    creations.push(creation);
                    None
                }
                Err(excess) => Some(Err(NotMade::Excess(excess))),
            });
        }
        let mut made = store.create_jobs(creations, now).await?.into_iter();
        let lost = || Err(store::Error::Unavailable("the store did not answer".into()));
        let mut next = || {
            let made = made.next().unwrap_or_else(lost);
            made.map_err(|error| self.refusal(caller, error))
        };
        Ok(answers.into_iter().map(|refused| refused.unwrap_or_else(&mut next)).collect())
    }

    /// The terms on which the caller may make a job.
    fn admit(&self, caller: &Caller, (spec, request): Asked) -> Result<Creation, Excess> {
        self.check(caller, &spec, None)?;
        let (_, most) = self.most_jobs(caller.role);
        let bounded = most > 0 && !matches!(caller.proof, Proof::Local);
        Ok(Creation { spec, request, most: bounded.then_some(most) })
    }

    /// How many jobs someone of this role may have, and what the quota is called.
    fn most_jobs(&self, role: Role) -> (&'static str, u64) {
        match role {
            Role::Admin => ("admin_max_jobs", self.admin_max_jobs),
            Role::User | Role::Viewer => ("user_max_jobs", self.user_max_jobs),
        }
    }

    /// How many subscriptions the caller may have, if there is a bound, and what the quota is called.
    pub(crate) fn most_subscriptions(&self, caller: &Caller) -> (&'static str, Option<u64>) {
        let (quota, most) = match caller.role {
            Role::Admin => ("admin_max_subscriptions", self.admin_max_subscriptions),
            Role::User | Role::Viewer => ("user_max_subscriptions", self.user_max_subscriptions),
        };
        let bounded = most > 0 && !matches!(caller.proof, Proof::Local);
        (quota, bounded.then_some(most))
    }

    fn refusal(&self, caller: &Caller, error: store::Error) -> NotMade {
        let store::Error::TooManyJobs(value) = error else {
            return NotMade::Store(error);
        };
        let (quota, _) = self.most_jobs(caller.role);
        let problem = format!(
            "{quota} of {value} is used up; delete a job, or have whoever runs this raise it"
        );
        NotMade::Excess(Excess { quota, value, of: Of::Jobs, problem })
    }
}

/// A job that someone asks for, and by what the request is known again.
pub(crate) type Asked = (JobSpec, Option<Request>);

/// What the job's target is sent.
fn body(spec: &JobSpec) -> &[u8] {
    match &spec.target {
        Target::Http(http) => http.body(),
        Target::Handler { .. } | Target::Message(_) => &[],
    }
}

/// How much of its allowance each account has used lately, at this node.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    /// When each account has everything again.
    whole_at: Mutex<HashMap<Box<str>, Duration>>,
}

impl Rate {
    /// What an account may use up at once: the allowance of this long.
    const BURST: Duration = Duration::from_secs(2);
    /// Accounts that are known before those are forgotten that have everything.
    const MANY: usize = 10_000;

    /// Uses one request of an account's allowance, at this time of a clock that never goes back.
    pub(crate) fn spend(
        &self,
        quotas: &Quotas,
        caller: &Caller,
        now: Duration,
    ) -> Result<(), Excess> {
        let most = quotas.max_requests_per_second;
        if most == 0 || matches!(caller.proof, Proof::Local) {
            return Ok(());
        }
        let cost = Duration::from_secs(1) / most;
        let mut accounts = self.whole_at.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() >= Self::MANY {
            accounts.retain(|_, whole_at| *whole_at > now);
        }
        let whole_at = accounts.entry(caller.owner.clone()).or_default();
        let spent = (*whole_at).max(now) + cost;
        let wait = spent.saturating_sub(now + Self::BURST);
        if wait.is_zero() {
            *whole_at = spent;
            return Ok(());
        }
        let quota = "max_requests_per_second";
        let problem = format!("{quota} of {most} is used up; wait a moment");
        Err(Excess { quota, value: most.into(), of: Of::Requests(wait), problem })
    }
}

#[cfg(test)]
mod tests {
    use chronos_core::account::Scopes;
    use chronos_core::{SessionId, UserId};

    use super::*;

    fn caller(owner: &str) -> Caller {
        let (user, session) = (UserId::from_bytes([1; 16]), SessionId::from_bytes([2; 16]));
        let (scopes, proof) = (Scopes::ALL, Proof::Login { user, session });
        Caller { owner: owner.into(), role: Role::User, scopes, proof }
    }

    #[test]
    fn an_account_gets_its_rate_and_a_burst_and_no_more() {
        let (rate, ann, bob) = (Rate::default(), caller("ann"), caller("bob"));
        let quotas = Quotas { max_requests_per_second: 10, ..Quotas::default() };
        let begin = Duration::from_secs(1_000);
        let spend = |caller, now| rate.spend(&quotas, caller, now);
        for _ in 0..20 {
            spend(&ann, begin).unwrap();
        }
        let refused = spend(&ann, begin).unwrap_err();
        assert_eq!((refused.quota, refused.value), ("max_requests_per_second", 10));
        assert_eq!(refused.of, Of::Requests(Duration::from_millis(100)));
        assert_eq!(spend(&bob, begin), Ok(()), "others have theirs");
        let later = begin + Duration::from_millis(100);
        assert_eq!(spend(&ann, later), Ok(()));
        assert!(spend(&ann, later).is_err());
        let much_later = begin + Duration::from_secs(100);
        let allowed = (0..100).filter(|_| spend(&ann, much_later).is_ok()).count();
        assert_eq!(allowed, 20, "what is not used does not pile up");
    }

    #[test]
    fn without_a_quota_and_on_this_machine_requests_are_not_counted() {
        let (rate, now) = (Rate::default(), Duration::ZERO);
        let none = Quotas { max_requests_per_second: 0, ..Quotas::default() };
        let few = Quotas { max_requests_per_second: 1, ..Quotas::default() };
        let local = Caller { proof: Proof::Local, ..caller("") };
        for _ in 0..1_000 {
            rate.spend(&none, &caller("ann"), now).unwrap();
            rate.spend(&few, &local, now).unwrap();
        }
    }
}
