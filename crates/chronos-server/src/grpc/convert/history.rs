//! The history on the wire: nodes of the table of contents, and figures.

use chronos_history as history;
use chronos_history::{Period, Sketch};

use super::time::{duration, timestamp};
use crate::history::Standing;
use crate::proto;

/// A node with its neighbours.
pub(crate) fn node(
    node: &history::Node,
    (previous, next): (Option<Period>, Option<Period>),
) -> proto::TocNode {
    let period = node.period;
    let id = |period: Option<Period>| period.map(|it| it.to_string()).unwrap_or_default();
    proto::TocNode {
        id: period.to_string(),
        level: period.level().to_string(),
        title: period.title(),
        start: Some(timestamp(period.start())),
        end: Some(timestamp(period.end())),
        r#final: node.phase == history::Phase::Final,
        version: node.version,
        bullets: node.summary.bullets.iter().map(note).collect(),
        keywords: node.summary.keywords.iter().map(ToString::to_string).collect(),
        figures: Some(figures(&node.figures)),
        jobs: node.jobs,
        most_failing: node.most_failing.iter().map(failing).collect(),
        slowest: node.slowest.iter().map(slow).collect(),
        parent: id(period.parent()),
        previous: id(previous),
        next: id(next),
        children: node.children.iter().map(ToString::to_string).collect(),
    }
}

fn note(bullet: &history::Bullet) -> proto::TocNote {
    proto::TocNote {
        text: bullet.text.to_string(),
        evidence: bullet.evidence.iter().map(ToString::to_string).collect(),
    }
}

fn failing(job: &history::Failing) -> proto::FailingJob {
    proto::FailingJob {
        job_id: job.job.to_string(),
        name: job.name.to_string(),
        failures: job.failures,
        attempts: job.attempts,
    }
}

fn slow(job: &history::Slow) -> proto::SlowJob {
    proto::SlowJob {
        job_id: job.job.to_string(),
        name: job.name.to_string(),
        execution_id: job.execution.to_string(),
        duration: Some(duration(job.took)),
        p95: Some(duration(job.p95)),
    }
}

/// Figures of a job or of many.
pub(crate) fn figures(figures: &history::Figures) -> proto::HistoryFigures {
    let endings = &figures.endings;
    let skips = figures.skips.iter().map(|(reason, slots)| (reason.to_string(), *slots));
    proto::HistoryFigures {
        success: endings.success,
        failed: endings.failed,
        timed_out: endings.timed_out,
        stuck: endings.stuck,
        cancelled: endings.cancelled,
        retries: figures.retries,
        skips: skips.collect(),
        durations: Some(distribution(&figures.durations)),
        lags: Some(distribution(&figures.lags)),
    }
}

fn distribution(sketch: &Sketch) -> proto::Distribution {
    let part = |part| sketch.quantile(part).map(duration);
    proto::Distribution {
        count: sketch.len(),
        sum: (!sketch.is_empty()).then(|| duration(sketch.sum())),
        min: sketch.min().map(duration),
        p50: part(0.5),
        p95: part(0.95),
        p99: part(0.99),
        max: sketch.max().map(duration),
    }
}

/// A day of a job.
pub(crate) fn day((day, facts): &(Period, history::JobFacts)) -> proto::JobDay {
    let slowest = facts.slowest.map(|slowest| slowest.execution().to_string());
    let failure = facts.failures.as_ref().map(|failures| failures.first.execution.to_string());
    proto::JobDay {
        id: day.to_string(),
        start: Some(timestamp(day.start())),
        figures: Some(figures(&facts.figures)),
        slowest_execution_id: slowest.unwrap_or_default(),
        first_failure_id: failure.unwrap_or_default(),
    }
}

/// How the history is.
pub(crate) fn standing(standing: Standing) -> proto::HistoryStanding {
    let Standing { phase, problem, read, newest, to_roll_up, bytes } = standing;
    proto::HistoryStanding {
        status: phase.as_str().into(),
        problem: problem.unwrap_or_default(),
        read,
        newest,
        to_roll_up,
        bytes,
    }
}
