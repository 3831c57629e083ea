//! Sessions: a connection for the length of one transaction, given back whole or not at all.

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres};

use super::fault::{Fault, Outcome};

/// A transaction under way. Dropped before its end, it takes its connection along, and with that its
/// locks: nobody waits for what a cancelled caller left behind.
pub(super) struct Session(Option<PoolConnection<Postgres>>);

impl Session {
    /// Begins a transaction with these words; tells of every connection that it finds dead.
    pub(super) async fn begin(pool: &PgPool, words: &str, dead: impl Fn()) -> Outcome<Self> {
        let mut tries = pool.options().get_max_connections();
        loop {
            let mut session = Self(Some(pool.acquire().await?));
            let begun = sqlx::raw_sql(AssertSqlSafe(words)).execute(&mut *session).await;
            match begun {
                Ok(_) => return Ok(session),
                // Every pooled connection may have died with the server; a new one may not have.
                Err(sqlx::Error::Database(error)) if !is_gone(error.code().as_deref()) => {
                    return Err(Fault::from(sqlx::Error::Database(error)));
                }
                Err(error) if tries == 0 => return Err(error.into()),
                Err(_) => {
                    dead();
                    tries -= 1;
                }
            }
        }
    }

    /// A connection for a single statement.
    pub(super) async fn bare(pool: &PgPool) -> Outcome<Self> {
        Ok(Self(Some(pool.acquire().await?)))
    }

    /// Gives the connection back, once its answer was read to the end.
    pub(super) fn give_back(mut self) {
        drop(self.0.take());
    }

    pub(super) async fn commit(mut self) -> Outcome<()> {
        self.end("COMMIT").await
    }

    /// Commits with these words.
    pub(super) async fn end_with(mut self, words: &str) -> Outcome<()> {
        self.end(words).await
    }

    /// Undoes everything. A connection that cannot even do this is dropped.
    pub(super) async fn roll_back(mut self) -> Outcome<()> {
        self.end("ROLLBACK").await
    }

    async fn end(&mut self, words: &str) -> Outcome<()> {
        sqlx::raw_sql(AssertSqlSafe(words)).execute(&mut **self).await?;
        drop(self.0.take());
        Ok(())
    }
}

/// Whether the server ended the connection.
fn is_gone(code: Option<&str>) -> bool {
    code.is_some_and(|code| code.starts_with("57P") || code.starts_with("08"))
}

impl Deref for Session {
    type Target = PgConnection;

    #[expect(clippy::expect_used, reason = "only the end of a session takes its connection")]
    fn deref(&self) -> &PgConnection {
        self.0.as_deref().expect("a session has a connection until its end")
    }
}

impl DerefMut for Session {
    #[expect(clippy::expect_used, reason = "only the end of a session takes its connection")]
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.0.as_deref_mut().expect("a session has a connection until its end")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            // Closed without a word, because no word may be waited for here.
            drop(connection.detach());
        }
    }
}
