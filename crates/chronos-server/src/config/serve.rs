//! What the daemon is made from, as it is configured.

use std::time::Duration;

use chronos_core::http::Reach;
use chronos_engine::{CompactionJobConfig, SchedulerConfig};
use chronos_store::PostgresConfig;

use super::Config;
use crate::auth::{Attempts, AuthConfig};
use crate::daemon::ServeConfig;

impl Config {
    /// What the daemon is made from.
    #[must_use]
    pub fn serve(&self) -> ServeConfig {
        let mut serve = ServeConfig::new(&self.data_dir);
        serve.listen = self.listen;
        serve.store = self.store.url(&self.data_dir);
        serve.scheduler = SchedulerConfig {
            default_timezone: self.default_timezone.name().into(),
            shutdown_timeout_secs: self.shutdown_timeout_secs,
            max_concurrent_runs: self.max_concurrent_runs,
            misfire_grace: Duration::from_secs(self.misfire_grace_secs),
            history_per_job: self.history_per_job,
            roles: self.roles.into(),
            node: Some(self.node.clone()),
            lease: Duration::from_secs(self.lease_secs),
            heartbeat: Duration::from_secs(self.heartbeat_secs),
            reach: self.reach(),
            max_calls_per_host: self.max_calls_per_host,
            max_calls_per_owner: self.max_calls_per_owner,
            // What was refused was refused before.
            notify: self.notify().ok().flatten(),
            // The job that prunes does it.
            keep_messages: None,
        };
        serve.history = self.history();
        serve.secret_key_file.clone_from(&self.secret_key_file);
        serve.old_secret_key_files.clone_from(&self.old_secret_key_files);
        serve.notify_signing_secret_file.clone_from(&self.notify_signing_secret_file);
        serve.database = self.database();
        serve.max_clock_skew = Duration::from_secs(self.max_clock_skew_secs);
        serve.auth = AuthConfig {
            open_signup: self.open_signup,
            key_file: self.auth_key_file.clone(),
            quotas: self.quotas(),
            attempts: Attempts::default(),
        };
        serve
    }

    /// The database of the cluster, if this is one.
    #[must_use]
    pub fn database(&self) -> Option<PostgresConfig> {
        let url = self.database_url.as_ref()?;
        Some(PostgresConfig {
            connections: self.database_pool,
            // A node that gets no answer must know while its leases still hold.
            statement_timeout: Duration::from_secs((self.lease_secs / 3).clamp(1, 10)),
            pooler: self.database_poll_only,
            // The job that prunes does it.
            keep_history: None,
            ..PostgresConfig::new(url.secret())
        })
    }

    pub(super) fn reach(&self) -> Reach {
        let reach = Reach::public(self.allow_targets.iter().map(|allowed| allowed.0.clone()));
        reach.without(self.deny_targets.iter().map(|denied| denied.0.clone()))
    }

    /// When the store is compacted.
    #[must_use]
    pub fn compaction(&self) -> CompactionJobConfig {
        CompactionJobConfig {
            cron: self.compaction_cron.clone(),
            timezone: self.compaction_timezone.name().into(),
            jitter_secs: self.compaction_jitter_secs,
        }
    }
}
