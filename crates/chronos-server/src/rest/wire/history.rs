//! The history on the wire: nodes of the table of contents, and figures.

use std::collections::BTreeMap;
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::schedule::Zone;
use chronos_history as history;
use chronos_history::{Period, Sketch};
use serde::Serialize;
use utoipa::ToSchema;

/// What the table of contents says of a period.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TocNode {
    #[schema(example = "toc:day:2026-11-15")]
    id: String,
    /// `hour`, `day`, `week`, `month` or `year`.
    #[schema(example = "day")]
    level: &'static str,
    #[schema(example = "Sunday, 15 November 2026")]
    title: String,
    #[serde(flatten)]
    bounds: Bounds,
    /// `partial` while more is expected, else `final`.
    #[schema(example = "final")]
    phase: &'static str,
    /// Grows whenever something that happened in the period is added.
    version: u64,
    /// Notes, the most important first.
    bullets: Vec<TocNote>,
    /// Words that it may be found by, the most telling first.
    keywords: Vec<Box<str>>,
    figures: HistoryFigures,
    /// How many jobs there are in it.
    jobs: u64,
    /// The jobs that failed most often, the worst first.
    most_failing: Vec<FailingJob>,
    /// The jobs with the longest runs, the longest first.
    slowest: Vec<SlowJob>,
    /// The period that owns it; a year has none.
    #[schema(example = "toc:week:2026:W46")]
    parent: Option<String>,
    /// The nearest period before it, of the same level, of which something is told.
    previous: Option<String>,
    /// The same after it.
    next: Option<String>,
    /// The periods that it was put together from, in order.
    children: Vec<TocHeadline>,
}

/// A period's bounds: in universal time, and as the clocks of a zone have them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PeriodBounds)]
pub(crate) struct Bounds {
    #[schema(value_type = String, format = DateTime)]
    start: Timestamp,
    /// The first instant after it.
    #[schema(value_type = String, format = DateTime)]
    end: Timestamp,
    #[schema(example = "2026-11-15T01:00:00+01:00")]
    local_start: String,
    local_end: String,
    /// The zone of the local times.
    #[schema(example = "Europe/Berlin")]
    timezone: &'static str,
}

/// A period in a line.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TocHeadline {
    #[schema(example = "toc:hour:2026-11-15T02")]
    id: String,
    title: String,
    #[serde(flatten)]
    bounds: Bounds,
    phase: &'static str,
    version: u64,
    /// The most important note.
    headline: Option<Box<str>>,
    endings: EndingCounts,
    /// Half of its attempts took no longer than this.
    p50_ms: Option<f64>,
    /// Of twenty attempts, 19 took no longer than this.
    p95_ms: Option<f64>,
    /// Slots that were passed over.
    skipped: u64,
    /// How many jobs there are in it.
    jobs: u64,
}

/// A note, and what bears it out.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TocNote {
    #[schema(example = "invoice-sync failed 14 times between 02:10 and 02:55")]
    text: Box<str>,
    /// Executions that bear it out.
    evidence: Vec<String>,
}

/// A job that failed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FailingJob {
    #[schema(format = "uuid")]
    job_id: String,
    name: Box<str>,
    failures: u64,
    attempts: u64,
}

/// A job with long runs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SlowJob {
    #[schema(format = "uuid")]
    job_id: String,
    name: Box<str>,
    /// The longest of its runs.
    #[schema(format = "uuid")]
    execution_id: String,
    duration_ms: f64,
    p95_ms: f64,
}

/// Figures of a job or of many, in a period.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistoryFigures {
    endings: EndingCounts,
    /// Attempts that were retries.
    retries: u64,
    /// Slots that were passed over.
    skipped: u64,
    /// The same by the reason.
    #[schema(example = json!({"overlap": 3}))]
    skips: BTreeMap<Box<str>, u64>,
    /// How long attempts took.
    durations: Distribution,
    /// How much later than they might have attempts began.
    lags: Distribution,
}

/// Attempts by how they ended.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndingCounts {
    /// All of them.
    total: u64,
    success: u64,
    failed: u64,
    timed_out: u64,
    stuck: u64,
    cancelled: u64,
}

/// How long something took, in milliseconds; percentiles to within 0.8 %.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Distribution {
    count: u64,
    sum_ms: f64,
    min_ms: Option<f64>,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
}

impl TocNode {
    /// A node with its neighbours and those of its children that are still kept.
    pub(crate) fn of(
        node: &history::Node,
        (previous, next): (Option<Period>, Option<Period>),
        children: &[history::Node],
        zone: Zone,
    ) -> Self {
        let period = node.period;
        let note = |bullet: &history::Bullet| TocNote {
            text: bullet.text_in(zone).into(),
            evidence: bullet.evidence.iter().map(ToString::to_string).collect(),
        };
        Self {
            id: period.to_string(),
            level: period.level().as_str(),
            title: period.title(),
            bounds: Bounds::of(period, zone),
            phase: phase(node.phase),
            version: node.version,
            bullets: node.summary.bullets.iter().map(note).collect(),
            keywords: node.summary.keywords.clone(),
            figures: HistoryFigures::from(&node.figures),
            jobs: node.jobs,
            most_failing: node.most_failing.iter().map(FailingJob::from).collect(),
            slowest: node.slowest.iter().map(SlowJob::from).collect(),
            parent: period.parent().map(|parent| parent.to_string()),
            previous: previous.map(|period| period.to_string()),
            next: next.map(|period| period.to_string()),
            children: children.iter().map(|child| TocHeadline::of(child, zone)).collect(),
        }
    }
}

impl TocHeadline {
    pub(crate) fn of(node: &history::Node, zone: Zone) -> Self {
        Self {
            id: node.period.to_string(),
            title: node.period.title(),
            bounds: Bounds::of(node.period, zone),
            phase: phase(node.phase),
            version: node.version,
            headline: node.summary.bullets.first().map(|bullet| bullet.text_in(zone).into()),
            endings: EndingCounts::from(&node.figures.endings),
            p50_ms: node.figures.durations.quantile(0.5).map(millis),
            p95_ms: node.figures.durations.quantile(0.95).map(millis),
            skipped: node.figures.skipped(),
            jobs: node.jobs,
        }
    }
}

impl Bounds {
    pub(crate) fn of(period: Period, zone: Zone) -> Self {
        let local = |at: Timestamp| at.to_datetime().with_timezone(&zone.tz()).to_rfc3339();
        let (start, end) = (period.start(), period.end());
        let (local_start, local_end) = (local(start), local(end));
        Self { start, end, local_start, local_end, timezone: zone.name() }
    }
}

fn phase(phase: history::Phase) -> &'static str {
    match phase {
        history::Phase::Partial => "partial",
        history::Phase::Final => "final",
    }
}

impl From<&history::Failing> for FailingJob {
    fn from(failing: &history::Failing) -> Self {
        Self {
            job_id: failing.job.to_string(),
            name: failing.name.clone(),
            failures: failing.failures,
            attempts: failing.attempts,
        }
    }
}

impl From<&history::Slow> for SlowJob {
    fn from(slow: &history::Slow) -> Self {
        Self {
            job_id: slow.job.to_string(),
            name: slow.name.clone(),
            execution_id: slow.execution.to_string(),
            duration_ms: millis(slow.took),
            p95_ms: millis(slow.p95),
        }
    }
}

impl From<&history::Figures> for HistoryFigures {
    fn from(figures: &history::Figures) -> Self {
        Self {
            endings: EndingCounts::from(&figures.endings),
            retries: figures.retries,
            skipped: figures.skipped(),
            skips: figures.skips.clone(),
            durations: Distribution::from(&figures.durations),
            lags: Distribution::from(&figures.lags),
        }
    }
}

impl From<&history::Endings> for EndingCounts {
    fn from(endings: &history::Endings) -> Self {
        Self {
            total: endings.total(),
            success: endings.success,
            failed: endings.failed,
            timed_out: endings.timed_out,
            stuck: endings.stuck,
            cancelled: endings.cancelled,
        }
    }
}

impl From<&Sketch> for Distribution {
    fn from(sketch: &Sketch) -> Self {
        let part = |part| sketch.quantile(part).map(millis);
        Self {
            count: sketch.len(),
            sum_ms: millis(sketch.sum()),
            min_ms: sketch.min().map(millis),
            p50_ms: part(0.5),
            p95_ms: part(0.95),
            p99_ms: part(0.99),
            max_ms: sketch.max().map(millis),
        }
    }
}

fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}
