//! Backfills as they are asked for and told.

use chronos_core::Timestamp;
use chronos_core::backfill::{self, Previewed, Wait};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A range of past slots that is to fire after all.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "from": "2026-11-01T00:00:00Z", "to": "2026-11-08T00:00:00Z", "rate": {"at_once": 2, "per_minute": 30}
}))]
pub(in crate::rest) struct NewBackfill {
    /// Slots from here on; not before 1970.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// And before here; as far as the schedule has come, if left out.
    #[schema(value_type = Option<String>, format = DateTime)]
    to: Option<Timestamp>,
    /// `oldest_first` if left out.
    order: Option<Order>,
    /// It goes through no more slots than this, in its order; 1,000 if left out.
    #[schema(minimum = 1, maximum = 100_000)]
    cap: Option<u32>,
    rate: Option<Rate>,
    /// Whether slots that have run run again, under ids of their own.
    force: Option<bool>,
    /// Makes nothing, but tells what would become of each slot.
    dry_run: Option<bool>,
}

/// Which slots come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::rest) enum Order {
    /// Those that are longest past.
    OldestFirst,
    /// Those that are past most recently.
    NewestFirst,
}

/// How fast a backfill goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::rest) struct Rate {
    /// Slots under way at once; 1 if left out. The job's overlap policy may allow fewer.
    #[schema(minimum = 1, maximum = 100)]
    at_once: Option<u32>,
    /// Slots that begin in a minute, evenly spread; as they come, if left out.
    #[schema(minimum = 1, maximum = 6000)]
    per_minute: Option<u32>,
}

impl NewBackfill {
    pub(in crate::rest) fn is_dry_run(&self) -> bool {
        self.dry_run == Some(true)
    }

    pub(in crate::rest) fn asked(&self) -> backfill::Asked {
        let usual = backfill::Asked::from(self.from);
        let rate = self.rate.unwrap_or_default();
        backfill::Asked {
            to: self.to,
            order: self.order.map_or(usual.order, Into::into),
            cap: self.cap.unwrap_or(usual.cap),
            rate: backfill::Rate {
                at_once: rate.at_once.unwrap_or(usual.rate.at_once),
                per_minute: rate.per_minute,
            },
            force: self.force.unwrap_or(usual.force),
            ..usual
        }
    }
}

impl From<Order> for backfill::Order {
    fn from(order: Order) -> Self {
        match order {
            Order::OldestFirst => Self::OldestFirst,
            Order::NewestFirst => Self::NewestFirst,
        }
    }
}

impl From<backfill::Order> for Order {
    fn from(order: backfill::Order) -> Self {
        match order {
            backfill::Order::OldestFirst => Self::OldestFirst,
            backfill::Order::NewestFirst => Self::NewestFirst,
        }
    }
}

impl From<backfill::Rate> for Rate {
    fn from(rate: backfill::Rate) -> Self {
        Self { at_once: Some(rate.at_once), per_minute: rate.per_minute }
    }
}

/// What was asked for.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct Terms {
    #[schema(format = "uuid")]
    job_id: String,
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    order: Order,
    cap: u32,
    rate: Rate,
    force: bool,
    /// Slots that it goes through.
    total: u64,
    /// Whether the range has more slots than `cap`.
    beyond_cap: bool,
}

impl From<&backfill::Backfill> for Terms {
    fn from(backfill: &backfill::Backfill) -> Self {
        Self {
            job_id: backfill.job.to_string(),
            from: backfill.from,
            to: backfill.to,
            order: backfill.order.into(),
            cap: backfill.cap,
            rate: backfill.rate.into(),
            force: backfill.force,
            total: backfill.total,
            beyond_cap: backfill.beyond_cap,
        }
    }
}

/// A range of past slots that fires after all, and how far that has come.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct Backfill {
    #[schema(format = "uuid")]
    id: String,
    /// Which of the job's backfills it is, from 1.
    number: u64,
    #[serde(flatten)]
    terms: Terms,
    /// `running`, `paused`, `finished` or `cancelled`.
    #[schema(example = "running")]
    state: &'static str,
    /// What its next slot waits for now: `rate`, `quiet_hours`, `job_paused`, `own_runs` or `job_busy`.
    waits_for: Option<&'static str>,
    /// Slots of which nothing more is to come: those below, but for `under_way`.
    done: u64,
    /// Slots that wait, run, or wait to be tried again.
    under_way: u64,
    succeeded: u64,
    failed: u64,
    cancelled: u64,
    /// Slots in which the job found nothing to do.
    skipped: u64,
    /// Slots that had run, and were passed over.
    already_run: u64,
    /// Why the run failed that failed last.
    error: Option<String>,
    /// The slot that it comes to next.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_slot: Option<Timestamp>,
    /// Whose the job is.
    created_by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
}

impl Backfill {
    pub(in crate::rest) fn of(
        backfill: &backfill::Backfill,
        owner: &str,
        waits_for: Option<Wait>,
    ) -> Self {
        let counts = &backfill.counts;
        Self {
            id: backfill.id().to_string(),
            number: backfill.number,
            terms: backfill.into(),
            state: backfill.state.as_str(),
            waits_for: waits_for.map(Wait::as_str),
            done: counts.done(),
            under_way: counts.under_way(),
            succeeded: counts.succeeded,
            failed: counts.failed,
            cancelled: counts.cancelled,
            skipped: counts.skipped,
            already_run: counts.already_run,
            error: backfill.error.as_deref().map(Into::into),
            next_slot: backfill.cursor.filter(|_| !backfill.is_over()),
            created_by: owner.into(),
            created_at: backfill.created_at,
            updated_at: backfill.updated_at,
            ended_at: backfill.state.ended_at(),
        }
    }
}

/// What a backfill would do.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct BackfillPreview {
    #[serde(flatten)]
    terms: Terms,
    /// The slots in its order; at most 1,000.
    slots: Vec<BackfillSlot>,
    /// How many are listed.
    listed: usize,
}

/// What would become of a slot.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct BackfillSlot {
    #[schema(value_type = String, format = DateTime)]
    scheduled_for: Timestamp,
    /// `run`, `redo`, or `skip` where it has run.
    #[schema(example = "run")]
    action: &'static str,
    #[schema(example = "it never ran")]
    reason: String,
    /// What it has run as, or else was skipped as.
    #[schema(format = "uuid")]
    execution_id: Option<String>,
}

impl BackfillPreview {
    pub(in crate::rest) fn of(backfill: &backfill::Backfill, slots: &[Previewed]) -> Self {
        let slots: Vec<BackfillSlot> = slots.iter().map(Into::into).collect();
        Self { terms: backfill.into(), listed: slots.len(), slots }
    }
}

impl From<&Previewed> for BackfillSlot {
    fn from(slot: &Previewed) -> Self {
        Self {
            scheduled_for: slot.slot,
            action: slot.action.as_str(),
            reason: slot.to_string(),
            execution_id: slot.execution.map(|id| id.to_string()),
        }
    }
}
