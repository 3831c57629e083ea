//! Policies: overlap and catch-up.

use std::num::NonZeroU32;

use chronos_core::policy::{CatchUpPolicy, OverlapPolicy};

use crate::grpc::refusal::Refusal;
use crate::proto;
use crate::proto::catch_up_policy::{self, Kind as CatchUp};
use crate::proto::overlap_policy::{self, Kind as Overlap};

impl From<proto::OverlapPolicy> for OverlapPolicy {
    fn from(asked: proto::OverlapPolicy) -> Self {
        match asked.kind {
            None | Some(Overlap::Skip(_)) => Self::Skip,
            Some(Overlap::Concurrent(concurrent)) => {
                let most = NonZeroU32::new(concurrent.max_concurrent);
                most.map_or(Self::Concurrent, Self::ConcurrentUpTo)
            }
            Some(Overlap::Queue(queue)) => {
                NonZeroU32::new(queue.max_queued).map_or(Self::QUEUE, Self::Queue)
            }
            Some(Overlap::Replace(_)) => Self::Replace,
        }
    }
}

impl From<OverlapPolicy> for proto::OverlapPolicy {
    fn from(policy: OverlapPolicy) -> Self {
        let concurrent =
            |max_concurrent| Overlap::Concurrent(overlap_policy::Concurrent { max_concurrent });
        let kind = match policy {
            OverlapPolicy::Skip => Overlap::Skip(overlap_policy::Skip {}),
            OverlapPolicy::Concurrent => concurrent(0),
            OverlapPolicy::ConcurrentUpTo(most) => concurrent(most.get()),
            OverlapPolicy::Queue(most) => {
                Overlap::Queue(overlap_policy::Queue { max_queued: most.get() })
            }
            OverlapPolicy::Replace => Overlap::Replace(overlap_policy::Replace {}),
        };
        Self { kind: Some(kind) }
    }
}

/// The policy that was asked for.
pub(crate) fn catch_up(asked: CatchUp) -> Result<CatchUpPolicy, Refusal> {
    match asked {
        CatchUp::Skip(_) => Ok(CatchUpPolicy::Skip),
        CatchUp::RunOnce(_) => Ok(CatchUpPolicy::RunOnce),
        CatchUp::RunAllCapped(capped) => CatchUpPolicy::run_all_capped(capped.catch_up_max)
            .map_err(|error| Refusal::of("run_all_capped.catch_up_max", error.to_string())),
    }
}

impl From<CatchUpPolicy> for proto::CatchUpPolicy {
    fn from(policy: CatchUpPolicy) -> Self {
        let kind = match policy {
            CatchUpPolicy::Skip => CatchUp::Skip(catch_up_policy::Skip {}),
            CatchUpPolicy::RunOnce => CatchUp::RunOnce(catch_up_policy::RunOnce {}),
            CatchUpPolicy::RunAllCapped(cap) => {
                CatchUp::RunAllCapped(catch_up_policy::RunAllCapped { catch_up_max: cap.get() })
            }
        };
        Self { kind: Some(kind) }
    }
}
