//! What a scheduler refuses, each with a typed error and a sentence.

use std::time::Duration;

use chronos_engine::chronos_core::{Error, PolicyId, Timestamp, store};
use chronos_engine::{
    CatchUpPolicy, NewJob, QuietMode, QuietWindow, SchedulerConfig, SchedulerError,
    SchedulerService, WeekdaySet,
};

use super::{Book, Lab, idle, secs, utc};

async fn refusal(lab: &Lab, job: NewJob) -> SchedulerError {
    let name = job.name().to_owned();
    let error = lab.register(job, idle()).await.unwrap_err();
    assert!(!lab.registry().is_registered(&name), "{name:?} left a trace");
    error
}

/// The error of a job that cannot be accepted, once its sentence has been seen to name the job.
async fn invalid(lab: &Lab, job: NewJob) -> (Error, String) {
    let name = job.name().to_owned();
    let refused = refusal(lab, job).await;
    let sentence = refused.to_string();
    assert!(sentence.contains(&name), "{sentence}");
    match refused {
        SchedulerError::InvalidJob { error, .. } => (error, sentence),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn bad_expressions_are_refused() {
    let lab = Lab::new();
    for expression in ["", "every day", "61 * * * * *", "* * * *", "0 0 25 * * *", "0 0 0 32 * *"] {
        let job = NewJob::named("bad").cron(expression);
        let (error, _) = invalid(&lab, job).await;
        assert!(matches!(error, Error::Cron(_)), "{expression}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_zones_are_refused_by_name() {
    let lab = Lab::new();
    let cron = NewJob::named("bad").cron("0 0 9 * * *");
    let interval = NewJob::named("bad").every(secs(5));
    for job in [cron, interval] {
        let (error, sentence) = invalid(&lab, job.timezone("Europ/Paris")).await;
        assert!(matches!(error, Error::Zone(_)), "{error:?}");
        assert!(sentence.contains("Europ/Paris"), "{sentence}");
    }
}

#[tokio::test(start_paused = true)]
async fn intervals_that_cannot_be_meant_are_refused() {
    let lab = Lab::new();
    for every in [Duration::ZERO, Duration::from_millis(1_500), secs(u64::MAX), Duration::MAX] {
        for job in [NewJob::named("bad").every(every), NewJob::named("bad").after_end(every)] {
            let (error, sentence) = invalid(&lab, job).await;
            assert_eq!(error, Error::Interval { given: every });
            assert!(sentence.contains("whole seconds"), "{sentence}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn names_that_nobody_can_say_are_refused() {
    let lab = Lab::new();
    for name in ["", "line\nbreak", &"x".repeat(201)] {
        let refused = refusal(&lab, NewJob::named(name).every(secs(5))).await;
        let SchedulerError::InvalidJob { error, .. } = refused else {
            panic!("{refused:?}");
        };
        assert!(matches!(error, Error::Name { .. }), "{error:?}");
    }
    lab.register(NewJob::named("x".repeat(200)).every(secs(5)), idle()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_job_that_says_nothing_about_when_it_runs_is_refused() {
    let lab = Lab::new();
    let refused = refusal(&lab, NewJob::named("never")).await;
    assert_eq!(refused, SchedulerError::NoSchedule("never".into()));
    assert!(refused.to_string().contains("\"never\" has no schedule"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn bounds_and_limits_that_contradict_themselves_are_refused() {
    let lab = Lab::new();
    let job = || NewJob::named("bad").every(secs(5));
    let once = || NewJob::named("bad").at(utc("2026-03-02T13:00:00Z"));
    let (noon, eleven) = (utc("2026-03-02T12:00:00Z"), utc("2026-03-02T11:00:00Z"));
    for (job, part) in [
        (job().max_runs(0), "max_runs"),
        (job().start_at(noon).end_at(eleven), "end_at"),
        (job().end_at(eleven), "has no run after"),
        (once().max_runs(2), "max_runs"),
        (once().start_at(noon), "start_at"),
        (job().retries(1_001), "max_retry"),
        (job().retries(1).retry_delay(Duration::ZERO, secs(5)), "retry_base_seconds"),
        (job().max_execution_time(Duration::ZERO), "max_execution_time"),
    ] {
        let (_, sentence) = invalid(&lab, job).await;
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[tokio::test(start_paused = true)]
async fn policies_that_make_no_sense_are_refused() {
    fn cap(most: u32) -> Result<CatchUpPolicy, SchedulerError> {
        Ok(CatchUpPolicy::run_all_capped(most)?)
    }
    for most in [0, 1_001] {
        let refused = cap(most).unwrap_err();
        let expected = SchedulerError::InvalidPolicy(Error::CatchUpCap { given: most });
        assert_eq!(refused, expected);
        assert!(refused.to_string().contains("use 1 to 1000"), "{refused}");
    }
    assert!(cap(1_000).is_ok());

    let lab = Lab::new();
    let night = QuietWindow::new(WeekdaySet::EVERY_DAY, "22:00", "07:00").unwrap();
    let refused = lab.add_quiet_hours("night", "Mars/Olympus", vec![night], QuietMode::Skip).await;
    let sentence = refused.unwrap_err().to_string();
    assert!(sentence.contains("Mars/Olympus"), "{sentence}");

    let nowhere = PolicyId::new(Timestamp::EPOCH, [1; 10]);
    let job = NewJob::named("bad").every(secs(5)).quiet_hours(nowhere);
    let refused = refusal(&lab, job).await;
    let expected = SchedulerError::Store(store::Error::NoSuchPolicy(nowhere));
    assert_eq!(refused, expected);
}

#[test]
fn configurations_that_cannot_work_are_refused_by_field() {
    let usual = SchedulerConfig::default;
    for (config, field) in [
        (SchedulerConfig { default_timezone: "Europ/Paris".into(), ..usual() }, "default_timezone"),
        (SchedulerConfig { max_concurrent_runs: 0, ..usual() }, "max_concurrent_runs"),
    ] {
        let refused = SchedulerService::new(config).unwrap_err();
        let SchedulerError::InvalidConfig(sentence) = &refused else {
            panic!("{refused:?}");
        };
        assert!(sentence.contains(field), "{sentence}");
    }
}

#[test]
fn the_usual_configuration_is_the_documented_one() {
    let config = SchedulerConfig::default();
    assert_eq!(config.default_timezone, "UTC");
    assert_eq!(config.shutdown_timeout_secs, 30);
}

#[tokio::test(start_paused = true)]
async fn every_act_on_an_unknown_job_says_its_name() {
    let lab = Lab::new();
    let unknown = SchedulerError::UnknownJob("ghost".into());
    assert_eq!(lab.pause_job("ghost").await.unwrap_err(), unknown);
    assert_eq!(lab.resume_job("ghost").await.unwrap_err(), unknown);
    assert_eq!(lab.run_job("ghost").await.unwrap_err(), unknown);
    assert_eq!(lab.remove_job("ghost").await.unwrap_err(), unknown);
    assert_eq!(lab.preview_job("ghost", 1).await.unwrap_err(), unknown);
    assert_eq!(lab.history("ghost", 1).await.unwrap_err(), unknown);
    assert_eq!(unknown.to_string(), "no job named \"ghost\" is registered");
}

#[tokio::test(start_paused = true)]
async fn a_refused_replacement_changes_nothing() {
    let lab = Lab::new();
    let (old, new) = (Book::default(), Book::default());
    let id = lab.register(NewJob::named("beat").every(secs(60)), old.slots()).await.unwrap();
    let over = NewJob::named("beat").every(secs(5)).end_at(utc("2026-03-02T11:00:00Z"));
    lab.replace(over, new.slots()).await.unwrap_err();
    lab.replace(NewJob::named("beat").cron("nonsense"), new.slots()).await.unwrap_err();
    lab.start().await.unwrap();
    lab.until("12:02:00").await;
    assert_eq!((old.len(), new.len()), (2, 0));
    assert_eq!(lab.status("beat").cron_expr, "every minute");
    lab.pause_job("beat").await.unwrap();
    assert_eq!(lab.history("beat", 9).await.unwrap()[0].job, id);
}
