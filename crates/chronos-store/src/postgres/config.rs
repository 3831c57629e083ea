//! How a store on PostgreSQL is reached and what it may use.

use std::time::Duration;

use super::OpenError;

/// How a store on PostgreSQL is reached, and what it may use.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// The database, such as `postgres://user@host:5432/database?sslmode=verify-full`.
    pub url: String,
    /// The schema that holds the tables: lower-case letters, digits and underscores.
    pub schema: String,
    /// Connections at most, beside one that is kept for renewing leases and one that listens.
    pub connections: u32,
    /// How long a verb waits for a connection before it gives up.
    pub acquire_timeout: Duration,
    /// How long a statement may take before the server breaks it off.
    pub statement_timeout: Duration,
    /// How often this node looks by itself for what other nodes made due.
    pub poll: Duration,
    /// Whether nodes wake each other by notifications. Off, a node learns of others by polling alone.
    pub listen: bool,
    /// Whether a pooler in transaction mode, such as PgBouncer, stands before the server: then nothing
    /// is kept in a session, and nodes do not listen.
    pub pooler: bool,
    /// How long finished executions and decisions are kept; `None` keeps them for ever. Whole days are
    /// dropped, by `compact`.
    pub keep_history: Option<Duration>,
}

/// Never shows the address, which may hold a password.
impl std::fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresConfig")
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .field("poll", &self.poll)
            .field("listen", &self.listen)
            .field("pooler", &self.pooler)
            .field("keep_history", &self.keep_history)
            .finish_non_exhaustive()
    }
}

impl PostgresConfig {
    /// The schema, unless the configuration names another.
    pub const DEFAULT_SCHEMA: &'static str = "chronos";
    /// Longer schema names are refused.
    pub const MAX_SCHEMA: usize = 40;

    /// The database at this address, everything else at its default.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.into(),
            schema: Self::DEFAULT_SCHEMA.into(),
            connections: 8,
            acquire_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(10),
            poll: Duration::from_secs(1),
            listen: true,
            pooler: false,
            keep_history: None,
        }
    }

    /// Refuses what cannot be meant.
    pub(super) fn check(&self) -> Result<(), OpenError> {
        let mut letters = self.schema.chars();
        let begins = letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_');
        let goes_on = letters
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
        let reserved = self.schema.starts_with("pg_");
        if !begins || !goes_on || reserved || self.schema.len() > Self::MAX_SCHEMA {
            return Err(OpenError::Schema { given: self.schema.clone() });
        }
        if !["postgres://", "postgresql://"].iter().any(|scheme| self.url.starts_with(scheme)) {
            let problem =
                "it does not begin with postgres://; use postgres://USER@HOST:PORT/DATABASE";
            return Err(OpenError::Setting { field: "the database address", problem });
        }
        if self.connections == 0 {
            return Err(OpenError::Setting {
                field: "connections",
                problem: "it is 0; use 1 or more",
            });
        }
        for (field, given) in [
            ("acquire_timeout", self.acquire_timeout),
            ("statement_timeout", self.statement_timeout),
            ("poll", self.poll),
        ] {
            if given < Duration::from_millis(1) {
                let problem = "it is shorter than a millisecond; use a positive duration";
                return Err(OpenError::Setting { field, problem });
            }
        }
        Ok(())
    }
}
