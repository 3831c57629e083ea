//! Account events in the embedded store: filed in the step of what they tell.

use chronos_core::UserId;
use chronos_core::account::{Act, Event, Result, User, What};

use super::keys::{Key, Table};
use super::record::decode;
use super::state::State;
use super::step::Step;

impl State {
    /// Events before a sequence, newest first.
    pub(super) fn account_events(&self, before: Option<u64>, limit: usize) -> Result<Vec<Event>> {
        let (from, mut to) = Table::AccountEvent.range();
        if let Some(before) = before {
            to = Key::AccountEvent(before).encode().to_vec();
        }
        Ok(self.newest(&from, &to, limit, |_, value| decode(value))?)
    }
}

impl Step<'_> {
    /// Files that somebody was not let in who gave the name of this user, or of nobody.
    pub(super) fn refuse_login(&mut self, user: Option<UserId>, act: Act) -> Result<()> {
        let user: Option<User> = match user {
            Some(user) => self.state.read(&Key::User(user))?,
            None => None,
        };
        self.file_account_events(act, user.as_ref(), &[What::LoginRefused])
    }

    /// Files what this step did about a user; once a step, because only the next one sees it.
    pub(super) fn file_account_events(
        &mut self,
        act: Act,
        user: Option<&User>,
        done: &[What],
    ) -> Result<()> {
        let newest = self.state.account_events(None, 1)?;
        let newest = newest.first().map_or(0, |event| event.sequence);
        for (sequence, what) in (newest + 1..).zip(done) {
            let user = user.map(|user| (user.id, user.name.clone()));
            let event = Event { sequence, act, user, what: *what };
            self.put(&Key::AccountEvent(sequence), &event)?;
            if let Some(oldest) = sequence.checked_sub(Event::MOST).filter(|oldest| *oldest > 0) {
                self.delete(&Key::AccountEvent(oldest));
            }
        }
        Ok(())
    }
}
