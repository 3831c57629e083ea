//! The keys about the history, and about how long what happened is kept.

use std::time::Duration;

use chronos_core::schedule::Cron;
use chronos_history::{
    IndexCommitJobConfig, KeepLevels, KeepRecords, PruneJobConfig, RollupJobConfig,
};

use super::Config;
use crate::history::HistoryConfig;

const MOST_DAYS: u32 = 36_500;
const DAY: Duration = Duration::from_hours(24);

impl Config {
    pub(super) fn history(&self) -> HistoryConfig {
        let days = |own: Option<u32>| DAY * own.unwrap_or(self.history_days);
        let level = |days: u32| (days > 0).then(|| DAY * days);
        HistoryConfig {
            enabled: self.history,
            rollup: RollupJobConfig {
                day_cron: self.rollup_day_cron.clone(),
                week_cron: self.rollup_week_cron.clone(),
                month_cron: self.rollup_month_cron.clone(),
                timezone: self.rollup_timezone.name().into(),
                jitter_secs: self.rollup_jitter_secs,
                ..RollupJobConfig::default()
            },
            index_commit: IndexCommitJobConfig {
                cron: self.index_commit_cron.clone(),
                timezone: self.index_commit_timezone.name().into(),
                jitter_secs: self.index_commit_jitter_secs,
            },
            prune: PruneJobConfig {
                cron: self.prune_cron.clone(),
                timezone: self.prune_timezone.name().into(),
                jitter_secs: self.prune_jitter_secs,
            },
            keep_records: KeepRecords {
                executions: Some(days(self.execution_days)),
                audit: Some(days(self.audit_days)),
                messages: Some(days(self.message_days)),
            },
            keep_levels: KeepLevels {
                hours: level(self.toc_hour_days),
                days: level(self.toc_day_days),
                weeks: level(self.toc_week_days),
                months: level(self.toc_month_days),
                years: level(self.toc_year_days),
            },
        }
    }

    pub(super) fn check_history(&self) -> Result<(), (&'static str, Option<String>)> {
        for (key, days) in [
            ("history_days", Some(self.history_days)),
            ("execution_days", self.execution_days),
            ("audit_days", self.audit_days),
            ("message_days", self.message_days),
        ] {
            if days.is_some_and(|days| !(1..=MOST_DAYS).contains(&days)) {
                return Err((key, None));
            }
        }
        for (key, days) in [
            ("toc_hour_days", self.toc_hour_days),
            ("toc_day_days", self.toc_day_days),
            ("toc_week_days", self.toc_week_days),
            ("toc_month_days", self.toc_month_days),
            ("toc_year_days", self.toc_year_days),
        ] {
            if days > MOST_DAYS {
                return Err((key, None));
            }
        }
        for (key, cron, zone) in [
            ("rollup_day_cron", &self.rollup_day_cron, self.rollup_timezone),
            ("rollup_week_cron", &self.rollup_week_cron, self.rollup_timezone),
            ("rollup_month_cron", &self.rollup_month_cron, self.rollup_timezone),
            ("index_commit_cron", &self.index_commit_cron, self.index_commit_timezone),
            ("prune_cron", &self.prune_cron, self.prune_timezone),
        ] {
            Cron::parse(cron, zone).map_err(|error| (key, Some(error.to_string())))?;
        }
        Ok(())
    }
}
