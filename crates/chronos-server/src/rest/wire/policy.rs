//! Policies in a word each: overlap and catch-up.

use std::num::NonZeroU32;

use chronos_core::policy::{CatchUpPolicy, OverlapPolicy};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::FieldError;

/// What a slot does when an earlier run of its job is still alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Overlap {
    /// It is passed over, and recorded as such.
    Skip,
    /// It runs beside the others, up to `max_concurrent` of them if that is given.
    Concurrent,
    /// It waits behind them, as one of `max_queued`; further slots are passed over.
    Queue,
    /// It takes their place.
    Replace,
}

/// What happens to slots that nobody was there to fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CatchUp {
    /// They are recorded as missed.
    Skip,
    /// One run stands for all of them.
    RunOnce,
    /// The oldest run, up to `catch_up_max` of them.
    RunAllCapped,
}

/// The overlap policy that is asked for.
pub(crate) fn overlap(
    policy: Option<Overlap>,
    max_concurrent: Option<u32>,
    max_queued: Option<u32>,
) -> Result<OverlapPolicy, FieldError> {
    let policy = policy.unwrap_or(Overlap::Skip);
    let bound = |field: &'static str, bound: Option<u32>, of: Overlap| {
        let Some(most) = bound else {
            return Ok(None);
        };
        if policy != of {
            let detail = "it says nothing about this overlap_policy; leave it out";
            return Err(FieldError::new(field, detail));
        }
        let most = NonZeroU32::new(most);
        most.map(Some).ok_or_else(|| FieldError::new(field, "0 is not accepted; use 1 or more"))
    };
    let most = bound("max_concurrent", max_concurrent, Overlap::Concurrent)?;
    let queued = bound("max_queued", max_queued, Overlap::Queue)?;
    Ok(match policy {
        Overlap::Skip => OverlapPolicy::Skip,
        Overlap::Concurrent => {
            most.map_or(OverlapPolicy::Concurrent, OverlapPolicy::ConcurrentUpTo)
        }
        Overlap::Queue => queued.map_or(OverlapPolicy::QUEUE, OverlapPolicy::Queue),
        Overlap::Replace => OverlapPolicy::Replace,
    })
}

/// The policy in a word, with how many may run at once and how many may wait.
pub(crate) fn told_overlap(policy: OverlapPolicy) -> (Overlap, Option<u32>, Option<u32>) {
    match policy {
        OverlapPolicy::Skip => (Overlap::Skip, None, None),
        OverlapPolicy::Concurrent => (Overlap::Concurrent, None, None),
        OverlapPolicy::ConcurrentUpTo(most) => (Overlap::Concurrent, Some(most.get()), None),
        OverlapPolicy::Queue(most) => (Overlap::Queue, None, Some(most.get())),
        OverlapPolicy::Replace => (Overlap::Replace, None, None),
    }
}

/// The catch-up policy that is asked for, if one is.
pub(crate) fn catch_up(
    policy: Option<CatchUp>,
    max: Option<u32>,
) -> Result<Option<CatchUpPolicy>, FieldError> {
    match (policy, max) {
        (Some(CatchUp::RunAllCapped), max) => {
            let policy = CatchUpPolicy::run_all_capped(max.unwrap_or(CatchUpPolicy::USUAL_CAP));
            policy.map(Some).map_err(|error| FieldError::new("catch_up_max", error))
        }
        (_, Some(_)) => {
            let problem = "it belongs to run_all_capped; use it with that catch_up_policy alone";
            Err(FieldError::new("catch_up_max", problem))
        }
        (Some(CatchUp::Skip), None) => Ok(Some(CatchUpPolicy::Skip)),
        (Some(CatchUp::RunOnce), None) => Ok(Some(CatchUpPolicy::RunOnce)),
        (None, None) => Ok(None),
    }
}

/// The policy in a word, with how many slots it makes up for.
pub(crate) fn told_catch_up(policy: CatchUpPolicy) -> (CatchUp, Option<u32>) {
    match policy {
        CatchUpPolicy::Skip => (CatchUp::Skip, None),
        CatchUpPolicy::RunOnce => (CatchUp::RunOnce, None),
        CatchUpPolicy::RunAllCapped(max) => (CatchUp::RunAllCapped, Some(max.get())),
    }
}
