//! Messages: each slot that fired said its message once, and nothing else was said.

use std::collections::BTreeSet;

use chronos_core::audit::Decision;
use chronos_core::execution::State;
use chronos_core::store::{EventFilter, Store};
use chronos_core::{ExecutionId, MessageEvent};
use chronos_store::EmbeddedStore;

use super::{Account, Accounts};

/// Everything that was said, in its order.
pub(super) async fn all(store: &EmbeddedStore) -> Vec<MessageEvent> {
    let (mut cursor, mut said) = (0, Vec::new());
    loop {
        let page = store.message_events(&EventFilter::default(), cursor, 1_000).await.unwrap();
        said.extend(page.events);
        if !page.more {
            return said;
        }
        cursor = page.cursor;
    }
}

impl Accounts {
    /// Checks that what was said, decided, run and counted agree; says how many messages there are.
    pub(super) fn check_messages(&self) -> usize {
        let numbered = self.said.iter().zip(1..).all(|(event, number)| event.sequence == number);
        assert!(numbered, "numbers have gaps");
        let keys: BTreeSet<_> = self.said.iter().map(|event| event.message.dedupe_key).collect();
        assert_eq!(keys.len(), self.said.len(), "something was said twice");
        for (id, account) in &self.jobs {
            let said = self.said.iter().filter(|event| event.message.job == *id);
            let said: Vec<&MessageEvent> = said.collect();
            if !account.says() {
                assert_eq!(said.len(), 0, "{} says nothing", account.title());
                continue;
            }
            let ids: BTreeSet<ExecutionId> = said.iter().map(|event| event.message.id).collect();
            assert_eq!(account.fired(), ids, "{}: fired and said", account.title());
            assert_eq!(account.succeeded(), ids, "{}: run and said", account.title());
            let job = account.job.as_ref().unwrap();
            assert_eq!(job.standing.tally.fired, said.len() as u64, "{}", account.title());
            for event in said {
                let passed = job.standing.last_slot.is_some_and(|last| event.message.slot <= last);
                assert!(passed, "{} stands before {event:?}", account.title());
                assert_eq!(event.message.text, Some(event.message.slot.to_string().into()));
            }
        }
        self.said.len()
    }
}

impl Account {
    /// Whether the job says something instead of calling somebody.
    pub(super) fn says(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.spec.template().is_some())
    }

    fn fired(&self) -> BTreeSet<ExecutionId> {
        let fired = |made: &Decision| match made {
            Decision::Fired { execution, .. } => Some(*execution),
            _ => None,
        };
        self.decided().filter_map(fired).collect()
    }

    fn succeeded(&self) -> BTreeSet<ExecutionId> {
        let succeeded = self.rows.iter().filter(|row| matches!(row.state, State::Success(_)));
        succeeded.map(|row| row.id).collect()
    }
}
