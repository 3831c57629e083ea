//! The keys about how much one account may take up.

use std::time::Duration;

use chronos_core::Http;

use super::Config;
use crate::quotas::Quotas;

/// Slots on different days are not told apart by how far they are from each other.
const LONGEST_INTERVAL: u64 = 86_400;
const MOST_REQUESTS: u32 = 1_000_000;

impl Config {
    pub(super) fn quotas(&self) -> Quotas {
        Quotas {
            user_min_interval: Duration::from_secs(self.user_min_interval_secs),
            admin_min_interval: Duration::from_secs(self.admin_min_interval_secs),
            user_max_jobs: self.user_max_jobs,
            admin_max_jobs: self.admin_max_jobs,
            user_max_subscriptions: self.user_max_subscriptions,
            admin_max_subscriptions: self.admin_max_subscriptions,
            user_max_runs_per_job: self.user_max_runs_per_job,
            admin_max_runs_per_job: self.admin_max_runs_per_job,
            max_payload_bytes: self.max_payload_bytes,
            max_requests_per_second: self.max_requests_per_second,
        }
    }

    pub(super) fn check_quotas(&self) -> Result<(), (&'static str, Option<String>)> {
        let is_interval = |seconds: u64| (1..=LONGEST_INTERVAL).contains(&seconds);
        for (key, accepted) in [
            ("user_min_interval_secs", is_interval(self.user_min_interval_secs)),
            ("admin_min_interval_secs", is_interval(self.admin_min_interval_secs)),
            ("max_payload_bytes", self.max_payload_bytes <= Http::MAX_BODY),
            ("max_requests_per_second", self.max_requests_per_second <= MOST_REQUESTS),
        ] {
            if !accepted {
                return Err((key, None));
            }
        }
        Ok(())
    }
}
