//! The pure core: how long the next slot and a plan take.

use std::hint::black_box;
use std::time::{Duration, Instant};

use chronos_core::plan::plan;
use chronos_core::schedule::{Schedule, Zone};
use chronos_core::{Job, JobId, JobSpec, Live, Timestamp};

use crate::report::{Figure, Goal};

pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for expression in ["* * * * * *", "*/5 * * * *", "0 9 * * 1-5", "0 0 1 * *"] {
        for zone in ["UTC", "Europe/Berlin"] {
            let schedule = Schedule::cron(expression, Zone::parse(zone)?)?;
            let nanos = next_after(&schedule);
            let name = format!("next_after: {expression} {zone}");
            figures.push(Figure::new(name, nanos, "ns", Goal::AtMost(1_000.0)));
        }
    }
    for (expression, zone) in [("* * * * * *", "UTC"), ("0 9 * * 1-5", "Europe/Berlin")] {
        let job = job(expression, zone)?;
        let name = format!("plan: {expression} {zone}, on time");
        figures.push(Figure::new(name, plan_on_time(&job), "ns", Goal::AtMost(3_000.0)));
    }
    let job = job("* * * * * *", "UTC")?;
    let day = plan_backlog(&job, Duration::from_hours(24));
    let decade = plan_backlog(&job, Duration::from_hours(24 * 3_653));
    figures.push(Figure::new("plan: a day's backlog of every second", day, "ns", Goal::None));
    figures.push(Figure::new(
        "plan: ten years' backlog ÷ a day's",
        decade / day,
        "×",
        Goal::AtMost(2.0),
    ));
    Ok(figures)
}

const START: Timestamp = Timestamp::EPOCH;

fn job(expression: &str, zone: &str) -> anyhow::Result<Job> {
    let schedule = Schedule::cron(expression, Zone::parse(zone)?)?;
    let start = START.after(Duration::from_hours(24 * 20_000));
    let id = JobId::new(start, [1; 10]);
    Ok(Job::new(JobSpec::new(id, "measured", schedule, start), start)?)
}

/// The average over a walk from slot to slot.
fn next_after(schedule: &Schedule) -> f64 {
    let start = START.after(Duration::from_hours(24 * 20_000));
    best(20_000, || {
        let mut at = start;
        move || {
            at = schedule.next_after(black_box(at)).unwrap_or(start);
            black_box(at);
        }
    })
}

fn plan_on_time(job: &Job) -> f64 {
    best(20_000, || {
        let mut job = job.clone();
        move || {
            let now = job.due_at().unwrap_or(START);
            let planned = plan(black_box(&job), &Live::default(), now);
            job.standing.clone_from(&planned.standing);
            black_box(&planned);
        }
    })
}

fn plan_backlog(job: &Job, backlog: Duration) -> f64 {
    let now = job.due_at().unwrap_or(START).after(backlog);
    best(50, || {
        move || {
            black_box(plan(black_box(job), &Live::default(), now));
        }
    })
}

/// Nanoseconds a call, the best of five rounds: noise only ever adds.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn best<F: FnMut()>(calls: u32, mut make: impl FnMut() -> F) -> f64 {
    let rounds = (0..5).map(|_| {
        let mut call = make();
        let begun = Instant::now();
        for _ in 0..calls {
            call();
        }
        begun.elapsed().as_nanos() as f64 / f64::from(calls)
    });
    rounds.fold(f64::INFINITY, f64::min)
}
