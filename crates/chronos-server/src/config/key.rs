//! The keys: one table from which flags, variables, the file and their refusals are made.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

/// No duration of the configuration is longer than this: a year.
pub(super) const MOST_SECONDS: u64 = 31_536_000;

/// One thing that can be configured.
#[derive(Debug)]
pub struct Key {
    /// Its name in `chronos.toml`.
    pub name: &'static str,
    /// The variable that sets it.
    pub variable: &'static str,
    /// The flag that sets it, without its dashes.
    pub flag: &'static str,
    /// What its value is called in the help.
    value: &'static str,
    /// What it is for.
    pub help: &'static str,
    /// Which values are accepted.
    pub accepted: &'static str,
    /// What kind of value it has.
    pub(super) kind: Kind,
}

/// What kind of value a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    /// True or false.
    Switch,
    /// Several texts, with commas between them where they come in one; its flag may come again.
    List,
}

macro_rules! keys {
    ($($name:literal $variable:literal $flag:literal $value:literal $kind:ident:
        $help:literal, $accepted:literal;)*) => {
        /// Everything that can be configured, in the order in which it is shown.
        pub const KEYS: &[Key] = &[$(Key {
            name: $name,
            variable: $variable,
            flag: $flag,
            value: $value,
            help: $help,
            accepted: $accepted,
            kind: Kind::$kind,
        }),*];
    };
}

keys! {
    "listen" "CHRONOS_LISTEN" "listen" "ADDR" Text:
        "Where gRPC, health and metrics are served",
        "an address and a port such as 127.0.0.1:8080 or [::1]:8080";
    "data_dir" "CHRONOS_DATA_DIR" "data-dir" "DIR" Text:
        "Where the store keeps its files",
        "a path";
    "store" "CHRONOS_STORE" "store" "ENGINE" Text:
        "The engine that keeps jobs and executions: fjall, rocksdb or memory",
        "fjall, rocksdb or memory";
    "database_url" "CHRONOS_DATABASE_URL" "database-url" "URL" Text:
        "The PostgreSQL database that the nodes of a cluster share, in place of a store of one's own",
        "an address such as postgres://user:password@host:5432/database";
    "database_pool" "CHRONOS_DATABASE_POOL" "database-pool" "N" Number:
        "Connections that this node opens to the database, beside one that renews and one that listens",
        "a whole number from 1 to 1000";
    "database_poll_only" "CHRONOS_DATABASE_POLL_ONLY" "database-poll-only" "BOOL" Switch:
        "Whether a pooler in transaction mode, such as PgBouncer, stands before the database",
        "true or false";
    "node" "CHRONOS_NODE" "node" "NAME" Text:
        "What this node is called where several share a database [default: the host's name]",
        "a name of 1 to 100 letters, digits, dots, dashes and underscores";
    "roles" "CHRONOS_ROLES" "roles" "ROLES" Text:
        "What this node does: any of api, scheduler and worker, with commas between them",
        "any of api, scheduler and worker, such as api,worker";
    "lease_secs" "CHRONOS_LEASE_SECS" "lease-secs" "SECONDS" Number:
        "How long an execution stays with a worker that does not renew it",
        "whole seconds up to 31536000, at least three times heartbeat_secs";
    "heartbeat_secs" "CHRONOS_HEARTBEAT_SECS" "heartbeat-secs" "SECONDS" Number:
        "How often a worker renews what it runs",
        "whole seconds from 1, at most a third of lease_secs";
    "max_clock_skew_secs" "CHRONOS_MAX_CLOCK_SKEW_SECS" "max-clock-skew-secs" "SECONDS" Number:
        "How far this machine's clock may be off the database's before it takes on no work",
        "whole seconds from 1 to 31536000";
    "shutdown_timeout_secs" "CHRONOS_SHUTDOWN_TIMEOUT_SECS" "shutdown-timeout-secs" "SECONDS" Number:
        "How long runs may take to end once a shutdown begins",
        "whole seconds from 0 to 31536000";
    "max_concurrent_runs" "CHRONOS_MAX_CONCURRENT_RUNS" "max-concurrent-runs" "N" Number:
        "Runs that may be under way at once; further ones wait their turn",
        "a whole number from 1";
    "keep_to_cores" "CHRONOS_KEEP_TO_CORES" "keep-to-cores" "BOOL" Switch:
        "Whether each thread that runs jobs keeps to a core of its own, where the machine's cores are all ours",
        "true or false";
    "default_timezone" "CHRONOS_DEFAULT_TIMEZONE" "default-timezone" "ZONE" Text:
        "The time zone of cron jobs that name none",
        "an IANA name such as Europe/Berlin";
    "misfire_grace_secs" "CHRONOS_MISFIRE_GRACE_SECS" "misfire-grace-secs" "SECONDS" Number:
        "How late a slot may fire and still count as on time",
        "whole seconds from 0 to 31536000";
    "history_per_job" "CHRONOS_HISTORY_PER_JOB" "history-per-job" "N" Number:
        "Past executions kept of each job",
        "a whole number from 1 to 4294967295";
    "open_signup" "CHRONOS_OPEN_SIGNUP" "open-signup" "BOOL" Switch:
        "Whether anyone may sign up once there is a user: true or false",
        "true or false";
    "auth_key_file" "CHRONOS_AUTH_KEY_FILE" "auth-key-file" "FILE" Text:
        "The file with the key that signs tokens, shared by the nodes of a cluster \
         [default: auth.key in the data directory]",
        "the path of a file of 32 bytes or more that only its owner can read";
    "user_min_interval_secs" "CHRONOS_USER_MIN_INTERVAL_SECS" "user-min-interval-secs" "SECONDS" Number:
        "How far apart the slots of a user's job must be",
        "whole seconds from 1 to 86400";
    "admin_min_interval_secs" "CHRONOS_ADMIN_MIN_INTERVAL_SECS" "admin-min-interval-secs" "SECONDS" Number:
        "How far apart the slots of an admin's job must be",
        "whole seconds from 1 to 86400";
    "user_max_jobs" "CHRONOS_USER_MAX_JOBS" "user-max-jobs" "N" Number:
        "Jobs that a user may have; 0 for any number",
        "a whole number from 0";
    "admin_max_jobs" "CHRONOS_ADMIN_MAX_JOBS" "admin-max-jobs" "N" Number:
        "Jobs that an admin may have; 0 for any number",
        "a whole number from 0";
    "user_max_subscriptions" "CHRONOS_USER_MAX_SUBSCRIPTIONS" "user-max-subscriptions" "N" Number:
        "Subscriptions to message events that a user may have; 0 for any number",
        "a whole number from 0";
    "admin_max_subscriptions" "CHRONOS_ADMIN_MAX_SUBSCRIPTIONS" "admin-max-subscriptions" "N" Number:
        "Subscriptions to message events that an admin may have; 0 for any number",
        "a whole number from 0";
    "user_max_runs_per_job" "CHRONOS_USER_MAX_RUNS_PER_JOB" "user-max-runs-per-job" "N" Number:
        "Runs of a user's job that may be alive at once; 0 for any number",
        "a whole number from 0 to 4294967295";
    "admin_max_runs_per_job" "CHRONOS_ADMIN_MAX_RUNS_PER_JOB" "admin-max-runs-per-job" "N" Number:
        "Runs of an admin's job that may be alive at once; 0 for any number",
        "a whole number from 0 to 4294967295";
    "max_payload_bytes" "CHRONOS_MAX_PAYLOAD_BYTES" "max-payload-bytes" "BYTES" Number:
        "Bytes that the request of a job may send",
        "a whole number from 0 to 1048576";
    "max_requests_per_second" "CHRONOS_MAX_REQUESTS_PER_SECOND" "max-requests-per-second" "N" Number:
        "Requests of one account in a second at this node, and twice as many at once; 0 for any number",
        "a whole number from 0 to 1000000";
    "allow_targets" "CHRONOS_ALLOW_TARGETS" "allow-target" "HOST|CIDR" List:
        "What http jobs may call although it is not public: a host, an address or a network; may be repeated",
        "hosts such as billing.internal, addresses, or networks such as 10.0.0.0/8";
    "deny_targets" "CHRONOS_DENY_TARGETS" "deny-target" "HOST|CIDR|:PORT" List:
        "What http jobs may not call, whatever else is allowed: a host, an address or a network, with or \
         without a port, or a port of all; may be repeated",
        "hosts such as chronos.example.com, addresses or networks, with or without a port, or ports such as :25";
    "max_calls_per_host" "CHRONOS_MAX_CALLS_PER_HOST" "max-calls-per-host" "N" Number:
        "Requests of http jobs to one host at once, from this node; further ones wait their turn",
        "a whole number from 1 to 1000000";
    "max_calls_per_owner" "CHRONOS_MAX_CALLS_PER_OWNER" "max-calls-per-owner" "N" Number:
        "Requests of one account's http jobs at once, from this node; further ones wait their turn",
        "a whole number from 1 to 1000000";
    "secret_key_file" "CHRONOS_SECRET_KEY_FILE" "secret-key-file" "FILE" Text:
        "The key that secrets of jobs are sealed with [default: secret.key in the data directory]",
        "a path";
    "old_secret_key_files" "CHRONOS_OLD_SECRET_KEY_FILES" "old-secret-key-file" "FILE" List:
        "A key whose place --secret-key-file takes: it opens what it sealed until that is sealed anew; may be \
         repeated",
        "paths";
    "notify_url" "CHRONOS_NOTIFY_URL" "notify-url" "URL" Text:
        "The webhook that is told about the runs of all jobs without one of their own",
        "a URL such as https://example.com/alerts";
    "notify_on" "CHRONOS_NOTIFY_ON" "notify-on" "KINDS" List:
        "What --notify-url is told of jobs that do not say: any of failure, recovery and overdue",
        "any of failure, recovery and overdue, such as failure,recovery";
    "notify_overdue_after_secs" "CHRONOS_NOTIFY_OVERDUE_AFTER_SECS" "notify-overdue-after-secs" "SECONDS" Number:
        "How long after its time a run is overdue that has not begun",
        "whole seconds from 1 to 31536000";
    "notify_signing_secret_file" "CHRONOS_NOTIFY_SIGNING_SECRET_FILE" "notify-signing-secret-file" "FILE" Text:
        "The file with the secret that signs what --notify-url is told, as Standard Webhooks has it",
        "the path of a file with whsec_ and 24 to 64 random bytes in base64";
    "log" "CHRONOS_LOG" "log" "FILTER" Text:
        "What is logged: a level, or a filter such as info,chronos_engine=debug",
        "error, warn, info, debug, trace, off, or a filter such as info,chronos_engine=debug";
    "log_format" "CHRONOS_LOG_FORMAT" "log-format" "FORMAT" Text:
        "How log lines look: auto, pretty or json; auto is pretty on a terminal",
        "auto, pretty or json";
    "history" "CHRONOS_HISTORY" "history" "BOOL" Switch:
        "Whether this node keeps a history, in its data directory: true or false",
        "true or false";
    "rollup_day_cron" "CHRONOS_ROLLUP_DAY_CRON" "rollup-day-cron" "EXPR" Text:
        "When hours of the history are rolled up into days",
        "a cron expression such as \"0 0 1 * * *\"";
    "rollup_week_cron" "CHRONOS_ROLLUP_WEEK_CRON" "rollup-week-cron" "EXPR" Text:
        "When days of the history are rolled up into weeks",
        "a cron expression such as \"0 0 2 * * 0\"";
    "rollup_month_cron" "CHRONOS_ROLLUP_MONTH_CRON" "rollup-month-cron" "EXPR" Text:
        "When weeks of the history are rolled up into months",
        "a cron expression such as \"0 0 3 1 * *\"";
    "rollup_timezone" "CHRONOS_ROLLUP_TIMEZONE" "rollup-timezone" "ZONE" Text:
        "The time zone whose clocks the three expressions are read by",
        "an IANA name such as Europe/Berlin";
    "rollup_jitter_secs" "CHRONOS_ROLLUP_JITTER_SECS" "rollup-jitter-secs" "SECONDS" Number:
        "The window over which the start of each rollup is spread",
        "whole seconds from 0 to 31536000";
    "index_commit_cron" "CHRONOS_INDEX_COMMIT_CRON" "index-commit-cron" "EXPR" Text:
        "When what was indexed for the search becomes durable",
        "a cron expression such as \"0 */5 * * * *\"";
    "index_commit_timezone" "CHRONOS_INDEX_COMMIT_TIMEZONE" "index-commit-timezone" "ZONE" Text:
        "The time zone whose clocks --index-commit-cron is read by",
        "an IANA name such as Europe/Berlin";
    "index_commit_jitter_secs" "CHRONOS_INDEX_COMMIT_JITTER_SECS" "index-commit-jitter-secs" "SECONDS" Number:
        "The window over which the start of an index commit is spread",
        "whole seconds from 0 to 31536000";
    "history_days" "CHRONOS_HISTORY_DAYS" "history-days" "DAYS" Number:
        "Days for which finished executions, decisions and message events are kept",
        "a whole number from 1 to 36500";
    "execution_days" "CHRONOS_EXECUTION_DAYS" "execution-days" "DAYS" Number:
        "Days for which finished executions are kept [default: history_days]",
        "a whole number from 1 to 36500";
    "audit_days" "CHRONOS_AUDIT_DAYS" "audit-days" "DAYS" Number:
        "Days for which decisions are kept [default: history_days]",
        "a whole number from 1 to 36500";
    "message_days" "CHRONOS_MESSAGE_DAYS" "message-days" "DAYS" Number:
        "Days for which message events are kept [default: history_days]",
        "a whole number from 1 to 36500";
    "toc_hour_days" "CHRONOS_TOC_HOUR_DAYS" "toc-hour-days" "DAYS" Number:
        "Days for which hours of the history are kept; 0 for ever",
        "a whole number from 0 to 36500";
    "toc_day_days" "CHRONOS_TOC_DAY_DAYS" "toc-day-days" "DAYS" Number:
        "Days for which days of the history are kept; 0 for ever",
        "a whole number from 0 to 36500";
    "toc_week_days" "CHRONOS_TOC_WEEK_DAYS" "toc-week-days" "DAYS" Number:
        "Days for which weeks of the history are kept; 0 for ever",
        "a whole number from 0 to 36500";
    "toc_month_days" "CHRONOS_TOC_MONTH_DAYS" "toc-month-days" "DAYS" Number:
        "Days for which months of the history are kept; 0 for ever",
        "a whole number from 0 to 36500";
    "toc_year_days" "CHRONOS_TOC_YEAR_DAYS" "toc-year-days" "DAYS" Number:
        "Days for which years of the history are kept; 0 for ever",
        "a whole number from 0 to 36500";
    "prune_cron" "CHRONOS_PRUNE_CRON" "prune-cron" "EXPR" Text:
        "When what is no longer to be kept is forgotten",
        "a cron expression such as \"0 30 4 * * *\"";
    "prune_timezone" "CHRONOS_PRUNE_TIMEZONE" "prune-timezone" "ZONE" Text:
        "The time zone whose clocks --prune-cron is read by",
        "an IANA name such as Europe/Berlin";
    "prune_jitter_secs" "CHRONOS_PRUNE_JITTER_SECS" "prune-jitter-secs" "SECONDS" Number:
        "The window over which the start of pruning is spread",
        "whole seconds from 0 to 31536000";
    "compaction_cron" "CHRONOS_COMPACTION_CRON" "compaction-cron" "EXPR" Text:
        "When the store gives back the space of deleted records",
        "a cron expression such as \"0 0 4 * * 0\"";
    "compaction_timezone" "CHRONOS_COMPACTION_TIMEZONE" "compaction-timezone" "ZONE" Text:
        "The time zone whose clocks --compaction-cron is read by",
        "an IANA name such as Europe/Berlin";
    "compaction_jitter_secs" "CHRONOS_COMPACTION_JITTER_SECS" "compaction-jitter-secs" "SECONDS" Number:
        "The window over which the start of a compaction is spread",
        "whole seconds from 0 to 31536000";
}

/// A flag for every key, taken as it was typed: one place checks it, whatever it came from.
#[derive(Clone, Debug, Default)]
pub struct Flags(pub(super) BTreeMap<&'static str, String>);

impl clap::Args for Flags {
    fn augment_args(command: Command) -> Command {
        command.args(KEYS.iter().map(|key| {
            let arg = Arg::new(key.name).long(key.flag).value_name(key.value).help(key.help);
            let arg = match key.kind {
                Kind::List => arg.action(ArgAction::Append),
                Kind::Text | Kind::Number | Kind::Switch => arg,
            };
            // A value that begins with a dash is a mistake to be named, not another flag.
            arg.allow_hyphen_values(key.kind == Kind::Number)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for key in KEYS {
            if let Some(values) = matches.get_many::<String>(key.name) {
                let values: Vec<&str> = values.map(String::as_str).collect();
                self.0.insert(key.name, values.join(","));
            }
        }
        Ok(())
    }
}
