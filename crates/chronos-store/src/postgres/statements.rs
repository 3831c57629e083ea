//! The statements, one file for each, with the tables of the schema that the configuration names.

use std::sync::Arc;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Postgres};

use super::find::Finds;

/// A statement that waits for its arguments.
pub(super) type Bound = Query<'static, Postgres, PgArguments>;

/// A statement in the schema of the store.
pub(super) struct Statement {
    text: Arc<str>,
    prepared: bool,
}

impl Statement {
    pub(super) fn new(text: &str, prepared: bool) -> Self {
        Self { text: text.into(), prepared }
    }

    /// The statement with these words as its arguments, to be sent along with others. They must be ours.
    pub(super) fn with(&self, arguments: &[&str]) -> String {
        let mut text = String::from(&*self.text);
        for (argument, number) in arguments.iter().zip(1..) {
            text = text.replace(&format!("${number}"), argument);
        }
        text
    }

    /// The statement, to be given its arguments.
    pub(super) fn query(&self) -> Bound {
        // The text is ours, and the only name put into it was checked to be one.
        sqlx::query(AssertSqlSafe(self.text.clone())).persistent(self.prepared)
    }
}

/// In our files `chronos.` stands for the schema.
pub(super) fn in_schema(text: &str, schema: &str) -> String {
    text.replace("chronos.", &format!("{schema}."))
}

macro_rules! statements {
    ($($name:ident)*) => {
        pub(super) struct Statements {
            pub(super) finds: Finds,
            $(pub(super) $name: Statement,)*
        }

        impl Statements {
            /// The statements in a schema; prepared once for each connection, unless a pooler hands
            /// connections round.
            pub(super) fn new(schema: &str, prepared: bool) -> Self {
                let statement = |text: &str| Statement::new(&in_schema(text, schema), prepared);
                Self {
                    finds: Finds::new(schema, prepared),
                    $($name: statement(include_str!(concat!("sql/", stringify!($name), ".sql"))),)*
                }
            }
        }
    };
}

statements! {
    account_events_file account_events_read
    advisory_lock attempts_count attempts_delete attempts_forget attempts_read
    audit_between audit_between_back audit_bounds audit_chapter audit_chapter_back audit_digest_put
    audit_digests_prune audit_file audit_newest audit_read
    backfill_insert backfill_lock backfill_read backfills_delete backfills_due backfills_lock backfills_next
    backfills_read backfills_states backfills_unfinished backfills_update
    checkpoint_lock checkpoint_put checkpoint_read clock_read hand_back hold_check
    dead_letter_take dead_letters_read execution_locate execution_read executions_read
    due_lock due_next finish heads_read
    job_read job_read_named jobs_count jobs_count_of jobs_lock jobs_lock_free jobs_lock_of jobs_read
    journal_read journal_specs_read ledger_read
    key_delete key_insert key_read key_use keys_read
    live_delete live_insert live_lock live_read live_update
    messages_file messages_prune messages_read messages_read_job messages_read_owner
    notify overdue_find overdue_next partitions_read past_insert
    observers_count observers_read policies_count policies_find policies_read
    policy_delete policy_insert policy_lock policy_lock_to_delete policy_lock_to_edit policy_update
    ready ready_claim ready_next reap_find reap_next renew
    request_put request_read requests_forget
    session_delete session_lock session_put session_rotate session_user sessions_delete sessions_trim
    spec_delete spec_insert spec_update specs_read
    standing_amend standing_insert standings_delete standings_update stats
    subscription_delete subscription_insert subscription_lock subscription_read subscription_update
    subscriptions_count subscriptions_free subscriptions_lock subscriptions_read
    subscriptions_read_owner subscriptions_update
    sync table_find table_size tags_delete tags_put tokens_take
    user_delete user_insert user_read user_read_named user_taken user_update
    users_exist users_read users_rule
    worker_put workers_forget workers_read
}
