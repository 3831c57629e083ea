use super::*;
use crate::audit::{AuditEvent, Decision, Slots};
use crate::execution::{SkipReason, Trigger};
use crate::job::{JobSpec, Pause};
use crate::plan::{Live, plan};
use crate::policy::CatchUpPolicy;
use crate::policy::quiet_hours::{Mode, WeekdaySet, Window};
use crate::schedule::{Schedule, Zone};
use crate::{JobId, PolicyId};

fn at(time: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-12-01T{time}Z")).unwrap()
}

/// Hourly, made at midnight.
fn hourly() -> Job {
    let schedule = Schedule::cron("0 * * * *", Zone::UTC).unwrap();
    Job::new(
        JobSpec::new(JobId::from_bytes([1; 16]), "hourly", schedule, at("00:00:01")),
        at("00:00:01"),
    )
    .unwrap()
}

fn nights(mode: Mode) -> QuietHours {
    let window = Window::new(WeekdaySet::EVERY_DAY, "02:00", "05:30");
    let policy =
        QuietHours::new(PolicyId::from_bytes([2; 16]), "nights", Zone::UTC, at("00:00:00"));
    QuietHours { windows: vec![window.unwrap()], mode, ..policy }
}

/// A job that was planned at these times, and its records.
struct World {
    job: Job,
    quiet_hours: Option<QuietHours>,
    executions: Vec<Execution>,
    events: Vec<AuditEvent>,
}

impl World {
    fn of(job: Job) -> Self {
        Self { job, quiet_hours: None, executions: Vec::new(), events: Vec::new() }
    }

    fn planned(mut self, times: &[&str]) -> Self {
        for now in times.iter().map(|time| at(time)) {
            let live = Live { quiet_hours: self.quiet_hours.as_ref(), ..Live::default() };
            let planned = plan(&self.job, &live, now);
            self.executions.extend(planned.executions);
            let event = |decision| AuditEvent {
                sequence: 1,
                at: now,
                by: None,
                owner: "".into(),
                job: Some(self.job.spec.id),
                trace: None,
                decision,
            };
            self.events.extend(planned.decisions.into_iter().map(event));
            self.job.standing = planned.standing;
        }
        self
    }

    fn asked(&self, time: &str, now: &str) -> (Verdict, String) {
        let (from, to) = meant(at(time));
        let meant = |slot: Timestamp| (from..to).contains(&slot);
        let executions: Vec<Execution> =
            self.executions.iter().filter(|run| meant(run.slot)).cloned().collect();
        let concerns = |event: &&AuditEvent| event.decision.concerns(from, to);
        let events: Vec<AuditEvent> = self.events.iter().filter(concerns).cloned().collect();
        let told = explain(&Question {
            job: &self.job,
            quiet_hours: self.quiet_hours.as_ref(),
            at: at(time),
            now: at(now),
            executions: &executions,
            events: &events,
            kept_since: Timestamp::MIN,
            off_since: None,
        });
        (told.verdict, told.sentence)
    }
}

#[track_caller]
fn says(answer: &(Verdict, String), verdict: Verdict, words: &[&str]) {
    assert_eq!(answer.0, verdict, "{}", answer.1);
    for word in words {
        assert!(answer.1.contains(word), "{word:?} is not in {:?}", answer.1);
    }
}

#[test]
fn a_slot_that_fired_is_told_with_what_became_of_it() {
    let world = World::of(hourly()).planned(&["01:00:02"]);
    let answer = world.asked("01:00:00", "01:00:03");
    says(&answer, Verdict::Fired, &["fired at 2026-12-01T01:00:02Z", "waits for a worker"]);
}

#[test]
fn a_missed_slot_is_told_with_the_policy_that_makes_up_for_it_or_not() {
    let world = World::of(hourly()).planned(&["03:30:00"]);
    says(&world.asked("02:00:00", "03:31:00"), Verdict::Missed, &["nobody was there", "skip"]);
    let mut job = hourly();
    std::sync::Arc::make_mut(&mut job.spec).catch_up = CatchUpPolicy::RunOnce;
    let world = World::of(job).planned(&["03:30:00"]);
    let answer = world.asked("02:00:00", "03:31:00");
    says(&answer, Verdict::Missed, &["run of 2026-12-01T03:00:00Z stands for it"]);
    let answer = world.asked("03:00:00", "03:31:00");
    says(&answer, Verdict::Fired, &["caught up", "standing for all slots that were missed"]);
}

#[test]
fn a_slot_that_an_earlier_run_kept_from_firing_is_told_as_that() {
    let mut world = World::of(hourly());
    let run =
        Execution::queued(world.job.spec.id, at("00:30:00"), Trigger::Schedule, at("00:30:00"));
    let live = Live { executions: &[&run], ..Live::default() };
    let planned = plan(&world.job, &live, at("01:00:00"));
    world.executions = planned.executions;
    says(
        &world.asked("01:00:00", "01:00:03"),
        Verdict::Skipped,
        &["still alive", "overlap policy is skip"],
    );
}

#[test]
fn a_pause_is_told_with_its_note_before_and_after() {
    let mut job = hourly();
    let note = Some("the database moves".into());
    job.standing.paused = Some(Pause { since: at("00:30:00"), note, resume_at: None });
    let world = World::of(job).planned(&["01:00:00"]);
    let answer = world.asked("01:00:00", "01:00:03");
    says(&answer, Verdict::Skipped, &["paused (the database moves)"]);
    let answer = world.asked("02:00:00", "01:00:03");
    says(&answer, Verdict::WillBeSkipped, &["paused since", "unless somebody resumes it"]);
}

#[test]
fn quiet_hours_are_told_by_name_before_and_after() {
    let mut world = World::of(hourly());
    world.quiet_hours = Some(nights(Mode::Skip));
    let world = world.planned(&["01:00:00", "02:00:00"]);
    says(&world.asked("02:00:00", "02:01:00"), Verdict::Skipped, &["quiet hours \"nights\" held"]);
    let answer = world.asked("03:00:00", "02:01:00");
    says(&answer, Verdict::WillBeSkipped, &["quiet hours \"nights\" until"]);
    says(&world.asked("06:00:00", "02:01:00"), Verdict::Upcoming, &["will run on time"]);
    let mut world = World::of(hourly());
    world.quiet_hours = Some(nights(Mode::Defer));
    let world = world.planned(&["01:00:00", "02:00:00"]);
    let answer = world.asked("02:00:00", "02:01:00");
    says(&answer, Verdict::Deferred, &["back until 2026-12-01T05:30:00Z"]);
}

#[test]
fn a_slot_to_come_is_told_with_its_reasons() {
    let world = World::of(hourly()).planned(&["01:00:00"]);
    says(
        &world.asked("02:00:00", "01:30:00"),
        Verdict::Upcoming,
        &["will run on time", "schedule"],
    );
    says(&world.asked("02:00:00", "02:00:00"), Verdict::Due, &["about to be planned"]);
}

#[test]
fn what_never_was_a_slot_is_told_with_its_neighbours() {
    let world = World::of(hourly());
    let answer = world.asked("02:30:00", "01:30:00");
    says(
        &answer,
        Verdict::NoSlot,
        &["before and after are 2026-12-01T02:00:00Z and 2026-12-01T03:00:00Z"],
    );
    let answer = world.asked("00:00:00", "01:30:00");
    says(&answer, Verdict::NoSlot, &["made at 2026-12-01T00:00:01Z"]);
}

#[test]
fn ends_of_schedules_and_of_jobs_are_told() {
    let schedule =
        Schedule::cron("0 * * * *", Zone::UTC).unwrap().ending_at(at("02:30:00")).unwrap();
    let mut job = hourly();
    std::sync::Arc::make_mut(&mut job.spec).schedule = schedule;
    says(
        &World::of(job).asked("03:00:00", "01:00:00"),
        Verdict::NoSlot,
        &["it ended at", "02:00:00Z"],
    );
    let schedule = Schedule::cron("0 * * * *", Zone::UTC).unwrap().at_most(1).unwrap();
    let mut job = hourly();
    std::sync::Arc::make_mut(&mut job.spec).schedule = schedule;
    let world = World::of(job).planned(&["01:00:00"]);
    says(&world.asked("02:00:00", "01:30:00"), Verdict::Off, &["as often as it may (1 times)"]);
    let mut job = hourly();
    job.standing.enabled = false;
    says(&World::of(job).asked("02:00:00", "01:30:00"), Verdict::Off, &["switched off or over"]);
}

#[test]
fn what_is_no_longer_kept_is_said_to_be_so() {
    let world = World::of(hourly()).planned(&["09:00:00"]);
    let ask = |kept_since, off_since| {
        explain(&Question {
            job: &world.job,
            quiet_hours: None,
            at: at("02:00:00"),
            now: at("09:01:00"),
            executions: &[],
            events: &[],
            kept_since,
            off_since,
        })
    };
    let told = ask(at("08:00:00"), None);
    says(
        &(told.verdict, told.sentence),
        Verdict::NotKept,
        &["records before 2026-12-01T08:00:00Z are no longer kept"],
    );
    let told = ask(at("00:00:00"), None);
    says(&(told.verdict, told.sentence), Verdict::NoRecord, &["nothing is recorded"]);
    let told = ask(at("00:00:00"), Some(at("01:30:00")));
    says(&(told.verdict, told.sentence), Verdict::Off, &["switched off at 2026-12-01T01:30:00Z"]);
}

#[test]
fn a_range_of_skipped_slots_accounts_for_each_of_them() {
    let mut world = World::of(hourly()).planned(&["09:00:00"]);
    world.executions.clear();
    let slots = Slots { first: at("01:00:00"), last: at("08:00:00"), count: Some(8) };
    world.events.truncate(1);
    world.events[0].decision = Decision::Skipped { slots, reason: SkipReason::Missed };
    says(&world.asked("04:00:00", "09:01:00"), Verdict::Missed, &["with 8 slots from"]);
}

#[test]
fn a_time_without_a_part_of_a_second_stands_for_its_second() {
    let made = Timestamp::parse("2026-12-01T00:00:00.25Z").unwrap();
    let schedule = Schedule::interval(Duration::from_mins(1), made).unwrap();
    let spec = JobSpec::new(JobId::from_bytes([1; 16]), "minutely", schedule, made);
    let world = World::of(Job::new(spec, made).unwrap());
    says(
        &world.asked("00:01:00", "00:00:30"),
        Verdict::Upcoming,
        &["00:01:00.25", "will run on time"],
    );
}

#[test]
fn a_slot_that_a_backfill_ran_is_told_with_what_had_become_of_it_before() {
    let mut world = World::of(hourly()).planned(&["03:30:00"]);
    let fill = |number, again, slot: &str| {
        let trigger = Trigger::Backfill { number, again };
        Execution::queued(world.job.spec.id, at(slot), trigger, at("03:31:00"))
    };
    let (missed, never) = (fill(2, false, "02:00:00"), fill(2, false, "00:30:00"));
    let again = fill(3, true, "02:00:00");
    world.executions.extend([missed, never]);
    let answer = world.asked("02:00:00", "03:31:00");
    let words = ["was missed", "; it was run by backfill 2, and waits for a worker"];
    says(&answer, Verdict::Fired, &words);
    let answer = world.asked("00:30:00", "03:31:00");
    says(&answer, Verdict::Fired, &["2026-12-01T00:30:00Z was run by backfill 2"]);
    world.executions.push(again);
    let answer = world.asked("02:00:00", "03:31:00");
    says(&answer, Verdict::Fired, &["was missed", "was run again by backfill 3"]);
}
