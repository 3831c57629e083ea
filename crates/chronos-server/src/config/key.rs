//! The keys: one table from which flags, variables, the file and their refusals are made.

use std::collections::BTreeMap;

use clap::{Arg, ArgMatches, Command, FromArgMatches};

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
    /// Whether its value is a number; everything else is text.
    pub(super) number: bool,
}

macro_rules! keys {
    ($($name:literal $variable:literal $flag:literal $value:literal $number:literal:
        $help:literal, $accepted:literal;)*) => {
        /// Everything that can be configured, in the order in which it is shown.
        pub const KEYS: &[Key] = &[$(Key {
            name: $name,
            variable: $variable,
            flag: $flag,
            value: $value,
            help: $help,
            accepted: $accepted,
            number: $number,
        }),*];
    };
}

keys! {
    "listen" "CHRONOS_LISTEN" "listen" "ADDR" false:
        "Where gRPC, health and metrics are served",
        "an address and a port such as 127.0.0.1:8080 or [::1]:8080";
    "data_dir" "CHRONOS_DATA_DIR" "data-dir" "DIR" false:
        "Where the store keeps its files",
        "a path";
    "store" "CHRONOS_STORE" "store" "ENGINE" false:
        "The engine that keeps jobs and executions: fjall, rocksdb or memory",
        "fjall, rocksdb or memory";
    "shutdown_timeout_secs" "CHRONOS_SHUTDOWN_TIMEOUT_SECS" "shutdown-timeout-secs" "SECONDS" true:
        "How long runs may take to end once a shutdown begins",
        "whole seconds from 0 to 31536000";
    "max_concurrent_runs" "CHRONOS_MAX_CONCURRENT_RUNS" "max-concurrent-runs" "N" true:
        "Runs that may be under way at once; further ones wait their turn",
        "a whole number from 1";
    "default_timezone" "CHRONOS_DEFAULT_TIMEZONE" "default-timezone" "ZONE" false:
        "The time zone of cron jobs that name none",
        "an IANA name such as Europe/Berlin";
    "misfire_grace_secs" "CHRONOS_MISFIRE_GRACE_SECS" "misfire-grace-secs" "SECONDS" true:
        "How late a slot may fire and still count as on time",
        "whole seconds from 0 to 31536000";
    "history_per_job" "CHRONOS_HISTORY_PER_JOB" "history-per-job" "N" true:
        "Past executions kept of each job",
        "a whole number from 1 to 4294967295";
    "open_signup" "CHRONOS_OPEN_SIGNUP" "open-signup" "BOOL" false:
        "Whether anyone may sign up once there is a user: true or false",
        "true or false";
    "auth_key_file" "CHRONOS_AUTH_KEY_FILE" "auth-key-file" "FILE" false:
        "The file with the key that signs tokens, shared by the nodes of a cluster \
         [default: auth.key in the data directory]",
        "the path of a file of 32 bytes or more that only its owner can read";
    "log" "CHRONOS_LOG" "log" "FILTER" false:
        "What is logged: a level, or a filter such as info,chronos_engine=debug",
        "error, warn, info, debug, trace, off, or a filter such as info,chronos_engine=debug";
    "log_format" "CHRONOS_LOG_FORMAT" "log-format" "FORMAT" false:
        "How log lines look: auto, pretty or json; auto is pretty on a terminal",
        "auto, pretty or json";
    "compaction_cron" "CHRONOS_COMPACTION_CRON" "compaction-cron" "EXPR" false:
        "When the store gives back the space of deleted records",
        "a cron expression such as \"0 0 4 * * 0\"";
    "compaction_timezone" "CHRONOS_COMPACTION_TIMEZONE" "compaction-timezone" "ZONE" false:
        "The time zone whose clocks --compaction-cron is read by",
        "an IANA name such as Europe/Berlin";
    "compaction_jitter_secs" "CHRONOS_COMPACTION_JITTER_SECS" "compaction-jitter-secs" "SECONDS" true:
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
            // A value that begins with a dash is a mistake to be named, not another flag.
            arg.allow_hyphen_values(key.number)
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
            if let Some(value) = matches.get_one::<String>(key.name) {
                self.0.insert(key.name, value.clone());
            }
        }
        Ok(())
    }
}
