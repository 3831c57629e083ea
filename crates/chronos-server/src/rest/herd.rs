//! The herd: how many runs begin in each minute of the day to come, before they do.
//!
//! All jobs are gone through for it, a part with each request, and what was found is good for a while: whoever asks
//! never waits long, however many jobs there are.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chronos_core::plan::{Herd, Rush};
use chronos_core::policy::QuietHours;
use chronos_core::{JobId, PolicyId, Timestamp};
use serde::Serialize;
use tokio::sync::Mutex;
use utoipa::ToSchema;

use super::api::{Api, json};
use super::document::WhyNot;
use crate::auth::Caller;
use crate::problem::Problem;

const DAY: usize = 86_400;
const BIN: usize = 60;
/// Slots that are gone through one by one.
const SLOTS: u64 = 4_000_000;
/// Jobs that are read in one step of the store, which others wait for.
const AT_ONCE: usize = 500;
/// How long one request goes through jobs.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How long what was found is good for, at least, and how many times as long as it took.
const FRESH: Duration = Duration::from_secs(2);
const EASE: u32 = 20;

/// How many runs begin when, of the day to come.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct HerdFigures {
    /// The beginning of the first bin.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// The length of each.
    bin_seconds: usize,
    /// Jobs that were looked at.
    jobs: u64,
    /// Whether those were all, and all of their slots. Asked again, there are more of them.
    complete: bool,
    /// Slots in each bin, as schedules name them.
    nominal: Vec<u64>,
    /// The most of them in one second of the bin.
    nominal_peak: Vec<u64>,
    /// Runs that begin in each bin, after quiet hours and jitter, on average.
    spread: Vec<f64>,
    /// The most of them in one second of the bin.
    spread_peak: Vec<f64>,
    /// The second with the most slots; null if there is none.
    busiest: Option<BusiestSecond>,
}

/// The second with the most slots.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct BusiestSecond {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    slots: u64,
}

/// What is known of the herd so far.
#[derive(Debug, Default)]
pub(super) struct Known {
    walk: Option<Walk>,
    /// What was found last, until when it is good, by the clock that only goes forward.
    told: Option<(Duration, Arc<HerdFigures>)>,
}

/// A way through all jobs.
#[derive(Debug)]
struct Walk {
    herd: Herd,
    from: Timestamp,
    after: Option<JobId>,
    policies: HashMap<PolicyId, QuietHours>,
    /// How long it took so far.
    took: Duration,
}

/// Tells how many runs begin in each minute of the day to come: as schedules name them, and as quiet hours and
/// jitter leave them. It is found anew every few seconds, and by and by where there are many jobs.
#[utoipa::path(get, path = "/monitoring/herd", tag = "monitoring",
    responses((status = 200, description = "The figures", body = HerdFigures),
        WhyNot,
        (status = "5XX", description = "Why not", body = Problem,
            content_type = "application/problem+json")))]
pub(super) async fn show(State(api): State<Api>, _: Caller) -> Result<Response, Problem> {
    // One at a time goes through jobs; the others are told what it found.
    let mut known = api.herd.lock().await;
    let now = api.service.clock().monotonic();
    if let Some((good_until, told)) = &known.told
        && now < *good_until
    {
        return Ok(json(&**told));
    }
    let mut walk = match known.walk.take() {
        Some(walk) => walk,
        None => Walk::begin(&api).await?,
    };
    let all = walk.go_on(&api).await?;
    let took = walk.took;
    let earlier = known.told.as_ref().map(|(_, told)| told.clone());
    let found = match earlier.filter(|_| !all) {
        Some(earlier) => earlier,
        None => Arc::new(walk.figures(all).await?),
    };
    if all {
        let fresh = FRESH.max(took.saturating_mul(EASE));
        known.told = Some((api.service.clock().monotonic() + fresh, found.clone()));
    } else {
        known.walk = Some(walk);
    }
    Ok(json(&*found))
}

/// What there is to know at first.
pub(super) fn unknown() -> Arc<Mutex<Known>> {
    Arc::default()
}

impl Walk {
    async fn begin(api: &Api) -> Result<Self, Problem> {
        let from = Timestamp::from_secs(api.now().as_secs());
        let policies = api.store().policies(None, QuietHours::MOST).await?;
        let policies = policies.into_iter().map(|policy| (policy.id, policy)).collect();
        let herd = Herd::new(from, DAY, SLOTS);
        Ok(Self { herd, from, after: None, policies, took: Duration::ZERO })
    }

    /// Goes through further jobs for a while; says whether those were all.
    async fn go_on(&mut self, api: &Api) -> Result<bool, Problem> {
        let clock = api.service.clock();
        let began = clock.monotonic();
        loop {
            let jobs = api.store().jobs(self.after, AT_ONCE).await?;
            for job in &jobs {
                let quiet_hours = job.spec.quiet_hours.and_then(|id| self.policies.get(&id));
                self.herd.add(job, quiet_hours);
            }
            let spent = clock.monotonic().saturating_sub(began);
            self.after = jobs.last().map(|job| job.spec.id).or(self.after);
            if jobs.len() < AT_ONCE || spent > PATIENCE {
                self.took += spent;
                return Ok(jobs.len() < AT_ONCE);
            }
            tokio::task::yield_now().await;
        }
    }

    /// What was found so far.
    async fn figures(&self, all: bool) -> Result<HerdFigures, Problem> {
        let (mut herd, policies, from) = (self.herd.clone(), self.policies.clone(), self.from);
        // It keeps a core busy for a moment, which is none of those that serve others.
        let counted = tokio::task::spawn_blocking(move || {
            let counted = herd.gather(|id| policies.get(&id));
            figures(&herd, from, all && counted)
        });
        let stopping = "the daemon stops";
        counted.await.map_err(|_| Problem::new(StatusCode::SERVICE_UNAVAILABLE, stopping))
    }
}

fn figures(herd: &Herd, from: Timestamp, complete: bool) -> HerdFigures {
    let bins = herd.bins(BIN);
    let rounded =
        |of: fn(&Rush) -> f64| bins.iter().map(|bin| (of(bin) * 1e3).round() / 1e3).collect();
    HerdFigures {
        from,
        bin_seconds: BIN,
        jobs: herd.jobs(),
        complete,
        nominal: bins.iter().map(|bin| bin.nominal).collect(),
        nominal_peak: bins.iter().map(|bin| bin.nominal_peak).collect(),
        spread: rounded(|bin| bin.spread),
        spread_peak: rounded(|bin| bin.spread_peak),
        busiest: herd.busiest().map(|(at, slots)| BusiestSecond { at, slots }),
    }
}
