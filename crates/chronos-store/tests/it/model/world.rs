//! The world around a store in a random history: it performs the verbs and remembers what was promised.

use std::collections::{BTreeMap, BTreeSet};

use chronos_core::backfill::{Asked, Backfill, Order, Rate};
use chronos_core::execution::{CancelCause, Token};
use chronos_core::plan::{Change, Ending};
use chronos_core::store::{Claim, Error, Hold, Renewal, Result, Taker};
use chronos_core::{Execution, ExecutionId, Job, JobId, Timestamp};

use super::invariants;
use super::verbs::{NAMES, Pace, Step, Traits, Verb, policy, policy_id};
use crate::answers::Answers;
use crate::bench::{Bench, at, finish, job_id, terms, worker};

pub(super) struct World {
    bench: Bench,
    second: i64,
    /// What the store says now.
    answers: Answers,
    /// Every hold that was ever handed out, good or not.
    holds: Vec<Hold>,
    last_token: Token,
    created: u32,
    /// How each execution ended that did.
    over: BTreeMap<ExecutionId, Execution>,
    /// Jobs whose policies or schedule changed on the way.
    edited: BTreeSet<JobId>,
}

impl World {
    pub(super) async fn new(bench: Bench) -> Self {
        let answers = bench.answers().await;
        Self {
            bench,
            second: 0,
            answers,
            holds: Vec::new(),
            last_token: Token(0),
            created: 0,
            over: BTreeMap::new(),
            edited: BTreeSet::new(),
        }
    }

    pub(super) async fn perform(&mut self, step: Step) {
        self.second += step.later;
        let before = self.answers.clone();
        let changed = self.act(step.verb).await;
        self.answers = self.bench.compare_with_twin().await;
        if !changed {
            before.assert_same(&self.answers);
        }
        invariants::assert_hold(&self.answers);
        self.assert_names_are_those_in_use().await;
        self.assert_absorbing();
    }

    /// Closes the store and opens it again, which changes no answer.
    pub(super) async fn restart(&mut self) {
        self.bench.reopen().await;
    }

    /// Every slot of a job that kept its schedule is accounted for.
    pub(super) fn look_back(&self) {
        for job in &self.answers.jobs {
            if !self.edited.contains(&job.spec.id) {
                invariants::assert_no_slot_is_lost(&self.answers, job);
            }
        }
    }

    /// Performs a verb; says whether it may have changed anything.
    async fn act(&mut self, verb: Verb) -> bool {
        let now = at(self.second);
        match verb {
            Verb::Create(name, traits) => self.create(name, &traits).await,
            Verb::Edit(job, name, traits) => {
                let Some(job) = self.pick_job(job) else {
                    return false;
                };
                self.edited.insert(job.spec.id);
                let edited = traits.spec(job.spec.id, name, self.second);
                self.amend(&job, Change::Edit(Box::new(edited))).await
            }
            Verb::Pause(job, span) => match self.pick_job(job) {
                Some(job) => {
                    let note = span.map(|span| format!("for {span} s").into());
                    let resume_at = span.map(|span| at(self.second + span));
                    self.amend(&job, Change::Pause { note, resume_at }).await
                }
                None => false,
            },
            Verb::Resume(job) => match self.pick_job(job) {
                Some(job) => self.amend(&job, Change::Resume).await,
                None => false,
            },
            Verb::Disable(job) => self.switch(job, Change::Disable).await,
            Verb::Enable(job) => self.switch(job, Change::Enable).await,
            Verb::Redrive(pick) => {
                let dead: Vec<_> = self.answers.dead_letters.iter().map(|row| row.id).collect();
                match picked(&dead, pick) {
                    Some(id) => accepted(self.bench.redrive(id, now).await),
                    None => false,
                }
            }
            Verb::Delete(job) => {
                let Some(job) = self.pick_job(job) else {
                    return false;
                };
                self.bench.delete_job(job.spec.id, now).await.unwrap();
                true
            }
            Verb::RunNow(job) => match self.pick_job(job) {
                Some(job) => accepted(self.bench.run_now(job.spec.id, None, now).await),
                None => false,
            },
            Verb::Fire(limit, room) => self.fire(limit, room).await,
            Verb::Claim(limit) => self.claim(limit).await,
            Verb::Reap(limit) => {
                let late = |row: &&Execution| row.overdue_at.is_some_and(|at| at <= now);
                let late = self.answers.rows().filter(|row| row.is_queued()).filter(late).count();
                let reaped = self.bench.reap(now, limit).await.unwrap();
                let more = reaped.next.is_some_and(|next| next <= now);
                // Of some that are looked at nobody is told, because nobody wants to know any more.
                let full = reaped.ended.len() == limit || late >= limit;
                assert!(!more || full, "nothing due is left");
                // One that a person keeps waiting has its time begin again, which nobody is told.
                true
            }
            Verb::Finish(ends) => self.finish(ends).await,
            Verb::Renew(picks) => self.renew(&self.pick_holds(&picks)).await,
            Verb::Release(picks) => {
                let holds = self.pick_holds(&picks);
                self.bench.release(&holds, now).await.unwrap();
                holds.iter().any(|hold| self.is_good(hold))
            }
            Verb::Cancel(pick) => {
                let rows: Vec<_> = self.answers.rows().map(|row| row.id).collect();
                let Some(id) = picked(&rows, pick) else {
                    return false;
                };
                let cancelled = self.bench.cancel(id, CancelCause::User, now).await;
                cancelled.unwrap();
                !self.over.contains_key(&id)
            }
            Verb::SaveCheckpoint(pick, byte) => self.save_checkpoint(pick, byte).await,
            Verb::Backfill(job, past, pace) => match self.pick_job(job) {
                Some(job) => self.ask_for_backfill(&job, past, pace).await,
                None => false,
            },
            Verb::SwitchBackfill(pick, switch) => {
                let known: Vec<_> = self.answers.backfills.iter().map(Backfill::id).collect();
                match picked(&known, pick) {
                    Some(id) => accepted(self.bench.switch_backfill(id, switch, now).await),
                    None => false,
                }
            }
            Verb::Advance(limit) => {
                let advanced = self.bench.advance_backfills(now, limit).await.unwrap();
                assert!(advanced.unreadable.is_empty());
                assert!(advanced.fired + advanced.passed_over <= limit.max(1));
                advanced.fired + advanced.passed_over > 0
            }
            Verb::PutPolicy(mode) => match self.bench.create_policy(policy(mode)).await {
                Ok(()) => true,
                Err(_) => accepted(self.bench.edit_policy(policy(mode), None, now).await),
            },
            Verb::DeletePolicy => accepted(self.bench.delete_policy(policy_id(), now).await),
            Verb::Restart => {
                self.bench.reopen().await;
                false
            }
        }
    }

    async fn ask_for_backfill(&self, job: &Job, past: i64, pace: Pace) -> bool {
        let Pace { force, newest_first, at_once, per_minute } = pace;
        let asked = Asked {
            order: if newest_first { Order::NewestFirst } else { Order::OldestFirst },
            rate: Rate { at_once, per_minute },
            cap: 8,
            force,
            ..Asked::from(at(self.second - past))
        };
        match Backfill::new(job, &asked, at(self.second)) {
            Ok(new) => accepted(self.bench.create_backfill(new, at(self.second)).await),
            Err(_) => false,
        }
    }

    async fn create(&mut self, name: u8, traits: &Traits) -> bool {
        self.created += 1;
        let id = job_id(&format!("{:07}", self.created));
        let spec = traits.spec(id, name, self.second);
        accepted(self.bench.create_job(spec, at(self.second)).await)
    }

    /// Switches a job off or on; it has no slots to account for in between.
    async fn switch(&mut self, job: u8, change: Change) -> bool {
        let Some(job) = self.pick_job(job) else {
            return false;
        };
        self.edited.insert(job.spec.id);
        self.amend(&job, change).await
    }

    async fn amend(&self, job: &Job, change: Change) -> bool {
        let expected = Some(job.spec.version);
        let amended = self.bench.amend_job(job.spec.id, change, expected, at(self.second));
        accepted(amended.await)
    }

    async fn fire(&mut self, limit: usize, room: Option<usize>) -> bool {
        let now = at(self.second);
        let waited = self.ready(now).count() > 0;
        let due = self.answers.jobs.iter().filter_map(Job::due_at);
        let due = due.filter(|due| *due <= now).count();
        let lease = terms(self.second).lease;
        let taker = room.map(|room| Taker { worker: worker("w"), lease, openings: room.into() });
        let fired = self.bench.fire_due(now, limit, taker.as_ref()).await.unwrap();
        assert!(fired.unreadable.is_empty());
        assert_eq!(fired.planned.len(), due.min(limit), "what is due fires");
        let more = fired.next.is_some_and(|next| next <= now);
        assert_eq!(more, due > limit);
        let planned = || fired.planned.iter().flat_map(|planned| &planned.plan.executions);
        let at_once = planned().filter(|it| it.is_queued() && !it.is_held() && it.run_at <= now);
        let most = room.filter(|_| !waited).unwrap_or(0);
        let at_once = at_once.count().min(most);
        // What a plan withdraws, and what was held until a pause ended, changes what has waited longer.
        let lets_go = fired.planned.iter().any(|planned| planned.plan.leads_on());
        let claims = fired.claims.len();
        assert!(claims == at_once || lets_go, "what may begin is taken");
        assert!(claims <= room.unwrap_or(0), "no more is taken than there is room for");
        for claim in &fired.claims {
            let queued = planned().find(|planned| planned.id == claim.execution.id);
            assert!(queued.is_some_and(|queued| queued.run_at <= now));
            self.hand_out(claim);
        }
        due > 0
    }

    /// What could have been claimed before the step under way.
    fn ready(&self, now: Timestamp) -> impl Iterator<Item = &Execution> {
        let queued = self.answers.rows().filter(|row| row.is_queued() && !row.is_held());
        queued.filter(move |row| row.run_at <= now)
    }

    fn hand_out(&mut self, claim: &Claim) {
        assert!(claim.hold.token > self.last_token, "tokens grow");
        self.last_token = claim.hold.token;
        self.holds.push(claim.hold);
    }

    async fn claim(&mut self, limit: usize) -> bool {
        let (now, worker) = (at(self.second), worker("w"));
        let claimed = self.bench.claim(&worker, terms(self.second), limit.into());
        let claimed = claimed.await.unwrap();
        let more = claimed.next.is_some_and(|next| next <= now);
        assert!(!more || claimed.claims.len() == limit, "nothing due is left");
        for claim in &claimed.claims {
            let before = self.answers.rows().find(|row| row.id == claim.execution.id);
            let before = before.unwrap();
            assert!(before.is_queued() && !before.is_held() && before.run_at <= now);
            self.hand_out(claim);
        }
        !claimed.claims.is_empty()
    }

    async fn finish(&self, ends: Vec<(u8, Ending)>) -> bool {
        let mut reported = BTreeSet::new();
        let mut finishes = Vec::new();
        let mut good = Vec::new();
        for (pick, ending) in ends {
            let Some(hold) = picked(&self.holds, pick) else {
                continue;
            };
            finishes.push(finish(hold, ending, self.second));
            good.push(self.is_good(&hold) && reported.insert(hold.execution));
        }
        let answers = self.bench.finish(finishes, at(self.second)).await.unwrap();
        let accepted: Vec<_> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(accepted, good, "one end of each run is accepted");
        good.contains(&true)
    }

    async fn renew(&self, holds: &[Hold]) -> bool {
        let renewals = self.bench.renew(holds, terms(self.second)).await.unwrap();
        let held: Vec<_> = renewals.iter().map(|it| *it != Renewal::Lost).collect();
        let good: Vec<_> = holds.iter().map(|hold| self.is_good(hold)).collect();
        assert_eq!(held, good);
        good.contains(&true)
    }

    async fn save_checkpoint(&self, pick: u8, byte: u8) -> bool {
        let Some(hold) = picked(&self.holds, pick) else {
            return false;
        };
        let saved = self.bench.save_checkpoint(&hold, vec![byte]).await;
        let lost = saved == Err(Error::LeaseLost(hold.execution));
        assert_eq!(lost, !self.is_good(&hold));
        saved.is_ok()
    }

    /// Whether the execution runs under this very token.
    fn is_good(&self, hold: &Hold) -> bool {
        let mut rows = self.answers.rows();
        let row = rows.find(|row| row.id == hold.execution);
        let running = row.and_then(Execution::running);
        running.is_some_and(|running| running.lease.token == hold.token)
    }

    async fn assert_names_are_those_in_use(&self) {
        for name in NAMES {
            let mut jobs = self.answers.jobs.iter();
            let user = jobs.find(|job| &*job.spec.name == name);
            let named = self.bench.job_named("", name).await.unwrap();
            assert_eq!(named.as_ref(), user, "{name}");
        }
    }

    /// What is over stays as it ended.
    fn assert_absorbing(&mut self) {
        let over = self.answers.rows().filter(|row| !row.is_live());
        let over: BTreeMap<_, _> = over.map(|row| (row.id, row.clone())).collect();
        for (id, before) in &self.over {
            assert_eq!(over.get(id), Some(before));
        }
        self.over = over;
    }

    fn pick_job(&self, pick: u8) -> Option<Job> {
        picked(&self.answers.jobs, pick)
    }

    fn pick_holds(&self, picks: &[u8]) -> Vec<Hold> {
        let holds = picks.iter().filter_map(|pick| picked(&self.holds, *pick));
        holds.collect()
    }
}

/// One of several; the newest are picked most.
fn picked<T: Clone>(from: &[T], pick: u8) -> Option<T> {
    let newest = from.len().min(1 + usize::from(pick) % 7);
    from.get(from.len() - newest).cloned()
}

/// A refusal must be one that the port knows and changes nothing.
fn accepted<T>(answer: Result<T>) -> bool {
    match answer {
        Ok(_) => true,
        Err(Error::Unavailable(text) | Error::Corrupt(text)) => panic!("{text}"),
        Err(_) => false,
    }
}
